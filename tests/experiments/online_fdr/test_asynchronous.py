import numpy as np
import pytest

from labelwood.errors import DataError, ParameterError
from labelwood.experiments.online_fdr import AsynchronousFDR, online_fdr
from labelwood.experiments.overlapping import OverlappingExperiments

SYNCHRONOUS = {"lord": "lord++", "saffron": "saffron"}


@pytest.mark.parametrize("name", ["lord", "saffron"])
def test_one_after_the_other_the_levels_are_those_of_the_synchronous_procedure(name):
    rng = np.random.default_rng(0)
    overlapping, plain = AsynchronousFDR(0.1, name), online_fdr(SYNCHRONOUS[name], 0.1)
    for _ in range(60):
        p = float(rng.random() ** 6)
        test = overlapping.start()
        assert test.level == pytest.approx(plain.next_level(), rel=1e-12)
        assert overlapping.finish(test.number, p) == plain.record(p)
        assert overlapping.wealth == pytest.approx(plain.wealth, rel=1e-9)
        assert overlapping.n_discoveries == plain.n_discoveries


@pytest.mark.parametrize("name", ["lord", "saffron"])
def test_overlapping_tests_keep_the_modified_false_discovery_rate(name):
    rng = np.random.default_rng(1)
    false, found = 0, 0
    for _ in range(60):
        tests, waiting = AsynchronousFDR(0.1, name), []
        for _ in range(120):
            effect = rng.random() < 0.3
            p = float(rng.random() * (1e-4 if effect else 1))
            waiting.append((tests.start().number, p, effect))
            if len(waiting) > 10:  # tests end in random order
                number, p, effect = waiting.pop(int(rng.integers(len(waiting))))
                discovery = tests.finish(number, p)
                found += discovery
                false += discovery and not effect
            assert tests.wealth >= 0
    assert found > 200
    assert false / (found + 60) <= 0.1


@pytest.mark.parametrize("name", ["lord", "saffron"])
def test_what_was_paid_never_exceeds_alpha_times_the_discoveries(name):
    # The invariant of the proof: levels of all tests but finished candidates, over 1 − λ.
    rng = np.random.default_rng(2)
    tests, paid, open_ = AsynchronousFDR(0.2, name), {}, []
    for _ in range(300):
        test = tests.start(weight=float(rng.uniform(0.2, 3)))
        paid[test.number] = test.level / (0.5 if name == "saffron" else 1)
        open_.append(test.number)
        while open_ and rng.random() < 0.48:
            number = open_.pop(int(rng.integers(len(open_))))
            p = float(rng.random() ** 4)
            tests.finish(number, p)
            if name == "saffron" and p <= 0.5:
                paid[number] = 0.0
        assert sum(paid.values()) <= 0.2 * max(tests.n_discoveries, 1) + 1e-12


def test_a_test_that_never_ends_holds_up_nobody():
    tests = AsynchronousFDR(0.1)
    never = tests.start()
    for _ in range(50):
        assert tests.start().level > 0
    wealth = tests.wealth
    tests.abandon(never.number)
    assert tests.wealth == wealth
    with pytest.raises(DataError, match="test 0 has finished already, or was abandoned"):
        tests.finish(0, 0.5)


def test_a_weight_multiplies_the_level_and_its_price():
    plain, weighted = AsynchronousFDR(0.1), AsynchronousFDR(0.1)
    one, three = plain.start(), weighted.start(weight=3)
    assert three.level == pytest.approx(3 * one.level)
    assert 0.05 - weighted.wealth == pytest.approx(3 * (0.05 - plain.wealth))
    assert AsynchronousFDR(0.1).start(weight=1e9).level == pytest.approx(0.05)  # all of W(0)


def test_no_level_is_above_one_however_large_the_wealth():
    tests = AsynchronousFDR(0.5)
    for _ in range(9):
        tests.finish(tests.start().number, 0.0)
    assert tests.wealth > 2
    assert tests.start(weight=1e9).level == 1


@pytest.mark.parametrize("name", ["alpha", "candidate"])
@pytest.mark.parametrize("value", [0, 1, 1.5])
def test_levels_are_probabilities(name, value):
    with pytest.raises(ParameterError, match=f"'{name}' parameter of AsynchronousFDR"):
        AsynchronousFDR(**{"alpha": 0.1, "procedure": "saffron", name: value})


def test_bad_input_is_refused():
    tests = AsynchronousFDR(0.1)
    with pytest.raises(DataError, match="test 3 was never started"):
        tests.finish(3, 0.1)
    with pytest.raises(ParameterError, match="'weight' parameter of start"):
        tests.start(weight=0)
    with pytest.raises(ParameterError, match="'procedure' parameter of AsynchronousFDR"):
        AsynchronousFDR(0.1, "lord15")
    tests.start()
    with pytest.raises(DataError, match="test 0"):
        tests.finish(0, 1.5)
    assert list(tests.running) == [0]


def test_experiments_that_overlap_are_closed_by_name():
    experiments = OverlappingExperiments(0.2, "saffron", random_state=0)
    one, other = experiments.open("a", 2), experiments.open("b", 3, names=["x", "y", "z"])
    assert one.delta >= other.delta
    one.record_counts({0: (1000, 100), 1: (1000, 200)})
    entry = experiments.close("a")
    assert (entry.discovery, entry.winner, entry.level) == (True, 1, one.delta)
    assert list(experiments.running) == ["b"]
    with pytest.raises(DataError, match="experiment 'a' is not open; open are 'b'"):
        experiments.close("a")
    with pytest.raises(DataError, match="experiment 'b' is open already"):
        experiments.open("b", 2)
    with pytest.raises(ParameterError, match="'n_arms' parameter"):
        experiments.open("c", 1)
    with pytest.raises(ParameterError, match="'epsilon' parameter"):
        experiments.open("c", 2, epsilon=-0.1)
    assert experiments.procedure.n_started == 2
