"""Powerset and annotation trees: binary trees whose leaves are label sets.

`_shape_kernels` has their shapes, `huffman` and `annotate`; `growth` trains the decisions, and
`_decision_kernels.likely_leaves` is the beam search.
"""

from labelwood.trees.coding.arrays import CodingTree
from labelwood.trees.coding.estimator import (
    AnnotationTreeClassifier,
    CodingTreeClassifier,
    PowersetTreeClassifier,
)
from labelwood.trees.coding.label_sets import label_sets

__all__ = [
    "AnnotationTreeClassifier",
    "CodingTree",
    "CodingTreeClassifier",
    "PowersetTreeClassifier",
    "label_sets",
]
