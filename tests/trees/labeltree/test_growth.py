"""Labels that join a fitted label tree."""

import numpy as np
import pytest
import scipy.sparse as sp

import labelwood
from builders import random_csr, separable
from labelwood import LabelTreeClassifier, metrics
from labelwood.core import memory
from labelwood.core.sparse import unit_rows
from labelwood.errors import DataError, LabelwoodWarning, ParameterError
from labelwood.linear.l2svm.solver import l2svm
from trees.labeltree.forests import beam_search, dense_weights, label_decisions, log_scores, slots

DEEP = {"max_leaf_labels": 8, "branching": 4, "random_state": 0}
EXACT = {"tol": 1e-5, "prune_below": 0, "max_iter": 100_000}


def topical(n, seed):
    """Twelve topics of eight labels, with words of their own; the last twelve labels are one each.

    A point has two labels of a topic, and words of the topic, of its labels, and of no use.
    """
    rng = np.random.default_rng(seed)
    topic = rng.integers(12, size=(n, 1))
    labels = topic + 12 * rng.integers(8, size=(n, 2))
    of_labels = 3 * np.repeat(labels, 2, axis=1) + rng.integers(3, size=(n, 4))
    of_topic, of_none = 10 * topic + rng.integers(10, size=(n, 4)), rng.integers(100, size=(n, 5))
    X, Y = np.zeros((n, 120 + 288 + 100)), np.zeros((n, 96))
    np.put_along_axis(X, np.hstack([of_topic, 120 + of_labels, 408 + of_none]), 1, axis=1)
    np.put_along_axis(Y, labels, 1, axis=1)
    return sp.csr_array(X.astype(np.float32)), sp.csr_array(Y.astype(np.float32))


def precision(model, X, Y, k):
    return metrics.precision_at_k(Y, model.predict_topk(X, k), k)


def fitted_bytes(model):
    return [array.tobytes() for array in model._forest()]


def share_found(model, X, Y, first, k=2):
    """The share of the labels from `first` on that stand among the first k of their points."""
    top = model.predict_topk(X, k)
    return (top.hits(Y) & (top.labels >= first)).sum() / Y[:, first:].nnz


@pytest.mark.parametrize("n_trees", [1, 2])
def test_new_labels_are_found_nearly_as_well_as_with_all_from_the_start(n_trees):
    (X, Y), (new_X, new_Y) = topical(1200, seed=0), topical(600, seed=1)
    options = {**DEEP, "beam": 3, "n_trees": n_trees}
    whole = LabelTreeClassifier(**options).fit(X, Y)
    grown = LabelTreeClassifier(**options).fit(X, Y[:, :84])
    assert share_found(grown, new_X, new_Y, 84) == 0
    grown.add_labels(X, Y[:, 84:], range(84, 96))
    wanted = share_found(whole, new_X, new_Y, 84)
    assert wanted > 0.9
    assert share_found(grown, new_X, new_Y, 84) > wanted - 0.05
    assert precision(grown, new_X, new_Y, 1) > 0.95


def test_old_labels_keep_their_scores_to_the_bit():
    X, Y = topical(800, seed=2)
    model = LabelTreeClassifier(**DEEP, n_trees=2).fit(X, Y[:, :84])
    before = model.decision_function(X).toarray()
    after = model.add_labels(X, Y[:, 84:], list(range(84, 96))).decision_function(X).toarray()
    assert np.ascontiguousarray(after[:, :84]).tobytes() == before.tobytes()
    assert after[:, 84:].any()
    model._check_fitted()


def visits(forest, root, X, beam):
    """How well each row reaches each leaf of a tree, by brute force: shape (rows, nodes)."""
    inner = forest._replace(is_leaf=forest.above_leaves())
    reached = np.zeros((X.shape[0], forest.is_leaf.size))
    for row, logs in enumerate(log_scores(forest, X, logistic=False)):
        best = beam_search(inner, logs, root, beam, 1.0).items()
        for node, value in sorted(best, key=lambda one: -one[1])[:beam]:
            reached[row, node] = np.exp(value)
    return reached


def test_a_new_label_is_trained_at_the_leaf_that_its_points_reach_best():
    X, Y = topical(300, seed=3)
    model = LabelTreeClassifier(**DEEP, **EXACT, n_trees=2, beam=3).fit(X, Y[:, :84])
    forest, unit = model._forest(), unit_rows(X)
    model.add_labels(X, Y[:, 84:], range(84, 96))
    grown = model._forest()
    dense = dense_weights(grown, X.shape[1])
    for root in forest.roots:
        reached = visits(forest, root, unit, beam=3)
        homes = {}
        for label in range(84, 96):
            own = Y[:, [label]].toarray().ravel() > 0
            homes[label] = int(reached[own].sum(axis=0).argmax())
        for label, home in homes.items():
            kin = [other for other in homes if homes[other] == home]
            rows = np.flatnonzero((reached[:, home] > 0) | Y[:, kin].toarray().any(axis=1))
            (lane,) = [one for one in slots(grown, home) if grown.children[one] == label]
            signs = np.where(Y[:, [label]].toarray().ravel()[rows] > 0, 1, -1)
            alone = l2svm(unit, signs, rows=rows, tol=1e-5, max_iter=100_000)
            np.testing.assert_allclose(dense[lane], alone.coef, atol=5e-3)
            assert grown.intercepts[lane] == pytest.approx(alone.intercept, abs=5e-3)


def test_new_names_join_the_known_ones():
    X, Y = separable(200, 4)
    lists = [[f"label {label}" for label in row if label < 3] for row in rows_of(Y)]
    model = LabelTreeClassifier(random_state=0).fit(X, lists)
    model.add_labels(X, Y[:, [3]], ["a rather long new label"])
    assert model.classes_.tolist() == [*(f"label {i}" for i in range(3)), "a rather long new label"]
    right = model.predict(X).toarray() == Y.toarray()
    assert right.mean() > 0.97


def test_new_labels_can_be_given_as_lists_of_names():
    X, Y = separable(100, 4)
    old = [[f"label {label}" for label in row if label < 3] for row in rows_of(Y)]
    new = [["new"] if 3 in row else [] for row in rows_of(Y)]
    by_name, by_column = (
        LabelTreeClassifier(random_state=0).fit(X, old).add_labels(X, columns, ["new"])
        for columns in (new, Y[:, [3]])
    )
    assert fitted_bytes(by_name) == fitted_bytes(by_column)
    assert by_name.classes_.tolist() == by_column.classes_.tolist()
    with pytest.raises(DataError, match="Sample 0 has the unknown label 'other'"):
        by_name.add_labels(X, [["other"]] * 100, ["another"])


def rows_of(Y):
    return np.split(Y.indices, Y.indptr[1:-1])


def test_labels_can_join_one_after_another_and_a_leaf_can_grow_beyond_its_size():
    X, Y = separable(400, 30)
    model = LabelTreeClassifier(max_leaf_labels=2, branching=2, beam=30, random_state=0).fit(
        X, Y[:, :3]
    )
    for label in range(3, 30):
        model.add_labels(X, Y[:, [label]], [label])
    forest = model._forest()
    assert max(len(slots(forest, leaf)) for leaf in np.flatnonzero(forest.is_leaf)) > 2
    assert sorted(label_decisions(model._forest(), X.shape[1])) == list(range(30))
    labeled = np.diff(Y.indptr) > 0
    assert precision(model, X[labeled], Y[labeled], 1) > 0.95


def test_a_tree_that_is_one_leaf_takes_labels_in():
    X, Y = separable(100, 6)
    model = LabelTreeClassifier(random_state=0, normalize=False, **EXACT).fit(X, Y[:, :4])
    assert model.is_leaf_.tolist() == [True]
    model.add_labels(X, Y[:, 4:], [4, 5])
    for label, (weights, intercept) in label_decisions(model._forest(), X.shape[1]).items():
        signs = np.where(Y[:, [label]].toarray().ravel() > 0, 1, -1)
        alone = l2svm(X, signs, tol=1e-5, max_iter=100_000)
        np.testing.assert_allclose(weights, alone.coef, atol=5e-3)
        assert intercept == pytest.approx(alone.intercept, abs=5e-3)


def test_new_labels_have_their_own_costs():
    X, Y = separable(100, 6)
    model = LabelTreeClassifier(random_state=0, normalize=False, **EXACT).fit(X, Y[:, :4])
    C, p = np.array([0.3, 3.0]), np.array([0.5, 0.2])
    model.set_params(C=C, propensity=p).add_labels(X, Y[:, 4:], [4, 5])
    for column in range(2):
        signs = np.where(Y[:, [4 + column]].toarray().ravel() > 0, 1, -1)
        cost = np.where(signs > 0, C[column] / p[column], C[column])
        alone = l2svm(X, signs, C=cost, tol=1e-5, max_iter=100_000)
        np.testing.assert_allclose(
            label_decisions(model._forest(), X.shape[1])[4 + column][0], alone.coef, atol=5e-3
        )
    with pytest.raises(ParameterError, match=r"'C' parameter .* for each of 1 labels"):
        model.add_labels(X, Y[:, [0]], [6])


def test_a_new_label_without_points_is_counted_and_never_predicted():
    X, Y = separable(60, 4)
    model = LabelTreeClassifier(random_state=0).fit(X, Y[:, :3])
    both = sp.csr_array(sp.hstack([Y[:, [3]], sp.csr_array((60, 1))]))
    with pytest.warns(LabelwoodWarning, match="1 of 2 labels has no sample"):
        model.add_labels(X, both, [3, 4])
    assert model.classes_.tolist() == [0, 1, 2, 3, 4]
    assert set(model.predict_topk(X, 5).labels.ravel()) == {-1, 0, 1, 2, 3}


def test_no_new_labels_change_nothing():
    X, Y = separable(60, 4)
    model = LabelTreeClassifier(random_state=0).fit(X, Y)
    before = fitted_bytes(model)
    model.add_labels(X, np.zeros((60, 0)), [])
    assert fitted_bytes(model) == before
    assert model.classes_.tolist() == [0, 1, 2, 3]


def test_growing_beyond_the_memory_is_refused_and_changes_nothing(monkeypatch):
    X, Y = separable(60, 4)
    model = LabelTreeClassifier(random_state=0).fit(X, Y[:, :3])
    before = fitted_bytes(model)
    monkeypatch.setattr(memory, "available_memory", lambda: 10)
    with pytest.raises(MemoryError, match=r"a copy of the model needs .* fit it again"):
        model.add_labels(X, Y[:, [3]], [3])
    assert fitted_bytes(model) == before
    assert model.classes_.tolist() == [0, 1, 2]


HALF = (np.arange(30) % 2)[:, None]  # a label of every other sample


@pytest.mark.parametrize(
    ("Y", "labels", "message"),
    [
        (HALF, [1], "1 is known already; only new labels can be added"),
        (np.hstack([HALF, HALF]), [7, 0], "0 is known already"),
        (HALF, np.array([1]), "^1 is known already"),
        (np.ones((30, 2)), [7], "Y must have 30 rows and a column for each of 1 labels"),
        (np.ones((29, 1)), [7], "Y must have 30 rows and a column for each of 1 labels"),
        (np.ones((30, 2)), [7, 7], "list of different labels"),
        (np.ones((30, 1)), "7", "list of different labels"),
        ([1] * 30, [7], "Y must be a matrix of zeros and ones with a column for each label"),
        (np.ones((30, 1)), ["new"], r"of the kind of the labels known, such as \[0\]"),
    ],
)
def test_new_labels_that_do_not_fit_are_refused(Y, labels, message):
    X, Y_train = separable(30, 2)
    model = LabelTreeClassifier(random_state=0).fit(X, Y_train)
    before = fitted_bytes(model)
    with pytest.raises(DataError, match=message):
        model.add_labels(X, Y, labels)
    assert model.classes_.tolist() == [0, 1]
    assert fitted_bytes(model) == before


def test_a_model_of_one_class_a_point_takes_no_new_labels():
    model = LabelTreeClassifier(random_state=0).fit(random_csr(30, 4), ["a", "b"] * 15)
    with pytest.raises(DataError, match="New labels need a model of label sets"):
        model.add_labels(random_csr(30, 4), np.ones((30, 1)), ["c"])


def test_a_model_without_a_tree_takes_no_new_labels():
    X, _ = separable(30, 2)
    with pytest.warns(LabelwoodWarning, match="2 of 2 labels have no sample"):
        model = LabelTreeClassifier(random_state=0).fit(X, sp.csr_array((30, 2)))
    with pytest.raises(
        DataError, match="Labels cannot be added to a model without a tree; fit it again"
    ):
        model.add_labels(X, HALF, [2])


def test_a_grown_model_survives_saving_and_can_grow_further(tmp_path):
    X, Y = topical(300, seed=4)
    lists = [[f"label {label}" for label in row if label < 80] for row in rows_of(Y)]
    model = LabelTreeClassifier(**DEEP, n_trees=2).fit(X, lists)
    names = [f"new label {label}" for label in range(80, 96)]
    model.add_labels(X, Y[:, 80:88], names[:8])
    labelwood.save(model, tmp_path / "model")
    loaded = labelwood.load(tmp_path / "model")
    for one in (model, loaded):
        one.add_labels(X, Y[:, 88:], names[8:])
    assert fitted_bytes(loaded) == fitted_bytes(model)
    assert loaded.predict_topk(X, 4).names() == model.predict_topk(X, 4).names()
    assert loaded.classes_[-16:].tolist() == names
