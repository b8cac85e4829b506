"""Fitted trees in words: conditions of splits, and rules along the paths."""

from typing import Any

import numpy as np

from labelwood.errors import DataError
from labelwood.trees import readable
from labelwood.trees.rules.decision_tree.arrays import RuleTrees
from labelwood.trees.rules.features import feature_names_of
from labelwood.trees.rules.rule_set import Condition, Rule, RuleSet, quoted


class SplitReader:
    """Conditions and words for the nodes of rule trees (a `readable.TreeReader`)."""

    def __init__(self, model: Any, feature_names: object = None) -> None:
        self.model = model
        self.trees: RuleTrees = model._trees()
        self.names = feature_names_of(model, feature_names)
        self.keeps_missing = model.missing == "value"

    def roots(self) -> list[int]:
        """The first node of each tree."""
        return list(self.trees.roots.tolist())

    def title(self, tree: int) -> str:
        """What a tree decides."""
        if self.trees.roots.size == 1:
            return ""
        return f"tree of {self.model.classes_[tree]}"

    def conditions(self, node: int) -> tuple[Condition, Condition]:
        """What sends a sample to the left, and to the right."""
        trees = self.trees
        name = self.names.get(int(trees.features[node]), f"x{trees.features[node]}")
        to_left = bool(trees.missing_left[node])
        at_left = self.keeps_missing and to_left
        at_right = self.keeps_missing and not to_left
        first, after = trees.mask_indptr[node : node + 2]
        if after > first:
            bits = np.unpackbits(trees.masks[first:after].view(np.uint8), bitorder="little")
            # Categories that training has not seen go with the larger side: they are what is
            # outside the set that names the smaller one.
            excluded = bool(trees.larger_left[node])
            members = frozenset(np.flatnonzero(bits.astype(bool) != excluded).tolist())
            return (
                Condition(name, categories=members, excluded=excluded, missing=at_left),
                Condition(name, categories=members, excluded=not excluded, missing=at_right),
            )
        threshold = float(trees.thresholds[node])
        return (
            Condition(name, high=threshold, missing=at_left),
            Condition(name, low=threshold, missing=at_right),
        )

    def test(self, node: int) -> readable.Test | None:
        """What a node asks; a word that is present comes first, else the smaller values."""
        if self.trees.right[node] < 0:
            return None
        left, right = self.conditions(node)
        branches = [
            readable.Branch(str(left), node + 1),
            readable.Branch(str(right), int(self.trees.right[node])),
        ]
        if str(right) == quoted(right.feature):
            return readable.Test((branches[1], branches[0]), (right.feature,), ("yes", "no"))
        return readable.Test((branches[0], branches[1]), (str(left),), ("yes", "no"))

    def leaf(self, node: int) -> tuple[str, ...]:
        """The prediction of a leaf, its samples, and the share that it predicts rightly."""
        n = f"{self.trees.n_samples[node]} samples"
        return (*self.model._leaf_words(node, self.trees), n)

    def rules(self, tree: int = 0) -> list[tuple[Rule, int]]:
        """The conditions on the path to each leaf with the label that it predicts."""
        found = []
        stack: list[tuple[int, tuple[Condition, ...]]] = [(int(self.trees.roots[tree]), ())]
        while stack:
            node, path = stack.pop()
            if self.trees.right[node] < 0:
                found.append((Rule(path, self.model._leaf_words(node, self.trees)[0]), node))
                continue
            left, right = self.conditions(node)
            children = [(node + 1, left), (int(self.trees.right[node]), right)]
            if str(right) == quoted(right.feature):
                children.reverse()
            stack += [(child, (*path, one)) for child, one in reversed(children)]
        return found


def rules_of_tree(model: Any, reader: SplitReader, label: object = None) -> RuleSet:
    """The rules along the paths of one of the model's trees, a rule a leaf.

    The rule of the last leaf becomes OTHERWISE: the leaves divide all samples among them.
    """
    tree, output = _tree_of(model, label)
    trees = reader.trees
    found = reader.rules(tree)
    nodes = [node for _, node in found]
    values = trees.values[nodes]
    weights = trees.weights[nodes][:, None]
    if output is None:
        names = [rule.label for rule, _ in found]
        binary = model.classes_.size == 2
        counts = weights * (np.column_stack([1 - values, values]) if binary else values)
    else:
        name = str(model.classes_[output])
        share = values[:, [0 if values.shape[1] == 1 else output]]
        names = [name if p > 0.5 else f"~{name}" for p in share[:, 0]]
        counts = weights * np.column_stack([1 - share, share])
    rules = [Rule(rule.conditions, one) for (rule, _), one in zip(found, names, strict=True)]
    rules[-1] = Rule((), rules[-1].label)
    given = [reader.names[i] for i in range(len(reader.names))] if reader.names else None
    result = RuleSet("\n".join(map(str, rules)), feature_names=given, missing=model.missing)
    result.n_features_in_ = model.n_features_in_
    result.classes_ = model.classes_ if output is None else np.array([0, 1])
    if hasattr(model, "feature_names_in_"):
        result.feature_names_in_ = model.feature_names_in_
    result.imputed_ = model.imputed_
    result.categories_ = model.categories_
    result.edits_ = []
    result._set_rules(rules)
    # Shares of whole numbers of samples give them back but for rounding.
    whole = np.rint(counts)
    result.counts_ = np.where(np.abs(counts - whole) <= 1e-9 * weights, whole, counts)
    return result


def _tree_of(model: Any, label: object) -> tuple[int, int | None]:
    """The tree to read, and the output when it is one of a label set's."""
    if not model.multilabel_:
        if label is not None:
            raise DataError("label is for a model of label sets; this one tells classes apart.")
        return 0, None
    names = model.classes_.tolist()
    if label is None and len(names) == 1:
        label = names[0]
    if label not in names:
        raise DataError(f"label must be one of the model's labels. Got {label!r}.")
    place = names.index(label)
    return (0 if model.shared_tree else place), place
