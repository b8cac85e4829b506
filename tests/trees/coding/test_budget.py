"""Coding trees whose decisions read few features."""

import numpy as np
import pytest

import labelwood
from builders import separable
from labelwood import AnnotationTreeClassifier, PowersetTreeClassifier
from labelwood.core.sparse import as_csr
from labelwood.errors import DataError, ParameterError
from labelwood.linear.budgeted import solve_budgeted

TREES = [PowersetTreeClassifier, AnnotationTreeClassifier]


@pytest.fixture(scope="module")
def data():
    return separable(120, 5)


@pytest.mark.parametrize("kind", TREES)
def test_no_decision_reads_more_features_than_its_budget(kind, data, tmp_path):
    X, Y = data
    model = kind(budget=3, random_state=0).fit(X, Y)
    assert np.diff(model.weight_indptr_).max() <= 3
    plain = kind(prune_below=0, random_state=0).fit(X, Y)
    assert model.n_leaves_ == plain.n_leaves_  # the shape of the tree does not depend on it
    np.testing.assert_array_equal(model.right_, plain.right_)
    assert model.weights_.size < plain.weights_.size
    labelwood.save(model, tmp_path / "model")
    again = labelwood.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X).toarray(), model.predict(X).toarray())
    threads = kind(budget=3, random_state=0, n_jobs=2).fit(X, Y)
    assert threads.weights_.tobytes() == model.weights_.tobytes()


def test_the_root_is_the_budget_aware_classifier_of_its_two_sides():
    rng = np.random.default_rng(0)
    X = rng.random((100, 6)).astype(np.float32)
    X[:, 3] += np.repeat([0, 0.7], 50)
    Y = np.repeat([[1, 0], [0, 1]], [50, 50], axis=0)
    model = PowersetTreeClassifier(budget=2, normalize=False, C=3, balance=0).fit(X, Y)
    first = model.labels_[model.leaf_indptr_[1] : model.leaf_indptr_[2]][0]
    rows = np.argsort(Y[:, 1 - first], kind="stable")
    solved = solve_budgeted(
        as_csr(X),
        2.0 * Y[rows, first] - 1,
        np.full(100, 3.0),
        budget=2,
        rows=rows,
        tol=1e-2,
        max_planes=3,
    )
    assert model.features_.tolist() == solved.features.tolist()
    assert 3 in model.features_
    np.testing.assert_allclose(model.weights_, solved.coef[0], rtol=1e-4)
    np.testing.assert_allclose(model.intercepts_[0], solved.intercepts[0], rtol=1e-4)


@pytest.mark.parametrize("kind", TREES)
def test_a_budget_above_the_number_of_features_is_refused(kind, data):
    X, Y = data
    with pytest.raises(ParameterError, match=rf"at most the number of features, {X.shape[1]}. Got"):
        kind(budget=X.shape[1] + 1).fit(X, Y)
    with pytest.raises(ParameterError, match="'budget' parameter"):
        kind(budget=0).fit(X, Y)
    assert np.diff(kind(budget="auto").fit(X, Y).weight_indptr_).max() <= max(
        16, np.ceil(2 * np.sqrt(X.shape[1]))
    )


def test_a_tree_is_read_in_words():
    X = np.eye(4)[[0, 1, 2, 3] * 5]
    Y = [["cat"], ["dog"], ["owl"], []] * 5
    model = AnnotationTreeClassifier(budget=1, C=10).fit(X, Y)
    text = model.export_text(["purrs", "barks", "hoots", "silent"])
    for word in ("purrs", "cat", "barks", "dog", "no label"):
        assert word in text
    assert model.export_text(max_depth=0).strip() == "4 label sets (not shown)"
    assert "feature" in model.export_text()
    with pytest.raises(DataError, match="must hold 4 names"):
        model.export_text(["purrs"])
