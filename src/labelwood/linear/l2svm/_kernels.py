"""Dual coordinate descent for the squared hinge (Hsieh et al., ICML 2008).

Minimizes ½‖w‖² + Σ C_i max(0, 1 − s_i w·x_i)² over w through its dual
½ αᵀ(Q + D)α − Σ α_i, α ≥ 0, Q_ij = s_i s_j x_i·x_j, D_ii = 1/(2 C_i), w = Σ α_i s_i x_i.
Rows may carry one more, constant feature `bias`, whose weight is the last entry of w.
"""

import numpy as np
from numpy.typing import NDArray

from labelwood.core._kernels import shuffle
from labelwood.core.allocation import empty
from labelwood.core.kernel import exact_kernel, kernel
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import FloatArray, IndexArray

# This stands for infinity, which fast arithmetic must not meet.
_HUGE = 1e30


@exact_kernel
def row_norms(X: CSRArrays, bias: float) -> FloatArray:
    """Squared lengths of the rows, the constant feature included."""
    n = X.indptr.size - 1
    norms = empty(n, np.float32)
    for i in range(n):
        total = np.float64(bias * bias)
        for p in range(X.indptr[i], X.indptr[i + 1]):
            total += np.float64(X.data[p]) * X.data[p]
        norms[i] = total
    return norms


@kernel
def solve(
    X: CSRArrays,
    norms: FloatArray,
    rows: IndexArray,
    signs: FloatArray,
    ridge: FloatArray,
    bias: float,
    tol: float,
    max_iter: int,
    state: NDArray[np.uint64],
    active: IndexArray,
    alpha: FloatArray,
    w: FloatArray,
) -> tuple[int, bool]:
    """Solve on the rows `rows`; `signs`, `ridge` (1/(2 C_i)) and `alpha` go with them.

    `w` must be the weight vector that belongs to `alpha` (both zero for a cold
    start). Returns the number of passes and whether the tolerance was met.
    """
    indptr, indices, data = X
    m = np.uint64(rows.size)
    last = np.uint64(w.size - 1)
    for start in range(rows.size):
        active[start] = start
    n_active = m
    high_before = _HUGE
    for iteration in range(max_iter):
        shuffle(state, active, n_active)
        high, low = -_HUGE, _HUGE
        k = np.uint64(0)
        while k < n_active:
            position = np.uint64(active[k])
            i = np.uint64(rows[position])
            sign = signs[position]
            first, end = np.uint64(indptr[i]), np.uint64(indptr[i + np.uint64(1)])
            dot = np.float32(bias) * w[last]
            for p in range(first, end):
                dot += w[indices[p]] * data[p]
            a = alpha[position]
            gradient = sign * dot - np.float32(1) + a * ridge[position]
            projected = gradient
            if a == 0:
                if gradient > high_before:
                    # The variable will stay at zero: put it out of sight (shrinking).
                    n_active -= np.uint64(1)
                    active[k], active[n_active] = active[n_active], active[k]
                    continue
                projected = min(gradient, np.float32(0))
            high = max(high, projected)
            low = min(low, projected)
            if abs(projected) > 1e-12:
                new = max(a - gradient / (norms[i] + ridge[position]), np.float32(0))
                step = (new - a) * sign
                alpha[position] = new
                for p in range(first, end):
                    w[indices[p]] += step * data[p]
                w[last] += step * np.float32(bias)
            k += np.uint64(1)
        if high - low <= tol:
            if n_active == m:
                return iteration + 1, True
            n_active = m
            high_before = _HUGE
            continue
        high_before = high if high > 0 else _HUGE
    return max_iter, False
