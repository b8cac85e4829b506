"""Training by working sets: rows are found by postings of strong features, bounds, or a scan."""

import numpy as np
import pytest
import scipy.sparse as sp

from builders import random_csr, random_labels
from labelwood import OneVsRestSVM
from labelwood.core.random import kernel_states
from labelwood.core.sparse import as_csr, csr_arrays
from labelwood.linear.onevsrest import training, working_sets


@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("way", ["find_by_postings", "find_by_bounds"])
@pytest.mark.filterwarnings("ignore:.*ha(s|ve) no sample")
def test_rows_found_without_a_scan_are_those_of_a_scan_to_the_bit(monkeypatch, way, negative):
    Y = random_labels(1500, 600, per_point=1.5, seed=1)
    noise = random_csr(1500, 400, density=0.01, seed=2)
    X = np.hstack([Y.toarray(), noise.toarray()]).astype(np.float32)
    if negative:
        X[:, ::3] *= -1
    kernels = working_sets.kernels
    find, found = getattr(kernels, way), []

    def counted(*args):
        found.append(find(*args))
        return found[-1]

    if way == "find_by_bounds":
        monkeypatch.setattr(kernels, "find_by_postings", lambda *_: -1)
    monkeypatch.setattr(kernels, way, counted)
    quick = OneVsRestSVM(n_negatives=20, random_state=0).fit(X, Y)
    assert max(found) >= 0  # so rows were looked up in this way
    monkeypatch.setattr(training, "SHORT_ROW", 0)
    slow = OneVsRestSVM(n_negatives=20, random_state=0).fit(X, Y)
    for name in ("postings_weights_", "intercept_", "n_working_", "n_rounds_", "objective_"):
        np.testing.assert_array_equal(getattr(quick, name), getattr(slow, name))


def random_weights(n_features, seed=3):
    """Sixteen weights for each feature and a constant one, in single precision."""
    return np.random.default_rng(seed).normal(size=(n_features + 1, 16)).astype(np.float32)


def test_rows_of_a_sample_are_those_that_score_above_the_threshold():
    X = as_csr(random_csr(400, 30, density=0.2, seed=4))
    W, live = random_weights(30), np.ones(16, dtype=np.float32)
    live[5:] = 0
    place = np.full(400, -1, dtype=np.int32)
    place[:50] = np.arange(50)  # the working set
    found = np.empty(400, dtype=np.uint32)
    # Twenty looks a row: that one of 350 rows gets none has a probability of 7e-7.
    n_found = working_sets.kernels.find_in_sample(
        csr_arrays(X), 8000, kernel_states(0, 1)[0], live, np.float32(1), np.float32(1.5),
        W.ravel(), place, found,
    )  # fmt: skip
    scores = (X.toarray() @ W[:-1] + W[-1])[:, :5]
    expected = np.flatnonzero((scores > 1.5).any(axis=1))
    assert 20 < n_found < 350
    np.testing.assert_array_equal(np.sort(found[:n_found]), expected[expected >= 50])


@pytest.mark.parametrize("negative", [False, True])
def test_bounds_find_the_rows_that_score_above_the_threshold(negative):
    X = as_csr(random_csr(400, 30, density=0.2, seed=4))
    if negative:
        X.data[::3] *= -1
    W, live = random_weights(30), np.ones(16, dtype=np.float32)
    live[5:] = W[:, 5:] = 0
    place = np.full(400, -1, dtype=np.int32)
    place[:50] = np.arange(50)  # the working set
    found = np.empty(400, dtype=np.uint32)
    n_found = working_sets.kernels.find_by_bounds(
        csr_arrays(X), float(abs(X).sum(axis=1).max()), negative, live, np.float32(1),
        np.float32(2.5), W.ravel(), place, found,
    )  # fmt: skip
    scores = (X.toarray() @ W[:-1] + W[-1])[:, :5]
    expected = np.flatnonzero((scores > 2.5).any(axis=1))
    assert 20 < n_found < 350
    np.testing.assert_array_equal(found[:n_found], expected[expected >= 50])


@pytest.mark.parametrize(("slack", "known"), [(0.3, False), (0.0, True)])
@pytest.mark.filterwarnings("ignore:.*ha(s|ve) no sample")
def test_the_objective_of_many_short_rows_is_computed_for_the_full_problem_only(
    monkeypatch, slack, known
):
    monkeypatch.setattr(working_sets, "_FEW_ROWS", 100)
    X, Y = random_csr(300, 50, density=0.1, seed=5), random_labels(300, 20, seed=6)
    model = OneVsRestSVM(slack=slack, random_state=0).fit(X, Y)
    trained = ~np.isnan(model.intercept_)
    assert np.isfinite(model.objective_[trained]).all() == known
    assert np.isfinite(model.duality_gap_[trained]).all() == known
    assert np.isnan(model.objective_[trained]).all() != known


@pytest.fixture(scope="module")
def many_rows():
    """So many samples that a part of them is looked at first."""
    n = 2 * working_sets._SAMPLE + 2500
    Y = random_labels(n, 40, per_point=0.3, seed=5)
    noise = random_csr(n, 60, density=0.1, seed=6)
    return sp.hstack([0.3 * Y, noise], format="csr"), Y


def test_a_look_at_a_sample_first_leads_to_the_same_optimum(many_rows, monkeypatch):
    X, Y = many_rows
    params = {"n_negatives": 50, "tol": 1e-3, "slack": 0.0, "violators": 0.0, "random_state": 0}
    sampled = OneVsRestSVM(**params).fit(X, Y)
    monkeypatch.setattr(working_sets, "_SAMPLE", X.shape[0])
    whole = OneVsRestSVM(**params).fit(X, Y)
    assert sampled.n_working_.mean() < whole.n_working_.mean()
    np.testing.assert_allclose(sampled.objective_, whole.objective_, rtol=1e-4)
    np.testing.assert_allclose(sampled.intercept_, whole.intercept_, atol=2e-3)


def test_threads_change_nothing_where_a_sample_is_looked_at_first(many_rows):
    X, Y = many_rows
    models = [
        OneVsRestSVM(calibrate=True, random_state=0, n_jobs=jobs).fit(X, Y) for jobs in (1, 2)
    ]
    for name in ("postings_weights_", "intercept_", "calibration_probabilities_", "n_working_"):
        np.testing.assert_array_equal(*(getattr(one, name) for one in models))


def test_reduced_classifiers_are_those_of_a_fit_without_the_held_out_rows():
    X = as_csr(random_csr(1500, 40, density=0.2, seed=7))
    Y = random_labels(1500, 12, per_point=1.5, seed=8)
    held_out, costs = np.arange(0, 1500, 3), np.full(12, 2.0)
    labels = np.arange(12, dtype=np.uint32)
    settings = working_sets.Settings.of(OneVsRestSVM(tol=1e-4, slack=0.0, violators=0.0))
    options = {"random_state": 0, "n_jobs": 1}
    blocks = training.train_labels(
        X, Y, labels, costs, costs, settings, held_out=held_out, **options
    )
    kept = np.setdiff1d(np.arange(1500), held_out)
    others = training.train_labels(X[kept], Y[kept], labels, costs, costs, settings, **options)
    reduced, full = dense([one.reduced for one in blocks]), dense(blocks)
    np.testing.assert_allclose(reduced, dense(others), atol=5e-3)
    assert np.abs(full - dense(others)).max() > 0.1


def dense(blocks, n_features=40, n_labels=12):
    """The weights, a row for each feature and the last one for the intercepts."""
    W = np.zeros((n_features + 1, n_labels))
    for block in blocks:
        weights = np.reshape(block.weights, (-1, 16))[:, : block.labels.size]
        W[np.ix_(block.features, block.labels)] = weights
        W[-1, block.labels] = block.intercepts
    return W


@pytest.mark.filterwarnings("ignore:.*ha(s|ve) no sample")
def test_labels_whose_samples_are_all_held_out_do_not_spoil_the_probabilities():
    X = random_csr(1200, 30, density=0.2, seed=9)
    Y = random_labels(1200, 900, per_point=1.0, seed=10)
    model = OneVsRestSVM(calibrate=True, random_state=0).fit(X, Y)
    assert np.isfinite(model.calibration_scores_).all()
    assert np.isfinite(model.predict_topk(X[:50], 5, proba=True).scores).all()
