"""Coding trees for people: indented text with the words of each decision."""

from typing import TYPE_CHECKING

import numpy as np

from labelwood.core.params import Integer, check_parameter
from labelwood.core.types import AnyArray
from labelwood.errors import DataError
from labelwood.trees import readable

if TYPE_CHECKING:
    from labelwood.trees.coding.estimator import CodingTreeClassifier


class CodingReader:
    """Words for the nodes of a fitted coding tree; nodes below `max_depth` are one leaf."""

    def __init__(
        self,
        model: "CodingTreeClassifier",
        feature_names: object,
        max_features: int,
        max_depth: int | None,
    ) -> None:
        check_parameter("export_text", "max_features", max_features, Integer(low=1))
        check_parameter("export_text", "max_depth", max_depth, (Integer(low=0), None))
        self._tree = model._tree()
        self._labels = model.classes_
        self._names = _feature_names(feature_names, model.n_features_in_)
        self._max_features = max_features
        depths = self._tree.depths()
        self._cut = depths >= (np.inf if max_depth is None else max_depth)

    def roots(self) -> list[int]:
        """The only tree begins at node 0."""
        return [0]

    def title(self, tree: int) -> str:
        """Nothing: there is only one tree."""
        return ""

    def test(self, node: int) -> readable.Test | None:
        """The terms of the largest weights, and the intercept."""
        tree = self._tree
        if tree.right[node] < 0 or self._cut[node]:
            return None
        entries = slice(tree.weight_indptr[node], tree.weight_indptr[node + 1])
        features, weights = tree.features[entries], tree.weights[entries]
        order = np.argsort(-np.abs(weights), kind="stable")[: self._max_features]
        terms = [f"{_signed(weights[k])} {self._name(int(features[k]))}" for k in order]
        if order.size < weights.size:
            terms.append(f"+ {weights.size - order.size} more")
        terms.append(_signed(tree.intercepts[node]))
        text = " ".join(terms).removeprefix("+ ")
        yes = readable.Branch(f"{text} > 0", node + 1)
        no = readable.Branch(f"{text} ≤ 0", int(tree.right[node]))
        return readable.Test((yes, no), tuple(terms), ("> 0", "≤ 0"))

    def leaf(self, node: int) -> tuple[str, ...]:
        """The label set, or how many there are below a node that is not shown."""
        tree = self._tree
        if tree.right[node] >= 0:
            n = self._n_leaves(node)
            return (f"{n} label sets", "not shown")
        labels = tree.labels[tree.leaf_indptr[node] : tree.leaf_indptr[node + 1]]
        names = [str(self._labels[label]) for label in labels]
        return (", ".join(names) or "no label", "1 label set")

    def _n_leaves(self, node: int) -> int:
        """The leaves below a node: its subtree ends where as many leaves as decisions + 1 came."""
        n_open, n_leaves, at = 1, 0, node
        while n_open:
            is_leaf = self._tree.right[at] < 0
            n_open += -1 if is_leaf else 1
            n_leaves += is_leaf
            at += 1
        return int(n_leaves)

    def _name(self, feature: int) -> str:
        return f"feature {feature}" if self._names is None else str(self._names[feature])


def _signed(value: float) -> str:
    return f"{'−' if value < 0 else '+'} {abs(float(value)):.3g}"


def _feature_names(given: object, n_features: int) -> AnyArray | None:
    if given is None:
        return None
    names = np.asarray(given)
    if names.shape != (n_features,):
        raise DataError(f"feature_names must hold {n_features} names. Got {names.shape} instead.")
    return names
