"""One-sided bounds of differences: those that p-values invert, right at all looks together."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwood.experiments.best_arm import (
    ArmStatistics,
    Bernoulli,
    Bounded,
    SubGaussian,
    arm_p_value,
    least_differences,
)

EVIDENCE = ("bounds", "mixture", "betting")
DELTA = 0.05


@given(
    st.sampled_from(EVIDENCE),
    st.lists(st.integers(0, 400), min_size=2, max_size=4),
    st.floats(0, 0.2),
)
def test_a_bound_is_above_epsilon_where_the_p_value_is_below_the_level(evidence, hits, epsilon):
    arms = [ArmStatistics.from_counts(400, one) for one in hits]
    model = Bernoulli(evidence=evidence)
    found = least_differences(arms, DELTA, reward=model)
    assert found[0] == 0
    for arm, least in zip(arms[1:], found[1:], strict=True):
        p = arm_p_value(arm, arms[0], reward=model, epsilon=epsilon, n_treatments=len(arms) - 1)
        if abs(least - epsilon) > 1e-6:  # both are rounded to the safe side
            assert (p <= DELTA) == (least > epsilon)


KINDS = (Bernoulli, partial(Bounded, 0.0, 1.0), partial(SubGaussian, 0.5))


@pytest.mark.parametrize("kind", KINDS, ids=["bernoulli", "bounded", "sub-gaussian"])
@pytest.mark.parametrize("evidence", EVIDENCE)
def test_a_bound_is_where_the_p_value_crosses_the_level(kind, evidence):
    arms = [ArmStatistics.from_counts(20_000, one) for one in (6_000, 8_000, 7_500, 9_000)]
    model = kind(evidence=evidence)
    for arm, least in zip(arms[1:], least_differences(arms, DELTA, reward=model)[1:], strict=True):
        assert least > 0.01
        below, above = (
            arm_p_value(arm, arms[0], reward=model, epsilon=least + by, n_treatments=3)
            for by in (-1e-5, 1e-5)
        )
        assert below <= DELTA < above


@pytest.mark.parametrize("evidence", EVIDENCE)
def test_no_bound_exceeds_its_difference_at_any_look_more_often_than_it_may(evidence):
    rates, looks, each, runs = np.array([0.3, 0.3, 0.35]), 12, 60, 300
    rng = np.random.default_rng(7)
    hits = rng.binomial(each, rates[:, None, None], (3, runs, looks)).cumsum(axis=2)
    model = Bernoulli(evidence=evidence)
    wrong = 0
    for run in range(runs):
        for look in range(looks):
            n = (look + 1) * each
            arms = [ArmStatistics.from_counts(n, int(hits[arm, run, look])) for arm in range(3)]
            found = least_differences(arms, DELTA, reward=model)
            if any(least > rates[arm] - rates[0] for arm, least in enumerate(found) if arm):
                wrong += 1
                break
    # Three standard errors above the level, so that it does not fail by chance.
    assert wrong / runs <= DELTA + 3 * np.sqrt(DELTA * (1 - DELTA) / runs)
