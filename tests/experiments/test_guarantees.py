"""The guarantees against an adversary, where there is hardly any slack.

An experiment bounds the control too, pays for both sides and looks for a limited time, so that
simulated ones err far less often than they may, even with bounds that are too narrow. Here one
bound errs at a time, all others are made exact, and whoever stops does so at the worst time.
Each check is also shown to fail for bounds that are wrong.
"""

import math

import numpy as np
import pytest
from scipy.special import betaln

from labelwood.experiments.best_arm.always_valid import arm_p_value
from labelwood.experiments.best_arm.arms import ArmStatistics, Bernoulli, SubGaussian
from labelwood.experiments.best_arm.experiment import BestArmExperiment

K = 50
BETA = Bernoulli(bound="beta")
EXACT = ArmStatistics(10**10, 5e9, 5e9, 0, 1)  # its bounds are its mean, a half


def assert_at_most(level, errs):
    """The share of errors is at most `level`, but for chance."""
    errs = np.asarray(errs)
    assert errs.mean() <= level + 3 * math.sqrt(level * (1 - level) / errs.size)


# The radius "lil", crossed by a walk that is seen at many times up to 10¹²


def crossings(scale, delta, runs=4000):
    """Which standard normal walks ever leave the radius, times `scale`, upwards."""
    n = np.unique(np.geomspace(1, 1e12, 1500).astype(np.int64))
    radius = scale * np.array([SubGaussian(1.0).radius(int(one), delta) for one in n])
    rng = np.random.default_rng(0)
    steps = np.sqrt(np.diff(n, prepend=0))
    crossed = np.zeros(runs, bool)
    for r in range(runs):
        walk = (steps * rng.standard_normal(n.size)).cumsum()
        crossed[r] = (walk > n * radius).any()
    return crossed


@pytest.mark.parametrize("delta", [0.1, 0.05])
def test_a_walk_leaves_the_radius_no_more_often_than_it_may(delta):
    assert_at_most(delta, crossings(1.0, delta))


@pytest.mark.parametrize("scale", [0.6, math.sqrt(0.9 / 2)])
def test_a_radius_that_is_too_short_fails_the_same_check(scale):
    with pytest.raises(AssertionError):
        assert_at_most(0.1, crossings(scale, 0.1))


# Many arms at the null hypothesis, under the bound "beta", which is nearly tight


def luckiest(seed, length=400):
    """The arm of K fair coins, and its outcomes, at the time when it looks most like a better one.

    That is where the mixture of the likelihoods is largest over the likelihood of a half.
    """
    hits = (np.random.default_rng(seed).random((K, length)) < 0.5).cumsum(axis=1)
    n = np.arange(1, length + 1)
    ratio = betaln(hits + 0.5, n - hits + 0.5) + n * math.log(2)
    arm, last = divmod(int(np.where(2 * hits > n, ratio, -np.inf).argmax()), length)
    total = int(hits[arm, last])
    outcomes = ArmStatistics(last + 1, total, total, float(total == last + 1), 1.0)
    return arm + 1, outcomes


def play(seed, n_arms, rivals):
    """An experiment at δ = 0.2 in which everything but the luckiest arm is exact."""
    arm, outcomes = luckiest(seed)
    experiment = BestArmExperiment(n_arms, 0.2, reward=BETA)
    experiment.record(0, EXACT)
    experiment.record(arm if n_arms > 2 else 1, outcomes)
    for other in range(1, n_arms) if rivals else ():
        if other != arm:
            experiment.record(other, EXACT)
    experiment.update()
    return experiment


def test_the_p_value_pays_for_all_arms():
    p = np.array([play(seed, K + 1, rivals=False).p_value for seed in range(1000)])
    for alpha in (0.05, 0.1, 0.2):
        assert_at_most(alpha, p <= alpha)
    assert (p <= 0.2).mean() > 0.01  # there is something to see


def test_p_values_that_do_not_pay_for_all_arms_fail_the_same_check():
    lucky = [luckiest(seed)[1] for seed in range(300)]
    p = np.array([arm_p_value(one, EXACT, reward=BETA, n_treatments=1) for one in lucky])
    for alpha in (0.05, 0.1, 0.2):
        with pytest.raises(AssertionError):
            assert_at_most(alpha, p <= alpha)


def test_no_arm_wins_by_luck_more_often_than_it_may():
    won = [play(seed, K + 1, rivals=True).winner is not None for seed in range(1000)]
    assert_at_most(0.2, won)
    assert np.mean(won) > 0.01


def test_winners_that_do_not_pay_for_all_arms_fail_the_same_check():
    won = [play(seed, 2, rivals=False).winner is not None for seed in range(300)]
    with pytest.raises(AssertionError):
        assert_at_most(0.2, won)
