"""Parameter constraints as data, and the one message for a value outside them.

An estimator declares `_constraints = {"C": Real(above=0), "n_jobs": (Integer(), None)}`;
a tuple is an alternative, `None` in it allows None. The same declarations check
the estimator (`check_parameters`) and read values from the command line
(`parse_parameter`).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from numbers import Real as RealNumber
from typing import Any, Protocol, TypeAlias

from labelwood.errors import ParameterError


class Constraint(Protocol):
    """A set of values with a description."""

    def accepts(self, value: object) -> bool:
        """Whether `value` is in the set."""

    def parse(self, text: str) -> object:
        """`text` as a value (ValueError when it is none)."""


MAX_INT = 2**63 - 1
Constraints: TypeAlias = Mapping[str, Constraint | tuple[Constraint | None, ...]]


def _bounds(low: float | None, high: float | None, above: float | None, below: float | None) -> str:
    parts = [
        f"{sign} {bound:g}"
        for sign, bound in (("≥", low), (">", above), ("≤", high), ("<", below))
        if bound is not None
    ]
    return " " + " and ".join(parts) if parts else ""


def parse_int(text: str) -> int:
    """`text` as a whole number: digits and a sign, not all that Python takes (``1_0``, ``１０``).

    Examples
    --------
    >>> parse_int("-12")
    -12
    """
    if not text.isascii() or "_" in text:
        raise ValueError(text)
    return int(text)


def parse_float(text: str) -> float:
    """`text` as a number, of ASCII characters and without underscores.

    Examples
    --------
    >>> parse_float("1e-3")
    0.001
    """
    if not text.isascii() or "_" in text:
        raise ValueError(text)
    return float(text)


@dataclass(frozen=True)
class Integer:
    """Whole numbers in low…high, within −2⁶³…2⁶³ − 1 unless limits are given."""

    low: int | None = None
    high: int | None = None

    def accepts(self, value: object) -> bool:
        """Whether `value` is in the set."""
        if not isinstance(value, Integral) or isinstance(value, bool):
            return False
        low = -MAX_INT if self.low is None else self.low
        high = MAX_INT if self.high is None else self.high
        return low <= int(value) <= high

    def parse(self, text: str) -> object:
        """`text` as a whole number."""
        return parse_int(text)

    def __str__(self) -> str:
        return "an int" + _bounds(self.low, self.high, None, None)


@dataclass(frozen=True)
class Real:
    """Finite numbers, at least `low` or `above`, at most `high` or `below`."""

    low: float | None = None
    high: float | None = None
    above: float | None = None
    below: float | None = None

    def accepts(self, value: object) -> bool:
        """Whether `value` is in the set."""
        if not isinstance(value, RealNumber) or isinstance(value, bool):
            return False
        try:
            x = float(value)
        except OverflowError:  # an int beyond any float
            return False
        return (
            math.isfinite(x)
            and (self.low is None or x >= self.low)
            and (self.high is None or x <= self.high)
            and (self.above is None or x > self.above)
            and (self.below is None or x < self.below)
        )

    def parse(self, text: str) -> object:
        """`text` as a number."""
        return parse_float(text)

    def __str__(self) -> str:
        return "a number" + _bounds(self.low, self.high, self.above, self.below)


class OneOf:
    """One of a few words."""

    def __init__(self, *options: str) -> None:
        self.options = options

    def accepts(self, value: object) -> bool:
        """Whether `value` is one of the words."""
        return isinstance(value, str) and value in self.options

    def parse(self, text: str) -> object:
        """`text` itself."""
        return text

    def __str__(self) -> str:
        return "one of " + ", ".join(repr(option) for option in self.options)


class Boolean:
    """True or False."""

    def accepts(self, value: object) -> bool:
        """Whether `value` is True or False."""
        return isinstance(value, bool)

    def parse(self, text: str) -> object:
        """`text` as true or false, in the usual spellings."""
        words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        if text.lower() not in words:
            raise ValueError(text)
        return words[text.lower()]

    def __str__(self) -> str:
        return "True or False"


class Instance:
    """An object of a class, checked by the names of its classes so that none is imported."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def accepts(self, value: object) -> bool:
        """Whether a class of `value` bears one of the names."""
        return any(base.__name__ in self.names for base in type(value).__mro__)

    def parse(self, text: str) -> object:
        """Never: objects cannot be written on a command line."""
        raise ValueError(text)

    def __str__(self) -> str:
        return "an instance of " + " or ".join(self.names)


RANDOM_STATE = (
    Integer(low=0, high=2**64 - 1),
    Instance("SeedSequence", "Generator", "RandomState"),
    None,
)
N_JOBS = (Integer(low=1), Integer(high=-1), None)


def check_parameters(owner: object, constraints: Constraints) -> None:
    """Check the attributes of `owner` named in `constraints`."""
    for name, constraint in constraints.items():
        check_parameter(type(owner).__name__, name, getattr(owner, name), constraint)


def check_parameter(
    owner: str, name: str, value: object, constraint: Constraint | tuple[Constraint | None, ...]
) -> None:
    """Raise `ParameterError` when `value` is in none of the alternatives."""
    alternatives = constraint if isinstance(constraint, tuple) else (constraint,)
    for one in alternatives:
        if value is None if one is None else one.accepts(value):
            return
    raise _outside(owner, name, value, alternatives)


def _outside(
    owner: str, name: str, value: object, alternatives: tuple[Constraint | None, ...]
) -> ParameterError:
    unbounded = any(isinstance(one, Integer) and one.high is None for one in alternatives)
    too_large = unbounded and isinstance(value, Integral) and abs(int(value)) > MAX_INT
    limit = f", of at most {MAX_INT}" if too_large else ""
    return ParameterError(
        f"The {name!r} parameter of {owner} must be {_describe(alternatives)}{limit}. "
        f"Got {_shown(value)} instead."
    )


def _shown(value: object) -> str:
    try:
        return repr(value)
    except ValueError:  # a whole number of too many digits
        return "a number too long to print"


def parse_parameter(owner: str, name: str, text: str, constraints: Constraints) -> Any:
    """The value that `text` means for parameter `name`, checked."""
    if name not in constraints:
        known = ", ".join(sorted(constraints))
        raise ParameterError(f"{owner} has no parameter {name!r}; it has {known}.")
    constraint = constraints[name]
    alternatives = constraint if isinstance(constraint, tuple) else (constraint,)
    for one in alternatives:
        if one is None:
            if text.lower() == "none":
                return None
            continue
        try:
            value = one.parse(text)
        except ValueError:
            continue
        if one.accepts(value):
            return value
        if isinstance(value, int) and abs(value) > MAX_INT:
            raise _outside(owner, name, value, alternatives)
    raise _outside(owner, name, text, alternatives)


def _describe(alternatives: tuple[Constraint | None, ...]) -> str:
    return " or ".join("None" if one is None else str(one) for one in alternatives)
