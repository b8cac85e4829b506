"""Fitted trees in words: conditions of splits, and rules along the paths."""

from typing import Any

import numpy as np

from labelwood.trees import readable
from labelwood.trees.rules.decision_tree.arrays import RuleTrees
from labelwood.trees.rules.features import feature_names_of
from labelwood.trees.rules.rule_set import Condition, Rule, quoted


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
            known = self.model._n_categories()[int(trees.features[node])]
            members = frozenset(np.flatnonzero(bits[:known] != excluded).tolist())
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
        signs = (str(left), str(right))
        return readable.Test((branches[0], branches[1]), (left.feature,), signs)

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
