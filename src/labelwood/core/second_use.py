"""Records that are made when they are asked for a second time."""

import threading
from collections.abc import Callable
from operator import is_
from typing import Any, Generic, TypeVar

_R = TypeVar("_R")
_lock = threading.Lock()  # of the module, as an object with a lock of its own could not be pickled


class SecondUse(Generic[_R]):
    """A record that takes time and memory to make, and pays where calls for it are repeated.

    `make` and what it takes are given; a program that asks once goes without the record. Threads
    share it. Copies and pickles do not take it along.

    Examples
    --------
    >>> table = SecondUse(sorted, [3, 1, 2])
    >>> table.get()
    >>> table.get()
    [1, 2, 3]
    """

    def __init__(self, make: Callable[..., _R], *source: Any) -> None:
        self._make = make
        self._source = source
        self._asked = False
        self._made: _R | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What a copy needs; it makes the record itself."""
        return vars(self) | {"_asked": False, "_made": None}

    @property
    def made(self) -> _R | None:
        """The record, if it was made already."""
        return self._made

    def get(self) -> _R | None:
        """None for the first time, the record from then on."""
        if self._made is None:
            with _lock:  # a second thread waits, and finds it made
                if self._asked and self._made is None:
                    self._made = self._make(*self._source)
                self._asked = True
        return self._made


def same_arrays(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Whether two records hold the very same arrays, not copies."""
    return all(map(is_, one, other))
