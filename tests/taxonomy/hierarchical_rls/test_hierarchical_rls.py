import copy
import json
import os
import signal
import threading
import time
from contextlib import contextmanager, nullcontext

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from typer.testing import CliRunner

import labelwood
from builders import random_csr
from labelwood import HierarchicalRLSClassifier, Taxonomy
from labelwood.cli.main import app
from labelwood.core.sparse import unit_rows
from labelwood.errors import DataError, LabelwoodWarning, ModelError, ParameterError
from labelwood.taxonomy.hierarchy import Nodes
from taxonomy.hierarchies import (
    FOREST,
    consistent,
    dense_weights,
    labelled_forest,
    node_examples,
    on_line,
    seed_margin,
)

NAMES = FOREST.names


def kept_examples(model, X, node):
    """S (columns) of what a node keeps, where the store holds the rows of `X` in their order."""
    rows = model.support_rows_[node][: model.n_support_[node]]
    return X[rows].toarray().astype(np.float64).T, rows


def state(model):
    """Everything that was learned, comparable byte by byte."""
    parts = {}
    for name, value in sorted(vars(model).items()):
        if name.endswith("_"):
            arrays = value if isinstance(value, list) else [value]
            parts[name] = [np.asarray(array).tobytes() for array in arrays]
    return parts


@pytest.mark.parametrize("train", ["hierarchical", "independent"])
def test_fit_gives_the_weights_of_a_dense_solve(train):
    X, Y = labelled_forest(80, 12)
    model = HierarchicalRLSClassifier(FOREST, train=train, tol=1e-9).fit(X, Y)
    wanted = dense_weights(X, Y, FOREST, independent=train == "independent")
    np.testing.assert_allclose(model.coef_.toarray(), wanted, atol=1e-6)
    assert model.stop_reason_ == "tolerance met for every node"


def test_fit_is_exact_where_there_are_more_features_than_rows():
    X, Y = labelled_forest(60, 5)
    X = unit_rows(sp.hstack([X, random_csr(60, 300, density=0.05)], format="csr"))
    model = HierarchicalRLSClassifier(FOREST).fit(X, Y)
    np.testing.assert_allclose(model.coef_.toarray(), dense_weights(X, Y, FOREST), atol=2e-6)


def test_a_fit_that_meets_its_limit_says_so():
    X, Y = labelled_forest(80, 12)
    with pytest.warns(ConvergenceWarning, match="iteration limit for 7 nodes; raise max_iter"):
        model = HierarchicalRLSClassifier(FOREST, max_iter=2).fit(X, Y)
    assert model.n_iter_ == 2
    assert model.n_iter_labels_.tolist() == [2] * 7
    assert model.stop_reason_.startswith("iteration limit")


def test_a_fit_that_cannot_fit_into_memory_is_refused(monkeypatch):
    X, Y = labelled_forest(80, 12)
    monkeypatch.setattr("labelwood.core.memory.available_memory", lambda: 1000)
    with pytest.raises(MemoryError, match=r"solving the nodes needs .* learn by partial_fit"):
        HierarchicalRLSClassifier(FOREST).fit(X, Y)


def test_a_node_that_cannot_fit_into_memory_is_refused(monkeypatch):
    monkeypatch.setattr("labelwood.core.memory.available_memory", lambda: 1000)
    monkeypatch.setattr("labelwood.taxonomy.hierarchy.nodes._MEMORY_CHECK_BYTES", 1000)
    X, Y = labelled_forest(80, 12)
    with pytest.raises(MemoryError, match=r"A node with 32 examples needs .* set max_support"):
        HierarchicalRLSClassifier(FOREST).partial_fit(X, Y)


def test_more_nodes_than_are_solved_side_by_side():
    wide = Taxonomy(tuple(f"n{i}" for i in range(40)), np.array([-1, *[0] * 39]))
    X, Y = labelled_forest(50, 6, taxonomy=wide)
    model = HierarchicalRLSClassifier(wide, n_jobs=2).fit(X, Y)
    np.testing.assert_allclose(model.coef_.toarray(), dense_weights(X, Y, wide), atol=2e-6)


@pytest.mark.parametrize("train", ["hierarchical", "independent"])
def test_on_line_margins_are_those_of_figure_2_after_every_example(train):
    X, Y = labelled_forest(50, 8)
    model = HierarchicalRLSClassifier(FOREST, train=train)
    compared = 0
    for t in range(1, 50):
        model.partial_fit(X[t - 1 : t], Y[t - 1 : t])
        told = {one.label: one for one in model.explain(X[[t]])[0]}
        x = X[[t]].toarray().ravel().astype(np.float64)
        for node, one in told.items():
            S, v = node_examples(X[:t], Y[:t], FOREST, node, train == "independent")
            assert one.estimate == pytest.approx(seed_margin(S, v, x), abs=1e-6)
            compared += 1
        seen = dense_weights(X[:t], Y[:t], FOREST, train == "independent")
        np.testing.assert_allclose(model.coef_.toarray(), seen, atol=1e-6)
    assert compared > 50


def test_the_current_instance_shrinks_a_margin_and_keeps_its_sign():
    X, Y = labelled_forest(40, 8)
    model = HierarchicalRLSClassifier(FOREST).partial_fit(X[:30], Y[:30])
    for path in model.explain(X[30:]):
        for one in path:
            assert 0 < one.estimate < one.margin


def test_on_line_learning_ends_where_fit_does():
    X, Y = labelled_forest(300, 20)  # enough that pending terms are settled
    whole = HierarchicalRLSClassifier(FOREST, tol=1e-9).fit(X, Y)
    stream = HierarchicalRLSClassifier(FOREST).partial_fit(X, Y)
    np.testing.assert_allclose(stream.coef_.toarray(), whole.coef_.toarray(), atol=1e-6)
    assert stream.n_support_.tolist() == stream.n_seen_.tolist()


@settings(max_examples=10)
@given(st.integers(1, 70), st.integers(1, 2), st.sampled_from([None, 9]))
def test_batches_and_threads_make_no_difference(size, n_jobs, max_support):
    X, Y = labelled_forest(140, 6)
    options = {"store": "margin", "margin": 0.4, "max_support": max_support}
    whole = HierarchicalRLSClassifier(FOREST, **options).partial_fit(X, Y)
    parts = on_line(HierarchicalRLSClassifier(FOREST, n_jobs=n_jobs, **options), X, Y, size)
    assert state(parts) == state(whole)


def test_the_support_is_what_was_mistaken_or_had_a_small_margin():
    X, Y = labelled_forest(120, 6)
    model = HierarchicalRLSClassifier(FOREST, store="margin", margin=0.3).partial_fit(X, Y)
    for node in range(len(FOREST)):
        parent = FOREST.parent[node]
        seen = range(120) if parent < 0 else np.flatnonzero(Y.toarray()[:, parent])
        S, signs, kept = np.zeros((6, 0)), np.zeros(0), []
        for t in seen:
            x, v = X[[t]].toarray().ravel(), 2 * Y[t, node] - 1
            margin = np.linalg.solve(np.eye(6) + S @ S.T, S @ signs) @ x
            if margin * v <= 0 or abs(margin) <= 0.3:
                S, signs = np.column_stack([S, x]), np.append(signs, v)
                kept.append(int(t))
        assert model.support_rows_[node][: model.n_support_[node]].tolist() == kept
    assert 0 < model.n_support_.sum() < model.n_seen_.sum()


def test_a_full_support_loses_the_example_that_the_weights_need_least():
    X, Y = labelled_forest(200, 6)
    model = HierarchicalRLSClassifier(Taxonomy(("a",), [-1]), max_support=7)
    kept = []
    for t in range(200):
        model.partial_fit(X[[t]], Y[[t]][:, [1]])
        if len(kept) == 7:
            S = X[kept].toarray().astype(np.float64)
            signs = 2 * Y[kept][:, [1]].toarray().ravel() - 1
            alpha = np.linalg.solve(np.eye(7) + S @ S.T, signs)
            kept[np.argmin(np.abs(alpha))] = t
        else:
            kept.append(t)
        assert model.support_rows_[0][: len(kept)].tolist() == kept
    S = X[kept].toarray().astype(np.float64)
    alpha = np.linalg.solve(np.eye(7) + S @ S.T, 2 * Y[kept][:, [1]].toarray().ravel() - 1)
    np.testing.assert_allclose(model.support_alpha_[0][:7], alpha, atol=1e-9)


def test_the_inverse_stays_exact_over_thousands_of_examples_that_come_and_go():
    X, Y = labelled_forest(6000, 30)
    model = HierarchicalRLSClassifier(FOREST, max_support=50).partial_fit(X, Y)
    store = sp.csr_array(
        (model.support_data_, model.support_indices_.astype(np.int32), model.support_indptr_)
    ).toarray()
    for node in range(len(FOREST)):
        S = store[model.support_rows_[node][:50]].astype(np.float64)
        signs = model.support_alpha_[node][:50] + S @ (S.T @ model.support_alpha_[node][:50])
        np.testing.assert_allclose(np.abs(signs), 1, atol=1e-9)
        inverse = np.zeros((50, 50))
        inverse[np.tril_indices(50)] = model.support_inverse_[node][: 50 * 51 // 2]
        inverse += np.tril(inverse, -1).T
        n_pending = model.support_counts_[node, 1]
        pending = model.support_pending_[node][:n_pending, :50]
        inverse += pending.T * model.support_factors_[node][:n_pending] @ pending
        np.testing.assert_allclose(inverse @ (np.eye(50) + S @ S.T), np.eye(50), atol=1e-9)


def test_rows_that_no_node_keeps_are_dropped():
    X, Y = labelled_forest(5000, 6)
    model = HierarchicalRLSClassifier(FOREST, store="margin", margin=0.0, max_support=20)
    sizes = []
    for start in range(0, 5000, 100):
        model.partial_fit(X[start : start + 100], Y[start : start + 100])
        sizes.append(model.support_indptr_.size - 1)
    assert max(sizes) <= 2 * 7 * 20 + 1024 + 100
    assert model.model_size < 10**6


@pytest.mark.parametrize("stop", [1, 37, 100])
def test_learning_that_was_interrupted_goes_on_bit_by_bit(tmp_path, stop):
    X, Y = labelled_forest(160, 8)
    options = {"store": "margin", "margin": 0.5, "max_support": 25}
    straight = HierarchicalRLSClassifier(FOREST, **options).partial_fit(X[:stop], Y[:stop])
    labelwood.save(straight, tmp_path / "model")
    resumed = labelwood.load(tmp_path / "model")
    straight.partial_fit(X[stop:], Y[stop:])
    resumed.partial_fit(X[stop:], Y[stop:])
    assert state(resumed) == state(straight)
    scores = [one.decision_function(X) for one in (straight, resumed)]
    assert scores[0].data.tobytes() == scores[1].data.tobytes()
    assert scores[0].indices.tolist() == scores[1].indices.tolist()


def test_predictions_agree_with_the_forest_and_follow_the_margins_from_the_top():
    X, Y = labelled_forest(200, 8)
    model = HierarchicalRLSClassifier(FOREST).fit(X[:150], Y[:150])
    predicted = model.predict(X[150:])
    margins = X[150:].toarray() @ model.coef_.toarray()
    wanted = np.zeros(margins.shape)
    for node in FOREST.order:
        parent = FOREST.parent[node]
        wanted[:, node] = (margins[:, node] > 0) & (parent < 0 or wanted[:, parent] > 0)
    np.testing.assert_array_equal(predicted.toarray(), wanted)
    assert consistent(predicted, FOREST)
    assert 0 < predicted.nnz < 50 * 7


def test_scores_are_the_margins_of_the_labels_that_were_reached():
    X, Y = labelled_forest(200, 8)
    model = HierarchicalRLSClassifier(FOREST).fit(X[:150], Y[:150])
    scores, predicted = model.decision_function(X[150:]), model.predict(X[150:]).toarray()
    margins = X[150:].toarray() @ model.coef_.toarray()
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
    X, Y = labelled_forest(40, 4, seed=seed)
    top = HierarchicalRLSClassifier(FOREST).partial_fit(X, Y).predict_topk(X, 5)
    for labels, scores in zip(top.labels, top.scores, strict=True):
        found = labels[labels >= 0].tolist()
        for place, label in enumerate(found):
            assert FOREST.parent[label] < 0 or FOREST.parent[label] in found[:place]
        assert np.all(np.diff(scores[labels >= 0]) <= 0)


def test_the_score_of_a_label_is_the_product_along_its_path():
    X, Y = labelled_forest(60, 8)
    model = HierarchicalRLSClassifier(FOREST).fit(X, Y)
    margins = X.toarray() @ model.coef_.toarray()
    top = model.predict_topk(X, 7)
    for row in range(5):
        for label, score in zip(top.labels[row], top.scores[row], strict=True):
            path = [label, *FOREST.ancestors(label)]
            assert score == pytest.approx(np.prod(1 / (1 + np.exp(-2 * margins[row, path]))), 1e-5)


def test_intervals_are_those_of_the_lemmas_and_hold_after_fit_too():
    X, Y = labelled_forest(90, 8)
    X, asked = X[:60], X[60:]
    level = 0.8
    stream = HierarchicalRLSClassifier(FOREST, confidence=level).partial_fit(X, Y[:60])
    whole = HierarchicalRLSClassifier(FOREST, confidence=level, tol=1e-9).fit(X, Y[:60])
    told = 0
    for row, (path, other) in enumerate(
        zip(stream.explain(asked), whole.explain(asked), strict=True)
    ):
        x = asked[[row]].toarray().ravel().astype(np.float64)
        assert [one.label for one in path] == [one.label for one in other]
        for one, same in zip(path, other, strict=True):
            S, v = node_examples(X, Y[:60], FOREST, one.label)
            Z = S.T @ np.linalg.solve(np.eye(8) + S @ S.T + np.outer(x, x), x)
            wide = np.linalg.norm(Z) * np.sqrt(2 * np.log(2 / (1 - level)))
            assert one.estimate == pytest.approx(v @ Z, abs=1e-6)
            assert (one.low, one.high) == pytest.approx((v @ Z - wide, v @ Z + wide), abs=1e-6)
            A = np.eye(8) + S @ S.T
            away, r = np.linalg.solve(A, x), x @ np.linalg.solve(A, x)
            assert one.bias == pytest.approx((np.linalg.norm(away) + r) / (1 + r), abs=1e-6)
            assert one[3:] == pytest.approx(same[3:], abs=2e-3)
            assert one.predicted == (one.low > 0)
            told += 1
    assert told > 20


def test_intervals_after_fit_are_not_narrower_where_rows_are_nearly_alike():
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(840, 100)) * np.logspace(0, -2.5, 100) + 3 * np.eye(1, 100)
    X = unit_rows(sp.csr_array(dense.astype(np.float32)))
    Y, root = sp.csr_array((dense[:, 1:2] > 0).astype(np.float32)), Taxonomy(("r",), [-1])
    models = [HierarchicalRLSClassifier(root, confidence=0.5) for _ in range(2)]
    whole, stream = models[0].fit(X[:800], Y[:800]), models[1].partial_fit(X[:800], Y[:800])
    compared = 0
    for one, other in zip(whole.explain(X[800:]), stream.explain(X[800:]), strict=True):
        for mine, exact in zip(one, other, strict=True):
            width = (mine.high - mine.low) / (exact.high - exact.low)
            assert 1 - 1e-6 < width < 1.01
            compared += 1
    assert compared > 10


def test_confidence_backs_off_to_coarser_labels():
    X, Y = labelled_forest(400, 8)
    model = HierarchicalRLSClassifier(FOREST).partial_fit(X[:300], Y[:300])
    sure, surer = (model.set_params(confidence=c).predict(X[300:]) for c in (0.3, 0.9))
    bold = model.set_params(confidence=None).predict(X[300:])
    assert bold.nnz > sure.nnz > surer.nnz > 0
    assert (sure - bold).max() <= 0
    assert consistent(sure, FOREST)
    assert consistent(surer, FOREST)
    wrong = [(one - Y[300:] > 0).sum() / one.nnz for one in (bold, surer)]
    assert wrong[1] < wrong[0]


def test_confidence_needs_samples_for_intervals():
    X, Y = labelled_forest(60, 8)
    model = HierarchicalRLSClassifier(FOREST).fit(X, Y)
    assert all(one.low is None for path in model.explain(X) for one in path)
    with pytest.raises(DataError, match="kept no samples for intervals of margins; set confidence"):
        model.set_params(confidence=0.9).predict(X)


def test_an_explanation_shows_where_a_prediction_stopped():
    X, Y = labelled_forest(400, 8)
    names = [[NAMES[i] for i in row.nonzero()[0]] for row in Y.toarray()]
    model = HierarchicalRLSClassifier(FOREST, confidence=0.9).fit(X, names)
    predicted = model.predict(X)
    stopped = 0
    for row, path in enumerate(model.explain(X)):
        given = [NAMES.index(one.label) for one in path if one.predicted]
        assert sorted(given) == predicted[[row]].indices.tolist()
        for one in path:
            up = FOREST.parent[NAMES.index(one.label)]
            assert up < 0 or up in given
            stopped += not one.predicted
            assert one.predicted or one.margin > 0 >= one.low
    assert stopped > 0


def test_labels_are_matched_to_the_taxonomy_by_name_and_by_column():
    X, Y = labelled_forest(60, 8)
    by_name = [[NAMES[i] for i in row.nonzero()[0]] for row in Y.toarray()]
    shuffled = FOREST.align(sorted(NAMES))
    names = HierarchicalRLSClassifier(shuffled).fit(X, by_name)
    columns = HierarchicalRLSClassifier(FOREST).fit(X, Y)
    assert names.classes_.tolist() == sorted(NAMES)
    order = [sorted(NAMES).index(name) for name in NAMES]
    np.testing.assert_allclose(names.coef_.toarray()[:, order], columns.coef_.toarray(), atol=1e-6)


def test_nodes_without_examples_are_listed_and_never_predicted():
    X, Y = labelled_forest(60, 8)
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
    X, Y = labelled_forest(60, 8)
    flat = HierarchicalRLSClassifier().fit(X, Y)
    alone = HierarchicalRLSClassifier(FOREST, train="independent").fit(X, Y)
    assert (flat.parent_ == -1).all()
    np.testing.assert_array_equal(flat.coef_.toarray(), alone.coef_.toarray())


def test_a_label_set_against_the_taxonomy_is_refused_or_closed():
    X, _ = labelled_forest(2, 8)
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
    X, Y = labelled_forest(2, 8)
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
    X, Y = labelled_forest(60, 8)
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
    X, Y = labelled_forest(60, 8)
    zeros = sp.csr_array((np.zeros(8, dtype=np.float32), (np.zeros(8, int), range(8))), (1, 8))
    padded, labels = sp.vstack([zeros, X], format="csr"), sp.vstack([Y[[0]], Y], format="csr")
    with pytest.warns(LabelwoodWarning, match="^1 of 61 rows are empty and are skipped"):
        model = HierarchicalRLSClassifier(FOREST).partial_fit(padded, labels)
    plain = HierarchicalRLSClassifier(FOREST).partial_fit(X, Y)
    assert model.n_support_.tolist() == plain.n_support_.tolist()
    assert padded.nnz == X.nnz + 8


def test_rows_are_scaled_to_unit_length_which_is_said_once():
    X, Y = labelled_forest(60, 8)
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
    X, Y = labelled_forest(60, 8)
    model = HierarchicalRLSClassifier(FOREST).partial_fit(X[:30], Y[:30])
    before = state(model)
    broken = X[30:].copy()
    broken.data[9] = np.nan
    with pytest.raises(DataError, match=r"X contains NaN \(row 1, column 1\)"):
        model.partial_fit(broken, Y[30:])
    assert state(model) == before


def test_another_width_is_refused():
    X, Y = labelled_forest(60, 8)
    model = HierarchicalRLSClassifier(FOREST).partial_fit(X[:30], Y[:30])
    with pytest.raises(ValueError, match=r"X has 7 features, but .* is expecting 8 features"):
        model.partial_fit(X[30:, :7], Y[30:])


def test_another_taxonomy_is_refused():
    X, Y = labelled_forest(60, 8)
    other = Taxonomy(NAMES, np.where(FOREST.parent == NAMES.index("b"), 1, FOREST.parent))
    model = HierarchicalRLSClassifier(FOREST).partial_fit(X[:30], Y[:30])
    with pytest.raises(DataError, match="The taxonomy is not the one that learning began with"):
        model.set_params(taxonomy=other).partial_fit(X[30:], Y[30:])


@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
def test_a_taxonomy_that_changed_between_saving_and_loading_is_refused(tmp_path, learn):
    X, Y = labelled_forest(60, 8)
    model = getattr(HierarchicalRLSClassifier(FOREST), learn)(X, Y)
    model.taxonomy = Taxonomy(NAMES, np.where(FOREST.parent == NAMES.index("b"), 1, FOREST.parent))
    labelwood.save(model, tmp_path / "model")
    with pytest.raises(ModelError, match="the taxonomy is not the one of the fitted model"):
        labelwood.load(tmp_path / "model")


def _spoiled(part, value):
    def spoil(model):
        target = getattr(model, f"support_{part}_")
        if isinstance(target, list):
            target[1] = value(target[1])
        else:
            setattr(model, f"support_{part}_", value(target))

    return spoil


@pytest.mark.parametrize(
    "spoil",
    [
        _spoiled("rows", lambda rows: rows + 10**6),
        _spoiled("rows", lambda rows: rows.astype(np.float64)),
        _spoiled("inverse", lambda inverse: inverse[:-1]),
        _spoiled("pending", lambda pending: pending[:, :1]),
        _spoiled("alpha", lambda alpha: alpha[:1]),
        _spoiled("counts", lambda counts: counts + 1000),
        _spoiled("counts", lambda counts: -counts - 1),
        _spoiled("indices", lambda indices: indices + np.uint32(8)),
        _spoiled("indptr", lambda indptr: indptr[::-1].copy()),
        _spoiled("data", lambda data: data[:-1]),
        _spoiled("data", lambda data: data * np.float32(np.nan)),
        _spoiled("alpha", lambda alpha: alpha * np.nan),
        _spoiled("alpha", lambda alpha: alpha + 1e300),
        _spoiled("inverse", lambda inverse: inverse + np.inf),
        _spoiled("rows", lambda rows: rows * 0),
        _spoiled("counts", lambda counts: counts * np.array([1, 1, -1, -1, 1])),
        _spoiled("counts", lambda counts: counts + np.array([0, 0, 0, 0, 1000])),
        _spoiled("counts", lambda counts: counts[:, :3].copy()),
        lambda model: setattr(model, "n_positive_", model.n_positive_ * 0),
        lambda model: setattr(model, "train_", "else"),
    ],
)
def test_a_spoiled_support_is_refused_on_loading(tmp_path, spoil):
    X, Y = labelled_forest(60, 8)
    model = HierarchicalRLSClassifier(FOREST).partial_fit(X, Y)
    spoil(model)
    labelwood.save(model, tmp_path / "model")
    with pytest.raises(ModelError, match="not a valid labelwood model"):
        labelwood.load(tmp_path / "model")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_positive_", lambda counts: counts * np.array([1, 0, 1, 1, 1, 1, 1])),
        ("n_positive_", lambda counts: -counts),
        ("lane_labels_", lambda lanes: np.where(lanes >= 0, 0, lanes)),
        ("postings_weights_", lambda weights: weights * np.float32(np.nan)),
        ("example_labels_", lambda labels: labels[:, ::-1]),
    ],
)
def test_spoiled_weights_are_refused_on_loading(tmp_path, name, value):
    X, Y = labelled_forest(60, 8)
    model = HierarchicalRLSClassifier(FOREST, confidence=0.5).fit(X, Y)
    setattr(model, name, value(getattr(model, name)))
    labelwood.save(model, tmp_path / "model")
    with pytest.raises(ModelError, match="not a valid labelwood model"):
        labelwood.load(tmp_path / "model")


def test_a_model_with_intervals_is_loaded_as_it_was(tmp_path):
    X, Y = labelled_forest(60, 8)
    model = HierarchicalRLSClassifier(FOREST, confidence=0.5).fit(X, Y)
    labelwood.save(model, tmp_path / "model")
    assert labelwood.load(tmp_path / "model").explain(X) == model.explain(X)


def test_on_line_learning_after_a_fit_starts_from_scratch_with_a_warning():
    X, Y = labelled_forest(60, 8)
    model = HierarchicalRLSClassifier(FOREST).fit(X[:30], Y[:30])
    with pytest.warns(LabelwoodWarning, match=r"fit keeps no samples .* starts from scratch"):
        model.partial_fit(X[30:], Y[30:])
    assert state(model) == state(HierarchicalRLSClassifier(FOREST).partial_fit(X[30:], Y[30:]))
    model.fit(X[:30], Y[:30])
    assert state(model) == state(HierarchicalRLSClassifier(FOREST).fit(X[:30], Y[:30]))


@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
@pytest.mark.parametrize("bad", ["labels", "rows", "width"])
def test_a_fit_that_fails_leaves_the_model_as_it_was(learn, bad):
    X, Y = labelled_forest(60, 8)
    model = HierarchicalRLSClassifier(FOREST).fit(X, Y)
    before, predicted = state(model), model.predict(X).toarray()
    wrong = {"labels": (X, np.eye(60, 7)[:, ::-1]), "rows": (X[:5], Y), "width": (X[:, :0], Y)}
    again = pytest.warns(LabelwoodWarning) if learn == "partial_fit" else nullcontext()
    with again, pytest.raises(DataError, match=r"parents|rows|feature"):
        getattr(model, learn)(*wrong[bad])
    assert state(model) == before
    np.testing.assert_array_equal(model.predict(X).toarray(), predicted)


def test_a_fit_that_is_interrupted_leaves_what_was_learned_on_line(monkeypatch):
    X, Y = labelled_forest(60, 8)
    model = HierarchicalRLSClassifier(FOREST).partial_fit(X[:30], Y[:30])
    before = state(model)
    monkeypatch.setattr(
        "labelwood.taxonomy.hierarchical_rls.estimator.solve_nodes", lambda *_, **__: 1 / 0
    )
    with pytest.raises(ZeroDivisionError, match="division"):
        model.fit(X, Y)
    assert state(model) == before
    model.partial_fit(X[30:], Y[30:])
    assert model.n_seen_.max() == 60


def test_fit_warns_of_parameters_of_partial_fit_alone():
    X, Y = labelled_forest(60, 8)
    model = HierarchicalRLSClassifier(FOREST, store="margin", max_support=9)
    with pytest.warns(LabelwoodWarning, match="store, max_support are parameters of partial_fit alone"):
        model.fit(X, Y)
    with pytest.raises(ValueError, match="counts samples in partial_fit, which was not called"):
        _ = model.n_support_


def test_another_way_of_training_is_refused_midway():
    X, Y = labelled_forest(60, 8)
    model = HierarchicalRLSClassifier(FOREST).partial_fit(X, Y).set_params(train="independent")
    with pytest.raises(ParameterError, match="Learning began with train='hierarchical'"):
        model.partial_fit(X, Y)


def test_intervals_are_of_the_training_that_was():
    X, Y = labelled_forest(60, 8)
    model = HierarchicalRLSClassifier(FOREST, confidence=0.5).fit(X, Y)
    before = model.explain(X)
    assert model.set_params(train="independent").explain(X) == before


def test_nodes_called_by_numbers_are_the_columns_of_those_numbers():
    X, Y = labelled_forest(60, 8)
    numbered = Taxonomy(tuple(map(str, range(7))), FOREST.parent)
    turned = numbered.align([str(i) for i in (6, 2, 4, 0, 1, 5, 3)])
    model, same = (HierarchicalRLSClassifier(one).fit(X, Y) for one in (turned, numbered))
    assert model.parent_.tolist() == FOREST.parent.tolist()
    assert state(model) == state(same)


def test_a_dense_column_is_an_indicator_of_the_only_node():
    X, Y = labelled_forest(60, 8)
    column, root = Y[:, [1]], Taxonomy(("r",), [-1])
    dense = HierarchicalRLSClassifier(root).partial_fit(X[:30], column[:30].toarray())
    dense.partial_fit(X[30:], column[30:].toarray())
    assert state(dense) == state(HierarchicalRLSClassifier(root).partial_fit(X, column))


def test_classes_name_the_columns_of_an_indicator_and_must_be_nodes():
    X, Y = labelled_forest(60, 8)
    named = HierarchicalRLSClassifier().partial_fit(X, Y, classes=NAMES)
    assert named.classes_.tolist() == list(NAMES)
    along = HierarchicalRLSClassifier(FOREST).partial_fit(X, Y[:, ::-1], classes=NAMES[::-1])
    assert along.classes_.tolist() == list(NAMES[::-1])
    with pytest.raises(DataError, match="classes are not the nodes of the taxonomy"):
        HierarchicalRLSClassifier(FOREST).partial_fit(X, Y, classes=[*NAMES[1:], "owl"])


def test_a_cap_below_what_is_kept_is_refused():
    X, Y = labelled_forest(60, 8)
    model = HierarchicalRLSClassifier(FOREST).partial_fit(X, Y)
    with pytest.raises(ParameterError, match="keeps 60 samples already, more than max_support=10"):
        model.set_params(max_support=10).partial_fit(X, Y)


@pytest.mark.parametrize("seen", [5, 60, 150])  # pending terms are flushed, or are not
def test_an_interruption_leaves_the_model_as_it_was(monkeypatch, seen):
    X, Y = labelled_forest(300, 8)
    options = {"store": "margin", "margin": 0.5, "max_support": 40}
    model = HierarchicalRLSClassifier(FOREST, **options).partial_fit(X[:seen], Y[:seen])
    before = copy.deepcopy(model)
    learn = Nodes.learn

    def learn_and_stop(nodes, i, *rest):
        learn(nodes, i, *rest)
        if i == 0:  # the last of all: it has the fewest examples
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Nodes, "learn", learn_and_stop)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(X[seen:], Y[seen:])
    assert state(model) == state(before)
    model.partial_fit(X[seen:], Y[seen:])
    assert state(model) == state(before.partial_fit(X[seen:], Y[seen:]))


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("share", [0.02, 0.2, 0.5, 0.9])
def test_a_keyboard_interrupt_at_any_time_leaves_the_model_as_it_was(n_jobs, share):
    X, Y = labelled_forest(1500, 8)
    model = HierarchicalRLSClassifier(FOREST, n_jobs=n_jobs, max_support=150)
    model.partial_fit(X[:400], Y[:400])
    before = copy.deepcopy(model)
    start = time.perf_counter()
    copy.deepcopy(model).partial_fit(X[400:], Y[400:])
    whole = time.perf_counter() - start
    with pytest.raises(KeyboardInterrupt), interrupted_after(share * whole):
        while True:  # the machine may be quicker the second time
            copied = model.predict(X[:50])
            model.partial_fit(X[400:], Y[400:])
            before = copy.deepcopy(model)
    assert state(model) == state(before)
    if before.n_seen_.max() == 400:
        np.testing.assert_array_equal(model.predict(X[:50]).toarray(), copied.toarray())


@contextmanager
def interrupted_after(seconds):
    """A SIGINT, as Ctrl-C sends it, in the middle of the block."""
    timer = threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def test_a_first_call_that_is_interrupted_leaves_no_model(monkeypatch):
    X, Y = labelled_forest(60, 8)
    model = HierarchicalRLSClassifier(FOREST)
    learn = Nodes.learn
    monkeypatch.setattr(Nodes, "learn", lambda s, i, *rest: learn(s, i, *rest) if i else 1 / 0)
    with pytest.raises(ZeroDivisionError, match="division"):
        model.partial_fit(X, Y)
    with pytest.raises(ValueError, match="is not fitted yet"):
        model.predict(X)


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


@pytest.mark.shared
@pytest.mark.slow
def test_learning_from_newswire_goes_on_bit_by_bit_after_thousands(shared_data, tmp_path):
    folder = shared_data / "rcv1-15k-hier"
    data = labelwood.load_dataset(folder / "train.txt.xz")
    tree = Taxonomy.from_file(folder / "hierarchy.txt", columns="parent child")
    model = HierarchicalRLSClassifier(
        tree.align([str(label) for label in range(data.n_labels)]),
        store="margin",
        max_support=500,
        n_jobs=2,
    )
    model.partial_fit(data.X[:5000], data.Y[:5000])
    labelwood.save(model, tmp_path / "model")
    resumed = labelwood.load(tmp_path / "model").partial_fit(data.X[5000:7000], data.Y[5000:7000])
    assert state(resumed) == state(model.partial_fit(data.X[5000:7000], data.Y[5000:7000]))


@pytest.mark.shared
@pytest.mark.parametrize("name", ["imclef07a", "cellcycle_FUN", "enron_corr"])
@pytest.mark.parametrize("learner", ["hierarchicalrls", "hierarchicalperceptron"])
def test_real_taxonomies_are_trained_from_the_command_line(shared_data, tmp_path, name, learner):
    folder = shared_data / "hmc" / name
    tree = ["--taxonomy", str(folder / "hierarchy.txt"), "--parent-first"]
    data = [str(folder / "train.txt.xz"), *tree, "--learner", learner, "--quiet"]
    trained = CliRunner().invoke(app, ["train", *data, "-o", str(tmp_path / "model")])
    assert trained.exit_code == 0, trained.output
    tagger = labelwood.load(tmp_path / "model")
    test = labelwood.load_dataset(folder / "test.txt.xz")
    predicted = tagger.estimator_.predict(test.X)
    assert predicted.nnz > 0
    assert tagger.estimator_.taxonomy.is_closed(predicted)
    assert tagger.estimator_.parent_.max() >= 0


@pytest.fixture
def documents(tmp_path):
    """Features and a taxonomy as files, and the options of the command line that name them."""
    (tmp_path / "docs.txt").write_text("3 2 2\n0,1 0:1\n0 1:1\n 0:-1\n")
    (tmp_path / "tree.txt").write_text("1\t0\n0\t-1\n")
    return [str(tmp_path / "docs.txt"), "--taxonomy", str(tmp_path / "tree.txt")]


def run(*arguments):
    result = CliRunner().invoke(app, [str(one) for one in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_taxonomy_on_the_command_line_asks_for_a_learner_along_it(documents, tmp_path):
    told = run("train", *documents, "-o", tmp_path / "model")
    assert "taking HierarchicalRLSClassifier: there is a taxonomy" in told
    assert labelwood.load(tmp_path / "model").estimator_.parent_.tolist() == [-1, 0]
    told = run("train", *documents, "-o", tmp_path / "flat", "--learner", "onevsrest")
    assert "taking" not in told
    assert "OneVsRestSVM trained" in told


@pytest.fixture
def leaf_documents(tmp_path):
    """Documents that have leaves as labels, of a taxonomy with nodes above and beside them."""
    lines = [("an owl hoots", "owl"), ("an owl", "owl"), ("a cat purrs", "cat"), ("the rain", None)]
    documents = [{"text": text, "labels": [one] if one else []} for text, one in lines]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(one) + "\n" for one in documents))
    (tmp_path / "tree.tsv").write_text("owl\tbird\nbird\tanimal\ncat\tanimal\nfox\tanimal\n")
    tree = ["--taxonomy", str(tmp_path / "tree.tsv"), "--set", "text.min_df=1"]
    return [str(tmp_path / "docs.jsonl"), *tree, "-o", str(tmp_path / "model")]


def test_nodes_above_the_labels_become_labels_on_the_command_line(leaf_documents, tmp_path):
    run("train", *leaf_documents, "--set", "close_labels=true")
    tagger = labelwood.load(tmp_path / "model")
    assert tagger.label_names_.tolist() == ["cat", "owl", "animal", "bird"]
    assert tagger.label_counts_.tolist() == [1, 2, 3, 2]
    assert tagger.estimator_.parent_.tolist() == [2, 3, -1, 2]
    assert sorted(tagger.predict(["an owl hoots"])[0]) == ["animal", "bird", "owl"]
    told = run("predict", tmp_path / "model", leaf_documents[0], "-k", "3").splitlines()
    first = [one["label"] for one in json.loads(told[0])["labels"]]
    assert first == ["animal", "bird", "owl"]


def test_nodes_above_the_labels_are_not_left_out_silently(leaf_documents):
    with pytest.raises(LabelwoodWarning, match="2 of 5 nodes of the taxonomy are above"):
        run("train", *leaf_documents)


def test_a_file_with_parents_first_is_told_from_one_of_several_parents(leaf_documents, tmp_path):
    lines = "bird owl\nbird hen\nanimal cat\nanimal bird\n"
    (tmp_path / "tree.tsv").write_text(lines)
    with pytest.raises(DataError, match=r"two parents.*--parent-first.*; multiple_parents="):
        Taxonomy.from_file(tmp_path / "tree.tsv")
    assert len(Taxonomy.from_file(tmp_path / "tree.tsv", columns="parent child")) == 5


def test_info_shows_the_taxonomy_of_a_model(documents, tmp_path):
    run("train", *documents, "-o", tmp_path / "model")
    told = json.loads(run("info", tmp_path / "model", "--json"))
    assert told["parameters"]["taxonomy"] == "Taxonomy(2 nodes, 1 root, 1 leaf, depth 1)"
    assert told["parameters"]["margin"] == 0.2


def test_the_module_tree_of_a_corpus_is_trained_from_the_command_line(tmp_path):
    corpus = labelwood.pydocs(["joblib"], labels="modules")
    labelwood.save_dataset(corpus, tmp_path / "docs.jsonl")
    corpus.taxonomy.to_file(tmp_path / "tree.tsv")
    files = [tmp_path / "docs.jsonl", "--taxonomy", tmp_path / "tree.tsv"]
    run("train", *files, "-o", tmp_path / "model", "--quiet")
    tagger = labelwood.load(tmp_path / "model")
    predicted = tagger.estimator_.predict(tagger.features(corpus))
    assert labelwood.metrics.any_wrong_loss(corpus.Y, predicted, tagger.estimator_.taxonomy) < 0.3
    assert tagger.estimator_.taxonomy.is_closed(predicted)


def test_the_command_line_wants_a_taxonomy_that_knows_the_labels(tmp_path):
    (tmp_path / "docs.txt").write_text("2 2 2\n0,1 0:1\n1 1:1\n")
    (tmp_path / "tree.txt").write_text("0\t1\n")
    (tmp_path / "names.txt").write_text("owl\nbird\n")
    train = ["train", str(tmp_path / "docs.txt"), "--learner", "hierarchicalrls", "-o", "m"]
    with pytest.raises(ParameterError, match="goes by a taxonomy; give --taxonomy FILE"):
        CliRunner().invoke(app, train, catch_exceptions=False)
    train += [
        "--taxonomy",
        str(tmp_path / "tree.txt"),
        "--label-names",
        str(tmp_path / "names.txt"),
    ]
    with pytest.raises(LabelwoodWarning, match="2 of 2 labels are no nodes of the taxonomy"):
        CliRunner().invoke(app, train, catch_exceptions=False)
