"""Decision trees for classes, labels and numbers: fitting, pruning, prediction, words."""

from labelwood.trees.rules.decision_tree.base import Columns
from labelwood.trees.rules.decision_tree.classifier import RuleTreeClassifier, scores_as_csr
from labelwood.trees.rules.decision_tree.regressor import RuleTreeRegressor

__all__ = ["Columns", "RuleTreeClassifier", "RuleTreeRegressor", "scores_as_csr"]
