"""The supervised budgeted tree: a tree of linear decisions that read few features."""

from labelwood.trees.budgeted.estimator import BudgetedTreeClassifier

__all__ = ["BudgetedTreeClassifier"]
