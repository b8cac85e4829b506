"""What is known of an arm: sufficient statistics of its rewards, which can be added.

What is assumed of the rewards is in `rewards`; its models can be had from here too.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from numbers import Real as RealNumber
from typing import Any

import numpy as np

from labelwood.core.params import Integer
from labelwood.errors import DataError
from labelwood.experiments.best_arm.rewards import (
    LARGEST,
    Bernoulli,
    Bounded,
    RewardModel,
    SubGaussian,
    finite_reward,
    reward_model,
    shown,
)

__all__ = [
    "ArmStatistics",
    "Bernoulli",
    "Bounded",
    "RewardModel",
    "SubGaussian",
    "check_statistics",
    "reward_model",
]

MOST = 10**12  # outcomes of an arm: beyond, the bounds lose digits that matter
_EPSILON = 2.0**-52


@dataclass(frozen=True, slots=True)
class ArmStatistics:
    """Count, sum, sum of squares, smallest and largest of the rewards of one arm.

    Examples
    --------
    >>> day, night = ArmStatistics.of([0, 1, 1]), ArmStatistics.of([1])
    >>> day + night
    ArmStatistics(count=4, total=3.0, squares=3.0, minimum=0.0, maximum=1.0)
    >>> (day + night).mean
    0.75
    """

    count: int = 0
    total: float = 0.0
    squares: float = 0.0
    minimum: float = math.inf
    maximum: float = -math.inf

    def __post_init__(self) -> None:
        values = [getattr(self, field.name) for field in fields(self)]
        try:
            plain = [float(value) for value in values if isinstance(value, RealNumber)]
        except OverflowError:
            plain = []
        whole = Integer(low=0).accepts(self.count)
        if not whole or len(plain) < len(values) or not _possible(*plain):
            raise DataError(f"no rewards have these statistics: {shown(tuple(values))}")
        self._set(check_count(int(self.count)), *plain[1:])

    def _set(self, *values: float) -> None:
        for field, value in zip(fields(self), values, strict=True):
            object.__setattr__(self, field.name, value)

    @classmethod
    def _summed(cls, *values: float) -> "ArmStatistics":
        """Of sums made here, which rounding may take beyond what is checked in those given."""
        statistics = object.__new__(cls)
        statistics._set(*values)
        return statistics

    @classmethod
    def of(cls, rewards: Iterable[float]) -> "ArmStatistics":
        """The statistics of some rewards."""
        values = np.array([finite_reward(reward) for reward in rewards])
        if values.size == 0:
            return cls()
        low, high = float(values.min()), float(values.max())
        return cls._summed(values.size, float(values.sum()), float(values @ values), low, high)

    @classmethod
    def from_counts(cls, visitors: int, conversions: int) -> "ArmStatistics":
        """The statistics of so many visitors, of whom so many converted.

        Examples
        --------
        >>> ArmStatistics.from_counts(1000, 52).mean
        0.052
        """
        if not Integer(low=0).accepts(visitors):
            raise DataError(f"visitors are a whole number ≥ 0. Got {shown(visitors)}.")
        if not Integer(low=0, high=int(visitors)).accepts(conversions):
            raise DataError(
                f"conversions are a whole number from 0 to the {shown(visitors)} visitors. "
                f"Got {shown(conversions)}."
            )
        n, hits = check_count(int(visitors)), float(conversions)
        if n == 0:
            return cls()
        return cls._summed(n, hits, hits, float(hits == n), float(hits > 0))

    @property
    def mean(self) -> float:
        """The mean reward; NaN without any."""
        return self.total / self.count if self.count else math.nan

    @property
    def variance(self) -> float:
        """The sample variance, over n − 1; NaN with fewer than two rewards."""
        if self.count < 2:
            return math.nan
        return max(0.0, self.squares - self.total * self.mean) / (self.count - 1)

    def add(self, reward: float) -> "ArmStatistics":
        """With one reward more."""
        return self + ArmStatistics.of([reward])

    def __add__(self, other: "ArmStatistics") -> "ArmStatistics":
        return ArmStatistics._summed(
            check_count(self.count + other.count),
            self.total + other.total,
            self.squares + other.squares,
            min(self.minimum, other.minimum),
            max(self.maximum, other.maximum),
        )

    def to_dict(self) -> dict[str, Any]:
        """For JSON, which has no infinities: without rewards, the count alone."""
        if self.count == 0:
            return {"count": 0}
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "ArmStatistics":
        """The inverse of `to_dict`."""
        if values == {"count": 0}:
            return cls()
        names = [field.name for field in fields(cls)]
        if (
            not isinstance(values, Mapping)
            or set(values) != set(names)
            or not all(isinstance(value, (int, float)) for value in values.values())
        ):
            raise DataError(
                f"statistics of an arm are numbers {', '.join(names)}. Got {shown(values)}."
            )
        return cls(**values)


def _possible(count: float, total: float, squares: float, minimum: float, maximum: float) -> bool:
    """Whether some rewards have these statistics, up to the rounding of long sums."""
    if count == 0:
        return (total, squares, minimum, maximum) == (0, 0, math.inf, -math.inf)
    rounding = 1e-9 + 4 * count * _EPSILON
    slack = rounding * count * max(abs(minimum), abs(maximum))
    return (
        -LARGEST <= minimum <= maximum <= LARGEST
        and count * minimum - slack <= total <= count * maximum + slack
        and math.isfinite(squares)
        # Squares of numbers near zero lose their digits, or are zero.
        and total * total <= squares * count * (1 + rounding) + 1e-300
    )


def check_count(count: int) -> int:
    """`count`, refused when it is more than the bounds can deal with."""
    if count > MOST:
        raise DataError(f"an arm has at most 10¹² outcomes. Got {shown(count)}.")
    return count


class Tally:
    """The statistics of several arms while they grow.

    Plain lists: to record one outcome in an array takes several times as long.
    """

    def __init__(self, n_arms: int) -> None:
        self.counts = [0] * n_arms
        self.totals = [0.0] * n_arms
        self._squares = [0.0] * n_arms
        self._minima = [math.inf] * n_arms
        self._maxima = [-math.inf] * n_arms

    def add(self, arm: int, reward: float) -> None:
        """One reward, which has been checked."""
        self.counts[arm] += 1
        self.totals[arm] += reward
        self._squares[arm] += reward * reward
        if reward < self._minima[arm]:
            self._minima[arm] = reward
        if reward > self._maxima[arm]:
            self._maxima[arm] = reward

    def add_batch(self, arm: int, batch: ArmStatistics) -> None:
        """The statistics of some rewards, which have been checked."""
        self.counts[arm] = check_count(self.counts[arm] + batch.count)
        self.totals[arm] += batch.total
        self._squares[arm] += batch.squares
        self._minima[arm] = min(self._minima[arm], batch.minimum)
        self._maxima[arm] = max(self._maxima[arm], batch.maximum)

    @property
    def statistics(self) -> tuple[ArmStatistics, ...]:
        """Those of each arm."""
        columns = (self.counts, self.totals, self._squares, self._minima, self._maxima)
        return tuple(ArmStatistics._summed(*values) for values in zip(*columns, strict=True))

    def to_list(self) -> list[dict[str, Any]]:
        """The statistics of each arm, for JSON."""
        return [arm.to_dict() for arm in self.statistics]

    @classmethod
    def from_list(
        cls, arms: Sequence[Mapping[str, Any]], n_arms: int, model: RewardModel
    ) -> "Tally":
        """The inverse of `to_list`, checked."""
        if len(arms) != n_arms:
            raise DataError(f"statistics of {n_arms} arms are needed, got {len(arms)}")
        tally = cls(n_arms)
        for arm, values in enumerate(arms):
            statistics = ArmStatistics.from_dict(values)
            check_statistics(model, statistics)
            tally.add_batch(arm, statistics)
        return tally


def check_statistics(model: RewardModel, statistics: ArmStatistics) -> None:
    """Refuse statistics of rewards that `model` does not allow."""
    if statistics.count == 0:
        return
    model.check(statistics.minimum)
    model.check(statistics.maximum)
    # Zeros and ones are their own squares, and sum to a whole number.
    if isinstance(model, Bernoulli) and not (
        statistics.total == statistics.squares and statistics.total.is_integer()
    ):
        raise DataError(f"these are not the statistics of zeros and ones: {statistics!r}")


def check_arm_names(names: Sequence[str], n_arms: object) -> tuple[str, ...]:
    """The names of the arms, refused unless there is one of its own for each."""
    words = tuple(names) if isinstance(names, Sequence) and not isinstance(names, str) else ()
    if not words or not all(isinstance(one, str) and one for one in words):
        raise DataError(f"names are texts, one for each arm. Got {shown(names)}.")
    if len(words) != n_arms or len(set(words)) < len(words):
        raise DataError(f"{shown(n_arms)} arms need as many different names. Got {shown(words)}.")
    return words


def named_arm(name: str, names: Sequence[str] | None) -> int:
    """The number of the arm that is called so.

    Examples
    --------
    >>> named_arm("new", ["old", "new"])
    1
    """
    if names is None or name not in names:
        known = "no arm has a name" if names is None else ", ".join(names)
        raise DataError(f"arm {shown(name)} does not exist: {known}")
    return names.index(name)
