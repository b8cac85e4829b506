"""Powerset and annotation trees: binary trees whose leaves are label sets."""

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
