from contextlib import nullcontext

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

import labelwood
from builders import random_csr
from labelwood import HierarchicalRLSClassifier, Taxonomy
from labelwood.core.sparse import unit_rows
from labelwood.errors import DataError, LabelwoodWarning, ModelError
from taxonomy.hierarchies import (
    FOREST,
    consistent,
    dense_weights,
    labeled_forest,
    state,
)

NAMES = FOREST.names


@pytest.mark.parametrize("train", ["hierarchical", "independent"])
def test_fit_gives_the_weights_of_a_dense_solve(train):
    X, Y = labeled_forest(80, 12)
    model = HierarchicalRLSClassifier(FOREST, train=train, tol=1e-9).fit(X, Y)
    wanted = dense_weights(X, Y, FOREST, independent=train == "independent")
    np.testing.assert_allclose(model.coef_.toarray().T, wanted, atol=1e-6)
    assert model.stop_reason_ == "tolerance met for every node"


def test_fit_is_exact_where_there_are_more_features_than_rows():
    X, Y = labeled_forest(60, 5)
    X = unit_rows(sp.hstack([X, random_csr(60, 300, density=0.05)], format="csr"))
    model = HierarchicalRLSClassifier(FOREST).fit(X, Y)
    np.testing.assert_allclose(model.coef_.toarray().T, dense_weights(X, Y, FOREST), atol=2e-6)


def test_a_fit_that_meets_its_limit_says_so():
    X, Y = labeled_forest(80, 12)
    with pytest.warns(ConvergenceWarning, match="iteration limit for 7 nodes; raise max_iter"):
        model = HierarchicalRLSClassifier(FOREST, max_iter=2).fit(X, Y)
    assert model.n_iter_ == 2
    assert model.n_iter_labels_.tolist() == [2] * 7
    assert model.stop_reason_.startswith("iteration limit")


def test_a_fit_that_cannot_fit_into_memory_is_refused(monkeypatch):
    X, Y = labeled_forest(80, 12)
    monkeypatch.setattr("labelwood.core.memory.available_memory", lambda: 1000)
    with pytest.raises(MemoryError, match=r"solving the nodes needs .* learn by partial_fit"):
        HierarchicalRLSClassifier(FOREST).fit(X, Y)


def test_more_nodes_than_are_solved_side_by_side():
    wide = Taxonomy(tuple(f"n{i}" for i in range(40)), np.array([-1, *[0] * 39]))
    X, Y = labeled_forest(50, 6, taxonomy=wide)
    model = HierarchicalRLSClassifier(wide, n_jobs=2).fit(X, Y)
    np.testing.assert_allclose(model.coef_.toarray().T, dense_weights(X, Y, wide), atol=2e-6)


def test_the_current_instance_shrinks_a_margin_and_keeps_its_sign():
    X, Y = labeled_forest(40, 8)
    model = HierarchicalRLSClassifier(FOREST).partial_fit(X[:30], Y[:30])
    for path in model.explain(X[30:]):
        for one in path:
            assert 0 < one.estimate < one.margin


def test_predictions_agree_with_the_forest_and_follow_the_margins_from_the_top():
    X, Y = labeled_forest(200, 8)
    model = HierarchicalRLSClassifier(FOREST).fit(X[:150], Y[:150])
    predicted = model.predict(X[150:])
    margins = X[150:].toarray() @ model.coef_.toarray().T
    wanted = np.zeros(margins.shape)
    for node in FOREST.order:
        parent = FOREST.parent[node]
        wanted[:, node] = (margins[:, node] > 0) & (parent < 0 or wanted[:, parent] > 0)
    np.testing.assert_array_equal(predicted.toarray(), wanted)
    assert consistent(predicted, FOREST)
    assert 0 < predicted.nnz < 50 * 7


def test_scores_are_the_margins_of_the_labels_that_were_reached():
    X, Y = labeled_forest(200, 8)
    model = HierarchicalRLSClassifier(FOREST).fit(X[:150], Y[:150])
    scores, predicted = model.decision_function(X[150:]), model.predict(X[150:]).toarray()
    margins = X[150:].toarray() @ model.coef_.toarray().T
    for row in range(50):
        scored = scores.indices[scores.indptr[row] : scores.indptr[row + 1]]
        reached = [i for i, up in enumerate(FOREST.parent) if up < 0 or predicted[row, up]]
        assert scored.tolist() == reached
        np.testing.assert_allclose(
            scores[[row]].toarray()[0, scored], margins[row, scored], atol=1e-6
        )


@given(st.integers(0, 10**6))
@settings(max_examples=20)
def test_no_ranking_has_a_label_before_its_parent(seed):
    X, Y = labeled_forest(40, 4, seed=seed)
    top = HierarchicalRLSClassifier(FOREST).partial_fit(X, Y).predict_topk(X, 5)
    for labels, scores in zip(top.labels, top.scores, strict=True):
        found = labels[labels >= 0].tolist()
        for place, label in enumerate(found):
            assert FOREST.parent[label] < 0 or FOREST.parent[label] in found[:place]
        assert np.all(np.diff(scores[labels >= 0]) <= 0)


def test_the_score_of_a_label_is_the_product_along_its_path():
    X, Y = labeled_forest(60, 8)
    model = HierarchicalRLSClassifier(FOREST).fit(X, Y)
    margins = X.toarray() @ model.coef_.toarray().T
    top = model.predict_topk(X, 7)
    for row in range(5):
        for label, score in zip(top.labels[row], top.scores[row], strict=True):
            path = [label, *FOREST.ancestors(label)]
            assert score == pytest.approx(np.prod(1 / (1 + np.exp(-2 * margins[row, path]))), 1e-5)


def test_labels_are_matched_to_the_taxonomy_by_name_and_by_column():
    X, Y = labeled_forest(60, 8)
    by_name = [[NAMES[i] for i in row.nonzero()[0]] for row in Y.toarray()]
    shuffled = FOREST.align(sorted(NAMES))
    names = HierarchicalRLSClassifier(shuffled).fit(X, by_name)
    columns = HierarchicalRLSClassifier(FOREST).fit(X, Y)
    assert names.classes_.tolist() == sorted(NAMES)
    order = [sorted(NAMES).index(name) for name in NAMES]
    np.testing.assert_allclose(names.coef_.toarray()[order], columns.coef_.toarray(), atol=1e-6)


def test_nodes_without_examples_are_listed_and_never_predicted():
    X, Y = labeled_forest(60, 8)
    never = Y.toarray()
    never[:, NAMES.index("a1x")] = 0
    never[:, [NAMES.index("b"), NAMES.index("b1")]] = 0
    with pytest.warns(LabelwoodWarning, match="3 of 7 labels have no sample"):
        whole = HierarchicalRLSClassifier(FOREST).fit(X, sp.csr_array(never))
    stream = HierarchicalRLSClassifier(FOREST).partial_fit(X, sp.csr_array(never))
    for model in (whole, stream):
        gone = model.untrained_.tolist()
        assert gone == sorted(NAMES.index(name) for name in ("a1x", "b", "b1"))
        assert model.predict(-X).toarray()[:, gone].sum() == 0
        top = model.predict_topk(X, 7)
        assert not np.isin(top.labels, gone).any()
        assert (top.labels[:, 4:] == -1).all()


def test_empty_label_sets_and_partial_and_multiple_paths_are_learned():
    tree = Taxonomy.from_edges([("a", "a1"), ("b", "b1")])
    X = np.eye(4)
    sets = [[], ["a"], ["a", "a1", "b"], ["b", "b1"]]
    model = HierarchicalRLSClassifier(tree).fit(X, sets)
    found = model.predict(X).toarray()
    names = np.array(tree.names)
    assert [names[row > 0].tolist() for row in found] == sets


def test_without_a_taxonomy_every_label_is_a_root():
    X, Y = labeled_forest(60, 8)
    flat = HierarchicalRLSClassifier().fit(X, Y)
    alone = HierarchicalRLSClassifier(FOREST, train="independent").fit(X, Y)
    assert (flat.parent_ == -1).all()
    np.testing.assert_array_equal(flat.coef_.toarray(), alone.coef_.toarray())


def test_a_label_set_against_the_taxonomy_is_refused_or_closed():
    X, _ = labeled_forest(2, 8)
    sets = [["a", "a1"], ["a1x", "b"]]
    why = r"Row 1 has labels without their parents: 'a1x' \(parent 'a1'\).*close_labels=True"
    for learn in ("fit", "partial_fit"):
        with pytest.raises(DataError, match=why):
            getattr(HierarchicalRLSClassifier(FOREST), learn)(X, sets)
        model = HierarchicalRLSClassifier(FOREST, close_labels=True)
        open_to = nullcontext() if learn == "partial_fit" else pytest.warns(LabelwoodWarning)
        with open_to:
            getattr(model, learn)(X, sets)
        assert model.n_positive_[[NAMES.index(name) for name in ("a", "a1", "a1x")]].tolist() == [
            2, 2, 1,
        ]  # fmt: skip


def test_an_unknown_label_is_refused():
    X, Y = labeled_forest(2, 8)
    with pytest.raises(DataError, match="Sample 1 has the unknown label 'zebra'"):
        HierarchicalRLSClassifier(FOREST).fit(X, [["a"], ["zebra"]])
    model = HierarchicalRLSClassifier().partial_fit(X, [["a"], ["b"]])
    with pytest.raises(DataError, match="Sample 0 has the unknown label 'c'"):
        model.partial_fit(X, [["c"], []])
    with pytest.raises(DataError, match="Y has 3 columns and the taxonomy 7 nodes"):
        HierarchicalRLSClassifier(FOREST).fit(X, Y[:, :3])
    model = HierarchicalRLSClassifier(FOREST).partial_fit(X, Y)
    with pytest.raises(DataError, match="Y has 3 columns; the model knows 7 labels"):
        model.partial_fit(X, Y[:, :3])


def test_a_taxonomy_needs_label_sets():
    with pytest.raises(DataError, match="must hold label sets"):
        HierarchicalRLSClassifier(FOREST).fit(np.eye(2), ["a", "b"])


def test_an_empty_row_is_skipped_and_gets_no_label():
    X, Y = labeled_forest(60, 8)
    padded = sp.vstack([X, sp.csr_array((5, 8), dtype=np.float32)], format="csr")
    labels = sp.vstack([Y, Y[:5]], format="csr")
    why = "^5 of 65 rows are empty and are skipped"
    with pytest.warns(LabelwoodWarning, match=why):
        model = HierarchicalRLSClassifier(FOREST).partial_fit(padded, labels)
    plain = HierarchicalRLSClassifier(FOREST).partial_fit(X, Y)
    np.testing.assert_array_equal(model.coef_.toarray(), plain.coef_.toarray())
    assert model.n_support_.tolist() == plain.n_support_.tolist()
    assert model.predict(padded)[60:].nnz == 0
    assert model.explain(padded)[60:] == [[]] * 5


def test_stored_zeros_make_no_row():
    X, Y = labeled_forest(60, 8)
    zeros = sp.csr_array((np.zeros(8, dtype=np.float32), (np.zeros(8, int), range(8))), (1, 8))
    padded, labels = sp.vstack([zeros, X], format="csr"), sp.vstack([Y[[0]], Y], format="csr")
    with pytest.warns(LabelwoodWarning, match="^1 of 61 rows are empty and are skipped"):
        model = HierarchicalRLSClassifier(FOREST).partial_fit(padded, labels)
    plain = HierarchicalRLSClassifier(FOREST).partial_fit(X, Y)
    assert model.n_support_.tolist() == plain.n_support_.tolist()
    assert padded.nnz == X.nnz + 8


def test_rows_are_scaled_to_unit_length_which_is_said_once():
    X, Y = labeled_forest(60, 8)
    scaled = sp.csr_array(X * np.arange(1, 61)[:, None], dtype=np.float32)
    model = HierarchicalRLSClassifier(FOREST)
    with pytest.warns(LabelwoodWarning, match="29 of 30 rows were scaled to unit length"):
        model.partial_fit(scaled[:30], Y[:30])
    model.partial_fit(scaled[30:], Y[30:])  # a second warning would be an error
    plain = HierarchicalRLSClassifier(FOREST).partial_fit(X, Y)
    np.testing.assert_allclose(model.coef_.toarray(), plain.coef_.toarray(), atol=1e-5)
    np.testing.assert_allclose(
        model.decision_function(9 * X).toarray(), plain.decision_function(X).toarray(), atol=1e-5
    )


def test_values_that_are_no_numbers_are_refused_and_leave_the_model_as_it_was():
    X, Y = labeled_forest(60, 8)
    model = HierarchicalRLSClassifier(FOREST).partial_fit(X[:30], Y[:30])
    before = state(model)
    broken = X[30:].copy()
    broken.data[9] = np.nan
    with pytest.raises(DataError, match=r"X contains NaN \(row 1, column 1\)"):
        model.partial_fit(broken, Y[30:])
    assert state(model) == before


def test_another_width_is_refused():
    X, Y = labeled_forest(60, 8)
    model = HierarchicalRLSClassifier(FOREST).partial_fit(X[:30], Y[:30])
    with pytest.raises(ValueError, match=r"X has 7 features, but .* is expecting 8 features"):
        model.partial_fit(X[30:, :7], Y[30:])


def test_another_taxonomy_is_refused():
    X, Y = labeled_forest(60, 8)
    other = Taxonomy(NAMES, np.where(FOREST.parent == NAMES.index("b"), 1, FOREST.parent))
    model = HierarchicalRLSClassifier(FOREST).partial_fit(X[:30], Y[:30])
    with pytest.raises(DataError, match="The taxonomy is not the one that learning began with"):
        model.set_params(taxonomy=other).partial_fit(X[30:], Y[30:])


@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
def test_a_taxonomy_that_changed_between_saving_and_loading_is_refused(tmp_path, learn):
    X, Y = labeled_forest(60, 8)
    model = getattr(HierarchicalRLSClassifier(FOREST), learn)(X, Y)
    model.taxonomy = Taxonomy(NAMES, np.where(FOREST.parent == NAMES.index("b"), 1, FOREST.parent))
    labelwood.save(model, tmp_path / "model")
    with pytest.raises(ModelError, match="the taxonomy is not the one of the fitted model"):
        labelwood.load(tmp_path / "model")


@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
@pytest.mark.parametrize("bad", ["labels", "rows", "width"])
def test_a_fit_that_fails_leaves_the_model_as_it_was(learn, bad):
    X, Y = labeled_forest(60, 8)
    model = HierarchicalRLSClassifier(FOREST).fit(X, Y)
    before, predicted = state(model), model.predict(X).toarray()
    wrong = {"labels": (X, np.eye(60, 7)[:, ::-1]), "rows": (X[:5], Y), "width": (X[:, :0], Y)}
    again = pytest.warns(LabelwoodWarning) if learn == "partial_fit" else nullcontext()
    with again, pytest.raises(DataError, match=r"parents|rows|feature"):
        getattr(model, learn)(*wrong[bad])
    assert state(model) == before
    np.testing.assert_array_equal(model.predict(X).toarray(), predicted)


def test_fit_warns_of_parameters_of_partial_fit_alone():
    X, Y = labeled_forest(60, 8)
    model = HierarchicalRLSClassifier(FOREST, store="margin", max_support=9)
    with pytest.warns(
        LabelwoodWarning, match="store, max_support are parameters of partial_fit alone"
    ):
        model.fit(X, Y)
    with pytest.raises(ValueError, match="counts samples in partial_fit, which was not called"):
        _ = model.n_support_


def test_nodes_called_by_numbers_are_the_columns_of_those_numbers():
    X, Y = labeled_forest(60, 8)
    numbered = Taxonomy(tuple(map(str, range(7))), FOREST.parent)
    turned = numbered.align([str(i) for i in (6, 2, 4, 0, 1, 5, 3)])
    model, same = (HierarchicalRLSClassifier(one).fit(X, Y) for one in (turned, numbered))
    assert model.parent_.tolist() == FOREST.parent.tolist()
    assert state(model) == state(same)


def test_a_dense_column_is_an_indicator_of_the_only_node():
    X, Y = labeled_forest(60, 8)
    column, root = Y[:, [1]], Taxonomy(("r",), [-1])
    dense = HierarchicalRLSClassifier(root).partial_fit(X[:30], column[:30].toarray())
    dense.partial_fit(X[30:], column[30:].toarray())
    assert state(dense) == state(HierarchicalRLSClassifier(root).partial_fit(X, column))


def test_classes_name_the_columns_of_an_indicator_and_must_be_nodes():
    X, Y = labeled_forest(60, 8)
    named = HierarchicalRLSClassifier().partial_fit(X, Y, classes=NAMES)
    assert named.classes_.tolist() == list(NAMES)
    along = HierarchicalRLSClassifier(FOREST).partial_fit(X, Y[:, ::-1], classes=NAMES[::-1])
    assert along.classes_.tolist() == list(NAMES[::-1])
    with pytest.raises(DataError, match="classes are not the nodes of the taxonomy"):
        HierarchicalRLSClassifier(FOREST).partial_fit(X, Y, classes=[*NAMES[1:], "owl"])


@pytest.mark.shared
def test_newswire_is_learned_better_than_by_independent_nodes(shared_data):
    folder = shared_data / "rcv1-15k-hier"
    train, test = (labelwood.load_dataset(folder / f"{part}.txt.xz") for part in ("train", "test"))
    tree = Taxonomy.from_file(folder / "hierarchy.txt", columns="parent child")
    tree = tree.align([str(label) for label in range(train.n_labels)])
    losses = {}
    for kind in ("hierarchical", "independent"):
        with pytest.warns(LabelwoodWarning):
            model = HierarchicalRLSClassifier(tree, train=kind, n_jobs=2).fit(
                train.X[:3000], train.Y[:3000]
            )
        losses[kind] = labelwood.metrics.any_wrong_loss(test.Y, model.predict(test.X), tree)
    assert losses["hierarchical"] < losses["independent"] < 0.6
