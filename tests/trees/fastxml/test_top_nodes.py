import pickle

import numpy as np
import pytest

import labelwood
from builders import random_csr, random_labels, state
from labelwood import FastXMLClassifier, PfastreXMLClassifier
from labelwood.core.sparse import csr_arrays
from labelwood.trees.fastxml import top_nodes
from labelwood.trees.fastxml.arrays import Forest
from labelwood.trees.fastxml.top_nodes import TopNodes, record
from labelwood.trees.fastxml.top_nodes._kernels import score_tops, transpose_tops

KINDS = pytest.mark.parametrize("kind", [FastXMLClassifier, PfastreXMLClassifier])


@pytest.fixture(scope="module")
def data():
    return random_csr(900, 400, density=0.2, seed=5), random_labels(900, 30, seed=5)


@pytest.fixture(scope="module")
def models(data):
    return {
        kind: kind(n_trees=6, max_leaf_samples=20, random_state=0).fit(*data)
        for kind in (FastXMLClassifier, PfastreXMLClassifier)
    }


@pytest.fixture(scope="module")
def forest(models):
    return models[FastXMLClassifier]._forest()


def dense_weights(forest, n_features):
    dense = np.zeros((forest.right.size, n_features))
    owner = np.repeat(np.arange(forest.right.size), np.diff(forest.weight_indptr))
    dense[owner, forest.features] = forest.weights
    return dense


def test_nodes_near_the_roots_are_scored_by_the_dense_formula(forest, data):
    X = data[0]
    tops = TopNodes(*transpose_tops(forest, X.shape[1]))
    chosen = np.flatnonzero(tops.numbers >= 0)
    assert 0 < tops.n_tops == chosen.size < np.count_nonzero(forest.right >= 0)
    assert set(forest.roots.tolist()) <= set(chosen.tolist())
    assert tops.numbers[chosen].tolist() == list(range(tops.n_tops))
    wanted = X[:4].toarray() @ dense_weights(forest, X.shape[1])[chosen].T
    for row in range(4):
        scores = np.full(tops.n_tops, np.nan)
        assert score_tops(csr_arrays(X), row, tops._replace(reads=1e9), scores)
        np.testing.assert_allclose(scores, wanted[row], atol=1e-9)


def test_a_row_that_would_read_more_than_on_its_way_does_without(forest, data):
    X = data[0]
    tops = TopNodes(*transpose_tops(forest, X.shape[1]))
    reads = sum(tops.indptr[f + 1] - tops.indptr[f] for f in X[[0]].indices)
    scores = np.empty(tops.n_tops)
    assert score_tops(csr_arrays(X), 0, tops._replace(reads=float(reads)), scores)
    assert not score_tops(csr_arrays(X), 0, tops._replace(reads=reads - 1.0), scores)


@KINDS
def test_first_and_later_answers_to_a_row_are_those_among_others(kind, models, data, tmp_path):
    X, model = data[0], models[kind]
    labelwood.save(model, tmp_path / "model")
    together, scores = model.predict_topk(X, 5), model.decision_function(X)
    for one in (model, labelwood.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        for row in (0, 0, 0, 17, 899):
            alone = one.predict_topk(X[[row]], 5)
            assert alone.labels.tobytes() == together.labels[[row]].tobytes()
            assert alone.scores.tobytes() == together.scores[[row]].tobytes()
            assert one.decision_function(X[[row]]).data.tobytes() == scores[[row]].data.tobytes()
        assert one._kept_top_nodes._tops.made is not None


def test_top_nodes_are_made_only_while_memory_suffices(monkeypatch, forest, data):
    kept = top_nodes.TopNodesOf(forest, data[0].shape[1])
    monkeypatch.setattr(record, "available_memory", lambda: 1000)
    assert all(kept.for_rows(1) is top_nodes.NO_TOP_NODES for _ in range(3))
    monkeypatch.setattr(record, "available_memory", lambda: 10**9)
    assert kept.for_rows(1).n_tops > 0


def test_a_few_rows_are_scored_as_many_are(models, data):
    X, model = data[0], models[FastXMLClassifier]
    for _ in range(2):
        few = model.predict_topk(X[: top_nodes.FEW_ROWS], 5)
    many = model.predict_topk(X, 5).labels[: top_nodes.FEW_ROWS]
    np.testing.assert_array_equal(few.labels, many)


def test_weights_that_were_replaced_by_hand_are_those_that_count(data):
    X, Y = data
    model = FastXMLClassifier(n_trees=3, random_state=0).fit(X, Y)
    for _ in range(3):
        model.predict_topk(X[:1], 3)
    model.weights_ = -model.weights_
    wanted = model.predict_topk(X, 3)
    for _ in range(3):
        found = model.predict_topk(X[:1], 3)
        assert found.labels.tobytes() == wanted.labels[:1].tobytes()


def test_trees_that_cannot_be_added_leave_the_model_as_it_was(monkeypatch, data):
    X, Y = data
    model = FastXMLClassifier(n_trees=2, random_state=0).fit(X, Y)
    before = state(model)

    def out_of_memory(*_):
        raise MemoryError("no place for the leaves")

    monkeypatch.setattr(Forest, "leaves", out_of_memory)
    with pytest.raises(MemoryError, match="no place for the leaves"):
        model.add_trees(X, Y, 1)
    assert state(model) == before


def test_added_trees_have_top_nodes_of_their_own(data):
    X, Y = data
    model = FastXMLClassifier(n_trees=2, random_state=0).fit(X, Y)
    for _ in range(3):
        model.predict_topk(X[:1], 3)
    model.add_trees(X, Y, 2)
    wanted = FastXMLClassifier(n_trees=4, random_state=0).fit(X, Y).predict_topk(X, 3)
    for _ in range(3):
        found = model.predict_topk(X[:1], 3)
        assert found.scores.tobytes() == wanted.scores[:1].tobytes()
