"""The nodes near the roots of a forest, by the features that their decisions read.

They have thousands of weights each, and a row alone has weights at few of them: in the order of the
features it reads no others.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from labelwood.core.kernel import kernel
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import DoubleArray, FloatArray, IndexArray, PointerArray

if TYPE_CHECKING:
    from labelwood.trees.fastxml.arrays import Forest
    from labelwood.trees.fastxml.top_nodes.record import TopNodes

_ONE = np.uint64(1)
# A row is expected to read so many weights of a node (all of them, times the probability of coming
# there if splits are even), for the node to be worth scoring for every row. On EURLEX57K, where a
# row has 200 features, 16 is as good and takes more memory, 128 is slower by half.
_LEAST_READS = 32.0


@kernel
def _number_top_nodes(forest: "Forest", numbers: NDArray[np.int32]) -> tuple[int, float]:
    """Number the nodes that are worth it; returns how many, and the reads expected of a row."""
    reach = np.empty(forest.right.size, dtype=np.float32)
    for root in forest.roots:
        reach[root] = 1
    n_tops, reads = 0, 0.0
    for node in range(forest.right.size):
        numbers[node] = -1
        if forest.right[node] < 0:
            continue
        # A child comes after its parent, so the probability of reaching the parent is known.
        reach[node + 1] = reach[node] / 2
        reach[forest.right[node]] = reach[node] / 2
        expected = reach[node] * (forest.weight_indptr[node + 1] - forest.weight_indptr[node])
        if expected >= _LEAST_READS:
            numbers[node] = n_tops
            n_tops += 1
            reads += expected
    return n_tops, reads


@kernel
def transpose_tops(
    forest: "Forest", n_features: int
) -> tuple[NDArray[np.int32], PointerArray, IndexArray, FloatArray, int, float]:
    """The arrays of `TopNodes`."""
    numbers = np.empty(forest.right.size, dtype=np.int32)
    n_tops, reads = _number_top_nodes(forest, numbers)
    indptr = np.zeros(n_features + 1, dtype=np.int64)
    for node in range(numbers.size):
        if numbers[node] >= 0:
            for p in range(forest.weight_indptr[node], forest.weight_indptr[node + 1]):
                indptr[np.int64(forest.features[p]) + 1] += 1
    for feature in range(n_features):
        indptr[feature + 1] += indptr[feature]
    tops = np.empty(indptr[n_features], dtype=np.uint32)
    weights = np.empty(indptr[n_features], dtype=np.float32)
    ends = indptr.copy()
    for node in range(numbers.size):
        if numbers[node] >= 0:
            for p in range(forest.weight_indptr[node], forest.weight_indptr[node + 1]):
                end = ends[forest.features[p]]
                tops[end], weights[end] = numbers[node], forest.weights[p]
                ends[forest.features[p]] += 1
    return numbers, indptr, tops, weights, n_tops, reads


@kernel
def score_tops(X: CSRArrays, i: int, tops: "TopNodes", scores: DoubleArray) -> bool:
    """Products of row i with all top nodes, if that reads less than the row would on its way.

    `scores` has a place for each of them; returns whether they were computed.
    """
    first, end = np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])
    reads = 0
    for p in range(first, end):
        feature = np.uint64(X.indices[p])
        reads += tops.indptr[feature + _ONE] - tops.indptr[feature]
    if reads > tops.reads:
        return False
    # Scores are few enough for the first cache, and weights are read one after the other, which
    # makes it worth while to score nodes that the row will not meet.
    for top in range(scores.size):
        scores[top] = 0
    for p in range(first, end):
        feature, x = np.uint64(X.indices[p]), np.float64(X.data[p])
        for q in range(np.uint64(tops.indptr[feature]), np.uint64(tops.indptr[feature + _ONE])):
            scores[tops.tops[q]] += x * np.float64(tops.weights[q])
    return True
