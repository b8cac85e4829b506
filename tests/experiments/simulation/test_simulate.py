"""Many runs at once: the same as one run of the state machine, and what theory promises."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import kstest

from labelwood.core.random import kernel_states
from labelwood.errors import DataError, ParameterError
from labelwood.experiments.best_arm.arms import ArmStatistics, Bernoulli, Bounded, SubGaussian
from labelwood.experiments.best_arm.experiment import BestArmExperiment
from labelwood.experiments.online_fdr.procedures import online_fdr
from labelwood.experiments.plan import effective_gaps, plan, sample_complexity
from labelwood.experiments.sequence import ExperimentSequence
from labelwood.experiments.simulation._kernels import GAUSSIAN, TWO_POINTS, draw_total
from labelwood.experiments.simulation.simulate import Setting, simulate, simulate_sequence

MODELS = [SubGaussian(0.3), Bernoulli(), Bernoulli(bound="beta"), Bounded(-1, 2, bound="beta")]


def replay(state, means, delta, setting):
    """One run by `BestArmExperiment`, on the stream of random numbers of the kernel."""
    model = setting.reward
    kind = GAUSSIAN if model.name == "subgaussian" else TWO_POINTS
    experiment = BestArmExperiment(
        len(means),
        delta,
        epsilon=setting.epsilon,
        reward=model,
        max_samples=setting.max_samples,
        policy=setting.policy,
        control=setting.control,
    )
    while not experiment.stopped:
        for arm in experiment.next_arms():
            n = min(setting.batch, setting.max_samples - experiment.n_samples)
            if n > 0:
                total = draw_total(state, n, means[arm], kind, model.for_kernels())
                experiment.record(arm, batch_with(n, total, model))
        experiment.update()
    return experiment


def batch_with(n, total, model):
    """Statistics with this count and total; the other three do not matter to the rule."""
    if model.name == "subgaussian":
        return ArmStatistics(n, total, total * total / n, total / n, total / n)
    hits = round((total - n * model.low) / (model.high - model.low))
    return ArmStatistics.of([model.high] * hits + [model.low] * (n - hits))


@settings(max_examples=40)
@given(
    model=st.sampled_from(MODELS),
    means=st.lists(st.floats(0, 1), min_size=2, max_size=6),
    delta=st.sampled_from([0.5, 0.05, 1e-4]),
    epsilon=st.sampled_from([0.0, 0.2]),
    policy=st.sampled_from(["best_arm", "uniform", "lucb++", "lil_ucb"]),
    control=st.integers(0, 1),
    batch=st.sampled_from([1, 1, 4]),
    limit=st.integers(1, 300),
    seed=st.integers(0, 99),
)
def test_a_simulated_run_is_a_run_of_the_experiment(
    model, means, delta, epsilon, policy, control, batch, limit, seed
):
    assume(policy in ("best_arm", "uniform") or model.evidence == "bounds")
    setting = Setting(limit, model, epsilon, policy, control, batch)
    done = simulate(means, delta, setting, runs=2, random_state=seed)
    for r, state in enumerate(kernel_states(seed, 2)):
        experiment = replay(state, means, delta, setting)
        counts = [arm.count for arm in experiment.statistics]
        assert done.counts[r].tolist() == counts
        assert done.n_samples[r] == experiment.n_samples
        assert done.p_value[r] == pytest.approx(experiment.p_value, rel=1e-8)
        ended = done.ended_with[r]
        if ended < 0:
            assert experiment.status == "stopped: limit reached, undecided"
        elif ended == control:
            assert experiment.status == "stopped: control"
        else:
            assert experiment.winner == ended
        if 0 not in counts:
            means_found = np.array(experiment.estimates)
            tied = means_found[control] == means_found.max()
            assert done.leader[r] == (control if tied else np.argmax(means_found))


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_results_do_not_depend_on_the_number_of_threads(n_jobs):
    setting = Setting(300, SubGaussian(1.0))
    one = simulate([0, 1, 2], 0.05, setting, runs=50, random_state=5)
    many = simulate([0, 1, 2], 0.05, setting, runs=50, random_state=5, n_jobs=n_jobs)
    for name, values in vars(one).items():
        np.testing.assert_array_equal(values, getattr(many, name))
    other = simulate([0, 1, 2], 0.05, setting, runs=50, random_state=6)
    assert (one.n_samples != other.n_samples).any()


def test_draws_have_the_distribution_of_the_model():
    (state,) = kernel_states(0, 1)
    model = Bounded(1, 5).for_kernels()
    ends = np.array([draw_total(state, 1, 2.0, TWO_POINTS, model) for _ in range(5000)])
    assert set(ends) == {1.0, 5.0}
    assert ends.mean() == pytest.approx(2, abs=5 * math.sqrt(3 / 5000))
    sums = np.array(
        [draw_total(state, 9, 2.0, GAUSSIAN, SubGaussian(0.5).for_kernels()) for _ in range(5000)]
    )
    assert kstest((sums - 18) / 1.5, "norm").pvalue > 0.001


ARMS = [[0.2, 0.2, 0.2], [0.2, 0.2, 0.9], [0.2, 0.8, 0.2], [0.5, 0.5]] * 2


def test_a_sequence_gives_each_experiment_the_level_of_its_procedure():
    done = simulate_sequence(
        ARMS, lambda: online_fdr("lord", 0.2), Setting(800), runs=4, random_state=1
    )
    for r in range(4):
        procedure = online_fdr("lord", 0.2)
        for j in range(len(ARMS)):
            assert done.level[r, j] == procedure.next_level()
            p = 1.0 if done.leader[r, j] == 0 else done.p_value[r, j]
            assert done.rejected[r, j] == procedure.record(p)
    assert done.rejected[:, [1, 2]].all()
    assert not done.rejected[:, 0].any()


def test_a_sequence_decides_as_the_ledger_does():
    done = simulate_sequence(
        ARMS, lambda: online_fdr("lord", 0.2), Setting(300), runs=1, random_state=4
    )
    sequence = ExperimentSequence(0.2, "lord")
    (state,) = kernel_states(4, 1)
    for j, means in enumerate(ARMS):
        experiment = sequence.open(len(means), max_samples=300)
        while not experiment.stopped:
            for arm in experiment.next_arms():
                if experiment.n_samples < 300:
                    model = experiment.reward.for_kernels()
                    experiment.record(arm, draw_total(state, 1, means[arm], TWO_POINTS, model))
            experiment.update()
        entry = sequence.close()
        assert entry.level == done.level[0, j]
        assert entry.discovery == done.rejected[0, j]
        assert entry.p_value == pytest.approx(done.p_value[0, j], rel=1e-8)
        assert sum(entry.n_samples) == done.n_samples[0, j]


def test_the_first_experiment_of_a_sequence_is_that_experiment_alone():
    level = online_fdr("lord", 0.2).next_level()
    alone = simulate(ARMS[1], level, Setting(800), runs=6, random_state=3)
    first = simulate_sequence(
        ARMS[1:2], lambda: online_fdr("lord", 0.2), Setting(800), runs=6, random_state=3
    )
    for name in ("p_value", "ended_with", "leader", "n_samples"):
        np.testing.assert_array_equal(getattr(first, name)[:, 0], getattr(alone, name))


def test_a_sequence_does_not_depend_on_the_number_of_threads():
    one, two = (
        simulate_sequence(
            ARMS,
            lambda: online_fdr("saffron", 0.1),
            Setting(300),
            uniform_p=[True] + [False] * 7,
            runs=5,
            random_state=2,
            n_jobs=n_jobs,
        )
        for n_jobs in (1, 2)
    )
    for name, values in vars(one).items():
        np.testing.assert_array_equal(values, getattr(two, name))


def test_uniform_p_values_can_stand_for_null_hypotheses():
    done = simulate_sequence(
        [[0, 1]] * 3,
        lambda: online_fdr("none", 0.1),
        Setting(100),
        uniform_p=[True, False, True],
        runs=2000,
        random_state=0,
    )
    for j in (0, 2):
        assert kstest(done.p_value[:, j], "uniform").pvalue > 0.001
        assert (done.n_samples[:, j] == 0).all()
        assert (done.leader[:, j] == -1).all()
    assert (done.n_samples[:, 1] > 0).all()


def test_a_level_of_nothing_never_rejects():
    class Broke:
        def next_level(self):
            return 0.0

        def record(self, p):
            return p <= 0

    done = simulate_sequence([[0.0, 1.0]], Broke, Setting(500), runs=3, random_state=0)
    assert not done.rejected.any()
    assert (done.n_samples == 500).all()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: simulate([0.5], 0.1, Setting(9)), DataError, "at least 2 arms"),
        (lambda: simulate([0.5, 1.5], 0.1, Setting(9)), DataError, r"in \[0, 1\]"),
        (lambda: simulate([0.5, math.nan], 0.1, Setting(9)), DataError, "must be finite"),
        (lambda: simulate([0, 1], 0.1, Setting(9, control=2)), DataError, "at least 3 arms"),
        (lambda: simulate([0, 1], 0, Setting(9)), ParameterError, "'delta'"),
        (lambda: simulate([0, 1], 0.1, Setting(9), runs=0), ParameterError, "'runs'"),
        (lambda: simulate([0, 1], 0.1, Setting(9), n_jobs=0), ParameterError, "'n_jobs'"),
        (lambda: Setting(0), ParameterError, "'max_samples' parameter of Setting"),
        (lambda: Setting(9, batch=0), ParameterError, "'batch'"),
        (lambda: Setting(9, policy="x"), ParameterError, "'policy'"),
        (
            lambda: simulate_sequence([[0, 1]], lambda: None, Setting(9), uniform_p=[True, True]),
            DataError,
            "uniform_p has shape",
        ),
        (lambda: plan(1, 0.1, 0.1), ParameterError, "'n_arms'"),
        (lambda: plan(2, 0.1, 1), ParameterError, "'delta'"),
        (lambda: plan(2, 0.1, 0.1, epsilon=0.1), ParameterError, "'gap' .* > 0.1"),
        (lambda: plan(2, 0.6, 0.1), ParameterError, "leave the range of the rewards"),
        (lambda: plan(2, 0.1, 0.1, epsilon="x"), ParameterError, "'epsilon' .* Got 'x'"),
        (lambda: plan(2, 0.1, 0.1, epsilon=-0.1), ParameterError, "'epsilon' .* Got -0.1"),
        (lambda: Setting(9, epsilon=-0.1), ParameterError, "'epsilon' parameter of Setting"),
        (lambda: effective_gaps([0, 1], epsilon=-0.1), ParameterError, "'epsilon' .* Got -0.1"),
        (lambda: plan(2, 0.1, 0.1, baseline="x"), ParameterError, "'baseline' .* Got 'x'"),
        (lambda: plan(2, 0.1, 0.1, quantiles=(1.5,)), ParameterError, "'quantiles' .* Got 1.5"),
        (lambda: plan(2, 0.1, 0.1, reward="x"), ParameterError, "'reward' parameter of plan"),
        (lambda: Setting(9, reward=None), ParameterError, "'reward' parameter of Setting"),
        (lambda: plan(2, 1e-12, 0.1), ParameterError, "a gap of 1e-12 needs more samples"),
        (lambda: plan(2, 1e-200, 0.1, baseline=0), ParameterError, "a gap of 1e-200 needs more"),
        (lambda: plan(2, 1e-30, 0.1), ParameterError, "a gap of 1e-30 needs more samples"),
        (lambda: simulate(["a", "b"], 0.1, Setting(9)), DataError, r"numbers.* Got \['a', 'b'\]"),
        (lambda: simulate([0, 10**400], 0.1, Setting(9)), DataError, "means are numbers"),
        (lambda: Setting(10**30), ParameterError, "'max_samples'"),
        (lambda: effective_gaps([0, 1], control=2), ParameterError, "'control' .* Got 2"),
        (lambda: effective_gaps([0]), DataError, "at least 2 arms"),
        (lambda: sample_complexity([0, 1], 0), ParameterError, "'delta'"),
    ],
)
def test_bad_input_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    ("means", "epsilon", "expected"),
    [
        ([0.0, 1.0, 3.0], 0.0, [3, 2, 2]),
        ([3.0, 1.0, 0.0], 0.0, [2, 2, 3]),
        ([0.0, 1.0, 0.9], 0.3, [0.7, 0.3, 0.3]),
        ([0.0, 1.0, 0.5], 0.9, [0.1, 0.5, 0.5]),
        ([1.0, 1.0, 0.5], 0.2, [0.2, 0.2, 0.7]),
        ([1.0, 1.0, 0.5], 0.0, [0, 0, 0.5]),
    ],
)
def test_effective_gaps_by_hand(means, epsilon, expected):
    assert effective_gaps(means, epsilon=epsilon) == pytest.approx(expected)
    turned = effective_gaps(means[::-1], epsilon=epsilon, control=2)
    assert turned == pytest.approx(expected[::-1])


def test_the_complexity_is_the_sum_of_proposition_2():
    means, delta, sigma = [0.0, 0.5, 1.0], 0.05, 2.0
    gaps = [1.0, 0.5, 0.5]
    by_hand = sum(
        (sigma / gap) ** 2 * math.log(2 * math.log(math.e + (sigma / gap) ** 2) / delta)
        for gap in gaps
    )
    assert sample_complexity(means, delta, sigma=sigma) == pytest.approx(by_hand, rel=1e-12)


def test_without_a_gap_the_complexity_is_infinite():
    assert sample_complexity([1.0, 1.0, 0.5], 0.1) == math.inf
    assert sample_complexity([0.0, 1.0], 0.1, sigma=2) > sample_complexity([0.0, 1.0], 0.1)


def test_a_plan_grows_with_arms_and_with_smaller_gaps_and_levels():
    def samples(*arguments, **options):
        return plan(*arguments, runs=20, random_state=0, **options).n_samples[0.5]

    base = samples(4, 0.2, 0.05)
    assert samples(16, 0.2, 0.05) > 2 * base
    assert samples(4, 0.1, 0.05) > 3 * base
    assert samples(4, 0.2, 0.001) > base
    assert samples(4, 0.2, 0.05, policy="uniform") > base
    beta = samples(4, 0.2, 0.05, reward=Bernoulli(bound="beta"))
    assert base < beta < samples(4, 0.2, 0.05, reward=Bernoulli())
    assert samples(4, 0.2, 0.05, reward=Bernoulli(bound="beta"), baseline=0.01) < beta / 2


def test_a_plan_says_what_was_found_and_where_the_limit_was_met():
    found = plan(3, 0.3, 0.05, runs=50, random_state=0, quantiles=(0.1, 0.9))
    assert found.means == (0.5, 0.5, 0.8)
    assert found.found == 1
    assert found.wrong == 0
    assert found.n_samples[0.1] <= found.n_samples[0.9] < found.max_samples
    short = plan(3, 0.3, 0.05, runs=50, random_state=0, max_samples=20)
    assert short.n_samples[0.5] == math.inf
    assert short.found == short.wrong == 0


@pytest.mark.parametrize("baseline", [0.0, 0.001, 0.01])
def test_batches_of_a_plan_are_small_where_rewards_are_rare(baseline, monkeypatch):
    batches = []

    def spy(means, delta, setting, **options):
        batches.append(setting.batch)
        return simulate(means, delta, setting, **options)

    monkeypatch.setitem(plan.__globals__, "simulate", spy)
    model = Bernoulli(bound="beta")
    found = plan(10, 0.02, 0.05, reward=model, baseline=baseline, runs=20, random_state=0)
    assert batches[0] < found.n_samples[0.5] / 10 / 50


# Proposition 2: (means, ε, which arms are in S*; None for the control)
PROBLEMS = [
    ([0.0, 0.0, 1.0, 0.5], 0.0, {2}),
    ([0.5, 0.0, 0.0], 0.0, None),
    ([0.0, 1.0, 0.9, 0.3], 0.4, {1, 2}),
    ([0.0, 0.1, 0.1], 0.5, None),
]


@pytest.mark.parametrize(("means", "epsilon", "right"), PROBLEMS)
@pytest.mark.parametrize("runs", [300, pytest.param(5000, marks=pytest.mark.slow)])
def test_the_experiment_ends_with_a_right_arm(means, epsilon, right, runs):
    delta = 0.1
    setting = Setting(20_000, SubGaussian(1.0), epsilon)
    done = simulate(means, delta, setting, runs=runs, random_state=0, n_jobs=-1)
    correct = np.isin(done.ended_with, [0] if right is None else sorted(right))
    assert correct.mean() >= 1 - delta - 3 * math.sqrt(delta * (1 - delta) / runs)


def test_samples_grow_with_the_sum_of_inverse_squared_gaps():
    rng = np.random.default_rng(0)
    theory, needed = [], []
    for k in range(24):
        means = rng.uniform(0, 1, rng.integers(3, 20)) * rng.uniform(0.3, 3)
        gap = 10 ** rng.uniform(-1, 0.3)
        means[k % means.size] = means.max() + gap
        theory.append(sample_complexity(means, 0.05))
        setting = Setting(10**7, SubGaussian(1.0), batch=max(1, int(theory[-1] / 5000)))
        needed.append(np.median(simulate(means, 0.05, setting, runs=9, random_state=k).n_samples))
    slope = np.polyfit(np.log(theory), np.log(needed), 1)[0]
    print(f"slope {slope:.3f}")
    assert 0.8 < slope < 1.2
