"""Whether a greedy tree is the best of its size: all small trees are tried."""

from labelwood.trees.rules.optimality.search import Optimality, compare_with_optimum

__all__ = ["Optimality", "compare_with_optimum"]
