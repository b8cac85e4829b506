"""The bound of rule trees: its terms by hand, and that it holds in simulation."""

import numpy as np
import pytest

from labelwood import RuleTreeClassifier
from labelwood.errors import DataError, ParameterError
from labelwood.trees.bounds.rule_trees import depth_complexity, rule_tree_bound, rule_tree_terms


def test_the_terms_by_hand():
    terms = rule_tree_terms(1000, 30, 2, 3, 50, 3, 0.1)
    assert terms["training error"] == 0.03
    assert terms["thresholds"] == pytest.approx(np.sqrt(2 * 2 * np.log(1001) / 1000))
    # 5 splits and 6 leaves: 11 bits of shape, 5 of kinds, features and labels.
    choices = 16 * np.log(2) + 5 * np.log(50) + 6 * np.log(3)
    expected = np.sqrt((choices + np.log(10)) / 2000)
    assert terms["choices and confidence"] == pytest.approx(expected)


def test_complexity_grows_with_depth_and_falls_with_samples():
    assert depth_complexity(4, 400) == 0.2
    assert depth_complexity(8, 400) == 2 * depth_complexity(4, 400)


def test_the_bound_holds_on_fresh_samples():
    rng = np.random.default_rng(0)
    failures = 0
    for _ in range(30):
        X = rng.integers(0, 2, (2_400, 30))
        y = (X[:, 0] | X[:, 1]) ^ (rng.random(2_400) < 0.1)
        model = RuleTreeClassifier(presence_features="all", max_leaves=8).fit(X[:400], y[:400])
        bound = rule_tree_bound(model, X[:400], y[:400], delta=0.1)
        failures += (model.predict(X[400:]) != y[400:]).mean() > bound.value
    assert failures == 0
    assert not bound.vacuous


@pytest.mark.parametrize("kind", ["fixed", "thresholds"])
def test_the_bound_of_a_tree_counts_its_splits_by_kind(kind):
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, (600, 5)) if kind == "fixed" else rng.normal(size=(600, 5)) + 5
    y = (X[:, 0] > X[:, 0].mean()) & (X[:, 1] > X[:, 1].mean())
    presence = {"presence_features": "all"} if kind == "fixed" else {}
    model = RuleTreeClassifier(max_leaves=6, **presence).fit(X, y)
    bound, wrong = rule_tree_bound(model, X, y), int((model.predict(X) != y).sum())
    n_splits = bound.facts["leaves"] - 1
    assert n_splits == np.count_nonzero(model._trees().right >= 0) > 0
    splits = (0, n_splits) if kind == "fixed" else (n_splits, 0)
    assert bound.terms == rule_tree_terms(600, wrong, *splits, 5, 2, 0.05)
    assert bound.trivial == 1
    assert "with probability 0.95" in bound.assumes


def test_complexity_and_confidence_have_limits():
    assert depth_complexity(0, 1) == 0
    X, y = np.array([[0.0], [1.0], [0.0], [1.0]]), np.array(["a", "b", "a", "b"])
    with pytest.raises(ParameterError, match="'delta' parameter of rule_tree_bound"):
        rule_tree_bound(RuleTreeClassifier().fit(X, y), X, y, delta=1.0)


def test_label_sets_and_categories_are_refused():
    X = np.array([[0, 1], [1, 0], [1, 1], [0, 0]])
    model = RuleTreeClassifier().fit(X, [["a"], ["b"], ["a", "b"], []])
    with pytest.raises(DataError, match="needs a model of classes"):
        rule_tree_bound(model, X, [0, 1, 1, 0])


def test_targets_of_another_shape_or_class_and_missing_values_are_refused():
    X, y = np.array([[0.0], [1.0], [0.0], [1.0]]), np.array(["a", "b", "a", "b"])
    model = RuleTreeClassifier().fit(X, y)
    with pytest.raises(DataError, match=r"for each of the 4 rows of X. Got \(4, 1\)"):
        rule_tree_bound(model, X, y[:, None])
    with pytest.raises(DataError, match=r"y holds .*'c'.*, which is none of the model's classes"):
        rule_tree_bound(model, X, ["a", "b", "a", "c"])
    for missing in ("value", "impute"):
        model = RuleTreeClassifier(missing=missing).fit(X, y)
        with pytest.raises(DataError, match="does not count the sides of missing values"):
            rule_tree_bound(model, X, y)
    assert rule_tree_bound(RuleTreeClassifier(missing="zero").fit(X, y), X, y).value > 0
