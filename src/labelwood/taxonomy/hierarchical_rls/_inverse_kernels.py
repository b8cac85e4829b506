"""The inverse of I + G for a node's support, kept while examples enter and leave.

`G` is the Gram matrix of the support rows. The inverse is `node.inverse` (its lower triangle,
packed by rows) plus Σ_p factors[p] · pending[p] pending[p]ᵀ. An example that enters or leaves
changes it by one such rank-one term. Terms are collected and added to the triangle many at a
time, because the triangle is larger than the cache and would be read and written once for each.
"""

import numpy as np
from numpy.typing import NDArray

from labelwood.core.allocation import zeros
from labelwood.core.kernel import kernel
from labelwood.core.types import DoubleArray
from labelwood.taxonomy.hierarchy import PENDING, SUPPORT, Node


@kernel
def multiply(
    node: Node, counts: NDArray[np.int64], vector: DoubleArray, result: DoubleArray
) -> None:
    """`result` becomes (I + G)⁻¹ `vector`."""
    n = counts[SUPPORT]
    inverse, pending, factors = node.inverse, node.pending, node.factors
    for i in range(n):
        # Each entry of the lower triangle is read once and used for both of its positions, so
        # that the product costs one pass over half of the matrix.
        start = i * (i + 1) // 2
        own = vector[i]
        total = 0.0
        for j in range(i):
            value = inverse[start + j]
            total += value * vector[j]
            result[j] += value * own
        result[i] = total + inverse[start + i] * own
    # The rank-one terms that are not in the triangle yet cost two passes over a vector each.
    for p in range(counts[PENDING]):
        total = 0.0
        for i in range(n):
            total += pending[p, i] * vector[i]
        total *= factors[p]
        for i in range(n):
            result[i] += total * pending[p, i]


@kernel
def column(node: Node, counts: NDArray[np.int64], at: int, result: DoubleArray) -> None:
    """`result` becomes column `at` of (I + G)⁻¹."""
    n = counts[SUPPORT]
    inverse, pending, factors = node.inverse, node.pending, node.factors
    start = at * (at + 1) // 2
    for i in range(at):
        result[i] = inverse[start + i]
    for i in range(at, n):
        # Above the diagonal the matrix is read by its symmetry, from the later rows.
        result[i] = inverse[i * (i + 1) // 2 + at]
    for p in range(counts[PENDING]):
        share = factors[p] * pending[p, at]
        for i in range(n):
            result[i] += share * pending[p, i]


@kernel
def add_term(node: Node, counts: NDArray[np.int64], vector: DoubleArray, factor: float) -> None:
    """Add `factor` · `vector` `vector`ᵀ to the inverse."""
    inverse, pending, factors = node.inverse, node.pending, node.factors
    if counts[PENDING] == factors.size:
        _flush(inverse, pending, factors, counts[SUPPORT])
        counts[PENDING] = 0
    slot = counts[PENDING]
    n = counts[SUPPORT]
    for i in range(n):
        pending[slot, i] = vector[i]
    # Examples that enter while the term is pending have no part in it.
    for i in range(n, pending.shape[1]):
        pending[slot, i] = 0
    factors[slot] = factor
    counts[PENDING] += 1


@kernel
def _flush(inverse: DoubleArray, pending: DoubleArray, factors: DoubleArray, n: int) -> None:
    """Add all pending terms to the triangle, four terms at a time to two rows of it.

    A block of 2 × 4 keeps the eight coefficients in registers, and every entry of a term that is
    read serves two rows.
    """
    for i in range(0, n, 2):
        start = i * (i + 1) // 2
        middle = start + i + 1
        first = inverse[start:middle]
        # The last row may be alone; its partner is then a buffer that is thrown away.
        second = inverse[middle : middle + i + 2] if i + 1 < n else zeros(i + 2, np.float64)
        for p in range(0, factors.size, 4):
            _add_four(first, second, pending[p : p + 4], factors[p : p + 4], i, min(i + 1, n - 1))


@kernel
def _add_four(
    first: DoubleArray,
    second: DoubleArray,
    terms: DoubleArray,
    factors: DoubleArray,
    i: int,
    next_i: int,
) -> None:
    """Add four terms to rows `i` and `next_i` of the triangle."""
    a, b, c, d = terms[0], terms[1], terms[2], terms[3]
    a0, a1 = factors[0] * a[i], factors[0] * a[next_i]
    b0, b1 = factors[1] * b[i], factors[1] * b[next_i]
    c0, c1 = factors[2] * c[i], factors[2] * c[next_i]
    d0, d1 = factors[3] * d[i], factors[3] * d[next_i]
    for j in range(first.size):
        first[j] += a0 * a[j] + b0 * b[j] + c0 * c[j] + d0 * d[j]
        second[j] += a1 * a[j] + b1 * b[j] + c1 * c[j] + d1 * d[j]
    # The second row is one entry longer than the first: its diagonal.
    second[i + 1] += a1 * a[next_i] + b1 * b[next_i] + c1 * c[next_i] + d1 * d[next_i]
