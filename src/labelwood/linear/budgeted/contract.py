"""What the classifiers that choose their features share: parameters, warnings, names."""

import warnings
from abc import abstractmethod

import numpy as np

from labelwood.core.caller import user_stacklevel
from labelwood.core.classes import ClassEstimator
from labelwood.core.params import OneOf
from labelwood.core.types import CSR, AnyArray, DoubleArray, IndexArray, PointerArray
from labelwood.errors import LabelwoodWarning, ParameterError

CLASS_WEIGHT = (OneOf("balanced"), None)
NOT_DIVIDED = "no decision divides the samples"
NOT_DIVIDED_REMEDY = (
    "raise C, scale the columns to values around 1 (scale=True), or set class_weight for a rare "
    "class"
)
UNSOLVED_REMEDY = "bring the columns to like scales (scale=True) around 0"


def warn_of_budget(budget: int, n_features: int) -> None:
    """Warn that a budget above the number of features sets no limit."""
    if budget > n_features:
        warnings.warn(
            f"budget={budget} is above the number of features ({n_features}): all of them may be "
            "used.",
            LabelwoodWarning,
            stacklevel=user_stacklevel(),
        )


class BudgetedEstimator(ClassEstimator):
    """Base of the classifiers that choose their features; has `budget` and `plane_size`."""

    budget: int
    plane_size: int | None

    def _begin_classes(
        self, X: object, y: object, sample_weight: object = None
    ) -> tuple[CSR, PointerArray, DoubleArray]:
        begun = super()._begin_classes(X, y, sample_weight)
        if self.plane_size is not None and self.plane_size > self.budget:
            raise ParameterError(
                f"The 'plane_size' parameter of {type(self).__name__} must be at most budget "
                f"({self.budget}). Got {self.plane_size} instead."
            )
        warn_of_budget(self.budget, self.n_features_in_)
        return begun

    @property
    @abstractmethod
    def selected_features_(self) -> IndexArray:
        """The features that the classifier uses, sorted."""

    @property
    def selected_names_(self) -> AnyArray:
        """Names of the selected features: columns of the data frame of `fit`, else like x0."""
        chosen = self.selected_features_
        if hasattr(self, "feature_names_in_"):
            return np.asarray(self.feature_names_in_)[chosen]
        return np.array([f"x{feature}" for feature in chosen], dtype=np.str_)
