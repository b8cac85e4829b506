"""L1-regularized logistic regression by newGLMNET (Yuan, Ho and Lin, JMLR 2012).

Minimizes ‖w‖₁ + Σ C_i log(1 + exp(−s_i w·x_i)). A Newton step minimizes the quadratic model
g·d + ½ dᵀHd + ‖w + d‖₁ loosely, by coordinate descent, and is shortened until the objective
falls enough. Features are columns: a transposed CSR matrix.
"""

import math

import numpy as np
from numpy.typing import NDArray

from labelwood.core._kernels import shuffle
from labelwood.core.allocation import empty, zeros
from labelwood.core.kernel import kernel
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import DoubleArray, FloatArray, IndexArray

_ONE = np.uint64(1)
_RIDGE = 1e-12  # keeps the quadratic model strictly convex
_SHORTEST, _LONGEST = 1e-12, 10.0  # moves of a weight
_DECREASE = 0.01  # share of the model's decrease that the objective must reach
_HALVINGS = 20
_HUGE = 1e30  # in place of infinity, which fast arithmetic must not meet

# A row keeps four numbers side by side during a Newton step: slope and curvature of its loss, and
# how far its margin has moved; the fourth place makes addresses simple.
_WIDTH = np.uint64(4)
_SLOPE, _CURVE, _MOVE = np.uint64(0), np.uint64(1), np.uint64(2)


@kernel
def solve(
    columns: CSRArrays,
    signs: FloatArray,
    costs: FloatArray,
    tol: float,
    max_iter: int,
    max_sweeps: int,
    state: NDArray[np.uint64],
    w: DoubleArray,
) -> tuple[int, bool]:
    """Start from w = 0; returns the Newton steps made and whether the tolerance was met.

    The tolerance is on the sum of the features' violations of optimality, as a share of that
    sum at w = 0.
    """
    margins = zeros(signs.size, np.float64)
    rows = empty(4 * signs.size, np.float32)
    v, gradient, curvature = (
        zeros(w.size, np.float64),
        empty(w.size, np.float64),
        empty(w.size, np.float64),
    )
    order = np.arange(w.size).astype(np.uint32)
    first, looseness, loss = 0.0, 1.0, math.log(2.0) * costs.sum(dtype=np.float64)
    for step in range(1, max_iter + 1):
        _differentiate(margins, signs, costs, rows)
        shuffle(state, order, np.uint64(order.size))
        violation, rest = _first_sweep(columns, rows, order, w, v, gradient, curvature)
        if step == 1:
            first = violation
        solved = violation <= tol * first
        # The inner problem is solved more closely as the outer one converges (Yuan, Ho & Lin 2012,
        # §5.2): a model far from the solution does not deserve the sweeps.
        if rest <= looseness * first:
            looseness *= 0.25
        elif not solved:
            _more_sweeps(
                columns, rows, order, gradient, curvature,
                looseness * first, max_sweeps - 1, state, w, v,
            )  # fmt: skip
        loss = _search_line(signs, costs, gradient, loss, rows, margins, w, v)
        if solved or loss < 0:
            return step, solved
    return max_iter, False


@kernel
def _differentiate(
    margins: DoubleArray, signs: FloatArray, costs: FloatArray, rows: FloatArray
) -> None:
    """Slope and curvature of the loss at `margins` (w·x) for each row, which has not moved yet."""
    for i in range(signs.size):
        m = signs[i] * margins[i]
        # The argument of exp is never positive, so that it cannot overflow, whatever the margin.
        e = math.exp(-abs(m))
        inverse = 1 / (1 + e)
        wrong = e * inverse if m > 0 else inverse
        row = np.uint64(i) * _WIDTH
        rows[row + _SLOPE] = -signs[i] * costs[i] * wrong
        rows[row + _CURVE] = costs[i] * e * inverse * inverse
        rows[row + _MOVE] = 0


@kernel
def _violation(gradient: float, weight: float) -> float:
    """How far zero is from the subgradient of the objective in one feature."""
    if weight > 0:
        return abs(gradient + 1)
    if weight < 0:
        return abs(gradient - 1)
    return max(abs(gradient) - 1, 0.0)


@kernel
def _best_move(g: float, h: float, weight: float) -> float:
    """The z that minimizes g z + ½ h z² + |weight + z|, kept within bounds."""
    if g + 1 < h * weight:
        z = -(g + 1) / h
    elif g - 1 > h * weight:
        z = -(g - 1) / h
    else:
        z = -weight
    return min(max(z, -_LONGEST), _LONGEST)


@kernel
def _move_rows(columns: CSRArrays, j: np.uint64, move: float, rows: FloatArray) -> None:
    """Account for a move of weight j in the rows."""
    z = np.float32(move)
    for p in range(np.uint64(columns.indptr[j]), np.uint64(columns.indptr[j + _ONE])):
        rows[np.uint64(columns.indices[p]) * _WIDTH + _MOVE] += z * columns.data[p]


@kernel
def _first_sweep(
    columns: CSRArrays,
    rows: FloatArray,
    order: IndexArray,
    w: DoubleArray,
    v: DoubleArray,
    gradient: DoubleArray,
    curvature: DoubleArray,
) -> tuple[float, float]:
    """Coordinate descent on the quadratic model at w, once over all features; v becomes w + d.

    Gradient and curvature are computed on the way. Returns the violations of optimality at w,
    and those of the model as they were met.
    """
    violation, rest = 0.0, 0.0
    for k in range(order.size):
        j = np.uint64(order[k])
        slope, curve, change = np.float32(0), np.float32(0), np.float32(0)
        for p in range(np.uint64(columns.indptr[j]), np.uint64(columns.indptr[j + _ONE])):
            row = np.uint64(columns.indices[p]) * _WIDTH
            x = columns.data[p]
            Hx = x * rows[row + _CURVE]
            slope += x * rows[row + _SLOPE]
            curve += x * Hx
            change += Hx * rows[row + _MOVE]
        gradient[j] = slope
        curvature[j] = curve + _RIDGE
        g = gradient[j] + change
        violation += _violation(gradient[j], w[j])
        rest += _violation(g, w[j])
        move = _best_move(g, curvature[j], w[j])
        v[j] = w[j] + move
        if abs(move) > _SHORTEST:
            _move_rows(columns, j, move, rows)
    return violation, rest


@kernel
def _more_sweeps(
    columns: CSRArrays,
    rows: FloatArray,
    order: IndexArray,
    gradient: DoubleArray,
    curvature: DoubleArray,
    enough: float,
    max_sweeps: int,
    state: NDArray[np.uint64],
    w: DoubleArray,
    v: DoubleArray,
) -> None:
    """Sweep on until the model is violated no more than `enough`; shrinks what stays zero."""
    n_live = np.uint64(order.size)
    worst_before = _HUGE
    for _ in range(max_sweeps):
        shuffle(state, order, n_live)
        worst, rest = 0.0, 0.0
        k = np.uint64(0)
        while k < n_live:
            j = np.uint64(order[k])
            change = np.float32(0)
            for p in range(np.uint64(columns.indptr[j]), np.uint64(columns.indptr[j + _ONE])):
                row = np.uint64(columns.indices[p]) * _WIDTH
                change += columns.data[p] * rows[row + _CURVE] * rows[row + _MOVE]
            g = gradient[j] + (v[j] - w[j]) * _RIDGE + change
            # Shrinking: a weight at zero whose gradient is well inside [−1, 1] will stay there and
            # is swapped behind the live ones.
            if v[j] == 0 and abs(g) < 1 - worst_before / order.size:
                n_live -= _ONE
                order[k], order[n_live] = order[n_live], order[k]
                continue
            violation = _violation(g, v[j])
            worst = max(worst, violation)
            rest += violation
            move = _best_move(g, curvature[j], v[j])
            if abs(move) > _SHORTEST:
                v[j] += move
                _move_rows(columns, j, move, rows)
            k += _ONE
        worst_before = worst
        if rest <= enough:
            if n_live == order.size:
                return
            # The live features are solved, so that all others come back for a last check.
            n_live, worst_before = np.uint64(order.size), _HUGE


@kernel
def _search_line(
    signs: FloatArray,
    costs: FloatArray,
    gradient: DoubleArray,
    loss: float,
    rows: FloatArray,
    margins: DoubleArray,
    w: DoubleArray,
    v: DoubleArray,
) -> float:
    """Move w and the margins towards v, as far as the objective falls enough.

    `loss` is the loss at w; returned is the loss at the new w, or −1 when the objective
    does not fall.
    """
    expected, norm = 0.0, 0.0
    for j in range(w.size):
        expected += gradient[j] * (v[j] - w[j]) + abs(v[j]) - abs(w[j])
        norm += abs(w[j])
    share = 1.0
    for _ in range(_HALVINGS):
        new_loss, new_norm = 0.0, 0.0
        for j in range(w.size):
            new_norm += abs(w[j] + share * (v[j] - w[j]))
        for i in range(signs.size):
            # Margins are linear along the step, so that a trial costs the rows and no non-zero.
            m = signs[i] * (margins[i] + share * rows[np.uint64(i) * _WIDTH + _MOVE])
            new_loss += costs[i] * (max(-m, 0.0) + math.log1p(math.exp(-abs(m))))
        if new_loss + new_norm - loss - norm <= _DECREASE * share * expected:
            for j in range(w.size):
                w[j] += share * (v[j] - w[j])
            for i in range(signs.size):
                margins[i] += share * rows[np.uint64(i) * _WIDTH + _MOVE]
            return new_loss
        share *= 0.5
    return -1.0
