"""Newton's steps for the group problem, whose columns may have very unlike scales.

Where no group is zero, ½ (Σ_h ‖ω_h‖)² has the second derivatives u uᵀ + S (I − u_h u_hᵀ)/‖ω_h‖,
with S = Σ_h ‖ω_h‖ and u the unit vectors u_h of all groups. The loss has 2 Σ c_i x̃_i x̃_iᵀ over the
rows of positive slack, x̃ being centred if there is an intercept. The system is solved by conjugate
gradients, scaled by its diagonal: that is what makes scales of columns harmless.
"""

from typing import NamedTuple

import numpy as np

from labelwood.core.kernel import kernel
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import DoubleArray, PointerArray
from labelwood.linear.budgeted._feature_kernels import combine, margins
from labelwood.linear.budgeted._objective_kernels import (
    Problem,
    collapse,
    group_norms,
    losses,
)

_CLOSE = 1e-6  # squared residual of the linear system, as a share of the first
_MAX_STEPS = 200  # of conjugate gradients
_HALVINGS = 12
_LEAST = 1e-10  # a centred sum of squares, as a share of the sum itself: the rest is rounding


class _Curvature(NamedTuple):
    """The second derivatives at a point.

    `costs` are those of the rows of positive slack, else zero, and `totals` their sums if there
    is an intercept, else zero; `lengths` are the ‖ω_h‖ and `units` the u_h, zero for a group
    that is; `products` and `sums` are room.
    """

    costs: DoubleArray
    totals: DoubleArray
    lengths: DoubleArray
    units: DoubleArray
    products: DoubleArray
    sums: DoubleArray


@kernel
def newton_step(
    problem: Problem,
    here: DoubleArray,
    products: DoubleArray,
    intercepts: DoubleArray,
    residuals: DoubleArray,
    value: float,
    max_steps: int,
) -> tuple[float, int]:
    """Move `here` (and its `products`) downhill if a step of Newton's does; groups of zero stay.

    Returns the value there and the number of steps that the linear system took. A group that
    would turn round becomes zero.
    """
    losses(problem, products, intercepts, residuals)
    at = _curvature(problem, here, residuals)
    combine(problem.X, residuals, at.sums)
    slope = _slope(problem, at)
    direction, n_steps = _solve(problem, at, slope, min(max_steps, _MAX_STEPS))
    trial, m_trial = np.empty_like(here), np.empty_like(products)
    share = 1.0
    for _ in range(_HALVINGS):
        trial[:] = here + share * direction
        _stop_at_zero(trial, here, problem.starts)
        margins(problem.X, collapse(trial, problem.places, problem.n_features), m_trial)
        new = losses(problem, m_trial, intercepts, residuals)
        new += 0.5 * group_norms(trial, problem.starts).sum() ** 2
        if new < value:
            here[:] = trial
            products[:] = m_trial
            return new, n_steps
        share *= 0.5
    return value, n_steps


@kernel
def _curvature(problem: Problem, here: DoubleArray, residuals: DoubleArray) -> _Curvature:
    costs = np.where(residuals != 0, problem.costs, 0.0)
    totals = np.zeros(costs.shape[0])
    if problem.fit_intercept:
        for v in range(costs.shape[0]):
            totals[v] = costs[v].sum()
    lengths, units = group_norms(here, problem.starts), here.copy()
    for h in range(lengths.size):
        if lengths[h] > 0:
            units[:, problem.starts[h] : problem.starts[h + 1]] /= lengths[h]
    sums = np.empty((here.shape[0], problem.n_features))
    return _Curvature(costs, totals, lengths, units, np.empty_like(costs), sums)


@kernel
def _slope(problem: Problem, at: _Curvature) -> DoubleArray:
    """The first derivatives, `at.sums` being the Σ r_i x_i; zero for a group that is."""
    total = at.lengths.sum()
    slope = np.zeros_like(at.units)
    for h in range(at.lengths.size):
        if at.lengths[h] > 0:
            for v in range(slope.shape[0]):
                for e in range(problem.starts[h], problem.starts[h + 1]):
                    slope[v, e] = total * at.units[v, e] - 2.0 * at.sums[v, problem.places[e]]
    return slope


@kernel
def _solve(
    problem: Problem, at: _Curvature, slope: DoubleArray, max_steps: int
) -> tuple[DoubleArray, int]:
    """The direction d in which the curvature times d is −slope, and the steps it took."""
    scales = _scales(problem, at)
    direction, left = np.zeros_like(slope), -slope
    towards = left * scales
    size = (left * towards).sum()
    first, n_steps = size, 0
    while n_steps < max_steps and size > _CLOSE * first:
        n_steps += 1
        bent = _bend(problem, at, towards)
        rise = (towards * bent).sum()
        if rise <= 0:
            break  # nothing but rounding bends here
        direction += size / rise * towards
        left -= size / rise * bent
        scaled = left * scales
        new = (left * scaled).sum()
        towards = scaled + new / size * towards
        size = new
    return direction, n_steps


@kernel
def _scales(problem: Problem, at: _Curvature) -> DoubleArray:
    """One over the diagonal of the curvature; zero for a group that is."""
    X, total = problem.X, at.lengths.sum()
    scales = np.zeros_like(at.units)
    squares, sums = np.empty(problem.n_features), np.empty(problem.n_features)
    for v in range(scales.shape[0]):
        squares[:] = 0
        sums[:] = 0
        _moments(X, at.costs[v], squares, sums)
        for h in range(at.lengths.size):
            if at.lengths[h] > 0:
                for e in range(problem.starts[h], problem.starts[h + 1]):
                    j = problem.places[e]
                    own = squares[j]
                    if at.totals[v] > 0:
                        own = max(own - sums[j] * sums[j] / at.totals[v], _LEAST * own)
                    scales[v, e] = 1.0 / (2.0 * own + total / at.lengths[h])
    return scales


@kernel
def _moments(X: CSRArrays, costs: DoubleArray, squares: DoubleArray, sums: DoubleArray) -> None:
    for i in range(costs.size):
        if costs[i] > 0:
            for p in range(np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])):
                x = np.float64(X.data[p])
                squares[X.indices[p]] += costs[i] * x * x
                sums[X.indices[p]] += costs[i] * x


@kernel
def _bend(problem: Problem, at: _Curvature, d: DoubleArray) -> DoubleArray:
    """The curvature times d, which is zero for a group that is."""
    margins(problem.X, collapse(d, problem.places, problem.n_features), at.products)
    for v in range(d.shape[0]):
        mean = 0.0
        if at.totals[v] > 0:
            mean = (at.costs[v] * at.products[v]).sum() / at.totals[v]
        at.products[v] = at.costs[v] * (at.products[v] - mean)
    combine(problem.X, at.products, at.sums)
    total, along = at.lengths.sum(), (at.units * d).sum()
    bent = np.zeros_like(d)
    for h in range(at.lengths.size):
        if at.lengths[h] > 0:
            own = _along(at.units, d, problem.starts[h], problem.starts[h + 1])
            for v in range(d.shape[0]):
                for e in range(problem.starts[h], problem.starts[h + 1]):
                    aside = d[v, e] - own * at.units[v, e]
                    bent[v, e] = along * at.units[v, e] + total / at.lengths[h] * aside
                    bent[v, e] += 2.0 * at.sums[v, problem.places[e]]
    return bent


@kernel
def _along(a: DoubleArray, b: DoubleArray, start: int, end: int) -> float:
    total = 0.0
    for v in range(a.shape[0]):
        for e in range(start, end):
            total += a[v, e] * b[v, e]
    return total


@kernel
def _stop_at_zero(trial: DoubleArray, here: DoubleArray, starts: PointerArray) -> None:
    for h in range(starts.size - 1):
        if _along(trial, here, starts[h], starts[h + 1]) <= 0:
            trial[:, starts[h] : starts[h + 1]] = 0.0
