import math

import numpy as np
import pytest

from labelwood.errors import DataError, ParameterError
from labelwood.experiments.best_arm import SubGaussian
from labelwood.experiments.simulation import Setting, simulate
from labelwood.experiments.stopping import stopping_bound


def tau(gap, sigma, level):
    """The smallest n with 2 φ_n < gap, one by one."""
    x, n = max(-math.log(level), math.log(10)), 1
    while (
        2 * sigma * math.sqrt(2 * (x + 3 * math.log(x) + 1.5 * math.log(1 + math.log(n))) / n)
        >= gap
    ):
        n += 1
    return n


@pytest.mark.parametrize(
    ("means", "epsilon", "case", "gaps", "own", "times"),
    [
        ([0.0, 0.4, 1.2], 0.0, "treatment", [0.8, 0.4, 0.4], 0.0, 1),
        ([1.5, 0.4, 0.0], 0.3, "control", [0.7, 0.7, 1.1], 0.0, 1),
        ([0.0, 1.0, 2.0], 0.7, "treatment", [1.5, 0.5, 0.5], 0.65, 3),
    ],
)
def test_the_bound_is_that_of_section_4_8(means, epsilon, case, gaps, own, times):
    bound = stopping_bound(means, 0.1, epsilon=epsilon, sigma=0.5)
    expected = [tau(gap, 0.5, 0.1 / 4) for gap in gaps]
    assert bound.case == case
    assert bound.tau == tuple(expected)
    extra = tau(own, 0.5, 0.1 / 4) if own else 0
    assert bound.rounds == extra + times * sum(expected)
    assert bound.samples == (4 if epsilon else 2) * bound.rounds + 3
    assert bound.probability == pytest.approx(1 - 3 * 0.1 / 2)


@pytest.mark.parametrize(
    ("means", "epsilon"),
    [
        ([0.0, 0.0, 1.0], 0.0),
        ([1.0, 0.0, 0.0], 0.0),
        ([1.0, 0.5, 0.0], 0.5),
        ([0.0, 1.0, 1.5], 0.4),
    ],
)
def test_experiments_stop_before_the_bound(means, epsilon):
    bound = stopping_bound(means, 0.1, epsilon=epsilon)
    setting = Setting(10**6, reward=SubGaussian(), epsilon=epsilon)
    done = simulate(means, 0.1, setting, runs=100, random_state=0)
    assert np.mean(done.n_samples <= bound.samples) >= bound.probability


def test_two_best_arms_have_no_bound():
    bound = stopping_bound([0.0, 1.0, 1.0], 0.05)
    assert math.isinf(bound.rounds)
    assert math.isinf(bound.order)


def test_bad_input_is_refused():
    with pytest.raises(ParameterError, match="'epsilon' parameter of stopping_bound"):
        stopping_bound([0, 1], 0.05, epsilon=-0.1)
    with pytest.raises(DataError, match="at least 2 arms"):
        stopping_bound([0], 0.05)
