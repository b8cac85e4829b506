"""Rows walk down trees whose decisions are votes of linear classifiers."""

from typing import NamedTuple

import numpy as np

from labelwood.core.allocation import empty, zeros
from labelwood.core.kernel import kernel
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import DoubleArray, IndexArray, PointerArray


class Decisions(NamedTuple):
    """The decisions of all nodes, on features counted among those that any of them uses.

    Node v has the entries `indptr[v]:indptr[v + 1]` of `places` and, for each fold, of
    `weights`; `right[v]` is its negative child, −1 for a leaf, and v + 1 its positive one.
    """

    right: PointerArray
    indptr: PointerArray
    places: IndexArray
    weights: DoubleArray
    intercepts: DoubleArray


@kernel
def votes(scores: DoubleArray, sides: DoubleArray, means: DoubleArray) -> None:
    """The side (±1) that most of the folds choose, of equals that of the mean, and the mean.

    `scores` has a row for each fold. A score of zero counts for the negative side.
    """
    n_folds = scores.shape[0]
    for i in range(scores.shape[1]):
        positive, total = 0, 0.0
        for v in range(n_folds):
            positive += scores[v, i] > 0
            total += scores[v, i]
        means[i] = total / n_folds
        # An even number of folds can tie; the sign of the mean score then decides.
        if 2 * positive == n_folds:
            sides[i] = 1.0 if total > 0 else -1.0
        else:
            sides[i] = 1.0 if 2 * positive > n_folds else -1.0


@kernel
def walk(
    X: CSRArrays, n_places: int, trees: Decisions, roots: PointerArray
) -> tuple[PointerArray, DoubleArray]:
    """The leaf of each row in each tree, and the size of the mean score at the last decision.

    Where there was no decision that size is 1.
    """
    n, n_folds = X.indptr.size - 1, trees.weights.shape[0]
    leaves = empty((n, roots.size), np.int64)
    sizes = np.ones((n, roots.size))
    row = zeros(n_places, np.float64)  # the values of one row, so that decisions find them directly
    scores, side, mean = empty((n_folds, 1), np.float64), empty(1, np.float64), empty(1, np.float64)
    for i in range(n):
        for p in range(X.indptr[i], X.indptr[i + 1]):
            row[X.indices[p]] = X.data[p]
        for t in range(roots.size):
            node = roots[t]
            while trees.right[node] >= 0:
                for v in range(n_folds):
                    score = trees.intercepts[v, node]
                    for p in range(trees.indptr[node], trees.indptr[node + 1]):
                        score += trees.weights[v, p] * row[trees.places[p]]
                    scores[v, 0] = score
                votes(scores, side, mean)
                sizes[i, t] = abs(mean[0])
                node = node + 1 if side[0] > 0 else trees.right[node]
            leaves[i, t] = node
        for p in range(X.indptr[i], X.indptr[i + 1]):
            # Only the places of this row are cleared, so that a row costs its own non-zeros.
            row[X.indices[p]] = 0.0
    return leaves, sizes
