import numpy as np
import pytest

from labelwood.errors import DataError, ParameterError
from labelwood.experiments.discoveries import (
    best_arm_discovery_rate,
    best_arms,
    false_discovery_proportion,
    false_discovery_rate,
    guaranteed_discovery_rate,
    modified_false_discovery_rate,
)


def test_right_arms_are_near_the_best_and_above_the_control():
    # Figure 4.5: arms 1 to 3 are within ε of the best, only 1 and 2 are ε above the control.
    means = [0.5, 1.0, 0.85, 0.7, 0.4, 0.2]
    assert best_arms(means, epsilon=0.31) == [1, 2]
    assert best_arms(means) == [1]
    assert best_arms([0.2, 0.5, 0.5]) == [1, 2]
    assert best_arms([0.5, 0.2, 0.9], control=2) == []


def test_rates_are_those_of_the_definitions():
    rng = np.random.default_rng(0)
    R, H1 = rng.random((50, 8)) < 0.4, rng.random(8) < 0.5
    proportion = false_discovery_proportion(R, H1)
    for run in range(50):
        for J in range(8):
            false = sum(R[run, j] and not H1[j] for j in range(J + 1))
            assert proportion[run, J] == false / max(sum(R[run, : J + 1]), 1)
    assert false_discovery_rate(R, H1) == pytest.approx(proportion.mean(axis=0))
    false, found = (R & ~H1).sum() / 50, R.sum() / 50
    assert modified_false_discovery_rate(R, H1)[-1] == pytest.approx(false / (found + 1))
    ratio = modified_false_discovery_rate(R, H1, plus_one=False)[-1]
    assert ratio == pytest.approx(false / found)


def test_a_discovery_for_a_wrong_arm_is_not_counted():
    means = [[0.1, 0.5, 0.6], [0.1, 0.1, 0.1], [0.1, 0.9, 0.2]]
    R, winners = [[True, True, True], [True, False, False]], [[1, 1, 1], [2, 0, 0]]
    assert best_arm_discovery_rate(R, winners, means) == 0.5
    assert best_arm_discovery_rate(R, winners, means, epsilon=0.2) == 0.75


def test_with_epsilon_the_guarantee_is_three_halves_weaker():
    assert guaranteed_discovery_rate([[0.1, 0.3, 0.2]], [True, False, True]) == pytest.approx(0.85)
    found = guaranteed_discovery_rate([0.1, 0.3, 0.2], [True, False, True], epsilon=0.1)
    assert found == pytest.approx(1 - 1.5 * 0.15)


def test_bad_input_is_refused():
    with pytest.raises(ParameterError, match="'epsilon' parameter of best_arms"):
        best_arms([0, 1], epsilon=-1)
    with pytest.raises(ParameterError, match="'epsilon' parameter of guaranteed_discovery_rate"):
        guaranteed_discovery_rate([0.1], [True], epsilon=-1)
    with pytest.raises(DataError, match="a bool for each of 2 experiments"):
        false_discovery_rate([[True, False]], [True])
    with pytest.raises(DataError, match="bools of shape"):
        false_discovery_rate([[0.5, 0.1]], [True, False])
    with pytest.raises(DataError, match="no experiment has an effect"):
        best_arm_discovery_rate([[True]], [[1]], [[0.5, 0.5]])
    with pytest.raises(DataError, match="levels lie between 0 and 1"):
        guaranteed_discovery_rate([1.5], [True])
    with pytest.raises(DataError, match="a column for each of 2"):
        best_arm_discovery_rate([[True]], [[1]], [[0.5, 0.6], [0.1, 0.2]])
