import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import pairwise

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
