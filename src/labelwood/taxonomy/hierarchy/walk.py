"""From margins of all nodes to label sets and rankings that agree with the forest."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from labelwood.core.sparse import make_csr
from labelwood.core.topk import TopK
from labelwood.core.types import CSR, DoubleArray, FloatArray

BoolMatrix = NDArray[np.bool_]


class Forest:
    """Nodes level by level, each with its parent.

    Examples
    --------
    >>> forest = Forest(np.array([-1, 0, 0], dtype=np.int32))
    >>> margins = np.array([[0.5, -0.1, 0.2], [-0.5, 0.9, 0.9]])
    >>> forest.predicted(margins).tolist()
    [[True, False, True], [False, False, False]]
    """

    def __init__(self, parent: NDArray[np.int32]) -> None:
        self.parent = parent
        level = np.flatnonzero(parent < 0)
        self.levels: list[NDArray[np.int64]] = []
        while level.size:
            self.levels.append(level)
            inside = np.zeros(parent.size + 1, dtype=bool)
            inside[level] = True
            level = np.flatnonzero(inside[parent] & (parent >= 0))
        self.order = np.concatenate([np.empty(0, dtype=np.int64), *self.levels])

    def predicted(
        self,
        margins: FloatArray,
        clear: Callable[[int, NDArray[np.int64]], NDArray[np.bool_]] | None = None,
    ) -> BoolMatrix:
        """Labels with a positive margin whose parent is predicted too.

        `clear(node, rows)` may refuse some of the rows that a node would get.
        """
        # The last column is what roots hang on: their parent is −1.
        result = np.zeros((margins.shape[0], self.parent.size + 1), dtype=bool)
        result[:, -1] = True
        for nodes in self.levels:
            found = result[:, self.parent[nodes]] & (margins[:, nodes] > 0)
            if clear is not None:
                for at in np.flatnonzero(found.any(axis=0)):
                    rows = np.flatnonzero(found[:, at])
                    found[rows, at] = clear(int(nodes[at]), rows)
            result[:, nodes] = found
        return result[:, :-1]

    def reached(self, predicted: BoolMatrix) -> BoolMatrix:
        """Labels whose parent is predicted: roots, and children of predicted labels."""
        ground = np.ones((predicted.shape[0], 1), dtype=bool)
        return np.hstack([predicted, ground])[:, self.parent]

    def chances(self, margins: FloatArray) -> DoubleArray:
        """Products of 1/(1 + exp(−2 margin)) along the path to each label.

        1/(1 + exp(−2m)) has the value and the slope of the theory's (1 + m)/2 at m = 0,
        and no end. A label never has more than its parent.
        """
        with np.errstate(over="ignore"):
            steps = 1 / (1 + np.exp(-2 * margins.astype(np.float64)))
        result = np.ones((margins.shape[0], self.parent.size + 1))
        for nodes in self.levels:
            result[:, nodes] = steps[:, nodes] * result[:, self.parent[nodes]]
        return result[:, :-1]

    def best(self, chances: DoubleArray, scored: NDArray[np.bool_], k: int) -> TopK:
        """The `k` labels of the best chances among those `scored`; a parent before its child."""
        nodes = self.order[scored[self.order]]
        order = np.argsort(-chances[:, nodes], axis=1, kind="stable")[:, :k]
        labels = np.full((chances.shape[0], k), -1, dtype=np.int32)
        scores = np.full(labels.shape, -np.inf, dtype=np.float32)
        labels[:, : order.shape[1]] = nodes[order]
        scores[:, : order.shape[1]] = np.take_along_axis(chances, nodes[order], axis=1)
        return TopK(labels, scores)


def some_entries(values: FloatArray, chosen: BoolMatrix) -> CSR:
    """The chosen entries of a matrix as CSR, zeros among them too."""
    indptr = np.concatenate([[0], np.cumsum(chosen.sum(axis=1))])
    return make_csr(indptr, np.nonzero(chosen)[1], values[chosen], values.shape)
