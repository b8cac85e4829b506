"""The difference between two arms: evidence that is valid at every look, and its intervals.

The proofs are on docs/research/evidence.md.
"""

import math

from labelwood.core.params import Real, check_parameter
from labelwood.errors import ParameterError
from labelwood.experiments.best_arm.arms import ArmStatistics, check_statistics
from labelwood.experiments.best_arm.rewards import DELTA, RewardModel
from labelwood.experiments.evidence import log_evidence
from labelwood.metrics.intervals import Interval

_STEPS = 40  # halvings of the range of a difference: 1e-12 of it


def difference_evidence(
    treatment: ArmStatistics,
    control: ArmStatistics,
    *,
    reward: RewardModel,
    difference: float = 0.0,
) -> float:
    """Ln E against "the treatment's mean is at most the control's + `difference`", at least 0.

    Whatever the arms' means under this null hypothesis, and however the next arm is chosen from
    what was seen, E ≥ 1/α has probability at most α, at all times together ("betting"); with
    "mixture" this holds asymptotically.

    Parameters
    ----------
    treatment, control : ArmStatistics
    reward : RewardModel
        With evidence "betting" or "mixture".
    difference : float

    Examples
    --------
    >>> from labelwood.experiments.best_arm.rewards import Bernoulli
    >>> retained = ArmStatistics.from_counts(44_700, 8_502)
    >>> before = ArmStatistics.from_counts(45_489, 8_279)
    >>> model = Bernoulli(evidence="betting", effect=0.01)
    >>> round(math.exp(-difference_evidence(retained, before, reward=model)), 3)
    0.026
    """
    _check(treatment, control, reward)
    check_parameter("difference_evidence", "difference", difference, Real())
    return _log_evidence(treatment, control, float(difference), reward)


def difference_interval(
    treatment: ArmStatistics, control: ArmStatistics, delta: float, *, reward: RewardModel
) -> Interval:
    """Where the treatment's mean minus the control's lies: wrong, ever, with probability ≤ δ.

    The differences d that neither "at most d" nor "at least d" rejects at δ/2.

    Examples
    --------
    >>> from labelwood.experiments.best_arm.rewards import Bernoulli
    >>> old = ArmStatistics.from_counts(20_000, 1_000)
    >>> new = ArmStatistics.from_counts(20_000, 1_250)
    >>> low, high = difference_interval(new, old, 0.05, reward=Bernoulli(evidence="betting"))
    >>> f"{low:.4f} {high:.4f}"
    '0.0051 0.0200'
    """
    check_parameter("difference_interval", "delta", delta, DELTA)
    _check(treatment, control, reward)
    if treatment.count == 0 or control.count == 0:
        span = reward.high - reward.low
        return Interval(-span, span)
    level = math.log(2 / delta)
    low = _end(treatment, control, level, reward)
    return Interval(low, -_end(control, treatment, level, reward))


def difference_at_least(
    treatment: ArmStatistics, control: ArmStatistics, delta: float, *, reward: RewardModel
) -> float:
    """What the treatment's mean exceeds the control's by, at least: one-sided at δ.

    The largest difference d at which "at most d" is rejected at δ, so that it is above ε where the
    one-sided p-value for ε is below δ. An interval has δ/2 for each of its sides, and is wider.

    Examples
    --------
    >>> from labelwood.experiments.best_arm.rewards import Bernoulli
    >>> old = ArmStatistics.from_counts(20_000, 1_000)
    >>> new = ArmStatistics.from_counts(20_000, 1_250)
    >>> model = Bernoulli(evidence="betting")
    >>> f"{difference_at_least(new, old, 0.05, reward=model):.4f}"
    '0.0056'
    """
    check_parameter("difference_at_least", "delta", delta, DELTA)
    _check(treatment, control, reward)
    if treatment.count == 0 or control.count == 0:
        return reward.low - reward.high
    return _end(treatment, control, math.log(1 / delta), reward)


def _end(
    upper: ArmStatistics, lower: ArmStatistics, log_inverse_delta: float, reward: RewardModel
) -> float:
    """The largest d, rounded down, at which "upper ≤ lower + d" is rejected at δ."""
    inside = upper.mean - lower.mean
    bounded = math.isfinite(reward.low)
    outside = -(reward.high - reward.low) if bounded else inside - reward.sigma
    while not bounded and _log_evidence(upper, lower, outside, reward) < log_inverse_delta:
        outside -= 2 * (inside - outside)
    for _ in range(_STEPS):
        middle = (inside + outside) / 2
        if _log_evidence(upper, lower, middle, reward) >= log_inverse_delta:
            outside = middle
        else:
            inside = middle
    return outside


def _log_evidence(
    treatment: ArmStatistics, control: ArmStatistics, difference: float, reward: RewardModel
) -> float:
    return log_evidence(
        float(treatment.count),
        float(treatment.total),
        float(control.count),
        float(control.total),
        difference,
        0.0,
        reward.for_kernels(),
    )


def _check(treatment: ArmStatistics, control: ArmStatistics, reward: RewardModel) -> None:
    if reward.evidence == "bounds":
        raise ParameterError(
            "a difference needs a reward model with evidence 'betting' or 'mixture'. "
            f"Got {reward!r}."
        )
    for statistics in (treatment, control):
        check_statistics(reward, statistics)
