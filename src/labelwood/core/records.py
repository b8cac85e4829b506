"""Flat-array records as fitted attributes: field `name` of a record is attribute `name_`."""

import functools
from collections.abc import Callable
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

_Record = TypeVar("_Record", bound=NamedTuple)


def set_record(owner: object, record: Any) -> None:
    """Make the fields of a named tuple fitted attributes of an estimator.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> class Nodes(NamedTuple):
    ...     left: int
    ...     right: int
    >>> model = SimpleNamespace()
    >>> set_record(model, Nodes(1, 2))
    >>> model
    namespace(left_=1, right_=2)
    >>> record_of(model, Nodes)
    Nodes(left=1, right=2)
    """
    for name, value in record._asdict().items():
        setattr(owner, f"{name}_", value)


def record_of(owner: object, kind: type[_Record]) -> _Record:
    """The record that the fitted attributes of an estimator make, without a copy."""
    return kind(*_fields_of(kind)(owner))


@functools.cache
def _fields_of(kind: Any) -> Callable[[object], Any]:
    """A function that reads the fields of a record (two or more) from its owner."""
    return attrgetter(*(f"{name}_" for name in kind._fields))
