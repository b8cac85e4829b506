"""Ctrl-C, also where a library lets it drop.

A KeyboardInterrupt that is raised inside a callback of C code, such as one of the compiler's,
is printed and forgotten. So it is remembered, and asked for again before a result is written.
"""

import signal
from types import FrameType

_asked = False


def _remember(number: int, frame: FrameType | None) -> None:
    global _asked
    _asked = True
    signal.default_int_handler(number, frame)


def remember_interrupts() -> None:
    """From now on an interruption is remembered; where signals are ignored they stay so."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _remember)


def stop_if_interrupted() -> None:
    """Raise an interruption that was dropped."""
    if _asked:
        raise KeyboardInterrupt
