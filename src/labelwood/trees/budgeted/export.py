"""Trees of budgeted decisions for people: indented text, rules, a drawing."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from labelwood.core.params import Integer, check_parameter
from labelwood.core.types import AnyArray
from labelwood.errors import DataError
from labelwood.trees import readable

if TYPE_CHECKING:
    from labelwood.trees.budgeted.estimator import BudgetedTreeClassifier

_DIGITS = 3


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

    def roots(self) -> list[int]:
        """The first node of each tree."""
        return list(self.model.roots_.tolist())

    def title(self, tree: int) -> str:
        """What a tree decides, where there are several."""
        classes = self.model.classes_
        return f"tree of {classes[tree]}" if classes.size > 2 else ""

    def test(self, node: int) -> readable.Test | None:
        """The decision of a node, its positive branch first."""
        if self.is_leaf(node):
            return None
        decision = self.decision(node)
        positive, negative = decision.conditions()
        branches = (
            readable.Branch(positive, node + 1),
            readable.Branch(negative, int(self.model.right_[node])),
        )
        signs = (decision.positive, decision.negative)
        return readable.Test(branches, tuple(decision.terms), signs)

    def leaf(self, node: int) -> tuple[str, ...]:
        """The class of a leaf and how reliable it is."""
        return (self.label(node), *self.reliability(node))


def export_text(
    model: "BudgetedTreeClassifier", feature_names: object, max_features: int, digits: int
) -> str:
    """The trees as indented text: a decision, its positive branch, its negative one."""
    check_parameter("export_text", "max_features", max_features, Integer(low=1))
    check_parameter("export_text", "digits", digits, Integer(low=1, high=17))
    return readable.text(_Reader(model, feature_names, max_features, digits))


def to_json(model: "BudgetedTreeClassifier", feature_names: object, digits: int) -> str:
    """The trees as JSON: a node has a condition, `then` and `else`."""
    check_parameter("to_json", "digits", digits, Integer(low=1, high=17))
    content = readable.as_dict(_Reader(model, feature_names, None, digits))
    return json.dumps(content, ensure_ascii=False, indent=2)


def rules(model: "BudgetedTreeClassifier", feature_names: object, digits: int) -> list[Rule]:
    """A rule for each leaf, those of a tree in its order."""
    check_parameter("rules", "digits", digits, Integer(low=1, high=17))
    reader = _Reader(model, feature_names, None, digits)
    return [
        Rule(path, reader.label(leaf), int(model.n_samples_[leaf]), reader.error(leaf), tree, leaf)
        for tree in range(model.roots_.size)
        for path, leaf in readable.paths(reader, tree)
    ]


def plot(model: "BudgetedTreeClassifier", ax: Any, feature_names: object, tree: int) -> Any:
    """Draw a tree: leaves side by side, every decision above the middle of its branches."""
    return readable.plot(_Reader(model, feature_names, 3, _DIGITS), ax, tree)


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
