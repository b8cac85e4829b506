"""What is assumed of the rewards of an arm, and the bounds on its mean that follow.

The bounds hold for all numbers of rewards at once, so an experiment may be looked at, and
stopped, at any time. They assume that the rewards of an arm are independent draws with one
mean, or at least that every reward has this mean given all that was seen before it.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from numbers import Real as RealNumber
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from labelwood.core.params import (
    Constraints,
    Integer,
    OneOf,
    Real,
    check_parameter,
    check_parameters,
)
from labelwood.core.types import DoubleArray
from labelwood.errors import DataError, ParameterError

if TYPE_CHECKING:
    from labelwood.experiments.best_arm.arms import ArmStatistics

LARGEST = 1e150  # of a reward: squares stay finite
DELTA = Real(above=0, below=1)
_OF_EVIDENCE = ("evidence", "effect", "ratio")


def shown(value: object) -> str:
    """`value` for a message: on one line, shortened, and though it be an int of many digits."""
    try:
        text = repr(value)
    except ValueError:  # of an int with more digits than Python writes
        return "a number of thousands of digits"
    return text if len(text) <= 200 else f"{text[:200]}…"


def finite_reward(reward: object) -> float:
    """`reward` as a float; refused unless it is a finite number."""
    # The exact types first: asking an abstract class takes longer than all the rest.
    if type(reward) in (int, float, bool) or isinstance(reward, (RealNumber, np.bool_)):
        try:
            value = float(reward)  # type: ignore[arg-type]
        except OverflowError:  # an int beyond any float
            value = math.inf
        if -LARGEST <= value <= LARGEST:
            return value
    raise DataError(f"a reward must be a finite number. Got {shown(reward)} instead.")


class RewardModel:
    """What the reward models have in common.

    Bounds are chosen by name:

    - "lil": mean ± σ √(2 (ln 1/δ + 3 ln ln 1/δ + 3/2 ln ln en) / n) at min(δ, 0.1), the law of
      the iterated logarithm of Kaufmann, Cappé and Garivier (2016), theorem 8. It is
      Yang 2018, eq. (4.3) with the factor 2σ² that is left out there, and without which it is
      not a bound (see docs/research/experiments.md).
    - "beta", for bounded rewards: the means m at which the mixture of all likelihood ratios
      against m under a Beta(½, ½) prior has stayed below 1/δ (Robbins 1970; Howard, Ramdas,
      McAuliffe and Sekhon 2021, for bounded rewards by Hoeffding's convexity argument). It
      bounds both sides at once, needs no more than the count and the sum, and is narrower,
      much so when the mean is near an end of the range.

    Evidence for a difference between two arms is chosen by name too (see
    docs/research/evidence.md for the proofs):

    - "bounds": the bounds of both arms are apart, Yang 2018, eq. (4.5).
    - "betting": the capital of bets against "no better", the smallest over all means that the
      control may have (Waudby-Smith and Ramdas 2024). Exact, for every way to choose the arms,
      and several times as powerful. `effect` is the smallest effect worth finding: bets are
      spread over a quarter to 32 times of it. `ratio` is how many samples a treatment gets
      for one of the control.
    - "mixture": a normal mixture with the estimated variance (Robbins 1970; Waudby-Smith et
      al. 2024), with `effect` as the scale of the prior. Valid only asymptotically, and proved
      for arms that are not chosen by what was seen.
    """

    def _check_evidence(self) -> None:
        # No arm can be better by more than the range, as a rate cannot by 3, meant as 3 %.
        constraints: Constraints = {
            "evidence": OneOf("bounds", "betting", "mixture"),
            "effect": (Real(above=0, high=min(LARGEST, self.high - self.low)), None),
            "ratio": Real(low=0.001, high=1000),
        }
        check_parameters(self, constraints)
        if self.effect is not None:
            object.__setattr__(self, "effect", float(self.effect))
        object.__setattr__(self, "ratio", float(self.ratio))

    def __repr__(self) -> str:
        shown = ", ".join(f"{key}={value!r}" for key, value in self._stated().items())
        return f"{type(self).__name__}({shown})"

    def _stated(self) -> dict[str, Any]:
        """The parameters; those of the evidence only where they are not the defaults."""
        optional = {one.name: one.default for one in fields(self) if one.name in _OF_EVIDENCE}  # type: ignore[arg-type]
        values = asdict(self)  # type: ignore[call-overload]
        return {
            key: one for key, one in values.items() if key not in optional or one != optional[key]
        }

    def with_evidence(
        self, evidence: str, effect: float | None = None, ratio: float | None = None
    ) -> "RewardModel":
        """The same rewards under other evidence.

        Examples
        --------
        >>> Bernoulli(bound="beta").with_evidence("betting", 0.02)
        Bernoulli(bound='beta', evidence='betting', effect=0.02)
        """
        given = {"evidence": evidence, "effect": effect, "ratio": ratio}
        return replace(self, **{key: one for key, one in given.items() if one is not None})  # type: ignore[type-var]

    name: ClassVar[str]
    _typical_effect: ClassVar[float] = 0.01  # of the range, or of σ where there is none

    if TYPE_CHECKING:  # each model has them as parameters, constants or properties

        @property
        def bound(self) -> str:
            """The name of the bound."""

        @property
        def evidence(self) -> str:
            """How evidence for a difference is found: "bounds", "betting" or "mixture"."""

        @property
        def effect(self) -> float | None:
            """The smallest effect worth finding."""

        @property
        def ratio(self) -> float:
            """How many samples a treatment gets for one of the control."""

        @property
        def sigma(self) -> float:
            """The rewards' deviations from their mean are sub-Gaussian with this scale."""

        @property
        def low(self) -> float:
            """The smallest reward that can be."""

        @property
        def high(self) -> float:
            """The largest reward that can be."""

    def check(self, reward: object) -> float:
        """`reward` as a float, refused when it cannot be under the model."""
        return finite_reward(reward)

    def radius(self, n: int, delta: float) -> float:
        """How far the mean of `n` rewards may be from the arm's: the bound "lil", either side.

        Each side is crossed, at whatever n, with probability at most δ.
        """
        check_parameter(type(self).__name__, "n", n, Integer(low=1))
        check_parameter(type(self).__name__, "delta", delta, DELTA)
        from labelwood.experiments.best_arm._kernels import LIL, lil_radius, with_growth

        growth = with_growth(float(n), 0.0, np.array([LIL]))[2]
        return lil_radius(float(n), growth, -math.log(delta), float(self.sigma))

    def lower(self, statistics: "ArmStatistics", delta: float) -> float:
        """A bound below the arm's mean: it fails, ever, with probability at most δ."""
        check_parameter(type(self).__name__, "delta", delta, DELTA)
        from labelwood.experiments.best_arm._kernels import lower, with_growth

        model = self.for_kernels()
        arm = with_growth(float(statistics.count), float(statistics.total), model)
        return lower(arm, -math.log(delta), model)

    def upper(self, statistics: "ArmStatistics", delta: float) -> float:
        """A bound above the arm's mean: it fails, ever, with probability at most δ."""
        check_parameter(type(self).__name__, "delta", delta, DELTA)
        from labelwood.experiments.best_arm._kernels import upper, with_growth

        model = self.for_kernels()
        arm = with_growth(float(statistics.count), float(statistics.total), model)
        return upper(arm, -math.log(delta), model)

    def for_kernels(self) -> DoubleArray:
        """The array `model` that the kernels read, at the positions that `evidence` names."""
        from labelwood.experiments.best_arm._kernels import BETA, LIL
        from labelwood.experiments.evidence import (
            BETTING,
            BOUNDS,
            EFFECT,
            HAS_RANGE,
            KIND_OF_BOUND,
            KIND_OF_EVIDENCE,
            LOW,
            MIXTURE,
            RATIO,
            SIGMA,
            SPAN,
        )

        has_range = math.isfinite(self.low)
        ends = (self.low, self.high - self.low) if has_range else (0.0, 1.0)
        kind = {"bounds": BOUNDS, "betting": BETTING, "mixture": MIXTURE}[self.evidence]
        scale = ends[1] if has_range else self.sigma
        effect = self._typical_effect * scale if self.effect is None else self.effect
        bound = BETA if self.bound == "beta" else LIL
        model = np.empty(HAS_RANGE + 1)
        model[[KIND_OF_BOUND, SIGMA, LOW, SPAN]] = bound, self.sigma, *ends
        model[[KIND_OF_EVIDENCE, EFFECT, RATIO, HAS_RANGE]] = kind, effect, self.ratio, has_range
        return model

    def to_dict(self) -> dict[str, Any]:
        """Name and parameters, for JSON; `reward_model` reads it."""
        return {"name": self.name, **self._stated()}


@dataclass(frozen=True, repr=False)
class SubGaussian(RewardModel):
    """Rewards with E exp(λ (X − μ)) ≤ exp(λ² σ² / 2), such as Gaussian ones of variance σ².

    Examples
    --------
    >>> round(SubGaussian(sigma=2.0).radius(100, 0.05), 3)
    0.843
    """

    name: ClassVar[str] = "subgaussian"
    bound: ClassVar[str] = "lil"
    low: ClassVar[float] = -math.inf
    high: ClassVar[float] = math.inf
    _typical_effect: ClassVar[float] = 0.1
    sigma: float = 1.0
    evidence: str = field(default="bounds", kw_only=True)
    effect: float | None = field(default=None, kw_only=True)
    ratio: float = field(default=1.0, kw_only=True)

    def __post_init__(self) -> None:
        self._check_evidence()
        check_parameters(self, {"sigma": Real(above=0)})
        object.__setattr__(self, "sigma", float(self.sigma))


@dataclass(frozen=True, repr=False)
class Bounded(RewardModel):
    """Rewards in [low, high], which are sub-Gaussian with σ = (high − low) / 2.

    Examples
    --------
    >>> from labelwood.experiments.best_arm.arms import ArmStatistics
    >>> stars = ArmStatistics.of([5, 4, 5, 5, 3] * 40)
    >>> for bound in ("lil", "beta"):
    ...     model = Bounded(1, 5, bound=bound)
    ...     print(round(model.lower(stars, 0.05), 2), round(model.upper(stars, 0.05), 2))
    3.8 5.0
    4.0 4.69
    """

    name: ClassVar[str] = "bounded"
    low: float
    high: float
    bound: str = field(default="lil", kw_only=True)
    evidence: str = field(default="bounds", kw_only=True)
    effect: float | None = field(default=None, kw_only=True)
    ratio: float = field(default=1.0, kw_only=True)

    def __post_init__(self) -> None:
        ends = Real(low=-LARGEST, high=LARGEST)
        check_parameters(self, {"low": ends, "high": ends, "bound": OneOf("lil", "beta")})
        check_parameter(type(self).__name__, "high", self.high, Real(above=float(self.low)))
        object.__setattr__(self, "low", float(self.low))
        object.__setattr__(self, "high", float(self.high))
        self._check_evidence()

    @property
    def sigma(self) -> float:
        """Half the width of the range (Hoeffding's lemma)."""
        return (self.high - self.low) / 2

    def check(self, reward: object) -> float:
        """`reward` as a float, refused outside the range."""
        value = finite_reward(reward)
        if not self.low <= value <= self.high:
            raise DataError(f"a reward must be in [{self.low:g}, {self.high:g}]. Got {value!r}.")
        return value


@dataclass(frozen=True, repr=False)
class Bernoulli(RewardModel):
    """Rewards that are 0 or 1, or False or True.

    Examples
    --------
    >>> Bernoulli(bound="beta").check(True)
    1.0
    """

    name: ClassVar[str] = "bernoulli"
    sigma: ClassVar[float] = 0.5
    low: ClassVar[float] = 0.0
    high: ClassVar[float] = 1.0
    bound: str = field(default="lil", kw_only=True)
    evidence: str = field(default="bounds", kw_only=True)
    effect: float | None = field(default=None, kw_only=True)
    ratio: float = field(default=1.0, kw_only=True)

    def __post_init__(self) -> None:
        self._check_evidence()
        check_parameters(self, {"bound": OneOf("lil", "beta")})

    def check(self, reward: object) -> float:
        """`reward` as a float, refused unless it is 0 or 1."""
        value = finite_reward(reward)
        if value in (0.0, 1.0):
            return value
        raise DataError(f"a reward must be 0 or 1. Got {reward!r} instead.")


RewardLike: TypeAlias = str | RewardModel
"""A reward model, or a name: "bernoulli", or "gaussian" for deviations of scale one.

A name takes the tightest bound and evidence that are exact; a model those that it states.
"""

_NAMED: dict[str, Callable[[], RewardModel]] = {
    "bernoulli": lambda: Bernoulli(bound="beta", evidence="betting"),
    "gaussian": lambda: SubGaussian(evidence="betting"),
}


def as_reward_model(owner: str, reward: RewardLike) -> RewardModel:
    """The model that `reward` is or names; `owner` is whose parameter it is.

    Examples
    --------
    >>> as_reward_model("plan", "gaussian")
    SubGaussian(sigma=1.0, evidence='betting')
    """
    if isinstance(reward, RewardModel):
        return reward
    if isinstance(reward, str) and reward in _NAMED:
        return _NAMED[reward]()
    names = " or ".join(repr(name) for name in _NAMED)
    raise ParameterError(
        f"The 'reward' parameter of {owner} must be {names}, or a RewardModel such as "
        f"Bounded(0, 5). Got {shown(reward)} instead."
    )


_MODELS = {model.name: model for model in (SubGaussian, Bounded, Bernoulli)}


def reward_model(values: Mapping[str, Any]) -> RewardModel:
    """The inverse of a model's `to_dict`.

    Examples
    --------
    >>> reward_model({"name": "bounded", "low": 0, "high": 5})
    Bounded(low=0.0, high=5.0, bound='lil')
    """
    name = values.get("name") if isinstance(values, Mapping) else values
    if not isinstance(name, str) or name not in _MODELS:
        known = ", ".join(_MODELS)
        raise DataError(f"a reward model is one of {known}. Got {shown(name)} instead.")
    parameters = {key: value for key, value in values.items() if key != "name"}
    try:
        return _MODELS[name](**parameters)
    except (TypeError, ParameterError):
        raise DataError(f"these are not the parameters of {name}: {shown(parameters)}") from None
