"""The supervised budgeted tree: a tree of linear decisions that read few features.

`growth` grows it, `decisions` divides a node, and `pruning` has the rules by which decisions stay.
"""

from labelwood.trees.budgeted.estimator import BudgetedTreeClassifier

__all__ = ["BudgetedTreeClassifier"]
