"""The group problem over given planes, by accelerated proximal gradient.

Minimises, over weights ω_h of the features of each plane h and an intercept b,

    ½ (Σ_h ‖ω_h‖)² + Σ_i c_i max(0, 1 − s_i (Σ_h ω_h·x_ih + b))².

Several problems v (folds) that differ in their costs c share the planes: ω_h then holds the
weights of all of them, the losses add up and every problem has its own intercept. Arrays of
problems have one row for each. The intercept is not regularised: it is minimised away for
given weights, which leaves a function of the weights as smooth as before.
"""

import math
from typing import NamedTuple

import numpy as np

from labelwood.core.kernel import kernel
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import DoubleArray, IndexArray, PointerArray
from labelwood.linear._budgeted_kernels import combine, margins

_HUGE = 1e300  # in place of infinity, which fast arithmetic must not meet
_ROUNDING = 1e-14  # of a sum, as a share of its terms
_NOISE = 1e-12  # of a difference of losses
_MAX_INTERCEPT_STEPS = 200
_SHARE = 0.01  # of the first duality gap
_DOUBLINGS = 100  # of the curvature in one step; more would be rounding's doing
FINEST = 1e-6  # a gap, as a share of the value, that rounding lets every problem reach


class Problem(NamedTuple):
    """Rows `X` on the features of all planes; the plane of entry e is given by `starts`.

    `places` says which column of X an entry is: a feature of two planes has two entries.
    """

    X: CSRArrays
    n_features: int
    signs: DoubleArray
    costs: DoubleArray
    starts: PointerArray
    places: IndexArray
    fit_intercept: bool


class Solution(NamedTuple):
    """`value` is at most `value − bound` above the optimum; `curvature` suits a next call."""

    weights: DoubleArray
    value: float
    bound: float
    curvature: float
    n_iter: int


@kernel
def best_intercept(
    signs: DoubleArray, costs: DoubleArray, products: DoubleArray, start: float
) -> float:
    """The b that minimises Σ c_i max(0, 1 − s_i (m_i + b))².

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
        if mass == 0 or abs(pull) <= _ROUNDING * size:
            return b
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


@kernel
def losses(
    problem: Problem, products: DoubleArray, intercepts: DoubleArray, residuals: DoubleArray
) -> float:
    """Sum of all losses at the best intercepts; `residuals` become c_i s_i max(0, slack_i)."""
    total = 0.0
    for v in range(products.shape[0]):
        costs = problem.costs[v]
        if problem.fit_intercept:
            intercepts[v] = best_intercept(problem.signs, costs, products[v], intercepts[v])
        b = intercepts[v]
        for i in range(products.shape[1]):
            slack = max(0.0, 1.0 - problem.signs[i] * (products[v, i] + b))
            residuals[v, i] = costs[i] * slack * problem.signs[i]
            total += costs[i] * slack * slack
    return total


@kernel
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
    return total * total / (4.0 * squares + 8.0 * largest)


@kernel
def shrink(weights: DoubleArray, starts: PointerArray, step: float) -> float:
    """Replace weights u by argmin_ω ½‖ω − u‖² + step/2 (Σ_h ‖ω_h‖)²; returns Σ_h ‖ω_h‖.

    Every group becomes shorter by s = step · Σ_h ‖ω_h‖, or zero: with the k longest left,
    s = step Σ ‖u_h‖ / (1 + step k).
    """
    norms = group_norms(weights, starts)
    total, cut = 0.0, 0.0
    for k, norm in enumerate(np.sort(norms)[::-1]):
        total += norm
        s = step * total / (1.0 + step * (k + 1))
        if norm <= s:
            break
        cut = s
    left = 0.0
    for h in range(norms.size):
        scale = 1.0 - cut / norms[h] if norms[h] > cut else 0.0
        left += scale * norms[h]
        weights[:, starts[h] : starts[h + 1]] *= scale
    return left


@kernel
def group_norms(weights: DoubleArray, starts: PointerArray) -> DoubleArray:
    """Length of each group of columns."""
    norms = np.zeros(starts.size - 1)
    for h in range(norms.size):
        for v in range(weights.shape[0]):
            for e in range(starts[h], starts[h + 1]):
                norms[h] += weights[v, e] * weights[v, e]
        norms[h] = math.sqrt(norms[h])
    return norms


@kernel
def collapse(weights: DoubleArray, places: IndexArray, n_features: int) -> DoubleArray:
    """Weights of the features: the sum of their entries."""
    w = np.zeros((weights.shape[0], n_features))
    for v in range(weights.shape[0]):
        for e in range(places.size):
            w[v, places[e]] += weights[v, e]
    return w


@kernel
def _largest_group(gradient: DoubleArray, starts: PointerArray, places: IndexArray) -> float:
    largest = 0.0
    for h in range(starts.size - 1):
        total = 0.0
        for v in range(gradient.shape[0]):
            for e in range(starts[h], starts[h + 1]):
                total += gradient[v, places[e]] ** 2
        largest = max(largest, total)
    return largest


@kernel
def _try_step(
    problem: Problem,
    at: DoubleArray,
    sums: DoubleArray,
    curvature: float,
    trial: DoubleArray,
    products: DoubleArray,
) -> tuple[float, float]:
    """A proximal step from `at`: the penalty's root at `trial`, and the loss's model there.

    The gradient of the loss is −2 `sums`; the model is relative to the loss at `at`.
    """
    for v in range(at.shape[0]):
        for e in range(at.shape[1]):
            trial[v, e] = at[v, e] + 2.0 * sums[v, problem.places[e]] / curvature
    norm = shrink(trial, problem.starts, 1.0 / curvature)
    model = 0.0
    for v in range(at.shape[0]):
        for e in range(at.shape[1]):
            move = trial[v, e] - at[v, e]
            model += move * (0.5 * curvature * move - 2.0 * sums[v, problem.places[e]])
    margins(problem.X, collapse(trial, problem.places, problem.n_features), products)
    return norm, model


@kernel
def solve_master(
    problem: Problem,
    weights: DoubleArray,
    intercepts: DoubleArray,
    residuals: DoubleArray,
    curvature: float,
    tol: float,
    max_iter: int,
) -> Solution:
    """From `weights`, until the duality gap is at most `tol` times the value.

    Where there is little to gain, it also has to be a hundredth of the gap at the start.
    The value never rises: a step that would raise it ends the momentum (O'Donoghue and
    Candès 2015). `intercepts` and `residuals` become those of the solution.
    """
    here, before = weights.copy(), weights.copy()
    at, trial = np.empty_like(weights), np.empty_like(weights)
    m_here = np.empty(problem.costs.shape)
    margins(problem.X, collapse(here, problem.places, problem.n_features), m_here)
    m_before, m_trial = m_here.copy(), np.empty_like(m_here)
    b = intercepts.copy()
    sums = np.empty((weights.shape[0], problem.n_features))
    value = losses(problem, m_here, b, residuals)
    value += 0.5 * group_norms(here, problem.starts).sum() ** 2
    bound, first, speed, n_iter = 0.0, 0.0, 1.0, 0
    while n_iter < max_iter:
        n_iter += 1
        faster = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * speed * speed))
        momentum = (speed - 1.0) / faster
        at[:] = here + momentum * (here - before)
        loss_at = losses(problem, m_here + momentum * (m_here - m_before), b, residuals)
        combine(problem.X, residuals, sums)
        largest = _largest_group(sums, problem.starts, problem.places)
        bound = max(bound, lower_bound(residuals, problem.costs, largest))
        if n_iter == 1:
            first = value - bound
        elif value - bound <= min(tol * value, max(_SHARE * first, FINEST * value)):
            break
        curvature *= 0.9
        norm, model = _try_step(problem, at, sums, curvature, trial, m_trial)
        loss = losses(problem, m_trial, b, residuals)
        doublings = 0
        while loss > loss_at + model + _NOISE * max(loss_at, value) and doublings < _DOUBLINGS:
            doublings += 1
            curvature *= 2.0
            norm, model = _try_step(problem, at, sums, curvature, trial, m_trial)
            loss = losses(problem, m_trial, b, residuals)
        new = loss + 0.5 * norm * norm
        if new > value * (1.0 + _NOISE):
            if momentum == 0:
                break  # no digit is left to gain
            speed = 1.0
            before[:] = here
            m_before[:] = m_here
            continue
        before, here, trial = here, trial, before
        m_before, m_here, m_trial = m_here, m_trial, m_before
        value, speed = new, faster
    losses(problem, m_here, intercepts, residuals)
    return Solution(here, value, bound, curvature, n_iter)
