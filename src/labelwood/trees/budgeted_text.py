"""Trees of budgeted decisions for people: indented text, rules, a drawing."""

import importlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from labelwood.core.types import AnyArray
from labelwood.errors import DataError, MissingExtraError, ParameterError

if TYPE_CHECKING:
    from labelwood.trees.budgeted import BudgetedTreeClassifier

_BOX = {"boxstyle": "round", "facecolor": "white", "edgecolor": "0.6"}


@dataclass(frozen=True)
class Rule:
    """What sends a point to one leaf, and how reliable that leaf is.

    Attributes
    ----------
    conditions :
        Decisions on the path, as "0.71 ball − 0.52 court + 0.10 > 0".
    label :
        The class of the leaf; "not A" in the tree of class A among several.
    support :
        Training points in the leaf.
    error :
        Share (by weight) of them that are predicted wrongly where even the features of the
        last decision are chosen without them.
    tree, node :
        Where the leaf is.
    """

    conditions: tuple[str, ...]
    label: str
    support: int
    error: float
    tree: int
    node: int

    def __str__(self) -> str:
        path = " and ".join(self.conditions) or "always"
        return f"{path} → {self.label} ({self.support} points, {self.error:.1%} wrong)"


class _Reader:
    """Words for the nodes of a fitted model."""

    def __init__(
        self,
        model: "BudgetedTreeClassifier",
        feature_names: object,
        max_features: int | None,
        decimals: int,
    ) -> None:
        check_is_fitted(model)
        self.model = model
        self.names = _names(model, feature_names)
        self.max_features = max_features
        self.decimals = decimals

    def is_leaf(self, node: int) -> bool:
        return bool(self.model.right_[node] < 0)

    def score(self, node: int) -> str:
        """The decision of a node: weights (mean of the folds), the largest first."""
        model = self.model
        part = slice(model.indptr_[node], model.indptr_[node + 1])
        weights = model.weights_[:, part].mean(axis=0)
        order = np.argsort(-np.abs(weights), kind="stable")
        shown = order[: self.max_features]
        terms = [(weights[k], f" {self._name(model.features_[part][k])}") for k in shown]
        terms.append((model.intercepts_[:, node].mean(), ""))
        text = " ".join(
            f"{'−' if weight < 0 else '+'} {abs(weight):.{self.decimals}f}{name}"
            for weight, name in terms
        )
        left = order.size - shown.size
        return text.removeprefix("+ ") + (f" [and {left} more]" if left else "")

    def _name(self, feature: int) -> str:
        return f"x{feature}" if self.names is None else str(self.names[feature])

    def label(self, node: int) -> str:
        """The class of a leaf."""
        classes = self.model.classes_
        positive = self.model.slopes_[node] > 0
        if classes.size == 2:
            return str(classes[int(positive)])
        name = str(classes[self.tree_of(node)])
        return name if positive else f"not {name}"

    def tree_of(self, node: int) -> int:
        return int(np.searchsorted(self.model.roots_, node, side="right")) - 1

    def error(self, leaf: int) -> float:
        return float(self.model.subtree_errors_[leaf, 1] / self.model.totals_[leaf].sum())

    def reliability(self, leaf: int) -> tuple[str, str]:
        return f"{self.model.n_points_[leaf]} points", f"{self.error(leaf):.1%} wrong"

    def nodes(self, tree: int) -> range:
        ends = np.append(self.model.roots_, self.model.right_.size)
        return range(int(ends[tree]), int(ends[tree + 1]))

    def paths(self, tree: int) -> Iterator[tuple[int, tuple[str, ...]]]:
        """Every leaf with the decisions that lead to it."""
        stack: list[tuple[int, tuple[str, ...]]] = [(int(self.model.roots_[tree]), ())]
        while stack:
            node, path = stack.pop()
            if self.is_leaf(node):
                yield node, path
            else:
                score = self.score(node)
                stack.append((int(self.model.right_[node]), (*path, f"{score} ≤ 0")))
                stack.append((node + 1, (*path, f"{score} > 0")))


def export_text(
    model: "BudgetedTreeClassifier", feature_names: object, max_features: int, decimals: int
) -> str:
    """The trees as indented text: a decision, its positive branch, its negative one."""
    reader = _Reader(model, feature_names, max_features, decimals)
    lines = []
    for tree, root in enumerate(model.roots_.tolist()):
        if model.classes_.size > 2:
            lines.append(f"tree of {model.classes_[tree]}")
        stack: list[tuple[int, str]] = [(root, "")]
        while stack:
            node, prefix = stack.pop()
            indent = "|   " * int(model.depths_[node])
            if reader.is_leaf(node):
                points, wrong = reader.reliability(node)
                lines.append(f"{prefix}{indent}{reader.label(node)} ({points}, {wrong})")
                continue
            score = reader.score(node)
            lines.append(f"{prefix}{indent}if {score} > 0")
            otherwise = f"{indent}else\n"
            stack += [(int(model.right_[node]), otherwise), (node + 1, "")]
    return "\n".join(lines) + "\n"


def rules(model: "BudgetedTreeClassifier", feature_names: object, decimals: int) -> list[Rule]:
    """A rule for each leaf, those of a tree in its order."""
    reader = _Reader(model, feature_names, None, decimals)
    return [
        Rule(path, reader.label(leaf), int(model.n_points_[leaf]), reader.error(leaf), tree, leaf)
        for tree in range(model.roots_.size)
        for leaf, path in reader.paths(tree)
    ]


def plot(model: "BudgetedTreeClassifier", ax: Any, feature_names: object, tree: int) -> Any:
    """Draw a tree: leaves side by side, every decision above the middle of its branches."""
    reader = _Reader(model, feature_names, 3, 2)
    if not 0 <= tree < model.roots_.size:
        raise ParameterError(f"tree must be in 0…{model.roots_.size - 1}. Got {tree!r}.")
    nodes = reader.nodes(tree)
    leaves = [node for node in nodes if reader.is_leaf(node)]
    depth = int(model.depths_[nodes.start : nodes.stop].max())
    if ax is None:
        ax = _new_axes(len(leaves), depth + 1)
    x = {leaf: float(place) for place, leaf in enumerate(leaves)}
    for node in reversed(nodes):  # children come after their parent
        y = -float(model.depths_[node])
        if reader.is_leaf(node):
            text = "\n".join([reader.label(node), *reader.reliability(node)])
        else:
            text = _broken(reader.score(node))
            children = (node + 1, int(model.right_[node]))
            x[node] = (x[children[0]] + x[children[1]]) / 2
            for child, side in zip(children, ("> 0", "≤ 0"), strict=True):
                ax.plot([x[node], x[child]], [y, y - 1], color="0.6", zorder=1)
                ax.text((x[node] + x[child]) / 2, y - 0.5, side, ha="center", color="0.4")
        # A dollar in a name is no mathematics.
        ax.text(x[node], y, text, ha="center", va="center", bbox=_BOX, zorder=2, parse_math=False)
    ax.set_xlim(-0.6, len(leaves) - 0.4)
    ax.set_ylim(-depth - 0.5, 0.5)
    ax.set_axis_off()
    return ax


def _broken(score: str) -> str:
    """One term a line."""
    return score.replace(" + ", "\n+ ").replace(" − ", "\n− ").replace(" [", "\n[")


def _new_axes(n_leaves: int, n_levels: int) -> Any:
    try:
        figure = importlib.import_module("matplotlib.figure")
    except ImportError:
        raise MissingExtraError("The plot of a tree", "report") from None
    size = max(6.0, 1.4 * n_leaves), max(4.0, 1.4 * n_levels)
    return figure.Figure(size, layout="constrained").add_subplot()


def _names(model: "BudgetedTreeClassifier", feature_names: object) -> AnyArray | None:
    if feature_names is None:
        known: AnyArray | None = getattr(model, "feature_names_in_", None)
        return known
    if isinstance(feature_names, str) or not isinstance(feature_names, (Sequence, np.ndarray)):
        raise DataError("feature_names must be a list of names.")
    names = np.asarray(feature_names)
    if names.shape != (model.n_features_in_,):
        raise DataError(
            f"feature_names must hold {model.n_features_in_} names. Got {names.shape} instead."
        )
    return names
