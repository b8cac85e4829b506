"""Sixteen logistic regressions (L2) at once, on the same rows.

Dual coordinate descent (Yu, Huang and Lin 2011): min ½‖w‖² + Σ C_i log(1 + exp(−s_i f(x_i)))
has w = Σ α_i s_i x_i with α_i = C_i σ(−s_i f(x_i)). A visit of a row makes that true for it,
in every lane. Arrays are laid out as in those of `l2svm`.
"""

import numpy as np
from numpy.typing import NDArray

from labelwood.core._kernels import shuffle
from labelwood.core.allocation import empty
from labelwood.core.kernel import kernel
from labelwood.core.lanes import WIDTH, load, splat, store
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import FloatArray, IndexArray
from labelwood.linear.l2svm import add_row_lanes, dot_lanes

_LANES = np.uint64(WIDTH)
_START = np.uint64(0)


@kernel
def _sigmoid(z: float) -> float:
    # Beyond ±60 σ is within 1e-26 of 0 or 1, and exp of a far larger number would be infinite,
    # which fast arithmetic must not meet.
    return 1 / (1 + np.exp(-min(max(z, -60.0), 60.0)))


@kernel
def _new_alpha(cost: float, square: float, score: float, alpha: float) -> float:
    """The root u of u + ‖x‖² (C σ(u) − α) + s f(x) = 0 gives the new α = C σ(u)."""
    # As 0 ≤ C σ(u) ≤ C, the equation itself says that its root lies between these two ends.
    low, high = -score - square * (cost - alpha), -score + square * alpha
    u = min(max(-score, low), high)
    for _ in range(60):
        share = _sigmoid(u)
        value = u + square * (cost * share - alpha) + score
        # The left side rises with u, so that its sign says on which side of u the root is.
        if value > 0:
            high = u
        else:
            low = u
        step = value / (1 + square * cost * share * (1 - share))
        following = u - step
        if following <= low or following >= high:  # Newton alone can jump to and fro
            following = 0.5 * (low + high)
        done = abs(following - u) < 1e-6 * (1 + abs(u))
        u = following
        if done:
            break
    return cost * _sigmoid(u)


@kernel
def solve_logistic_block(
    X: CSRArrays,
    norms: FloatArray,
    rows: IndexArray,
    signs: FloatArray,
    ridge_positive: FloatArray,
    ridge_negative: FloatArray,
    live: FloatArray,
    bias: np.float32,
    tol: float,
    max_iter: int,
    state: NDArray[np.uint64],
    order: IndexArray,
    alpha: FloatArray,
    W: FloatArray,
) -> tuple[int, bool]:
    """Solve on `rows`; the arguments are those of `solve_block` (a ridge is 1/(2C)).

    Done when no α is further from C σ(−s f(x)) than a score that is wrong by `tol` makes
    it. Returns the number of passes and whether that was reached in every lane.
    """
    last = np.uint64(W.size) - _LANES
    scores, steps = empty(WIDTH, np.float32), empty(WIDTH, np.float32)
    for k in range(rows.size):
        order[k] = k
    for iteration in range(max_iter):
        shuffle(state, order, np.uint64(rows.size))
        worst = 0.0
        for k in range(rows.size):
            position = np.uint64(order[k])
            row = np.uint64(rows[position])
            place = position * _LANES
            store(scores, _START, dot_lanes(X, row, W) + splat(bias) * load(W, last))
            largest = 0.0
            for lane in range(np.uint64(WIDTH)):
                steps[lane] = 0
                # A lane that is not live keeps its weights, because the row is added to it 0 times.
                if live[lane] == 0:
                    continue
                sign, a = signs[place + lane], np.float64(alpha[place + lane])
                cost = 0.5 / (ridge_positive[lane] if sign > 0 else ridge_negative[lane])
                score = np.float64(sign * scores[lane])
                residual = abs(a / cost - _sigmoid(-score))
                largest = max(largest, residual)
                # A smaller residual is far below what the test after the pass asks for, and not
                # worth a step.
                if residual > 0.01 * tol:
                    new = _new_alpha(cost, np.float64(norms[row]), score, a)
                    alpha[place + lane] = new
                    steps[lane] = (new - a) * sign
            worst = max(worst, largest)
            if largest > 0.01 * tol:
                add_row_lanes(X, row, bias, load(steps, _START), W)
        if worst <= 0.25 * tol:  # the sigmoid is nowhere steeper than 1/4
            return iteration + 1, True
    return max_iter, False
