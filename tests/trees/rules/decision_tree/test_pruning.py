"""Pruning paths and the size by cross-validation."""

import itertools

import numpy as np
import pytest

from labelwood import RuleTreeClassifier, RuleTreeRegressor
from labelwood.errors import ParameterError
from labelwood.trees.rules.decision_tree.pruning import choose_size
from trees.rules.trees import table


def test_the_path_removes_the_pair_that_costs_least():
    X, y = table(200, seed=1)
    model = RuleTreeClassifier(max_leaves=10).fit(X, y)
    path = model.pruning_path_[0]
    assert path.n_leaves.tolist() == list(range(10, 0, -1))
    for n in range(10, 1, -1):
        now, then = model.pruned(n), model.pruned(n - 1)
        trees = now._trees()
        pairs = [
            v
            for v in np.flatnonzero(trees.right >= 0)
            if trees.right[v + 1] < 0 and trees.right[trees.right[v]] < 0
        ]

        def errors(trees):
            leaves = trees.right < 0
            share = np.minimum(trees.values[leaves, 0], 1 - trees.values[leaves, 0])
            return (trees.weights[leaves] * share).sum()

        best = min(errors(trees.collapsed(np.array([v]))) for v in pairs)
        assert errors(then._trees()) == pytest.approx(best)
        assert path.losses[10 - n + 1] * 200 == pytest.approx(best)


def test_trees_of_a_path_are_nested_and_predict_like_their_leaves():
    X, y = table(300, seed=2)
    model = RuleTreeClassifier(max_leaves=12).fit(X, y)
    for n, m in itertools.pairwise(range(12, 0, -1)):
        larger, smaller = model.pruned(n).apply(X)[:, 0], model.pruned(m).apply(X)[:, 0]
        assert len({(a, b) for a, b in zip(larger, smaller, strict=True)}) == n
    assert model.pruned(12).predict(X).tolist() == model.predict(X).tolist()
    assert model.pruned(1).predict_proba(X)[0, 1] == pytest.approx(y.mean())


def test_pruning_is_to_a_number_of_leaves_under_another_loss():
    X, y = table(300, seed=3)
    model = RuleTreeClassifier(prune=4).fit(X, y)
    assert model.n_leaves_ == 4
    by_squares = RuleTreeClassifier(prune=4, pruning_loss="squared").fit(X, y)
    trees = by_squares._trees()
    assert by_squares.pruning_path_[0].losses[-4] * 300 == pytest.approx(
        trees.losses[trees.right < 0].sum()
    )


def test_the_one_standard_error_rule():
    curves = [
        np.array([0.4, 0.22, 0.20, 0.19]),
        np.array([0.4, 0.2, 0.18, 0.21]),
        np.array([0.4, 0.21]),
    ]
    choice = choose_size(curves)
    means = np.array([0.4, 0.21, (0.20 + 0.18 + 0.21) / 3, (0.19 + 0.21 + 0.21) / 3])
    np.testing.assert_allclose(choice.losses, means)
    assert choice.best == 3
    error = np.std([0.20, 0.18, 0.21], ddof=1) / np.sqrt(3)
    np.testing.assert_allclose(choice.standard_errors[2], error)
    assert choice.chosen == 3 if means[1] > means[2] + error else 2
    assert choose_size(curves, 0.0).chosen == 3
    assert choose_size(curves, 100.0).chosen == 1


def test_held_out_losses_of_all_sizes_are_those_of_single_trees():
    from labelwood.trees.rules.decision_tree.pruning import LossOfNode, size_curve

    X, y = table(300, seed=4)
    model = RuleTreeClassifier(max_leaves=9).fit(X[:200], y[:200])
    rest, truth = X[200:], y[200:]
    matrix = model._check_X(rest)
    trees = model._trees()
    losses = LossOfNode("zero_one", trees.values, truth[:, None], False)
    curve = size_curve(trees, model.pruning_path_[0], matrix, np.ones(100), losses)
    expected = [(model.pruned(n).predict(rest) != truth).mean() for n in range(1, 10)]
    np.testing.assert_allclose(curve, expected)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_cross_validation_finds_a_size_that_does_not_overfit(n_classes):
    X, y = table(600, n_classes=n_classes, seed=5)
    full = RuleTreeClassifier().fit(X[:400], y[:400])
    model = RuleTreeClassifier(prune="cv", random_state=0).fit(X[:400], y[:400])
    assert 2 <= model.n_leaves_ < full.n_leaves_ / 3
    assert model.score(X[400:], y[400:]) > full.score(X[400:], y[400:]) - 0.02
    assert model.cv_losses_.size >= model.n_leaves_
    larger = RuleTreeClassifier(prune="cv", standard_errors=0.0, random_state=0).fit(
        X[:400], y[:400]
    )
    assert larger.n_leaves_ >= model.n_leaves_


def test_regression_is_pruned_by_squared_loss():
    X, _ = table(400, seed=6)
    target = (X[:, 0] > 0) * 2.0 + 0.3 * np.random.default_rng(0).standard_normal(400)
    model = RuleTreeRegressor(prune="cv", random_state=0).fit(X, target)
    assert model.n_leaves_ == 2


@pytest.mark.parametrize("scale", [2.0**-60, 2.0**60])
def test_pruning_does_not_depend_on_the_units_of_weights_and_targets(scale):
    X, y = table(200, seed=7)
    weights = np.random.default_rng(0).random(200) + 0.5
    one = RuleTreeClassifier(max_leaves=12).fit(X, y, weights)
    other = RuleTreeClassifier(max_leaves=12).fit(X, y, weights * scale)
    np.testing.assert_array_equal(other.path_nodes_, one.path_nodes_)
    np.testing.assert_allclose(other.path_losses_, one.path_losses_, atol=1e-12)
    settings = {"max_leaves": 12, "prune": "cv", "random_state": 0}
    small = RuleTreeRegressor(**settings).fit(X, X[:, 0] + y)
    large = RuleTreeRegressor(**settings).fit(X, (X[:, 0] + y) * scale)
    np.testing.assert_array_equal(small.path_nodes_, large.path_nodes_)
    assert small.n_leaves_ == large.n_leaves_


def test_more_folds_than_samples_are_refused():
    with pytest.raises(ParameterError, match=r"must be at most the number of samples \(3\)"):
        RuleTreeClassifier(prune="cv").fit([[1.0], [2], [3]], [0, 1, 1])
