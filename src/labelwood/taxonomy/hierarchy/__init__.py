"""What the learners along a taxonomy share: labels, training sets, nodes, prediction."""

from labelwood.taxonomy.hierarchy._primal_kernels import add_example
from labelwood.taxonomy.hierarchy._row_kernels import (
    PENDING,
    POSITIVE,
    SEEN,
    SELECTED,
    SUPPORT,
    add,
    add_all,
    clear,
    dot,
)
from labelwood.taxonomy.hierarchy.decisions import Estimates, MarginEstimator, NodeMargin
from labelwood.taxonomy.hierarchy.estimator import HierarchicalClassifier
from labelwood.taxonomy.hierarchy.nodes import NO_LIMIT, Examples, Node, Nodes, UpdateRule
from labelwood.taxonomy.hierarchy.training_sets import Siblings, TrainingSets
from labelwood.taxonomy.hierarchy.weights import NodeWeights, as_postings, weights_of_support

__all__ = [
    "NO_LIMIT",
    "PENDING",
    "POSITIVE",
    "SEEN",
    "SELECTED",
    "SUPPORT",
    "Estimates",
    "Examples",
    "HierarchicalClassifier",
    "MarginEstimator",
    "Node",
    "NodeMargin",
    "NodeWeights",
    "Nodes",
    "Siblings",
    "TrainingSets",
    "UpdateRule",
    "add",
    "add_all",
    "add_example",
    "as_postings",
    "clear",
    "dot",
    "weights_of_support",
]
