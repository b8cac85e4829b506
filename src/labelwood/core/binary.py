"""The contract that every classifier of two classes keeps."""

from typing import Any

from labelwood.core.classes import ClassEstimator
from labelwood.core.types import AnyArray
from labelwood.errors import DataError


class BinaryEstimator(ClassEstimator):
    """Base of the classifiers of two classes.

    Their `decision_function` has one score for each point, positive for the second class.
    """

    def _check_classes(self, classes: AnyArray, multilabel: bool) -> None:
        if multilabel or classes.size > 2:
            kind = "multilabel-indicator" if multilabel else "multiclass"
            raise DataError(
                f"Only binary classification is supported. The type of the target is {kind}."
            )

    def _check_fitted(self) -> None:
        super()._check_fitted()
        if self.classes_.size != 2:
            raise DataError("classes_ must be two classes")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
