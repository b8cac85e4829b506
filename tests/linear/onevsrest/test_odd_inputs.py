"""Data that are legal and odd, for every learner of decisions about labels."""

import warnings
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import labelwood
from builders import separable
from labelwood import OneVsRestSVM
from labelwood.errors import LabelwoodWarning

# Small trees have many levels with these options, and all labels are scored.
OPTIONS = {
    "OneVsRestSVM": {},
    "LabelTreeClassifier": {"max_leaf_labels": 2, "branching": 2, "beam": 32},
}
LEARNERS = [
    partial(getattr(labelwood, name), random_state=0, **options)
    for name, options in OPTIONS.items()
    if hasattr(labelwood, name)
]
EXACT = {"tol": 1e-5, "slack": 0, "violators": 0, "prune_below": 0, "max_iter": 100_000}


@pytest.fixture(params=LEARNERS, ids=lambda make: make.func.__name__)
def learner(request):
    return request.param()


def csr(rows):
    return sp.csr_array(np.asarray(rows, dtype=np.float32))


def stacked(*parts):
    return sp.csr_array(sp.vstack(parts, format="csr"), dtype=np.float32)


def share_right(model, X, Y):
    """The share of the points whose first label is one of theirs."""
    first = model.predict_topk(X, 1).labels[:, 0]
    return Y.toarray()[np.arange(len(first)), first].mean()


def labels_shared_by_frequency(n, counts):
    """An indicator in which label l has the first `counts[l]` points."""
    return csr(np.arange(n)[:, None] < np.asarray(counts))


def test_labels_without_points_are_kept_counted_and_never_predicted(learner):
    X, Y = separable(80, 4)
    columns = [1, 2, 4, 6]
    wide = sp.lil_array((80, 8), dtype=np.float32)
    wide[:, columns] = Y
    with pytest.warns(LabelwoodWarning, match="4 of 8 labels have no sample"):
        learner.fit(X, sp.csr_array(wide))
    assert learner.classes_.tolist() == list(range(8))
    assert learner.predict(X).shape == (80, 8)
    assert set(learner.predict(X).indices) <= set(columns)
    assert set(learner.decision_function(X).indices) <= set(columns)
    assert set(learner.predict_topk(X, 8).labels.ravel()) <= {*columns, -1}


def test_labels_without_points_do_not_change_the_others(learner):
    X, Y = separable(80, 4)
    columns = np.array([1, 2, 4, 6])
    wide = sp.lil_array((80, 8), dtype=np.float32)
    wide[:, columns] = Y
    alone = learner.fit(X, Y).predict_topk(X, 4)
    with pytest.warns(LabelwoodWarning, match="4 of 8 labels have no sample"):
        among_others = learner.fit(X, sp.csr_array(wide)).predict_topk(X, 4)
    np.testing.assert_array_equal(among_others.labels, columns[alone.labels])
    np.testing.assert_allclose(among_others.scores, alone.scores, atol=1e-6)


def test_where_no_label_has_a_point_none_is_predicted(learner):
    X, _ = separable(30, 3)
    with pytest.warns(LabelwoodWarning, match="3 of 3 labels have no sample"):
        learner.fit(X, sp.csr_array((30, 3), dtype=np.float32))
    assert learner.predict(X).nnz == 0
    assert learner.predict_topk(X, 2).labels.tolist() == [[-1, -1]] * 30


def test_points_without_labels_do_not_confuse_the_others(learner):
    X, Y = separable(100, 4)
    labeled = np.diff(Y.indptr) > 0
    X, Y = X[labeled], Y[labeled]
    noise = sp.random_array((60, 4), density=0.5, format="csr", rng=np.random.default_rng(0))
    strangers = sp.hstack([sp.csr_array((60, 4)), noise])
    learner.fit(stacked(X, strangers), stacked(Y, sp.csr_array((60, 4))))
    assert share_right(learner, X, Y) > 0.95


def test_a_point_without_labels_speaks_against_all_of_them():
    X, Y = csr([[1, 0], [0, 1]]), csr([[1, 0], [0, 1]])
    without = OneVsRestSVM(random_state=0, **EXACT).fit(X, Y)
    more, none = stacked(X, csr([[1, 0]] * 3)), stacked(Y, csr([[0, 0]] * 3))
    against = OneVsRestSVM(random_state=0, **EXACT).fit(more, none)
    scores = [model.decision_function(X).toarray()[0] for model in (without, against)]
    assert np.all(scores[1] < scores[0])


def test_points_without_features_are_learned_from(learner):
    X, Y = separable(100, 4)
    labels_of_empty = np.zeros((40, 5), dtype=np.float32)
    labels_of_empty[:, 4] = 1
    wide = sp.hstack([Y, sp.csr_array((100, 1))])
    empty = sp.csr_array((40, X.shape[1]), dtype=np.float32)
    learner.fit(stacked(X, empty), stacked(wide, csr(labels_of_empty)))
    assert learner.predict_topk(empty[:2], 1).labels.tolist() == [[4], [4]]


def test_without_any_feature_labels_go_by_frequency(learner):
    X, Y = sp.csr_array((30, 2), dtype=np.float32), labels_shared_by_frequency(30, [6, 24, 3, 12])
    top = learner.fit(X, Y).predict_topk(X, 4)
    assert top.labels.tolist() == [[1, 3, 0, 2]] * 30


def test_where_all_points_are_the_same_labels_go_by_frequency(learner):
    X, Y = csr([[1, 0, 2]] * 30), labels_shared_by_frequency(30, [6, 24, 3, 12])
    top = learner.fit(X, Y).predict_topk(X, 4)
    assert top.labels.tolist() == [[1, 3, 0, 2]] * 30
    assert np.all(top.scores == top.scores[0])


@pytest.mark.parametrize(("row", "square"), [([0, 0, 0], 1), ([1, 0, 2], 2)])
def test_one_point_many_times_has_the_score_of_the_formula(row, square):
    n, positives, C = 30, np.array([6, 24, 3, 12]), 0.6
    X, Y = csr([row] * n), labels_shared_by_frequency(n, positives)
    model = OneVsRestSVM(C=C, random_state=0, **EXACT).fit(X, Y)
    # The least of s²/(2‖x‖²) + C p (1 − s)² + C (n − p)(1 + s)², the constant being part of x.
    score = 2 * C * (2 * positives - n) / (1 / square + 2 * C * n)
    np.testing.assert_allclose(model.decision_function(X[[0]]).toarray()[0], score, atol=1e-4)


def test_one_label_is_told_from_none(learner):
    X, Y = separable(100, 4)
    Y = Y[:, [0]]
    learner.fit(X, Y)
    assert learner.predict_topk(X, 3).labels.tolist() == [[0]] * 100
    assert (learner.predict(X).toarray() == Y.toarray()).mean() > 0.95


def test_a_label_that_all_points_have_is_always_predicted(learner):
    X, _ = separable(50, 4)
    learner.fit(X, np.hstack([np.ones((50, 1)), np.eye(50, 1)]))
    assert np.all(learner.predict(X).toarray()[:, 0] == 1)
    assert np.all(learner.predict_topk(X, 1).labels == 0)


def test_a_single_point_is_enough(learner):
    X, Y = csr([[0, 1, 2]]), [["owl", "cat"]]
    assert set(learner.fit(X, Y).predict_topk(X, 2).names()[0]) == {"owl", "cat"}


def test_k_beyond_the_number_of_labels_gives_every_label_once(learner):
    X, Y = separable(60, 5)
    top = learner.fit(X, Y).predict_topk(X, 1000)
    assert np.sort(top.labels, axis=1).tolist() == [[0, 1, 2, 3, 4]] * 60


def test_equal_rows_get_equal_answers(learner):
    X, Y = separable(60, 5)
    twice = stacked(X, X)
    learner.fit(twice, stacked(Y, Y))
    top = learner.predict_topk(twice, 5)
    np.testing.assert_array_equal(top.labels[:60], top.labels[60:])
    np.testing.assert_array_equal(top.scores[:60], top.scores[60:])
    labeled = np.diff(Y.indptr) > 0
    assert share_right(learner, X[labeled], Y[labeled]) > 0.95


def test_a_row_given_three_times_weighs_three_times():
    X, Y = separable(40, 3)
    thrice = OneVsRestSVM(C=0.2, random_state=0, **EXACT).fit(stacked(X, X, X), stacked(Y, Y, Y))
    costly = OneVsRestSVM(C=0.6, random_state=0, **EXACT).fit(X, Y)
    np.testing.assert_allclose(thrice.coef_.toarray(), costly.coef_.toarray(), atol=2e-3)


@st.composite
def odd_data(draw):
    """Small data with any share of empty rows, unused labels, equal rows and lone labels."""
    n, d, n_labels = (draw(st.integers(1, high)) for high in (12, 3, 20))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    density, labeled = (draw(st.sampled_from([0.0, 0.1, 0.5, 1.0])) for _ in range(2))
    X = rng.integers(1, 4, (n, d)) * (rng.random((n, d)) < density)
    Y = rng.random((n, n_labels)) < labeled
    copies = rng.integers(n, size=n) if draw(st.booleans()) else np.arange(n)
    return csr(X[copies]), csr(Y[copies])


@pytest.mark.parametrize("make", LEARNERS, ids=lambda make: make.func.__name__)
@settings(max_examples=60)
@given(data=odd_data(), k=st.integers(1, 30))
def test_all_of_it_at_once_is_legal(make, data, k):
    X, Y = data
    n_labels = Y.shape[1]
    with_points = np.unique(Y.indices)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = make().fit(X, Y)
    missing = n_labels - with_points.size
    what = "label" if n_labels == 1 else "labels"
    rest = "has no sample; it is" if missing == 1 else "have no sample; they are"
    wanted = f"{missing} of {n_labels} {what} {rest} never predicted."
    assert [str(one.message) for one in said] == ([wanted] if missing else [])
    top = model.predict_topk(X, k)
    assert top.labels.shape == (X.shape[0], min(k, n_labels))
    scores = model.decision_function(X)
    for row, (labels, values) in enumerate(zip(top.labels, top.scores, strict=True)):
        there = labels[labels >= 0]
        assert there.size == min(k, with_points.size)
        assert np.unique(there).size == there.size
        assert set(there) <= set(with_points)
        assert np.all(labels[there.size :] == -1)
        assert np.all(values[there.size :] == -np.inf)
        assert np.all(np.diff(values[: there.size]) <= 0)
        given_scores = scores[[row]].toarray()[0, there]
        np.testing.assert_allclose(values[: there.size], given_scores, rtol=1e-5, atol=1e-6)
