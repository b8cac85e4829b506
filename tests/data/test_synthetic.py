import math
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfTransformer

from labelwood.data.corpora.synthetic import synthetic
from labelwood.errors import ParameterError

module = sys.modules[synthetic.__module__]


def arrays(made):
    """Everything that was made, as plain arrays."""
    matrices = [made.train.X, made.train.Y, made.test.X, made.test.Y, made.train_complete]
    parts = [getattr(m, part) for m in matrices for part in ("indptr", "indices", "data")]
    return [*parts, made.propensity]


def test_the_data_have_the_shape_and_form_that_was_asked_for():
    made = synthetic(300, 400, 30, n_test=50, labels_per_sample=3, nonzeros_per_sample=20)

    assert made.train.X.shape == (300, 400)
    assert made.train.Y.shape == made.train_complete.shape == (300, 30)
    assert made.test.X.shape == (50, 400)
    assert made.test.Y.shape == made.test_complete.shape == (50, 30)
    for matrix in (made.train.X, made.test.X, made.train.Y, made.test.Y):
        assert isinstance(matrix, sp.csr_array)
        assert matrix.dtype == np.float32
        assert matrix.has_canonical_format
    assert set(made.train.Y.data) == {1.0}
    assert made.train.X.data.min() > 0
    np.testing.assert_allclose(sp.linalg.norm(made.train.X, axis=1), 1, rtol=1e-5)


def test_a_quarter_of_the_points_is_made_for_testing_unless_told_otherwise():
    assert len(synthetic(100, 50, 10).test) == 25
    assert len(synthetic(100, 50, 10, n_test=0).test) == 0


def test_points_have_about_the_labels_and_words_that_were_asked_for():
    made = synthetic(2_000, 50_000, 20_000, labels_per_sample=3, nonzeros_per_sample=30, n_test=0)

    # Repeated draws only lower the means; with so many labels and words they are few.
    assert 2.85 < made.train.Y.nnz / 2_000 < 3.05
    assert 26 < made.train.X.nnz / 2_000 < 30.5
    assert np.diff(made.train.Y.indptr).min() >= 1


def test_the_same_seed_gives_the_same_data_for_every_number_of_threads(monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", 64)
    one = synthetic(300, 200, 40, drop_labels=True, random_state=3, n_jobs=1)
    two = synthetic(300, 200, 40, drop_labels=True, random_state=3, n_jobs=2)
    other = synthetic(300, 200, 40, drop_labels=True, random_state=4)

    for left, right in zip(arrays(one), arrays(two), strict=True):
        np.testing.assert_array_equal(left, right)
    assert one.train.Y.nnz != other.train.Y.nnz or (one.train.Y != other.train.Y).nnz


@settings(deadline=None)
@given(st.integers(1, 50), st.floats(0, 3))
def test_ranks_fall_like_the_power_law_of_the_documentation(n, power):
    """Against the integral of the law over each rank, by adding up a fine grid."""
    grid = (np.arange(20_000) + 0.5) / 20_000
    edges = np.arange(n * 200 + 1) / 200 + 10
    density = ((edges[:-1] + edges[1:]) / 2) ** -power
    expected = density.reshape(n, 200).sum(axis=1) / density.sum()

    counts = np.bincount(module._ranks(grid, n, power), minlength=n)

    assert counts.size == n
    np.testing.assert_allclose(counts / 20_000, expected, atol=2e-4)


def test_label_frequencies_have_a_long_tail_or_none():
    steep = synthetic(2_000, 100, 500, n_test=0)
    flat = synthetic(2_000, 100, 500, n_test=0, label_power=0)

    def spread(made):
        counts = np.sort(np.bincount(made.train.Y.indices, minlength=500))
        return counts[-1] / np.median(counts)

    assert spread(steep) > 15
    assert spread(flat) < 3


def test_values_are_the_tfidf_of_scikit_learn():
    rng = np.random.default_rng(0)
    counts = sp.csr_array(rng.poisson(0.7, (40, 12)).astype(np.float32))
    expected = TfidfTransformer(sublinear_tf=True).fit_transform(counts)

    X = module._tfidf(counts.copy(), 40)

    np.testing.assert_allclose(X.toarray(), expected.toarray(), rtol=1e-5)


def test_document_frequencies_come_from_the_training_points_alone():
    first = sp.csr_array(np.array([[1, 1], [0, 1]], dtype=np.float32))
    both = sp.vstack([first, np.array([[1, 0]] * 5, dtype=np.float32)], format="csr")

    np.testing.assert_array_equal(
        module._tfidf(both, 2).toarray()[:2], module._tfidf(first.copy(), 2).toarray()
    )


def test_labels_can_be_learned_but_not_perfectly():
    made = synthetic(3_000, 1_000, 100)
    X, Y = made.train.X, made.train_complete
    centroids = (X.T @ Y).tocsr() / np.maximum(np.asarray(Y.sum(axis=0)), 1) ** 0.5

    best = np.asarray((made.test.X @ centroids).todense()).argmax(axis=1)

    hits = np.array([made.test.Y[i, label] for i, label in enumerate(best)]).mean()
    most_popular = np.bincount(Y.indices).argmax()
    assert hits > 3 * made.test.Y[:, [most_popular]].mean()
    assert 0.5 < hits < 0.98


def test_without_signal_the_words_tell_nothing():
    made = synthetic(3_000, 300, 20, signal=0.0, labels_per_sample=1, label_power=0)
    centroids = np.asarray((made.train.X.T @ made.train.Y).todense())

    best = (made.test.X @ centroids).argmax(axis=1)

    hits = np.array([made.test.Y[i, label] for i, label in enumerate(best)]).mean()
    assert hits < 0.1


def test_all_labels_are_observed_unless_they_are_to_be_dropped():
    made = synthetic(200, 100, 20)

    np.testing.assert_array_equal(made.propensity, np.ones(20))
    assert (made.train_complete != made.train.Y).nnz == 0
    assert (made.test_complete != made.test.Y).nnz == 0


def test_dropping_only_hides_labels_of_otherwise_the_same_data():
    plain, dropped = synthetic(300, 100, 20), synthetic(300, 100, 20, drop_labels=True)

    assert (plain.train_complete != dropped.train_complete).nnz == 0
    assert (plain.train.X != dropped.train.X).nnz == 0
    hidden = dropped.train_complete - dropped.train.Y
    assert hidden.data.min() >= 0
    assert 0 < hidden.sum() < dropped.train_complete.nnz


def test_propensities_are_those_of_the_formula():
    made = synthetic(1_000, 100, 20, drop_labels=True, a=0.5, b=2.0)
    counts = np.asarray(made.train_complete.sum(axis=0))

    C = (math.log(1_000) - 1) * 3.0**0.5
    expected = [1 / (1 + C / math.sqrt(count + 2.0)) for count in counts]
    np.testing.assert_allclose(made.propensity, expected)


def test_labels_are_observed_as_often_as_their_propensity_says():
    made = synthetic(40_000, 50, 10, drop_labels=True, nonzeros_per_sample=2, n_test=0)

    complete = np.asarray(made.train_complete.sum(axis=0))
    observed = np.asarray(made.train.Y.sum(axis=0))

    error = np.sqrt(made.propensity * (1 - made.propensity) / complete)
    assert np.all(np.abs(observed / complete - made.propensity) < 5 * error)


@pytest.mark.parametrize(
    "bad",
    [
        {"n_samples": 2},
        {"n_features": 0},
        {"n_labels": 1.5},
        {"n_test": -1},
        {"labels_per_sample": 0.5},
        {"label_power": -1},
        {"nonzeros_per_sample": 0},
        {"signal": 1.1},
        {"drop_labels": 1},
        {"a": -0.1},
        {"b": 0},
        {"random_state": "seed"},
        {"n_jobs": 1.5},
    ],
)
def test_a_parameter_outside_its_constraint_is_refused(bad):
    (name,) = bad
    sizes = {"n_samples": 10, "n_features": 10, "n_labels": 10}

    with pytest.raises(ParameterError, match=f"The '{name}' parameter of synthetic must be"):
        synthetic(**{**sizes, **bad})


def test_more_data_than_fit_into_memory_are_refused_at_once():
    with pytest.raises(MemoryError, match="lower n_samples or nonzeros_per_sample"):
        synthetic(10**12, 10, 10)


@pytest.mark.slow
def test_half_a_million_labels_are_made():
    made = synthetic(500_000, 200_000, 500_000, n_jobs=2)

    assert made.train.Y.shape == (500_000, 500_000)
    assert np.count_nonzero(np.bincount(made.train.Y.indices)) > 250_000
