"""What a forest is made of: names, parents and edges, all checked."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from labelwood.core.names import check_names, count
from labelwood.core.sparse import csr_arrays, make_csr
from labelwood.core.types import CSR
from labelwood.errors import DataError

Node: TypeAlias = str | int
"""A node by name, or by its index."""

Edge: TypeAlias = tuple[Node | None, Node]
"""Parent and child; the parent of a root is None or −1."""

_SHOWN = 8  # nodes of a cycle
_MAX_UNUSED_NODES = 2**20


def check_nodes(names: tuple[str, ...]) -> None:
    """Refuse an empty forest, and names that are empty, no text or not unique."""
    if not names:
        raise DataError("A taxonomy needs at least one node.")
    check_names(names, "The list of nodes")
    if "" in names:
        raise DataError("The nodes of a taxonomy must have names. Got ''.")


def checked_parents(parents: object, names: tuple[str, ...]) -> NDArray[np.int32]:
    """`parents` as int32, one for each name, each −1 or a node."""
    given = np.asarray(parents)
    n = len(names)
    if given.shape != (n,):
        raise DataError(
            f"A taxonomy of {count(n, 'node')} needs as many parents. Got {given.shape}."
        )
    if given.dtype.kind not in "iuO":
        raise DataError(f"The parents of a taxonomy must be whole numbers. Got {given.dtype}.")
    for child in np.flatnonzero((given < -1) | (given >= n))[:1]:
        raise DataError(
            f"The node {names[child]!r} has the parent {given[child]}, outside −1…{n - 1}."
        )
    return given.astype(np.int32)


def depths(parents: list[int], names: Sequence[str]) -> list[int]:
    """Depth of each node, walking up once from each; a walk that meets itself is a cycle."""
    unknown, on_this_walk = -1, -2
    depth = [unknown] * len(parents)
    for start in range(len(parents)):
        walk = []
        node = start
        while node >= 0 and depth[node] == unknown:
            depth[node] = on_this_walk
            walk.append(node)
            node = parents[node]
        if node >= 0 and depth[node] == on_this_walk:
            cycle = [names[i] for i in walk[walk.index(node) :]]
            raise DataError(cycle_message(cycle))
        level = depth[node] if node >= 0 else -1
        for below in reversed(walk):
            level += 1
            depth[below] = level
    return depth


def cycle_message(upwards: list[str]) -> str:
    """How a cycle is reported; `upwards` goes from a node to its parent, and so on."""
    if len(upwards) == 1:
        return f"The node {upwards[0]!r} is its own parent."
    down = [upwards[0], *reversed(upwards)]
    shown = down if len(down) <= _SHOWN + 1 else [*down[:_SHOWN], "…", down[-1]]
    return f"The taxonomy has a cycle (parent → child): {' → '.join(shown)}."


def node_names(edges: Sequence[Edge]) -> tuple[str, ...]:
    """The nodes of (parent, child) pairs: sorted names, or 0…max for indices."""
    nodes = {node for edge in edges for node in edge if node is not None and node != -1}
    names = [node for node in nodes if isinstance(node, str)]
    if len(names) == len(nodes):
        return tuple(sorted(names))
    if names:
        raise DataError("Edges must be all names or all indices, or the names must be given.")
    size = max(int(node) for node in nodes) + 1
    if size > _MAX_UNUSED_NODES + 100 * len(nodes):
        raise DataError(
            f"Node {size - 1:,} would make as many nodes, of which {len(nodes):,} are used; "
            "read such codes as names."
        )
    return tuple(str(i) for i in range(size))


def position(node: Node | None, index: Mapping[str, int]) -> int:
    """The index of a node; −1 for None and −1."""
    if node is None:
        return -1
    if isinstance(node, str):
        if node not in index:
            raise DataError(
                f"Unknown node {node!r}: it is not one of the {count(len(index), 'name')}."
            )
        return index[node]
    if not isinstance(node, Integral):
        raise DataError(f"A node must be a name or an index. Got {node!r}.")
    if not -1 <= node < len(index):
        raise DataError(f"Node {node} is outside −1…{len(index) - 1}.")
    return int(node)


def path_edges(paths: Iterable[str], separator: str) -> Iterator[Edge]:
    """An edge for every path and every beginning of one, which are the names of the nodes."""
    for path in paths:
        parts = path.split(separator)
        if not all(parts):
            raise DataError(f"The path {path!r} has an empty part between {separator!r}.")
        above = None
        for end in range(1, len(parts) + 1):
            name = separator.join(parts[:end])
            yield above, name
            above = name


def edge_parents(edges: Sequence[Edge], names: Sequence[str], *, keep_first: bool) -> list[int]:
    """The parent of each name, −1 for a root; of several, the first or an error."""
    index = {name: i for i, name in enumerate(names)}
    parents: dict[int, int] = {}
    for above, below in edges:
        parent, child = position(above, index), position(below, index)
        if child < 0:
            raise DataError(f"The edge ({above!r}, {below!r}) has no child.")
        first = parents.setdefault(child, parent)
        if first != parent and not keep_first:
            both = " and ".join("no parent" if p < 0 else repr(names[p]) for p in (first, parent))
            raise DataError(
                f"The node {names[child]!r} has two parents, {both}; "
                f"multiple_parents='first' keeps the first."
            )
    return [parents.get(i, -1) for i in range(len(names))]


def turned(edges: Iterable[Edge]) -> bool:
    """Whether most children have several parents, as where parent and child are mistaken."""
    above: dict[Node, set[Node | None]] = {}
    for parent, child in edges:
        above.setdefault(child, set()).add(parent)
    several = sum(len(parents) > 1 for parents in above.values())
    return 2 * several > len(above)


def stored_forest(stored: Any) -> tuple[list[Any], list[int]]:
    """Names and parents as `Taxonomy.to_dict` gives them, for the constructor to check."""
    if not isinstance(stored, Mapping) or set(stored) - {"rule", "more"} != {"names", "parents"}:
        raise DataError("A stored taxonomy must have exactly the keys 'names' and 'parents'.")
    names, parents = stored["names"], stored["parents"]
    if not isinstance(names, list) or not isinstance(parents, list):
        raise DataError("A stored taxonomy must have lists of names and of parents.")
    if not all(type(parent) is int for parent in parents):
        raise DataError("A stored taxonomy must have whole numbers as parents.")
    return names, parents


def close_forest_rows(Y: CSR, parent: NDArray[np.int32]) -> CSR:
    """`Y` with the ancestors of every label added."""
    from labelwood.data.taxonomy._kernels import closed_indices, closed_pointers

    indptr, indices, _ = csr_arrays(Y)
    pointers = closed_pointers(indptr, indices, parent)
    columns = np.empty(int(pointers[-1]), dtype=np.int32)
    closed_indices(indptr, indices, parent, columns)
    ones = np.ones(columns.size, dtype=np.float32)
    closed = make_csr(pointers, columns, ones, Y.shape)
    closed.sort_indices()
    return closed


def lacking_parent(Y: CSR, parent: NDArray[np.int32]) -> NDArray[np.bool_]:
    """For each entry of `Y`, whether the parent of its label is not in the same row."""
    from labelwood.data.taxonomy._kernels import orphans

    indptr, indices, _ = csr_arrays(Y)
    return orphans(indptr, indices, parent)


def kept_parents(
    parent: NDArray[np.int32], top_down: NDArray[np.int32], kept: NDArray[np.int64]
) -> NDArray[np.int32]:
    """The nearest kept ancestor of each kept node, as a position in `kept`; −1 without one.

    `kept` holds nodes, and −1 for strangers, who have no ancestors.
    """
    # The last entry stands for "no node": a root's parent −1 and a stranger point to it.
    place = np.full(parent.size + 1, -1, dtype=np.int32)
    place[kept] = np.arange(kept.size)
    place[-1] = -1
    nearest = np.full(parent.size + 1, -1, dtype=np.int32)
    for node in top_down.tolist():
        above = parent[node]
        nearest[node] = place[above] if place[above] >= 0 else nearest[above]
    return nearest[kept]
