"""The contracts of classifiers of one class for each sample, and of two classes."""

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from labelwood.core.contract import FittedEstimator, check_features
from labelwood.core.labels import encode_labels
from labelwood.core.params import check_parameters
from labelwood.core.types import CSR, AnyArray, DoubleArray, PointerArray
from labelwood.errors import DataError

MAX_WEIGHT = 1e150  # so that the square of a weight, and of its inverse, is a float64


class ClassEstimator(ClassifierMixin, FittedEstimator):
    """Base of the classifiers of one class for each sample.

    A subclass declares `_constraints` (its parameters) and `_fitted` (its attributes, of sizes
    that `_sizes` names), calls `_begin_classes` first in `fit`, and gives `decision_function`:
    a score for each class or, for two classes, one that is positive for the second. It gets
    `predict`.
    """

    classes_: AnyArray
    n_features_in_: int

    def _begin_classes(
        self, X: object, y: object, sample_weight: object = None
    ) -> tuple[CSR, PointerArray, DoubleArray]:
        """Checked features, the number of each sample's class, and weights."""
        check_parameters(self, self._constraints)
        if y is None:
            raise DataError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        matrix = self._check_X(X, reset=True)
        Y, classes, multilabel = encode_labels(y)
        self._check_classes(classes, multilabel)
        if Y.shape[0] != matrix.shape[0]:
            raise DataError(f"X has {matrix.shape[0]} rows and y has {Y.shape[0]}.")
        weights = _check_weights(sample_weight, matrix)
        n_left = np.count_nonzero(np.bincount(Y.indices, weights) > 0)
        if n_left < 2:
            found = "one class" if n_left else "no class"
            raise DataError(f"y holds {found} (of positive weight) and two are needed.")
        self.classes_ = classes
        return matrix, Y.indices.astype(np.int64), weights

    def _check_classes(self, classes: AnyArray, multilabel: bool) -> None:
        """Refuse a target of a kind that cannot be learned."""
        if multilabel:
            raise DataError("y must hold one class for each sample. Got label sets instead.")

    def _check_X(self, X: object, *, reset: bool = False) -> CSR:
        return check_features(self, X, reset=reset)

    @abstractmethod
    def decision_function(self, X: object) -> DoubleArray:
        """A score for each sample and class; for two classes one, positive for the second."""

    def predict(self, X: object) -> AnyArray:
        """The class of each sample."""
        check_is_fitted(self)
        scores = self.decision_function(X)
        best = scores > 0 if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[np.asarray(best, dtype=np.intp)]

    def _check_fitted(self) -> None:
        """Refuse fitted attributes that would send a kernel out of bounds (after loading)."""
        classes = getattr(self, "classes_", None)
        if not isinstance(classes, np.ndarray) or classes.ndim != 1 or classes.size < 2:
            raise DataError("classes_ must be a list of classes")
        super()._check_fitted()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class BinaryEstimator(ClassEstimator):
    """Base of the classifiers of two classes.

    Their `decision_function` has one score for each sample, positive for the second class.
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


def balanced(weights: DoubleArray, positive: AnyArray) -> DoubleArray:
    """Weights whose sum is the same, half of it for the positive samples and half for the others.

    A side whose samples all have weight 0 keeps that.

    Examples
    --------
    >>> balanced(np.ones(4), np.array([True, False, False, False])).round(2).tolist()
    [2.0, 0.67, 0.67, 0.67]
    """
    scaled = np.zeros_like(weights)
    for side in (positive, ~positive):
        total = weights[side].sum()
        if total > 0:
            scaled[side] = weights[side] / total * (weights.sum() / 2)
    return scaled


def _check_weights(sample_weight: object, X: CSR) -> DoubleArray:
    try:
        weights = np.asarray(
            _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        )
    except ValueError as error:
        raise DataError(str(error)) from None
    check_weight_range(weights)
    return weights


def check_weight_range(weights: DoubleArray) -> None:
    """Refuse weights of samples whose sums or squares are no finite numbers.

    Examples
    --------
    >>> check_weight_range(np.array([0.0, 1.0, 1e6]))
    """
    bad = np.flatnonzero((weights != 0) & ((weights < 1 / MAX_WEIGHT) | (weights > MAX_WEIGHT)))
    if bad.size:
        raise DataError(
            f"sample_weight must be 0 or lie in {1 / MAX_WEIGHT:g}…{MAX_WEIGHT:g}, or sums of "
            f"weights overflow. Got {weights[bad[0]]:g} for sample {bad[0]}; scale the weights."
        )
