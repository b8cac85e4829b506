"""Least squares along a taxonomy with several parents."""

import numpy as np
import pytest
import scipy.sparse as sp

import labelwood
from labelwood import HierarchicalRLSClassifier, Taxonomy
from labelwood.errors import DataError
from labelwood.taxonomy.hierarchy import TrainingSets
from labelwood.taxonomy.hierarchy.decisions import Forest

EDGES = [("a", "c"), ("b", "c"), ("c", "d"), ("b", "d")]
NAMES = ("a", "b", "c", "d")
PARENTS = [[], [], [0, 1], [2, 1]]


def data(rule: str, n: int = 60) -> tuple[np.ndarray, np.ndarray, Taxonomy]:
    """Unit rows, labels that follow the rule, and the graph."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 6))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    wishes = X @ rng.normal(size=(6, 4)) > -0.2
    Y = np.zeros((n, 4), dtype=int)
    needs = np.any if rule == "any" else np.all
    for node, above in enumerate(PARENTS):
        Y[:, node] = wishes[:, node] & (needs(Y[:, above] > 0, axis=1) if above else True)
    return X, Y, Taxonomy.from_edges(EDGES, NAMES, parents=rule)


@pytest.mark.parametrize("rule", ["any", "all"])
def test_a_node_learns_where_its_parents_allow_it_and_solves_least_squares_there(
    rule: str,
) -> None:
    X, Y, dag = data(rule)
    model = HierarchicalRLSClassifier(dag, tol=1e-10).fit(X, Y)
    online = HierarchicalRLSClassifier(dag)
    for rows in (slice(0, 25), slice(25, None)):
        online.partial_fit(X[rows], Y[rows])
    needs = np.any if rule == "any" else np.all
    for node, above in enumerate(PARENTS):
        rows = needs(Y[:, above] > 0, axis=1) if above else np.ones(len(X), dtype=bool)
        S, v = X[rows], 2.0 * Y[rows, node] - 1
        expected = np.linalg.solve(np.eye(6) + S.T @ S, S.T @ v)
        np.testing.assert_allclose(model.coef_.toarray()[node], expected, atol=1e-5)
        np.testing.assert_allclose(online.coef_.toarray()[node], expected, atol=1e-5)
        assert online.n_seen_[node] == rows.sum()


@pytest.mark.parametrize("rule", ["any", "all"])
def test_predictions_follow_the_rule_and_survive_the_disk(rule: str, tmp_path: object) -> None:
    X, Y, dag = data(rule)
    model = HierarchicalRLSClassifier(dag).fit(X, Y)
    labelwood.save(model, tmp_path / "model")  # type: ignore[operator]
    again = labelwood.load(tmp_path / "model")  # type: ignore[operator]
    found = model.predict(X).toarray()
    np.testing.assert_array_equal(again.predict(X).toarray(), found)
    assert dag.is_closed(found)
    margins = X @ model.coef_.toarray().T
    needs = np.any if rule == "any" else np.all
    expected = np.zeros_like(found)
    for node, above in enumerate(PARENTS):
        allowed = needs(expected[:, above] > 0, axis=1) if above else True
        expected[:, node] = (margins[:, node] > 0) & allowed
    np.testing.assert_array_equal(found, expected)
    steps = 1 / (1 + np.exp(-2 * margins))
    scores = np.ones_like(steps)
    for node, above in enumerate(PARENTS):
        best = (np.max if rule == "any" else np.min)(scores[:, above], axis=1) if above else 1
        scores[:, node] = steps[:, node] * best
    top = model.predict_topk(X, 4)
    np.testing.assert_allclose(top.scores, -np.sort(-scores, axis=1), atol=1e-6)


def test_intervals_are_those_of_the_rows_that_a_node_learned_from() -> None:
    X, Y, dag = data("any")
    batch = HierarchicalRLSClassifier(dag, confidence=0.9).fit(X, Y)
    online = HierarchicalRLSClassifier(dag, confidence=0.9).partial_fit(X, Y)
    for ours, theirs in zip(batch.explain(X[:8]), online.explain(X[:8]), strict=True):
        assert [one.label for one in ours] == [one.label for one in theirs]
        for one, other in zip(ours, theirs, strict=True):
            assert one.low == pytest.approx(other.low, abs=1e-4)


def test_a_changed_graph_is_not_the_one_that_learning_began_with() -> None:
    X, Y, dag = data("any")
    model = HierarchicalRLSClassifier(dag).partial_fit(X, Y)
    fewer = Taxonomy.from_edges(EDGES[:-1], NAMES, parents="any")
    with pytest.raises(DataError, match="not the one that learning began with"):
        model.set_params(taxonomy=fewer).partial_fit(X, Y)
    with pytest.raises(DataError, match="labels without their parents"):
        model.set_params(taxonomy=dag).partial_fit(X[:1], np.array([[0, 0, 1, 0]]))


def test_a_graph_of_single_parents_is_the_forest() -> None:
    parent = np.array([-1, 0, 0, 1], dtype=np.int32)
    names = ("a", "b", "c", "d")
    sets = Taxonomy.from_edges([("a", "b"), ("a", "c"), ("b", "d")], names, parents="any")
    margins = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32)
    one, other = Forest(parent), Forest(parent, sets.parent_sets)
    np.testing.assert_array_equal(one.predicted(margins), other.predicted(margins))
    np.testing.assert_array_equal(one.path_scores(margins), other.path_scores(margins))
    Y = sp.csr_array(sets.close(np.eye(4)))
    for node in range(4):
        rows = [
            TrainingSets(Y, parent, independent=False, sets=given).of_node(node).tolist()
            for given in (None, sets.parent_sets)
        ]
        assert rows[0] == rows[1]
