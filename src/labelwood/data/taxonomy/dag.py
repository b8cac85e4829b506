"""What a taxonomy needs when labels have several parents: a directed acyclic graph."""

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labelwood.core.sparse import entry_rows
from labelwood.core.types import CSR, PointerArray
from labelwood.data.taxonomy.forest import Edge, cycle_message, position
from labelwood.errors import DataError


class ParentSets(NamedTuple):
    """All parents of each label in CSR form (a root has none), and how many must be positive.

    `rule` is "any" or "all".

    Examples
    --------
    >>> sets = ParentSets(np.array([0, 0, 0, 2]), np.array([0, 1], dtype=np.int32), "any")
    >>> sets.of(2).tolist(), sets.of(0).tolist()
    ([0, 1], [])
    """

    indptr: PointerArray
    indices: NDArray[np.int32]
    rule: str

    @classmethod
    def from_lists(cls, parents: Sequence[Sequence[int]], rule: str) -> "ParentSets":
        """From the parents of each label."""
        sizes = [len(one) for one in parents]
        flat = [parent for one in parents for parent in one]
        indptr = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)
        return cls(indptr, np.array(flat, dtype=np.int32), rule)

    def of(self, node: int) -> NDArray[np.int32]:
        """The parents of `node`, the first given first."""
        return self.indices[self.indptr[node] : self.indptr[node + 1]]

    @property
    def size(self) -> int:
        """How many labels there are."""
        return int(self.indptr.size) - 1

    def matrix(self) -> CSR:
        """Row i has a one for each parent of label i."""
        ones = np.ones(self.indices.size, dtype=np.float32)
        return sp.csr_array((ones, self.indices, self.indptr), shape=(self.size, self.size))

    def first(self) -> NDArray[np.int32]:
        """The first parent of each label, −1 for a root."""
        parent = np.full(self.size, -1, dtype=np.int32)
        below = np.diff(self.indptr) > 0
        parent[below] = self.indices[self.indptr[:-1][below]]
        return parent

    def beyond_first(self) -> NDArray[np.int32]:
        """Pairs of a label and a parent, for every parent beyond the first."""
        children = np.repeat(np.arange(self.size), np.diff(self.indptr))
        later = np.ones(children.size, dtype=bool)
        later[self.indptr[:-1][np.diff(self.indptr) > 0]] = False
        return np.column_stack([children[later], self.indices[later]]).astype(np.int32)


def checked_more_parents(
    given: object, parent: NDArray[np.int32], names: tuple[str, ...], rule: str | None
) -> NDArray[np.int32]:
    """Pairs of a label and a further parent, as int32; only a label with a parent has them."""
    pairs = np.asarray(given)
    if pairs.size == 0:
        return np.empty((0, 2), dtype=np.int32)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iuO":
        raise DataError("Further parents must be pairs of whole numbers, label and parent.")
    if not all(isinstance(i, int | np.integer) and 0 <= i < len(names) for i in pairs.ravel()):
        raise DataError(f"Further parents must be pairs of labels, 0…{len(names) - 1}.")
    pairs = pairs.astype(np.int32)
    if rule is None:
        raise DataError("Labels with several parents need parents='any' or parents='all'.")
    every = np.vstack([np.column_stack([np.arange(parent.size), parent]), pairs])
    if np.any(parent[pairs[:, 0]] < 0) or np.unique(every, axis=0).shape[0] < every.shape[0]:
        raise DataError("Further parents must differ, and belong to labels that have a first one.")
    return pairs


def edge_parent_sets(edges: Sequence[Edge], names: Sequence[str], rule: str) -> ParentSets:
    """All parents of each name, in the order in which the edges give them."""
    index = {name: i for i, name in enumerate(names)}
    parents: list[dict[int, None]] = [{} for _ in names]
    for above, below in edges:
        parent, child = position(above, index), position(below, index)
        if child < 0:
            raise DataError(f"The edge ({above!r}, {below!r}) has no child.")
        parents[child][parent] = None
    for child, found in enumerate(parents):
        if len(found) > 1 and -1 in found:
            other = next(parent for parent in found if parent >= 0)
            raise DataError(
                f"The node {names[child]!r} is a root and has the parent {names[other]!r}."
            )
    return ParentSets.from_lists([[p for p in one if p >= 0] for one in parents], rule)


def longest_depths(parents: ParentSets, names: Sequence[str]) -> NDArray[np.int32]:
    """Steps from each label up to a root on its longest path; a label on none is on a cycle."""
    children = sp.csr_array(parents.matrix().T)
    waiting = np.diff(parents.indptr).tolist()
    depth = np.zeros(parents.size, dtype=np.int32)
    ready = deque(np.flatnonzero(np.diff(parents.indptr) == 0).tolist())
    n_placed = 0
    while ready:
        node = ready.popleft()
        n_placed += 1
        for child in children.indices[children.indptr[node] : children.indptr[node + 1]].tolist():
            depth[child] = max(depth[child], depth[node] + 1)
            waiting[child] -= 1
            if waiting[child] == 0:
                ready.append(child)
    if n_placed < parents.size:
        raise DataError(cycle_message([names[i] for i in _cycle(parents, waiting)]))
    return depth


def _cycle(parents: ParentSets, waiting: list[int]) -> list[int]:
    """A cycle upwards. Every label that waits has a parent that waits, so a walk meets itself."""
    node = next(i for i, n in enumerate(waiting) if n > 0)
    walk: list[int] = []
    while node not in walk:
        walk.append(node)
        node = next(int(parent) for parent in parents.of(node) if waiting[parent] > 0)
    return walk[walk.index(node) :]


def close_rows(Y: CSR, parents: ParentSets, depth: NDArray[np.int32]) -> CSR:
    """`Y` with the ancestors that its labels need, from the deepest labels upwards.

    With "all" these are all ancestors; with "any" a label without a positive parent gets its
    first one, which labels of the same depth do at once.
    """
    above, first = parents.matrix(), parents.first()
    closed = sp.csr_array(Y, copy=True)
    for level in range(int(depth.max(initial=0)), 0, -1):
        nodes = np.flatnonzero(depth == level)
        here = sp.csr_array(closed[:, nodes])
        if parents.rule == "all":
            added = here @ above[nodes]
        else:
            lacking = here - here.multiply((closed @ above[nodes].T) > 0)
            lacking.eliminate_zeros()
            to_first = sp.csr_array(
                (np.ones(nodes.size, dtype=np.float32), (np.arange(nodes.size), first[nodes])),
                shape=(nodes.size, parents.size),
            )
            added = lacking @ to_first
        closed = sp.csr_array(closed + added)
        closed.data[:] = 1
    closed.sort_indices()
    return closed


def lacking_parents(Y: CSR, parents: ParentSets) -> NDArray[np.bool_]:
    """For each entry of `Y`, whether its label lacks the parents that the rule asks for."""
    present = sp.csr_array(Y.multiply(Y @ parents.matrix().T))
    present.sort_indices()
    width = Y.shape[1]
    found = np.zeros(Y.nnz)
    wanted = entry_rows(Y) * width + Y.indices
    order = np.argsort(wanted)
    at = np.searchsorted(wanted, entry_rows(present) * width + present.indices, sorter=order)
    found[order[at]] = present.data
    needed = np.diff(parents.indptr)[Y.indices]
    if parents.rule == "all":
        return found < needed
    return (found == 0) & (needed > 0)


def kept_parent_sets(
    parents: ParentSets, top_down: NDArray[np.int32], kept: NDArray[np.int64]
) -> ParentSets:
    """The nearest kept ancestors of each kept node, as positions in `kept`.

    `kept` holds nodes, and −1 for strangers, who have no ancestors.
    """
    place = {int(node): i for i, node in enumerate(kept.tolist()) if node >= 0}
    nearest: dict[int, list[int]] = {-1: []}
    for node in top_down.tolist():
        found: dict[int, None] = {}
        for parent in parents.of(node).tolist():
            found.update(dict.fromkeys([place[parent]] if parent in place else nearest[parent]))
        nearest[node] = list(found)
    return ParentSets.from_lists([nearest[int(node)] for node in kept], parents.rule)


def ancestors_of(node: int, parents: ParentSets, depth: NDArray[np.int32]) -> NDArray[np.int32]:
    """All ancestors of `node`, the deepest first."""
    found: set[int] = set()
    stack = parents.of(node).tolist()
    while stack:
        above = stack.pop()
        if above not in found:
            found.add(above)
            stack.extend(parents.of(above).tolist())
    return np.array(sorted(found, key=lambda i: (-int(depth[i]), i)), dtype=np.int32)
