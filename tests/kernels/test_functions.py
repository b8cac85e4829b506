import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import pairwise

from builders import random_csr
from labelwood import KernelBoostingRegressor, KernelRidgeRegressor
from labelwood.errors import DataError
from labelwood.kernels.functions import (
    KERNELS,
    KernelFunction,
    canonical,
    check_kernel_matrix,
    default_gamma,
    require_matrix,
    row_slices,
)

RNG = np.random.default_rng(0)
A, B = RNG.random((12, 4)), RNG.random((7, 4))
ORACLES = {
    "gaussian": lambda a, b: np.exp(-0.7 * ((a - b) ** 2).sum()),
    "laplacian": lambda a, b: np.exp(-0.7 * np.abs(a - b).sum()),
    "sobolev": lambda a, b: np.prod(1 + np.minimum(a, b)),
    "polynomial": lambda a, b: (0.7 * (a * b).sum() + 2) ** 3,
    "linear": lambda a, b: (a * b).sum(),
}


@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_a_kernel_is_what_its_formula_says(name, form):
    k = KernelFunction(name, gamma=0.7, degree=3, coef0=2.0)
    expected = np.array([[ORACLES[name](a, b) for b in B] for a in A])
    np.testing.assert_allclose(k(form(A), form(B)), expected, rtol=1e-12)
    np.testing.assert_allclose(k(form(A), B), expected, rtol=1e-12)
    np.testing.assert_allclose(k.diagonal(form(A)), np.diagonal(k(A, A)), rtol=1e-12)


@pytest.mark.parametrize("name", ORACLES)
def test_a_kernel_matrix_is_exactly_symmetric_and_positive_semidefinite(name):
    K = KernelFunction(name)(A, A)
    np.testing.assert_allclose(K, K.T, rtol=1e-14)
    check_kernel_matrix(K)


@pytest.mark.parametrize("name", ["gaussian", "laplacian"])
def test_scikit_learn_has_the_same_values(name):
    theirs = {"gaussian": pairwise.rbf_kernel, "laplacian": pairwise.laplacian_kernel}[name]
    np.testing.assert_allclose(KernelFunction(name, 0.3)(A, B), theirs(A, B, 0.3), rtol=1e-12)


@pytest.mark.parametrize("name", KERNELS)
def test_a_bounded_kernel_is_at_most_one_on_the_samples(name):
    X = A @ A.T if name == "precomputed" else A
    k = KernelFunction(name).bounded_by_one(X)
    assert k.diagonal(X).max() <= 1 + 1e-12
    if name != "sobolev":  # whose bound is that of all samples in the unit cube
        assert k.diagonal(X).max() == pytest.approx(1)
    else:
        assert k(np.ones((1, 4)), np.ones((1, 4)))[0, 0] == 1


def test_the_default_gamma_is_that_of_support_vector_machines():
    assert default_gamma("gaussian", A) == pytest.approx(1 / (4 * A.var()))
    assert default_gamma("gaussian", sp.csr_array(A)) == pytest.approx(1 / (4 * A.var()))
    assert default_gamma("laplacian", A) == 0.25
    assert default_gamma("gaussian", np.ones((3, 2))) == 1


def test_the_form_of_samples_goes_by_their_content():
    few = np.eye(8)
    for form in (np.asarray, sp.csr_array, sp.coo_array):
        assert sp.issparse(canonical(form(few)))
        assert not sp.issparse(canonical(form(A)))
    assert not sp.issparse(canonical(few, sparse=False))


def test_rows_are_cut_so_that_a_block_takes_64_megabytes():
    slices = row_slices(100_000, 8_000)
    assert slices[0] == slice(0, 1048)
    assert slices[-1].stop == 100_000


def test_an_asymmetric_kernel_matrix_is_refused_with_its_worst_entry():
    K = np.eye(4)
    K[1, 2] = 0.25
    with pytest.raises(DataError, match=r"not symmetric, K\[1, 2\] = 0\.25 and K\[2, 1\] = 0"):
        check_kernel_matrix(K)


def test_an_indefinite_kernel_matrix_is_refused_with_its_smallest_eigenvalue():
    K = np.diag([3.0, 1.0, -0.5])
    with pytest.raises(DataError, match=r"smallest eigenvalue is -0\.5"):
        check_kernel_matrix(K)
    check_kernel_matrix(np.diag([3.0, 1.0, 0.0]))


def test_a_kernel_matrix_that_is_not_square_is_refused():
    with pytest.raises(DataError, match=r"must be square. Got shape \(3, 2\)"):
        check_kernel_matrix(np.ones((3, 2)))


@pytest.mark.parametrize("bad", [-0.1, 1.5])
def test_the_sobolev_kernel_refuses_features_outside_the_unit_interval(bad):
    X = A.copy()
    X[3, 1] = bad
    with pytest.raises(DataError, match=rf"Got {bad:g} in row 3, column 1"):
        KernelFunction("sobolev")(X, A)


def test_a_matrix_beyond_memory_is_refused_with_an_estimate_and_a_remedy(monkeypatch):
    monkeypatch.setattr("labelwood.core.memory.available_memory", lambda: 2**30)
    with pytest.raises(MemoryError, match=r"K needs about 74\.5 GB and 1\.0 GB are free; do less"):
        require_matrix(100_000, 100_000, 1, "K", "do less")


def test_gaussian_values_do_not_depend_on_the_origin():
    X = np.random.default_rng(0).normal(size=(40, 2))
    far = X + 1e8  # as times in seconds are
    gamma = default_gamma("gaussian", X)
    assert default_gamma("gaussian", far) == pytest.approx(gamma, rel=1e-6)
    k = KernelFunction("gaussian", gamma)
    np.testing.assert_allclose(k(far, far), k(X, X), atol=1e-6)
    np.testing.assert_allclose(k(far[:7], far), k(X[:7], X), atol=1e-6)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e5])
def test_the_default_gamma_goes_with_the_scale_of_the_features(scale):
    X = random_csr(30, 20, density=0.1, seed=1).toarray().astype(float) * scale
    expected = 1 / (20 * X.var())
    assert default_gamma("gaussian", X) == pytest.approx(expected)
    assert default_gamma("gaussian", sp.csr_array(X)) == pytest.approx(expected)


@pytest.mark.parametrize("kernel", ["gaussian", "laplacian", "polynomial", "linear"])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_unsorted_repeated_and_wide_indices_are_the_same_samples_and_stay_as_they_are(
    kernel, index
):
    data, columns = np.array([4.0, 1.0, 2.0, 3.0, 0.0]), np.array([7, 0, 0, 1, 2], dtype=index)
    odd = sp.csr_array((data, columns, np.array([0, 3, 4, 5], dtype=index)), shape=(3, 9))
    before = [array.copy() for array in (odd.data, odd.indices, odd.indptr)]
    model = KernelRidgeRegressor(kernel=kernel, alpha=0.1).fit(odd, [1.0, 2.0, 3.0])
    plain = KernelRidgeRegressor(kernel=kernel, alpha=0.1).fit(odd.toarray(), [1.0, 2.0, 3.0])
    np.testing.assert_allclose(model.predict(odd), plain.predict(odd.toarray()))
    assert sp.issparse(model.X_fit_) or kernel == "linear"
    for array, old in zip((odd.data, odd.indices, odd.indptr), before, strict=True):
        np.testing.assert_array_equal(array, old)


@pytest.mark.parametrize("estimator", [KernelRidgeRegressor, KernelBoostingRegressor])
@pytest.mark.parametrize("kernel", ["gaussian", "laplacian", "polynomial", "linear"])
def test_numbers_whose_squares_overflow_are_refused(estimator, kernel):
    X, y = np.random.default_rng(0).normal(size=(10, 3)), np.arange(10.0)
    with pytest.raises(DataError, match=r"X holds a number of size .*e\+200.*scale it"):
        estimator(kernel=kernel).fit(X * 1e200, y)
    with pytest.raises(DataError, match=r"y holds a number of size 9e\+200"):
        estimator(kernel=kernel).fit(X, y * 1e200)


@pytest.mark.parametrize("estimator", [KernelRidgeRegressor, KernelBoostingRegressor])
def test_kernels_beyond_double_precision_are_refused(estimator):
    X = np.random.default_rng(0).random((10, 15))
    with pytest.raises(DataError, match="polynomial kernel of degree 5000 is beyond double"):
        estimator(kernel="polynomial", degree=5000).fit(X, np.arange(10.0))


def test_the_sobolev_kernel_of_too_many_features_is_refused():
    X = np.random.default_rng(0).random((5, 1100))
    with pytest.raises(DataError, match=r"Sobolev kernel of 1,100 features.*take fewer features"):
        KernelBoostingRegressor(kernel="sobolev").fit(X, np.arange(5.0))


@pytest.mark.parametrize("kernel", ["linear", "precomputed"])
def test_a_kernel_that_is_zero_fits_zero(kernel):
    X = np.zeros((12, 12))
    for estimator in (KernelRidgeRegressor, KernelBoostingRegressor):
        model = estimator(kernel=kernel).fit(X, np.arange(12.0))
        np.testing.assert_array_equal(model.predict(X), 0)
