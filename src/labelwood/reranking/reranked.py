"""Any multi-label estimator, its best labels sorted again by a second scorer."""

from typing import ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from labelwood.core.contract import FittedAttributes
from labelwood.core.estimator import LabelEstimator
from labelwood.core.params import Constraints, Instance, Integer, Real
from labelwood.core.topk import TopK
from labelwood.core.types import CSR, FloatArray
from labelwood.errors import DataError
from labelwood.linear.onevsrest import OneVsRestSVM
from labelwood.reranking.tail import TailClassifier


class Reranker(Protocol):
    """What can re-rank: it is fitted, then scores a few labels of each sample."""

    def fit(self, X: CSR, Y: CSR, /) -> object:
        """Learn from float32 features and a label indicator."""

    def log_scores(self, X: CSR, labels: NDArray[np.int32], /) -> FloatArray:
        """Log-scores of the labels named in each row of `labels`; −inf for −1 and for never."""


class _RerankerObject:
    """The constraint of the parameter: an object with the methods of a `Reranker`."""

    def accepts(self, value: object) -> bool:
        """Whether `value` has the methods, and is no class."""
        methods = (getattr(value, name, None) for name in ("fit", "log_scores"))
        return not isinstance(value, type) and all(callable(method) for method in methods)

    def parse(self, text: str) -> object:
        """Never: objects cannot be written on a command line."""
        raise ValueError(text)

    def __str__(self) -> str:
        return "an object with the methods fit and log_scores"


class RerankedClassifier(LabelEstimator):
    """Takes the best labels of an estimator and sorts them again with a re-ranker.

    The score of a candidate l is α log Q_l(x) + (1 − α) log P_l(x), where Q is the score of the
    estimator (−max(0, 1 − s)² stands for log Q with the scores s of a support vector machine)
    and P that of the re-ranker. Other labels have no score.

    `predict` gives the labels that the estimator predicts: re-ranking changes their order, and
    there is no threshold on its scale. After a fit on one class for each sample it gives the
    best class after re-ranking.

    Parameters
    ----------
    estimator : a multi-label estimator of labelwood, or None
        Cloned, then fitted. None means `OneVsRestSVM(random_state=0)`.
    reranker : an object with `fit(X, Y)` and `log_scores(X, labels)`, or None
        See `Reranker`. Cloned, then fitted on the same data. None means `TailClassifier()`.
        A model can be saved when its re-ranker is an estimator of labelwood.
    alpha : float
        Weight of the estimator, from 0 to 1; the re-ranker has the rest.
    n_candidates : int
        How many labels of a sample are sorted again, and at most returned.

    Attributes
    ----------
    estimator_, reranker_ :
        The fitted parts; for them labels are 0…n_labels−1.
    classes_ : array of shape (n_labels,)
        Label names, or 0…n_labels−1.

    Examples
    --------
    >>> from labelwood import OneVsRestSVM, RerankedClassifier
    >>> X = [[1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 1, 1]]
    >>> model = RerankedClassifier(OneVsRestSVM(random_state=0), alpha=0.5)
    >>> model = model.fit(X, [["cat"], ["dog"], ["dog"], ["dog", "owl"]])
    >>> model.predict_topk([[0, 1, 1]], k=2).names()
    [['owl', 'dog']]
    >>> model.estimator_.predict_topk([[0, 1, 1]], k=2).labels.tolist()  # dog before owl
    [[1, 2]]
    """

    _constraints: ClassVar[Constraints] = {
        "estimator": (Instance("LabelEstimator"), None),
        "reranker": (_RerankerObject(), None),
        "alpha": Real(low=0, high=1),
        "n_candidates": Integer(low=1),
    }
    _unscored: ClassVar[float] = float(np.finfo(np.float32).min)
    _fitted: ClassVar[FittedAttributes] = {"estimator_": LabelEstimator, "reranker_": object}

    estimator_: LabelEstimator
    reranker_: Reranker

    def __init__(
        self,
        estimator: LabelEstimator | None = None,
        *,
        reranker: Reranker | None = None,
        alpha: float = 0.8,
        n_candidates: int = 50,
    ) -> None:
        self.estimator = estimator
        self.reranker = reranker
        self.alpha = alpha
        self.n_candidates = n_candidates

    def fit(self, X: object, y: object) -> Self:
        """Fit the estimator and the re-ranker on the same samples."""
        matrix, Y = self._begin_fit(X, y)
        estimator = OneVsRestSVM(random_state=0) if self.estimator is None else self.estimator
        reranker = TailClassifier() if self.reranker is None else self.reranker
        self.estimator_ = clone(estimator).fit(matrix, Y)
        self.reranker_ = clone(reranker, safe=False)
        self.reranker_.fit(matrix, Y)
        return self

    def _candidates(self, X: CSR) -> TopK:
        """The estimator's best labels with their new scores, still in their old order."""
        top = self.estimator_.predict_topk(X, self.n_candidates)
        there = top.labels >= 0
        alpha = float(self.alpha)
        terms = (
            (alpha, self.estimator_._log_score(top.scores[there])),
            (1 - alpha, self._reranker_scores(X, top.labels)[there]),
        )
        scores = np.full(top.labels.shape, -np.inf, dtype=np.float32)
        # A term of weight 0 must be left out, because 0 · −∞ is NaN.
        scores[there] = sum(weight * scores for weight, scores in terms if weight > 0)
        return TopK(np.where(scores > -np.inf, top.labels, -1), scores)

    def _reranker_scores(self, X: CSR, labels: NDArray[np.int32]) -> FloatArray:
        scores = np.asarray(self.reranker_.log_scores(X, labels))
        same_shape = scores.shape == labels.shape
        if not same_shape or np.isnan(scores[labels >= 0]).any():
            raise DataError(
                f"log_scores of {type(self.reranker_).__name__} must give an array of numbers of "
                f"shape {labels.shape}. Got {'NaN' if same_shape else scores.shape}."
            )
        return scores

    def _log_score(self, scores: FloatArray) -> FloatArray:
        return scores

    def _score(self, X: CSR, above: float | None = None) -> CSR:
        if above is not None:
            return self.estimator_.predict(X)
        return self._candidates(X).to_csr(self.classes_.size)

    def _check_fitted(self) -> None:
        super()._check_fitted()
        if not _RerankerObject().accepts(self.reranker_):
            raise DataError(f"reranker_ must be {_RerankerObject()}")
        sizes = (self.n_features_in_, self.classes_.size)
        for part in (self.estimator_, self.reranker_):
            if isinstance(part, LabelEstimator) and sizes != (
                part.n_features_in_,
                part.classes_.size,
            ):
                raise DataError("estimator_ and reranker_ must know the same features and labels")
