"""Beam search through label trees, for many rows at once.

A node's decisions lie in blocks of sixteen. Where many rows meet at a node, its blocks are
spread out once for all of them; where few do, each row looks its features up by a directory of
the block's. Rows that come alone or in small numbers are scored by the postings of their features.
All ways add the same numbers in the same order.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from labelwood.core._kernels import insert_label
from labelwood.core._order_kernels import resized, stable_order
from labelwood.core._row_kernels import unit_rows
from labelwood.core.kernel import kernel
from labelwood.core.lanes import WIDTH, larger, load, splat, store
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import FloatArray, IndexArray, PointerArray
from labelwood.trees.labeltree.row_index._lookup_kernels import Found, allocate_found, lookup_dot
from labelwood.trees.labeltree.row_index._posting_kernels import score_blocks

if TYPE_CHECKING:
    from labelwood.trees.labeltree.arrays import LabelForest, Search
    from labelwood.trees.labeltree.row_index import Directory, Postings

_LANES = np.uint64(WIDTH)
_ABSENT = np.uint64(0)  # the number of a feature that a block does not have
_ONE = np.uint64(1)
_TIE = np.float32(0.01)
_LOOKUP = 5  # looking a feature up costs as much as spreading out this many


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
        # Features of the block are numbered from 1.
        k = np.uint64(number[X.indices[p]])
        if k > _ABSENT:
            total += splat(X.data[p]) * load(spread, (k - _ONE) * _LANES)
    return total


@kernel
def _log_scores(scores: FloatArray, start: int, logistic: bool) -> None:
    """The log score that a decision adds to its path, in place of its score s.

    It is log σ(s), or −max(0, 1 − s)² − 0.01 / max(1, s), whose last term lets decisions beyond 1
    still differ.
    """
    if logistic:
        for lane in range(start, start + WIDTH):
            score = scores[lane]
            # This form of log σ(s) cannot overflow: the argument of exp is never positive.
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
    number: IndexArray,
    spread: FloatArray,
    found: Found,
    one_row: FloatArray,
    scores: FloatArray,
) -> None:
    """Products with the node's decisions for each (row, slot) that stands at the node."""
    nonzeros = 0
    for pair in pairs:
        nonzeros += X.indptr[pair // beam + 1] - X.indptr[pair // beam]
    first = forest.node_blocks[node]
    for block in range(first, forest.node_blocks[node + 1]):
        start, end = forest.block_indptr[block], forest.block_indptr[block + 1]
        many = pairs.size > 1 and nonzeros * _LOOKUP > end - start
        if many:
            _spread(forest, block, number, spread)
        for pair in pairs:
            if many:
                total = _spread_dot(X, pair // beam, number, spread)
            else:
                total = lookup_dot(X, pair // beam, forest, directory, block, found, one_row)
            store(scores, np.uint64(pair * width + (block - first) * WIDTH), total)
        if many:
            for row in range(start, end):
                number[forest.features[row]] = 0


@kernel
def _score_by_nodes(
    X: CSRArrays,
    forest: "LabelForest",
    directory: "Directory",
    nodes: NDArray[np.int64],
    beam: int,
    width: int,
    number: IndexArray,
    spread: FloatArray,
    found: Found,
    one_row: FloatArray,
    scores: FloatArray,
) -> FloatArray:
    """Products of all rows, node by node; returns `spread`, larger if it had to grow."""
    order = stable_order(nodes)
    start = 0
    while start < order.size and nodes[order[start]] < 0:
        start += 1
    while start < order.size:
        node, end = nodes[order[start]], start + 1
        while end < order.size and nodes[order[end]] == node:
            end += 1
        for block in range(forest.node_blocks[node], forest.node_blocks[node + 1]):
            size = forest.block_indptr[block + 1] - forest.block_indptr[block]
            if end - start > 1 and spread.size < size * WIDTH:
                spread = np.empty(size * WIDTH, dtype=np.float32)
        _score_node(
            X, forest, directory, node, order[start:end], beam, width, number, spread, found,
            one_row, scores,
        )  # fmt: skip
        start = end
    return spread


@kernel
def _score_by_rows(
    X: CSRArrays,
    forest: "LabelForest",
    postings: "Postings",
    nodes: NDArray[np.int64],
    beam: int,
    width: int,
    blocks: NDArray[np.uint64],
    places: NDArray[np.uint64],
    scores: FloatArray,
) -> None:
    """The same row by row, from the postings of its features."""
    for i in range(X.indptr.size - 1):
        size = 0
        for pair in range(i * beam, (i + 1) * beam):
            if nodes[pair] < 0:
                continue
            first = forest.node_blocks[nodes[pair]]
            for block in range(first, forest.node_blocks[nodes[pair] + 1]):
                blocks[size] = block
                places[size] = pair * width + (block - first) * WIDTH
                size += 1
        score_blocks(X, i, postings, blocks[:size], places[:size], scores)


@kernel
def _finish_scores(
    forest: "LabelForest",
    node: int,
    place: int,
    logistic: bool,
    path_weight: np.float32,
    path: np.float32,
    scores: FloatArray,
) -> None:
    """Make log scores of the products with a node's decisions, and add those of the way there."""
    # On the way the scores of a path are summed as they are; at a leaf the whole path is weighted
    # against the label's own decision.
    above = (path_weight if forest.is_leaf[node] else np.float32(1)) * path
    for block in range(forest.node_blocks[node], forest.node_blocks[node + 1]):
        offset = load(forest.intercepts, np.uint64(block) * _LANES)
        store(scores, np.uint64(place), load(scores, np.uint64(place)) + offset)
        _log_scores(scores, place, logistic)
        for lane in range(place, place + WIDTH):
            scores[lane] += above
        place += WIDTH


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
            # The node is inserted into the sorted beam, whose worst one drops out at the end.
            place = min(size, beam - 1)
            while place > 0 and best[place - 1] < score:
                best[place], best_nodes[place] = best[place - 1], best_nodes[place - 1]
                place -= 1
            best[place], best_nodes[place] = score, forest.children[slot]
            size = min(size + 1, beam)
    for k in range(beam):
        nodes[i * beam + k] = best_nodes[k] if k < size else -1
        # A path without a node is never read, so that it may hold an old score.
        path[i * beam + k] = best[k]


@kernel
def _any_standing(nodes: NDArray[np.int64]) -> bool:
    for node in nodes:
        if node >= 0:
            return True
    return False


@kernel
def search_tree(
    X: CSRArrays,
    n_features: int,
    forest: "LabelForest",
    directory: "Directory",
    postings: "Postings",
    root: int,
    width: int,
    search: "Search",
    labels: NDArray[np.int32],
    values: FloatArray,
    filled: NDArray[np.int64],
) -> None:
    """The labels that a beam of `search.beam` nodes reaches, for each row, with their log scores.

    `width` is the size of the widest node. A label's score is that of its own decision and
    `search.path_weight` times the sum of those on the way. Labels and scores go to the first of the
    beam · width places that a row has in `labels` and `values`; `filled` says how many, and must
    hold zeros. Rows are scored by `postings` if there are any, else block by block with the help of
    `directory`.
    """
    n, by_rows, beam = X.indptr.size - 1, postings.words.size > 0, search.beam
    path_weight = np.float32(search.path_weight)
    nodes, path = np.full(n * beam, np.int64(-1)), np.zeros(n * beam, dtype=np.float32)
    for i in range(n):
        nodes[i * beam] = root
    scores = np.empty(n * beam * width, dtype=np.float32)
    most_blocks = beam * width // WIDTH
    blocks, places = np.empty(most_blocks, dtype=np.uint64), np.empty(most_blocks, dtype=np.uint64)
    found = allocate_found(X)
    # Blocks are never spread out for a single row, and postings need no numbers of features.
    number = np.zeros(0 if n == 1 or by_rows else n_features, dtype=np.uint32)
    spread, one_row = np.empty(0, dtype=np.float32), np.empty(WIDTH, dtype=np.float32)
    best, best_nodes = np.empty(beam, dtype=np.float32), np.empty(beam, dtype=np.int64)
    while _any_standing(nodes):
        # Either way gives the bare products, of which the same code makes scores, so that these are
        # equal to the bit.
        if by_rows:
            _score_by_rows(X, forest, postings, nodes, beam, width, blocks, places, scores)
        else:
            spread = _score_by_nodes(
                X, forest, directory, nodes, beam, width, number, spread, found, one_row, scores
            )
        for pair in range(nodes.size):
            if nodes[pair] >= 0:
                _finish_scores(
                    forest, nodes[pair], pair * width, search.logistic, path_weight, path[pair],
                    scores,
                )  # fmt: skip
        for i in range(n):
            filled[i] = _collect(
                forest, i, beam, width, scores, nodes, labels[i], values[i], filled[i]
            )
            _next_nodes(forest, i, beam, width, scores, nodes, path, best, best_nodes)


@kernel
def search_trees(
    X: CSRArrays,
    unit: bool,
    n_features: int,
    forest: "LabelForest",
    directory: "Directory",
    postings: "Postings",
    width: int,
    search: "Search",
) -> tuple[NDArray[np.int32], FloatArray, NDArray[np.int64]]:
    """Labels, log scores and how many there are, for each tree and row.

    With `unit` rows are scaled to length one first.
    """
    rows = unit_rows(X) if unit else X
    n_trees, n = forest.roots.size, X.indptr.size - 1
    labels = np.empty((n_trees, n, search.beam * width), dtype=np.int32)
    values = np.empty((n_trees, n, search.beam * width), dtype=np.float32)
    filled = np.zeros((n_trees, n), dtype=np.int64)
    for tree in range(n_trees):
        search_tree(
            rows, n_features, forest, directory, postings, forest.roots[tree], width, search,
            labels[tree], values[tree], filled[tree],
        )  # fmt: skip
    return labels, values, filled


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
            # What is added is never zero, so that a label is listed as touched only once.
            total[label] += share * max(np.exp(values[tree, i, j]), np.float32(1e-30))
    return size


@kernel
def topk_rows(
    X: CSRArrays,
    unit: bool,
    n_features: int,
    forest: "LabelForest",
    directory: "Directory",
    postings: "Postings",
    width: int,
    search: "Search",
    n_labels: int,
    k: int,
) -> tuple[NDArray[np.int32], FloatArray]:
    """The best `k` labels of each row: a search and its ranking by one call from Python."""
    reached = search_trees(X, unit, n_features, forest, directory, postings, width, search)
    return topk_of_trees(reached[0], reached[1], reached[2], n_labels, k)


@kernel
def topk_of_trees(
    labels: NDArray[np.int32],
    values: FloatArray,
    filled: NDArray[np.int64],
    n_labels: int,
    k: int,
) -> tuple[NDArray[np.int32], FloatArray]:
    """The best `k` labels of each row and their scores, best first, −1 and −∞ where none is left.

    `labels`, `values` and `filled` are those of `search_trees`. Equal scores
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
