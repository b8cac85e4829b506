"""The contract that every multi-label estimator of the package keeps."""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from labelwood.core.labels import encode_labels
from labelwood.core.params import Constraints, Integer, check_parameter, check_parameters
from labelwood.core.sparse import as_csr
from labelwood.core.topk import TopK
from labelwood.core.types import CSR, AnyArray
from labelwood.errors import DataError


class LabelEstimator(ClassifierMixin, BaseEstimator):
    """Base of the multi-label classifiers.

    A subclass declares `_constraints`, calls `_begin_fit` first in `fit`, and gives
    `_score` and, where it can do better than sort all scores, `_score_topk`. It gets
    `predict`, `predict_topk` and `decision_function`.

    When `fit` was given one class for each point (a one-dimensional `y`), it behaves
    as an ordinary scikit-learn classifier: `predict` returns classes and
    `decision_function` a dense array.
    """

    _constraints: ClassVar[Constraints] = {}
    _threshold: ClassVar[float] = 0.0

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
        checked = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float32, np.float64],
            ensure_all_finite=False,
        )
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags
