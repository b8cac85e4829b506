"""Predict, then learn: against the exact learner, with labels that appear, and under drift."""

import numpy as np
import pytest

from labelwood import HierarchicalRLSClassifier, Taxonomy
from labelwood.errors import DataError, ParameterError
from labelwood.taxonomy.stream import TaxonomyStream

TREE = Taxonomy.from_edges([("a", "b"), ("a", "c"), ("b", "d")])


@pytest.fixture(scope="module")
def documents() -> tuple[np.ndarray, np.ndarray, list[list[str]]]:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 5))
    wishes = X @ rng.normal(size=(5, 4)) > -0.3
    Y = np.zeros((80, 4), dtype=int)
    for node, above in enumerate(TREE.parent.tolist()):
        Y[:, node] = wishes[:, node] & (above < 0 or Y[:, above] > 0)
    return X, Y, [[TREE.names[i] for i in np.flatnonzero(row)] for row in Y]


def test_predictions_and_weights_are_those_of_the_dual_learner(
    documents: tuple[np.ndarray, np.ndarray, list[list[str]]],
) -> None:
    X, Y, names = documents
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    stream, exact = TaxonomyStream(5, TREE), HierarchicalRLSClassifier(TREE)
    answers, wrong = [], 0
    for at in range(60):
        answers += stream.predict_then_learn(X[at : at + 1], names[at : at + 1])
        if at:
            expected = exact.predict(unit[at : at + 1]).toarray()[0]
            found = [TREE.names.index(name) for name in answers[-1]]
            assert sorted(found) == np.flatnonzero(expected).tolist()
        wrong += sorted(answers[-1]) != sorted(names[at])
        exact.partial_fit(unit[at : at + 1], Y[at : at + 1])
    assert stream.prequential_error == wrong / 60
    order = [stream.names.index(name) for name in TREE.names]
    np.testing.assert_allclose(stream._arrays.weights[order], exact.coef_.toarray(), atol=1e-5)
    # How the stream is cut into batches makes no difference.
    whole = TaxonomyStream(5, TREE)
    assert whole.predict_then_learn(X[:60], names[:60]) == answers
    assert whole.n_wrong == stream.n_wrong


def test_decay_solves_least_squares_with_older_examples_weighted_less() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(30, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    signs = rng.choice([-1.0, 1.0], 30)
    stream = TaxonomyStream(3, decay=0.9)
    stream.add_label("a")
    stream.predict_then_learn(X, [["a"] if sign > 0 else [] for sign in signs])
    ages = 0.9 ** np.arange(29, -1, -1)
    A = 0.9**30 * np.eye(3) + (X * ages[:, None]).T @ X
    expected = np.linalg.solve(A, (ages * signs) @ X)
    np.testing.assert_allclose(stream._arrays.weights[0], expected, atol=1e-4)


@pytest.mark.parametrize("decay", [1.0, 0.9])
def test_with_one_feature_the_diagonal_is_the_whole_matrix(decay: float) -> None:
    rng = np.random.default_rng(4)
    X = rng.choice([-1.0, 1.0], size=(30, 1))  # rows of unit length, as the stream makes them
    labels = [["a"] if one else [] for one in rng.random(30) < 0.5]
    stream = TaxonomyStream(1, decay=decay, inverse="diagonal")
    stream.add_label("a")
    stream.predict_then_learn(X, labels)
    A, weight = 1.0, 0.0
    for x, names in zip(X[:, 0].tolist(), labels, strict=True):
        A = max(decay * A, 1.0) + x * x  # the share of I never decays here
        weight += ((1 if names else -1) - weight * x) * x / A
    assert stream._arrays.weights[0, 0] == pytest.approx(weight, rel=1e-6)


def test_a_stream_that_forgets_recovers_from_drift() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3000, 4))
    u = np.array([1.0, -1, 0.5, 0])
    truth = np.where(np.arange(3000) < 1500, X @ u > 0, X @ u < 0)  # turns at half time
    labels = [["a"] if one else [] for one in truth]
    errors = {}
    for decay in (1.0, 0.98):
        stream = TaxonomyStream(4, decay=decay, window=500)
        stream.predict_then_learn(X, labels)
        errors[decay] = stream.recent_error
    assert errors[0.98] < 0.1 < 0.3 < errors[1.0]


@pytest.mark.parametrize("inverse", ["full", "diagonal"])
def test_labels_that_appear_in_mid_stream_are_learned(inverse: str) -> None:
    stream = TaxonomyStream(3, TREE, inverse=inverse)
    for _ in range(5):
        stream.predict_then_learn([[1, 0, 0], [0, 1, 0]], [["b"], ["c"]])
    before = stream.predict_then_learn([[0, 0, 1]], [["new"]])
    assert "new" not in before[0]
    assert stream.names[-1] == "new"
    stream.add_label("below", parent="new")
    for _ in range(5):
        stream.predict_then_learn([[0, 0, 1], [1, 0, 0]], [["below"], ["b"]])
    assert stream.predict_then_learn([[0, 0, 1]], [["below"]]) == [["new", "below"]]
    assert stream.predict_then_learn([[1, 0, 0]], [["b"]]) == [["a", "b"]]


def test_bad_input_of_a_stream_is_refused() -> None:
    stream = TaxonomyStream(2, TREE)
    with pytest.raises(DataError, match="not a label of the stream"):
        stream.add_label("x", parent="nowhere")
    with pytest.raises(DataError, match="already"):
        stream.add_label("a")
    with pytest.raises(DataError, match="2 rows and y 1"):
        stream.predict_then_learn([[1, 0], [0, 1]], [["a"]])
    with pytest.raises(DataError, match="list of names for each document"):
        stream.predict_then_learn([[1, 0]], ["a"])
    with pytest.raises(ParameterError, match="'decay'"):
        TaxonomyStream(2, decay=0)
    graph = Taxonomy.from_edges([("a", "c"), ("b", "c")], parents="any")
    with pytest.raises(DataError, match="several parents"):
        TaxonomyStream(2, graph)
    assert np.isnan(stream.prequential_error)
