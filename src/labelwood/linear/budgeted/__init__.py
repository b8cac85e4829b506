"""The budget-aware classifier: one linear decision that reads few features."""

from labelwood.linear.budgeted._feature_kernels import feature_table, restrict
from labelwood.linear.budgeted.contract import (
    CLASS_WEIGHT,
    NOT_DIVIDED,
    NOT_DIVIDED_REMEDY,
    UNSOLVED_REMEDY,
    BudgetedEstimator,
    warn_of_budget,
)
from labelwood.linear.budgeted.cutting_planes import decide, solve_budgeted
from labelwood.linear.budgeted.estimator import BudgetedClassifier

__all__ = [
    "CLASS_WEIGHT",
    "NOT_DIVIDED",
    "NOT_DIVIDED_REMEDY",
    "UNSOLVED_REMEDY",
    "BudgetedClassifier",
    "BudgetedEstimator",
    "decide",
    "feature_table",
    "restrict",
    "solve_budgeted",
    "warn_of_budget",
]
