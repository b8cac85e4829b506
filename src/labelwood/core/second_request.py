"""Records that are built when they are requested for the second time."""

import threading
from collections.abc import Callable
from operator import is_
from typing import Any, Generic, TypeVar

_R = TypeVar("_R")


class BuiltOnSecondRequest(Generic[_R]):
    """A record that takes time and memory to make, and pays where requests for it are repeated.

    `make` and what it takes are given; a program that asks once goes without the record, and so
    does every one while `make` returns None, because memory is short. Threads share it.

    Examples
    --------
    >>> table = BuiltOnSecondRequest(sorted, [3, 1, 2])
    >>> table.get()
    >>> table.get()
    [1, 2, 3]
    """

    def __init__(self, make: Callable[..., _R | None], *source: Any) -> None:
        self._make = make
        self._source = source
        self._asked = False
        self._made: _R | None = None
        self._lock = threading.Lock()

    @property
    def made(self) -> _R | None:
        """The record, if it was made already."""
        return self._made

    def get(self) -> _R | None:
        """None for the first time, the record from then on."""
        if self._made is None:
            with self._lock:  # a second thread waits, and finds it made
                if self._asked and self._made is None:
                    self._made = self._make(*self._source)
                self._asked = True
        return self._made


def same_arrays(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Whether two records hold the very same arrays, not copies."""
    return all(map(is_, one, other))
