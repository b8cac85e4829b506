"""Algorithm 1 as a state machine: what it pulls, when it stops, and what it refuses."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelwood.errors import DataError, ParameterError
from labelwood.experiments.best_arm.always_valid import intervals
from labelwood.experiments.best_arm.arms import ArmStatistics, Bernoulli, Bounded, SubGaussian
from labelwood.experiments.best_arm.assignments import POLICIES
from labelwood.experiments.best_arm.experiment import BestArmExperiment
from labelwood.experiments.simulation import Setting


def phi(n, delta):
    """(4.3) for σ = 1, with its factor of two and its cap."""
    level = math.log(1 / min(delta, 0.1))
    return math.sqrt(2 * (level + 3 * math.log(level) + 1.5 * math.log(math.log(math.e * n))) / n)


def algorithm_1(draw, n_arms, delta, epsilon, sigma, control, limit, policy):
    """Yang 2018, Algorithm 1, line by line: the arms pulled, and the arm output (None: limit).

    LUCB++ and lil'UCB choose other arms, and stop in the same way.
    """
    K = n_arms - 1
    n, total, pulled = [0] * n_arms, [0.0] * n_arms, []

    def pull(arm):
        if len(pulled) < limit:
            total[arm] += draw(arm)
            n[arm] += 1
            pulled.append(arm)

    for arm in range(n_arms):
        pull(arm)
    while 0 not in n:
        mean = [total[i] / n[i] for i in range(n_arms)]
        lcb = [mean[i] - sigma * phi(n[i], delta / (2 * K)) for i in range(n_arms)]
        ucb = [mean[i] + sigma * phi(n[i], delta / 2) for i in range(n_arms)]
        h = mean.index(max(mean))
        rival = max((i for i in range(n_arms) if i != h), key=lambda i: (ucb[i], -i))
        if all(lcb[control] > ucb[i] - epsilon for i in range(n_arms) if i != control):
            return pulled, control
        if lcb[h] > ucb[rival] - epsilon and lcb[h] > ucb[control] + epsilon:
            return pulled, h
        if len(pulled) == limit:
            break
        u = max((i for i in range(n_arms) if i != control), key=lambda i: (ucb[i], -i))
        hopeful = max(range(n_arms), key=lambda i: (ucb[i] + sigma * phi(n[i], delta / 2), -i))
        chosen = {
            "best_arm": [control, u, h, rival] if epsilon > 0 else [h, rival],
            "uniform": list(range(n_arms)),
            "lucb++": [control, h, rival] if epsilon > 0 else [h, rival],
            "lil_ucb": [control, hopeful] if epsilon > 0 else [hopeful],
        }
        for arm in dict.fromkeys(chosen[policy]):
            pull(arm)
    return pulled, None


def drawer(means, sigma, seed):
    """Rewards of two values, so that ties happen, or Gaussian ones."""
    rng = np.random.default_rng(seed)
    if sigma == 0.5:
        return lambda arm: float(rng.random() < means[arm])
    return lambda arm: means[arm] + sigma * rng.standard_normal()


def drive(experiment, draw):
    """Pull the arms that the experiment asks for until it has stopped."""
    pulled = []
    while not experiment.stopped:
        for arm in experiment.next_arms():
            if experiment.n_samples != experiment.max_samples:
                experiment.record(arm, draw(arm))
                pulled.append(arm)
        experiment.update()
    return pulled


def snapshot(experiment):
    """All of its state, as text."""
    return json.dumps(experiment.to_dict(), allow_nan=False)


@settings(max_examples=60)
@given(
    means=st.lists(st.floats(0, 1), min_size=2, max_size=6),
    delta=st.sampled_from([0.9, 0.3, 0.05, 1e-6]),
    epsilon=st.sampled_from([0.0, 0.1, 0.5]),
    sigma=st.sampled_from([0.5, 0.2, 0.05]),
    control=st.integers(0, 1),
    limit=st.integers(1, 400),
    policy=st.sampled_from(POLICIES),
    seed=st.integers(0, 99),
)
def test_it_does_what_algorithm_1_says(means, delta, epsilon, sigma, control, limit, policy, seed):
    n_arms = len(means)
    expected, output = algorithm_1(
        drawer(means, sigma, seed), n_arms, delta, epsilon, sigma, control, limit, policy
    )
    experiment = BestArmExperiment(
        n_arms,
        delta,
        epsilon=epsilon,
        reward=Bernoulli() if sigma == 0.5 else SubGaussian(sigma),
        max_samples=limit,
        policy=policy,
        control=control,
    )
    assert drive(experiment, drawer(means, sigma, seed)) == expected
    status = {None: "stopped: limit reached, undecided", control: "stopped: control"}
    assert experiment.status == status.get(output, f"stopped: winner {output}")
    assert experiment.winner == (None if output in (None, control) else output)
    if experiment.winner is not None:
        assert experiment.p_value <= delta


@pytest.mark.parametrize("policy", ["lucb++", "lil_ucb"])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
@pytest.mark.parametrize("bound", ["lil", "beta"])
def test_other_rules_of_the_literature_end_with_the_best_arm(policy, epsilon, bound):
    means = (0.2, 0.55, 0.9, 0.6)
    experiment = BestArmExperiment(
        4, 0.05, epsilon=epsilon, reward=Bernoulli(bound=bound), policy=policy, max_samples=10**5
    )
    drive(experiment, drawer(means, 0.5, 0))
    assert experiment.status == "stopped: winner 2"
    counts = [arm.count for arm in experiment.statistics]
    assert counts[2] == max(counts[1:])  # with ε > 0 the control is in every round


def test_policies_by_bounds_need_bounds():
    with pytest.raises(ParameterError, match=r"'lil_ucb' of BestArmExperiment .* needs evidence"):
        BestArmExperiment(3, 0.05, policy="lil_ucb")
    with pytest.raises(ParameterError, match=r"of Setting .* use 'best_arm' or 'uniform'"):
        Setting(100, policy="lucb++")


def test_the_limit_is_not_a_verdict_for_the_control():
    experiment = BestArmExperiment(2, 0.05, max_samples=10)
    drive(experiment, lambda arm: 1)
    assert experiment.stopped
    assert experiment.status == "stopped: limit reached, undecided"
    assert experiment.winner is None


def test_the_limit_holds_without_an_update():
    experiment = BestArmExperiment(2, 0.05, max_samples=10)
    for _ in range(12):
        experiment.record(0, 1)
    assert experiment.n_samples == 10
    assert experiment.late[0] == ArmStatistics.of([1, 1])


def test_the_control_can_be_found_best():
    experiment = BestArmExperiment(3, 0.05, control=1, max_samples=10_000)
    drive(experiment, drawer([0.1, 0.9, 0.1], 0.5, 0))
    assert experiment.status == "stopped: control"
    assert experiment.winner is None
    assert experiment.allocation() == [0, 1, 0]


def test_a_winner_gets_all_the_traffic():
    experiment = BestArmExperiment(3, 0.05, max_samples=10_000)
    drive(experiment, drawer([0.1, 0.1, 0.9], 0.5, 0))
    assert experiment.status == "stopped: winner 2"
    assert experiment.allocation() == [0, 0, 1]
    assert experiment.p_value <= 0.05
    assert experiment.next_arms() == []
    assert experiment.assign(3) == []


@pytest.mark.parametrize("policy", ["best_arm", "uniform"])
def test_traffic_is_shared_by_the_arms_that_are_next(policy):
    experiment = BestArmExperiment(4, 0.05, policy=policy, evidence="bounds")
    assert experiment.allocation() == [0.25] * 4
    for arm in range(4):
        experiment.record(arm, arm % 2)
    experiment.update()
    shares = experiment.allocation()
    assert sum(shares) == pytest.approx(1)
    assert [arm for arm in range(4) if shares[arm] > 0] == sorted(experiment.next_arms())
    assert len(experiment.next_arms()) == (4 if policy == "uniform" else 2)


@pytest.mark.parametrize("updated", [True, False])
def test_reading_changes_nothing(updated):
    experiment = BestArmExperiment(3, 0.05, random_state=0)
    for arm in (0, 1, 2):
        experiment.record(arm, ArmStatistics.of([arm > 0] * 200))
    if updated:
        experiment.update()
    before = snapshot(experiment)
    properties = [name for name in dir(type(experiment)) if not name.startswith("_")]
    for _ in range(3):
        for name in properties:
            if isinstance(getattr(type(experiment), name), property):
                getattr(experiment, name)
        experiment.intervals()
        experiment.allocation()
        experiment.next_arms()
    assert snapshot(experiment) == before


def test_an_update_decides_and_a_second_one_changes_nothing():
    experiment = BestArmExperiment(2, 0.05)
    for arm in (0, 1):
        experiment.record(arm, ArmStatistics.of([arm] * 200))
    assert (experiment.status, experiment.p_value) == ("running", 1.0)
    experiment.update()
    assert experiment.status == "stopped: winner 1"
    assert experiment.p_value < 0.05
    before = snapshot(experiment)
    experiment.update()
    assert snapshot(experiment) == before


def test_handing_out_and_closing_begin_with_an_update():
    for act in (lambda one: one.assign(3), lambda one: one.close()):
        experiment = BestArmExperiment(2, 0.05)
        for arm in (0, 1):
            experiment.record(arm, ArmStatistics.of([arm] * 200))
        act(experiment)
        assert experiment.status == "stopped: winner 1"
        assert experiment.n_pending == 0


@pytest.mark.parametrize(
    ("reward", "model"),
    [
        ("bernoulli", Bernoulli(bound="beta", evidence="betting")),
        ("gaussian", SubGaussian(1.0, evidence="betting")),
        (Bounded(0, 5), Bounded(0, 5)),
    ],
)
def test_a_reward_model_can_be_named(reward, model):
    assert BestArmExperiment(2, 0.05, reward=reward).reward == model


@pytest.mark.parametrize("reward", ["poisson", "", None, 1, Bernoulli])
def test_another_reward_is_refused(reward):
    why = "'reward' parameter of BestArmExperiment must be 'bernoulli' or 'gaussian', or a Reward"
    with pytest.raises(ParameterError, match=why):
        BestArmExperiment(2, 0.05, reward=reward)


def test_the_p_value_never_rises():
    experiment = BestArmExperiment(2, 1e-6, reward=SubGaussian(1.0), max_samples=400)
    rng = np.random.default_rng(1)
    seen = []
    for k in range(200):
        for arm in (0, 1):  # the second arm is better at first, and worse later
            experiment.record(arm, (arm if k < 100 else -arm) + rng.standard_normal())
        experiment.update()
        seen.append(experiment.p_value)
    assert (np.diff(seen) <= 0).all()
    assert seen[-1] == seen[120] < 0.05


def test_estimates_and_intervals_are_those_of_what_was_recorded():
    model = Bounded(0, 10, bound="beta")
    experiment = BestArmExperiment(3, 0.1, reward=model, control=2)
    rewards = [[1, 2, 3], [10], []]
    for arm, values in enumerate(rewards):
        for value in values:
            experiment.record(arm, value)
    expected = [ArmStatistics.of(values) for values in rewards]
    assert list(experiment.statistics) == expected
    np.testing.assert_equal(experiment.estimates, (2.0, 10.0, math.nan))
    assert experiment.intervals() == intervals(expected, 0.1, reward=model, control=2)
    assert experiment.intervals(0.3) == intervals(expected, 0.3, reward=model, control=2)


@given(
    outcomes=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), max_size=300),
    delta=st.sampled_from([0.2, 0.9]),
)
def test_a_batch_counts_like_its_outcomes(outcomes, delta):
    single, batched = (BestArmExperiment(3, delta, random_state=0) for _ in range(2))
    for arm, reward in outcomes:
        single.record(arm, reward)
    for arm in range(3):
        batched.record(arm, ArmStatistics.of([r for a, r in outcomes if a == arm]))
    assert batched.statistics == single.statistics
    single.update()
    batched.update()
    assert (batched.status, batched.p_value) == (single.status, single.p_value)
    assert batched.next_arms() == single.next_arms()


def test_late_outcomes_are_kept_and_not_counted():
    experiment = BestArmExperiment(2, 0.05, max_samples=4)
    handed = experiment.assign(4)
    experiment.record(0, ArmStatistics.of([1, 1]))
    for one in handed[:2]:
        experiment.record(one.arm, 1, assignment=one.id)
    p, counted = experiment.p_value, experiment.statistics
    for one in handed[2:]:
        experiment.record(one.arm, 1, assignment=one.id)
    experiment.record(0, ArmStatistics.of([1, 0]))
    assert (experiment.p_value, experiment.statistics) == (p, counted)
    assert experiment.n_samples == 4
    assert sum(arm.count for arm in experiment.late) == 4
    assert experiment.n_pending == 0


def test_rounds_are_handed_out_in_an_order_that_follows_from_the_seed():
    def arms(seed):
        experiment = BestArmExperiment(5, 0.05, random_state=seed)
        return [one.arm for one in experiment.assign(15)]

    assert arms(1) == arms(1) != arms(2)
    for start in (0, 5, 10):
        assert sorted(arms(1)[start : start + 5]) == list(range(5))


def test_outcomes_may_come_back_late_and_in_any_order():
    rng = np.random.default_rng(0)
    experiment = BestArmExperiment(4, 0.05, max_samples=50_000, random_state=0)
    waiting, ids = [], []
    while not experiment.stopped:
        waiting += experiment.assign(50)
        rng.shuffle(waiting)
        for one in waiting[100:]:
            experiment.record(
                int(one[1]), rng.random() < (0.3, 0.3, 0.35, 0.6)[one[1]], assignment=int(one[0])
            )
            ids.append(int(one[0]))
        waiting = [tuple(one) for one in waiting[:100]]
    assert experiment.status == "stopped: winner 3"
    assert len(set(ids)) == len(ids) == experiment.n_samples + sum(a.count for a in experiment.late)
    assert experiment.n_pending == len(waiting)


def test_a_batch_can_answer_several_assignments():
    experiment = BestArmExperiment(2, 0.05, random_state=0)
    handed = experiment.assign(10)
    ids = [one.id for one in handed if one.arm == 1]
    experiment.record(1, ArmStatistics.of([1] * len(ids)), assignment=ids)
    assert experiment.n_pending == 10 - len(ids)


BAD_RECORDS = {
    "an arm that is not there": ((3, 1), {}, "arm 3 does not exist: there are arms 0 to 2"),
    "a negative arm": ((-1, 1), {}, "arm -1 does not exist"),
    "an arm by name": (("a", 1), {}, "arm 'a' does not exist"),
    "an arm and a half": ((0.5, 1), {}, "arm 0.5 does not exist"),
    "True as an arm": ((True, 1), {}, "arm True does not exist"),
    "not a number": ((0, math.nan), {}, "finite number. Got nan"),
    "out of bounds": ((0, 2), {}, "0 or 1. Got 2"),
    "a batch out of bounds": ((0, ArmStatistics.of([0, 3])), {}, "0 or 1. Got 3"),
    "never handed out": ((0, 1), {"assignment": 99}, "assignment 99 was never handed out"),
    "no number": ((0, 1), {"assignment": "x"}, "assignment 'x' was never handed out"),
    "negative": ((0, 1), {"assignment": -1}, "assignment -1 was never handed out"),
    "handed in twice": ((0, 1), {"assignment": 0}, "assignment 0 has been handed in already"),
    "another arm": ((2, 1), {"assignment": 1}, "assignment 1 is of arm 1, not of 2"),
    "too few": (
        (1, ArmStatistics.of([1, 1])),
        {"assignment": [1]},
        "2 outcomes came back for 1 assignments",
    ),
    "the same twice": (
        (1, ArmStatistics.of([1, 1])),
        {"assignment": [1, 1]},
        "handed in twice in one batch",
    ),
    "one of them wrong": (
        (1, ArmStatistics.of([1, 1])),
        {"assignment": [1, 99]},
        "assignment 99 was never handed out",
    ),
}


@pytest.mark.parametrize("name", BAD_RECORDS)
@pytest.mark.parametrize("stopped", [False, True])
def test_a_bad_record_is_refused_and_nothing_is_lost(name, stopped):
    experiment = BestArmExperiment(3, 0.05, max_samples=1 if stopped else None)
    experiment._assignments.pending.update({0: 0, 1: 1, 2: 2})
    experiment._assignments.n_handed_out = 3
    experiment.record(0, 1, assignment=0)
    before = snapshot(experiment)
    arguments, options, message = BAD_RECORDS[name]
    with pytest.raises(DataError, match=message):
        experiment.record(*arguments, **options)
    assert snapshot(experiment) == before


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"delta": 0}, "'delta' parameter of BestArmExperiment must be a number > 0 and < 1"),
        ({"delta": 1}, "'delta'"),
        ({"delta": math.nan}, "'delta'"),
        ({"n_arms": 1}, "'n_arms' parameter of BestArmExperiment must be an int ≥ 2"),
        ({"epsilon": -0.1}, "'epsilon'"),
        ({"max_samples": 0}, "'max_samples'"),
        ({"policy": "greedy"}, "'policy'"),
        ({"control": 3}, "'control'"),
        ({"control": -1}, "'control'"),
        ({"reward": "subgaussian"}, "'reward'"),
        ({"random_state": "x"}, "'random_state'"),
    ],
)
def test_parameters_out_of_range_are_refused(parameters, message):
    with pytest.raises(ParameterError, match=message):
        BestArmExperiment(**{"n_arms": 3, "delta": 0.05, **parameters})


def test_numbers_of_numpy_end_up_as_plain_ones():
    one = np.int64(1)
    experiment = BestArmExperiment(one + 1, np.float64(0.1), control=one, max_samples=one * 9)
    experiment.record(one, ArmStatistics(one, np.float64(1), np.float64(1), one, one))
    experiment.record(one, np.float32(1))
    again = BestArmExperiment.from_dict(json.loads(snapshot(experiment)))
    assert snapshot(again) == snapshot(experiment)


def test_nobody_can_assign_less_than_one():
    with pytest.raises(ParameterError, match="'n' parameter of assign"):
        BestArmExperiment(2, 0.05).assign(0)


@pytest.mark.parametrize("interrupted", [0, 1, 5, 30, 10_000])
def test_an_experiment_goes_on_after_a_stop_of_the_service(interrupted):
    def run(reload_after):
        draw = drawer([0.2, 0.3, 0.8], 0.5, 3)
        experiment = BestArmExperiment(
            3, 0.1, reward=Bernoulli(bound="beta"), max_samples=500, random_state=7
        )
        for step in range(60):
            if step == reload_after:
                experiment = BestArmExperiment.from_dict(json.loads(snapshot(experiment)))
            for one in experiment.assign(9)[:7]:
                experiment.record(one.arm, draw(one.arm), assignment=one.id)
        return snapshot(experiment)

    assert run(interrupted) == run(None)


HANDED = BestArmExperiment(2, 0.05).to_dict()["assignments"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 1}, "not an experiment of format 3: format 1"),
        ({"statistics": []}, "statistics of 2 arms are needed, got 0"),
        ({"assignments": {}}, "damaged: KeyError"),
        ({"statistics": [1, 2]}, "statistics of an arm are numbers"),
        ({"statistics": 5}, "damaged: TypeError"),
        ({"n_arms": 10**12}, "statistics of 1000000000000 arms are needed, got 2"),
        ({"n_arms": "2"}, "statistics of '2' arms are needed"),
        ({"assignments": 7}, "damaged: TypeError"),
        ({"assignments": {**HANDED, "seed": "x"}}, "no right numbers"),
        ({"assignments": {**HANDED, "seed": -1}}, "no right numbers"),
        ({"assignments": {**HANDED, "n_rounds": math.inf}}, "no right numbers"),
        ({"assignments": {**HANDED, "queue": [0.5]}}, "beyond the 2"),
        ({"assignments": {**HANDED, "queue": [[]]}}, "beyond the 2|damaged"),
        ({"assignments": {**HANDED, "pending": [3]}}, "damaged: TypeError"),
        ({"assignments": {**HANDED, "pending": [[0, 0]] * 2, "n_handed_out": 1}}, "twice"),
        ({"reward": 3}, "a reward model is one of"),
        ({"reward": {"name": []}}, "a reward model is one of"),
        ({"reward": {"name": "bounded", "low": 10**400, "high": 0}}, "not the parameters of"),
        ({"statistics": [{"count": 10**20}, {"count": 0}]}, "statistics of an arm are numbers"),
        ({"updated_at": 1}, "'updated_at'"),
        ({"next_arms": [2]}, "next_arms must be a list of arms below 2"),
        ({"next_arms": 2}, "next_arms must be a list of arms below 2"),
        ({"evident": 5}, "'evident'"),
        ({"evidence": 1e9}, "'evidence'"),
        ({"ended_with": 1}, "ended with 1, but None follows"),
        ({"ended_with": -1}, "ended with -1, but None follows"),
        ({"assignments": {**HANDED, "pending": [[0, 2]], "n_handed_out": 1}}, "beyond the 2"),
        ({"assignments": {**HANDED, "pending": [[0, 1]]}}, "never handed out"),
        ({"reward": {"name": "x"}}, "a reward model is one of"),
        ({"delta": 2}, "'delta'"),
        ({"ended_with": 2}, "'ended_with'"),
        ({"evidence": -1.0}, "'evidence'"),
    ],
)
def test_a_stored_experiment_that_is_not_whole_is_refused(change, message):
    stored = BestArmExperiment(2, 0.05).to_dict()
    with pytest.raises(DataError, match=message):
        BestArmExperiment.from_dict({**stored, **change})


@pytest.mark.parametrize("stored", [None, 5, [], "x", {}])
def test_what_is_no_experiment_is_refused(stored):
    with pytest.raises(DataError, match=r"damaged|not an experiment of format 3"):
        BestArmExperiment.from_dict(stored)


def test_an_end_that_was_taken_away_is_refused():
    experiment = BestArmExperiment(2, 0.05, max_samples=10_000)
    drive(experiment, drawer([0.1, 0.9], 0.5, 0))
    stored = experiment.to_dict()
    assert BestArmExperiment.from_dict(stored).winner == 1
    with pytest.raises(DataError, match="ended with None, but 1 follows"):
        BestArmExperiment.from_dict({**stored, "ended_with": None})


@settings(max_examples=200)
@given(
    means=st.lists(st.floats(0, 1), min_size=2, max_size=5),
    bound=st.sampled_from(["lil", "beta"]),
    seed=st.integers(0, 999),
    looks=st.lists(st.integers(1, 60), min_size=1, max_size=6),
)
def test_the_p_value_is_the_very_same_after_json(means, bound, seed, looks):
    rng = np.random.default_rng(seed)
    model = Bernoulli(bound=bound)
    experiment = BestArmExperiment(len(means), 1e-6, reward=model, random_state=0)
    for n in looks:
        for arm, mean in enumerate(means):
            experiment.record(arm, ArmStatistics.of(rng.random(n) < mean))
        experiment.update()
        p = experiment.p_value
        again = BestArmExperiment.from_dict(json.loads(snapshot(experiment)))
        assert (again.p_value, again.next_arms()) == (p, experiment.next_arms())
        assert again.evident_arm == experiment.evident_arm
        assert snapshot(again) == snapshot(experiment)


def test_numbers_of_numpy_survive_json_in_every_place():
    f = np.float32
    for model in (SubGaussian(f(0.5)), Bounded(f(0), f(1)), Bounded(np.int64(0), np.int8(1))):
        experiment = BestArmExperiment(2, f(0.1), epsilon=f(0.01), reward=model)
        experiment.record(0, ArmStatistics(np.int32(2), f(1), f(1), f(0), f(1)))
        assert snapshot(BestArmExperiment.from_dict(json.loads(snapshot(experiment))))


# What is on its way


def test_an_arm_on_its_way_does_not_get_all_the_traffic():
    experiment = BestArmExperiment(3, 0.05, evidence="bounds", random_state=0)
    first = {one.arm: one for one in experiment.assign(3)}
    experiment.record(0, 1, assignment=first[0])
    experiment.record(1, 0, assignment=first[1])
    experiment.update()
    assert sorted(experiment.next_arms()) == [0, 1, 2]  # and not arm 2 alone
    experiment.record(2, 1, assignment=first[2])
    experiment.update()
    assert len(experiment.next_arms()) == 2


def test_arms_that_nobody_was_given_come_first():
    experiment = BestArmExperiment(4, 0.05, random_state=0)
    (first,) = experiment.assign(1)
    assert experiment.next_arms() == [arm for arm in range(4) if arm != first.arm]
    again = BestArmExperiment.from_dict(json.loads(snapshot(experiment)))
    assert again.next_arms() == experiment.next_arms()


def test_the_uniform_policy_always_pulls_all_arms():
    experiment = BestArmExperiment(3, 0.05, policy="uniform")
    experiment.record(1, 1)
    experiment.update()
    assert experiment.next_arms() == [0, 1, 2]


def test_no_more_is_handed_out_than_can_count():
    experiment = BestArmExperiment(2, 0.05, max_samples=5)
    assert len(experiment.assign(3)) == 3
    experiment.record(0, 1)
    assert len(experiment.assign(9)) == 1
    assert experiment.assign(9) == []
    experiment.forget(0)
    assert len(experiment.assign(9)) == 1


def test_an_assignment_can_be_given_back_as_it_came_and_in_any_collection():
    experiment = BestArmExperiment(2, 0.05, random_state=0)
    handed = experiment.assign(12)
    ones = [one for one in handed if one.arm == 1]
    experiment.record(1, 1, assignment=ones[0])
    for batch in (ones[1:2], {ones[2].id}, np.array([ones[3].id]), (one.id for one in ones[4:5])):
        experiment.record(1, ArmStatistics.of([1]), assignment=batch)
    assert experiment.n_pending == 7
    with pytest.raises(DataError, match=f"assignment {ones[5].id} is of arm 1, not of 0"):
        experiment.record(0, 1, assignment=ones[5])
    with pytest.raises(DataError, match=f"assignment {ones[5].id} is of arm 1: "):
        experiment.record(0, 1, assignment=ones[5]._replace(arm=0))
    assert experiment.n_pending == 7


def test_what_was_given_up_is_not_waited_for():
    experiment = BestArmExperiment(2, 0.05, random_state=0)
    first, second, third, _ = experiment.assign(4)
    experiment.forget(first)
    experiment.forget([second.id, third])
    assert experiment.n_pending == 1
    with pytest.raises(DataError, match="assignment 0 has been handed in already, or given up"):
        experiment.record(first.arm, 1, assignment=first)
    with pytest.raises(DataError, match="assignment 9 was never handed out"):
        experiment.forget([3, 9])
    assert experiment.n_pending == 1


def test_an_experiment_closed_by_hand_has_stopped():
    experiment = BestArmExperiment(2, 0.05, random_state=0)
    (one,) = experiment.assign(1)
    experiment.record(0, 1)
    p = experiment.p_value
    experiment.close()
    experiment.record(one.arm, 1, assignment=one)
    assert experiment.status == "stopped: closed by hand"
    assert (experiment.stopped, experiment.winner, experiment.p_value) == (True, None, p)
    assert (experiment.assign(3), experiment.next_arms()) == ([], [])
    assert (experiment.n_samples, experiment.late[one.arm].count) == (1, 1)
    assert experiment.allocation() == [1, 0]
    again = BestArmExperiment.from_dict(json.loads(snapshot(experiment)))
    assert again.status == experiment.status


def test_closing_changes_no_verdict():
    experiment = BestArmExperiment(2, 0.05, max_samples=10_000)
    drive(experiment, drawer([0.1, 0.9], 0.5, 0))
    experiment.close()
    assert experiment.status == "stopped: winner 1"


@pytest.mark.parametrize("reward", [10**400, -(10**400), 10**5000], ids=["large", "low", "larger"])
def test_a_reward_beyond_any_float_is_refused(reward):
    with pytest.raises(DataError, match="a reward must be a finite number"):
        BestArmExperiment(2, 0.05, reward=SubGaussian()).record(0, reward)


def test_more_outcomes_than_the_bounds_can_deal_with_are_refused():
    experiment = BestArmExperiment(2, 0.05, reward=Bernoulli(bound="beta"))
    many = ArmStatistics(10**12, 5e11, 5e11, 0, 1)
    experiment.record(0, many)
    before = snapshot(experiment)
    with pytest.raises(DataError, match=r"an arm has at most 10¹² outcomes\. Got 1000000000001"):
        experiment.record(0, ArmStatistics.of([1]))
    assert snapshot(experiment) == before
