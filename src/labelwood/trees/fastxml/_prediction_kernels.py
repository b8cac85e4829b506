"""Scoring rows by all trees of a forest.

A decision is a product of sparse weights with a sparse row. Near the root weights are many and
rows that ask are many: there the weights of a node are spread out once and each row looks up
its features. Further down it is the row that is spread out, and looked up by the node's features.
"""

import numpy as np
from numpy.typing import NDArray

from labelwood.core._kernels import insert_label
from labelwood.core.kernel import kernel
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import FloatArray, IndexArray, PointerArray
from labelwood.trees.fastxml.arrays import Forest

_ONE = np.uint64(1)
_FEW = 3  # rows, for which nothing is worth being spread out


@kernel
def topk_rows(
    X: CSRArrays, forest: Forest, n_features: int, n_labels: int, k: int
) -> tuple[NDArray[np.int32], FloatArray]:
    """The best `k` labels of each row and their scores, best first, −1 and −∞ where none is left.

    Equal scores go to the smaller label first.
    """
    n = X.indptr.size - 1
    top_labels = np.full((n, k), np.int32(-1))
    top_scores = np.full((n, k), np.float32(-np.inf))
    nodes = _descend_together(X, forest, n_features)
    spread = np.zeros(n_features, dtype=np.float32)
    scores = np.zeros(n_labels, dtype=np.float32)
    met = np.empty(n_labels + 1, dtype=np.uint32)
    n_trees = np.float32(forest.roots.size)
    for i in range(n):
        n_met = _score_row(X, i, forest, nodes[:, i], spread, scores, met)
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
    X: CSRArrays, forest: Forest, n_features: int, n_labels: int, threshold: float
) -> tuple[PointerArray, IndexArray, FloatArray]:
    """Scores above `threshold` of each row, in CSR arrays (labels in no order)."""
    n = X.indptr.size - 1
    nodes = _descend_together(X, forest, n_features)
    spread = np.zeros(n_features, dtype=np.float32)
    scores = np.zeros(n_labels, dtype=np.float32)
    met = np.empty(n_labels + 1, dtype=np.uint32)
    n_trees = np.float32(forest.roots.size)
    pointers = np.zeros(n + 1, dtype=np.int64)
    labels, values = np.empty(1024, dtype=np.uint32), np.empty(1024, dtype=np.float32)
    size = 0
    for i in range(n):
        n_met = _score_row(X, i, forest, nodes[:, i], spread, scores, met)
        if size + n_met > labels.size:
            labels = np.concatenate((labels, np.empty(size + n_met, dtype=np.uint32)))
            values = np.concatenate((values, np.empty(size + n_met, dtype=np.float32)))
        for m in range(n_met):
            label = met[m]
            score = scores[label] / n_trees
            scores[label] = 0
            if score > threshold:
                labels[size] = label
                values[size] = score
                size += 1
        pointers[i + 1] = size
    return pointers, labels[:size].copy(), values[:size].copy()


@kernel
def _score_row(
    X: CSRArrays,
    i: int,
    forest: Forest,
    nodes: PointerArray,
    spread: FloatArray,
    scores: FloatArray,
    met: IndexArray,
) -> int:
    """Sum the averages of the leaves below `nodes`; `met` gets their labels, returned is how many.

    `spread` and `scores` hold zeros; `spread` is left so, `scores` has to be cleaned.
    """
    first, end = np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])
    for p in range(first, end):
        spread[X.indices[p]] = X.data[p]
    n_met = np.uint64(0)
    for tree in range(nodes.size):
        node = np.uint64(nodes[tree])
        while forest.right[node] >= 0:
            score = np.float64(forest.intercepts[node])
            begin, stop = forest.weight_indptr[node], forest.weight_indptr[node + _ONE]
            for p in range(np.uint64(begin), np.uint64(stop)):
                score += np.float64(forest.weights[p]) * spread[forest.features[p]]
            node = node + _ONE if score > 0 else np.uint64(forest.right[node])
        begin, stop = forest.leaf_indptr[node], forest.leaf_indptr[node + _ONE]
        for p in range(np.uint64(begin), np.uint64(stop)):
            label = forest.labels[p]
            # Written whether it is new or not: the processor cannot foresee which.
            met[n_met] = label
            n_met += np.uint64(scores[label] == 0)
            scores[label] += forest.averages[p]
    for p in range(first, end):
        spread[X.indices[p]] = 0
    return int(n_met)


@kernel
def _descend_together(X: CSRArrays, forest: Forest, n_features: int) -> NDArray[np.int64]:
    """For each tree and row the node from which the row goes on alone."""
    n = X.indptr.size - 1
    nodes = np.empty((forest.roots.size, n), dtype=np.int64)
    if n < _FEW:
        for i in range(n):
            nodes[:, i] = forest.roots
        return nodes
    spread = np.zeros(n_features, dtype=np.float32)
    rows, others = np.empty(n, dtype=np.uint32), np.empty(n, dtype=np.uint32)
    todo = np.empty((n + 1, 3), dtype=np.int64)
    for tree in range(forest.roots.size):
        for i in range(n):
            rows[i] = i
        todo[0, 0], todo[0, 1], todo[0, 2] = forest.roots[tree], 0, n
        waiting = 1
        while waiting > 0:
            waiting -= 1
            node, start, end = todo[waiting]
            here = rows[start:end]
            if not _pays_to_spread(X, forest, node, here):
                for k in range(here.size):
                    nodes[tree, here[k]] = node
                continue
            n_left = _part_rows(X, forest, node, here, spread, others)
            for k in range(2):
                todo[waiting, 0] = forest.right[node] if k else node + 1
                todo[waiting, 1] = start + n_left if k else start
                todo[waiting, 2] = end if k else start + n_left
                if todo[waiting, 1] < todo[waiting, 2]:
                    waiting += 1
    return nodes


@kernel
def _pays_to_spread(X: CSRArrays, forest: Forest, node: int, rows: IndexArray) -> bool:
    """Whether spreading out the node's weights costs less than reading them for each row."""
    n_weights = forest.weight_indptr[node + 1] - forest.weight_indptr[node]
    if forest.right[node] < 0 or rows.size < _FEW:
        return False
    cost = 2 * n_weights
    for k in range(rows.size):
        cost += X.indptr[rows[k] + 1] - X.indptr[rows[k]]
    return cost < rows.size * n_weights


@kernel
def _part_rows(
    X: CSRArrays,
    forest: Forest,
    node: int,
    rows: IndexArray,
    spread: FloatArray,
    others: IndexArray,
) -> int:
    """Bring the rows that the node sends left to the front; returns how many those are.

    `spread` holds zeros, and is left so.
    """
    first, end = np.uint64(forest.weight_indptr[node]), np.uint64(forest.weight_indptr[node + 1])
    for p in range(first, end):
        spread[forest.features[p]] = forest.weights[p]
    n_left = np.uint64(0)
    for k in range(rows.size):
        i = np.uint64(rows[k])
        score = np.float64(forest.intercepts[node])
        for p in range(np.uint64(X.indptr[i]), np.uint64(X.indptr[i + _ONE])):
            score += np.float64(X.data[p]) * spread[X.indices[p]]
        # Both are written, one counts: the processor cannot foresee which.
        rows[n_left] = i
        others[np.uint64(k) - n_left] = i
        n_left += np.uint64(score > 0)
    rows[n_left:] = others[: rows.size - n_left]
    for p in range(first, end):
        spread[forest.features[p]] = 0
    return int(n_left)
