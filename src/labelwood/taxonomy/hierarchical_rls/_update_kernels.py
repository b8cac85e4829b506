"""On-line least squares of one node: Cesa-Bianchi, Conconi & Gentile 2004, Figure 2, in the dual.

With support rows S and signs v the node's weights are w = S α, α = (I + G)⁻¹ v. Everything is
computed from the node's own state in a fixed order, so that results depend neither on
threads nor on how a stream is cut into batches.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelwood.core.allocation import empty, zeros
from labelwood.core.kernel import kernel
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import DoubleArray
from labelwood.taxonomy.hierarchical_rls._inverse_kernels import add_term, column, multiply
from labelwood.taxonomy.hierarchy import (
    PENDING,
    POSITIVE,
    SEEN,
    SELECTED,
    SUPPORT,
    Examples,
    Node,
    add,
    add_all,
    clear,
    dot,
)

_TERMS_PER_EXAMPLE = 2  # at most: one example leaves and one enters


class Settings(NamedTuple):
    """Which examples are kept: all, or with `by_margin` those mistaken or of small margin.

    From `primal_from` examples on the node has to take the primal form first.
    """

    by_margin: bool
    margin: float
    max_support: int
    primal_from: int


@kernel
def learn(
    store: CSRArrays,
    n_features: int,
    examples: Examples,
    node: Node,
    counts: NDArray[np.int64],
    settings: Settings,
    may_flush: bool,
) -> int:
    """Learn from `examples` in their order; return how many were used.

    Fewer than all are used when the node needs a larger capacity or the primal form, or when
    pending terms would have to be added to the triangle without `may_flush`.
    """
    weights = zeros(n_features, np.float64)
    scratch = zeros(n_features, np.float64)
    rows, capacity = node.rows, node.rows.size
    products, solved = empty(capacity, np.float64), empty(capacity, np.float64)
    add_all(store, rows, node.alpha, counts[SUPPORT], weights)
    for at in range(examples.rows.size):
        row, sign = examples.rows[at], examples.signs[at]
        score = dot(store, row, weights)
        n = counts[SUPPORT]
        is_empty = store.indptr[row] == store.indptr[row + 1]
        wanted = not settings.by_margin or score * sign <= 0 or abs(score) <= settings.margin
        kept = wanted and not is_empty
        flushes = counts[PENDING] + _TERMS_PER_EXAMPLE > node.factors.size
        # The caller makes more space, or adds the pending terms in another thread block, and goes
        # on from this example.
        full = n == capacity < settings.max_support or n >= settings.primal_from
        if kept and (full or (flushes and not may_flush)):
            return at
        evicts = kept and n == settings.max_support
        counts[SEEN] += 1
        counts[POSITIVE] += sign > 0
        counts[SELECTED] += (settings.by_margin and not is_empty) or evicts
        if not kept:
            continue
        _clear_all(store, rows, n, weights)
        slot = n
        if evicts:
            slot = _leave(node, counts, solved)
        # The row is spread out in a dense vector once, so that a product with each support row
        # costs the non-zeros of that row alone.
        add(store, row, 1.0, scratch)
        for i in range(n):
            products[i] = dot(store, rows[i], scratch)
        square = dot(store, row, scratch)
        clear(store, row, scratch)
        if slot < n:
            products[slot] = 0
        _enter(row, sign, square, slot, products, solved, node, counts)
        add_all(store, rows, node.alpha, counts[SUPPORT], weights)
    return examples.rows.size


@kernel
def _clear_all(store: CSRArrays, rows: NDArray[np.int64], n: int, dense: DoubleArray) -> None:
    """Set `dense`, which is zero elsewhere, to zero on the features of the first `n` rows."""
    # Filling all of it is quicker unless it is much longer than the rows have non-zeros (64 of
    # them each, about what a document has).
    if dense.size < 64 * n:
        dense[:] = 0
        return
    for i in range(n):
        clear(store, rows[i], dense)


@kernel
def _leave(node: Node, counts: NDArray[np.int64], removed: DoubleArray) -> int:
    """The example of the smallest |α| leaves the support; its slot is free."""
    alpha = node.alpha
    slot = 0
    for i in range(1, counts[SUPPORT]):
        if abs(alpha[i]) < abs(alpha[slot]):
            slot = i
    column(node, counts, slot, removed)
    # Removing a row and column of a matrix takes a rank-one term off its inverse (the reverse of
    # the bordering in `_enter`).
    share = alpha[slot] / removed[slot]
    for i in range(counts[SUPPORT]):
        alpha[i] -= share * removed[i]
    alpha[slot] = 0
    add_term(node, counts, removed, -1 / removed[slot])
    return slot


@kernel
def _enter(
    row: int,
    sign: float,
    square: float,
    slot: int,
    products: DoubleArray,
    solved: DoubleArray,
    node: Node,
    counts: NDArray[np.int64],
) -> None:
    """An example enters the support, in a free slot or in a new one at the end.

    By the inverse of a bordered matrix: with b the products of the new row and s = 1 + ‖x‖² −
    bᵀ(I + G)⁻¹b the Schur complement, the inverse gains (z zᵀ)/s, z = ((I + G)⁻¹b, −1).
    """
    alpha = node.alpha
    multiply(node, counts, products, solved)
    n = counts[SUPPORT]
    schur, residual = 1.0 + square, sign
    for i in range(n):
        schur -= products[i] * solved[i]
        residual -= products[i] * alpha[i]
    for i in range(n):
        alpha[i] -= residual / schur * solved[i]
    counts[SUPPORT] = max(n, slot + 1)
    node.rows[slot] = row
    alpha[slot] = residual / schur
    solved[slot] = -1
    add_term(node, counts, solved, 1 / schur)


@kernel
def quadratic_forms(
    store: CSRArrays, n_features: int, X: CSRArrays, node: Node, counts: NDArray[np.int64]
) -> DoubleArray:
    """For each row x of `X`: r = xᵀ(I + SSᵀ)⁻¹x, and ‖(I + G)⁻¹Sᵀx‖²."""
    n = counts[SUPPORT]
    scratch = zeros(n_features, np.float64)
    products, solved = empty(n, np.float64), empty(n, np.float64)
    result = zeros((X.indptr.size - 1, 2), np.float64)
    for row in range(X.indptr.size - 1):
        add(X, row, 1.0, scratch)
        for i in range(n):
            products[i] = dot(store, node.rows[i], scratch)
        multiply(node, counts, products, solved)
        result[row, 0] = dot(X, row, scratch)
        for i in range(n):
            result[row, 0] -= products[i] * solved[i]
            result[row, 1] += solved[i] * solved[i]
        clear(X, row, scratch)
    return result
