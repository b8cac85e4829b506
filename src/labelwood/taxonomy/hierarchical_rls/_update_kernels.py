"""On-line least squares of one node: seed 000, Figure 2, in the dual.

With support rows S and signs v the node's weights are w = S α, α = (I + G)⁻¹ v. Everything is
computed from the node's own state in a fixed order, so that results depend neither on
threads nor on how a stream is cut into batches.
"""

import numpy as np
from numpy.typing import NDArray

from labelwood.core.kernel import kernel
from labelwood.core.types import DoubleArray, FloatArray, IndexArray, PointerArray
from labelwood.taxonomy.hierarchy._inverse_kernels import (
    PENDING,
    POSITIVE,
    SEEN,
    SUPPORT,
    add_term,
    column,
    multiply,
)
from labelwood.taxonomy.hierarchy._row_kernels import add, add_all, clear, dot

_TERMS_OF_AN_EXAMPLE = 2  # at most: one example leaves and one enters


@kernel
def learn(
    indptr: PointerArray,
    indices: IndexArray,
    data: FloatArray,
    n_features: int,
    examples: NDArray[np.int64],
    signs: DoubleArray,
    rows: NDArray[np.int64],
    alpha: DoubleArray,
    inverse: DoubleArray,
    pending: DoubleArray,
    factors: DoubleArray,
    counts: NDArray[np.int64],
    settles: bool,
    margin: float,
    max_support: int,
) -> int:
    """Learn from `examples` in their order; return how many were taken.

    Fewer than all are taken when the node needs room for more support, or when pending terms
    would have to be settled and it must not do so.
    """
    weights = np.zeros(n_features)
    scratch = np.zeros(n_features)
    capacity = rows.size
    products, solved = np.empty(capacity), np.empty(capacity)
    add_all(indptr, indices, data, rows, alpha, counts[SUPPORT], weights)
    for at in range(examples.size):
        row, sign = examples[at], signs[at]
        score = dot(indptr, indices, data, row, weights)
        n = counts[SUPPORT]
        kept = (score * sign <= 0 or abs(score) <= margin) and indptr[row] < indptr[row + 1]
        settled = counts[PENDING] + _TERMS_OF_AN_EXAMPLE > factors.size
        if kept and (n == capacity < max_support or (settled and not settles)):
            return at
        counts[SEEN] += 1
        counts[POSITIVE] += sign > 0
        if not kept:
            continue
        _clear_all(indptr, indices, rows, n, weights)
        slot = n
        if n == max_support:
            slot = _leave(alpha, inverse, pending, factors, counts, solved)
        add(indptr, indices, data, row, 1.0, scratch)
        for i in range(n):
            products[i] = dot(indptr, indices, data, rows[i], scratch)
        square = dot(indptr, indices, data, row, scratch)
        clear(indptr, indices, row, scratch)
        if slot < n:
            products[slot] = 0
        _enter(
            row, sign, square, slot, products, solved,
            rows, alpha, inverse, pending, factors, counts,
        )  # fmt: skip
        add_all(indptr, indices, data, rows, alpha, counts[SUPPORT], weights)
    return examples.size


@kernel
def _clear_all(
    indptr: PointerArray,
    indices: IndexArray,
    rows: NDArray[np.int64],
    n: int,
    dense: DoubleArray,
) -> None:
    """Set `dense`, which is zero elsewhere, to zero where the first `n` rows are not."""
    if dense.size < 64 * n:
        dense[:] = 0
        return
    for i in range(n):
        clear(indptr, indices, rows[i], dense)


@kernel
def _leave(
    alpha: DoubleArray,
    inverse: DoubleArray,
    pending: DoubleArray,
    factors: DoubleArray,
    counts: NDArray[np.int64],
    removed: DoubleArray,
) -> int:
    """The example of the smallest |α| leaves the support; its slot is free."""
    slot = 0
    for i in range(1, counts[SUPPORT]):
        if abs(alpha[i]) < abs(alpha[slot]):
            slot = i
    column(inverse, pending, factors, counts, slot, removed)
    share = alpha[slot] / removed[slot]
    for i in range(counts[SUPPORT]):
        alpha[i] -= share * removed[i]
    alpha[slot] = 0
    add_term(inverse, pending, factors, counts, removed, -1 / removed[slot])
    return slot


@kernel
def _enter(
    row: int,
    sign: float,
    square: float,
    slot: int,
    products: DoubleArray,
    solved: DoubleArray,
    rows: NDArray[np.int64],
    alpha: DoubleArray,
    inverse: DoubleArray,
    pending: DoubleArray,
    factors: DoubleArray,
    counts: NDArray[np.int64],
) -> None:
    """An example joins the support, in a free slot or in a new one at the end."""
    multiply(inverse, pending, factors, counts, products, solved)
    n = counts[SUPPORT]
    schur, residual = 1.0 + square, sign
    for i in range(n):
        schur -= products[i] * solved[i]
        residual -= products[i] * alpha[i]
    for i in range(n):
        alpha[i] -= residual / schur * solved[i]
    counts[SUPPORT] = max(n, slot + 1)
    rows[slot] = row
    alpha[slot] = residual / schur
    solved[slot] = -1
    add_term(inverse, pending, factors, counts, solved, 1 / schur)


@kernel
def spreads(
    indptr: PointerArray,
    indices: IndexArray,
    data: FloatArray,
    n_features: int,
    asked: tuple[PointerArray, IndexArray, FloatArray],
    rows: NDArray[np.int64],
    inverse: DoubleArray,
    pending: DoubleArray,
    factors: DoubleArray,
    counts: NDArray[np.int64],
) -> DoubleArray:
    """For each row x that is asked for: r = xᵀ(I + SSᵀ)⁻¹x, and ‖(I + G)⁻¹Sᵀx‖²."""
    n = counts[SUPPORT]
    scratch = np.zeros(n_features)
    products, solved = np.empty(n), np.empty(n)
    result = np.zeros((asked[0].size - 1, 2))
    for x in range(asked[0].size - 1):
        add(asked[0], asked[1], asked[2], x, 1.0, scratch)
        for i in range(n):
            products[i] = dot(indptr, indices, data, rows[i], scratch)
        multiply(inverse, pending, factors, counts, products, solved)
        result[x, 0] = dot(asked[0], asked[1], asked[2], x, scratch)
        for i in range(n):
            result[x, 0] -= products[i] * solved[i]
            result[x, 1] += solved[i] * solved[i]
        clear(asked[0], asked[1], x, scratch)
    return result
