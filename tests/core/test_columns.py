import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from builders import random_csr
from labelwood.core.columns import column_moments, equal_columns
from labelwood.core.sparse import as_csr, csr_arrays


@given(st.integers(0, 1_000), st.sampled_from([0.1, 0.6, 1.0]))
def test_moments_are_those_of_the_dense_columns(seed, density):
    X = random_csr(12, 5, density=density, seed=seed)
    weights = np.random.default_rng(seed).uniform(0, 3, 12)
    means, deviations = column_moments(csr_arrays(X), 5, weights)
    dense = X.toarray().astype(np.float64)
    expected = np.average(dense, axis=0, weights=weights)
    np.testing.assert_allclose(means, expected, atol=1e-12)
    variances = np.average((dense - expected) ** 2, axis=0, weights=weights)
    np.testing.assert_allclose(deviations, np.sqrt(variances), atol=1e-7)


def test_a_large_mean_does_not_drown_the_deviation():
    X = as_csr([[1_000_001], [1_000_003]])
    means, deviations = column_moments(csr_arrays(X), 1, np.ones(2))
    assert (means[0], deviations[0]) == (1_000_002, 1)


@pytest.mark.parametrize("weight", [0.3, 1 / 3, 0.7, 2.3])
def test_sums_of_many_equal_weights_do_not_make_a_column_vary(weight):
    X = csr_arrays(as_csr(np.ones((100_000, 1))))
    _, deviations = column_moments(X, 1, np.full(100_000, weight))
    assert deviations[0] < 1e-7


def test_rows_of_no_weight_do_not_count_and_do_no_harm():
    X = as_csr([[1.0, 2], [1.00001, 4], [1e38, 0]])
    scaled, _ = equal_columns(X, np.array([1.0, 1, 0]), 2)
    alone, _ = equal_columns(as_csr(X.toarray()[:2]), np.ones(2), 2)
    np.testing.assert_allclose(scaled.toarray()[:2], alone.toarray(), rtol=1e-6)
    assert np.isfinite(scaled.toarray()).all()


def test_no_more_columns_count_than_there_are():
    X = as_csr(np.random.default_rng(0).standard_normal((20, 3)))
    few, many = (equal_columns(X, np.ones(20), n)[0].toarray() for n in (3, 100))
    np.testing.assert_array_equal(few, many)


def test_columns_get_one_deviation_and_those_that_do_not_vary_become_nothing():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal((50, 3)) * [1, 1e-3, 1e4], np.full(50, 0.1)])
    weights = rng.integers(0, 3, 50).astype(float)
    scaled, scaling = equal_columns(as_csr(X), weights, 2)
    deviations = np.repeat(scaled.toarray(), weights.astype(int), axis=0).std(axis=0)
    np.testing.assert_allclose(deviations[:3], 1 / np.sqrt(2), rtol=1e-6)
    assert scaling.factors[3] == 0
    np.testing.assert_allclose(scaled.toarray(), X * scaling.factors, rtol=1e-6)


@pytest.mark.parametrize("width", [40, 2_000])
def test_factors_are_found_by_the_numbers_of_columns(width):
    X = random_csr(6, width, density=0.3 if width < 100 else 0.003)
    scaled, scaling = equal_columns(X, np.ones(6), 3)
    chosen = scaling.columns[1:3]
    expected = X.toarray()[:, chosen] * scaling.of(chosen)
    np.testing.assert_allclose(scaled.toarray()[:, chosen], expected, rtol=1e-6)


def test_a_matrix_without_entries_stays_as_it_is():
    scaled, scaling = equal_columns(sp.csr_array((3, 4), dtype=np.float32), np.ones(3), 2)
    assert (scaled.nnz, scaling.factors.size) == (0, 0)
