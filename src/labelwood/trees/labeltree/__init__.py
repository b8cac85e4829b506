"""Label trees: a linear classifier for each child of a cluster of labels, beam search.

`clustering` makes the tree, `training` its classifiers, and `_beam_kernels.search_tree` searches
it.
"""

from labelwood.trees.labeltree.estimator import LabelTreeClassifier

__all__ = ["LabelTreeClassifier"]
