import itertools
import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar, nnls
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

import labelwood
from builders import random_csr
from labelwood.core.classes import balanced
from labelwood.core.sparse import as_csr, csr_arrays
from labelwood.errors import DataError, LabelwoodWarning, ModelError, ParameterError
from labelwood.linear.budgeted import group_problem as budgeted_groups
from labelwood.linear.budgeted._feature_kernels import (
    combine,
    expected_gains,
    feature_table,
    margins,
    restrict,
    saliency,
)
from labelwood.linear.budgeted._newton_kernels import (
    _gradient,
    _hessian,
    _hessian_product,
    newton_step,
)
from labelwood.linear.budgeted._objective_kernels import (
    Problem,
    best_intercept,
    collapse,
    losses,
    shrink,
)
from labelwood.linear.budgeted.cutting_planes import solve_budgeted
from labelwood.linear.budgeted.estimator import BudgetedClassifier
from labelwood.linear.budgeted.group_problem import GroupSolver

EVERY = 1_000_000  # features in all: no limit


def noisy_problem(n=60, d=6, seed=0):
    """Features of both signs, of which the first two matter, and an uneven share of classes."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)).astype(np.float32)
    X[rng.random((n, d)) < 0.3] = 0
    signs = np.where(2 * X[:, 0] - X[:, 1] + 0.7 * rng.standard_normal(n) > 0.5, 1.0, -1.0)
    return X, signs


def planted(seed, *, hidden=False, n=3000, n_noise=100_000, n_planted=20):
    """Binary words: some decide, by unequal weights; a tenth of the classes are wrong.

    With `hidden`, the last two are mostly found together and pull in opposite directions, so
    that neither tells much alone.
    """
    rng = np.random.default_rng(seed)
    noise = sp.random_array((n, n_noise), density=0.02, format="csr", dtype=np.float32, rng=rng)
    noise.data[:] = 1
    words = (rng.random((n, n_planted)) < 0.2).astype(np.float32)
    if hidden:
        words[:, -1] = np.where(rng.random(n) < 0.85, words[:, -2], words[:, -1])
    weights = np.linspace(0.7, 1.3, n_planted) * np.where(np.arange(n_planted) % 2, 1, -1)
    y = words @ weights + 0.1 * rng.standard_normal(n) > 0
    y ^= rng.random(n) < 0.1
    order = rng.permutation(n_noise + n_planted)
    X = sp.csr_array(sp.hstack([sp.csr_array(words), noise], format="csr")[:, order])
    return X, y, np.flatnonzero(order < n_planted)


def svm_value(X, signs, costs, fit_intercept=True, ridge=1.0):
    """The least ½ Σ ridge w² + Σ c max(0, 1 − s(w·x + b))², by L-BFGS, and the (w, b) of it."""
    X = X.astype(np.float64)

    def objective(wb):
        b = wb[-1] if fit_intercept else 0.0
        slack = np.maximum(0, 1 - signs * (X @ wb[:-1] + b))
        pull = -2 * costs * slack * signs
        gradient = np.append(ridge * wb[:-1] + X.T @ pull, pull.sum() if fit_intercept else 0.0)
        return 0.5 * np.sum(ridge * wb[:-1] ** 2) + costs @ slack**2, gradient

    options = {"maxiter": 20_000, "ftol": 1e-15, "gtol": 1e-9}
    found = minimize(
        objective, np.zeros(X.shape[1] + 1), jac=True, method="L-BFGS-B", options=options
    )
    return float(found.fun), found.x


def relaxed_value(X, signs, costs, budget):
    """The least value over 0 ≤ ρ ≤ 1, Σρ ≤ budget, by SLSQP over ρ and L-BFGS over w."""

    def value(rho):
        return svm_value(X * np.sqrt(np.maximum(rho, 0)), signs, costs)[0]

    def gradient(rho):
        scaled = X * np.sqrt(np.maximum(rho, 0))
        w = svm_value(scaled, signs, costs)[1]
        slack = np.maximum(0, 1 - signs * (scaled @ w[:-1] + w[-1]))
        return -0.5 * (X.T @ (2 * costs * slack * signs)) ** 2

    d = X.shape[1]
    within = {"type": "ineq", "fun": lambda rho: budget - rho.sum(), "jac": lambda rho: -np.ones(d)}
    found = minimize(
        value,
        np.full(d, budget / d),
        jac=gradient,
        bounds=[(0, 1)] * d,
        constraints=[within],
        method="SLSQP",
        options={"ftol": 1e-11, "maxiter": 500},
    )
    return float(found.fun)


# The parts


@given(st.lists(st.floats(0, 10), min_size=1, max_size=6), st.floats(0.01, 100), st.integers(1, 3))
def test_shrinking_is_the_proximal_map_of_the_squared_sum_of_norms(norms, step, n_problems):
    rng = np.random.default_rng(0)
    starts = np.arange(0, 2 * len(norms) + 1, 2)
    u = rng.standard_normal((n_problems, starts[-1]))
    for h, norm in enumerate(norms):
        group = u[:, starts[h] : starts[h + 1]]
        group *= norm / np.linalg.norm(group)
    # Groups keep their direction; their lengths r ≥ 0 minimize ½‖r − norms‖² + step/2 (Σr)².
    system = np.vstack([np.eye(len(norms)), np.full(len(norms), np.sqrt(step))])
    lengths = nnls(system, np.append(norms, 0.0))[0]
    shrunk = u.copy()
    total = shrink(shrunk, starts, step)
    assert total == pytest.approx(lengths.sum(), abs=1e-9)
    for h, norm in enumerate(norms):
        part = slice(starts[h], starts[h + 1])
        scale = lengths[h] / norm if norm else 0.0
        np.testing.assert_allclose(shrunk[:, part], scale * u[:, part], atol=1e-8)


@given(st.integers(0, 10_000), st.floats(-5, 5))
def test_the_intercept_is_the_best_from_every_start(seed, start):
    rng = np.random.default_rng(seed)
    signs = np.where(rng.random(20) < 0.3, 1.0, -1.0)
    costs, products = rng.random(20) + 0.01, 3 * rng.standard_normal(20)

    def loss(b):
        return costs @ np.maximum(0, 1 - signs * (products + b)) ** 2

    found = best_intercept(signs, costs, products, start)
    reference = minimize_scalar(loss, bounds=(-20, 20), method="bounded", options={"xatol": 1e-10})
    assert loss(found) <= reference.fun + 1e-9


@given(st.integers(0, 10_000), st.integers(0, 40))
def test_the_compact_copy_holds_the_chosen_columns(seed, n_chosen):
    X = random_csr(12, 60, density=0.3, seed=seed)
    features = np.sort(np.random.default_rng(seed).permutation(60)[:n_chosen]).astype(np.uint32)
    indptr, indices, data = restrict(csr_arrays(X), feature_table(features))
    compact = sp.csr_array((data, indices.astype(np.int32), indptr), shape=(12, n_chosen))
    np.testing.assert_array_equal(compact.toarray(), X.toarray()[:, features])


@pytest.fixture(params=[True, False], ids=["intercept", "no intercept"])
def two_problems(request):
    """X, residuals, costs, whether there are intercepts, weights, and the curvature by hand."""
    X, signs = noisy_problem(n=20, d=4)
    X = X.astype(np.float64) + np.array([0, 1, 3, 0])
    rng = np.random.default_rng(0)
    costs, w = rng.random((2, 20)), rng.standard_normal((2, 4))
    slack = np.maximum(0, 1 - signs * (w @ X.T))
    active = costs * (slack > 0)
    center = active @ X / active.sum(axis=1, keepdims=True) if request.param else np.zeros((2, 4))
    curvature = 1 + 2 * np.einsum("vi,vij->vj", active, (X - center[:, None]) ** 2)
    return X, costs * slack * signs, costs, request.param, w, curvature


def test_what_a_weight_is_worth_follows_from_the_curvature(two_problems):
    X, residuals, costs, fit_intercept, w, curvature = two_problems
    worth = saliency(csr_arrays(as_csr(X)), residuals, costs, fit_intercept, w)
    np.testing.assert_allclose(worth, (w**2 * curvature).sum(axis=0), rtol=1e-6)


def test_what_a_feature_promises_follows_from_slope_and_curvature(two_problems):
    X, residuals, costs, fit_intercept, _, curvature = two_problems
    gains = expected_gains(csr_arrays(as_csr(X)), residuals, costs, fit_intercept, 4)
    expected = ((residuals @ X) ** 2 / curvature).sum(axis=0)
    np.testing.assert_allclose(gains, expected, rtol=1e-5)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_small_step_gains_what_was_promised(fit_intercept):
    X, signs = noisy_problem(n=80, d=5)
    costs = np.full((1, 80), 1e-3)  # so small that no slack changes its sign
    solver = GroupSolver(as_csr(X), signs, costs, None, fit_intercept, 1e-10, 10_000)
    before = solver.one_plane(np.array([0, 1], dtype=np.uint32), solver.no_plane())
    gains = expected_gains(solver.X, before.residuals, costs, fit_intercept, 5)
    for j in (2, 3, 4):
        after = solver.one_plane(np.array([0, 1, j], dtype=np.uint32), before)
        assert before.value - after.value == pytest.approx(2 * gains[j], rel=0.05, abs=2e-9)


def group_problem(fit_intercept):
    """Two folds, and two planes that share a feature; weights, and the value as a function."""
    X, signs = noisy_problem(n=50, d=4)
    costs = np.random.default_rng(1).random((2, 50)) + 0.2
    costs[0, :10] = 0
    positions = np.array([0, 1, 2, 2, 3], dtype=np.uint32)
    starts = np.array([0, 3, 5])
    problem = Problem(csr_arrays(as_csr(X)), 4, signs, costs, starts, positions, fit_intercept)
    weights = 0.3 * np.random.default_rng(2).standard_normal((2, 5))

    def value(w):
        products = collapse(w, positions, 4) @ X.T.astype(np.float64)
        total = losses(problem, products, np.zeros(2), np.empty((2, 50)))
        lengths = [np.linalg.norm(w[:, a:b]) for a, b in itertools.pairwise(starts)]
        return total + 0.5 * sum(lengths) ** 2

    return problem, weights, value


def derivatives(problem, weights):
    products, residuals = np.empty((2, 50)), np.empty((2, 50))
    margins(problem.X, collapse(weights, problem.positions, 4), products)
    losses(problem, products, np.zeros(2), residuals)
    at = _hessian(problem, weights, residuals)
    combine(problem.X, residuals, at.sums)
    return at, _gradient(problem, at)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_first_and_second_derivatives_are_limits_of_differences(fit_intercept):
    problem, weights, value = group_problem(fit_intercept)
    at, slope = derivatives(problem, weights)
    direction = np.random.default_rng(3).standard_normal((2, 5))
    h = 1e-6
    rise = (value(weights + h * direction) - value(weights - h * direction)) / (2 * h)
    assert np.sum(slope * direction) == pytest.approx(rise, rel=1e-6)
    after = derivatives(problem, weights + h * direction)[1]
    before = derivatives(problem, weights - h * direction)[1]
    np.testing.assert_allclose(
        _hessian_product(problem, at, direction), (after - before) / (2 * h), rtol=1e-5
    )


def test_a_step_of_newtons_leaves_groups_of_zero_and_lowers_the_value():
    problem, weights, value = group_problem(True)
    weights[:, 3:] = 0
    here, products, residuals = weights.copy(), np.empty((2, 50)), np.empty((2, 50))
    margins(problem.X, collapse(here, problem.positions, 4), products)
    at_start = value(weights)
    new, n_steps = newton_step(problem, here, products, np.zeros(2), residuals, at_start, 100)
    assert new < 0.9 * at_start
    assert new == pytest.approx(value(here))
    assert 1 <= n_steps <= 100
    assert not here[:, 3:].any()
    expected = collapse(here, problem.positions, 4)
    np.testing.assert_allclose(products, expected @ noisy_problem(n=50, d=4)[0].T, atol=1e-6)


# The problem solved


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [0.01, 1.0, 50.0])
def test_one_plane_of_all_features_is_the_support_vector_machine(fit_intercept, C):
    X, signs = noisy_problem()
    model = BudgetedClassifier(6, C=C, fit_intercept=fit_intercept, tol=1e-6).fit(X, signs)
    value, w = svm_value(X, signs, np.full(60, C), fit_intercept)
    assert model.objective_ == pytest.approx(value, rel=1e-7)
    np.testing.assert_allclose(model.coef_.toarray()[0], w[:-1], atol=1e-3)
    np.testing.assert_allclose(model.intercept_, w[-1:] if fit_intercept else 0, atol=1e-3)
    assert model.margin_ == pytest.approx(1 / np.linalg.norm(w[:-1]), rel=1e-3)


def test_one_plane_of_all_features_is_liblinears_solution():
    X, signs = noisy_problem(n=200)
    model = BudgetedClassifier(6, C=2.0, fit_intercept=False, tol=1e-6).fit(X, signs)
    theirs = LinearSVC(C=2.0, fit_intercept=False, dual=False, tol=1e-10, max_iter=100_000)
    theirs.fit(X.astype(np.float64), signs)
    np.testing.assert_allclose(model.coef_.toarray(), theirs.coef_, atol=1e-3)


@pytest.mark.parametrize(("seed", "budget"), [(0, 1), (1, 2), (2, 3)])
def test_planes_reach_the_optimum_over_all_scalings_of_features(seed, budget):
    X, signs = noisy_problem(seed=seed)
    costs = np.full(60, 0.3)
    solved = solve_budgeted(
        as_csr(X), signs, costs, budget=EVERY, plane_size=budget, tol=1e-6, max_planes=40
    )
    reference = relaxed_value(X.astype(np.float64), signs, costs, budget)
    assert solved.objective == pytest.approx(reference, rel=2e-5)
    assert solved.bound == pytest.approx(reference, rel=2e-5)


def two_planes(X, signs, costs, planes):
    """Value of the group problem with Σ_v ½ Σ_h ‖ω_vh‖²/μ_h, by a search over μ."""

    def value(share):
        scales = np.concatenate(
            [np.full(len(planes[0]), share), np.full(len(planes[1]), 1 - share)]
        )
        both = X[:, np.concatenate(planes)] * np.sqrt(scales)
        return sum(svm_value(both, signs, cost)[0] for cost in costs)

    options = {"xatol": 1e-7}
    return minimize_scalar(value, bounds=(0, 1), method="bounded", options=options).fun


@pytest.mark.parametrize("n_folds", [1, 3])
def test_two_planes_solve_the_group_problem_that_folds_share(n_folds):
    X, signs = noisy_problem(seed=3)
    folds = np.arange(60) % n_folds
    costs = np.array(
        [
            np.where(folds == v, 0.0, 2.0) if n_folds > 1 else np.full(60, 2.0)
            for v in range(n_folds)
        ]
    )
    solved = solve_budgeted(
        as_csr(X), signs, costs, budget=EVERY, plane_size=2, tol=1e-7, max_planes=2
    )
    assert len(solved.planes) == 2
    reference = two_planes(X.astype(np.float64), signs, costs, solved.planes)
    assert solved.objective == pytest.approx(reference, rel=1e-5)
    assert solved.coef.shape == (n_folds, solved.features.size)


def test_the_squared_sum_of_norms_is_not_the_sum_of_squared_norms():
    X, signs = noisy_problem(seed=3)
    costs = np.full((1, 60), 2.0)
    solved = solve_budgeted(
        as_csr(X), signs, costs, budget=EVERY, plane_size=2, tol=1e-7, max_planes=2
    )
    both = X[:, np.concatenate(solved.planes)]
    assert solved.objective > 1.001 * svm_value(both, signs, costs[0])[0]


def test_the_first_plane_holds_the_largest_differences_of_class_means():
    X, signs = noisy_problem(n=80, d=30, seed=1)
    solved = solve_budgeted(as_csr(X), signs, np.ones(80), budget=EVERY, plane_size=4, max_planes=1)
    difference = X[signs > 0].mean(axis=0) - X[signs < 0].mean(axis=0)
    assert solved.planes[0].tolist() == np.sort(np.argsort(-np.abs(difference))[:4]).tolist()


def test_the_second_plane_holds_the_largest_sums_of_dual_variables():
    X, signs = noisy_problem(n=80, d=30, seed=1)
    one = solve_budgeted(
        as_csr(X), signs, np.ones(80), budget=EVERY, plane_size=3, max_planes=1, tol=1e-8
    )
    two = solve_budgeted(
        as_csr(X), signs, np.ones(80), budget=EVERY, plane_size=3, max_planes=2, tol=1e-8
    )
    margins = signs * (X[:, one.features] @ one.coef[0] + one.intercepts[0])
    alpha = 2 * np.maximum(0, 1 - margins)
    sums = np.abs(X.T @ (alpha * signs))
    assert alpha @ signs == pytest.approx(0, abs=1e-9)
    assert two.planes[1].tolist() == np.sort(np.argsort(-sums)[:3]).tolist()


def test_folds_share_the_plane_of_the_greatest_sum_of_their_objectives():
    X, signs = noisy_problem(n=90, d=20, seed=2)
    folds = np.arange(90) % 3
    costs = (folds != np.arange(3)[:, None]).astype(float)
    solved = solve_budgeted(as_csr(X), signs, costs, budget=EVERY, plane_size=5, max_planes=1)
    scores = np.zeros(20)
    for cost in costs:
        alpha = cost * (1 - signs * (cost @ signs) / cost.sum())
        scores += (X.T @ (alpha * signs)) ** 2
    assert solved.planes[0].tolist() == np.sort(np.argsort(-scores)[:5]).tolist()


def test_folds_keep_to_one_budget_together():
    X, signs = noisy_problem(n=90, d=20, seed=2)
    costs = 3.0 * (np.arange(90) % 3 != np.arange(3)[:, None])
    solved = solve_budgeted(as_csr(X), signs, costs, budget=4, tol=1e-5)
    assert solved.features.size == 4
    values = [svm_value(X[:, solved.features], signs, cost)[0] for cost in costs]
    assert solved.objective == pytest.approx(sum(values), rel=1e-5)


def test_equal_problems_have_the_solution_of_one():
    X, signs = noisy_problem(n=60, d=20, seed=2)
    one = solve_budgeted(
        as_csr(X), signs, np.ones(60), budget=EVERY, plane_size=3, tol=1e-8, max_planes=3
    )
    three = solve_budgeted(
        as_csr(X), signs, np.ones((3, 60)), budget=EVERY, plane_size=3, tol=1e-8, max_planes=3
    )
    assert three.objective == pytest.approx(3 * one.objective, rel=1e-7)
    for coef in three.coef:
        np.testing.assert_allclose(coef, one.coef[0], atol=1e-4)


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.integers(1, 4), st.floats(0.01, 10))
def test_the_objective_falls_and_the_bound_holds_for_every_subset(seed, budget, C):
    X, signs = noisy_problem(n=40, d=5, seed=seed)
    if abs(signs.sum()) == signs.size:
        return
    model = BudgetedClassifier(budget, C=C, tol=1e-4).fit(X, signs)
    trace = model.objective_trace_
    assert np.all(np.diff(trace) <= 0)
    subsets = itertools.combinations(range(5), budget)
    best = min(svm_value(X[:, chosen], signs, np.full(40, C))[0] for chosen in subsets)
    assert model.lower_bound_ <= best * (1 + 1e-7)
    assert model.lower_bound_ <= trace[-1]
    assert model.objective_ >= best * (1 - 1e-7)
    assert model.selected_features_.size <= budget


@pytest.mark.parametrize("seed", range(5))
def test_where_the_budget_holds_all_features_it_is_the_best_subset(seed):
    X, signs = noisy_problem(d=4, seed=seed)
    subsets = [s for size in range(1, 5) for s in itertools.combinations(range(4), size)]
    best = min(svm_value(X[:, chosen], signs, np.ones(60))[0] for chosen in subsets)
    model = BudgetedClassifier(4, tol=1e-6).fit(X, signs)
    assert model.objective_ == pytest.approx(best, rel=1e-6)
    assert model.lower_bound_ == pytest.approx(best, rel=1e-6)


def test_planes_add_up_to_the_weights():
    X, signs = noisy_problem(n=100, d=40)
    model = BudgetedClassifier(12, plane_size=3, max_planes=4).fit(X, signs)
    assert model.planes_.shape == (len(model.objective_trace_) - 1, 40)
    assert np.all(np.diff(model.planes_.indptr) == 3)
    np.testing.assert_allclose(model.planes_.sum(axis=0), model.coef_.toarray()[0], atol=1e-12)
    np.testing.assert_array_equal(model.selected_features_, np.flatnonzero(model.coef_.toarray()))
    expected = X.astype(np.float64) @ model.coef_.toarray()[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-9, atol=1e-12)


def test_a_row_subset_gives_what_the_subset_alone_gives():
    X, signs = noisy_problem(n=100, d=40)
    rows = np.arange(3, 90, 2)
    part = solve_budgeted(
        as_csr(X), signs[rows], np.ones(rows.size), budget=EVERY, plane_size=3, rows=rows
    )
    alone = solve_budgeted(
        as_csr(X[rows]), signs[rows], np.ones(rows.size), budget=EVERY, plane_size=3
    )
    np.testing.assert_array_equal(part.features, alone.features)
    np.testing.assert_array_equal(part.coef, alone.coef)


def test_few_nonzeros_among_very_many_columns_are_the_same_problem():
    X, signs = noisy_problem(n=50, d=8)
    narrow = as_csr(X)
    columns = np.sort(np.random.default_rng(0).choice(2**31 - 10, 8, replace=False))
    positions = columns[narrow.indices].astype(np.int32)
    wide = sp.csr_array((narrow.data, positions, narrow.indptr), shape=(50, 2**31 - 10))
    here = solve_budgeted(narrow, signs, np.ones(50), budget=EVERY, plane_size=2)
    there = solve_budgeted(wide, signs, np.ones(50), budget=EVERY, plane_size=2)
    np.testing.assert_array_equal(there.features, columns[here.features])
    np.testing.assert_array_equal(there.coef, here.coef)


@pytest.mark.parametrize("scale", [1e-4, 1e4])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_columns_of_very_unlike_scales_are_solved_as_well(scale, fit_intercept):
    X, signs = noisy_problem(n=300, d=8)
    scales = np.ones(8)
    scales[[0, 5]] = scale
    model = BudgetedClassifier(8, fit_intercept=fit_intercept, tol=1e-6)
    model.fit((X * scales).astype(np.float32), signs)
    value = svm_value(X, signs, np.ones(300), fit_intercept, ridge=scales**-2.0)[0]
    assert model.objective_ == pytest.approx(value, rel=1e-5)
    assert model.n_iter_ < 2_000


@pytest.mark.parametrize("n_folds", [1, 3])
def test_planes_of_very_unlike_scales_reach_their_lower_bound(n_folds):
    X, signs = noisy_problem(n=200, d=12)
    X[:, 1] *= 1e4
    costs = np.ones((n_folds, 200))
    if n_folds > 1:
        costs[np.arange(200) % n_folds, np.arange(200)] = 0
    solved = solve_budgeted(
        as_csr(X), signs, costs, budget=EVERY, plane_size=3, tol=1e-5, max_planes=40
    )
    assert solved.converged
    assert solved.objective <= solved.bound * (1 + 1e-3)


def test_a_shifted_column_of_another_scale_is_solved_as_well():
    X, signs = noisy_problem(n=300, d=8)
    X[:, 0] = 1e4 * X[:, 0] + 1e5
    model = BudgetedClassifier(3).fit(X, signs)
    assert model.score(X, signs) > 0.85


# What stops it


def test_the_reason_of_stopping_is_told():
    X, signs = noisy_problem(n=100, d=40)
    limited = BudgetedClassifier(2, max_planes=1).fit(X, signs)
    assert limited.stop_reason_ == "limit of planes"
    loose = BudgetedClassifier(2, max_planes=50, tol=0.05).fit(X, signs)
    assert "lowers the objective by less than tol" in loose.stop_reason_
    exact = BudgetedClassifier(40, tol=1e-6).fit(X, signs)
    assert exact.stop_reason_ == "no plane lowers the objective by more than tol"
    assert exact.objective_ - exact.lower_bound_ <= 1e-6 * exact.objective_


def test_values_too_small_for_the_cost_are_said():
    X, signs = noisy_problem(n=200)
    small = BudgetedClassifier(2).fit(1e-4 * X, signs)
    assert np.unique(small.predict(1e-4 * X)).size == 1
    assert "no decision divides the samples: raise C, scale the columns" in small.stop_reason_
    larger = BudgetedClassifier(2, C=1e8).fit(1e-4 * X, signs)
    assert larger.score(1e-4 * X, signs) > 0.8
    assert "divides" not in larger.stop_reason_


def test_running_out_of_steps_is_not_called_convergence():
    X, signs = noisy_problem(n=100, d=40)
    with pytest.warns(
        ConvergenceWarning,
        match=r"iteration limit; .* \(scale=True\) around 0, or raise max_iter \(now 1\)",
    ):
        model = BudgetedClassifier(20, C=10, max_iter=1, max_planes=1).fit(X, signs)
    assert model.stop_reason_.startswith("iteration limit")
    assert model.n_iter_ == 1


def test_a_strict_fit_keeps_to_the_budget_and_is_no_worse_than_one_plane():
    X, signs = noisy_problem(n=100, d=40)
    loose = BudgetedClassifier(30, plane_size=3, C=5).fit(X, signs)
    strict = BudgetedClassifier(3, C=5).fit(X, signs)
    chosen = strict.selected_features_
    assert loose.selected_features_.size > 3
    assert chosen.size == 3
    assert strict.objective_ == pytest.approx(
        svm_value(X[:, chosen], signs, np.full(100, 5.0))[0], rel=1e-3
    )
    assert loose.objective_ < strict.objective_ <= strict.objective_trace_[1]
    np.testing.assert_array_equal(strict.planes_.toarray(), loose.planes_.toarray())


def test_planes_are_added_until_the_next_is_beyond_the_budget():
    X, signs = noisy_problem(n=100, d=40)
    model = BudgetedClassifier(7, plane_size=3, C=5, tol=1e-5).fit(X, signs)
    assert model.stop_reason_ == "the next plane is beyond the budget"
    wider = BudgetedClassifier(40, plane_size=3, C=5, tol=1e-5, max_planes=20).fit(X, signs)
    n_planes = model.planes_.shape[0]
    planes = np.split(wider.planes_.indices, wider.planes_.indptr[1:-1])
    assert np.unique(np.concatenate(planes[:n_planes])).size <= 7
    assert np.unique(np.concatenate(planes[: n_planes + 1])).size > 7
    np.testing.assert_array_equal(model.planes_.indices, np.concatenate(planes[:n_planes]))
    assert set(model.selected_features_) <= set(model.planes_.indices)


def test_a_plane_of_the_whole_budget_is_the_only_one_or_comes_again():
    X, signs = noisy_problem(n=100, d=40)
    model = BudgetedClassifier(3, plane_size=3).fit(X, signs)
    first = BudgetedClassifier(3, max_planes=1).fit(X, signs)
    np.testing.assert_allclose(model.coef_.toarray(), first.coef_.toarray(), rtol=1e-4)


def test_a_plane_larger_than_the_budget_is_refused():
    X, signs = noisy_problem()
    with pytest.raises(ParameterError, match=r"'plane_size' .* at most budget \(2\). Got 3"):
        BudgetedClassifier(2, plane_size=3).fit(X, signs)


def test_scaled_columns_are_judged_alike_whatever_their_units():
    X, signs = noisy_problem(n=100, d=40)
    weights = np.random.default_rng(1).integers(0, 3, 100).astype(float)
    units = 10.0 ** np.random.default_rng(0).uniform(-4, 4, 40)
    one = BudgetedClassifier(5, scale=True, tol=1e-5).fit(X, signs, weights)
    other = BudgetedClassifier(5, scale=True, tol=1e-5).fit(X * units, signs, weights)
    np.testing.assert_array_equal(one.selected_features_, other.selected_features_)
    np.testing.assert_allclose(
        one.decision_function(X), other.decision_function(X * units), rtol=1e-3, atol=1e-4
    )
    plain = BudgetedClassifier(5, tol=1e-5).fit(X * units, signs, weights)
    assert not np.array_equal(plain.selected_features_, one.selected_features_)


@pytest.mark.parametrize("plane_size", [None, 2])
def test_scaled_columns_are_as_if_they_came_so_and_weights_are_for_those_that_came(plane_size):
    X, signs = noisy_problem(n=100, d=40)
    X = np.asarray(X * np.arange(1, 41), dtype=np.float64)
    deviations = X.std(axis=0) * np.sqrt(5)
    model = BudgetedClassifier(5, plane_size=plane_size, scale=True).fit(X, signs)
    by_hand = BudgetedClassifier(5, plane_size=plane_size).fit(X / deviations, signs)
    np.testing.assert_array_equal(model.selected_features_, by_hand.selected_features_)
    np.testing.assert_allclose(
        model.coef_.toarray() * deviations, by_hand.coef_.toarray(), rtol=1e-3, atol=1e-6
    )
    if plane_size:
        np.testing.assert_allclose(model.planes_.sum(axis=0), model.coef_.toarray()[0])
    assert model.objective_ == pytest.approx(by_hand.objective_, rel=1e-4)
    assert model.margin_ == pytest.approx(1 / np.linalg.norm(model.coef_.toarray()))


def test_columns_that_do_not_vary_are_no_choice_when_scaled():
    X, signs = noisy_problem(n=100, d=6)
    X[:, 2] = 1e4
    model = BudgetedClassifier(6, scale=True).fit(X, signs)
    assert 2 not in model.selected_features_


def test_scaled_columns_may_be_many():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 5_000)).astype(np.float32)
    signs = np.where(X[:, 0] - X[:, 1] + 0.3 * rng.standard_normal(300) > 1.5, 1.0, -1.0)
    for width in (10, 1_000, 5_000):
        model = BudgetedClassifier(2, scale=True).fit(X[:, :width], signs)
        assert model.selected_features_.tolist() == [0, 1]
        assert model.score(X[:, :width], signs) > 0.93


def test_classes_of_equal_cost_do_not_change_the_scale():
    X, signs = noisy_problem(n=100, d=40)
    by_hand = X / (X.std(axis=0) * np.sqrt(5))
    model = BudgetedClassifier(5, scale=True, class_weight="balanced").fit(X, signs)
    expected = BudgetedClassifier(5, class_weight="balanced").fit(by_hand, signs)
    np.testing.assert_allclose(
        model.decision_function(X), expected.decision_function(by_hand), rtol=1e-3, atol=1e-4
    )


def test_rows_of_no_weight_change_no_step(tmp_path):
    X, signs = noisy_problem(n=100, d=40)
    wild = np.vstack([X, np.full((1, 40), 1e6, dtype=np.float32)])
    parameters = {"plane_size": 3, "max_planes": 4, "scale": True}
    model = BudgetedClassifier(12, **parameters).fit(X, signs)
    same = BudgetedClassifier(12, **parameters).fit(
        wild, np.append(signs, 1), np.append(np.ones(100), 0)
    )
    np.testing.assert_array_equal(model.coef_.toarray(), same.coef_.toarray())
    labelwood.save(model, tmp_path / "model")
    loaded = labelwood.load(tmp_path / "model")
    assert loaded.get_params() == model.get_params()
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("C", [1.0, 20.0])
def test_a_strict_fit_mostly_finds_the_best_subset(C):
    found = 0
    for seed in range(12):
        X, signs = noisy_problem(d=8, seed=seed)
        X += 0.7 * np.roll(X, 1, axis=1)
        subsets = itertools.combinations(range(8), 3)
        best = min(svm_value(X[:, chosen], signs, np.full(60, C))[0] for chosen in subsets)
        found += BudgetedClassifier(3, C=C).fit(X, signs).objective_ < 1.002 * best
    assert found >= 11


def test_a_strict_fit_looks_far_beyond_the_first_plane():
    X, signs = noisy_problem(n=60, d=300, seed=2)
    solved = BudgetedClassifier(10).fit(X, signs)
    one = solve_budgeted(as_csr(X), signs, np.ones(60), budget=10, max_planes=1)
    assert solved.objective_ < 0.7 * one.objective


def test_only_the_solution_that_is_kept_has_to_converge(monkeypatch):
    X, signs = noisy_problem(n=60, d=40)
    solve, n_solved = GroupSolver.one_plane, []

    def unsolved_at_first(self, features, near):
        n_solved.append(features.size)
        return solve(self, features, near)._replace(converged=len(n_solved) > 1)

    monkeypatch.setattr(GroupSolver, "one_plane", unsolved_at_first)
    solved = solve_budgeted(as_csr(X), signs, np.full(60, 5.0), budget=4)
    assert len(n_solved) > 3
    assert solved.converged


# Odd input


@pytest.mark.parametrize("budget", [0, -3, 2.5, None])
def test_a_budget_below_one_is_refused(budget):
    with pytest.raises(ParameterError, match=r"'budget' parameter .* must be an int ≥ 1"):
        BudgetedClassifier(budget).fit([[1.0], [2.0]], [0, 1])


def test_a_budget_above_the_number_of_features_is_said_once():
    X, signs = noisy_problem(d=4)
    with pytest.warns(LabelwoodWarning, match=r"budget=9 .* features \(4\)") as told:
        model = BudgetedClassifier(9, tol=1e-6).fit(X, signs)
    assert len(told) == 1
    all_of_them = BudgetedClassifier(4, tol=1e-6).fit(X, signs)
    np.testing.assert_array_equal(model.coef_.toarray(), all_of_them.coef_.toarray())


@pytest.mark.parametrize(
    ("y", "weights", "message"),
    [
        ([1, 1, 1], None, "y holds one class"),
        ([1, 0, 1], [1, 0, 2], r"one class \(of positive weight\)"),
        ([0, 1, 2], None, "Only binary classification is supported"),
        ([[0, 1], [1, 1], [0, 0]], None, "Only binary .* multilabel-indicator"),
        ([0, 1], None, "X has 3 rows and y has 2"),
        ([0, 1, 1], [1, -1, 1], "Negative values in data passed to `sample_weight`"),
        (None, None, "requires y to be passed"),
    ],
)
def test_classes_and_weights_that_cannot_be_used_are_refused(y, weights, message):
    with pytest.raises(DataError, match=message):
        BudgetedClassifier(1).fit([[1.0], [2.0], [3.0]], y, sample_weight=weights)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_no_numbers_are_refused(value):
    X, signs = noisy_problem()
    X[7, 2] = value
    with pytest.raises(DataError, match=r"X contains .* \(row 7, column 2\)"):
        BudgetedClassifier(2).fit(X, signs)
    model = BudgetedClassifier(2).fit(noisy_problem()[0], signs)
    with pytest.raises(DataError, match=r"X contains .* \(row 7, column 2\)"):
        model.predict(X)


def test_rows_without_a_feature_pull_on_the_intercept_alone():
    X, signs = noisy_problem()
    X[:20] = 0
    model = BudgetedClassifier(6, tol=1e-6).fit(X, signs)
    value, w = svm_value(X, signs, np.ones(60))
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(model.decision_function(X[:1]), w[-1], atol=1e-3)


def test_constant_features_are_never_chosen():
    X, signs = noisy_problem()
    X[:, 3] = 100.0
    model = BudgetedClassifier(6, tol=1e-6).fit(X, signs)
    assert 3 not in model.selected_features_
    assert 3 not in model.planes_.indices


@pytest.mark.parametrize("value", [0.0, 5.0])
def test_features_that_tell_nothing_give_the_commoner_class(value):
    model = BudgetedClassifier(2).fit(np.full((5, 2), value), [0, 1, 1, 0, 1])
    assert model.selected_features_.size == 0
    assert model.planes_.shape == (0, 2)
    assert model.margin_ == np.inf
    assert model.predict([[1, 2]]).tolist() == [1]


def test_a_weak_first_plane_is_kept():
    X, signs = noisy_problem()
    model = BudgetedClassifier(2, C=1e-6).fit(X, signs)
    assert 1 - model.objective_trace_[1] / model.objective_trace_[0] < model.tol
    assert model.selected_features_.size == 2


def test_weights_count_as_repetitions():
    X, signs = noisy_problem(n=40, d=12)
    times = np.random.default_rng(0).integers(0, 4, 40)
    model = BudgetedClassifier(3, tol=1e-6, max_planes=5)  # of later ones several are as good
    weighted = clone(model).fit(X, signs, sample_weight=times)
    repeated = clone(model).fit(X.repeat(times, axis=0), signs.repeat(times))
    np.testing.assert_array_equal(weighted.planes_.indices, repeated.planes_.indices)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-6)
    np.testing.assert_allclose(
        weighted.coef_.toarray(), repeated.coef_.toarray(), rtol=1e-3, atol=1e-4
    )


def test_balanced_classes_cost_the_same():
    X, signs = noisy_problem(n=200, d=12)
    weights = np.random.default_rng(0).uniform(0.5, 2, 200)
    model = BudgetedClassifier(3, class_weight="balanced", tol=1e-6)
    model.fit(X, signs, sample_weight=weights)
    sides = [weights[signs == side].sum() for side in (-1, 1)]
    by_hand = weights * np.where(
        signs > 0, sum(sides) / (2 * sides[1]), sum(sides) / (2 * sides[0])
    )
    other = BudgetedClassifier(3, tol=1e-6).fit(X, signs, sample_weight=by_hand)
    assert sides[0] > 1.2 * sides[1]
    np.testing.assert_allclose(model.coef_.toarray(), other.coef_.toarray(), rtol=1e-6)
    with pytest.raises(
        ParameterError, match=r"'class_weight' .* must be one of 'balanced' or None"
    ):
        BudgetedClassifier(3, class_weight={1: 2.0}).fit(X, signs)


@pytest.mark.parametrize("weight", [0.0, 5e-324])
def test_balanced_weights_of_next_to_nothing_are_numbers(weight):
    weights = balanced(np.array([1.0, 3.0, weight]), np.array([False, False, True]))
    np.testing.assert_allclose(weights, [0.5, 1.5, 2.0 if weight else 0.0])


def test_small_problems_do_not_ask_for_the_free_memory(monkeypatch):
    def asked(*_arguments):
        raise AssertionError

    X, signs = noisy_problem()
    monkeypatch.setattr(budgeted_groups, "require_memory", asked)
    BudgetedClassifier(2).fit(X, signs)
    monkeypatch.setattr(budgeted_groups, "_LITTLE", 1_000)
    with pytest.raises(AssertionError):
        BudgetedClassifier(2).fit(X, signs)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"signs": [1, 0]}, "signs must be"),
        ({"costs": [1, np.nan]}, "costs must be"),
        ({"costs": [1, -1]}, "costs must be"),
        ({"costs": [[[1, 1]]]}, "costs must be"),
        ({"rows": [0, 5]}, "rows must be numbers"),
        ({"costs": [1e101, 1]}, "too large; scale them down"),
    ],
)
def test_bad_problems_are_refused(arguments, message):
    given = {"signs": [1, -1], "costs": [1, 1], "budget": 1, **arguments}
    with pytest.raises(DataError, match=message):
        solve_budgeted(as_csr([[1, 0], [0, 1]]), **given)


# The fitted model


@pytest.mark.parametrize(
    "damage",
    [
        {"intercept_": np.zeros(2)},
        {"coef_": sp.csr_array((1, 3))},
        {"coef_": np.zeros((1, 6))},
        {"planes_": sp.csr_array((1, 7))},
        {"classes_": np.arange(3)},
        {"stop_reason_": 1},
    ],
)
def test_damaged_models_are_refused(tmp_path, damage):
    model = BudgetedClassifier(3).fit(*noisy_problem())
    for name, value in damage.items():
        setattr(model, name, value)
    labelwood.save(model, tmp_path / "model")
    with pytest.raises(ModelError, match="not a valid labelwood model"):
        labelwood.load(tmp_path / "model")


def test_a_second_fit_starts_anew():
    X, signs = noisy_problem(n=80, d=20)
    model = BudgetedClassifier(3).fit(X[:, :5], -signs)
    again = model.fit(X, signs)
    fresh = clone(model).fit(X, signs)
    np.testing.assert_array_equal(again.coef_.toarray(), fresh.coef_.toarray())


# What it is for


def test_it_finds_planted_features_among_noise():
    X, y, features = planted(0)
    model = BudgetedClassifier(20).fit(X, y)
    assert model.selected_features_.tolist() == features.tolist()


def test_later_planes_find_features_that_tell_nothing_alone():
    X, y, features = planted(0, hidden=True)
    model = BudgetedClassifier(20, C=0.01).fit(X, y)
    assert set(model.planes_[[0]].indices) != set(features)
    assert model.selected_features_.tolist() == features.tolist()


@pytest.mark.slow
def test_it_finds_exactly_the_planted_features_in_nearly_every_draw():
    exact = 0
    for seed in range(20):
        X, y, features = planted(seed)
        chosen = BudgetedClassifier(20).fit(X, y).selected_features_
        exact += chosen.tolist() == features.tolist()
    assert exact >= 19


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*penalty:FutureWarning", "ignore:.*penalty:UserWarning")
@pytest.mark.parametrize("seed", range(20))
def test_tuned_l1_logistic_keeps_more_than_twice_the_planted_features(seed):
    X, y, features = planted(seed)
    logistic = LogisticRegression(penalty="l1", solver="liblinear", tol=1e-3)
    grid = {"C": [0.05, 0.1, 0.16, 0.25]}
    tuned = GridSearchCV(logistic, grid, cv=3, scoring="neg_log_loss").fit(X, y)
    assert np.count_nonzero(tuned.best_estimator_.coef_) > 2 * features.size


@pytest.mark.slow
def test_sixteen_million_columns_are_a_normal_input():
    rng = np.random.default_rng(0)
    n, width, per_row = 20_000, 16_609_143, 300
    columns = rng.integers(0, width, (n, per_row)).astype(np.int32)
    features = np.sort(rng.choice(width, 50, replace=False))
    there = rng.random((n, 50)) < 0.1
    columns[:, :50] = np.where(there, features, columns[:, :50])
    y = there @ np.where(np.arange(50) % 2, 1, -1) + 0.3 * rng.standard_normal(n) > 0
    indptr = np.arange(n + 1) * per_row
    data = np.ones(n * per_row, dtype=np.float32)
    X = sp.csr_array((data, columns.ravel(), indptr), shape=(n, width))
    model = BudgetedClassifier(50).fit(X, y)
    assert model.selected_features_.tolist() == features.tolist()


@pytest.mark.parametrize("seed", range(20))
def test_an_intercept_stays_where_no_digit_is_left_to_gain(seed):
    rng = np.random.default_rng(seed)
    signs = np.where(np.arange(6698) < 4, -1.0, 1.0)
    products = rng.normal(0, 10.0 ** rng.integers(-8, 3), signs.size)
    costs = np.ones(signs.size)
    b = best_intercept(signs, costs, products, 0.0)
    grid = b + np.array([-1e-3, 0, 1e-3]) * max(abs(b), 1)
    losses = [np.sum(np.maximum(0, 1 - signs * (products + one)) ** 2) for one in grid]
    assert losses[1] <= min(losses) * (1 + 1e-12)


def test_rounding_does_not_make_the_solver_run_for_ever():
    code = (
        "import numpy as np, warnings\n"
        "warnings.simplefilter('ignore')\n"
        "from labelwood import BudgetedClassifier\n"
        "X = [[896110720, -202774944], [230328400, -1287679488], [-460302880, 640970368],"
        " [-1052850560, 110873488], [900363456, -113577784], [718509312, -319601664]]\n"
        "print(BudgetedClassifier(2, max_iter=100).fit(X, [1, 0, 0, 0, 1, 0]).n_iter_)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert int(done.stdout) <= 400


def test_a_huge_constant_column_does_not_hide_the_others():
    rng = np.random.default_rng(0)
    y = rng.random(200) < 0.5
    X = np.column_stack([np.full(200, 1e10), np.where(y, 1.0, -1.0)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = BudgetedClassifier(1).fit(X, y)
    assert 1 in model.planes_.indices


@pytest.mark.parametrize("name", ["coef_", "intercept_"])
def test_numbers_that_are_not_finite_are_refused(name):
    model = BudgetedClassifier(1).fit([[1.0], [-1.0]], [1, 0])
    value = getattr(model, name)
    (value.data if name == "coef_" else value)[:] = np.nan
    with pytest.raises(DataError, match="not finite"):
        model._check_fitted()
