"""Which node learns from which samples."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labelwood.core.types import CSR, DoubleArray
from labelwood.data.taxonomy import ParentSets


class Siblings(NamedTuple):
    """Labels that learn from the same rows, as those with the same parents do, and the rows."""

    nodes: NDArray[np.int64]
    rows: NDArray[np.int64]


class TrainingSets:
    """The rows of a label matrix, by the nodes that learn from them.

    A node learns from the rows that have its parent's label, a root from all rows; independent
    nodes all learn as roots do. Of several parents a row must have any or all, as the rule of
    `sets` says.

    Examples
    --------
    >>> Y = sp.csr_array([[1, 1], [1, 0], [0, 0]])
    >>> training_sets = TrainingSets(Y, np.array([-1, 0], dtype=np.int32), independent=False)
    >>> roots, children = training_sets.siblings()
    >>> children.rows.tolist(), training_sets.signs(1, children.rows).tolist()
    ([0, 1], [1.0, -1.0])
    """

    def __init__(
        self,
        Y: CSR,
        parent: NDArray[np.int32],
        *,
        independent: bool,
        sets: ParentSets | None = None,
    ) -> None:
        self._n = Y.shape[0]
        by_label = sp.csc_array(Y)
        self._indptr, self._rows = by_label.indptr, by_label.indices.astype(np.int64)
        self._parent = np.full_like(parent, -1) if independent else parent
        self._sets = None if independent else sets

    def siblings(self) -> list[Siblings]:
        """All groups of labels with the same parents that have a row to learn from."""
        groups: dict[tuple[int, ...], list[int]] = {}
        for node in range(self._parent.size):
            groups.setdefault(self._key(node), []).append(node)
        found = [
            Siblings(np.array(groups[key], dtype=np.int64), self._learned_from(key))
            for key in sorted(groups)
        ]
        return [group for group in found if group.rows.size]

    def of_node(self, node: int) -> NDArray[np.int64]:
        """The rows from which `node` learns."""
        return self._learned_from(self._key(node))

    def _key(self, node: int) -> tuple[int, ...]:
        """The parents of a node, by which its rows are known; (−1,) for a root."""
        if self._sets is None or self._parent[node] < 0:
            return (int(self._parent[node]),)
        return tuple(sorted(self._sets.of(node).tolist()))

    def _learned_from(self, parents: tuple[int, ...]) -> NDArray[np.int64]:
        if parents == (-1,):
            return np.arange(self._n, dtype=np.int64)
        if len(parents) == 1:
            return self._with(parents[0])
        n_positive = np.zeros(self._n, dtype=np.int64)
        for parent in parents:
            n_positive[self._with(parent)] += 1
        assert self._sets is not None
        needed = 1 if self._sets.rule == "any" else len(parents)
        return np.flatnonzero(n_positive >= needed)

    def signs(self, node: int, rows: NDArray[np.int64]) -> DoubleArray:
        """Whether each of `rows` has the label `node`: 1, else −1."""
        signs = np.full(self._n, -1.0)
        signs[self._with(node)] = 1.0
        return signs[rows]

    def _with(self, label: int) -> NDArray[np.int64]:
        return self._rows[self._indptr[label] : self._indptr[label + 1]]
