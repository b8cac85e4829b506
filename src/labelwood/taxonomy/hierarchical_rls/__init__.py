"""Hierarchical regularized least squares, in batch and on line."""

from labelwood.taxonomy.hierarchical_rls.estimator import HierarchicalRLSClassifier

__all__ = ["HierarchicalRLSClassifier"]
