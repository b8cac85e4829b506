"""Label trees: a linear classifier for each child of a cluster of labels, beam search."""

from labelwood.trees.labeltree.estimator import LabelTreeClassifier

__all__ = ["LabelTreeClassifier"]
