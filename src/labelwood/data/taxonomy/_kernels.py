"""Closure of label rows under ancestors, at a cost that follows the result's size."""

import numpy as np
from numpy.typing import NDArray

from labelwood.core.allocation import zeros
from labelwood.core.kernel import exact_kernel
from labelwood.core.types import IndexArray, PointerArray


@exact_kernel
def closed_pointers(
    indptr: PointerArray, indices: IndexArray, parent: NDArray[np.int32]
) -> PointerArray:
    """Row pointers of the closure."""
    n = indptr.size - 1
    result = zeros(n + 1, np.int64)
    # A node is marked with the number of the row that met it last, so that the marks need no
    # clearing between rows.
    seen_in = np.full(parent.size, -1, dtype=np.int64)
    for row in range(n):
        count = 0
        for at in range(indptr[row], indptr[row + 1]):
            node = np.int64(indices[at])
            # An ancestor that was met before has its own ancestors in the row already: the walk up
            # ends there, and each node of the closure is visited once.
            while node >= 0 and seen_in[node] != row:
                seen_in[node] = row
                count += 1
                node = np.int64(parent[node])
        result[row + 1] = result[row] + count
    return result


@exact_kernel
def closed_indices(
    indptr: PointerArray,
    indices: IndexArray,
    parent: NDArray[np.int32],
    result: NDArray[np.int32],
) -> None:
    """Fill `result` with the labels of the closure, unsorted within a row."""
    seen_in = np.full(parent.size, -1, dtype=np.int64)
    end = 0
    for row in range(indptr.size - 1):
        for at in range(indptr[row], indptr[row + 1]):
            node = np.int64(indices[at])
            while node >= 0 and seen_in[node] != row:
                seen_in[node] = row
                result[end] = node
                end += 1
                node = np.int64(parent[node])


@exact_kernel
def orphans(
    indptr: PointerArray, indices: IndexArray, parent: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """For each entry, whether the label's parent is absent from its row."""
    result = zeros(indices.size, np.bool_)
    seen_in = np.full(parent.size, -1, dtype=np.int64)
    for row in range(indptr.size - 1):
        # All labels are marked before any parent is looked for, since labels of a row are in no
        # order of depth.
        for at in range(indptr[row], indptr[row + 1]):
            seen_in[indices[at]] = row
        for at in range(indptr[row], indptr[row + 1]):
            above = parent[indices[at]]
            result[at] = above >= 0 and seen_in[above] != row
    return result
