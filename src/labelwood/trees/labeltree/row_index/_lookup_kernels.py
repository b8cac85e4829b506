"""Looking the features of a row up in single blocks of a label tree.

The features of a block are in order, and a directory by their leading bits says where to look.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelwood.core.kernel import kernel
from labelwood.core.lanes import WIDTH, load, splat
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import FloatArray, IndexArray, PointerArray

if TYPE_CHECKING:
    from labelwood.trees.labeltree.arrays import LabelForest
    from labelwood.trees.labeltree.row_index.index import Directory

_START = np.uint64(0)
_SHARE = 2  # features to a place of the directory, which is then as large as half of them
_WINDOW = 8  # features that a lookup reads without a branch


class Found(NamedTuple):
    """Scratch memory of lookups: places of features, their values, and weights read ahead."""

    places: PointerArray
    values: FloatArray
    weights: FloatArray


@kernel
def allocate_found(X: CSRArrays) -> Found:
    """Scratch memory for the longest of the rows."""
    longest = 0
    for i in range(X.indptr.size - 1):
        longest = max(longest, X.indptr[i + 1] - X.indptr[i])
    return Found(
        np.empty(longest + 1, dtype=np.int64),
        np.empty(longest + 1, dtype=np.float32),
        np.empty(longest + 1, dtype=np.float32),
    )


@kernel
def feature_directory(
    block_indptr: PointerArray, features: IndexArray, n_features: int
) -> tuple[PointerArray, NDArray[np.uint8], IndexArray]:
    """Where in each block the features begin whose leading bits are 0, 1, 2, and so on.

    So many bits lead that there are about _SHARE features to each of their values.
    """
    n_blocks, last = block_indptr.size - 1, max(n_features - 1, 0)
    indptr, shifts = np.zeros(n_blocks + 1, dtype=np.int64), np.zeros(n_blocks, dtype=np.uint8)
    for block in range(n_blocks):
        size, shift = block_indptr[block + 1] - block_indptr[block], 0
        while (last >> shift) * _SHARE > size:
            shift += 1
        shifts[block] = shift
        # There is a start for each value of the leading bits, and an end of the last.
        indptr[block + 1] = indptr[block] + (last >> shift) + 2
    starts = np.empty(indptr[n_blocks], dtype=np.uint32)
    for block in range(n_blocks):
        row, end = block_indptr[block], block_indptr[block + 1]
        for k in range(indptr[block + 1] - indptr[block]):
            while row < end and (np.int64(features[row]) >> np.int64(shifts[block])) < k:
                row += 1
            starts[indptr[block] + k] = row - block_indptr[block]
    return indptr, shifts, starts


@kernel
def _find_features(
    X: CSRArrays, i: int, forest: "LabelForest", directory: "Directory", block: int, found: Found
) -> int:
    """Put down where the features of row i are that the block has; returns how many.

    Memory is what takes time here. No branch waits for what is read, so that the processor reads
    for many features at once.
    """
    n_found = 0
    first, shift = forest.block_indptr[block], np.uint32(directory.shifts[block])
    begin, last = directory.indptr[block], forest.features.size - 1
    for p in range(X.indptr[i], X.indptr[i + 1]):
        feature = X.indices[p]
        bits = begin + np.int64(feature >> shift)
        low = first + np.int64(directory.starts[bits])
        end = first + np.int64(directory.starts[bits + 1])
        high = end
        while high - low > _WINDOW:  # seldom, where features crowd
            middle = (low + high) >> 1
            if forest.features[middle] < feature:
                low = middle + 1
            else:
                high = middle
        place = low
        for k in range(_WINDOW):
            # Smaller features are counted, not searched for: additions need no branch.
            place += (low + k < end) & (forest.features[min(low + k, last)] < feature)
        found.places[n_found], found.values[n_found] = place, X.data[p]
        n_found += (place < end) & (forest.features[min(place, last)] == feature)
    return n_found


@kernel
def lookup_dot(
    X: CSRArrays,
    i: int,
    forest: "LabelForest",
    directory: "Directory",
    block: int,
    found: Found,
    one_row: FloatArray,
) -> FloatArray:
    """Products of row i with the sixteen decisions of a block."""
    total = splat(np.float32(0))
    if forest.weights.size == 0:
        return total
    n_found = _find_features(X, i, forest, directory, block, found)
    # All first weights are read before any is used, so that the waits for memory overlap.
    for k in range(n_found):
        # The sum is never used: it only makes the processor read from both arrays.
        q = min(forest.entry_indptr[found.places[k]], forest.weights.size - 1)
        found.weights[k] = forest.weights[q] + forest.lanes[q]
    for k in range(n_found):
        row = found.places[k]
        for lane in range(WIDTH):
            one_row[lane] = 0
        for q in range(forest.entry_indptr[row], forest.entry_indptr[row + 1]):
            one_row[forest.lanes[q]] = forest.weights[q]
        total += splat(found.values[k]) * load(one_row, _START)
    return total
