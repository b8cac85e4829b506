"""The contract that every classifier of two classes keeps."""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from labelwood.core.estimator import FittedAttributes, check_features, check_fitted_attributes
from labelwood.core.labels import encode_labels
from labelwood.core.params import Constraints, check_parameters
from labelwood.core.types import CSR, AnyArray, DoubleArray
from labelwood.errors import DataError


class BinaryEstimator(ClassifierMixin, BaseEstimator):
    """Base of the classifiers of two classes.

    A subclass declares `_constraints` (its parameters) and `_fitted` (its attributes), calls
    `_begin_fit` first in `fit`, and gives `decision_function`, which is positive for the
    second class. It gets `predict`.
    """

    _constraints: ClassVar[Constraints] = {}
    _fitted: ClassVar[FittedAttributes] = {}

    classes_: AnyArray
    n_features_in_: int

    def _begin_fit(
        self, X: object, y: object, sample_weight: object = None
    ) -> tuple[CSR, DoubleArray, DoubleArray]:
        """Checked features, a sign for each point (+1 is the second class), and weights."""
        check_parameters(self, self._constraints)
        if y is None:
            raise DataError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        matrix = self._check_X(X, reset=True)
        Y, classes, multilabel = encode_labels(y)
        if multilabel or classes.size > 2:
            kind = "multilabel-indicator" if multilabel else "multiclass"
            raise DataError(
                f"Only binary classification is supported. The type of the target is {kind}."
            )
        if Y.shape[0] != matrix.shape[0]:
            raise DataError(f"X has {matrix.shape[0]} rows and y has {Y.shape[0]}.")
        weights = self._check_weights(sample_weight, matrix)
        n_left = np.count_nonzero(np.bincount(Y.indices, weights) > 0)
        if n_left < 2:
            found = "one class" if n_left else "no class"
            raise DataError(f"y holds {found} (of positive weight) and two are needed.")
        self.classes_ = classes
        return matrix, np.where(Y.indices == 1, 1.0, -1.0), weights

    def _check_weights(self, sample_weight: object, X: CSR) -> DoubleArray:
        try:
            return np.asarray(
                _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
            )
        except ValueError as error:
            raise DataError(str(error)) from None

    def _check_X(self, X: object, *, reset: bool = False) -> CSR:
        return check_features(self, X, reset=reset)

    @abstractmethod
    def decision_function(self, X: object) -> DoubleArray:
        """A score for each point, positive for the second class."""

    def predict(self, X: object) -> AnyArray:
        """The class of each point."""
        check_is_fitted(self)
        return self.classes_[(self.decision_function(X) > 0).astype(np.intp)]

    def _check_fitted(self) -> None:
        """Refuse fitted attributes that would send a kernel out of bounds (after loading)."""
        classes = getattr(self, "classes_", None)
        if not isinstance(classes, np.ndarray) or classes.shape != (2,):
            raise DataError("classes_ must be two classes")
        check_fitted_attributes(self, {"n_features_in_": int}, {})
        check_fitted_attributes(self, self._fitted, {"features": self.n_features_in_})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags
