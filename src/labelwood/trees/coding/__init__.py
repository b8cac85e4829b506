"""Powerset and annotation trees: binary trees whose leaves are label sets."""

from labelwood.trees.coding.annotation import AnnotationTreeClassifier
from labelwood.trees.coding.arrays import CodingTree
from labelwood.trees.coding.estimator import CodingTreeClassifier
from labelwood.trees.coding.label_sets import label_sets
from labelwood.trees.coding.powerset import PowersetTreeClassifier

__all__ = [
    "AnnotationTreeClassifier",
    "CodingTree",
    "CodingTreeClassifier",
    "PowersetTreeClassifier",
    "label_sets",
]
