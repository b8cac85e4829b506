"""The baseline that looks at no feature: the commonest labels, for everyone."""

from typing import ClassVar, Self

import numpy as np
import scipy.sparse as sp

from labelwood.core.estimator import LabelEstimator
from labelwood.core.params import Constraints
from labelwood.core.topk import TopK
from labelwood.core.types import CSR, FloatArray


class PopularityClassifier(LabelEstimator):
    """Gives every point the commonest labels of the training set.

    `predict` returns as many labels as a training point has on average (rounded,
    at least one); scores are the labels' shares of the points.

    Attributes
    ----------
    frequency_ : array of shape (n_labels,)
        Share of the training points that have each label.
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
        return sp.csr_array(
            (
                np.tile(self.frequency_[best], n),
                np.tile(best, n),
                np.arange(n + 1, dtype=np.int64) * best.size,
            ),
            shape=(n, self.classes_.size),
        )
