"""Purity measures: the lecture's arithmetic, and what is refused."""

import numpy as np
import pytest

import labelwood
from labelwood import RuleTreeClassifier
from labelwood.errors import ModelError, ParameterError
from labelwood.trees.rules.growth.criteria import check_purity, log_loss, squared, zero_one
from trees.rules.trees import table


def after_split(purity, first, second):
    """The mean purity of two equal halves."""
    return purity(np.array([first, second])).mean()


def test_the_arithmetic_of_the_lecture():
    assert squared(np.array([0.7]))[0] == pytest.approx(0.21)
    assert after_split(squared, 0.5, 0.9) == pytest.approx(0.17)
    assert after_split(squared, 0.6, 0.8) == pytest.approx(0.20)
    assert zero_one(np.array([0.7]))[0] == pytest.approx(0.3)
    assert after_split(zero_one, 0.5, 0.9) == pytest.approx(0.3)
    assert after_split(zero_one, 0.6, 0.8) == pytest.approx(0.3)
    assert log_loss(np.array([0.25]))[0] == pytest.approx(
        -0.25 * np.log(0.25) - 0.75 * np.log(0.75)
    )


@pytest.mark.parametrize("purity", [squared, log_loss, lambda p: np.sqrt(p * (1 - p))])
def test_strictly_concave_and_symmetric_measures_pass(purity):
    check_purity(purity)


def test_what_is_refused_is_told_where_it_fails():
    with pytest.raises(ParameterError, match=r"not strictly concave at p = 0.005.*0.7 is split"):
        check_purity(zero_one)
    with pytest.raises(ParameterError, match=r"not symmetric: Q\(0.005\) = .* and Q\(0.995\)"):
        check_purity(lambda p: p * (1 - p) * (1 + p))
    with pytest.raises(ParameterError, match=r"not strictly concave at p = 0\.4"):
        check_purity(lambda p: np.minimum(p * (1 - p), 0.24))
    with pytest.raises(ParameterError, match="one finite number"):
        check_purity(lambda p: 1.0)
    X, y = table()
    with pytest.raises(ParameterError, match="must be one of 'gini', 'squared', 'log_loss'"):
        RuleTreeClassifier(criterion="zero_one").fit(X, y)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_users_purity_grows_the_same_tree_as_the_kernels(n_classes):
    X, y = table(n_classes=n_classes, seed=4)
    known = RuleTreeClassifier(max_leaves=6).fit(X, y)
    own = RuleTreeClassifier(criterion=lambda p: p * (1 - p), max_leaves=6).fit(X, y)
    np.testing.assert_array_equal(own.features_, known.features_)
    np.testing.assert_allclose(own.thresholds_, known.thresholds_)
    np.testing.assert_allclose(own.losses_, known.losses_, atol=1e-9)


def test_another_purity_grows_another_tree():
    X, y = table(400, seed=9)
    root = RuleTreeClassifier(criterion=lambda p: np.sqrt(p * (1 - p)), max_depth=1).fit(X, y)

    def loss(cut, feature):
        sides = X[:, feature] <= cut, X[:, feature] > cut
        return sum(s.sum() * np.sqrt(y[s].mean() * (1 - y[s].mean())) for s in sides)

    best = min(loss(cut, j) for j in range(5) for cut in np.unique(X[:, j])[:-1])
    trees = root._trees()
    assert trees.losses[1:].sum() == pytest.approx(best)


def test_a_model_of_a_users_purity_is_saved_under_another_name_of_it(tmp_path):
    X, y = table()
    model = RuleTreeClassifier(criterion=lambda p: p * (1 - p), max_leaves=4).fit(X, y)
    with pytest.raises(ModelError, match="criterion is a function, which cannot be saved"):
        labelwood.save(model, tmp_path / "model")
    labelwood.save(model.set_params(criterion="gini"), tmp_path / "model")
    assert labelwood.load(tmp_path / "model").predict(X).tolist() == model.predict(X).tolist()
