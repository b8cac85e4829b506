"""What the learners along a taxonomy share: labels, training sets, prediction."""

from labelwood.taxonomy.hierarchy.estimator import HierarchicalClassifier
from labelwood.taxonomy.hierarchy.prediction import Estimates
from labelwood.taxonomy.hierarchy.support import NO_LIMIT, Node, Support, learn_in_room
from labelwood.taxonomy.hierarchy.training_sets import Examples, Family
from labelwood.taxonomy.hierarchy.weights import NodeWeights, side_by_side

__all__ = [
    "NO_LIMIT",
    "Estimates",
    "Examples",
    "Family",
    "HierarchicalClassifier",
    "Node",
    "NodeWeights",
    "Support",
    "learn_in_room",
    "side_by_side",
]
