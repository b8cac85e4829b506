"""The group problem solved by accelerated proximal gradient (FISTA) with Newton steps in between.

Proximal steps add and drop groups; where they converge slowly, as with columns of different
scales, Newton steps on the groups that are not zero take over.
"""

import math
from typing import NamedTuple

import numpy as np

from labelwood.core.allocation import empty
from labelwood.core.kernel import exact_kernel
from labelwood.core.types import DoubleArray
from labelwood.linear.budgeted._feature_kernels import combine, margins
from labelwood.linear.budgeted._newton_kernels import assign, newton_step
from labelwood.linear.budgeted._objective_kernels import (
    Problem,
    collapse,
    largest_group,
    losses,
    lower_bound,
    shrink,
    total_norm,
)

_NOISE = 1e-12  # relative rounding error of a difference of losses
_GAP_SHARE = 0.01  # of the first duality gap that has to be reached where there is little to gain
_MAX_DOUBLINGS = 100  # of the step's Lipschitz constant; more could only be due to rounding
_PATIENCE = 50  # proximal steps before a Newton step is tried; on pcmac fewer took longer
FINEST = 1e-6  # relative duality gap that rounding lets every problem reach


class Solution(NamedTuple):
    """`value` is at most `value − bound` above the optimum; `lipschitz` warm-starts a next call."""

    weights: DoubleArray
    value: float
    bound: float
    lipschitz: float
    n_iter: int


class _Iterates(NamedTuple):
    """Weights, and margins of the rows: of this iteration, of the last and of a trial.

    A step starts from the extrapolated `y`, where `residuals` and the sums Σ r_i x_i are taken.
    """

    w: DoubleArray
    w_old: DoubleArray
    w_trial: DoubleArray
    m: DoubleArray
    m_old: DoubleArray
    m_trial: DoubleArray
    y: DoubleArray
    residuals: DoubleArray
    sums: DoubleArray


@exact_kernel
def solve_master(
    problem: Problem,
    weights: DoubleArray,
    intercepts: DoubleArray,
    residuals: DoubleArray,
    lipschitz: float,
    tol: float,
    max_iter: int,
) -> Solution:
    """From `weights`, until the duality gap is at most `tol` times the value.

    Where there is little to gain, it also has to be a hundredth of the gap at the start.
    The objective never rises: a step that would raise it restarts the momentum (O'Donoghue &
    Candès 2015). `intercepts` and `residuals` become those of the solution.
    """
    iterates, b = _start(problem, weights, residuals), intercepts.copy()
    value = losses(problem, iterates.m, b, residuals)
    value += 0.5 * total_norm(iterates.w, problem.starts) ** 2
    bound, first_gap, t, n_iter = 0.0, 0.0, 1.0, 0
    wait = due = _PATIENCE
    while n_iter < max_iter:
        n_iter += 1
        # This is the momentum sequence of FISTA (Beck & Teboulle 2009, eqs. 4.2 and 4.3).
        t_next = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * t * t))
        momentum = (t - 1.0) / t_next
        loss_y, dual = _extrapolate(problem, iterates, momentum, b)
        bound = max(bound, dual)
        if n_iter == 1:
            first_gap = value - bound
        elif value - bound <= min(tol * value, max(_GAP_SHARE * first_gap, FINEST * value)):
            break
        new, lipschitz = _step(problem, iterates, b, loss_y, value, lipschitz)
        if new <= value * (1.0 + _NOISE):
            _advance(iterates)
            value, t = new, t_next
        elif momentum == 0:
            break  # The objective cannot fall by more than its rounding.
        else:
            t = _restart(iterates)
        # A Newton step that helped is followed by another at once; after one that did not, the
        # waiting time doubles, so that useless attempts cost a vanishing share.
        if due <= n_iter < max_iter:
            left = max_iter - n_iter
            new, n_steps = newton_step(problem, iterates.w, iterates.m, b, residuals, value, left)
            n_iter += n_steps
            wait = 1 if new < value else 2 * wait
            due = n_iter + wait
            if new < value:
                value, t = new, _restart(iterates)
    losses(problem, iterates.m, intercepts, residuals)
    return Solution(iterates.w, value, bound, lipschitz, n_iter)


@exact_kernel
def _start(problem: Problem, weights: DoubleArray, residuals: DoubleArray) -> _Iterates:
    products = empty(problem.costs.shape, np.float64)
    margins(problem.X, collapse(weights, problem.positions, problem.n_features), products)
    return _Iterates(
        weights.copy(),
        weights.copy(),
        empty(weights.shape, np.float64),
        products,
        products.copy(),
        empty(products.shape, np.float64),
        empty(weights.shape, np.float64),
        residuals,
        empty((weights.shape[0], problem.n_features), np.float64),
    )


@exact_kernel
def _extrapolate(
    problem: Problem, iterates: _Iterates, momentum: float, b: DoubleArray
) -> tuple[float, float]:
    """Set `y` and its residuals; returns the loss there, and a lower bound of the optimum."""
    _extrapolated(iterates.w, iterates.w_old, momentum, iterates.y)
    # Margins are linear in the weights: those of the extrapolated point need no pass over the data.
    products = empty(iterates.m.shape, np.float64)
    _extrapolated(iterates.m, iterates.m_old, momentum, products)
    loss = losses(problem, products, b, iterates.residuals)
    combine(problem.X, iterates.residuals, iterates.sums)
    largest = largest_group(iterates.sums, problem.starts, problem.positions)
    return loss, lower_bound(iterates.residuals, problem.costs, largest)


@exact_kernel
def _extrapolated(new: DoubleArray, old: DoubleArray, momentum: float, out: DoubleArray) -> None:
    for v in range(new.shape[0]):
        for e in range(new.shape[1]):
            out[v, e] = new[v, e] + momentum * (new[v, e] - old[v, e])


@exact_kernel
def _step(
    problem: Problem,
    iterates: _Iterates,
    b: DoubleArray,
    loss_y: float,
    value: float,
    lipschitz: float,
) -> tuple[float, float]:
    """Set `w_trial` by a proximal step with backtracking; returns value and constant."""
    lipschitz *= 0.9  # so that an estimate that was too large can fall again
    norm, model = _try_step(problem, iterates, lipschitz)
    loss = losses(problem, iterates.m_trial, b, iterates.residuals)
    doublings = 0
    # The step is accepted where the quadratic model is above the loss; the noise term keeps
    # rounding from doubling the constant without end.
    while loss > loss_y + model + _NOISE * max(loss_y, value) and doublings < _MAX_DOUBLINGS:
        doublings += 1
        lipschitz *= 2.0
        norm, model = _try_step(problem, iterates, lipschitz)
        loss = losses(problem, iterates.m_trial, b, iterates.residuals)
    return loss + 0.5 * norm * norm, lipschitz


@exact_kernel
def _try_step(problem: Problem, iterates: _Iterates, lipschitz: float) -> tuple[float, float]:
    """A proximal step from `y`: Σ_h ‖ω_h‖ at `w_trial`, and the quadratic model of the loss there.

    The gradient of the loss is −2 `sums`; the model is relative to the loss at `y`.
    """
    y, trial, sums = iterates.y, iterates.w_trial, iterates.sums
    for v in range(y.shape[0]):
        for e in range(y.shape[1]):
            trial[v, e] = y[v, e] + 2.0 * sums[v, problem.positions[e]] / lipschitz
    norm = shrink(trial, problem.starts, 1.0 / lipschitz)
    model = 0.0
    for v in range(y.shape[0]):
        for e in range(y.shape[1]):
            move = trial[v, e] - y[v, e]
            model += move * (0.5 * lipschitz * move - 2.0 * sums[v, problem.positions[e]])
    margins(problem.X, collapse(trial, problem.positions, problem.n_features), iterates.m_trial)
    return norm, model


@exact_kernel
def _advance(iterates: _Iterates) -> None:
    _restart(iterates)
    assign(iterates.w, iterates.w_trial)
    assign(iterates.m, iterates.m_trial)


@exact_kernel
def _restart(iterates: _Iterates) -> float:
    """Restart the momentum; returns the first t of the FISTA sequence."""
    assign(iterates.w_old, iterates.w)
    assign(iterates.m_old, iterates.m)
    return 1.0
