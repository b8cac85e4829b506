import numpy as np
import pytest

from builders import random_csr, random_labels
from labelwood.core.lanes import WIDTH
from labelwood.core.random import kernel_states
from labelwood.core.sparse import csr_arrays
from labelwood.linear.l2svm._block_kernels import scan_block, solve_block
from labelwood.linear.l2svm.solver import l2svm, row_norms

N, D, BIAS = 120, 25, np.float32(1)


def problem(n_lanes, seed=0):
    X = random_csr(N, D, density=0.3, seed=seed)
    Y = random_labels(N, n_lanes, per_point=4, seed=seed).toarray()
    signs = np.full((N, WIDTH), -1, dtype=np.float32)
    signs[:, :n_lanes][Y > 0] = 1
    live = (np.arange(WIDTH) < n_lanes).astype(np.float32)
    return X, signs, live


def solve(X, signs, live, positive, negative, rows=None, max_iter=100_000):
    rows = np.arange(N, dtype=np.uint32) if rows is None else rows
    alpha = np.zeros(rows.size * WIDTH, dtype=np.float32)
    W = np.zeros((D + 1) * WIDTH, dtype=np.float32)
    arrays = csr_arrays(X)
    answer = solve_block(
        arrays,
        row_norms(arrays, BIAS),
        rows,
        signs[rows].ravel(),
        (0.5 / positive).astype(np.float32),
        (0.5 / negative).astype(np.float32),
        live,
        BIAS,
        1e-5,
        max_iter,
        kernel_states(0, 1)[0],
        np.empty(rows.size, dtype=np.uint32),
        alpha,
        W,
    )
    return answer, W.reshape(-1, WIDTH), alpha.reshape(-1, WIDTH)


@pytest.mark.parametrize("n_lanes", [1, 7, 16])
def test_every_lane_is_solved_as_if_it_were_alone(n_lanes):
    X, signs, live = problem(n_lanes)
    positive, negative = np.linspace(0.5, 3, WIDTH), np.linspace(2, 0.2, WIDTH)
    (_, converged), W, _ = solve(X, signs, live, positive, negative)
    assert converged
    for lane in range(n_lanes):
        cost = np.where(signs[:, lane] > 0, positive[lane], negative[lane])
        alone = l2svm(X, signs[:, lane], C=cost, tol=1e-5, max_iter=100_000)
        np.testing.assert_allclose(W[:-1, lane], alone.coef, atol=1e-3)
        assert W[-1, lane] == pytest.approx(alone.intercept, abs=1e-3)
    assert not W[:, n_lanes:].any()


def test_a_row_subset_uses_those_rows_only():
    X, signs, live = problem(4)
    rows = np.arange(0, N, 2, dtype=np.uint32)
    ones = np.ones(WIDTH)
    _, W, alpha = solve(X, signs, live, ones, ones, rows)
    expected = X[rows].T @ (alpha * signs[rows])
    np.testing.assert_allclose(W[:-1], expected, atol=1e-4)


def test_a_tiny_dual_variable_that_must_become_zero_does():
    # A step smaller than any threshold still counts as long as it is not zero.
    X, signs, live = problem(2, seed=5)
    ones = np.ones(WIDTH)
    (n_iter, converged), _, _ = solve(X, signs, live, 10 * ones, 10 * ones)
    assert converged
    assert n_iter < 20_000


def test_running_out_of_passes_is_told():
    X, signs, live = problem(4)
    ones = np.ones(WIDTH)
    answer, _, _ = solve(X, signs, live, 100 * ones, 100 * ones, max_iter=2)
    assert answer == (2, False)


def test_the_scan_finds_close_rows_and_sums_the_loss_of_all():
    X, signs, live = problem(5)
    ones = np.ones(WIDTH)
    _, W, _ = solve(X, signs, live, ones, ones, np.arange(40, dtype=np.uint32))
    is_member = np.arange(N) < 40
    place = np.where(is_member, np.arange(N), -1).astype(np.int32)
    found, loss = np.empty(N, dtype=np.uint32), np.empty(WIDTH)
    half = np.full(WIDTH, 0.5, dtype=np.float32)
    n_found = scan_block(
        csr_arrays(X), signs[:40].ravel(), half, half, live, BIAS, np.float32(-0.6),
        W.ravel(), place, found, loss,
    )  # fmt: skip
    scores = X @ W[:-1] + W[-1]
    close = ~is_member & (scores[:, :5] > -0.6).any(axis=1)
    assert found[:n_found].tolist() == np.flatnonzero(close).tolist()
    signs[40:] = -1  # rows outside the working set count as negative in every lane
    expected = (np.maximum(0, 1 - signs * scores) ** 2).sum(axis=0)
    np.testing.assert_allclose(loss[:5], expected[:5], rtol=1e-4)
