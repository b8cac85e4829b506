"""One progress bar on a terminal, a line now and then elsewhere, or nothing.

The library is silent by itself; `show_progress()` turns the display on for a
block of code, and the command line does so unless `--quiet` is given.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_shown: ContextVar[bool] = ContextVar("labelwood_progress_shown", default=False)
_SECONDS_BETWEEN_LINES = 5.0


@contextmanager
def show_progress(shown: bool = True) -> Iterator[None]:
    """Show (or hide) the progress of long work inside this block."""
    token = _shown.set(shown)
    try:
        yield
    finally:
        _shown.reset(token)


class Progress:
    """The silent kind, and the interface of the others: call `update` as work gets done."""

    def __init__(self, description: str, total: int) -> None:
        self.description = description
        self.total = total
        self.done = 0

    def update(self, n: int = 1) -> None:
        """Count `n` more units of work as done."""
        self.done += n

    def close(self) -> None:
        """End the display."""


class _Lines(Progress):
    """A line every few seconds, for logs; short work leaves none."""

    def __init__(self, description: str, total: int) -> None:
        super().__init__(description, total)
        self._start = self._last = time.monotonic()

    def update(self, n: int = 1) -> None:
        super().update(n)
        now = time.monotonic()
        if now - self._last >= _SECONDS_BETWEEN_LINES and self.done:
            self._last = now
            left = (now - self._start) * (self.total - self.done) / self.done
            print(
                f"{self.description}: {self.done:,} of {self.total:,} "
                f"({self.done / max(self.total, 1):.0%}), {left:.0f} s left",
                file=sys.stderr,
                flush=True,
            )


class _Bar(Progress):
    """A bar on the terminal, with the time left."""

    def __init__(self, description: str, total: int) -> None:
        super().__init__(description, total)
        from rich import progress as rich_progress
        from rich.console import Console

        self._bar: Any = rich_progress.Progress(
            rich_progress.TextColumn("{task.description}"),
            rich_progress.BarColumn(),
            rich_progress.MofNCompleteColumn(),
            rich_progress.TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task(description, total=total)
        self._bar.start()

    def update(self, n: int = 1) -> None:
        super().update(n)
        self._bar.advance(self._task, n)

    def close(self) -> None:
        self._bar.stop()


@contextmanager
def progress(description: str, total: int) -> Iterator[Progress]:
    """Follow `total` units of work; without a description nothing is shown."""
    kind: type[Progress] = Progress
    if _shown.get() and description:
        kind = _Bar if sys.stderr.isatty() else _Lines
    display = kind(description, total)
    try:
        yield display
    finally:
        display.close()
