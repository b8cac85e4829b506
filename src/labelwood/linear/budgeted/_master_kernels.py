"""The group problem solved by accelerated proximal gradient, with Newton's steps in between.

Proximal steps add and drop groups; where they creep, as with columns of unlike scales, steps of
Newton's on the groups that are there take over.
"""

import math
from typing import NamedTuple

import numpy as np

from labelwood.core.kernel import kernel
from labelwood.core.types import DoubleArray
from labelwood.linear.budgeted._feature_kernels import combine, margins
from labelwood.linear.budgeted._newton_kernels import newton_step
from labelwood.linear.budgeted._objective_kernels import (
    Problem,
    collapse,
    group_norms,
    largest_group,
    losses,
    lower_bound,
    shrink,
)

_NOISE = 1e-12  # of a difference of losses
_SHARE = 0.01  # of the first duality gap
_DOUBLINGS = 100  # of the curvature in one step; more would be rounding's doing
_PATIENCE = 50  # proximal steps before one of Newton's is tried
FINEST = 1e-6  # a gap, as a share of the value, that rounding lets every problem reach


class Solution(NamedTuple):
    """`value` is at most `value − bound` above the optimum; `curvature` suits a next call."""

    weights: DoubleArray
    value: float
    bound: float
    curvature: float
    n_iter: int


class _Path(NamedTuple):
    """Weights, and products of the rows with them: of this step, of the last and of a trial.

    A step starts from `at`, where `residuals` and their sums Σ r_i x_i are taken.
    """

    here: DoubleArray
    before: DoubleArray
    trial: DoubleArray
    m_here: DoubleArray
    m_before: DoubleArray
    m_trial: DoubleArray
    at: DoubleArray
    residuals: DoubleArray
    sums: DoubleArray


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
    path, b = _start(problem, weights, residuals), intercepts.copy()
    value = losses(problem, path.m_here, b, residuals)
    value += 0.5 * group_norms(path.here, problem.starts).sum() ** 2
    bound, first, speed, n_iter = 0.0, 0.0, 1.0, 0
    wait = due = _PATIENCE
    while n_iter < max_iter:
        n_iter += 1
        faster = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * speed * speed))
        momentum = (speed - 1.0) / faster
        loss_at, dual = _look_ahead(problem, path, momentum, b)
        bound = max(bound, dual)
        if n_iter == 1:
            first = value - bound
        elif value - bound <= min(tol * value, max(_SHARE * first, FINEST * value)):
            break
        new, curvature = _step(problem, path, b, loss_at, value, curvature)
        if new <= value * (1.0 + _NOISE):
            _advance(path)
            value, speed = new, faster
        elif momentum == 0:
            break  # no digit is left to gain
        else:
            speed = _restart(path)
        if due <= n_iter < max_iter:
            left = max_iter - n_iter
            new, n_steps = newton_step(problem, path.here, path.m_here, b, residuals, value, left)
            n_iter += n_steps
            wait = 1 if new < value else 2 * wait
            due = n_iter + wait
            if new < value:
                value, speed = new, _restart(path)
    losses(problem, path.m_here, intercepts, residuals)
    return Solution(path.here, value, bound, curvature, n_iter)


@kernel
def _start(problem: Problem, weights: DoubleArray, residuals: DoubleArray) -> _Path:
    products = np.empty(problem.costs.shape)
    margins(problem.X, collapse(weights, problem.places, problem.n_features), products)
    return _Path(
        weights.copy(),
        weights.copy(),
        np.empty_like(weights),
        products,
        products.copy(),
        np.empty_like(products),
        np.empty_like(weights),
        residuals,
        np.empty((weights.shape[0], problem.n_features)),
    )


@kernel
def _look_ahead(
    problem: Problem, path: _Path, momentum: float, b: DoubleArray
) -> tuple[float, float]:
    """Set `at`, with what belongs to it; returns the loss there, and a bound of the optimum."""
    path.at[:] = path.here + momentum * (path.here - path.before)
    products = path.m_here + momentum * (path.m_here - path.m_before)
    loss = losses(problem, products, b, path.residuals)
    combine(problem.X, path.residuals, path.sums)
    largest = largest_group(path.sums, problem.starts, problem.places)
    return loss, lower_bound(path.residuals, problem.costs, largest)


@kernel
def _step(
    problem: Problem, path: _Path, b: DoubleArray, loss_at: float, value: float, curvature: float
) -> tuple[float, float]:
    """Set `trial` by a proximal step short enough for its model; returns value and curvature."""
    curvature *= 0.9
    norm, model = _try_step(problem, path, curvature)
    loss = losses(problem, path.m_trial, b, path.residuals)
    doublings = 0
    while loss > loss_at + model + _NOISE * max(loss_at, value) and doublings < _DOUBLINGS:
        doublings += 1
        curvature *= 2.0
        norm, model = _try_step(problem, path, curvature)
        loss = losses(problem, path.m_trial, b, path.residuals)
    return loss + 0.5 * norm * norm, curvature


@kernel
def _try_step(problem: Problem, path: _Path, curvature: float) -> tuple[float, float]:
    """A proximal step from `at`: the penalty's root at `trial`, and the loss's model there.

    The gradient of the loss is −2 `sums`; the model is relative to the loss at `at`.
    """
    at, trial, sums = path.at, path.trial, path.sums
    for v in range(at.shape[0]):
        for e in range(at.shape[1]):
            trial[v, e] = at[v, e] + 2.0 * sums[v, problem.places[e]] / curvature
    norm = shrink(trial, problem.starts, 1.0 / curvature)
    model = 0.0
    for v in range(at.shape[0]):
        for e in range(at.shape[1]):
            move = trial[v, e] - at[v, e]
            model += move * (0.5 * curvature * move - 2.0 * sums[v, problem.places[e]])
    margins(problem.X, collapse(trial, problem.places, problem.n_features), path.m_trial)
    return norm, model


@kernel
def _advance(path: _Path) -> None:
    path.before[:] = path.here
    path.here[:] = path.trial
    path.m_before[:] = path.m_here
    path.m_here[:] = path.m_trial


@kernel
def _restart(path: _Path) -> float:
    """End the momentum; returns the speed to go on with."""
    path.before[:] = path.here
    path.m_before[:] = path.m_here
    return 1.0
