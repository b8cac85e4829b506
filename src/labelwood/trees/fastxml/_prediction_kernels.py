"""Scoring rows by all trees of a forest.

A decision is the dot product of sparse weights with a sparse row. Near the root nodes have many
weights and many rows: there the weights of a node are scattered into a dense vector once, and each
row gathers from it. Further down it is the row that is scattered, and the node's weights gather.
Rows that come alone or in small numbers are scored at the nodes near the roots by the postings of
their features.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from labelwood.core._kernels import insert_label
from labelwood.core._order_kernels import resized
from labelwood.core.kernel import kernel
from labelwood.core.prefetch import prefetch
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import DoubleArray, FloatArray, IndexArray, PointerArray
from labelwood.trees.fastxml.top_nodes._kernels import score_tops

if TYPE_CHECKING:  # the arrays call these kernels
    from labelwood.trees.fastxml.arrays import Forest
    from labelwood.trees.fastxml.top_nodes import TopNodes

_ONE = np.uint64(1)
_LINE = 16  # numbers of a cache line
_AHEAD = 8 * _LINE  # weights of a node that are asked for ahead; the processor foresees the others
_FEW = 3  # rows; below this, scattering the weights of a node never pays


@kernel
def topk_rows(
    X: CSRArrays, forest: "Forest", tops: "TopNodes", n_features: int, n_labels: int, k: int
) -> tuple[NDArray[np.int32], FloatArray]:
    """The best `k` labels of each row and their scores, best first, −1 and −∞ where none is left.

    Equal scores go to the smaller label first.
    """
    n = X.indptr.size - 1
    top_labels = np.full((n, k), np.int32(-1))
    top_scores = np.full((n, k), np.float32(-np.inf))
    nodes = _descend_together(X, forest, tops.numbers.size > 0, n_features)
    node_scores = np.empty(tops.n_tops, dtype=np.float64)
    standing = np.empty(forest.roots.size, dtype=np.int64)
    dense = np.zeros(n_features, dtype=np.float32)
    scores = np.zeros(n_labels, dtype=np.float32)
    met = np.empty(n_labels + 1, dtype=np.uint32)
    n_trees = np.float32(forest.roots.size)
    for i in range(n):
        n_met = _score_row(
            X, i, forest, nodes[:, i], tops, node_scores, standing, dense, scores, met
        )
        size = 0
        for m in range(n_met):
            label = np.int32(met[m])
            score = scores[label] / n_trees
            scores[label] = 0
            if size < k or score >= top_scores[i, k - 1]:
                size = insert_label(label, score, top_labels[i], top_scores[i], size)
    return top_labels, top_scores


@kernel
def above_rows(
    X: CSRArrays,
    forest: "Forest",
    tops: "TopNodes",
    n_features: int,
    n_labels: int,
    threshold: float,
) -> tuple[PointerArray, IndexArray, FloatArray]:
    """Scores above `threshold` of each row, in CSR arrays (labels in no order)."""
    n = X.indptr.size - 1
    nodes = _descend_together(X, forest, tops.numbers.size > 0, n_features)
    node_scores = np.empty(tops.n_tops, dtype=np.float64)
    standing = np.empty(forest.roots.size, dtype=np.int64)
    dense = np.zeros(n_features, dtype=np.float32)
    scores = np.zeros(n_labels, dtype=np.float32)
    met = np.empty(n_labels + 1, dtype=np.uint32)
    n_trees = np.float32(forest.roots.size)
    pointers = np.zeros(n + 1, dtype=np.int64)
    labels, values = np.empty(1024, dtype=np.uint32), np.empty(1024, dtype=np.float32)
    size = 0
    for i in range(n):
        n_met = _score_row(
            X, i, forest, nodes[:, i], tops, node_scores, standing, dense, scores, met
        )
        if size + n_met > labels.size:
            capacity = labels.size + size + n_met
            labels, values = resized(labels, capacity), resized(values, capacity)
        for m in range(n_met):
            label = met[m]
            score = scores[label] / n_trees
            scores[label] = 0
            if score > threshold:
                labels[size] = label
                values[size] = score
                size += 1
        pointers[i + 1] = size
    return pointers, resized(labels, size), resized(values, size)


@kernel
def _score_row(
    X: CSRArrays,
    i: int,
    forest: "Forest",
    nodes: PointerArray,
    tops: "TopNodes",
    node_scores: DoubleArray,
    standing: PointerArray,
    dense: FloatArray,
    scores: FloatArray,
    met: IndexArray,
) -> int:
    """Sum the averages of the leaves below `nodes`; their labels go to `met`; returns how many.

    Each of `nodes` becomes its leaf. `dense` and `scores` must hold zeros; `dense` does so again
    at the end, `scores` does not.
    """
    first, end = np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])
    for p in range(first, end):
        dense[X.indices[p]] = X.data[p]
    by_tops = tops.numbers.size > 0 and score_tops(X, i, tops, node_scores)
    _walk(forest, nodes, tops, by_tops, node_scores, dense, standing)
    n_met = np.uint64(0)
    for tree in range(nodes.size):
        node = np.uint64(nodes[tree])
        begin, stop = forest.leaf_indptr[node], forest.leaf_indptr[node + _ONE]
        for p in range(np.uint64(begin), np.uint64(stop)):
            label = forest.labels[p]
            # A branch on whether the label is new would be unpredictable: it is always written, and
            # the length grows only if it is new.
            met[n_met] = label
            n_met += np.uint64(scores[label] == 0)
            scores[label] += forest.averages[p]
    for p in range(first, end):
        dense[X.indices[p]] = 0
    return int(n_met)


@kernel
def _walk(
    forest: "Forest",
    nodes: PointerArray,
    tops: "TopNodes",
    by_tops: bool,
    node_scores: DoubleArray,
    dense: FloatArray,
    standing: PointerArray,
) -> None:
    """Send a row, scattered into `dense`, from `nodes` down to leaves, all trees in turn."""
    for tree in range(nodes.size):
        standing[tree] = tree
    n_standing = nodes.size
    while n_standing > 0:
        # Nearly every node is in none of the caches. While the other trees make their step, what
        # the next node of this one needs is on its way: first its pointers, then its weights.
        for t in range(n_standing):
            node = np.uint64(nodes[standing[t]])
            begin, stop = forest.weight_indptr[node], forest.weight_indptr[node + _ONE]
            if by_tops and tops.numbers[node] >= 0:
                continue
            for p in range(begin, min(stop, begin + _AHEAD), _LINE):
                prefetch(forest.features, p)
                prefetch(forest.weights, p)
        kept = 0
        for t in range(n_standing):
            tree = standing[t]
            node = np.uint64(nodes[tree])
            if forest.right[node] < 0:
                prefetch(forest.labels, forest.leaf_indptr[node])
                prefetch(forest.averages, forest.leaf_indptr[node])
                continue
            score = np.float64(forest.intercepts[node])
            if by_tops and tops.numbers[node] >= 0:
                score += node_scores[tops.numbers[node]]
            else:
                begin, stop = forest.weight_indptr[node], forest.weight_indptr[node + _ONE]
                for p in range(np.uint64(begin), np.uint64(stop)):
                    score += np.float64(forest.weights[p]) * dense[forest.features[p]]
            following = node + _ONE if score > 0 else np.uint64(forest.right[node])
            prefetch(forest.weight_indptr, following)
            prefetch(forest.right, following)
            prefetch(forest.intercepts, following)
            prefetch(forest.leaf_indptr, following)
            prefetch(tops.numbers, following)
            nodes[tree] = following
            standing[kept] = tree
            kept += 1
        n_standing = kept


@kernel
def _descend_together(
    X: CSRArrays, forest: "Forest", alone: bool, n_features: int
) -> NDArray[np.int64]:
    """For each tree and row, the node below which the row is followed alone."""
    n = X.indptr.size - 1
    nodes = np.empty((forest.roots.size, n), dtype=np.int64)
    if alone or n < _FEW:
        for tree in range(forest.roots.size):
            for i in range(n):
                nodes[tree, i] = forest.roots[tree]
        return nodes
    dense = np.zeros(n_features, dtype=np.float32)
    rows, others = np.empty(n, dtype=np.uint32), np.empty(n, dtype=np.uint32)
    stack = np.empty((n + 1, 3), dtype=np.int64)
    for tree in range(forest.roots.size):
        for i in range(n):
            rows[i] = i
        stack[0, 0], stack[0, 1], stack[0, 2] = forest.roots[tree], 0, n
        top = 1
        while top > 0:
            top -= 1
            node, start, end = stack[top, 0], stack[top, 1], stack[top, 2]
            node_rows = rows[start:end]
            if not _pays_to_scatter(X, forest, node, node_rows):
                for k in range(node_rows.size):
                    nodes[tree, node_rows[k]] = node
                continue
            n_left = _partition_rows(X, forest, node, node_rows, dense, others)
            for k in range(2):
                # A child without rows is overwritten by the next one instead of being pushed.
                stack[top, 0] = forest.right[node] if k else node + 1
                stack[top, 1] = start + n_left if k else start
                stack[top, 2] = end if k else start + n_left
                if stack[top, 1] < stack[top, 2]:
                    top += 1
    return nodes


@kernel
def _pays_to_scatter(X: CSRArrays, forest: "Forest", node: int, rows: IndexArray) -> bool:
    """Whether scattering the node's weights costs less than reading them for each row."""
    n_weights = forest.weight_indptr[node + 1] - forest.weight_indptr[node]
    if forest.right[node] < 0 or rows.size < _FEW:
        return False
    cost = 2 * n_weights
    for k in range(rows.size):
        cost += X.indptr[rows[k] + 1] - X.indptr[rows[k]]
    return cost < rows.size * n_weights


@kernel
def _partition_rows(
    X: CSRArrays,
    forest: "Forest",
    node: int,
    rows: IndexArray,
    dense: FloatArray,
    others: IndexArray,
) -> int:
    """Bring the rows that the node sends left to the front; returns how many those are.

    `dense` must hold zeros, and does so again at the end.
    """
    first, end = np.uint64(forest.weight_indptr[node]), np.uint64(forest.weight_indptr[node + 1])
    for p in range(first, end):
        dense[forest.features[p]] = forest.weights[p]
    n_left = np.uint64(0)
    for k in range(rows.size):
        i = np.uint64(rows[k])
        score = np.float64(forest.intercepts[node])
        for p in range(np.uint64(X.indptr[i]), np.uint64(X.indptr[i + _ONE])):
            score += np.float64(X.data[p]) * dense[X.indices[p]]
        # A branch on the side would be unpredictable: the row is written to both sides, and only
        # one of them advances.
        rows[n_left] = i
        others[np.uint64(k) - n_left] = i
        n_left += np.uint64(score > 0)
    for k in range(rows.size - int(n_left)):
        rows[n_left + np.uint64(k)] = others[k]
    for p in range(first, end):
        dense[forest.features[p]] = 0
    return int(n_left)
