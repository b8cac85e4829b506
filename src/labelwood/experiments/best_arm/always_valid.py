"""p-values and intervals that hold at every time, however the samples are allocated.

Yang 2018, §4.3. The null hypothesis of an experiment is that no treatment is more than ε better
than the control. Every function looks at statistics of rewards and at nothing else; the bounds
behind them (`rewards`) hold for all counts at once, so it matters neither how the arms were
chosen nor when, why, or how often anybody looked.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from labelwood.core.params import Integer, Real, check_parameter
from labelwood.errors import DataError, ParameterError
from labelwood.experiments.best_arm.arms import ArmStatistics, check_statistics
from labelwood.experiments.best_arm.differences import difference_at_least, difference_interval
from labelwood.experiments.best_arm.rewards import DELTA, RewardModel
from labelwood.metrics.intervals import Interval


def arm_p_value(
    treatment: ArmStatistics,
    control: ArmStatistics,
    *,
    reward: RewardModel,
    epsilon: float = 0.0,
    n_treatments: int = 1,
) -> float:
    """The p-value of one treatment against the control: Yang 2018, eq. (4.5).

    It is the largest γ at which the treatment's lower bound at γ/2K does not exceed the
    control's upper bound at γ/2 by more than ε, to 1e-9 of its value and rounded upwards.
    With the bound "lil", whose levels are capped at 0.1, it is 1 where γ = 1 does not separate
    the two either, and so it has no value between 0.2 and 1 when K = 1.

    Parameters
    ----------
    treatment, control : ArmStatistics
    reward : RewardModel
    epsilon : float
        By how much a treatment must be better to count.
    n_treatments : int
        K, the number of treatments in the experiment: the p-value is corrected for all of them
        (union bound).

    Examples
    --------
    >>> from labelwood.experiments.best_arm.arms import Bernoulli
    >>> old, new = ArmStatistics.of([0, 0, 0, 1] * 200), ArmStatistics.of([0, 1] * 400)
    >>> f"{arm_p_value(new, old, reward=Bernoulli()):.1e}"
    '1.6e-06'
    """
    check_parameter("arm_p_value", "epsilon", epsilon, Real(low=0))
    check_parameter("arm_p_value", "n_treatments", n_treatments, Integer(low=1))
    for statistics in (treatment, control):
        check_statistics(reward, statistics)
    return math.exp(-_log_inverse_p_value(treatment, control, n_treatments, epsilon, 0.0, reward))


def experiment_p_value(
    statistics: Sequence[ArmStatistics],
    *,
    reward: RewardModel,
    epsilon: float = 0.0,
    control: int = 0,
) -> float:
    """The smallest p-value of the treatments, at this time alone: inside the minimum of (4.6).

    With evidence "betting" or "mixture" it is one over the mean evidence of the treatments.
    Under the null hypothesis it is at most α, at any time ever, with probability at most α.
    """
    running = RunningPValue(len(statistics), reward=reward, epsilon=epsilon, control=control)
    return running.update(statistics)


def significant_arms(
    statistics: Sequence[ArmStatistics],
    level: float,
    *,
    reward: RewardModel,
    epsilon: float = 0.0,
    control: int = 0,
) -> list[int]:
    """The treatments whose own p-value (4.5) is at most `level`.

    Each p-value is corrected for all K treatments (union bound).

    Examples
    --------
    >>> from labelwood.experiments.best_arm.arms import Bernoulli
    >>> old, new = ArmStatistics.of([0, 0, 0, 1] * 200), ArmStatistics.of([0, 1] * 400)
    >>> significant_arms([old, new, old], 0.05, reward=Bernoulli())
    [1]
    """

    def p_value(arm: int) -> float:
        return arm_p_value(
            statistics[arm],
            statistics[control],
            reward=reward,
            epsilon=epsilon,
            n_treatments=len(statistics) - 1,
        )

    return [arm for arm in range(len(statistics)) if arm != control and p_value(arm) <= level]


def treatment_p_values(
    counts: Sequence[int],
    totals: Sequence[float],
    *,
    reward: RewardModel,
    epsilon: float = 0.0,
    control: int = 0,
) -> dict[int, float]:
    """The p-value (4.5) of each treatment, from the numbers and sums of rewards of all arms.

    Examples
    --------
    >>> from labelwood.experiments.best_arm.arms import Bernoulli
    >>> found = treatment_p_values([800, 800, 0], [200, 400, 0], reward=Bernoulli())
    >>> {arm: f"{p:.1e}" for arm, p in found.items()}
    {1: '2.3e-06', 2: '1.0e+00'}
    """
    from labelwood.experiments.best_arm._kernels import log_inverse_p_value, with_growth

    model, n_treatments = reward.for_kernels(), len(counts) - 1
    arms = [
        with_growth(float(n), float(sum_), model) for n, sum_ in zip(counts, totals, strict=True)
    ]
    return {
        i: math.exp(
            -log_inverse_p_value(arm, arms[control], n_treatments, float(epsilon), 0.0, model)
        )
        for i, arm in enumerate(arms)
        if i != control
    }


class RunningPValue:
    """The always-valid p-value of an experiment: the smallest so far, Yang 2018, eq. (4.6).

    The minimum is over the times at which `update` is called; over fewer of them it is larger,
    and as valid.

    Parameters
    ----------
    n_arms : int
        Treatments and control.
    reward : RewardModel
    epsilon : float
        By how much a treatment must be better to count.
    control : int
        The number of the control's arm.

    Examples
    --------
    >>> from labelwood.experiments.best_arm.arms import Bernoulli
    >>> p = RunningPValue(2, reward=Bernoulli(bound="beta"))
    >>> old, new = ArmStatistics.of([0, 0, 0, 1] * 50), ArmStatistics.of([0, 1] * 100)
    >>> early = p.update([old, new])
    >>> p.update([old + old, new + new]) < early < 0.05
    True
    """

    def __init__(
        self, n_arms: int, *, reward: RewardModel, epsilon: float = 0.0, control: int = 0
    ) -> None:
        check_parameter("RunningPValue", "n_arms", n_arms, Integer(low=2))
        check_parameter("RunningPValue", "epsilon", epsilon, Real(low=0))
        check_parameter("RunningPValue", "control", control, Integer(low=0, high=n_arms - 1))
        self.n_arms = n_arms
        self.reward = reward
        self.epsilon = epsilon
        self.control = control
        self._evidence = 0.0

    @property
    def value(self) -> float:
        """The p-value so far."""
        return math.exp(-self._evidence)

    def update(self, statistics: Sequence[ArmStatistics]) -> float:
        """The p-value once these statistics, of all rewards so far, have been looked at."""
        if len(statistics) != self.n_arms:
            raise DataError(f"statistics of {self.n_arms} arms are needed, got {len(statistics)}")
        for arm in statistics:
            check_statistics(self.reward, arm)
        control = statistics[self.control]
        if self.reward.evidence != "bounds":
            self._evidence = _mean_evidence(statistics, self)
            return self.value
        for i, arm in enumerate(statistics):
            if i != self.control:
                self._evidence = _log_inverse_p_value(
                    arm, control, self.n_arms - 1, self.epsilon, self._evidence, self.reward
                )
        return self.value


def _mean_evidence(statistics: Sequence[ArmStatistics], running: RunningPValue) -> float:
    """Ln of the mean evidence of the treatments, or what is known when that is more."""
    from labelwood.experiments.evidence import experiment_evidence

    return experiment_evidence(
        np.array([arm.count for arm in statistics], np.float64),
        np.array([arm.total for arm in statistics], np.float64),
        float(running.epsilon),
        int(running.control),
        running._evidence,
        running.reward.for_kernels(),
    )[0]


def _log_inverse_p_value(
    treatment: ArmStatistics,
    control: ArmStatistics,
    n_treatments: int,
    epsilon: float,
    known: float,
    reward: RewardModel,
) -> float:
    """ln(1/p), or `known` when that is more."""
    from labelwood.experiments.best_arm._kernels import log_inverse_p_value, with_growth

    model = reward.for_kernels()
    arm = with_growth(float(treatment.count), float(treatment.total), model)
    base = with_growth(float(control.count), float(control.total), model)
    return log_inverse_p_value(arm, base, n_treatments, float(epsilon), known, model)


class Intervals(NamedTuple):
    """An interval for every arm's mean, and for every mean minus the control's.

    The control's difference to itself is (0, 0).
    """

    arms: tuple[Interval, ...]
    differences: tuple[Interval, ...]


def arm_interval(statistics: ArmStatistics, delta: float, *, reward: RewardModel) -> Interval:
    """Where the mean of one arm lies: wrong, ever, with probability at most δ.

    With "lil" each side has half of δ; "beta" bounds both sides at once, so each has all of it.
    What the range of the rewards rules out is cut off.

    Examples
    --------
    >>> from labelwood.experiments.best_arm.arms import Bernoulli
    >>> low, high = arm_interval(ArmStatistics.of([0, 1] * 50), 0.05, reward=Bernoulli())
    >>> round(low, 3), round(high, 3)
    (0.274, 0.726)
    """
    check_parameter("arm_interval", "delta", delta, DELTA)
    check_statistics(reward, statistics)
    side = delta if reward.bound == "beta" else delta / 2
    low, high = reward.lower(statistics, side), reward.upper(statistics, side)
    return Interval(max(low, reward.low), min(high, reward.high))


def intervals(
    statistics: Sequence[ArmStatistics], delta: float, *, reward: RewardModel, control: int = 0
) -> Intervals:
    """Intervals for all arms and all differences to the control, all right at all times.

    With probability at least 1 − δ not one of them fails, ever: each of the K + 1 arms has
    δ / (K + 1). The differences cost nothing more, as they follow from the arms' intervals.
    With evidence "betting" or "mixture" they are found by inversion instead, each at δ/K: then
    the intervals of the arms and those of the differences hold with probability 1 − δ each.

    Examples
    --------
    >>> from labelwood.experiments.best_arm.arms import Bernoulli
    >>> old, new = ArmStatistics.of([0, 0, 0, 1] * 200), ArmStatistics.of([0, 1] * 400)
    >>> found = intervals([old, new], 0.05, reward=Bernoulli(bound="beta"))
    >>> [round(end, 2) for end in found.differences[1]]
    [0.12, 0.37]
    """
    check_parameter("intervals", "delta", delta, DELTA)
    if not 0 <= control < len(statistics):
        raise ParameterError(f"the control is arm {control}, and there are {len(statistics)} arms")
    share = delta / len(statistics)
    arms = tuple(arm_interval(arm, share, reward=reward) for arm in statistics)
    base = arms[control]
    if reward.evidence == "bounds":
        differences = [Interval(arm.low - base.high, arm.high - base.low) for arm in arms]
    else:
        each, known = delta / (len(statistics) - 1), statistics[control]
        differences = [difference_interval(arm, known, each, reward=reward) for arm in statistics]
    differences[control] = Interval(0.0, 0.0)
    return Intervals(arms, tuple(differences))


def least_differences(
    statistics: Sequence[ArmStatistics], delta: float, *, reward: RewardModel, control: int = 0
) -> tuple[float, ...]:
    """What each arm's mean exceeds the control's by, at least: all right at all times at 1 − δ.

    These are the bounds that `arm_p_value` inverts, one-sided and corrected for all K treatments
    (union bound): a treatment has a p-value of at most δ where its bound is above ε. That of the
    control is 0.

    Examples
    --------
    >>> from labelwood.experiments.best_arm.arms import Bernoulli
    >>> old, new = ArmStatistics.of([0, 0, 0, 1] * 200), ArmStatistics.of([0, 1] * 400)
    >>> [round(one, 2) for one in least_differences([old, new], 0.05, reward=Bernoulli())]
    [0.0, 0.09]
    """
    check_parameter("least_differences", "delta", delta, DELTA)
    base, k = statistics[control], len(statistics) - 1

    def least(arm: ArmStatistics) -> float:
        if reward.evidence != "bounds":
            return difference_at_least(arm, base, delta / k, reward=reward)
        return reward.lower(arm, delta / (2 * k)) - reward.upper(base, delta / 2)

    return tuple(0.0 if i == control else least(arm) for i, arm in enumerate(statistics))
