"""The contract that every multi-label estimator of the package keeps."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from labelwood.core.labels import encode_labels, is_label_lists, lists_to_indicator
from labelwood.core.params import Constraints, Integer, check_parameter, check_parameters
from labelwood.core.sparse import as_csr
from labelwood.core.topk import TopK
from labelwood.core.types import CSR, AnyArray
from labelwood.errors import DataError

FittedAttributes: TypeAlias = Mapping[str, type | tuple[type, tuple[str | int | None, ...]]]
"""Attribute → its type, or dtype and shape of its array."""


class LabelEstimator(ClassifierMixin, BaseEstimator):
    """Base of the multi-label classifiers.

    A subclass declares `_constraints` (its parameters) and `_fitted` (its attributes),
    calls `_begin_fit` first in `fit`, and gives `_score` and, where it can do better than
    sort all scores, `_score_topk`. It gets `predict`, `predict_topk` and
    `decision_function`.

    When `fit` was given one class for each point (a one-dimensional `y`), it behaves
    as an ordinary scikit-learn classifier: `predict` returns classes and
    `decision_function` a dense array.
    """

    _constraints: ClassVar[Constraints] = {}
    _threshold: ClassVar[float] = 0.0
    _fitted: ClassVar[FittedAttributes] = {}

    classes_: AnyArray
    multilabel_: bool
    n_features_in_: int

    def _begin_fit(self, X: object, y: object) -> tuple[CSR, CSR]:
        """Check parameters and data; set the attributes that tell of them."""
        check_parameters(self, self._constraints)
        if y is None:
            raise DataError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        matrix = self._check_X(X, reset=True)
        Y, self.classes_, self.multilabel_ = encode_labels(y)
        if Y.shape[0] != matrix.shape[0]:
            raise DataError(f"X has {matrix.shape[0]} rows and Y has {Y.shape[0]}.")
        return matrix, Y

    def _check_X(self, X: object, *, reset: bool = False) -> CSR:
        if not reset:
            check_is_fitted(self)
        if sp.issparse(X):
            matrix = as_csr(X)  # scikit-learn would follow indices out of bounds
            if not reset and matrix.shape[0] > 0 and matrix.shape[1] == self.n_features_in_:
                return matrix  # nothing is left to check, and one row is answered sooner
            X = matrix
        try:
            checked = validate_data(
                self,
                X,
                reset=reset,
                accept_sparse="csr",
                dtype=[np.float32, np.float64],
                ensure_all_finite=False,
            )
        except ValueError as error:
            raise DataError(str(error)) from None
        return as_csr(checked)

    @abstractmethod
    def _score(self, X: CSR, above: float | None = None) -> CSR:
        """Scores of the labels that were scored; with `above`, only those greater."""

    def _score_topk(self, X: CSR, k: int) -> TopK:
        return TopK.from_csr(self._score(X), k)

    def decision_function(self, X: object) -> Any:
        """Scores of the labels that were scored, as CSR of shape (n, n_labels).

        After a fit on one class for each point: a dense array, of shape (n,) for two
        classes (positive means the second) and (n, n_classes) otherwise.
        """
        scores = self._score(self._check_X(X))
        if self.multilabel_:
            return scores
        dense = scores.toarray()
        return dense[:, 1] - dense[:, 0] if self.classes_.size == 2 else dense

    def predict_topk(self, X: object, k: int = 5) -> TopK:
        """The `k` best labels of each point; fewer where fewer labels exist or were scored."""
        check_parameter(type(self).__name__, "k", k, Integer(low=1))
        matrix = self._check_X(X)
        top = self._score_topk(matrix, min(k, max(self.classes_.size, 1)))
        return TopK(top.labels, top.scores, self.classes_)

    def predict(self, X: object) -> Any:
        """The labels scored above the threshold, as a CSR indicator.

        After a fit on one class for each point: the best class of each point.
        """
        check_is_fitted(self)
        if not self.multilabel_:
            scores = self.decision_function(X)
            best = scores > 0 if scores.ndim == 1 else scores.argmax(axis=1)
            return self.classes_[np.asarray(best, dtype=np.intp)]
        scores = self._score(self._check_X(X), above=self._threshold)
        scores.data[:] = 1
        return scores

    def score(self, X: object, y: object) -> float:
        """Share of the points whose predicted labels are all right and complete."""
        if is_label_lists(y):
            y = lists_to_indicator(y, self.classes_.tolist())  # type: ignore[arg-type]
        return float(super().score(X, y))

    def _check_fitted(self) -> None:
        """Refuse fitted attributes that would send a kernel out of bounds (after loading)."""
        if not isinstance(getattr(self, "classes_", None), np.ndarray) or self.classes_.ndim != 1:
            raise DataError("classes_ must be a list of labels")
        common: FittedAttributes = {"n_features_in_": int, "multilabel_": bool}
        check_fitted_attributes(self, common, {})
        sizes = {"features": self.n_features_in_, "labels": self.classes_.size}
        check_fitted_attributes(self, self._fitted, sizes)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags


def check_fitted_attributes(
    owner: object, wanted: FittedAttributes, sizes: Mapping[str, int]
) -> None:
    """Check kinds, dtypes and shapes; a size is a number, a name in `sizes`, or None for any."""
    for name, kind in wanted.items():
        value: Any = getattr(owner, name, None)
        if isinstance(kind, type):
            if not isinstance(value, kind):
                raise DataError(f"{name} must be of type {kind.__name__}")
            continue
        dtype, dimensions = np.dtype(kind[0]), kind[1]
        shape = tuple(sizes[size] if isinstance(size, str) else size for size in dimensions)
        found = getattr(value, "shape", ())
        fits = len(found) == len(shape) and all(
            size in (None, actual) for size, actual in zip(shape, found, strict=True)
        )
        if not fits or value.dtype != dtype:
            raise DataError(f"{name} must be an array of {dtype} and shape {shape}")
