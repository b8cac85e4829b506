"""The baseline that looks at no feature: the commonest labels, for everyone."""

from typing import Any, ClassVar, Self

import numpy as np

from labelwood.core.contract import FittedAttributes
from labelwood.core.estimator import LabelEstimator
from labelwood.core.params import Constraints
from labelwood.core.sparse import make_csr
from labelwood.core.topk import TopK
from labelwood.core.types import CSR, FloatArray


class PopularityClassifier(LabelEstimator):
    """Gives every sample the commonest labels of the training set.

    `predict` returns as many labels as a training sample has on average (rounded,
    at least one); scores are the labels' shares of the samples.

    Attributes
    ----------
    frequency_ : array of shape (n_labels,)
        Share of the training samples that have each label.
    n_predicted_ : int
        How many labels `predict` gives.

    Examples
    --------
    >>> from labelwood import PopularityClassifier
    >>> model = PopularityClassifier().fit([[1], [2], [3]], [["cat"], ["cat", "dog"], ["owl"]])
    >>> model.predict_topk([[9]], k=2).names()
    [['cat', 'dog']]
    """

    _constraints: ClassVar[Constraints] = {}
    _is_scale_invariant: ClassVar[bool] = True
    _fitted: ClassVar[FittedAttributes] = {
        "frequency_": (np.float32, ("labels",)),
        "n_predicted_": int,
    }

    frequency_: FloatArray
    n_predicted_: int

    def fit(self, X: object, y: object) -> Self:
        """Count the labels; the features are only checked."""
        _, Y = self._begin_fit(X, y)
        self.frequency_ = np.asarray(Y.mean(axis=0), dtype=np.float32).ravel()
        self.n_predicted_ = max(1, round(Y.nnz / Y.shape[0]))
        return self

    def _ranked(self, k: int) -> np.ndarray:
        """The `k` commonest labels that occur at all, smaller labels first among equals."""
        order = np.argsort(-self.frequency_, kind="stable")[:k]
        return order[self.frequency_[order] > 0].astype(np.int32)

    def _score_topk(self, X: CSR, k: int) -> TopK:
        best = self._ranked(k)
        labels = np.full(k, -1, dtype=np.int32)
        scores = np.full(k, -np.inf, dtype=np.float32)
        labels[: best.size] = best
        scores[: best.size] = self.frequency_[best]
        n = X.shape[0]
        return TopK(np.tile(labels, (n, 1)), np.tile(scores, (n, 1)))

    def _score(self, X: CSR, above: float | None = None) -> CSR:
        size = self.classes_.size if above is None else self.n_predicted_
        best = np.sort(self._ranked(size))
        n = X.shape[0]
        indptr = np.arange(n + 1, dtype=np.int64) * best.size
        values = np.tile(self.frequency_[best], n)
        return make_csr(indptr, np.tile(best, n), values, (n, self.classes_.size))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags
