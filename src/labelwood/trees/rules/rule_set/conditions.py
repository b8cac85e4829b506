"""Conditions on one feature, rules of several conditions, and what follows from what."""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

_BARE_NAME = re.compile(r"(?!-)(?:[^\s&<>=≤≥{}(),\"→~#-]|-(?!>))+")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?inf")
_MAX_PLAIN = 1e15  # whole numbers below this are printed with all their digits
KEYWORDS = ("OTHERWISE", "in", "not", "or", "is", "missing")


@dataclass(frozen=True)
class Condition:
    """What a rule asks of one feature.

    A value satisfies it when it is in the interval (low, high] and, where `categories` are
    given, in that set (or, with `excluded`, outside of it). A missing value satisfies it
    when `missing` is set.

    Features are numbers of single precision, as in every matrix of the package, and so are the
    values that are compared: `a <= 0.1` holds for the 0.1 of a table of either precision. Limits
    are rounded down to single precision, which is the same for all such values.

    Examples
    --------
    >>> print(Condition("shr", low=0), Condition("loss", high=0), Condition("age", 18, 65))
    shr -loss 18 < age <= 65
    """

    feature: str
    low: float = -math.inf
    high: float = math.inf
    categories: frozenset[int] | None = None
    excluded: bool = False
    missing: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", _rounded_down(self.low))
        object.__setattr__(self, "high", _rounded_down(self.high))

    def holds(self, value: float) -> bool:
        """Whether a value satisfies the condition."""
        if math.isnan(value):
            return self.missing
        value = single(value)
        if not self.low < value <= self.high:
            return False
        return self.categories is None or (value in self.categories) != self.excluded

    def holds_for(self, values: np.ndarray) -> np.ndarray:
        """The same for an array of values."""
        with np.errstate(over="ignore"):
            values = np.asarray(values, dtype=np.float32)
        found = (values > self.low) & (values <= self.high)
        if self.categories is not None:
            found &= np.isin(values, list(self.categories)) != self.excluded
        return np.asarray(np.where(np.isnan(values), self.missing, found), dtype=bool)

    @property
    def impossible(self) -> bool:
        """Whether no value satisfies it."""
        if self.missing:
            return False
        if self.low >= self.high:
            return True
        if self.categories is None or self.excluded:
            return False
        return not any(self.low < one <= self.high for one in self.categories)

    @property
    def always(self) -> bool:
        """Whether every value satisfies it, missing ones aside."""
        no_set = self.categories is None or (self.excluded and not self.categories)
        return no_set and self.low == -math.inf and self.high == math.inf

    def both(self, other: "Condition") -> "Condition":
        """The condition that is satisfied where both are, on the same feature."""
        categories, excluded = _intersect(self, other)
        low, high = max(self.low, other.low), min(self.high, other.high)
        if categories is not None and not excluded:
            # What is left of the set says all, and is printed as a set.
            categories = frozenset(one for one in categories if low < one <= high)
            low, high = -math.inf, math.inf
        missing = self.missing and other.missing
        return Condition(self.feature, low, high, categories, excluded, missing)

    def implies(self, other: "Condition") -> bool:
        """Whether every value that satisfies this one satisfies the other."""
        if self.impossible:
            return True
        if self.missing and not other.missing:
            return False
        if not self.has_values:
            return True
        return self.low >= other.low and self.high <= other.high and _set_implies(self, other)

    @property
    def has_values(self) -> bool:
        """Whether a value that is not missing satisfies it."""
        return not replace(self, missing=False).impossible

    @property
    def has_alternative(self) -> bool:
        """Whether it is printed with "or missing"."""
        interval_and_set = self.categories is not None and self._limited
        return self.missing and self.has_values and not interval_and_set

    @property
    def _limited(self) -> bool:
        return (self.low, self.high) != (-math.inf, math.inf)

    def opposite(self) -> "Condition | None":
        """The condition satisfied exactly where this one is not; None where it takes two."""
        if self.categories is not None:
            if self.low != -math.inf or self.high != math.inf:
                return None
            return replace(self, excluded=not self.excluded, missing=not self.missing)
        if self.low != -math.inf and self.high != math.inf:
            return None
        if self.high != math.inf:
            return Condition(self.feature, low=self.high, missing=not self.missing)
        return Condition(self.feature, high=self.low, missing=not self.missing)

    def __str__(self) -> str:
        if self.categories is not None and self._limited:
            interval = replace(self, categories=None, excluded=False)
            return joined([interval, replace(self, low=-math.inf, high=math.inf)])
        text = self._values_text()
        if not self.missing:
            return text
        name = quoted(self.feature)
        return f"{text} or missing" if self.has_values else f"{name} is missing"

    def _values_text(self) -> str:
        name = quoted(self.feature)
        if self.categories is not None:
            members = ", ".join(str(one) for one in sorted(self.categories))
            return f"{name} {'not in' if self.excluded else 'in'} {{{members}}}"
        if (self.low, self.high) == (0.0, math.inf):
            return name
        if (self.low, self.high) == (-math.inf, 0.0):
            return f"-{name}"
        if (self.low, self.high) == (-math.inf, math.inf):
            return f"{name} not missing"
        if self.low == -math.inf:
            return f"{name} {_upper_bound(self.high)}"
        if self.low == strictly_below(self.high):
            return f"{name} = {number_text(self.high)}"
        sign, number = _lower_bound(self.low)
        if self.high == math.inf:
            return f"{name} {'>' if sign == '<' else '>='} {number}"
        return f"{number} {sign} {name} {_upper_bound(self.high)}"


def _intersect(a: Condition, b: Condition) -> tuple[frozenset[int] | None, bool]:
    if a.categories is None or b.categories is None:
        one = b if a.categories is None else a
        return one.categories, one.excluded
    if a.excluded and b.excluded:
        return a.categories | b.categories, True
    if a.excluded:
        return b.categories - a.categories, False
    return (a.categories - b.categories if b.excluded else a.categories & b.categories), False


def _set_implies(a: Condition, b: Condition) -> bool:
    if b.categories is None:
        return True
    if a.categories is None:
        return b.excluded and not b.categories
    if b.excluded:
        return b.categories <= a.categories if a.excluded else not (a.categories & b.categories)
    return not a.excluded and a.categories <= b.categories


def quoted(name: str) -> str:
    """A name as it stands in a rule: in quotes where it would be read as something else."""
    plain = _BARE_NAME.fullmatch(name) and not _NUMBER.fullmatch(name) and name not in KEYWORDS
    # Some signs beyond ASCII would end the line.
    one_line = len(f"_{name}_".splitlines()) == 1
    return name if plain else json.dumps(name, ensure_ascii=not one_line)


def number_text(value: float) -> str:
    """The shortest text that is read back as the same number of single precision.

    Examples
    --------
    >>> number_text(0.10000000149011612), number_text(3.0), number_text(1e20)
    ('0.1', '3', '1e+20')
    """
    shortest = float(str(np.float32(value)))
    if abs(shortest) < _MAX_PLAIN and shortest == int(shortest):
        return str(int(shortest))
    return str(np.float32(value))


def single(value: float) -> float:
    """The number of single precision that is nearest to `value`."""
    with np.errstate(over="ignore"):
        return float(np.float32(value))


def _rounded_down(value: float) -> float:
    """The largest number of single precision that is not above `value`."""
    nearest = single(value)
    return strictly_below(nearest) if nearest > value else nearest


def strictly_below(value: float) -> float:
    """The largest number of single precision below `value`: x < value means x ≤ that."""
    return _neighbor(value, -math.inf)


def _strictly_above(value: float) -> float:
    return _neighbor(value, math.inf)


def _neighbor(value: float, direction: float) -> float:
    # Beyond the largest number comes infinity, and before the smallest one zero, as is right here.
    with np.errstate(over="ignore", under="ignore"):
        return float(np.nextafter(np.float32(value), np.float32(direction)))


def _upper_bound(high: float) -> str:
    above = _strictly_above(high)
    if len(number_text(above)) < len(number_text(high)):
        return f"< {number_text(above)}"
    return f"<= {number_text(high)}"


def _lower_bound(low: float) -> tuple[str, str]:
    """The sign and number to the left of a name: low < x, or low ≤ x where that is shorter."""
    above = _strictly_above(low)
    if len(number_text(above)) < len(number_text(low)):
        return "<=", number_text(above)
    return "<", number_text(low)


@dataclass(frozen=True)
class Rule:
    """Conditions that must all hold, and the label that follows; no condition holds always.

    Examples
    --------
    >>> print(Rule((Condition("dividend", low=0), Condition("loss", high=0)), "earn"))
    dividend & -loss -> earn
    """

    conditions: tuple[Condition, ...]
    label: str

    def matches(self, values: Mapping[str, float]) -> bool:
        """Whether a sample, given by its features that are not zero, satisfies the rule."""
        return all(one.holds(values.get(one.feature, 0.0)) for one in self.conditions)

    @property
    def features(self) -> tuple[str, ...]:
        """The features that the rule reads, in order."""
        return tuple(dict.fromkeys(one.feature for one in self.conditions))

    def compact(self) -> "Rule":
        """One condition for each feature: what several of them say together."""
        return replace(self, conditions=intersect_conditions(self.conditions))

    @property
    def contradictory(self) -> bool:
        """Whether no sample can satisfy the rule."""
        return any(one.impossible for one in self.compact().conditions)

    def implies(self, other: "Rule") -> bool:
        """Whether every sample that this rule matches is matched by the other."""
        return conditions_imply(self.conditions, other.conditions)

    def __str__(self) -> str:
        left = joined(self.conditions) or "OTHERWISE"
        negative = self.label.startswith("~")
        return f"{left} -> {'~' if negative else ''}{quoted(self.label.removeprefix('~'))}"


def joined(conditions: Sequence[Condition]) -> str:
    """Conditions with & between them; one that has "or missing" is in parentheses then.

    Examples
    --------
    >>> print(joined([Condition("age", high=60, missing=True), Condition("member", low=0)]))
    (age <= 60 or missing) & member
    """
    if len(conditions) == 1:
        return str(conditions[0])
    return " & ".join(f"({one})" if one.has_alternative else str(one) for one in conditions)


def intersect_conditions(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """One condition for each feature that is satisfied where all of its conditions are."""
    found: dict[str, Condition] = {}
    for one in conditions:
        known = found.get(one.feature)
        found[one.feature] = one if known is None else known.both(one)
    return tuple(found.values())


def conditions_imply(some: Iterable[Condition], others: Iterable[Condition]) -> bool:
    """Whether samples that satisfy all of `some` satisfy all of `others`."""
    known = {one.feature: one for one in intersect_conditions(some)}
    if any(one.impossible for one in known.values()):
        return True
    for other in intersect_conditions(others):
        mine = known.get(other.feature, Condition(other.feature, missing=True))
        if not mine.implies(other):
            return False
    return True
