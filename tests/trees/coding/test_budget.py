"""Coding trees whose decisions read few features."""

import numpy as np
import pytest
import scipy.sparse as sp

import labelwood
from builders import random_csr, random_labels, separable
from labelwood import AnnotationTreeClassifier, PowersetTreeClassifier
from labelwood.core.sparse import as_csr
from labelwood.errors import DataError, LabelwoodWarning, ParameterError
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
def test_a_budget_above_the_number_of_features_is_one_of_all_of_them(kind, data):
    X, Y = data
    d = X.shape[1]
    with pytest.warns(LabelwoodWarning, match=rf"above the number of features \({d}\)"):
        model = kind(budget=d + 1, random_state=0).fit(X, Y)
    limit = kind(budget=d, random_state=0).fit(X, Y)
    assert model.weights_.tobytes() == limit.weights_.tobytes()
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


@pytest.mark.parametrize("kind", TREES)
@pytest.mark.parametrize("normalize", [True, False])
def test_a_row_alone_reaches_the_leaf_that_it_reaches_among_others(kind, normalize):
    X, Y = random_csr(300, 30, 0.3), random_labels(300, 12, seed=1)
    model = kind(budget=6, normalize=normalize, random_state=0).fit(X, Y)
    new = as_csr(random_csr(200, X.shape[1], 0.3, seed=9))
    new.data[:] = np.round(new.data, 2) * 10
    alone = [model.predict(new[[i]]) for i in range(200)]
    assert {type(one) for one in alone} == {sp.csr_array}
    assert {one.dtype for one in alone} == {np.dtype(np.float32)}
    assert {one.shape for one in alone} == {(1, 12)}
    together = model.predict(new)
    np.testing.assert_array_equal(sp.vstack(alone).toarray(), together.toarray())
    empty = sp.csr_array((1, X.shape[1]), dtype=np.float32)
    two = model.predict(sp.vstack([empty, empty], format="csr"))
    np.testing.assert_array_equal(model.predict(empty).toarray(), two.toarray()[:1])


def test_a_row_alone_reads_short_decisions_without_the_checks_of_many_rows(monkeypatch, data):
    X, Y = data
    model = PowersetTreeClassifier(budget=3, random_state=0).fit(X, Y)
    expected = model.predict(X[:1].toarray()).toarray()
    monkeypatch.setattr(type(model), "_check_X", None)
    np.testing.assert_array_equal(model.predict(as_csr(X[:1])).toarray(), expected)


def test_a_row_alone_is_mended_or_refused_as_many_rows_are(data):
    X, Y = data
    model = PowersetTreeClassifier(budget=3, random_state=0).fit(X, Y)
    row = as_csr(X[:1])
    expected = model.predict(row.toarray()).toarray()
    reverse = row.copy()
    reverse.indices, reverse.data = row.indices[::-1].copy(), row.data[::-1].copy()
    twice = row.copy()
    twice.indices, twice.data = np.repeat(row.indices, 2), np.repeat(row.data / 2, 2)
    twice.indptr = 2 * row.indptr
    longer = row.copy()  # entries beyond the last pointer are none of the row
    longer.indices, longer.data = np.append(row.indices, [0]), np.append(row.data, [np.nan])
    wide = row.astype(np.float64)
    wide.indices = wide.indices.astype(np.int64)
    for form in (reverse, twice, longer, wide, sp.csr_matrix(row), row.tocsc()):
        np.testing.assert_array_equal(model.predict(form).toarray(), expected)
    for value, name in ((np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")):
        bad = row.copy()
        bad.data[-1] = value
        with pytest.raises(DataError, match=f"X contains {name}"):
            model.predict(bad)
    for index in (-1, X.shape[1]):
        bad = row.copy()
        bad.indices[-1] = index
        with pytest.raises(DataError, match=f"column index {index}, outside"):
            model.predict(bad)
    for pointers in ([1, row.nnz], [0, row.nnz + 1], [0, -1], [0]):
        bad = row.copy()
        bad.indptr = np.array(pointers, dtype=np.int32)
        with pytest.raises(DataError, match="row pointers are inconsistent"):
            model.predict(bad)
    with pytest.raises(DataError, match="features"):
        model.predict(sp.csr_array((1, X.shape[1] + 1), dtype=np.float32))


def test_a_row_alone_is_refused_by_a_tree_whose_decisions_were_changed_by_hand(data):
    X, Y = data
    model = PowersetTreeClassifier(budget=3, random_state=0).fit(X, Y)
    model.features_ = model.features_ + np.uint32(X.shape[1])
    with pytest.raises(DataError, match="changed by hand"):
        model.predict(as_csr(X[:1]))
