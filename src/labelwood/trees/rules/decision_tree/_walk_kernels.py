"""Rows walk down trees of rules."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelwood.core.allocation import empty
from labelwood.core.kernel import exact_kernel
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import DoubleArray, IndexArray, PointerArray


class Walkable(NamedTuple):
    """What a walk needs of `RuleTrees`."""

    roots: PointerArray
    right: PointerArray
    features: PointerArray
    thresholds: DoubleArray
    missing_left: NDArray[np.bool_]
    larger_left: NDArray[np.bool_]
    mask_indptr: PointerArray
    masks: IndexArray


@exact_kernel
def goes_left(trees: Walkable, node: int, value: float) -> bool:
    """On which side of a node's split a value falls."""
    # NaN compares false with every threshold, so that it must be handled before the comparison.
    if np.isnan(value):
        return trees.missing_left[node]
    first, after = trees.mask_indptr[node], trees.mask_indptr[node + 1]
    if after == first:
        return value <= trees.thresholds[node]
    category = np.int64(value)
    if category != value or category < 0 or category >= 32 * (after - first):
        return trees.larger_left[node]  # a category that training has not seen
    # The categories that go left are bits of 32-bit words: word category // 32, bit category % 32.
    word = trees.masks[first + (category >> 5)]
    return (word >> np.uint32(category & 31)) & 1 == 1


@exact_kernel
def walk(X: CSRArrays, trees: Walkable) -> PointerArray:
    """The leaf of each row in each tree."""
    n = X.indptr.size - 1
    leaves = empty((n, trees.roots.size), np.int64)
    for row in range(n):
        start, end = X.indptr[row], X.indptr[row + 1]
        for tree in range(trees.roots.size):
            node = trees.roots[tree]
            while trees.right[node] >= 0:
                value = value_in_row(X, start, end, trees.features[node])
                # Nodes are numbered in preorder: the left child is the next node and needs no
                # pointer.
                node = node + 1 if goes_left(trees, node, value) else trees.right[node]
            leaves[row, tree] = node
    return leaves


@exact_kernel
def value_in_row(X: CSRArrays, start: int, end: int, feature: int) -> float:
    """The value of a feature in a sparse row with sorted indices, by bisection."""
    while start < end:
        middle = (start + end) >> 1
        found = X.indices[middle]
        if found == feature:
            return np.float64(X.data[middle])
        if found < feature:
            start = middle + 1
        else:
            end = middle
    return 0.0
