import json

import numpy as np
import pytest

from labelwood.errors import DataError, ParameterError
from labelwood.experiments.best_arm.arms import ArmStatistics
from labelwood.experiments.best_arm.rewards import Bernoulli, SubGaussian
from labelwood.experiments.ledger.ledger import Ledger
from labelwood.experiments.online_fdr.gamma import LogGamma
from labelwood.experiments.online_fdr.procedures import PROCEDURES, online_fdr
from labelwood.experiments.sequence import ExperimentSequence


def play(experiment, means, rng, rounds=10_000):
    """Pull arms as the experiment asks for them, Bernoulli rewards, until it stops."""
    for _ in range(rounds):
        for arm in experiment.next_arms():
            experiment.record(arm, rng.random() < means[arm])
        experiment.update()
        if experiment.stopped:
            return


def test_experiments_run_at_the_levels_of_the_procedure():
    rng = np.random.default_rng(0)
    sequence = ExperimentSequence(0.1, "lord", random_state=0)
    by_hand = online_fdr("lord", 0.1)
    for best in (0.8, 0.2, 0.9, 0.9, 0.2):
        assert sequence.next_level == by_hand.next_level()
        experiment = sequence.open(3, max_samples=1500)
        assert experiment.delta == by_hand.next_level()
        play(experiment, (0.2, 0.2, best), rng)
        entry = sequence.close()
        assert entry.p_value == experiment.p_value
        assert by_hand.record(entry.p_value) == entry.discovery == (best > 0.5)
        assert sequence.wealth == entry.wealth_after == by_hand.wealth
    assert len(sequence.ledger) == 5
    assert sequence.ledger.n_discoveries == 3
    assert sequence.ledger.verify()


@pytest.mark.parametrize("policy", ["best_arm", "uniform"])
@pytest.mark.parametrize("procedure", PROCEDURES)
def test_an_experiment_that_ends_with_a_winner_is_a_discovery(procedure, policy):
    rng = np.random.default_rng(1)
    sequence = ExperimentSequence(0.2, procedure, policy)
    for _ in range(6):
        experiment = sequence.open(4, reward=Bernoulli(bound="beta"))
        play(experiment, (0.1, 0.2, 0.7, 0.1), rng)
        entry = sequence.close()
        assert entry.reason == "stopped: winner 2"
        assert (entry.discovery, entry.winner, entry.policy) == (True, 2, policy)
    assert sequence.ledger.verify()


def test_the_entry_tells_what_was_seen():
    sequence = ExperimentSequence(0.1)
    experiment = sequence.open(3, name="color", control=1, reward=SubGaussian(2.0), epsilon=0.5)
    for arm, reward in ((0, 1.5), (1, 0.25), (0, 2.5)):
        experiment.record(arm, reward)
    entry = sequence.close()
    assert entry.number == 1
    assert entry.name == "color"
    assert (entry.control, entry.epsilon) == (1, 0.5)
    assert entry.n_samples == (2, 1, 0)
    assert entry.estimates == (2.0, 0.25, None)
    assert (entry.discovery, entry.winner, entry.reason) == (False, None, "stopped: closed by hand")
    assert (entry.wealth_before, entry.level) == (0.05, experiment.delta)
    assert entry.wealth_after == pytest.approx(0.05 - experiment.delta)


def test_closed_by_hand_the_p_value_decides():
    sequence = ExperimentSequence(0.2, "none")
    experiment = sequence.open(4, reward=Bernoulli(bound="beta"))
    for arm, rewards in enumerate(([0] * 60, [1] * 30 + [0] * 30, [1] * 40 + [0] * 20, [0] * 9)):
        for reward in rewards:
            experiment.record(arm, reward)
    experiment.update()
    assert not experiment.stopped  # arms 1 and 2 are too close
    assert experiment.p_value <= 0.2
    entry = sequence.close()
    assert (entry.discovery, entry.winner, entry.reason) == (True, 2, "stopped: closed by hand")
    assert sequence.ledger.verify()


def test_a_p_value_of_old_does_not_reject_a_control_that_leads_now():
    sequence = ExperimentSequence(0.2, "none")
    experiment = sequence.open(3, reward=Bernoulli(bound="beta"))
    for _ in range(20):
        for arm in (0, 1, 2):
            experiment.record(arm, arm > 0)
    experiment.update()
    low = experiment.p_value
    assert low <= 0.2
    assert not experiment.stopped
    for arm, reward, n in ((0, 1, 400), (1, 0, 20), (2, 0, 20)):
        for _ in range(n):
            experiment.record(arm, reward)
    entry = sequence.close()
    assert entry.p_value <= low
    assert (entry.discovery, entry.winner) == (False, None)
    assert sequence.ledger.verify()


def test_an_experiment_without_outcomes_is_closed_without_a_discovery():
    sequence = ExperimentSequence(0.1)
    sequence.open(2)
    entry = sequence.close()
    assert (entry.p_value, entry.discovery, entry.n_samples) == (1.0, False, (0, 0))
    assert entry.wealth_after < entry.wealth_before
    assert sequence.ledger.verify()


def test_the_limit_is_not_a_decision_for_the_control():
    sequence = ExperimentSequence(0.1)
    play(sequence.open(2, max_samples=10), (0.5, 0.5), np.random.default_rng(0))
    assert sequence.close().reason == "stopped: limit reached, undecided"


def test_the_same_seed_gives_the_same_assignments_and_each_experiment_its_own():
    def orders(seed):
        sequence = ExperimentSequence(0.1, random_state=seed)
        found = []
        for _ in range(2):
            found.append([one.arm for one in sequence.open(20).assign(20)])
            sequence.close()
        return found

    first, second = orders(3)
    assert orders(3) == [first, second]
    assert first != second
    assert orders(4) != [first, second]


# One at a time


def test_a_second_experiment_has_to_wait():
    sequence = ExperimentSequence(0.1)
    experiment = sequence.open(2)
    with pytest.raises(DataError, match="experiment 1 is open; close it before the next is opened"):
        sequence.open(2)
    assert sequence.current is experiment


def test_nothing_is_closed_twice():
    sequence = ExperimentSequence(0.1)
    with pytest.raises(DataError, match="no experiment is open to be closed: none was opened"):
        sequence.close()
    sequence.open(2)
    sequence.close()
    assert sequence.current is None
    with pytest.raises(DataError, match="to be closed: the last one, 1, was closed"):
        sequence.close()
    assert len(sequence.ledger) == 1


def test_nothing_is_opened_on_spent_wealth():
    sequence = ExperimentSequence(0.1, options={"gamma": [1.0]})
    sequence.open(2)
    sequence.close()
    with pytest.raises(DataError, match=r"experiment 2 would have level 0, .* the wealth is spent"):
        sequence.open(2)


def test_a_gamma_that_has_ended_is_named():
    sequence = ExperimentSequence(0.1, options={"gamma": [0.5]})
    sequence.open(2)
    sequence.close()
    with pytest.raises(DataError, match=r"γ has ended with a wealth of 0\.025 left, and nothing"):
        sequence.open(2)


def test_a_discovery_is_credited_to_an_arm_with_evidence():
    sequence = ExperimentSequence(0.2, "none")
    experiment = sequence.open(3, reward=Bernoulli(bound="beta"))
    for arm, hits, misses in ((0, 20, 80), (1, 70, 30), (2, 1, 0)):  # arm 2 leads by luck
        experiment.record(arm, ArmStatistics.of([1] * hits + [0] * misses))
    assert experiment.evident_arm == 1
    entry = sequence.close()
    assert (entry.discovery, entry.winner, entry.leaders) == (True, 1, (2,))
    assert sequence.ledger.verify()


def test_where_the_evidence_came_earlier_its_arm_is_the_winner():
    sequence = ExperimentSequence(0.2, "none")
    experiment = sequence.open(3, reward=Bernoulli(bound="beta"))
    for arm, hits, misses in ((0, 4, 16), (1, 19, 1), (2, 2, 2)):
        experiment.record(arm, ArmStatistics.of([1] * hits + [0] * misses))
    experiment.update()
    low = experiment.p_value
    assert low <= 0.2
    experiment.record(0, ArmStatistics.of([1] * 30 + [0] * 20))
    experiment.record(2, ArmStatistics.of([1] * 2))
    experiment.record(1, ArmStatistics.of([0] * 10))
    experiment.update()
    assert (experiment.p_value, experiment.stopped) == (low, False)
    entry = sequence.close()
    assert (entry.discovery, entry.winner, entry.leaders) == (True, 1, (2,))


def test_what_comes_after_the_closing_is_late():
    sequence = ExperimentSequence(0.1)
    experiment = sequence.open(2)
    sequence.close()
    experiment.record(0, 1)
    assert experiment.status == "stopped: closed by hand"
    assert (experiment.n_samples, experiment.late[0].count) == (0, 1)
    assert experiment.assign(2) == []


def test_numbers_of_numpy_end_up_in_files():
    f = np.float32
    gamma = LogGamma(scale=f(0.07))
    sequence = ExperimentSequence(
        f(0.1), "lord++", options={"gamma": gamma, "decay": f(0.5), "initial_wealth": f(0.05)}
    )
    experiment = sequence.open(np.int64(2), epsilon=f(0.01), max_samples=np.int32(50))
    experiment.record(0, ArmStatistics(np.int64(3), f(1), f(1), f(0), f(1)))
    sequence.close()
    ledger = sequence.ledger
    assert Ledger.from_json(ledger.to_json()).entries == ledger.entries
    assert Ledger.from_csv(ledger.to_csv()).entries == ledger.entries
    assert json.dumps(sequence.to_dict())


def test_a_failed_opening_costs_nothing():
    sequence = ExperimentSequence(0.1)
    level = sequence.next_level
    with pytest.raises(ParameterError, match="'n_arms'"):
        sequence.open(1)
    with pytest.raises(DataError, match=r"the name of an experiment must be text\. Got 5"):
        sequence.open(2, name=5)
    with pytest.raises(DataError, match="the name of an experiment has a lone surrogate"):
        sequence.open(2, name="\udcff")
    assert sequence.open(2).delta == level


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0,), "'alpha' parameter of Lord"),
        ((1.0,), "'alpha' parameter of Lord"),
        ((0.1, "lond"), "No procedure is called 'lond'"),
        ((0.1, "lord", "greedy"), "'policy' parameter of ExperimentSequence must be one of"),
    ],
)
def test_parameters_are_checked_at_once(arguments, message):
    with pytest.raises(ParameterError, match=message):
        ExperimentSequence(*arguments)


def test_too_much_initial_wealth_is_refused():
    with pytest.raises(ParameterError, match=r"'initial_wealth' .* < 0\.1"):
        ExperimentSequence(0.1, options={"initial_wealth": 0.1})


# On disk


@pytest.mark.parametrize("is_open", [False, True])
def test_a_sequence_goes_on_after_json(is_open):
    sequence = ExperimentSequence(0.1, "lord++", random_state=5)
    for seed in (0, 1):
        play(sequence.open(3), (0.2, 0.3, 0.9), np.random.default_rng(seed))
        sequence.close()
    if is_open:
        sequence.open(3, name="half done").record(1, 1)
    again = ExperimentSequence.from_dict(json.loads(json.dumps(sequence.to_dict())))
    assert again.to_dict() == sequence.to_dict()
    assigned = []
    for one in (sequence, again):
        experiment = one.current if is_open else one.open(3)
        assigned.append(experiment.assign(9))
        play(experiment, (0.2, 0.3, 0.9), np.random.default_rng(2))
        one.close()
    assert assigned[0] == assigned[1]
    assert again.ledger.to_dict() == sequence.ledger.to_dict()


def state_of_a_sequence():
    sequence = ExperimentSequence(0.1)
    sequence.open(2)
    sequence.close()
    sequence.open(2)
    return sequence.to_dict()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": -1}, "the seed of a sequence is an int ≥ 0"),
        ({"seed": "1"}, "the seed of a sequence is an int ≥ 0"),
        ({"name": None}, "the name of an experiment must be text. Got None"),
        ({"name": "\ud800"}, "the name of an experiment has a lone surrogate"),
        ({"policy": "greedy"}, "the stored sequence is damaged: The 'policy' parameter"),
        ({"policy": "uniform"}, "the open experiment has policy best_arm, the sequence uniform"),
        ({"open": 5}, "the stored experiment is damaged: AttributeError"),
        ({"ledger": {}}, "ledger is not a ledger of labelwood"),
    ],
)
def test_a_strange_state_is_refused(change, message):
    with pytest.raises(DataError, match=message):
        ExperimentSequence.from_dict({**state_of_a_sequence(), **change})


def test_a_state_with_a_changed_ledger_is_refused():
    state = state_of_a_sequence()
    state["ledger"]["entries"][0]["level"] = 0.05
    with pytest.raises(DataError, match="the ledger was changed: entry 1: level is recorded as"):
        ExperimentSequence.from_dict(state)


def test_an_open_experiment_at_another_level_is_refused():
    state = state_of_a_sequence()
    state["open"]["delta"] = 0.05
    with pytest.raises(DataError, match=r"the open experiment has level 0\.05, but .* follows"):
        ExperimentSequence.from_dict(state)


@pytest.mark.parametrize("state", [None, [], {"ledger": {}}])
def test_half_a_state_is_refused(state):
    with pytest.raises(DataError, match="a sequence of experiments has ledger, policy, seed"):
        ExperimentSequence.from_dict(state)
