"""The Perceptron of one node, on sparse rows."""

import numpy as np
from numpy.typing import NDArray

from labelwood.core.kernel import kernel
from labelwood.core.types import DoubleArray, FloatArray, IndexArray, PointerArray
from labelwood.taxonomy.hierarchy._inverse_kernels import POSITIVE, SEEN, SUPPORT
from labelwood.taxonomy.hierarchy._row_kernels import add, add_all, dot


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
    counts: NDArray[np.int64],
) -> int:
    """Add every mistaken example to the support; return how many were taken.

    Fewer than all are taken when the node needs room for more support.
    """
    weights = np.zeros(n_features)
    add_all(indptr, indices, data, rows, alpha, counts[SUPPORT], weights)
    for at in range(examples.size):
        row, sign = examples[at], signs[at]
        wrong = dot(indptr, indices, data, row, weights) * sign <= 0
        mistaken = wrong and indptr[row] < indptr[row + 1]
        n = counts[SUPPORT]
        if mistaken and n == rows.size:
            return at
        counts[SEEN] += 1
        counts[POSITIVE] += sign > 0
        if not mistaken:
            continue
        rows[n], alpha[n] = row, sign
        counts[SUPPORT] += 1
        add(indptr, indices, data, row, sign, weights)
    return examples.size
