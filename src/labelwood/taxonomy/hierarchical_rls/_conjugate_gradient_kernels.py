"""Conjugate gradient on sparse rows, for several right-hand sides that share them."""

import numpy as np
from numpy.typing import NDArray

from labelwood.core.allocation import empty, zeros
from labelwood.core.kernel import kernel
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import DoubleArray


@kernel
def solve(
    rows: CSRArrays, n_features: int, B: DoubleArray, tol: float, max_iter: int
) -> tuple[DoubleArray, NDArray[np.int64], DoubleArray]:
    """Solve A α = b for each column b of `B`, where A = I + G and G is the Gram matrix of `rows`.

    Conjugate gradient (Golub & Van Loan 2013, algorithm 11.3.3) with the usual r, p and Ap. There
    is no preconditioner, so z = r: the rows have length one and the diagonal of A is constant.

    Returns α, the iterations of each column, and ‖r‖/‖b‖ of each column at the end. A column that
    has met `tol` stays as it is while the others go on.
    """
    n, width = B.shape
    alpha, r, p = zeros((n, width), np.float64), B.copy(), B.copy()
    Ap, Sp = empty((n, width), np.float64), empty((n_features, width), np.float64)
    rr, bb, goal = _column_dots(r, r), empty(width, np.float64), empty(width, np.float64)
    for c in range(width):
        bb[c], goal[c] = rr[c], tol * tol * rr[c]
    n_iter = zeros(width, np.int64)
    step, beta = empty(width, np.float64), empty(width, np.float64)
    for _ in range(max_iter):
        n_active = 0
        for c in range(width):
            n_active += rr[c] > goal[c]
        if n_active == 0:
            break
        combine(rows, p, Sp)
        _apply(rows, p, Sp, Ap)
        pAp = _column_dots(p, Ap)
        for c in range(width):
            active = rr[c] > goal[c]
            # A solved system takes steps of length 0, so that its result does not depend on its
            # neighbors.
            step[c] = rr[c] / pAp[c] if active else 0.0
            n_iter[c] += active
        for row in range(n):
            for c in range(width):
                alpha[row, c] += step[c] * p[row, c]
                r[row, c] -= step[c] * Ap[row, c]
        rr_new = _column_dots(r, r)
        for c in range(width):
            beta[c] = rr_new[c] / rr[c] if rr[c] > goal[c] else 0.0
            rr[c] = rr_new[c]
        for row in range(n):
            for c in range(width):
                p[row, c] = r[row, c] + beta[c] * p[row, c]
    residual = zeros(width, np.float64)
    for c in range(width):
        if bb[c] > 0:
            residual[c] = np.sqrt(rr[c] / bb[c])
    return alpha, n_iter, residual


@kernel
def combine(rows: CSRArrays, factors: DoubleArray, sums: DoubleArray) -> None:
    """`sums` becomes S times `factors`: the sum of the rows, each times its factor, by columns."""
    sums[:] = 0
    for row in range(factors.shape[0]):
        for at in range(rows.indptr[row], rows.indptr[row + 1]):
            # The systems stand side by side in memory, so that one non-zero is read once and the
            # innermost loop runs over all of them in vector registers.
            value, feature = rows.data[at], rows.indices[at]
            for c in range(factors.shape[1]):
                sums[feature, c] += value * factors[row, c]


@kernel
def _apply(rows: CSRArrays, p: DoubleArray, Sp: DoubleArray, Ap: DoubleArray) -> None:
    """`Ap` becomes p + Sᵀ(S p), without a Gram matrix; `Sp` is S p."""
    for row in range(p.shape[0]):
        for c in range(p.shape[1]):
            Ap[row, c] = p[row, c]
        for at in range(rows.indptr[row], rows.indptr[row + 1]):
            value, feature = rows.data[at], rows.indices[at]
            for c in range(p.shape[1]):
                Ap[row, c] += value * Sp[feature, c]


@kernel
def _column_dots(a: DoubleArray, b: DoubleArray) -> DoubleArray:
    total = zeros(a.shape[1], np.float64)
    for row in range(a.shape[0]):
        for c in range(a.shape[1]):
            total[c] += a[row, c] * b[row, c]
    return total
