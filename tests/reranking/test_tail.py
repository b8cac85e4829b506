import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from builders import random_csr, random_labels, separable
from labelwood import TailClassifier, metrics
from labelwood.core import memory
from labelwood.errors import DataError, LabelwoodWarning, ParameterError
from labelwood.reranking import tail


def unit(X):
    rows = X.toarray().astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1)


def log_chances(points, centers, gamma):
    """log P of every point (rows) and center (columns), from the formula."""
    distances = ((points[:, None, :] - centers[None, :, :]) ** 2).sum(axis=2)
    return -np.logaddexp(0, gamma / 2 * distances)


def likelihood(points, positive, center, gamma, p=1.0, beta=1.0):
    """Eq. (43), as it is printed."""
    v = beta * np.exp(gamma / 2 * ((points - center) ** 2).sum(axis=1))
    return np.log(np.where(positive, p / (1 + v), 1 - p / (1 + v))).sum()


def noisy(seed=0):
    """Points whose labels overlap, so that means are far from likeliest."""
    X, Y = random_csr(60, 12, density=0.4, seed=seed), random_labels(60, 4, seed=seed)
    X.data -= 0.4
    return X, Y


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("center", ["mean", "likelihood"])
def test_scores_are_the_formula(normalize, center):
    X, Y = separable(80, 6)
    model = TailClassifier(gamma=7, normalize=normalize, center=center).fit(X, Y)
    points = unit(X) if normalize else X.toarray().astype(np.float64)
    expected = log_chances(points, model.centers_.toarray().astype(np.float64), gamma=7)
    np.testing.assert_allclose(model.decision_function(X).toarray(), expected, atol=1e-5)
    asked = np.random.default_rng(0).integers(-1, 6, (80, 3))
    wanted = np.where(asked < 0, -np.inf, np.take_along_axis(expected, asked, axis=1))
    np.testing.assert_allclose(model.log_scores(X, asked), wanted, atol=1e-5)


def test_a_mean_center_is_the_mean_of_the_labels_unit_points():
    X, Y = separable(80, 6)
    model = TailClassifier().fit(X, Y)
    for label in range(6):
        mean = unit(X)[Y[:, [label]].toarray().ravel() > 0].mean(axis=0)
        np.testing.assert_allclose(model.centers_.toarray()[label], mean, atol=1e-7)
    assert model.stop_reason_ == "closed form"
    assert model.n_iter_.tolist() == [1] * 6


@pytest.mark.parametrize("beta", [0.05, 20.0])
def test_beta_of_eq_41_is_in_the_scores_and_in_the_likelihood(beta):
    X, Y = noisy()
    points, positive = unit(X), Y[:, [0]].toarray().ravel() > 0
    settings = {"gamma": 3, "beta": beta, "tol": 1e-6, "propensity": np.full(4, 0.5)}
    model = TailClassifier(center="likelihood", **settings).fit(X, Y)
    centers = model.centers_.toarray().astype(np.float64)
    distances = ((points - centers[0]) ** 2).sum(axis=1)
    expected = -np.log1p(beta * np.exp(1.5 * distances))
    labels = np.zeros((60, 1), dtype=int)
    np.testing.assert_allclose(model.log_scores(X, labels)[:, 0], expected, atol=1e-5)
    best = minimize(
        lambda center: -likelihood(points, positive, center, 3, 0.5, beta),
        points[positive].mean(axis=0),
        options={"gtol": 1e-6},
    )
    np.testing.assert_allclose(centers[0], best.x, atol=2e-4)


@pytest.mark.parametrize("p", [1.0, 0.3])
@pytest.mark.parametrize("gamma", [0.3, 3, 30])
def test_the_likeliest_center_is_that_of_a_general_optimizer(gamma, p):
    X, Y = noisy()
    points = unit(X)
    chances = np.full(4, p)
    model = TailClassifier(gamma=gamma, center="likelihood", propensity=chances, tol=1e-6).fit(X, Y)
    assert model.stop_reason_ == "tolerance met for every label"
    for label in range(4):
        positive = Y[:, [label]].toarray().ravel() > 0
        best = minimize(
            lambda center, positive: -likelihood(points, positive, center, gamma, p),
            points[positive].mean(axis=0),
            args=(positive,),
            options={"gtol": 1e-6},
        )
        np.testing.assert_allclose(model.centers_.toarray()[label], best.x, atol=2e-4)


@pytest.mark.parametrize("p", [1.0, 0.6, 0.05])
def test_the_likeliest_center_is_the_fixed_point_of_the_paper(p):
    X, Y = noisy()
    points, gamma = unit(X), 4
    chances = np.full(4, p)
    model = TailClassifier(gamma=gamma, center="likelihood", propensity=chances, tol=1e-6).fit(X, Y)
    for label, center in enumerate(model.centers_.toarray().astype(np.float64)):
        y = Y[:, [label]].toarray().ravel()
        v = np.exp(gamma / 2 * ((points - center) ** 2).sum(axis=1))
        u = ((1 - y) / ((1 - y) * (1 + v) + p * (2 * y - 1)) - 1 / (1 + v)) * v  # eq. (45)
        np.testing.assert_allclose(center, u @ points / u.sum(), atol=1e-4)  # eq. (46)


@given(st.integers(0, 10**6), st.sampled_from([0.01, 1, 5, 30]))
def test_every_step_raises_the_likelihood(seed, gamma):
    X, Y = noisy(seed)
    points = unit(X)
    reached = []
    for model in [
        TailClassifier(gamma=gamma),
        *(
            TailClassifier(gamma=gamma, center="likelihood", max_iter=n, tol=1e-9)
            for n in (1, 2, 4, 60)
        ),
    ]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            centers = model.fit(X, Y[:, :2]).centers_.toarray()
        y = Y.toarray() > 0
        reached.append([likelihood(points, y[:, i], centers[i], gamma) for i in (0, 1)])
    slack = 1e-6 * np.abs(reached[0])  # of single precision
    assert np.all(np.diff(reached, axis=0) >= -slack)


def test_a_limit_that_is_met_is_said():
    X, Y = noisy()
    with pytest.warns(ConvergenceWarning, match="iteration limit for 4 labels; raise max_iter"):
        model = TailClassifier(gamma=1, center="likelihood", max_iter=2, tol=1e-8).fit(X, Y)
    assert model.stop_reason_.startswith("iteration limit for 4 labels")
    assert model.n_iter_.tolist() == [2] * 4


def test_a_tolerance_beyond_rounding_is_not_called_met():
    X, Y = noisy()
    model = TailClassifier(gamma=1, center="likelihood", tol=1e-300, max_iter=10_000).fit(X, Y)
    assert model.stop_reason_.startswith("no step raises the likelihood of 4 labels any more")


def test_features_that_cancel_in_the_mean_are_found_by_the_likelihood():
    X = sp.csr_array([[1.0, 1], [1, -1], [-1, 1], [-1, 0.9]])
    Y = np.array([[1], [1], [0], [0]]).repeat(2, axis=1)
    mean = TailClassifier(gamma=1).fit(X, Y).centers_.toarray()
    likeliest = TailClassifier(gamma=1, center="likelihood").fit(X, Y).centers_.toarray()
    assert mean[0, 1] == 0
    assert likeliest[0, 1] < -0.1


def test_threads_do_not_change_a_single_byte(monkeypatch):
    monkeypatch.setattr(tail, "_PAIRS", 100)
    monkeypatch.setattr(tail, "_CELLS", 400)
    X, Y = random_csr(90, 40), random_labels(90, 40, per_point=30)
    asked = np.random.default_rng(1).integers(-1, 40, (90, 7), dtype=np.int32)
    for center in ("mean", "likelihood"):
        one, two = (TailClassifier(n_jobs=n, gamma=3, center=center).fit(X, Y) for n in (1, 2))
        for name in TailClassifier._fitted:
            assert np.asarray(getattr(one, name)).tobytes() == (
                np.asarray(getattr(two, name)).tobytes()
            )
        assert one.log_scores(X, asked).tobytes() == two.log_scores(X, asked).tobytes()
        assert one.predict_topk(X).scores.tobytes() == two.predict_topk(X).scores.tobytes()


def test_blocks_of_work_do_not_show_in_the_scores(monkeypatch):
    X, Y = random_csr(60, 40), random_labels(60, 20, per_point=10)
    whole = TailClassifier().fit(X, Y)
    asked = np.random.default_rng(1).integers(-1, 20, (60, 7))
    expected, best = whole.log_scores(X, asked), whole.predict_topk(X, 6)
    monkeypatch.setattr(tail, "_LABELS", {"mean": 3})
    for name in ("_PILOTS", "_PAIRS", "_CELLS"):
        monkeypatch.setattr(tail, name, 3)
    cut = TailClassifier().fit(X, Y)
    np.testing.assert_array_equal(cut.log_scores(X, asked), expected)
    np.testing.assert_array_equal(cut.predict_topk(X, 6).labels, best.labels)


def test_small_terms_are_dropped_on_request():
    X, Y = random_csr(200, 50), random_labels(200, 8)
    full = TailClassifier().fit(X, Y).centers_.toarray()
    pruned = TailClassifier(prune_below=0.02).fit(X, Y)
    np.testing.assert_array_equal(pruned.centers_.toarray(), np.where(full > 0.02, full, 0))
    squares = (pruned.centers_.toarray().astype(np.float64) ** 2).sum(axis=1)
    np.testing.assert_allclose(pruned.center_squares_, squares)


def test_the_nearest_centers_come_first_and_the_smaller_label_among_equals():
    X, Y = separable(80, 6)
    Y = sp.csr_array(sp.hstack([Y, Y[:, [2]]]))
    model = TailClassifier(gamma=2).fit(X, Y)
    expected = log_chances(unit(X), model.centers_.toarray().astype(np.float64), gamma=2)
    top = model.predict_topk(X, 7)
    np.testing.assert_allclose(top.scores, -np.sort(-expected, axis=1), atol=1e-5)
    places = np.argsort(top.labels, axis=1)
    assert np.all(places[:, 6] == places[:, 2] + 1)


def test_predict_gives_as_many_labels_as_a_point_has_on_average():
    X, Y = separable(80, 6)
    model = TailClassifier().fit(X, Y)
    assert model.n_predicted_ == round(Y.nnz / 80)
    predicted = model.predict(X)
    best = np.sort(model.predict_topk(X, model.n_predicted_).labels, axis=1)
    np.testing.assert_array_equal(predicted.indices.reshape(80, -1), best)
    assert np.all(predicted.data == 1)


@pytest.mark.parametrize("center", ["mean", "likelihood"])
def test_a_label_without_points_is_kept_counted_and_never_predicted(center):
    X, Y = separable(60, 4)
    Y = sp.csr_array(sp.hstack([sp.csr_array((60, 1)), Y]))
    with pytest.warns(LabelwoodWarning, match="1 of 5 labels has no sample"):
        model = TailClassifier(center=center).fit(X, Y)
    assert set(model.predict_topk(X, 5).labels[:, :4].ravel()) == {1, 2, 3, 4}
    assert np.all(model.predict_topk(X, 5).labels[:, 4] == -1)
    assert np.all(model.log_scores(X, np.zeros((60, 1), dtype=int)) == -np.inf)
    assert model.n_iter_[0] == 0


@pytest.mark.parametrize("center", ["mean", "likelihood"])
def test_points_without_labels_or_features_are_legal(center):
    X, Y = separable(50, 3)
    X, Y = (sp.csr_array(sp.vstack([M, sp.csr_array((2, M.shape[1]))])) for M in (X, Y))
    empty = sp.csr_array(sp.vstack([sp.csr_array((51, 1)), np.ones((1, 1))]))
    model = TailClassifier(center=center).fit(X, sp.csr_array(sp.hstack([Y, empty])))
    scores = model.log_scores(X[[51]], [[3, 0]])[0]
    assert scores[0] == pytest.approx(-np.log(2))  # the center is the origin, and so is the point
    assert scores[1] < scores[0]


def test_scores_far_away_stay_numbers():
    X = sp.csr_array([[1e18, 0], [0, -1e18]])
    model = TailClassifier(gamma=1e12, normalize=False).fit(X, [["here"], ["there"]])
    scores = model.log_scores(X, [[0, 1], [0, 1]])
    np.testing.assert_allclose(np.diag(scores), -np.log(2), rtol=1e-6)
    assert np.all(np.isfinite(scores))
    assert scores[0, 1] == np.finfo(np.float32).min / 2


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([[0, 3]] * 20, r"labels must be −1 \(for none\) or in 0…2. Got 3"),
        ([[0, -2]] * 20, r"labels must be −1 \(for none\) or in 0…2. Got -2"),
        ([[0, 1]] * 19, "a matrix of integers with 20 rows. Got int64 of shape"),
        ([0] * 20, "a matrix of integers with 20 rows"),
        ([[0.5]] * 20, "a matrix of integers with 20 rows. Got float64"),
    ],
)
def test_labels_that_do_not_exist_are_refused(labels, message):
    X, Y = separable(20, 3)
    model = TailClassifier().fit(X, Y)
    with pytest.raises(DataError, match=message):
        model.log_scores(X, labels)


def test_no_labels_asked_for_get_no_scores():
    X, Y = separable(20, 3)
    model = TailClassifier().fit(X, Y)
    assert model.log_scores(X, np.empty((20, 0), dtype=int)).shape == (20, 0)
    assert np.all(model.log_scores(X, np.full((20, 2), -1)) == -np.inf)


@pytest.mark.parametrize(
    "options",
    [{"gamma": 0}, {"gamma": 1e13}, {"center": "median"}, {"prune_below": -1}, {"tol": 0}],
)
def test_parameters_are_checked_by_name(options):
    X, Y = separable(20, 2)
    name = next(iter(options))
    with pytest.raises(ParameterError, match=f"The '{name}' parameter of TailClassifier must"):
        TailClassifier(**options).fit(X, Y)


def test_work_that_cannot_fit_into_memory_is_refused(monkeypatch):
    X, Y = separable(60, 4)
    model = TailClassifier().fit(X, Y)
    monkeypatch.setattr(memory, "available_memory", lambda: 100)
    with pytest.raises(MemoryError, match=r"centers needs .* raise prune_below"):
        TailClassifier().fit(X, Y)
    with pytest.raises(MemoryError, match=r"scores of 240 pairs .* use predict_topk"):
        model.decision_function(X)
    assert len(model.predict_topk(X)) == 60


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("centers_indptr_", lambda array: array[:-1]),
        ("centers_indptr_", lambda array: array[::-1].copy()),
        ("centers_indices_", lambda array: array + np.uint32(1000)),
        ("centers_data_", lambda array: array[:-1]),
    ],
)
def test_damaged_centers_are_refused(name, change):
    X, Y = separable(20, 3)
    model = TailClassifier().fit(X, Y)
    setattr(model, name, change(getattr(model, name)))
    with pytest.raises(DataError, match="the centers of the labels are inconsistent"):
        model._check_fitted()


def test_estimated_propensities_are_those_of_the_metrics():
    X, Y = noisy()
    estimated, given = (
        TailClassifier(gamma=1, center="likelihood", propensity=p).fit(X, Y)
        for p in ("estimate", metrics.propensity(Y))
    )
    plain = TailClassifier(gamma=1, center="likelihood").fit(X, Y)
    np.testing.assert_array_equal(estimated.centers_data_, given.centers_data_)
    assert not np.allclose(plain.centers_.toarray(), given.centers_.toarray(), atol=1e-3)


@pytest.mark.parametrize("bad", [np.ones(3), np.array([1, 0.5, 0, 1]), np.array([1, 2.0, 1, 1])])
def test_bad_propensities_are_refused(bad):
    X, Y = noisy()
    with pytest.raises(ParameterError, match="'propensity' parameter of TailClassifier must hold"):
        TailClassifier(center="likelihood", propensity=bad).fit(X, Y)


@given(
    seed=st.integers(0, 200),
    gamma=st.sampled_from([0.1, 30.0, 1e6]),
    k=st.integers(1, 12),
    normalize=st.booleans(),
)
def test_the_best_labels_of_a_row_are_found_among_those_that_may_be(seed, gamma, k, normalize):
    X, Y = random_csr(60, 40, density=0.3, seed=seed), random_labels(60, 30, seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelwoodWarning)
        model = TailClassifier(gamma=gamma, normalize=normalize).fit(X, Y)
    labels = np.random.default_rng(seed).permutation(30)[:20].astype(np.int32)
    scores = np.random.default_rng(seed).normal(size=20).astype(np.float32)
    share = np.float32(0.2)
    wanted = scores + share * model.log_scores(X[[0]], labels[None])[0]
    found, sums = model.of_row(X[[0]]).best(labels, scores, share, k)
    places = [labels.tolist().index(one) for one in found.tolist()]
    assert sums.tobytes() == wanted[places].tobytes()
    assert sorted(sums.tolist())[-k:] == sorted(wanted.tolist())[-k:]


def test_few_labels_are_looked_at_where_the_rest_cannot_be_among_the_best():
    X, Y = random_csr(400, 60, density=0.1, seed=1), random_labels(400, 50, seed=1)
    model = TailClassifier().fit(X, Y)
    labels = np.arange(50, dtype=np.int32)
    scores = -np.arange(50, dtype=np.float32)
    found, _ = model.of_row(X[[0]]).best(labels, scores, np.float32(0.1), 3)
    assert 3 <= found.size < 25


def test_a_row_without_labels_or_features_is_legal_alone():
    X, Y = random_csr(300, 40, density=0.3), random_labels(300, 30)
    model = TailClassifier().fit(X, Y)
    nothing = sp.csr_array((1, 40), dtype=np.float32)
    no_labels = np.empty(0, dtype=np.int32)
    for row in (nothing, X[[0]]):
        found, sums = model.of_row(row).best(no_labels, np.empty(0, np.float32), np.float32(1), 3)
        assert found.size == sums.size == 0
    labels = np.arange(30, dtype=np.int32)
    found, sums = model.of_row(nothing).best(labels, np.zeros(30, np.float32), np.float32(1), 3)
    wanted = model.log_scores(nothing, labels[None])[0]
    assert sums.max() == wanted.max()
