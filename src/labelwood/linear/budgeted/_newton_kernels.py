"""Newton steps for the group problem, whose columns may have very different scales.

Where no group is zero, ½ (Σ_h ‖ω_h‖)² has the Hessian u uᵀ + S (I − u_h u_hᵀ)/‖ω_h‖, with
S = Σ_h ‖ω_h‖ and u the unit vectors u_h of all groups. The loss has 2 Σ c_i x̃_i x̃_iᵀ over the
rows of positive slack, where x̃ is centered if there is an intercept. The system is solved by
conjugate gradients preconditioned with the diagonal, which makes the scales of columns harmless.
"""

from typing import NamedTuple

import numpy as np

from labelwood.core.allocation import empty, zeros
from labelwood.core.kernel import exact_kernel
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import DoubleArray, PointerArray
from labelwood.linear.budgeted._feature_kernels import combine, margins
from labelwood.linear.budgeted._objective_kernels import (
    Problem,
    collapse,
    group_norms,
    losses,
    total_norm,
)

_CG_TOL = 1e-6  # of the squared residual norm, relative to its first value
_MAX_CG_ITERATIONS = 200
_MAX_BACKTRACKS = 12
# A centered sum of squares below this share of the sum itself is only rounding.
_LEAST_VARIATION = 1e-10


class _Hessian(NamedTuple):
    """What the Hessian at some weights is made of.

    `costs` are those of the rows of positive slack, else zero, and `totals` their sums if there
    is an intercept, else zero; `norms` are the ‖ω_h‖, `total_norm` is their sum and `units` are the
    u_h, zero where the group is zero; `products` and `sums` are workspace.
    """

    costs: DoubleArray
    totals: DoubleArray
    norms: DoubleArray
    total_norm: float
    units: DoubleArray
    products: DoubleArray
    sums: DoubleArray


@exact_kernel
def newton_step(
    problem: Problem,
    weights: DoubleArray,
    products: DoubleArray,
    intercepts: DoubleArray,
    residuals: DoubleArray,
    value: float,
    max_steps: int,
) -> tuple[float, int]:
    """Replace `weights` (and their `products`) by a Newton step that lowers the objective, if any.

    Returns the new value and the iterations of conjugate gradients. Groups that are zero stay so,
    and a group that the step would flip becomes zero.
    """
    losses(problem, products, intercepts, residuals)
    hessian = _hessian(problem, weights, residuals)
    combine(problem.X, residuals, hessian.sums)
    gradient = _gradient(problem, hessian)
    d, n_steps = _solve(problem, hessian, gradient, min(max_steps, _MAX_CG_ITERATIONS))
    trial, trial_products = empty(weights.shape, np.float64), empty(products.shape, np.float64)
    step = 1.0
    for _ in range(_MAX_BACKTRACKS):
        for v in range(weights.shape[0]):
            for e in range(weights.shape[1]):
                trial[v, e] = weights[v, e] + step * d[v, e]
        _stop_at_zero(trial, weights, problem.starts)
        margins(problem.X, collapse(trial, problem.positions, problem.n_features), trial_products)
        new = losses(problem, trial_products, intercepts, residuals)
        new += 0.5 * total_norm(trial, problem.starts) ** 2
        if new < value:
            assign(weights, trial)
            assign(products, trial_products)
            return new, n_steps
        # The model ignores the hinges that the step crosses, so that it may have to be shortened.
        step *= 0.5
    return value, n_steps


@exact_kernel
def assign(target: DoubleArray, source: DoubleArray) -> None:
    """`target[:] = source`."""
    for v in range(target.shape[0]):
        for e in range(target.shape[1]):
            target[v, e] = source[v, e]


@exact_kernel
def _hessian(problem: Problem, weights: DoubleArray, residuals: DoubleArray) -> _Hessian:
    costs, totals = np.zeros_like(residuals), zeros(residuals.shape[0], np.float64)
    for v in range(costs.shape[0]):
        total = 0.0
        for i in range(costs.shape[1]):
            # A squared hinge has curvature only where its slack, and hence its residual, is not 0.
            if residuals[v, i] != 0:
                costs[v, i] = problem.costs[v, i]
            total += costs[v, i]
        totals[v] = total if problem.fit_intercept else 0.0
    norms, units, total = group_norms(weights, problem.starts), weights.copy(), 0.0
    for h in range(norms.size):
        total += norms[h]
        if norms[h] > 0:
            for v in range(units.shape[0]):
                for e in range(problem.starts[h], problem.starts[h + 1]):
                    units[v, e] /= norms[h]
    sums = empty((weights.shape[0], problem.n_features), np.float64)
    return _Hessian(costs, totals, norms, total, units, empty(costs.shape, np.float64), sums)


@exact_kernel
def _gradient(problem: Problem, hessian: _Hessian) -> DoubleArray:
    """The gradient, with Σ r_i x_i in `hessian.sums`; zero in groups that are zero."""
    total = hessian.total_norm
    gradient = np.zeros_like(hessian.units)
    for h in range(hessian.norms.size):
        if hessian.norms[h] > 0:
            for v in range(gradient.shape[0]):
                for e in range(problem.starts[h], problem.starts[h + 1]):
                    gradient[v, e] = (
                        total * hessian.units[v, e] - 2.0 * hessian.sums[v, problem.positions[e]]
                    )
    return gradient


@exact_kernel
def _solve(
    problem: Problem, hessian: _Hessian, gradient: DoubleArray, max_steps: int
) -> tuple[DoubleArray, int]:
    """Solve H d = −gradient by preconditioned conjugate gradients; d and the iterations."""
    inverse_diagonal = _inverse_diagonal(problem, hessian)
    rows, columns = gradient.shape
    d, r, p = (
        zeros(gradient.shape, np.float64),
        empty(gradient.shape, np.float64),
        empty(gradient.shape, np.float64),
    )
    rz = 0.0
    for v in range(rows):
        for e in range(columns):
            r[v, e] = -gradient[v, e]
            p[v, e] = r[v, e] * inverse_diagonal[v, e]
            rz += r[v, e] * p[v, e]
    first_rz, n_steps = rz, 0
    while n_steps < max_steps and rz > _CG_TOL * first_rz:
        n_steps += 1
        Hp = _hessian_product(problem, hessian, p)
        pHp = _dot(p, Hp, 0, columns)
        if pHp <= 0:  # H is positive definite; only rounding can get weights.
            break
        step, new_rz = rz / pHp, 0.0
        for v in range(rows):
            for e in range(columns):
                d[v, e] += step * p[v, e]
                r[v, e] -= step * Hp[v, e]
                z = r[v, e] * inverse_diagonal[v, e]
                new_rz += r[v, e] * z
        momentum = new_rz / rz
        for v in range(rows):
            for e in range(columns):
                p[v, e] = r[v, e] * inverse_diagonal[v, e] + momentum * p[v, e]
        rz = new_rz
    return d, n_steps


@exact_kernel
def _inverse_diagonal(problem: Problem, hessian: _Hessian) -> DoubleArray:
    """The reciprocal of the Hessian's diagonal; zero in groups that are zero."""
    X, total = problem.X, hessian.total_norm
    inverse = np.zeros_like(hessian.units)
    for v in range(inverse.shape[0]):
        squares, sums = zeros(problem.n_features, np.float64), zeros(problem.n_features, np.float64)
        _moments(X, hessian.costs[v], squares, sums)
        for h in range(hessian.norms.size):
            if hessian.norms[h] > 0:
                for e in range(problem.starts[h], problem.starts[h + 1]):
                    j = problem.positions[e]
                    variation = squares[j]
                    if hessian.totals[v] > 0:
                        # By rounding the difference may be negative, or far too small for a nearly
                        # constant column.
                        centered = variation - sums[j] * sums[j] / hessian.totals[v]
                        variation = max(centered, _LEAST_VARIATION * variation)
                    inverse[v, e] = 1.0 / (2.0 * variation + total / hessian.norms[h])
    return inverse


@exact_kernel
def _moments(X: CSRArrays, costs: DoubleArray, squares: DoubleArray, sums: DoubleArray) -> None:
    for i in range(costs.size):
        if costs[i] > 0:
            for p in range(np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])):
                x = np.float64(X.data[p])
                squares[X.indices[p]] += costs[i] * x * x
                sums[X.indices[p]] += costs[i] * x


@exact_kernel
def _hessian_product(problem: Problem, hessian: _Hessian, d: DoubleArray) -> DoubleArray:
    """H d for a d that is zero in the groups that are zero."""
    margins(problem.X, collapse(d, problem.positions, problem.n_features), hessian.products)
    for v in range(d.shape[0]):
        # The intercept is eliminated: H is that of the rows centered by their weighted mean.
        mean = 0.0
        if hessian.totals[v] > 0:
            for i in range(hessian.costs.shape[1]):
                mean += hessian.costs[v, i] * hessian.products[v, i]
            mean /= hessian.totals[v]
        for i in range(hessian.costs.shape[1]):
            hessian.products[v, i] = hessian.costs[v, i] * (hessian.products[v, i] - mean)
    combine(problem.X, hessian.products, hessian.sums)
    total, u_dot_d = hessian.total_norm, _dot(hessian.units, d, 0, d.shape[1])
    Hd = zeros(d.shape, np.float64)
    for h in range(hessian.norms.size):
        if hessian.norms[h] > 0:
            group_dot = _dot(hessian.units, d, problem.starts[h], problem.starts[h + 1])
            for v in range(d.shape[0]):
                for e in range(problem.starts[h], problem.starts[h + 1]):
                    orthogonal = d[v, e] - group_dot * hessian.units[v, e]
                    Hd[v, e] = u_dot_d * hessian.units[v, e] + total / hessian.norms[h] * orthogonal
                    Hd[v, e] += 2.0 * hessian.sums[v, problem.positions[e]]
    return Hd


@exact_kernel
def _dot(a: DoubleArray, b: DoubleArray, start: int, end: int) -> float:
    total = 0.0
    for v in range(a.shape[0]):
        for e in range(start, end):
            total += a[v, e] * b[v, e]
    return total


@exact_kernel
def _stop_at_zero(trial: DoubleArray, weights: DoubleArray, starts: PointerArray) -> None:
    """Set groups to zero that the step would flip: the penalty has a kink there."""
    for h in range(starts.size - 1):
        if _dot(trial, weights, starts[h], starts[h + 1]) <= 0:
            for v in range(trial.shape[0]):
                for e in range(starts[h], starts[h + 1]):
                    trial[v, e] = 0.0
