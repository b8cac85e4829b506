import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from labelwood.errors import DataError, ParameterError
from labelwood.kernels.critical_radius import (
    CriticalRadius,
    critical_radius,
    gaussian_complexity,
    guaranteed_time,
    kernel_complexity,
    regular_kernel,
    stopping_time,
)
from labelwood.kernels.functions import KernelFunction
from labelwood.kernels.nystrom import nystrom_features, require_landmarks
from labelwood.kernels.spectrum import Spectrum, exact_spectrum, linear_spectrum, top_spectrum


def sobolev_kernel(n):
    x = np.arange(1, n + 1) / n
    return 1 + np.minimum(x[:, None], x[None])


def sobolev_eigenvalues(n):
    return np.linalg.eigvalsh(sobolev_kernel(n) / n)


def test_the_radius_of_the_sobolev_kernel_is_the_known_one():
    radius = critical_radius(sobolev_eigenvalues(200), 200, np.sqrt(0.5))
    assert radius.delta**2 == pytest.approx(0.01438, abs=1e-5)
    assert guaranteed_time(radius, 1) == 8
    assert stopping_time(radius) == 69
    radius = critical_radius(sobolev_eigenvalues(400), 400, np.sqrt(0.5))
    assert (guaranteed_time(radius, 1), stopping_time(radius)) == (13, 111)


@pytest.mark.parametrize("sigma", [0.1, 1.0, 10.0])
def test_the_radius_solves_its_equation(sigma):
    mu = sobolev_eigenvalues(100)
    delta = critical_radius(mu, 100, sigma).delta
    complexity = np.sqrt(np.minimum(delta**2, mu).sum() / 100)
    assert kernel_complexity(mu, 100, delta) == pytest.approx(complexity)
    assert complexity / delta == pytest.approx(delta / sigma, rel=1e-9)


def test_the_radius_shrinks_at_the_rates_of_the_corollary():
    sizes = np.array([200, 400, 800])
    squares = [critical_radius(sobolev_eigenvalues(n), n, 0.7).delta ** 2 for n in sizes]
    assert np.polyfit(np.log(sizes), np.log(squares), 1)[0] == pytest.approx(-2 / 3, abs=0.03)
    fast = [critical_radius(np.exp(-np.arange(n)), n, 0.7).delta ** 2 for n in sizes]
    expected = np.log(sizes) / sizes
    np.testing.assert_allclose(fast / expected / (fast[0] / expected[0]), 1, atol=0.1)


def test_the_gaussian_complexity_is_a_supremum_over_two_ellipsoids():
    mu, n, delta = np.array([0.5, 0.1, 0.02, 0.004]), 30, 0.2
    rng = np.random.default_rng(np.random.SeedSequence(3))
    suprema = []
    for _ in range(20):
        g = rng.normal(size=4)
        found = minimize(
            lambda t, g=g: -g @ t,
            np.full(4, 1e-3),
            constraints=[
                {"type": "ineq", "fun": lambda t: delta**2 - t @ t},
                {"type": "ineq", "fun": lambda t: 1 - (t**2 / mu).sum()},
            ],
            method="SLSQP",
            options={"maxiter": 500, "ftol": 1e-12},
        )
        suprema.append(-found.fun / np.sqrt(n))
    mean, error = gaussian_complexity(mu, n, delta, n_draws=20, random_state=3)
    assert mean == pytest.approx(np.mean(suprema), rel=1e-4)
    assert error == pytest.approx(np.std(suprema, ddof=1) / np.sqrt(20), rel=1e-2)
    assert mean <= np.sqrt(2) * kernel_complexity(mu, n, delta)


def test_dimension_and_constant_of_a_regular_kernel():
    mu = np.array([0.5, 0.2, 0.04, 0.01, 0.005])
    regular = regular_kernel(mu, 5, CriticalRadius(0.2, 0.2, 0.2, 5, 1.0))
    assert regular.d_n == 3
    assert regular.tail == pytest.approx(0.015)
    assert regular.constant == pytest.approx(0.015 / (3 * 0.04))


@pytest.mark.parametrize("rank", [5, 20, 60])
def test_the_trace_bounds_what_lanczos_leaves_out(rank):
    K = sobolev_kernel(120)
    exact = critical_radius(exact_spectrum(K), 120, 0.001)
    part = top_spectrum(K, np.trace(K), rank, 120)
    bounded = critical_radius(part, 120, 0.001)
    assert bounded.lower - 1e-12 <= exact.delta <= bounded.upper + 1e-12
    assert bounded.lower <= bounded.delta <= bounded.upper
    assert bounded.lower < bounded.upper
    assert exact.exact
    np.testing.assert_allclose(part.eigenvalues, exact_spectrum(K).eigenvalues[:rank], rtol=1e-8)
    for t in (1e-4, 1e-3, 1e-2, 0.3):
        true = np.minimum(t, exact_spectrum(K).eigenvalues).sum()
        estimate, low, high = part.sum_of_minima(t)
        assert low - 1e-12 <= true <= high + 1e-12
        assert low <= estimate <= high


@pytest.mark.parametrize("landmarks", ["uniform", "leverage"])
@pytest.mark.parametrize("name", ["gaussian", "laplacian", "precomputed"])
def test_nystrom_bounds_hold_and_close_with_more_landmarks(landmarks, name):
    X = np.random.default_rng(0).normal(size=(150, 3))
    function = KernelFunction(name, 0.3)
    if name == "precomputed":
        X = KernelFunction("gaussian", 0.3)(X, X)
    K = function(X, X)
    exact = critical_radius(exact_spectrum(K), 150, 0.5)
    widths = []
    for size in (10, 40, 150):
        few = nystrom_features(function, X, size, landmarks=landmarks, random_state=1)
        approximation = few.Z @ few.Z.T
        assert np.linalg.eigvalsh(K - approximation).min() > -1e-8
        np.testing.assert_allclose(
            few.Z.T @ few.Z / 150, np.diag(few.spectrum.eigenvalues), atol=1e-9
        )
        bounded = critical_radius(few.spectrum, 150, 0.5)
        assert bounded.lower - 1e-12 <= exact.delta <= bounded.upper + 1e-12
        widths.append(bounded.upper - bounded.lower)
    assert widths[0] > widths[1] > widths[2] - 1e-9
    assert bounded.delta == pytest.approx(exact.delta, rel=1e-6)


def test_new_samples_get_the_same_features():
    X = np.random.default_rng(0).normal(size=(60, 3))
    function = KernelFunction("gaussian", 0.3)
    few = nystrom_features(function, X, 20)
    again = function(X, X[few.landmarks]) @ few.expansion
    np.testing.assert_allclose(again, few.Z, atol=1e-9)


@pytest.mark.parametrize("shape", [(40, 90), (90, 40)])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_eigenvalues_of_the_linear_kernel_come_from_the_smaller_side(shape, form):
    X = np.random.default_rng(0).normal(size=shape)
    K = X @ X.T / 2.0
    expected = np.sort(np.linalg.eigvalsh(K / shape[0]))[::-1][:40]
    exact = linear_spectrum(form(X), 2.0)
    np.testing.assert_allclose(exact.eigenvalues[:40], expected, rtol=1e-8, atol=1e-12)
    top = linear_spectrum(form(X), 2.0, max_exact=10, rank=8)
    np.testing.assert_allclose(top.eigenvalues, expected[:8], rtol=1e-8)
    assert top.tail == pytest.approx(expected[8:].sum(), rel=1e-8)


def test_a_time_counts_steps_of_unit_size_and_curvature():
    radius = CriticalRadius(0.1, 0.1, 0.1, 10, 1.0)
    assert stopping_time(radius) == 100
    assert stopping_time(radius, step=0.5, constant=3) == 600
    assert stopping_time(radius, curvature=0.25) == 400
    assert guaranteed_time(radius, 1) == 12
    assert guaranteed_time(radius, 20) == 5


@pytest.mark.parametrize("sigma", [0, -1.0, np.nan])
def test_noise_must_be_positive(sigma):
    with pytest.raises(ParameterError, match="'sigma' parameter of critical_radius"):
        critical_radius([1.0], 5, sigma)


def test_eigenvalues_are_checked():
    with pytest.raises(DataError, match="not negative"):
        critical_radius([1.0, -0.5], 5, 1.0)
    with pytest.raises(DataError, match="finite"):
        critical_radius([np.inf], 5, 1.0)
    with pytest.raises(DataError, match="3 eigenvalues are more than n = 2"):
        critical_radius([1.0, 0.5, 0.1], 2, 1.0)
    assert Spectrum.of([1.0, -1e-12], 5).eigenvalues.min() == 0


def test_landmarks_beyond_memory_are_refused_before_their_matrix_is_allocated(monkeypatch):
    monkeypatch.setattr("labelwood.kernels.nystrom.available_memory", lambda: 4 * 10**9)
    with pytest.raises(
        MemoryError,
        match=r"100,000 landmarks need 80 GB .* 3,000 need 72 MB and 7 GB: set n_landmarks to 1,6",
    ):
        require_landmarks(100_000, 100_000)
    require_landmarks(3000, 10_000)


def test_more_landmarks_than_samples_are_refused():
    with pytest.raises(DataError, match="n_landmarks=11 is above the number of samples"):
        nystrom_features(KernelFunction("gaussian"), np.ones((10, 1)), 11)


@pytest.mark.parametrize(("n", "delta"), [(0, 0.1), (2.5, 0.1), (10, -1.0), (10, np.nan)])
def test_sizes_and_radii_are_checked(n, delta):
    with pytest.raises(ParameterError, match="parameter of kernel_complexity must be"):
        kernel_complexity([0.5, 0.1], n, delta)
    with pytest.raises(ParameterError, match="parameter of gaussian_complexity must be"):
        gaussian_complexity([0.5, 0.1], n, delta)


def test_a_kernel_that_is_zero_has_radius_zero_and_nothing_to_estimate():
    radius = critical_radius([0.0, 0.0], 5, 1.0)
    assert (radius.delta, stopping_time(radius), guaranteed_time(radius, 1.0)) == (0, 1, 1)
    assert regular_kernel([0.0, 0.0], 5, radius).constant == 0
