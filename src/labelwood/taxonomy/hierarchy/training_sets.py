"""Which node learns from which samples."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labelwood.core.types import CSR, DoubleArray


class Siblings(NamedTuple):
    """The children of one label (−1: the roots), and the rows that they learn from."""

    parent: int
    nodes: NDArray[np.int64]
    rows: NDArray[np.int64]


class TrainingSets:
    """The rows of a label matrix, by the nodes that learn from them.

    A node learns from the rows that have its parent's label, a root from all rows; independent
    nodes all learn as roots do.

    Examples
    --------
    >>> Y = sp.csr_array([[1, 1], [1, 0], [0, 0]])
    >>> training_sets = TrainingSets(Y, np.array([-1, 0], dtype=np.int32), independent=False)
    >>> roots, children = training_sets.siblings()
    >>> children.rows.tolist(), training_sets.signs(1, children.rows).tolist()
    ([0, 1], [1.0, -1.0])
    """

    def __init__(self, Y: CSR, parent: NDArray[np.int32], *, independent: bool) -> None:
        self._n = Y.shape[0]
        by_label = sp.csc_array(Y)
        self._indptr, self._rows = by_label.indptr, by_label.indices.astype(np.int64)
        self._parent = np.full_like(parent, -1) if independent else parent

    def siblings(self) -> list[Siblings]:
        """All groups of siblings that have a row to learn from."""
        order = np.argsort(self._parent, kind="stable")
        borders = np.flatnonzero(np.diff(self._parent[order])) + 1
        groups = [nodes for nodes in np.split(order, borders) if nodes.size]
        parents = [int(self._parent[nodes[0]]) for nodes in groups]
        found = map(Siblings, parents, groups, map(self.of_children, parents))
        return [group for group in found if group.rows.size]

    def of_children(self, parent: int) -> NDArray[np.int64]:
        """The rows from which the children of `parent` learn."""
        return np.arange(self._n, dtype=np.int64) if parent < 0 else self._with(parent)

    def signs(self, node: int, rows: NDArray[np.int64]) -> DoubleArray:
        """Whether each of `rows` has the label `node`: 1, else −1."""
        signs = np.full(self._n, -1.0)
        signs[self._with(node)] = 1.0
        return signs[rows]

    def _with(self, label: int) -> NDArray[np.int64]:
        return self._rows[self._indptr[label] : self._indptr[label + 1]]
