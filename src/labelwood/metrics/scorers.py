"""Scorers for scikit-learn: `cross_val_score(model, X, Y, scoring=scorers.precision(5))`.

They rank by `predict_topk`, or by the sparse scores of `decision_function` where a `Pipeline` hides
it, so that nothing is densified. Labels may be an indicator or lists of names.
"""

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from labelwood.core.caller import user_stacklevel
from labelwood.core.labels import encode_labels, indicator, is_label_lists, plain_lists
from labelwood.core.params import Integer, check_parameter
from labelwood.core.propensity import Propensity
from labelwood.core.topk import TopK
from labelwood.core.types import CSR
from labelwood.errors import DataError, LabelwoodWarning
from labelwood.metrics.label_sets import f1_score
from labelwood.metrics.topk import ranked_hits


@dataclass(frozen=True)
class Scorer:
    """One metric as scikit-learn calls it: `scorer(estimator, X, y)`; more is better.

    Attributes
    ----------
    metric : {"precision", "ndcg", "psp", "micro_f1"}
    k : int
        Rank up to which labels count; 0 for a metric of label sets.
    propensity : Propensity, array or None
        For PSP; None takes the training counts of a `Tagger`.
    """

    metric: str
    k: int = 0
    propensity: Any = field(default=None, repr=False)

    def __call__(self, estimator: Any, X: Any, y: Any, **_: Any) -> float:
        """The figure of a fitted estimator on held-out samples."""
        truth = _truth(estimator, y)
        if self.metric == "micro_f1":
            return f1_score(truth, _widened(_sets(estimator, X), truth), "micro")
        propensity = self._propensities(estimator, truth) if self.metric == "psp" else None
        hits = ranked_hits(truth, _ranking(estimator, X, self.k), self.k, propensity)
        return float(getattr(hits, self.metric)(self.k).value)

    def _propensities(self, estimator: Any, truth: CSR) -> Any:
        if self.propensity is not None:
            return self.propensity
        counts = getattr(estimator, "label_counts_", None)
        if counts is None:
            raise DataError(
                "PSP@k needs propensities: scorers.psp(k, propensity=metrics.propensity(Y_train))."
            )
        unseen = np.zeros(truth.shape[1] - counts.size, dtype=np.int64)
        return Propensity(np.concatenate([counts, unseen]), estimator.n_samples_)


def precision(k: int = 1) -> Scorer:
    """P@k: the share of right labels among the best k.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from labelwood import OneVsRestSVM, synthetic
    >>> data = synthetic(300, 100, 10, random_state=0).train
    >>> model, Y = OneVsRestSVM(random_state=0), data.Y.toarray()
    >>> cross_val_score(model, data.X, Y, cv=2, scoring=precision(1)).size
    2
    """
    return Scorer("precision", _rank(k))


def ndcg(k: int = 5) -> Scorer:
    """nDCG@k: right labels discounted by the logarithm of their rank.

    Examples
    --------
    >>> ndcg(3)
    Scorer(metric='ndcg', k=3)
    """
    return Scorer("ndcg", _rank(k))


def psp(k: int = 5, propensity: Any = None) -> Scorer:
    """PSP@k: right labels weighted by their inverse propensities.

    Examples
    --------
    >>> psp(5)
    Scorer(metric='psp', k=5)
    """
    return Scorer("psp", _rank(k), propensity)


def micro_f1() -> Scorer:
    """F1 of all predicted labels together: 2 · right / (predicted + true).

    Examples
    --------
    >>> micro_f1()
    Scorer(metric='micro_f1', k=0)
    """
    return Scorer("micro_f1")


def ranking(ks: tuple[int, ...] = (1, 3, 5)) -> dict[str, Scorer]:
    """Several scorers by name, for `cross_validate` and `GridSearchCV(scoring=…, refit="P@1")`.

    Examples
    --------
    >>> list(ranking((1, 5)))
    ['P@1', 'P@5', 'nDCG@1', 'nDCG@5', 'micro-F1']
    """
    found = {f"P@{k}": precision(k) for k in ks} | {f"nDCG@{k}": ndcg(k) for k in ks}
    return found | {"micro-F1": micro_f1()}


def _rank(k: int) -> int:
    check_parameter("scorers", "k", k, Integer(low=1))
    return int(k)


def _ranking(estimator: Any, X: Any, k: int) -> TopK:
    if hasattr(estimator, "predict_topk"):
        top = estimator.predict_topk(X, k)
        # The truth may have labels that are unseen in training, which no model can rank.
        return TopK(top.labels, top.scores, np.arange(len(estimator.classes_)))
    scores = estimator.decision_function(X)
    if not sp.issparse(scores) and np.ndim(scores) != 2:
        raise DataError(
            "Scorers of rankings need a score for each label; this model has one class."
        )
    return TopK.from_csr(sp.csr_array(scores), k)


def _sets(estimator: Any, X: Any) -> CSR:
    """Predicted label sets over the classes of the estimator."""
    predicted = estimator.predict(X)
    if isinstance(predicted, np.ndarray) and predicted.ndim == 1:  # one class for each sample
        predicted = [[one] for one in predicted.tolist()]
    if is_label_lists(predicted):
        return _columns(predicted, list(estimator.classes_), may_be_new=False)
    return indicator(predicted)


def _truth(estimator: Any, y: Any) -> CSR:
    """Labels in the order of the classes of the estimator; those unknown to it come last."""
    if hasattr(estimator, "indicator"):  # a Tagger reads them as its fit does
        return _warn_of_unseen(indicator(estimator.indicator(y)), len(estimator.classes_))
    values = plain_lists(y)
    known = [str(one) for one in estimator.classes_]
    if not is_label_lists(values):
        encoded = encode_labels(y)
        if encoded.multilabel and encoded.classes.dtype.kind != "U":
            return encoded.Y  # an indicator: its columns are the classes
        lists = np.split(encoded.classes[encoded.Y.indices], encoded.Y.indptr[1:-1])
        values = [row.tolist() for row in lists]
    return _warn_of_unseen(_columns(values, known, may_be_new=True), len(known))


def _warn_of_unseen(truth: CSR, n_known: int) -> CSR:
    """The same truth, with a warning where none of its labels can be predicted.

    It is no error: a fold may well hold rare labels alone, or one class of sorted data, and then
    the model scores 0, whereas an error would make the mean over all folds NaN.
    """
    if truth.nnz and (truth.indices >= n_known).all():
        warnings.warn(
            "The model knows none of the labels of these samples and can only miss them; unless "
            "they are rare, are they called as in training?",
            LabelwoodWarning,
            stacklevel=user_stacklevel(),
        )
    return truth


def _columns(lists: Any, known: list[Any], may_be_new: bool) -> CSR:
    """Label lists as an indicator over `known` labels and, behind them, the others."""
    place = {str(name): column for column, name in enumerate(known)}
    rows, columns = [], []
    for row, labels in enumerate(lists):
        for label in {str(one) for one in labels}:
            if label not in place and may_be_new:
                place[label] = len(place)
            rows.append(row)
            columns.append(place[label])
    ones = np.ones(len(rows), dtype=np.float32)
    return sp.csr_array((ones, (rows, columns)), shape=(len(lists), len(place)))


def _widened(sets: CSR, truth: CSR) -> CSR:
    wider = sets.copy()
    wider.resize(truth.shape)
    return wider
