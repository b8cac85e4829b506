"""Preconditioned conjugate gradient on a sparse graph, for sixteen labels side by side."""

import numpy as np

from labelwood.core.allocation import empty, zeros
from labelwood.core.kernel import kernel
from labelwood.core.types import DoubleArray, IndexArray, PointerArray

WIDTH = 16


@kernel
def _multiply(
    indptr: PointerArray,
    indices: IndexArray,
    weights: DoubleArray,
    diagonal: DoubleArray,
    p: DoubleArray,
    Ap: DoubleArray,
) -> None:
    """Ap = A p, with A of the given diagonal and −weights beside it."""
    for i in range(diagonal.size):
        for lane in range(WIDTH):
            Ap[i, lane] = diagonal[i] * p[i, lane]
        for e in range(indptr[i], indptr[i + 1]):
            j, weight = indices[e], weights[e]
            # One edge is read once for sixteen labels, whose values stand side by side: the
            # innermost loop becomes vector instructions.
            for lane in range(WIDTH):
                Ap[i, lane] -= weight * p[j, lane]


@kernel
def _dot(a: DoubleArray, b: DoubleArray, out: DoubleArray) -> None:
    """Inner products of the columns."""
    for lane in range(WIDTH):
        out[lane] = 0.0
    for i in range(a.shape[0]):
        for lane in range(WIDTH):
            out[lane] += a[i, lane] * b[i, lane]


@kernel
def conjugate_gradient(
    indptr: PointerArray,
    indices: IndexArray,
    weights: DoubleArray,
    diagonal: DoubleArray,
    b: DoubleArray,
    tol: float,
    max_iter: int,
) -> tuple[DoubleArray, int, bool]:
    """Solve A x = b for the columns of `b`, with the diagonal of A as preconditioner.

    Every column has its own steps; one whose residual is below `tol` times its right-hand side
    stands still. Rows of diagonal 0 (isolated nodes without a label) keep x = 0.
    """
    m = diagonal.size
    x = zeros((m, WIDTH), np.float64)
    r = b.copy()
    z = empty((m, WIDTH), np.float64)
    Ap = empty((m, WIDTH), np.float64)
    inverse = zeros(m, np.float64)
    for i in range(m):
        # An isolated node without a label has an empty row; a zero inverse keeps its solution at 0.
        if diagonal[i] > 0.0:
            inverse[i] = 1.0 / diagonal[i]
    for i in range(m):
        for lane in range(WIDTH):
            z[i, lane] = inverse[i] * r[i, lane]
    p = z.copy()
    rz, rr, pAp = empty(WIDTH, np.float64), empty(WIDTH, np.float64), empty(WIDTH, np.float64)
    enough, step, ratio = (
        empty(WIDTH, np.float64),
        empty(WIDTH, np.float64),
        empty(WIDTH, np.float64),
    )
    _dot(b, b, enough)
    _dot(r, z, rz)
    _dot(r, r, rr)
    for lane in range(WIDTH):
        enough[lane] *= tol * tol
    n_iter = 0
    while n_iter < max_iter:
        active = False
        for lane in range(WIDTH):
            active = active or rr[lane] > enough[lane]
        if not active:
            break
        _multiply(indptr, indices, weights, diagonal, p, Ap)
        _dot(p, Ap, pAp)
        for lane in range(WIDTH):
            # A solved column takes steps of length 0, so that its result does not depend on the
            # columns that share the block.
            moving = rr[lane] > enough[lane] and pAp[lane] > 0.0
            step[lane] = rz[lane] / pAp[lane] if moving else 0.0
        for i in range(m):
            for lane in range(WIDTH):
                x[i, lane] += step[lane] * p[i, lane]
                r[i, lane] -= step[lane] * Ap[i, lane]
                z[i, lane] = inverse[i] * r[i, lane]
        for lane in range(WIDTH):
            ratio[lane] = rz[lane]
        _dot(r, z, rz)
        _dot(r, r, rr)
        for lane in range(WIDTH):
            # β is the new r·z over the old one, which `ratio` held (the Fletcher–Reeves form).
            ratio[lane] = rz[lane] / ratio[lane] if step[lane] > 0.0 else 0.0
        for i in range(m):
            for lane in range(WIDTH):
                p[i, lane] = z[i, lane] + ratio[lane] * p[i, lane]
        n_iter += 1
    solved = True
    for lane in range(WIDTH):
        solved = solved and rr[lane] <= enough[lane]
    return x, n_iter, solved
