"""Beam search through label trees, for many rows at once.

A node's decisions lie in blocks of sixteen. Where many rows meet at a node, its blocks are
spread out once for all of them; where few do, each row looks its features up by a directory of
the block's. Both ways add the same numbers in the same order.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelwood.core._kernels import insert_label
from labelwood.core._order_kernels import resized, stable_order
from labelwood.core.kernel import kernel
from labelwood.core.lanes import WIDTH, larger, load, splat, store
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import FloatArray, IndexArray, PointerArray

if TYPE_CHECKING:
    from labelwood.trees.labeltree.arrays import Directory, LabelForest

_LANES = np.uint64(WIDTH)
_START = np.uint64(0)
_ONE = np.uint64(1)
_TIE = np.float32(0.01)
_LOOKUP = 5  # looking a feature up costs as much as spreading out this many
_SHARE = 2  # features to a place of the directory, which is then as large as half of them
_WINDOW = 8  # features that a lookup reads without a branch


class Found(NamedTuple):
    """Scratch memory of lookups: places of features, their values, and weights read ahead."""

    places: PointerArray
    values: FloatArray
    weights: FloatArray


@kernel
def _spread(forest: "LabelForest", block: int, number: IndexArray, spread: FloatArray) -> None:
    """Number the features of a block, and lay its weights out sixteen to a feature."""
    start = forest.block_indptr[block]
    for row in range(start, forest.block_indptr[block + 1]):
        place = (row - start) * WIDTH
        number[forest.features[row]] = row - start + 1
        for lane in range(WIDTH):
            spread[place + lane] = 0
        for p in range(forest.entry_indptr[row], forest.entry_indptr[row + 1]):
            spread[place + forest.lanes[p]] = forest.weights[p]


@kernel
def _spread_dot(X: CSRArrays, i: int, number: IndexArray, spread: FloatArray) -> FloatArray:
    total = splat(np.float32(0))
    for p in range(np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])):
        # Features are numbered from 1: 0 is a feature that the block does not have.
        k = np.uint64(number[X.indices[p]])
        if k > _START:
            total += splat(X.data[p]) * load(spread, (k - _ONE) * _LANES)
    return total


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
    X: CSRArrays, i: int, forest: "LabelForest", directory: "Directory", block: int, found: "Found"
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
            place += (low + k < end) & (forest.features[min(low + k, last)] < feature)
        found.places[n_found], found.values[n_found] = place, X.data[p]
        n_found += (place < end) & (forest.features[min(place, last)] == feature)
    return n_found


@kernel
def _lookup_dot(
    X: CSRArrays,
    i: int,
    forest: "LabelForest",
    directory: "Directory",
    block: int,
    found: "Found",
    one_row: FloatArray,
) -> FloatArray:
    """The same from the packed weights."""
    total = splat(np.float32(0))
    if forest.weights.size == 0:
        return total
    n_found = _find_features(X, i, forest, directory, block, found)
    # All first weights are read before any is used, for the same reason.
    for k in range(n_found):
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


@kernel
def _log_loss(scores: FloatArray, start: int, logistic: bool) -> None:
    """What each score costs its path: log σ(s), or −max(0, 1 − s)² − 0.01 / max(1, s).

    The last term lets decisions beyond 1 still differ.
    """
    if logistic:
        for lane in range(start, start + WIDTH):
            score = scores[lane]
            scores[lane] = min(score, np.float32(0)) - np.log1p(np.exp(-abs(score)))
        return
    place = np.uint64(start)
    one, score = splat(np.float32(1)), load(scores, place)
    short = larger(one - score, splat(np.float32(0)))
    store(scores, place, splat(np.float32(0)) - short * short - splat(_TIE) / larger(score, one))


@kernel
def _score_node(
    X: CSRArrays,
    forest: "LabelForest",
    directory: "Directory",
    node: int,
    pairs: NDArray[np.int64],
    beam: int,
    width: int,
    logistic: bool,
    path_weight: np.float32,
    path: FloatArray,
    number: IndexArray,
    spread: FloatArray,
    found: Found,
    one_row: FloatArray,
    scores: FloatArray,
) -> None:
    """Scores of the node's children for each (row, slot) that stands at the node."""
    # On the way the scores of a path are summed as they are; at a leaf the whole path is weighted
    # against the label's own decision.
    weight = path_weight if forest.is_leaf[node] else np.float32(1)
    nonzeros = 0
    for pair in pairs:
        nonzeros += X.indptr[pair // beam + 1] - X.indptr[pair // beam]
    first = forest.node_blocks[node]
    for block in range(first, forest.node_blocks[node + 1]):
        start, end = forest.block_indptr[block], forest.block_indptr[block + 1]
        many = pairs.size > 1 and nonzeros * _LOOKUP > end - start
        if many:
            _spread(forest, block, number, spread)
        offset = load(forest.intercepts, np.uint64(block) * _LANES)
        for pair in pairs:
            place = pair * width + (block - first) * WIDTH
            if many:
                total = _spread_dot(X, pair // beam, number, spread)
            else:
                total = _lookup_dot(X, pair // beam, forest, directory, block, found, one_row)
            store(scores, np.uint64(place), total + offset)
            _log_loss(scores, place, logistic)
            for lane in range(place, place + WIDTH):
                scores[lane] += weight * path[pair]
        if many:
            for row in range(start, end):
                number[forest.features[row]] = 0


@kernel
def _collect(
    forest: "LabelForest",
    i: int,
    beam: int,
    width: int,
    scores: FloatArray,
    nodes: NDArray[np.int64],
    labels: NDArray[np.int32],
    values: FloatArray,
    size: int,
) -> int:
    """The labels of the leaves at which row i stands, after the `size` that it has already."""
    for pair in range(i * beam, (i + 1) * beam):
        node = nodes[pair]
        if node < 0 or not forest.is_leaf[node]:
            continue
        first = forest.node_blocks[node] * WIDTH
        for slot in range(first, forest.node_blocks[node + 1] * WIDTH):
            if forest.children[slot] >= 0 and size < labels.size:
                labels[size] = forest.children[slot]
                values[size] = scores[pair * width + slot - first]
                size += 1
    return size


@kernel
def _next_nodes(
    forest: "LabelForest",
    i: int,
    beam: int,
    width: int,
    scores: FloatArray,
    nodes: NDArray[np.int64],
    path: FloatArray,
    best: FloatArray,
    best_nodes: NDArray[np.int64],
) -> None:
    """Row i goes on to the best children of the inner nodes at which it stands."""
    size = 0
    for pair in range(i * beam, (i + 1) * beam):
        node = nodes[pair]
        if node < 0 or forest.is_leaf[node]:
            continue
        first, last = forest.node_blocks[node] * WIDTH, forest.node_blocks[node + 1] * WIDTH
        for slot in range(first, last):
            score = scores[pair * width + slot - first]
            if forest.children[slot] < 0 or (size == beam and score <= best[beam - 1]):
                continue
            # Insertion into the sorted beam: the worst node drops out at the end.
            place = min(size, beam - 1)
            while place > 0 and best[place - 1] < score:
                best[place], best_nodes[place] = best[place - 1], best_nodes[place - 1]
                place -= 1
            best[place], best_nodes[place] = score, forest.children[slot]
            size = min(size + 1, beam)
    for k in range(beam):
        nodes[i * beam + k] = best_nodes[k] if k < size else -1
        path[i * beam + k] = best[k]


@kernel
def search_tree(
    X: CSRArrays,
    n_features: int,
    forest: "LabelForest",
    directory: "Directory",
    root: int,
    width: int,
    beam: int,
    logistic: bool,
    path_weight: np.float32,
) -> tuple[NDArray[np.int32], FloatArray, NDArray[np.int64]]:
    """The labels that a beam of `beam` nodes reaches, for each row, with their log scores.

    `width` is the size of the widest node. A label's score is that of its own decision and
    `path_weight` times the sum of those on the way. Returns labels and scores, `beam` · `width`
    places a row, and how many of them are filled.
    """
    n = X.indptr.size - 1
    nodes, path = np.full(n * beam, np.int64(-1)), np.zeros(n * beam, dtype=np.float32)
    for i in range(n):
        nodes[i * beam] = root
    scores = np.empty(n * beam * width, dtype=np.float32)
    labels = np.empty((n, beam * width), dtype=np.int32)
    values = np.empty((n, beam * width), dtype=np.float32)
    filled = np.zeros(n, dtype=np.int64)
    longest = 0
    for i in range(n):
        longest = max(longest, X.indptr[i + 1] - X.indptr[i])
    found = Found(
        np.empty(longest + 1, dtype=np.int64),
        np.empty(longest + 1, dtype=np.float32),
        np.empty(longest + 1, dtype=np.float32),
    )
    number = np.zeros(0 if n == 1 else n_features, dtype=np.uint32)
    spread = np.empty(0, dtype=np.float32)
    one_row = np.empty(WIDTH, dtype=np.float32)
    best, best_nodes = np.empty(beam, dtype=np.float32), np.empty(beam, dtype=np.int64)
    while True:
        order = stable_order(nodes)
        start = 0
        while start < order.size and nodes[order[start]] < 0:
            start += 1
        standing = order[start:]
        if standing.size == 0:
            return labels, values, filled
        start = 0
        while start < standing.size:
            node, end = nodes[standing[start]], start + 1
            while end < standing.size and nodes[standing[end]] == node:
                end += 1
            for block in range(forest.node_blocks[node], forest.node_blocks[node + 1]):
                size = forest.block_indptr[block + 1] - forest.block_indptr[block]
                if n > 1 and spread.size < size * WIDTH:
                    spread = np.empty(size * WIDTH, dtype=np.float32)
            _score_node(
                X, forest, directory, node, standing[start:end], beam, width, logistic, path_weight,
                path, number, spread, found, one_row, scores,
            )  # fmt: skip
            start = end
        for i in range(n):
            filled[i] = _collect(
                forest, i, beam, width, scores, nodes, labels[i], values[i], filled[i]
            )
            _next_nodes(forest, i, beam, width, scores, nodes, path, best, best_nodes)


@kernel
def _add_up(
    i: int,
    labels: NDArray[np.int32],
    values: FloatArray,
    filled: NDArray[np.int64],
    total: FloatArray,
    touched: NDArray[np.int32],
) -> int:
    """The mean of exp(log score) over the trees, zero where a tree did not reach the label.

    `total` is zero where `touched` does not say otherwise; returns how many were touched.
    """
    size = 0
    share = np.float32(1 / max(labels.shape[0], 1))
    for tree in range(labels.shape[0]):
        for j in range(filled[tree, i]):
            label = labels[tree, i, j]
            if total[label] == 0:
                touched[size] = label
                size += 1
            # Never zero, so that a label is touched once.
            total[label] += share * max(np.exp(values[tree, i, j]), np.float32(1e-30))
    return size


@kernel
def topk_of_trees(
    labels: NDArray[np.int32],
    values: FloatArray,
    filled: NDArray[np.int64],
    n_labels: int,
    k: int,
) -> tuple[NDArray[np.int32], FloatArray]:
    """The best `k` labels of each row and their scores, best first, −1 and −∞ where none is left.

    `labels`, `values` and `filled` are those of `search_tree`, tree by tree. Equal scores
    go to the smaller label first.
    """
    n = labels.shape[1]
    top_labels, top_scores = np.full((n, k), np.int32(-1)), np.full((n, k), np.float32(-np.inf))
    total = np.zeros(n_labels, dtype=np.float32)
    touched = np.empty(labels.shape[0] * labels.shape[2], dtype=np.int32)
    for i in range(n):
        size = 0
        for t in range(_add_up(i, labels, values, filled, total, touched)):
            label = touched[t]
            score = total[label]
            total[label] = 0
            size = insert_label(label, score, top_labels[i], top_scores[i], size)
    return top_labels, top_scores


@kernel
def above_of_trees(
    labels: NDArray[np.int32],
    values: FloatArray,
    filled: NDArray[np.int64],
    n_labels: int,
    threshold: float,
) -> tuple[PointerArray, NDArray[np.int32], FloatArray]:
    """Scores above `threshold` of each row, in CSR arrays (labels in no order)."""
    n = labels.shape[1]
    total = np.zeros(n_labels, dtype=np.float32)
    touched = np.empty(labels.shape[0] * labels.shape[2], dtype=np.int32)
    pointers = np.zeros(n + 1, dtype=np.int64)
    size = 0
    for tree in range(filled.shape[0]):
        for i in range(n):
            size += filled[tree, i]
    found, scores = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.float32)
    size = 0
    for i in range(n):
        for t in range(_add_up(i, labels, values, filled, total, touched)):
            label = touched[t]
            if total[label] > threshold:
                found[size], scores[size] = label, total[label]
                size += 1
            total[label] = 0
        pointers[i + 1] = size
    return pointers, resized(found, size), resized(scores, size)
