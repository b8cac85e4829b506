import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import cosine_similarity

from builders import random_csr, random_labels, separable
from labelwood import GraphLaplacianClassifier
from labelwood.errors import DataError, ParameterError
from labelwood.kernels.graph.neighbors import CosineIndex
from labelwood.kernels.graph.transduction import make_system, solve_labels


def random_graph(m=60, degree=4, seed=0):
    rng = np.random.default_rng(seed)
    rows, columns = np.repeat(np.arange(m), degree), rng.integers(0, m, m * degree)
    kept = rows != columns
    W = sp.csr_array((rng.random(kept.sum()) + 0.1, (rows[kept], columns[kept])), shape=(m, m))
    return sp.csr_array(W.maximum(W.T))


def dense_scores(W, labeled, Y, *, alpha, decay, normalized):
    """(J + α(L + εD))⁻¹ by plain matrix algebra."""
    A = W.toarray()
    d = A.sum(axis=1)
    if normalized:
        scale = np.where(d > 0, 1 / np.sqrt(np.where(d > 0, d, 1)), 0)
        A = scale[:, None] * A * scale
        d = (d > 0).astype(float)
    system = alpha * ((1 + decay) * np.diag(d) - A)
    system[labeled, labeled] += 1
    b = np.zeros((W.shape[0], Y.shape[1] + 1))
    b[labeled] = np.column_stack([Y, np.ones(labeled.size)])
    f = np.linalg.solve(system, b)
    return f[:, :-1] / f[:, -1:]


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("decay", [0.0, 0.15])
def test_conjugate_gradient_is_a_dense_solve(normalized, decay):
    W, labeled = random_graph(), np.arange(0, 60, 4)
    Y = random_labels(15, 37)
    settings = {"alpha": 0.7, "decay": decay, "normalized": normalized}
    system = make_system(W, labeled, **settings)
    found = solve_labels(system, labeled, Y, tol=1e-11, max_iter=1000, least=-np.inf, n_jobs=1)
    expected = dense_scores(W, labeled, Y.toarray(), **settings)
    np.testing.assert_allclose(found.scores.toarray(), expected, atol=2e-7)
    assert found.converged


def test_scores_are_shares_between_zero_and_one():
    X, Y = separable(200, 6)
    model = GraphLaplacianClassifier().fit(X[:60], Y[:60], X_unlabeled=X[60:])
    assert 0 <= model.transduction_.data.min() <= model.transduction_.data.max() <= 1
    assert model.transduction_.shape == (200, 6)


@pytest.mark.parametrize("k", [1, 4, 30])
@pytest.mark.parametrize("density", [0.02, 0.3])
def test_cosine_neighbors_are_those_of_brute_force(k, density):
    X = random_csr(150, 80, density=density, seed=3)
    X = sp.csr_array(X.multiply(np.random.default_rng(0).random(80) + 0.05), dtype=np.float32)
    similarity = cosine_similarity(sp.csr_matrix(X))
    np.fill_diagonal(similarity, -1)
    neighbors, cosines = CosineIndex.of(X).topk(X, k, same=True, n_jobs=2)
    expected = np.maximum(-np.sort(-similarity, axis=1)[:, :k], 0)
    np.testing.assert_allclose(cosines, expected, atol=2e-6)
    found = neighbors >= 0
    assert (found == (expected > 1e-7)).all()
    rows = np.nonzero(found)[0]
    np.testing.assert_allclose(similarity[rows, neighbors[found]], cosines[found], atol=2e-6)


def test_postings_of_frequent_features_may_be_left_unread_and_nothing_is_missed():
    # Frequent features of little weight, as words have them: bounds exclude most rows.
    rng = np.random.default_rng(5)
    n, common, rare = 3000, 60, 2000
    frequent = (rng.random((n, common)) < 0.8) * rng.random((n, common)) * 0.1
    X = sp.hstack([sp.csr_array(frequent), random_csr(n, rare, density=0.01, seed=6)], format="csr")
    X = sp.csr_array(X, dtype=np.float32)
    neighbors, cosines = CosineIndex.of(X).topk(X[:50], 5)
    similarity = cosine_similarity(sp.csr_matrix(X[:50]), sp.csr_matrix(X))
    np.testing.assert_allclose(cosines, -np.sort(-similarity, axis=1)[:, :5], atol=2e-6)
    assert (neighbors[:, 0] == np.arange(50)).all()


def test_negative_values_have_cosines_too():
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.normal(size=(50, 10)) * (rng.random((50, 10)) < 0.4), dtype=np.float32)
    similarity = cosine_similarity(sp.csr_matrix(X))
    np.fill_diagonal(similarity, -1)
    _, cosines = CosineIndex.of(X).topk(X, 3, same=True)
    np.testing.assert_allclose(cosines, np.maximum(-np.sort(-similarity)[:, :3], 0), atol=2e-6)


def test_components_without_a_label_get_no_answer_and_are_listed():
    W = np.zeros((7, 7))
    for i, j in ((0, 1), (1, 2), (3, 4)):
        W[i, j] = W[j, i] = 1
    Y = sp.csr_array(np.eye(7, 2, dtype=np.float32)[[0, 6, 1, 6, 6, 6, 6]])
    model = GraphLaplacianClassifier(metric="precomputed").fit(sp.csr_array(W), Y)
    assert model.labeled_.tolist() == [0, 2]
    assert model.unanswered_.tolist() == [3, 4, 5, 6]
    assert model.n_components_ == 4
    assert np.diff(model.transduction_.indptr).tolist() == [2, 2, 2, 0, 0, 0, 0]
    assert model.transduced_topk(1).labels.ravel().tolist()[3:] == [-1] * 4
    assert model.transduced_labels()[[1]].toarray().tolist() == [[1, 1]]  # half way
    assert np.isfinite(model.transduction_.data).all()


def test_a_class_for_a_sample_without_an_answer_is_refused():
    X = sp.csr_array(np.eye(4, dtype=np.float32)[[0, 0, 1, 1]])
    model = GraphLaplacianClassifier(n_neighbors=1, metric="cosine").fit(
        X[[0, 2]], ["a", "b"], X_unlabeled=X[[1, 3]]
    )
    assert model.predict(X).tolist() == ["a", "a", "b", "b"]
    stranger = sp.csr_array(np.eye(4, dtype=np.float32)[[3, 0]])
    with pytest.raises(DataError, match=r"1 of 2 samples have no answer \(row 0"):
        model.predict(stranger)
    assert model.predict_topk(stranger, 1).labels.ravel().tolist() == [-1, 0]


def test_a_new_sample_gets_the_weighted_mean_of_its_neighbors():
    W = random_graph(30)
    Y = sp.csr_array(random_labels(30, 3, per_point=1.5))
    model = GraphLaplacianClassifier(metric="precomputed", normalized=False, decay=0).fit(W, Y)
    new = sp.csr_array((np.array([2.0, 1.0]), ([0, 0], [4, 9])), shape=(1, 30))
    scores = model.transduction_.toarray()
    # Without decay every node has mass 1, so that only the weights count.
    np.testing.assert_allclose(model.mass_, 1, rtol=1e-4)
    np.testing.assert_allclose(
        model.decision_function(new).toarray()[0], (2 * scores[4] + scores[9]) / 3, atol=1e-4
    )


def test_rows_named_as_labeled_count_without_a_label():
    W = random_graph(30)
    Y = sp.csr_array(random_labels(30, 3))
    rows = np.arange(10)
    model = GraphLaplacianClassifier(metric="precomputed").fit(W, Y, labeled=rows)
    assert model.labeled_.tolist() == rows.tolist()
    mask = np.zeros(30, dtype=bool)
    mask[:10] = True
    again = GraphLaplacianClassifier(metric="precomputed").fit(W, Y, labeled=mask)
    assert (again.transduction_ != model.transduction_).nnz == 0


def test_tables_are_joined_by_distance_and_text_by_cosine():
    rng = np.random.default_rng(0)
    table = np.concatenate([rng.normal(size=(40, 2)), rng.normal(size=(40, 2)) + 6])
    y = np.repeat(["low", "high"], 40)
    few = [0, 79]
    rest = np.setdiff1d(np.arange(80), few)
    for weights in ("similarity", "uniform"):
        model = GraphLaplacianClassifier(weights=weights, n_neighbors=8)
        model.fit(table[few], y[few], X_unlabeled=table[rest])
        assert model.metric_ == "euclidean"
        names = [row[0] for row in model.transduced_topk(1).names()[2:]]
        assert (np.array(names) == y[rest]).all()
    X, Y = separable(60, 5)
    assert GraphLaplacianClassifier().fit(X, Y).metric_ == "cosine"


# Bad input


def test_negative_weights_are_refused_with_their_place():
    W = random_graph(10).toarray()
    W[3, 7] = W[7, 3] = -0.5
    with pytest.raises(DataError, match=r"not be negative. Got -0\.5 between nodes 3 and 7"):
        GraphLaplacianClassifier(metric="precomputed").fit(sp.csr_array(W), np.eye(10))


def test_an_asymmetric_graph_is_refused_with_a_remedy():
    W = random_graph(10).toarray()
    W[3, 7] += 1
    with pytest.raises(DataError, match=r"nodes 3 and 7 differ; give graph\.maximum"):
        GraphLaplacianClassifier(metric="precomputed").fit(sp.csr_array(W), np.eye(10))


def test_no_labeled_sample_is_refused():
    X, Y = separable(20, 3)
    with pytest.raises(DataError, match="No sample is labeled"):
        GraphLaplacianClassifier().fit(X, sp.csr_array(Y.shape, dtype=np.float32))
    with pytest.raises(DataError, match="No sample is labeled"):
        GraphLaplacianClassifier().fit(X, Y, labeled=[])


def test_one_class_is_refused():
    with pytest.raises(DataError, match="y holds one class and two are needed"):
        GraphLaplacianClassifier().fit(np.eye(4), ["a"] * 4)


def test_rows_that_do_not_exist_are_refused():
    X, Y = separable(20, 3)
    with pytest.raises(DataError, match=r"labeled must be numbers in 0…19"):
        GraphLaplacianClassifier().fit(X, Y, labeled=[20])


def test_a_graph_that_is_not_square_is_refused():
    with pytest.raises(DataError, match=r"square matrix of weights. Got shape \(10, 8\)"):
        GraphLaplacianClassifier(metric="precomputed").fit(np.ones((10, 8)), np.eye(10))


@pytest.mark.parametrize(("name", "value"), [("alpha", 0), ("decay", -1), ("n_neighbors", 0)])
def test_parameters_are_checked(name, value):
    X, Y = separable(20, 3)
    with pytest.raises(ParameterError, match=f"The '{name}' parameter of GraphLaplacian"):
        GraphLaplacianClassifier(**{name: value}).fit(X, Y)


def test_damaged_models_are_refused():
    X, Y = separable(30, 3)
    model = GraphLaplacianClassifier().fit(X, Y)
    model.X_fit_ = model.X_fit_[:-1]
    with pytest.raises(DataError, match="samples of the nodes"):
        model._check_fitted()


def test_a_stored_metric_that_does_not_exist_is_refused():
    X, y = np.random.default_rng(0).random((20, 3)), np.arange(20) % 2
    model = GraphLaplacianClassifier(metric="euclidean", n_neighbors=3).fit(X, y)
    model.metric_ = "é"
    with pytest.raises(DataError, match=r"metric_ must be a metric\. Got 'é' instead"):
        model._check_fitted()


def chain(n=120, decay=0.15):
    """A path of n nodes with one label at either end."""
    W = sp.csr_array(sp.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[1, -1]))
    Y = np.zeros((n, 2), dtype=np.float32)
    Y[0, 0] = Y[-1, 1] = 1
    return W, Y, GraphLaplacianClassifier(metric="precomputed", decay=decay).fit(W, sp.csr_array(Y))


def test_nodes_far_from_every_label_are_answered_by_the_nearest():
    W, Y, model = chain()
    scores = model.transduction_.toarray()
    settings = {"alpha": 1.0, "decay": 0.15, "normalized": True}
    expected = dense_scores(W, np.array([0, 119]), Y[[0, -1]], **settings)

    assert model.mass_.min() < 1e-12
    assert model.unanswered_.size == 0
    assert (scores.argmax(axis=1) == expected.argmax(axis=1)).all()
    near_an_end = np.abs(np.arange(120) - 59.5) > 5
    np.testing.assert_allclose(scores[near_an_end], expected[near_an_end], atol=0.02)


def test_an_index_of_the_nodes_is_made_once_for_all_predictions(monkeypatch):
    X, Y = separable(60, 3)
    made = []
    make = CosineIndex.of
    monkeypatch.setattr(CosineIndex, "of", lambda rows: made.append(1) or make(rows))
    model = GraphLaplacianClassifier(metric="cosine").fit(X, Y)
    first = model.decision_function(X[:5])
    for _ in range(3):
        assert (model.decision_function(X[:5]) != first).nnz == 0
    assert len(made) == 2  # one for the graph
    model.fit(X[::-1], Y)
    assert (model.decision_function(X[:5]) != first).nnz > 0


@pytest.mark.parametrize("labeled", [[True, False], [0.5], [[0, 1]]])
def test_labeled_must_be_rows_or_a_mask_of_all(labeled):
    X, Y = separable(20, 3)
    with pytest.raises(DataError, match="labeled must be a list of row numbers, or a mask of all"):
        GraphLaplacianClassifier().fit(X, Y, labeled=labeled)
