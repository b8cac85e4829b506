"""Trees for people: indented text, paths, a drawing and JSON, for every tree with a reader.

A tree of any kind is shown by a `TreeReader`: it puts the test of a node and the content of a
leaf into words. All else is the same for all kinds.
"""

import importlib
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from labelwood.errors import MissingExtraError, ParameterError

_BOX = {"boxstyle": "round", "facecolor": "white", "edgecolor": "0.6"}
# Inches of a drawing for each leaf and each level; 15 leaves are readable side by side.
_INCHES_PER_LEAF, _INCHES_PER_LEVEL = 1.4, 1.4
_LETTERS_PER_LINE = 20  # about so many letters of the default font fit into those inches


class Branch(NamedTuple):
    """One way out of a node: the condition that leads there, and the node."""

    condition: str
    node: int


@dataclass(frozen=True)
class Test:
    """What a node asks: a drawing shows `terms` in its box and `signs` beside its branches."""

    branches: tuple[Branch, Branch]
    terms: tuple[str, ...]
    signs: tuple[str, str]

    __test__ = False  # not a test for pytest


class TreeReader(Protocol):
    """Words for the nodes of fitted trees; the first branch of a test is shown first."""

    def roots(self) -> list[int]:
        """The first node of each tree."""

    def title(self, tree: int) -> str:
        """What a tree decides, empty where there is only one."""

    def test(self, node: int) -> Test | None:
        """What a node asks; None for a leaf."""

    def leaf(self, node: int) -> tuple[str, ...]:
        """What a leaf predicts, then how many samples it rests on and the like."""


class TreePath(NamedTuple):
    """The conditions that lead to a leaf."""

    conditions: tuple[str, ...]
    leaf: int


def paths(reader: TreeReader, tree: int = 0) -> Iterator[TreePath]:
    """Every leaf of a tree with the conditions that lead to it, in the order of the text."""
    stack: list[tuple[int, tuple[str, ...]]] = [(reader.roots()[tree], ())]
    while stack:
        node, conditions = stack.pop()
        test = reader.test(node)
        if test is None:
            yield TreePath(conditions, node)
            continue
        for branch in reversed(test.branches):
            stack.append((branch.node, (*conditions, branch.condition)))


def text(reader: TreeReader) -> str:
    """All trees as indented text."""
    lines = []
    for tree, root in enumerate(reader.roots()):
        if reader.title(tree):
            lines.append(reader.title(tree))
        stack: list[tuple[int, int, str]] = [(root, 0, "")]
        while stack:
            node, depth, prefix = stack.pop()
            indent = "|   " * depth
            test = reader.test(node)
            if test is None:
                label, *rest = reader.leaf(node)
                lines.append(f"{prefix}{indent}{label} ({', '.join(rest)})")
                continue
            first, second = test.branches
            lines.append(f"{prefix}{indent}if {first.condition}")
            stack.append((second.node, depth + 1, f"{indent}else\n"))
            stack.append((first.node, depth + 1, ""))
    return "\n".join(lines) + "\n"


def as_dict(reader: TreeReader) -> dict[str, Any]:
    """All trees as plain values for JSON: a node has a condition, `then` and `else`."""
    return {
        "trees": [
            {"title": reader.title(tree), "root": _node_dict(reader, root)}
            for tree, root in enumerate(reader.roots())
        ]
    }


def _node_dict(reader: TreeReader, root: int) -> dict[str, Any]:
    """A tree as nested dicts, built without recursion: trees can be deep."""
    result: dict[str, Any] = {}
    stack = [(root, result)]
    while stack:
        node, content = stack.pop()
        test = reader.test(node)
        if test is None:
            label, *rest = reader.leaf(node)
            content.update({"node": node, "label": label, "remarks": rest})
            continue
        first, second = test.branches
        content.update({"node": node, "if": first.condition, "then": {}, "else": {}})
        stack += [(first.node, content["then"]), (second.node, content["else"])]
    return result


def plot(reader: TreeReader, ax: Any = None, tree: int = 0) -> Any:
    """Draw a tree with matplotlib: leaves side by side, tests above the middle of branches."""
    roots = reader.roots()
    if isinstance(tree, bool) or not 0 <= tree < len(roots):
        raise ParameterError(f"tree must be in 0…{len(roots) - 1}. Got {tree!r}.")
    order, depth = _in_order(reader, roots[tree])
    leaves = [node for node in order if reader.test(node) is None]
    n_levels = max(depth.values()) + 1
    if ax is None:
        ax = _new_axes(len(leaves), n_levels)
    x = {leaf: float(place) for place, leaf in enumerate(leaves)}
    for node in reversed(order):  # children come after their parent
        y = -float(depth[node])
        test = reader.test(node)
        if test is None:
            lines = reader.leaf(node)
        else:
            lines = test.terms
            x[node] = sum(x[branch.node] for branch in test.branches) / 2
            for branch, sign in zip(test.branches, test.signs, strict=True):
                ax.plot([x[node], x[branch.node]], [y, y - 1], color="0.6", zorder=1)
                middle = (x[node] + x[branch.node]) / 2
                # Beside the line, in a gray that is readable on a light and on a dark page.
                side, space = ("right", f"{sign}  ") if middle < x[node] else ("left", f"  {sign}")
                ax.text(middle, y - 0.5, space, ha=side, color="#868686", parse_math=False)
        # A dollar in a name is no mathematics.
        ax.text(
            x[node],
            y,
            "\n".join(textwrap.fill(line, _LETTERS_PER_LINE) for line in lines),
            ha="center",
            va="center",
            bbox=_BOX,
            zorder=2,
            parse_math=False,
        )
    ax.set_xlim(-0.6, len(leaves) - 0.4)
    ax.set_ylim(-n_levels + 0.5, 0.5)
    ax.set_axis_off()
    return ax


def _in_order(reader: TreeReader, root: int) -> tuple[list[int], dict[int, int]]:
    """The nodes of a tree from left to right below each test, and their depths."""
    order, depth, stack = [], {root: 0}, [root]
    while stack:
        node = stack.pop()
        order.append(node)
        test = reader.test(node)
        if test is not None:
            for branch in reversed(test.branches):
                depth[branch.node] = depth[node] + 1
                stack.append(branch.node)
    return order, depth


def _new_axes(n_leaves: int, n_levels: int) -> Any:
    try:
        figure = importlib.import_module("matplotlib.figure")
    except ImportError:
        raise MissingExtraError("The plot of a tree", "report") from None
    size = max(6.0, _INCHES_PER_LEAF * n_leaves), max(4.0, _INCHES_PER_LEVEL * n_levels)
    return figure.Figure(size, layout="constrained").add_subplot()
