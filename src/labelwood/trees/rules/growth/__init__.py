"""Growing a decision tree: criteria, the search for splits, and the order of growth."""

from labelwood.trees.rules.growth._entry_kernels import (
    BoolArray,
    Entries,
    entries_by_feature,
    sort_all,
)
from labelwood.trees.rules.growth._many_output_kernels import Targets
from labelwood.trees.rules.growth._split_kernels import (
    CATEGORICAL,
    END,
    FEATURE,
    NUMERIC,
    PRESENCE,
    SCORE,
    SQUARED,
    START,
    THRESHOLD,
    KindArray,
    best_split_of_one,
)
from labelwood.trees.rules.growth.criteria import LOSSES, CriterionName
from labelwood.trees.rules.growth.grower import Grower, Growth, Node
from labelwood.trees.rules.growth.problem import (
    Criterion,
    Problem,
    make_criterion,
    many_targets,
    single_target,
)

__all__ = [
    "CATEGORICAL",
    "END",
    "FEATURE",
    "LOSSES",
    "NUMERIC",
    "PRESENCE",
    "SCORE",
    "SQUARED",
    "START",
    "THRESHOLD",
    "BoolArray",
    "Criterion",
    "CriterionName",
    "Entries",
    "Grower",
    "Growth",
    "KindArray",
    "Node",
    "Problem",
    "Targets",
    "best_split_of_one",
    "entries_by_feature",
    "make_criterion",
    "many_targets",
    "single_target",
    "sort_all",
]
