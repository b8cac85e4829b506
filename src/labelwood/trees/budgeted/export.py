"""Trees of budgeted decisions for people: indented text, rules, a drawing."""

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from labelwood.core.params import Integer, check_parameter
from labelwood.core.types import AnyArray
from labelwood.errors import DataError, MissingExtraError, ParameterError

if TYPE_CHECKING:
    from labelwood.trees.budgeted.estimator import BudgetedTreeClassifier

_DIGITS = 3
_BOX = {"boxstyle": "round", "facecolor": "white", "edgecolor": "0.6"}


@dataclass(frozen=True)
class Rule:
    """What sends a sample to one leaf, and how reliable that leaf is.

    Attributes
    ----------
    conditions :
        Decisions on the path, as "0.71 ball − 0.52 court + 0.1 > 0", or "income > 60,010" where a
        decision reads one feature. Weights are means of the folds, while the folds vote on
        the side: a sample close to a decision of several features can go the other way.
    label :
        The class of the leaf; "not A" in the tree of class A among several.
    support :
        Training samples in the leaf, each sent there by the classifiers of its own fold, which have
        not seen it. `apply` sends samples by the votes of all folds, so its counts differ.
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
        return f"{path} → {self.label} ({self.support} samples, {self.error:.1%} wrong)"


class _Decision(NamedTuple):
    """What a decision looks at, term by term, and what either side of it says of that."""

    terms: list[str]
    positive: str
    negative: str

    def conditions(self) -> tuple[str, str]:
        """Each side in one line."""
        text = " ".join(self.terms)
        return f"{text} {self.positive}", f"{text} {self.negative}"


class _Reader:
    """Words for the nodes of a fitted model."""

    def __init__(
        self,
        model: "BudgetedTreeClassifier",
        feature_names: object,
        max_features: int | None,
        digits: int,
    ) -> None:
        check_is_fitted(model)
        self.model = model
        self.names = _names(model, feature_names)
        self.max_features = max_features
        self.digits = digits

    def is_leaf(self, node: int) -> bool:
        return bool(self.model.right_[node] < 0)

    def decision(self, node: int) -> _Decision:
        """A threshold of one feature, or a sum against 0."""
        model = self.model
        part = slice(model.indptr_[node], model.indptr_[node + 1])
        features, weights = model.features_[part], model.weights_[:, part]
        intercepts = model.intercepts_[:, node]
        same_way = np.all(weights > 0) or np.all(weights < 0)
        if features.size != 1 or not same_way:
            sizes = np.abs(weights.mean(axis=0)) * model.units_[part]
            return _Decision(self._sum(features, weights, intercepts, sizes), "> 0", "≤ 0")
        limit = _threshold(weights[:, 0], intercepts)
        text = ("−" if limit < 0 else "") + _number(limit, self.digits)
        above, below = (">", "≤") if weights[0, 0] > 0 else ("<", "≥")
        return _Decision([self._name(features[0])], f"{above} {text}", f"{below} {text}")

    def _sum(
        self, features: AnyArray, weights: AnyArray, intercepts: AnyArray, sizes: AnyArray
    ) -> list[str]:
        """The terms of a decision, mean weights of the folds; those of the largest sizes first."""
        means = weights.mean(axis=0)
        order = np.argsort(-sizes, kind="stable")
        shown = order[: self.max_features]
        terms = [(means[k], f" {self._name(features[k])}") for k in shown]
        terms.append((intercepts.mean(), ""))
        texts = [
            f"{'−' if weight < 0 else '+'} {_number(weight, self.digits)}{name}"
            for weight, name in terms
        ]
        left = order.size - shown.size
        if left:
            texts.insert(-1, f"+ [{left} smaller {'term' if left == 1 else 'terms'}]")
        return [texts[0].removeprefix("+ "), *texts[1:]]

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
        return f"{self.model.n_samples_[leaf]} samples", f"{self.error(leaf):.1%} wrong"

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
                positive, negative = self.decision(node).conditions()
                stack.append((int(self.model.right_[node]), (*path, negative)))
                stack.append((node + 1, (*path, positive)))


def export_text(
    model: "BudgetedTreeClassifier", feature_names: object, max_features: int, digits: int
) -> str:
    """The trees as indented text: a decision, its positive branch, its negative one."""
    check_parameter("export_text", "max_features", max_features, Integer(low=1))
    check_parameter("export_text", "digits", digits, Integer(low=1, high=17))
    reader = _Reader(model, feature_names, max_features, digits)
    lines = []
    for tree, root in enumerate(model.roots_.tolist()):
        if model.classes_.size > 2:
            lines.append(f"tree of {model.classes_[tree]}")
        stack: list[tuple[int, str]] = [(root, "")]
        while stack:
            node, prefix = stack.pop()
            indent = "|   " * int(model.depths_[node])
            if reader.is_leaf(node):
                samples, wrong = reader.reliability(node)
                lines.append(f"{prefix}{indent}{reader.label(node)} ({samples}, {wrong})")
                continue
            lines.append(f"{prefix}{indent}if {reader.decision(node).conditions()[0]}")
            otherwise = f"{indent}else\n"
            stack += [(int(model.right_[node]), otherwise), (node + 1, "")]
    return "\n".join(lines) + "\n"


def rules(model: "BudgetedTreeClassifier", feature_names: object, digits: int) -> list[Rule]:
    """A rule for each leaf, those of a tree in its order."""
    check_parameter("rules", "digits", digits, Integer(low=1, high=17))
    reader = _Reader(model, feature_names, None, digits)
    return [
        Rule(path, reader.label(leaf), int(model.n_samples_[leaf]), reader.error(leaf), tree, leaf)
        for tree in range(model.roots_.size)
        for leaf, path in reader.paths(tree)
    ]


def plot(model: "BudgetedTreeClassifier", ax: Any, feature_names: object, tree: int) -> Any:
    """Draw a tree: leaves side by side, every decision above the middle of its branches."""
    reader = _Reader(model, feature_names, 3, _DIGITS)
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
            decision = reader.decision(node)
            text = "\n".join(decision.terms)
            children = (node + 1, int(model.right_[node]))
            x[node] = (x[children[0]] + x[children[1]]) / 2
            for child, side in zip(children, decision[1:], strict=True):
                ax.plot([x[node], x[child]], [y, y - 1], color="0.6", zorder=1)
                ax.text((x[node] + x[child]) / 2, y - 0.5, side, ha="center", color="0.4")
        # A dollar in a name is no mathematics.
        ax.text(x[node], y, text, ha="center", va="center", bbox=_BOX, zorder=2, parse_math=False)
    ax.set_xlim(-0.6, len(leaves) - 0.4)
    ax.set_ylim(-depth - 0.5, 0.5)
    ax.set_axis_off()
    return ax


def _threshold(weights: AnyArray, intercepts: AnyArray) -> float:
    """Where most folds turn to the other side, their weights of one feature having one sign.

    Between the two middle ones of an even number the mean of the folds decides.
    """
    limits = np.sort(-intercepts / weights)
    low, high = limits[(limits.size - 1) // 2], limits[limits.size // 2]
    return float(np.clip(-intercepts.mean() / weights.mean(), low, high))


def _number(value: float, digits: int) -> str:
    """The size of a number: `digits` significant ones, but all of those before the sample.

    Examples
    --------
    >>> [_number(one, 3) for one in (60010.4, -12.345, 0.00123456, 1e20)]
    ['60,010', '12.3', '0.00123', '1e+20']
    """
    size = abs(value)
    return f"{size:,.0f}" if 10**digits - 0.5 <= size < 1e15 else f"{size:.{digits}g}"


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
    try:
        names = np.asarray(feature_names)
    except ValueError:  # lists of different lengths
        names = np.empty(())
    if names.ndim != 1:  # of a string too
        raise DataError("feature_names must be a list of names.")
    if names.shape != (model.n_features_in_,):
        raise DataError(
            f"feature_names must hold {model.n_features_in_} names. Got {names.shape} instead."
        )
    return names
