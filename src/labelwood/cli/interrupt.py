"""Ctrl-C, even where a library swallows it.

A KeyboardInterrupt that is raised inside a callback of C code, such as one of the compiler's,
is printed and forgotten, and what the callback left undone may fail later as another error.
So it is remembered: an error that follows it is the interruption, and it is asked for again
before a result is written.
"""

import signal
import sys
from types import FrameType

_asked = False


def _remember(number: int, frame: FrameType | None) -> None:
    global _asked
    _asked = True
    signal.default_int_handler(number, frame)


def _print_unless_interrupted(dropped: "sys.UnraisableHookArgs") -> None:
    # Objects that an interruption left half made fail again when they are collected.
    if not _asked:
        sys.__unraisablehook__(dropped)


def remember_interrupts() -> None:
    """From now on an interruption is remembered; where signals are ignored they stay so."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _remember)
        sys.unraisablehook = _print_unless_interrupted


def interrupted() -> bool:
    """Whether an interruption was asked for, also one that was swallowed."""
    return _asked


def stop_if_interrupted() -> None:
    """Raise an interruption that was swallowed."""
    if _asked:
        raise KeyboardInterrupt
