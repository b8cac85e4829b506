"""p-values and intervals that hold at every time, however the arms are chosen."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import norm

from labelwood.errors import DataError, ParameterError
from labelwood.experiments.best_arm.always_valid import (
    RunningPValue,
    arm_interval,
    arm_p_value,
    experiment_p_value,
    intervals,
    significant_arms,
    treatment_p_values,
)
from labelwood.experiments.best_arm.arms import ArmStatistics, Bernoulli, Bounded, SubGaussian
from labelwood.experiments.best_arm.differences import difference_interval
from labelwood.experiments.best_arm.experiment import BestArmExperiment
from labelwood.experiments.simulation.simulate import Setting, simulate

LEVELS = (0.01, 0.05, 0.1, 0.2)


def arm(n, mean):
    """An arm with this many rewards around this mean."""
    return ArmStatistics(n, n * mean, n * (mean**2 + 1), mean - 1, mean + 1)


ARMS = st.builds(arm, st.integers(1, 10**5), st.floats(-3, 3))


def radius(n, delta):
    """(4.3) for σ = 1, with its factor of two and its cap."""
    level = math.log(1 / min(delta, 0.1))
    return math.sqrt(2 * (level + 3 * math.log(level) + 1.5 * math.log(math.log(math.e * n))) / n)


def slack(gamma, treatment, control, n_treatments, epsilon):
    """UCB_0 + ε − LCB_i at γ: (4.5) asks where it is not negative."""
    low = treatment.mean - radius(treatment.count, gamma / (2 * n_treatments))
    return control.mean + radius(control.count, gamma / 2) + epsilon - low


@given(treatment=ARMS, control=ARMS, k=st.integers(1, 20), epsilon=st.sampled_from([0, 0.5]))
def test_the_p_value_of_an_arm_solves_4_5(treatment, control, k, epsilon):
    def at(log_gamma):
        return slack(math.exp(log_gamma), treatment, control, k, epsilon)

    found = arm_p_value(
        treatment, control, reward=SubGaussian(1.0), epsilon=epsilon, n_treatments=k
    )
    if at(0) >= 0:
        assert found == 1
    elif at(-600) < 0:
        assert found <= math.exp(-600)
    else:
        expected = math.exp(brentq(at, -600, 0, xtol=1e-12))
        assert found == pytest.approx(expected, rel=1e-6)
        assert found >= expected * (1 - 1e-11)


@pytest.mark.parametrize(
    "model", [Bernoulli(), Bernoulli(bound="beta"), Bounded(0, 1, bound="beta")]
)
@given(
    n=st.tuples(st.integers(1, 3000), st.integers(1, 3000)),
    share=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    gamma=st.floats(1e-12, 0.999),
)
def test_bounds_part_exactly_at_levels_above_the_p_value(model, n, share, gamma):
    control, treatment = (
        ArmStatistics.of([1] * round(m * s) + [0] * (m - round(m * s)))
        for m, s in zip(n, share, strict=True)
    )
    p = arm_p_value(treatment, control, reward=model, n_treatments=3)
    apart = model.lower(treatment, gamma / 6) > model.upper(control, gamma / 2)
    if abs(math.log(gamma / p)) > 1e-6:
        assert apart == (p < gamma)


@given(control=ARMS, treatment=ARMS)
def test_with_one_treatment_the_cap_leaves_no_p_value_between_a_fifth_and_one(control, treatment):
    p = arm_p_value(treatment, control, reward=SubGaussian(1.0))
    assert p == 1 or 0 < p <= 0.2 * (1 + 1e-9)


def test_overwhelming_evidence_is_a_tiny_p_value_and_not_zero():
    p = arm_p_value(arm(10**6, 3.0), arm(10**6, -3.0), reward=SubGaussian(1.0))
    assert 0 < p < 1e-300


def test_without_rewards_nothing_is_found():
    model = Bernoulli()
    full = ArmStatistics.of([1] * 1000)
    assert arm_p_value(full, ArmStatistics(), reward=model) == 1
    assert arm_p_value(ArmStatistics(), full, reward=model) == 1
    assert arm_interval(ArmStatistics(), 0.05, reward=model) == (0, 1)


@given(arms=st.lists(ARMS, min_size=2, max_size=5), control=st.integers(0, 1))
def test_an_experiment_has_the_smallest_p_value_of_its_treatments(arms, control):
    model = SubGaussian(1.0)
    expected = min(
        arm_p_value(one, arms[control], reward=model, n_treatments=len(arms) - 1)
        for i, one in enumerate(arms)
        if i != control
    )
    found = experiment_p_value(arms, reward=model, control=control)
    assert found == pytest.approx(expected, rel=1e-8)


def test_the_running_p_value_is_the_smallest_so_far():
    rng = np.random.default_rng(0)
    running = RunningPValue(3, reward=SubGaussian(1.0))
    arms = [ArmStatistics()] * 3
    singles, found = [], []
    for _ in range(100):
        arms = [
            one.add(mean + rng.standard_normal()) for one, mean in zip(arms, (0, 1, 0), strict=True)
        ]
        singles.append(experiment_p_value(arms, reward=SubGaussian(1.0)))
        found.append(running.update(arms))
    np.testing.assert_allclose(found, np.minimum.accumulate(singles), rtol=1e-8)
    assert found[-1] < 0.01
    assert running.value == found[-1]


@given(arms=st.lists(ARMS, min_size=2, max_size=5))
def test_intervals_by_hand(arms):
    found = intervals(arms, 0.05, reward=SubGaussian(1.0), control=1)
    radii = [radius(one.count, 0.05 / (2 * len(arms))) for one in arms]
    for i, one in enumerate(arms):
        expected = (one.mean - radii[i], one.mean + radii[i])
        assert found.arms[i] == pytest.approx(expected)
        if i != 1:
            both = radii[i] + radii[1]
            apart = one.mean - arms[1].mean
            assert found.differences[i] == pytest.approx((apart - both, apart + both), abs=1e-9)
    assert found.differences[1] == (0, 0)


def test_beta_bounds_both_sides_at_once_and_lil_one():
    arm = ArmStatistics.of([0, 0, 1] * 40)
    for model, side in ((Bernoulli(bound="beta"), 0.1), (Bernoulli(), 0.05)):
        expected = (model.lower(arm, side), model.upper(arm, side))
        assert arm_interval(arm, 0.1, reward=model) == expected


def test_an_interval_keeps_to_the_range_of_the_rewards():
    assert arm_interval(ArmStatistics.of([0, 1]), 0.05, reward=Bernoulli()) == (0, 1)


OLD, NEW = ArmStatistics.of([0, 0, 0, 1] * 200), ArmStatistics.of([0, 1] * 400)


@pytest.mark.parametrize("model", [Bernoulli(), Bernoulli(evidence="betting")])
def test_without_more_words_there_is_no_margin_one_treatment_and_arm_0_is_the_control(model):
    both, bounds = [OLD, NEW], model.evidence == "bounds"
    plain = RunningPValue(2, reward=model, epsilon=0.0, control=0)
    assert plain.value == 1
    expected = plain.update(both)
    assert expected < 1e-4
    assert experiment_p_value(both, reward=model, epsilon=0.1) > 10 * expected
    assert experiment_p_value(both, reward=model) == expected
    assert RunningPValue(2, reward=model).update(both) == expected
    assert experiment_p_value(both[::-1], reward=model) == pytest.approx(1)
    assert intervals(both, 0.05, reward=model) == intervals(both, 0.05, reward=model, control=0)
    if bounds:
        assert arm_p_value(NEW, OLD, reward=model) == expected
        assert arm_p_value(NEW, OLD, reward=model, epsilon=0.0, n_treatments=1) == expected


def test_each_treatment_has_a_p_value_that_pays_for_all():
    model = Bernoulli()
    p = arm_p_value(NEW, OLD, reward=model, n_treatments=2)
    found = treatment_p_values([800, 800, 0], [200, 400, 0], reward=model)
    assert found == {1: pytest.approx(p, rel=1e-9), 2: 1.0}
    margin = treatment_p_values([800, 800, 0], [200, 400, 0], reward=model, epsilon=0.1)
    assert margin[1] > 10 * found[1]
    arms = [OLD, NEW, OLD]
    assert significant_arms(arms, p, reward=model) == [1]
    assert significant_arms(arms, p * (1 - 1e-6), reward=model) == []
    assert significant_arms(arms, 0.05, reward=model, control=1) == []


def test_differences_by_betting_are_inverted_at_a_share_for_each_treatment():
    model = Bernoulli(evidence="betting")
    found = intervals([OLD, NEW, OLD], 0.1, reward=model)
    for i, arm in ((1, NEW), (2, OLD)):
        assert found.differences[i] == difference_interval(arm, OLD, 0.05, reward=model)
    assert found.differences[0] == (0, 0)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda a: arm_p_value(a, a, reward=Bernoulli(), epsilon=-1),
            ParameterError,
            "'epsilon' parameter of arm_p_value",
        ),
        (
            lambda a: arm_p_value(a, a, reward=Bernoulli(), n_treatments=0),
            ParameterError,
            "'n_treatments' parameter of arm_p_value",
        ),
        (lambda a: arm_p_value(a, arm(2, 5.0), reward=Bernoulli()), DataError, "0 or 1"),
        (lambda a: experiment_p_value([a], reward=Bernoulli()), ParameterError, "'n_arms'"),
        (
            lambda a: experiment_p_value([a, a], reward=Bernoulli(), control=2),
            ParameterError,
            "'control'",
        ),
        (
            lambda a: RunningPValue(2, reward=Bernoulli()).update([a]),
            DataError,
            "statistics of 2 arms are needed, got 1",
        ),
        (lambda a: intervals([a, a], 0.0, reward=Bernoulli()), ParameterError, "'delta'"),
        (lambda a: intervals([a, a], 1.0, reward=Bernoulli()), ParameterError, "'delta'"),
        (
            lambda a: intervals([a], 0.1, reward=Bernoulli(), control=1),
            ParameterError,
            "the control is arm 1, and there are 1 arms",
        ),
    ],
)
def test_bad_input_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call(ArmStatistics.of([0, 1]))


# By simulation. The running minimum at the end of a run is the p-value of whoever stops when
# it looks best, so it stands for every stopping time up to there. At δ = 1e-9 the rule itself
# hardly ever stops a run, but goes on choosing arms by their outcomes.

NULLS = {
    "gaussian": ([0.0, 0.0], SubGaussian(1.0)),
    "gaussian, adaptive": ([0.3, 0.0, 0.3, 0.29], SubGaussian(1.0)),
    "bernoulli": ([0.1, 0.1, 0.05], Bernoulli()),
    "bernoulli, beta": ([0.1, 0.1, 0.05], Bernoulli(bound="beta")),
    "bounded, beta": ([2.0, 2.0, 1.0], Bounded(1, 5, bound="beta")),
}


def assert_super_uniform(p_values):
    for alpha in LEVELS:
        allowed = alpha + 3 * math.sqrt(alpha * (1 - alpha) / p_values.size)
        assert (p_values <= alpha).mean() <= allowed, alpha


@pytest.mark.parametrize("policy", ["best_arm", "uniform", "lucb++", "lil_ucb"])
@pytest.mark.parametrize("name", NULLS)
def test_p_values_are_super_uniform_whenever_one_stops(name, policy):
    means, model = NULLS[name]
    setting = Setting(500, reward=model, policy=policy)
    assert_super_uniform(simulate(means, 1e-9, setting, runs=1000, random_state=0).p_value)


@pytest.mark.slow
@pytest.mark.parametrize("name", NULLS)
def test_p_values_are_super_uniform_in_twenty_thousand_experiments(name):
    means, model = NULLS[name]
    for delta, policy, epsilon in [
        (1e-9, "best_arm", 0.0),
        (1e-9, "uniform", 0.0),
        (0.2, "best_arm", 0.02),
        (0.2, "lucb++", 0.02),
        (0.2, "lil_ucb", 0.0),
    ]:
        setting = Setting(1000, reward=model, policy=policy, epsilon=epsilon)
        done = simulate(means, delta, setting, runs=20_000, random_state=1, n_jobs=-1)
        assert_super_uniform(done.p_value)


def test_a_p_value_made_for_one_look_fails_the_same_check():
    rng = np.random.default_rng(0)
    gaps = rng.standard_normal((1000, 500)) - rng.standard_normal((1000, 500))
    n = np.arange(1, 501)
    once = norm.sf(gaps.cumsum(axis=1) / np.sqrt(2 * n))
    assert_super_uniform(once[:, -1])
    with pytest.raises(AssertionError):
        assert_super_uniform(once.min(axis=1))


@pytest.mark.parametrize(("share", "least"), [(0.5, 0.08), (0.05, 0.04)])
def test_the_beta_bounds_err_with_almost_what_they_may(share, least):
    """They are nearly tight, so this check would notice bounds that are a little too narrow."""
    model, delta, runs = Bernoulli(bound="beta"), 0.2, 200
    failed = sum(_ever_outside(model, share, delta, seed) for seed in range(runs))
    assert least <= failed / runs <= delta + 3 * math.sqrt(delta * (1 - delta) / runs)


def _ever_outside(model, share, delta, seed):
    hits = (np.random.default_rng(seed).random(200) < share).cumsum()
    for n, total in enumerate(hits.tolist(), start=1):
        arm = ArmStatistics(n, total, total, float(total == n), float(total > 0))
        low, high = arm_interval(arm, delta, reward=model)
        if not low <= share <= high:
            return True
    return False


@pytest.mark.parametrize(
    ("means", "model"),
    [
        ((0.0, 0.5, 0.5), SubGaussian(1.0)),
        ((0.2, 0.25, 0.5), Bernoulli()),
        ((0.2, 0.25, 0.5), Bernoulli(bound="beta")),
    ],
)
@pytest.mark.parametrize(
    ("runs", "length"), [(150, 300), pytest.param(300, 2000, marks=pytest.mark.slow)]
)
def test_intervals_cover_all_arms_and_differences_at_all_times(means, model, runs, length):
    delta = 0.2
    failed = sum(_some_interval_fails(means, model, length, delta, seed) for seed in range(runs))
    assert failed / runs <= delta + 3 * math.sqrt(delta * (1 - delta) / runs)


def _some_interval_fails(means, model, length, delta, seed):
    rng = np.random.default_rng(seed)
    experiment = BestArmExperiment(len(means), 1e-9, reward=model)
    look_at = set(np.geomspace(3, length, 40).astype(int).tolist())
    while experiment.n_samples < length and not experiment.stopped:
        for one in experiment.next_arms():
            noise = rng.standard_normal() if model.name == "subgaussian" else rng.random()
            mean = means[one]
            reward = mean + noise if model.name == "subgaussian" else noise < mean
            experiment.record(one, reward)
            if experiment.n_samples in look_at:
                found = experiment.intervals(delta)
                for i, truth in enumerate(means):
                    gap = truth - means[0]
                    inside = found.arms[i].low <= truth <= found.arms[i].high
                    if (
                        not inside
                        or not found.differences[i].low <= gap <= found.differences[i].high
                    ):
                        return True
        experiment.update()
    return False
