"""Newton steps for the group problem, whose columns may have very different scales.

Where no group is zero, ½ (Σ_h ‖ω_h‖)² has the Hessian u uᵀ + S (I − u_h u_hᵀ)/‖ω_h‖, with
S = Σ_h ‖ω_h‖ and u the unit vectors u_h of all groups. The loss has 2 Σ c_i x̃_i x̃_iᵀ over the
rows of positive slack, where x̃ is centered if there is an intercept. The system is solved by
conjugate gradients preconditioned with the diagonal, which makes the scales of columns harmless.
"""

from typing import NamedTuple

import numpy as np

from labelwood.core.kernel import exact_kernel
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import DoubleArray, PointerArray
from labelwood.linear.budgeted._feature_kernels import combine, margins
from labelwood.linear.budgeted._objective_kernels import (
    Problem,
    collapse,
    group_norms,
    losses,
)

_CG_TOL = 1e-6  # of the squared residual norm, relative to its first value
_MAX_CG_ITERATIONS = 200
_MAX_BACKTRACKS = 12
# A centered sum of squares below this share of the sum itself is only rounding.
_LEAST_VARIATION = 1e-10


class _Hessian(NamedTuple):
    """What the Hessian at some weights is made of.

    `costs` are those of the rows of positive slack, else zero, and `totals` their sums if there
    is an intercept, else zero; `norms` are the ‖ω_h‖ and `units` the u_h, zero where the group is
    zero; `products` and `sums` are workspace.
    """

    costs: DoubleArray
    totals: DoubleArray
    norms: DoubleArray
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
    trial, trial_products = np.empty_like(weights), np.empty_like(products)
    step = 1.0
    for _ in range(_MAX_BACKTRACKS):
        trial[:] = weights + step * d
        _stop_at_zero(trial, weights, problem.starts)
        margins(problem.X, collapse(trial, problem.positions, problem.n_features), trial_products)
        new = losses(problem, trial_products, intercepts, residuals)
        new += 0.5 * group_norms(trial, problem.starts).sum() ** 2
        if new < value:
            weights[:] = trial
            products[:] = trial_products
            return new, n_steps
        # The model ignores the hinges that the step crosses, so that it may have to be shortened.
        step *= 0.5
    return value, n_steps


@exact_kernel
def _hessian(problem: Problem, weights: DoubleArray, residuals: DoubleArray) -> _Hessian:
    costs = np.where(residuals != 0, problem.costs, 0.0)
    totals = np.zeros(costs.shape[0])
    if problem.fit_intercept:
        for v in range(costs.shape[0]):
            totals[v] = costs[v].sum()
    norms, units = group_norms(weights, problem.starts), weights.copy()
    for h in range(norms.size):
        if norms[h] > 0:
            units[:, problem.starts[h] : problem.starts[h + 1]] /= norms[h]
    sums = np.empty((weights.shape[0], problem.n_features))
    return _Hessian(costs, totals, norms, units, np.empty_like(costs), sums)


@exact_kernel
def _gradient(problem: Problem, hessian: _Hessian) -> DoubleArray:
    """The gradient, with Σ r_i x_i in `hessian.sums`; zero in groups that are zero."""
    total = hessian.norms.sum()
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
    d, r = np.zeros_like(gradient), -gradient
    p = r * inverse_diagonal
    rz = (r * p).sum()
    first_rz, n_steps = rz, 0
    while n_steps < max_steps and rz > _CG_TOL * first_rz:
        n_steps += 1
        Hp = _hessian_product(problem, hessian, p)
        pHp = (p * Hp).sum()
        if pHp <= 0:  # H is positive definite; only rounding can get weights.
            break
        d += rz / pHp * p
        r -= rz / pHp * Hp
        z = r * inverse_diagonal
        new_rz = (r * z).sum()
        p = z + new_rz / rz * p
        rz = new_rz
    return d, n_steps


@exact_kernel
def _inverse_diagonal(problem: Problem, hessian: _Hessian) -> DoubleArray:
    """The reciprocal of the Hessian's diagonal; zero in groups that are zero."""
    X, total = problem.X, hessian.norms.sum()
    inverse = np.zeros_like(hessian.units)
    squares, sums = np.empty(problem.n_features), np.empty(problem.n_features)
    for v in range(inverse.shape[0]):
        squares[:] = 0
        sums[:] = 0
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
            mean = (hessian.costs[v] * hessian.products[v]).sum() / hessian.totals[v]
        hessian.products[v] = hessian.costs[v] * (hessian.products[v] - mean)
    combine(problem.X, hessian.products, hessian.sums)
    total, u_dot_d = hessian.norms.sum(), (hessian.units * d).sum()
    Hd = np.zeros_like(d)
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
            trial[:, starts[h] : starts[h + 1]] = 0.0
