"""Trees of two and three leaves against brute force over all trees."""

import itertools

import numpy as np
import pytest

from labelwood.errors import DataError
from labelwood.trees.rules.optimality.search import compare_with_optimum


def errors(rows, y):
    return min(y[rows].sum(), rows.sum() - y[rows].sum())


@pytest.mark.parametrize("seed", range(5))
def test_the_optimum_is_that_of_brute_force(seed):
    rng = np.random.default_rng(seed)
    X = rng.random((150, 12)) < 0.4
    y = ((X[:, 0] & X[:, 1]) | (X[:, 2] & ~X[:, 0])) ^ (rng.random(150) < 0.1)
    best = min(
        errors(~side(X[:, a]), y)
        + errors(side(X[:, a]) & X[:, b], y)
        + errors(side(X[:, a]) & ~X[:, b], y)
        for a, b in itertools.product(range(12), repeat=2)
        for side in (lambda column: column, lambda column: ~column)
    )
    found = compare_with_optimum(X.astype(float), y)
    assert found.best_loss * 150 == pytest.approx(best)
    assert found.gap >= 0
    two = compare_with_optimum(X.astype(float), y, n_leaves=2)
    assert two.best_loss * 150 == pytest.approx(
        min(errors(X[:, a], y) + errors(~X[:, a], y) for a in range(12))
    )


def test_the_gap_of_a_greedy_tree_is_printed():
    # The best single test is not part of the best pair: x0 alone beats x1, x1 with x2 is perfect.
    rng = np.random.default_rng(0)
    x1, x2 = rng.random(400) < 0.5, rng.random(400) < 0.5
    y = x1 & x2
    x0 = y ^ (rng.random(400) < 0.12)
    found = compare_with_optimum(np.column_stack([x0, x1, x2]), y, feature_names=["a", "b", "c"])
    assert found.best_loss == 0
    assert found.gap > 0
    assert "the greedy tree is not optimal" in str(found)
    assert "gap" in str(found)


def test_of_equally_good_trees_the_greedy_one_is_shown():
    X = np.array([[1, 0], [1, 1], [0, 1], [0, 0]] * 3)
    found = compare_with_optimum(X, X[:, 0], feature_names=["a", "b"])
    assert found.gap == 0
    assert found.best == found.greedy
    assert str(found).startswith("the greedy tree is optimal: zero_one loss 0.0000% (a, ")


def test_any_two_classes_will_do():
    rng = np.random.default_rng(1)
    X = rng.random((90, 5)) < 0.5
    y = X[:, 0] & X[:, 3]
    expected = compare_with_optimum(X.astype(float), y)
    for names in (np.array(["other", "zinc"]), np.array([1, 2]), np.array([-1.0, 1.0])):
        assert compare_with_optimum(X.astype(float), names[y.astype(int)]) == expected


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.ones(3), r"y must hold two classes\. Got 1"),
        ([0, 1, 2], r"y must hold two classes\. Got 3"),
        ([[0], [1], [0]], r"a class for each of the 3 rows of X\. Got \(3, 1\)"),
    ],
)
def test_other_targets_are_refused(y, message):
    with pytest.raises(DataError, match=message):
        compare_with_optimum(np.eye(3), y)
