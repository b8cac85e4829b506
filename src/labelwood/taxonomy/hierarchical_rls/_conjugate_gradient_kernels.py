"""Conjugate gradient on sparse rows, for several right-hand sides that share them."""

import numpy as np
from numpy.typing import NDArray

from labelwood.core.kernel import kernel
from labelwood.core.types import DoubleArray, FloatArray, IndexArray, PointerArray


@kernel
def solve(
    indptr: PointerArray,
    indices: IndexArray,
    data: FloatArray,
    n_features: int,
    targets: DoubleArray,
    tol: float,
    max_iter: int,
) -> tuple[DoubleArray, NDArray[np.int64], DoubleArray]:
    """Solve (I + G) α = `targets` by columns, G being the dot products of the rows.

    Returns α, the steps of each column, and what is left of each residual as a share of the
    column. A column that has met `tol` stays as it is.
    """
    n, width = targets.shape
    alpha, residual, direction = np.zeros((n, width)), targets.copy(), targets.copy()
    product, sums = np.empty((n, width)), np.empty((n_features, width))
    square = _column_dots(residual, residual)
    whole = square.copy()
    goal = tol * tol * whole
    steps = np.zeros(width, dtype=np.int64)
    length, turn = np.empty(width), np.empty(width)
    for _ in range(max_iter):
        if not np.any(square > goal):
            break
        combine(indptr, indices, data, direction, sums)
        _project(indptr, indices, data, direction, sums, product)
        curvature = _column_dots(direction, product)
        for c in range(width):
            moving = square[c] > goal[c]
            length[c] = square[c] / curvature[c] if moving else 0.0
            steps[c] += moving
        for row in range(n):
            for c in range(width):
                alpha[row, c] += length[c] * direction[row, c]
                residual[row, c] -= length[c] * product[row, c]
        new = _column_dots(residual, residual)
        for c in range(width):
            turn[c] = new[c] / square[c] if square[c] > goal[c] else 0.0
            square[c] = new[c]
        for row in range(n):
            for c in range(width):
                direction[row, c] = residual[row, c] + turn[c] * direction[row, c]
    left = np.zeros(width)
    for c in range(width):
        if whole[c] > 0:
            left[c] = np.sqrt(square[c] / whole[c])
    return alpha, steps, left


@kernel
def combine(
    indptr: PointerArray,
    indices: IndexArray,
    data: FloatArray,
    factors: DoubleArray,
    sums: DoubleArray,
) -> None:
    """`sums` becomes the sum of the rows, each times its factor, for each column of factors."""
    sums[:] = 0
    for row in range(factors.shape[0]):
        for at in range(indptr[row], indptr[row + 1]):
            value, feature = data[at], indices[at]
            for c in range(factors.shape[1]):
                sums[feature, c] += value * factors[row, c]


@kernel
def _project(
    indptr: PointerArray,
    indices: IndexArray,
    data: FloatArray,
    direction: DoubleArray,
    sums: DoubleArray,
    product: DoubleArray,
) -> None:
    """`product` becomes (I + G) `direction`, where `sums` combines the rows by it."""
    for row in range(direction.shape[0]):
        for c in range(direction.shape[1]):
            product[row, c] = direction[row, c]
        for at in range(indptr[row], indptr[row + 1]):
            value, feature = data[at], indices[at]
            for c in range(direction.shape[1]):
                product[row, c] += value * sums[feature, c]


@kernel
def _column_dots(a: DoubleArray, b: DoubleArray) -> DoubleArray:
    total = np.zeros(a.shape[1])
    for row in range(a.shape[0]):
        for c in range(a.shape[1]):
            total[c] += a[row, c] * b[row, c]
    return total
