"""The hierarchical Perceptron: a linear classifier for each node, learned on line."""

from labelwood.taxonomy.perceptron.estimator import HierarchicalPerceptron

__all__ = ["HierarchicalPerceptron"]
