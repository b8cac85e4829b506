import itertools

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.sparse import hstack
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from builders import random_csr
from labelwood.core.lanes import WIDTH
from labelwood.core.random import kernel_states
from labelwood.core.sparse import csr_arrays
from labelwood.linear.l2_logistic._block_kernels import _new_alpha, solve_logistic_block
from labelwood.linear.l2svm.solver import row_norms

N, D = 150, 25


def problem(n_lanes, seed=0):
    X = random_csr(N, D, density=0.3, seed=seed)
    rng = np.random.default_rng(seed)
    scores = X @ rng.standard_normal((D, WIDTH)) + 0.5 * rng.standard_normal((N, WIDTH))
    shares = np.linspace(0.5, 0.95, WIDTH)  # of negatives
    borders = [np.quantile(scores[:, lane], share) for lane, share in enumerate(shares)]
    signs = np.where(scores > borders, 1, -1).astype(np.float32)
    live = (np.arange(WIDTH) < n_lanes).astype(np.float32)
    return X, signs, live


def solve(X, signs, live, positive, negative, *, rows=None, bias=1, tol=1e-3, max_iter=10_000, W=0):
    rows = np.arange(N, dtype=np.uint32) if rows is None else rows
    alpha = np.zeros(rows.size * WIDTH, dtype=np.float32)
    W = np.full((D + 1) * WIDTH, W, dtype=np.float32)
    arrays = csr_arrays(X)
    answer = solve_logistic_block(
        arrays,
        row_norms(arrays, bias),
        rows,
        signs[rows].ravel(),
        (0.5 / positive).astype(np.float32),
        (0.5 / negative).astype(np.float32),
        live,
        np.float32(bias),
        tol,
        max_iter,
        kernel_states(0, 1)[0],
        np.empty(rows.size, dtype=np.uint32),
        alpha,
        W,
    )
    return answer, W.reshape(-1, WIDTH), alpha.reshape(-1, WIDTH)


def with_constant(X, bias):
    """The rows with the constant feature last, so that its weight is regularized too."""
    return hstack([X, np.full((X.shape[0], 1), bias)], format="csr").astype(np.float64)


def liblinear(X, signs, cost):
    model = LogisticRegression(solver="liblinear", fit_intercept=False, tol=1e-8, max_iter=1000)
    return model.fit(X, signs, sample_weight=cost).coef_[0]


def objective(X, signs, cost, w):
    return 0.5 * w @ w + cost @ np.logaddexp(0, -signs * (X @ w))


@pytest.mark.parametrize(("n_lanes", "bias"), [(1, 1.0), (7, 0.0), (16, 1.0), (16, 3.0)])
def test_every_lane_has_the_objective_of_scikit_learn(n_lanes, bias):
    X, signs, live = problem(n_lanes)
    positive, negative = np.geomspace(0.1, 20, WIDTH), np.geomspace(10, 0.2, WIDTH)
    (_, solved), W, _ = solve(X, signs, live, positive, negative, bias=bias, tol=0.01)
    assert solved
    wide = with_constant(X, bias)
    for lane in range(n_lanes):
        sign = signs[:, lane].astype(np.float64)
        cost = np.where(sign > 0, positive[lane], negative[lane])
        best = objective(wide, sign, cost, liblinear(wide, sign, cost))
        ours = objective(wide, sign, cost, W[:, lane].astype(np.float64))
        assert ours == pytest.approx(best, rel=1e-3)


def test_the_weights_are_those_of_the_dual_variables_and_these_lie_inside_their_box():
    X, signs, live = problem(16, seed=1)
    positive, negative = np.linspace(0.5, 3, WIDTH), np.linspace(2, 0.2, WIDTH)
    _, W, alpha = solve(X, signs, live, positive, negative)
    np.testing.assert_allclose(W, with_constant(X, 1).T @ (alpha * signs), atol=1e-4)
    cost = np.where(signs > 0, positive, negative)
    assert np.all((alpha > 0) & (alpha < cost))
    margins = signs * (with_constant(X, 1) @ W)
    np.testing.assert_allclose(alpha, cost / (1 + np.exp(margins)), atol=1e-3)


def test_a_row_subset_uses_those_rows_only():
    X, signs, live = problem(4)
    ones, rows = np.ones(WIDTH), np.arange(0, N, 2, dtype=np.uint32)
    _, W, _ = solve(X, signs, live, ones, ones, rows=rows, tol=1e-4)
    wide = with_constant(X, 1)[rows]
    for lane in range(4):
        theirs = liblinear(wide, signs[rows, lane], np.ones(rows.size))
        np.testing.assert_allclose(W[:, lane], theirs, atol=1e-3)


def test_dead_lanes_stay_as_they_are():
    X, signs, live = problem(5)
    ones = np.ones(WIDTH)
    _, W, alpha = solve(X, signs, live, ones, ones, W=0.5)
    assert np.all(W[:, 5:] == 0.5)
    assert not alpha[:, 5:].any()
    assert np.all(W[:, :5] != 0.5)


@pytest.mark.parametrize("cost", [0.01, 1.0, 10.0, 100.0, 1e4])
@pytest.mark.parametrize("square", [0.0, 1.0, 2.0, 50.0])
def test_a_visit_solves_its_equation_from_wherever_it_starts(cost, square):
    rng = np.random.default_rng(0)
    shares = np.concatenate([[0, 1], rng.random(10), rng.random(10) ** 8, 1 - rng.random(10) ** 8])
    for alpha, score in itertools.product(cost * shares, [-60, -9, -3, -0.1, 0, 0.1, 3, 9, 60]):

        def value(u, alpha=alpha, score=score):
            return u + square * (cost * expit(u) - alpha) + score

        reach = square * cost + 1
        root = brentq(value, -score - reach, -score + reach, xtol=1e-12)
        new = _new_alpha(cost, square, float(score), float(alpha))
        assert new == pytest.approx(cost * expit(root), abs=1e-5 * cost)


@pytest.mark.parametrize("C", [0.3, 10.0, 100.0])
def test_a_tighter_tolerance_comes_closer_to_the_optimum(C):
    X, signs, live = problem(16, seed=2)
    wide, cost = with_constant(X, 1), np.full(N, C)
    values, passes = [], []
    for tol in (1.0, 0.1, 1e-3):
        (n_iter, solved), W, _ = solve(X, signs, live, *[np.full(WIDTH, C)] * 2, tol=tol)
        assert solved
        lanes = [(signs[:, lane], cost, W[:, lane].astype(np.float64)) for lane in range(WIDTH)]
        values.append(sum(objective(wide, *lane) for lane in lanes))
        passes.append(n_iter)
    assert values[0] > values[1] > values[2]
    assert passes[0] < passes[1] < passes[2]


def test_running_out_of_passes_is_told():
    X, signs, live = problem(4)
    cost = np.full(WIDTH, 10.0)
    answer, _, _ = solve(X, signs, live, cost, cost, max_iter=2)
    assert answer == (2, False)
