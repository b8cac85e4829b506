"""A taxonomy of labels: a forest, or a graph in which labels may have several parents."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from labelwood.core.labels import indicator
from labelwood.core.names import count, shown, some
from labelwood.core.params import OneOf, check_parameter
from labelwood.core.types import CSR
from labelwood.data.taxonomy.dag import (
    ParentSets,
    ancestors_of,
    checked_more_parents,
    close_rows,
    edge_parent_sets,
    kept_parent_sets,
    lacking_parents,
    longest_depths,
)
from labelwood.data.taxonomy.edges import read_edges, with_reading_hint, write_edges
from labelwood.data.taxonomy.forest import (
    Edge,
    check_nodes,
    checked_parents,
    close_forest_rows,
    depths,
    edge_parents,
    kept_parents,
    lacking_parent,
    node_names,
    path_edges,
    position,
    stored_forest,
)
from labelwood.errors import DataError

MultipleParents: TypeAlias = Literal["error", "first"]


@dataclass(frozen=True, eq=False, repr=False)
class Taxonomy:
    """An immutable forest over named labels, in the order of the label columns.

    With `parents` a label may have several parents (a directed acyclic graph, such as EUROVOC or
    the Gene Ontology): it can be positive where any, or where all of them are.

    Attributes
    ----------
    names : tuple of str
        The labels; label i is column i of a label matrix.
    parent : int32 array
        The parent of each label, −1 for a root; of several, the first.
    parents : "any", "all" or None
        How many of its parents a positive label needs; None for a forest.
    more_parents : int32 array of shape (n, 2)
        Label and parent, for every parent beyond the first.
    depth : int32 array
        Steps from each label up to its root, on the longest path: 0 for a root.

    Examples
    --------
    >>> tree = Taxonomy.from_edges([("animal", "cat"), ("animal", "dog"), ("cat", "lion")])
    >>> tree
    Taxonomy(4 nodes, 1 root, 2 leaves, depth 2)
    >>> tree.names
    ('animal', 'cat', 'dog', 'lion')
    >>> tree.close([[0, 0, 0, 1]]).toarray().tolist()
    [[1.0, 1.0, 0.0, 1.0]]
    >>> edges = [("bird", "penguin"), ("swimmer", "penguin")]
    >>> graph = Taxonomy.from_edges(edges, parents="all")
    >>> graph.names, graph.close([[0, 1, 0]]).toarray().tolist()
    (('bird', 'penguin', 'swimmer'), [[1.0, 1.0, 1.0]])
    """

    names: tuple[str, ...]
    parent: NDArray[np.int32]
    parents: str | None = None
    more_parents: NDArray[np.int32] = field(
        default_factory=lambda: np.empty((0, 2), dtype=np.int32)
    )
    depth: NDArray[np.int32] = field(init=False)

    def __post_init__(self) -> None:
        names = tuple(self.names)
        check_nodes(names)
        check_parameter("Taxonomy", "parents", self.parents, (OneOf("any", "all"), None))
        parent = checked_parents(self.parent, names)
        more = checked_more_parents(self.more_parents, parent, names, self.parents)
        values = {"names": names, "parent": parent, "more_parents": more}
        for attribute, value in values.items():
            object.__setattr__(self, attribute, value)
        if more.size:
            depth = longest_depths(self.parent_sets, names)
        else:
            depth = np.asarray(depths(parent.tolist(), names), dtype=np.int32)
        object.__setattr__(self, "depth", depth)
        parent.flags.writeable = depth.flags.writeable = more.flags.writeable = False

    @classmethod
    def from_parent_sets(cls, names: Sequence[str], sets: ParentSets) -> "Taxonomy":
        """A taxonomy from all parents of each label."""
        return cls(tuple(names), sets.first(), sets.rule, sets.beyond_first())

    @cached_property
    def parent_sets(self) -> ParentSets:
        """All parents of each label."""
        lists = [[parent] if parent >= 0 else [] for parent in self.parent.tolist()]
        for child, parent in self.more_parents.tolist():
            lists[child].append(parent)
        return ParentSets.from_lists(lists, self.parents or "all")

    @property
    def is_forest(self) -> bool:
        """Whether no label has several parents."""
        return self.more_parents.size == 0

    @classmethod
    def from_edges(
        cls,
        edges: Iterable[Edge],
        names: Sequence[str] | None = None,
        *,
        multiple_parents: MultipleParents = "error",
        parents: str | None = None,
    ) -> "Taxonomy":
        """A forest, or with `parents` a graph, from (parent, child) pairs.

        Parameters
        ----------
        edges : iterable of pairs
            A node is a name or an index; the parent None or −1 makes the child a root.
            The same edge may come more than once.
        names : sequence of str, optional
            All nodes, in column order; those without an edge stand alone. By default the
            nodes are those of the edges, sorted by name, or 0…max when edges hold indices.
        multiple_parents : {"error", "first"}
            What to do with a node of several parents: refuse it, or keep the first parent
            given, which takes a directed acyclic graph as a tree.
        parents : {"any", "all"} or None
            Keep all parents, of which a positive label needs any, or all.
        """
        check_parameter("Taxonomy", "multiple_parents", multiple_parents, OneOf("error", "first"))
        check_parameter("Taxonomy", "parents", parents, (OneOf("any", "all"), None))
        pairs = list(edges)
        names = node_names(pairs) if names is None else tuple(names)
        if parents is not None:
            return cls.from_parent_sets(names, edge_parent_sets(pairs, names, parents))
        first = edge_parents(pairs, names, keep_first=multiple_parents == "first")
        return cls(names, np.array(first, dtype=np.int32))

    @classmethod
    def from_paths(cls, paths: Iterable[str], separator: str = "/") -> "Taxonomy":
        """A forest from paths such as ``a/b/c``; a node is named by its whole path.

        Missing intermediate nodes are created. The nodes are sorted by name.
        """
        return cls.from_edges(path_edges(paths, separator))

    @classmethod
    def from_file(
        cls,
        path: str | Path,
        names: Sequence[str] | None = None,
        *,
        columns: Literal["child parent", "parent child"] = "child parent",
        entries: Literal["names", "indices"] = "names",
        root: str | None = "-1",
        multiple_parents: MultipleParents = "error",
        parents: str | None = None,
    ) -> "Taxonomy":
        """A forest from a UTF-8 text file of one edge a line.

        Parameters
        ----------
        path : path
            Two columns, divided by a tab, or by blanks in a line without a tab. Empty
            lines are skipped; ``.gz`` and ``.xz`` are decompressed, ``-`` is standard input.
        names : sequence of str, optional
            All nodes in column order, as in `from_edges`.
        columns : {"child parent", "parent child"}
            What the two columns are.
        entries : {"names", "indices"}
            Whether the columns hold names, or indices into `names`.
        root : str or None
            The word in the parent column that makes the child a root; an empty parent
            (after a tab) does so too.
        multiple_parents, parents :
            As in `from_edges`.
        """
        source, edges = read_edges(path, columns=columns, entries=entries, root=root)
        try:
            return cls.from_edges(edges, names, multiple_parents=multiple_parents, parents=parents)
        except DataError as error:
            raise source.error(None, with_reading_hint(str(error), edges, columns)) from None

    def to_file(self, path: str | Path) -> None:
        """Write ``child<TAB>parent`` for every node, in column order; a root's parent is empty.

        Further parents of a node follow, a line each. ``.gz`` and ``.xz`` compress, ``-`` is
        standard output.
        """
        above = ["" if parent < 0 else self.names[parent] for parent in self.parent.tolist()]
        more = [(self.names[parent], self.names[child]) for child, parent in self.more_parents]
        write_edges(path, [*zip(above, self.names, strict=True), *more])

    def to_dict(self) -> dict[str, Any]:
        """Names and parents as plain lists, ready for JSON."""
        stored: dict[str, Any] = {"names": list(self.names), "parents": self.parent.tolist()}
        if self.parents is not None:
            stored |= {"rule": self.parents, "more": self.more_parents.tolist()}
        return stored

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "Taxonomy":
        """The forest that `to_dict` wrote, checked."""
        names, parents = stored_forest(stored)
        more = np.array(stored.get("more") or np.empty((0, 2)), dtype=object)
        return cls(tuple(names), np.array(parents, dtype=object), stored.get("rule"), more)

    def __len__(self) -> int:
        return len(self.names)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Taxonomy):
            return NotImplemented
        return (
            self.names == other.names
            and self.parents == other.parents
            and np.array_equal(self.parent, other.parent)
            and np.array_equal(self.more_parents, other.more_parents)
        )

    def __hash__(self) -> int:
        return hash((self.names, self.parent.tobytes(), self.more_parents.tobytes()))

    def __repr__(self) -> str:
        several = ""
        if not self.is_forest:
            n = np.unique(self.more_parents[:, 0]).size
            several = f", {self.parents} of several parents of {count(n, 'node')}"
        return (
            f"Taxonomy({count(len(self), 'node')}, {count(self.roots.size, 'root')}, "
            f"{count(self.leaves.size, 'leaf', 'leaves')}, depth {self.depth.max()}{several})"
        )

    @cached_property
    def roots(self) -> NDArray[np.int32]:
        """The labels without a parent, in column order."""
        return np.flatnonzero(self.parent < 0).astype(np.int32)

    @cached_property
    def leaves(self) -> NDArray[np.int32]:
        """The labels without children, in column order."""
        inner = np.concatenate([self.parent, self.more_parents[:, 1]])
        return np.setdiff1d(np.arange(len(self), dtype=np.int32), inner)

    @cached_property
    def order(self) -> NDArray[np.int32]:
        """All labels top-down, level by level: every parent before its children."""
        return np.argsort(self.depth, kind="stable").astype(np.int32)

    @cached_property
    def _by_parent(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        order = np.argsort(self.parent, kind="stable").astype(np.int32)
        return order, np.searchsorted(self.parent[order], np.arange(len(self) + 1))

    def children(self, i: int) -> NDArray[np.int32]:
        """The children of label `i`, in column order."""
        self._check_index(i)
        if not self.is_forest:
            sets = self.parent_sets
            owners = np.repeat(np.arange(len(self), dtype=np.int32), np.diff(sets.indptr))
            return owners[sets.indices == i]
        order, start = self._by_parent
        return order[start[i] : start[i + 1]]

    def ancestors(self, i: int) -> NDArray[np.int32]:
        """The ancestors of label `i`, from its parent up to its root; the deepest first."""
        self._check_index(i)
        if not self.is_forest:
            return ancestors_of(i, self.parent_sets, self.depth)
        above = []
        while (i := int(self.parent[i])) >= 0:
            above.append(i)
        return np.array(above, dtype=np.int32)

    def index(self, name: str) -> int:
        """The column of the label `name`."""
        return position(name, self._index)

    @cached_property
    def _index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}

    def close(self, Y: object) -> CSR:
        """`Y` with the ancestors of every label added.

        With ``parents="any"`` a label that has a positive parent needs no other, and one that has
        none gets its first.
        """
        matrix = self._checked(Y)
        if self.is_forest:
            return close_forest_rows(matrix, self.parent)
        return close_rows(matrix, self.parent_sets, self.depth)

    def is_closed(self, Y: object) -> bool:
        """Whether every label of `Y` comes with its parent."""
        return self._orphans(self._checked(Y)).size == 0

    def check(self, Y: object) -> None:
        """Refuse a `Y` in which a label comes without its parent."""
        matrix = self._checked(Y)
        orphans = self._orphans(matrix)
        if orphans.size == 0:
            return
        row = int(np.searchsorted(matrix.indptr, orphans[0], side="right")) - 1
        here = matrix.indices[orphans[orphans < matrix.indptr[row + 1]]]
        pairs = [f"{self.names[i]!r} ({self._parent_names(int(i))})" for i in here]
        rows = np.unique(np.searchsorted(matrix.indptr, orphans, side="right")).size
        more = f", and so in {count(rows - 1, 'other row')}" if rows > 1 else ""
        raise DataError(
            f"Row {row} has labels without their parents: {some(pairs)}{more}; "
            f"close(Y) adds the missing ancestors."
        )

    def align(
        self, label_names: Sequence[str], *, unknown: Literal["error", "root"] = "error"
    ) -> "Taxonomy":
        """The same forest over exactly `label_names`, in that order.

        A node that is no label is left out, and its children hang on their nearest
        ancestor that is one (or become roots), so ancestors among the labels stay
        ancestors. A label that is no node is an error, or with ``unknown="root"`` a root
        without children (files of edges say nothing of nodes that stand alone).
        """
        check_parameter("Taxonomy", "unknown", unknown, OneOf("error", "root"))
        names = tuple(label_names)
        strangers = [name for name in names if name not in self._index]
        if strangers and unknown == "error":
            raise DataError(
                f"{count(len(strangers), 'label')} not in the taxonomy: "
                f"{some(map(shown, strangers))}; unknown='root' lets them stand alone."
            )
        kept = np.array([self._index.get(name, -1) for name in names], dtype=np.int64)
        if self.parents is not None:
            sets = kept_parent_sets(self.parent_sets, self.order, kept)
            return Taxonomy.from_parent_sets(names, sets)
        return Taxonomy(names, kept_parents(self.parent, self.order, kept))

    def renamed(self, names: Sequence[str]) -> "Taxonomy":
        """The same taxonomy with other names of its labels, in the same order."""
        return Taxonomy(tuple(names), self.parent, self.parents, self.more_parents)

    def _parent_names(self, i: int) -> str:
        above = [repr(self.names[parent]) for parent in self.parent_sets.of(i)]
        rule = f"{self.parents} of " if len(above) > 1 else ""
        return f"parent{'s' if len(above) > 1 else ''} {rule}{', '.join(above)}"

    def _orphans(self, Y: CSR) -> NDArray[np.int64]:
        """Positions in `Y.indices` of the labels whose parent is not in the same row."""
        if self.is_forest:
            return np.flatnonzero(lacking_parent(Y, self.parent))
        return np.flatnonzero(lacking_parents(Y, self.parent_sets))

    def _checked(self, Y: object) -> CSR:
        matrix = indicator(Y)
        if matrix.shape[1] != len(self):
            raise DataError(
                f"Y has {matrix.shape[1]} columns and the taxonomy {count(len(self), 'node')}; "
                f"align(label_names) gives the taxonomy of the labels."
            )
        return matrix

    def _check_index(self, i: int) -> None:
        if not 0 <= i < len(self):
            raise DataError(f"Label {i} is outside 0…{len(self) - 1}.")
