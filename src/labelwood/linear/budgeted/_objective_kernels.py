"""The group problem over given planes: what it is made of.

Minimizes, over weights ω_h of the features of each plane h and an intercept b,

    ½ (Σ_h ‖ω_h‖)² + Σ_i c_i max(0, 1 − s_i (Σ_h ω_h·x_ih + b))².

Several problems v (folds) that differ in their costs c share the planes: ω_h then holds the
weights of all of them, the losses add up and every problem has its own intercept. Arrays of
problems have one row for each. The intercept is not regularized: it is minimized away for
given weights, which leaves a function of the weights as smooth as before.

Here and in the solvers, arrays are assigned and summed by plain loops: Numba's slice assignments,
array expressions and reductions made these kernels three times as slow to compile.
"""

import math
from typing import NamedTuple

import numpy as np

from labelwood.core._order_kernels import stable_order
from labelwood.core.allocation import zeros
from labelwood.core.kernel import exact_kernel
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import DoubleArray, IndexArray, PointerArray

_HUGE = 1e300  # in place of infinity, which fast arithmetic must not meet
_ROUNDING = 1e-14  # of a sum, as a share of its terms
_MAX_INTERCEPT_STEPS = 200


class Problem(NamedTuple):
    """Rows `X` on the features of all planes; the plane of entry e is given by `starts`.

    `positions` says which column of X an entry is: a feature of two planes has two entries.
    """

    X: CSRArrays
    n_features: int
    signs: DoubleArray
    costs: DoubleArray
    starts: PointerArray
    positions: IndexArray
    fit_intercept: bool


@exact_kernel
def best_intercept(
    signs: DoubleArray, costs: DoubleArray, products: DoubleArray, start: float
) -> float:
    """The b that minimizes Σ c_i max(0, 1 − s_i (m_i + b))².

    Newton's steps end at the solution, the slope being piecewise linear; a bracket keeps
    them from running in circles.
    """
    b, low, high = start, -_HUGE, _HUGE
    for _ in range(_MAX_INTERCEPT_STEPS):
        mass, pull, size = 0.0, 0.0, 0.0
        for i in range(signs.size):
            slack = 1.0 - signs[i] * (products[i] + b)
            if slack > 0:
                mass += costs[i]
                pull += costs[i] * slack * signs[i]
                size += costs[i] * slack
        # Without slack the loss is 0 already; otherwise its slope, −2 `pull`, may be only rounding.
        if mass == 0 or abs(pull) <= _ROUNDING * size:
            return b
        # The loss is convex in b: the sign of its slope says on which side the minimum lies.
        if pull > 0:
            low = b
        else:
            high = b
        new = b + pull / mass
        if new == b:
            return b  # no digit is left; a bracket that ends at b would send it far off
        if not low < new < high:
            new = 0.5 * (low + high)
        b = new
    return b


@exact_kernel
def losses(
    problem: Problem, products: DoubleArray, intercepts: DoubleArray, residuals: DoubleArray
) -> float:
    """Sum of all losses at the best intercepts; `residuals` become c_i s_i max(0, slack_i)."""
    total = 0.0
    for v in range(products.shape[0]):
        costs = problem.costs[v]
        if problem.fit_intercept:
            # The last intercept is a good start, as weights move little from one call to the next.
            intercepts[v] = best_intercept(problem.signs, costs, products[v], intercepts[v])
        b = intercepts[v]
        for i in range(products.shape[1]):
            slack = max(0.0, 1.0 - problem.signs[i] * (products[v, i] + b))
            residuals[v, i] = costs[i] * slack * problem.signs[i]
            total += costs[i] * slack * slack
    return total


@exact_kernel
def lower_bound(residuals: DoubleArray, costs: DoubleArray, largest: float) -> float:
    """The dual objective at the best multiple of α_i = 2 c_i max(0, slack_i).

    It is Σα − Σα²/(4c) − ½ max_h ‖Σ α_i s_i x_ih‖², `largest` being the max of ‖Σ r_i x_ih‖²
    for the residuals r = αs/2.
    """
    total, squares = 0.0, 0.0
    for v in range(residuals.shape[0]):
        for i in range(residuals.shape[1]):
            r = abs(residuals[v, i])
            if r > 0:
                total += 2.0 * r
                squares += r * r / costs[v, i]
    if total == 0:
        return 0.0
    # Along t α the dual is t A − t² B, with A = `total` and B = `squares` + 2 `largest`; it is
    # greatest at t = A/(2B), with the value A²/(4B). A best intercept makes Σ α_i s_i zero, which
    # the dual demands.
    below = 4.0 * squares + 8.0 * largest
    return total * total / below if below > 0 else 0.0


@exact_kernel
def shrink(weights: DoubleArray, starts: PointerArray, step: float) -> float:
    """Replace weights u by argmin_ω ½‖ω − u‖² + step/2 (Σ_h ‖ω_h‖)²; returns Σ_h ‖ω_h‖.

    Every group becomes shorter by s = step · Σ_h ‖ω_h‖, or zero: with the k longest left,
    s = step Σ ‖u_h‖ / (1 + step k).
    """
    norms = group_norms(weights, starts)
    total, cut = 0.0, 0.0
    # Groups are taken from the longest on: the first one that s would make zero ends the search,
    # because all that follow are shorter.
    order = stable_order(norms)
    for k in range(norms.size):
        norm = norms[order[norms.size - 1 - k]]
        total += norm
        s = step * total / (1.0 + step * (k + 1))
        if norm <= s:
            break
        cut = s
    left = 0.0
    for h in range(norms.size):
        scale = 1.0 - cut / norms[h] if norms[h] > cut else 0.0
        left += scale * norms[h]
        for v in range(weights.shape[0]):
            for e in range(starts[h], starts[h + 1]):
                weights[v, e] *= scale
    return left


@exact_kernel
def group_norms(weights: DoubleArray, starts: PointerArray) -> DoubleArray:
    """Length of each group of columns."""
    norms = zeros(starts.size - 1, np.float64)
    for h in range(norms.size):
        for v in range(weights.shape[0]):
            for e in range(starts[h], starts[h + 1]):
                norms[h] += weights[v, e] * weights[v, e]
        norms[h] = math.sqrt(norms[h])
    return norms


@exact_kernel
def total_norm(weights: DoubleArray, starts: PointerArray) -> float:
    """Σ_h ‖ω_h‖, the root of twice the penalty."""
    total, norms = 0.0, group_norms(weights, starts)
    for h in range(norms.size):
        total += norms[h]
    return total


@exact_kernel
def collapse(weights: DoubleArray, positions: IndexArray, n_features: int) -> DoubleArray:
    """Weights of the features: the sum of their entries."""
    w = zeros((weights.shape[0], n_features), np.float64)
    for v in range(weights.shape[0]):
        for e in range(positions.size):
            w[v, positions[e]] += weights[v, e]
    return w


@exact_kernel
def largest_group(sums: DoubleArray, starts: PointerArray, positions: IndexArray) -> float:
    """The greatest ‖Σ r_i x_ih‖² of all planes h, `sums` being Σ r_i x_i."""
    largest = 0.0
    for h in range(starts.size - 1):
        total = 0.0
        for v in range(sums.shape[0]):
            for e in range(starts[h], starts[h + 1]):
                total += sums[v, positions[e]] ** 2
        largest = max(largest, total)
    return largest
