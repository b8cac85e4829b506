"""What a forest is read from: names, parents, edges and text files, all checked."""

from collections import Counter
from collections.abc import Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from labelwood.core.params import OneOf, check_parameter
from labelwood.errors import DataError

Node: TypeAlias = str | int
"""A node by name, or by its index."""

_SHOWN = 8


def check_names(names: tuple[str, ...]) -> None:
    """Refuse an empty forest, and names that are empty, no text or not unique."""
    if not names:
        raise DataError("A taxonomy needs at least one node.")
    for name in names:
        if not isinstance(name, str) or not name:
            raise DataError(f"The nodes of a taxonomy must have names. Got {name!r}.")
    if len(set(names)) < len(names):
        twice = [name for name, n in Counter(names).items() if n > 1]
        raise DataError(f"The nodes of a taxonomy must have different names. Twice: {some(twice)}.")


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
            raise DataError(_cycle_message(cycle))
        level = depth[node] if node >= 0 else -1
        for below in reversed(walk):
            level += 1
            depth[below] = level
    return depth


def _cycle_message(upwards: list[str]) -> str:
    if len(upwards) == 1:
        return f"The node {upwards[0]!r} is its own parent."
    down = [upwards[0], *reversed(upwards)]
    shown = down if len(down) <= _SHOWN + 1 else [*down[:_SHOWN], "…", down[-1]]
    return f"The taxonomy has a cycle (parent → child): {' → '.join(shown)}."


def node_names(edges: Sequence[tuple[Node | None, Node]]) -> tuple[str, ...]:
    """The nodes of (parent, child) pairs: sorted names, or 0…max for indices."""
    nodes = {node for edge in edges for node in edge if node is not None and node != -1}
    names = [node for node in nodes if isinstance(node, str)]
    if len(names) == len(nodes):
        return tuple(sorted(names))
    if names:
        raise DataError("Edges must be all names or all indices, or the names must be given.")
    return tuple(str(i) for i in range(max(int(node) for node in nodes) + 1))


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


def read_edges(
    path: Path, *, columns: str, entries: str, root: str | None
) -> list[tuple[Node | None, Node]]:
    """The (parent, child) pairs of a text file; see `Taxonomy.from_file`."""
    check_parameter("Taxonomy", "columns", columns, OneOf("child parent", "parent child"))
    check_parameter("Taxonomy", "entries", entries, OneOf("names", "indices"))
    edges: list[tuple[Node | None, Node]] = []
    for number, line in enumerate(_read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        fields = line.rstrip("\r").split("\t") if "\t" in line else line.split()
        place = f"{path}, line {number}"
        if len(fields) != 2:
            raise DataError(
                f"{place}: two columns are expected. Got {len(fields)}: {line.strip()!r}."
            )
        child, parent = fields if columns == "child parent" else reversed(fields)
        above = None if parent in ("", root) else _entry(parent, entries, place)
        edges.append((above, _entry(child, entries, place)))
    return edges


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}).") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 text (byte {error.start}).") from None


def _entry(text: str, entries: str, place: str) -> Node:
    if entries == "indices":
        try:
            return int(text)
        except ValueError:
            raise DataError(f"{place}: an index is expected. Got {text!r}.") from None
    if not text:
        raise DataError(f"{place}: the child has no name.")
    return text


def count(n: int, one: str, many: str | None = None) -> str:
    """``1 node``, ``2 nodes``."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def some(items: Sequence[str], *, quote: bool = True) -> str:
    """The first few of `items`, and how many more there are."""
    shown = ", ".join(repr(item) if quote else item for item in items[:_SHOWN])
    more = len(items) - _SHOWN
    return f"{shown} and {more:,} more" if more > 0 else shown
