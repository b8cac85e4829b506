"""PfastXML and PfastreXML: FastXML for data in which labels are missing.

After Jain, Prabhu and Varma, KDD 2016, "Extreme Multi-label Loss Functions for
Recommendation, Tagging, Ranking & Other Missing Label Applications", Algorithms 1 to 3 of the
supplement.
"""

import warnings
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from labelwood.core.contract import FittedAttributes
from labelwood.core.params import Constraints, Integer, OneOf, Real, check_parameter
from labelwood.core.propensity import Propensity
from labelwood.core.sparse import csr_arrays, entry_rows, make_csr, row_blocks
from labelwood.core.topk import TopK, empty_ranking
from labelwood.core.types import CSR, DoubleArray, FloatArray
from labelwood.errors import DataError, LabelwoodWarning, ParameterError
from labelwood.reranking import TailClassifier
from labelwood.trees.fastxml.estimator import FastXMLClassifier
from labelwood.trees.fastxml.propensities import (
    PropensityValues,
    check_label_propensities,
    entry_propensities,
    label_propensities,
)

_PAIRS = 2**22  # pairs of a row and a candidate label held at once, at most


class PfastXMLClassifier(FastXMLClassifier):
    """FastXML with labels weighted by inverse propensities.

    A label of a sample counts 1/p, where the propensity p is the probability that a true label
    is recorded: in the nDCG by which nodes are split, and in the averages of the leaves. So
    leaves estimate which share of their samples would have the label if none were missing. Such
    an estimate, and with it a score, can exceed 1. `predict` gives the labels above 0.5.

    Parameters
    ----------
    propensity : "estimate", None, Propensity, array of shape (n_labels,) or sparse matrix
        Probability in (0, 1] that a true label is recorded. "estimate" computes it from the
        training labels with the published constants, as `metrics.propensity` does; a
        `Propensity` has constants of your choice; None means that no label is missing. A sparse
        matrix of shape (n, n_labels) has one for each sample and label, and must have an entry
        wherever the training labels have one.
    n_trees, max_leaf_samples, max_leaf_labels, C, fit_intercept, intercept_scaling, \
newton_steps, gain, normalize, random_state, n_jobs :
        As in `FastXMLClassifier`.
    calibrate :
        As in `FastXMLClassifier`. What it learns is the probability that a label is *recorded*;
        it cannot be combined with propensities for each sample.

    Attributes
    ----------
    propensity_ : Propensity or array of shape (n_labels,)
        What was used, for `metrics.evaluate(…, propensity=model.propensity_)`; absent
        when propensities were given for each sample and label.
    classes_, n_leaves_, depth_, path_length_, … :
        As in `FastXMLClassifier`.

    Examples
    --------
    >>> from labelwood import PfastXMLClassifier
    >>> X = [[1, 0, 0], [0, 1, 0], [0, 1, 1], [1, 0, 1]] * 10
    >>> Y = [["cat"], ["dog"], ["dog", "owl"], ["cat"]] * 10
    >>> model = PfastXMLClassifier(n_trees=5, random_state=0).fit(X, Y)
    >>> model.predict_topk([[0, 1, 1]], k=2).names()
    [['owl', 'dog']]
    """

    _constraints: ClassVar[Constraints] = {
        **FastXMLClassifier._constraints,
        "propensity": (OneOf("estimate"), PropensityValues(), None),
    }

    propensity_: Propensity | DoubleArray

    def __init__(
        self,
        *,
        propensity: Any = "estimate",
        n_trees: int = 50,
        max_leaf_samples: int = 10,
        max_leaf_labels: int = 100,
        C: float = 1.0,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        newton_steps: int = 3,
        gain: str = "ndcg",
        normalize: bool = False,
        calibrate: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            n_trees=n_trees,
            max_leaf_samples=max_leaf_samples,
            max_leaf_labels=max_leaf_labels,
            C=C,
            fit_intercept=fit_intercept,
            intercept_scaling=intercept_scaling,
            newton_steps=newton_steps,
            gain=gain,
            normalize=normalize,
            calibrate=calibrate,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.propensity = propensity

    def add_trees(self, X: object, y: object, n: int) -> Self:
        """Grow `n` more trees with the propensities of the fit.

        Propensities for each sample and label must be those of the rows given here: set the
        parameter first when the rows are others.
        """
        return super().add_trees(X, y, n)

    def _prepare_fit(self, matrix: CSR, Y: CSR) -> None:
        self.__dict__.pop("propensity_", None)  # of an earlier fit
        if not sp.issparse(self.propensity):
            self.propensity_ = label_propensities(self.propensity, Y)
        elif self.calibrate:
            self._refuse_by_samples("calibrate", "False")

    def _refuse_by_samples(self, name: str, wanted: str) -> None:
        raise ParameterError(
            f"The {name!r} parameter of {type(self).__name__} must be {wanted} with "
            "propensities for each sample and label; give them for each label."
        )

    def _label_weights(self, Y: CSR) -> FloatArray:
        if sp.issparse(self.propensity):
            values = entry_propensities(self.propensity, Y)
        elif not hasattr(self, "propensity_"):
            raise DataError("The fit had propensities for each sample and label: give such again.")
        else:
            values = np.asarray(self.propensity_, dtype=np.float64)[Y.indices]
        return (1 / values).astype(np.float32)

    def _check_fitted(self) -> None:
        super()._check_fitted()
        if not sp.issparse(self.propensity):
            check_label_propensities(getattr(self, "propensity_", None), self.classes_.size)


class PfastreXMLClassifier(PfastXMLClassifier):
    """PfastXML re-ranked by tail classifiers.

    The score of a label that the trees propose is α log Q + (1 − α) log P, where Q is the score
    of PfastXML and P that of a `TailClassifier`: how close the sample is to the center of the
    label's samples (Jain, Prabhu & Varma 2016, supplement, Algorithm 3). Labels that no tree
    proposes have no score. Scores are logarithms, for ranking only: `predict` gives the labels
    that the trees alone predict (Q above 0.5). After a fit on one class for each sample it
    gives the best class after re-ranking.

    Parameters
    ----------
    alpha : float
        Weight of the trees, from 0 to 1; the tail classifiers have the rest. It may be changed
        after the fit.
    gamma : float
        How fast P falls with the distance from the center; the value of the fit stays.
    beta : float
        β of eq. (41), as in `TailClassifier`; the value of the fit stays.
    max_candidates : int or None
        Re-rank only so many labels of a sample, those with the highest Q; None re-ranks all that
        the trees propose, as the supplement has it. Public copies of the authors' program take
        1,000.
    center : "mean" or "likelihood"
        The centers of the tail classifiers: means, or those of maximum likelihood (slow; see
        `TailClassifier`).
    propensity :
        As in `PfastXMLClassifier`. Centers of maximum likelihood use those of labels too.
    n_trees, max_leaf_samples, max_leaf_labels, C, fit_intercept, intercept_scaling, \
newton_steps, gain, calibrate, random_state, n_jobs :
        As in `FastXMLClassifier`.
    normalize :
        As in `FastXMLClassifier`. The tail classifiers always scale rows to unit length.

    Attributes
    ----------
    tail_ : TailClassifier
        Fitted on the same samples; its labels are 0…n_labels−1.
    propensity_, classes_, n_leaves_, depth_, path_length_, … :
        As in `PfastXMLClassifier`.

    Examples
    --------
    >>> from labelwood import PfastreXMLClassifier
    >>> X = [[1, 0, 0], [0, 1, 0], [0, 1, 1], [1, 0, 1]] * 10
    >>> Y = [["cat"], ["dog"], ["dog", "owl"], ["cat"]] * 10
    >>> model = PfastreXMLClassifier(n_trees=5, random_state=0).fit(X, Y)
    >>> model.predict_topk([[0, 1, 1]], k=2).names()
    [['owl', 'dog']]
    """

    _constraints: ClassVar[Constraints] = {
        **PfastXMLClassifier._constraints,
        "alpha": Real(low=0, high=1),
        "gamma": TailClassifier._constraints["gamma"],
        "beta": TailClassifier._constraints["beta"],
        "max_candidates": (Integer(low=1), None),
        "center": TailClassifier._constraints["center"],
    }
    _unscored: ClassVar[float] = float(np.finfo(np.float32).min)
    _fitted: ClassVar[FittedAttributes] = {**PfastXMLClassifier._fitted, "tail_": TailClassifier}

    tail_: TailClassifier

    def __init__(
        self,
        *,
        alpha: float = 0.8,
        gamma: float = 30.0,
        beta: float = 1.0,
        max_candidates: int | None = None,
        center: str = "mean",
        propensity: Any = "estimate",
        n_trees: int = 50,
        max_leaf_samples: int = 10,
        max_leaf_labels: int = 100,
        C: float = 1.0,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        newton_steps: int = 3,
        gain: str = "ndcg",
        normalize: bool = False,
        calibrate: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            propensity=propensity,
            n_trees=n_trees,
            max_leaf_samples=max_leaf_samples,
            max_leaf_labels=max_leaf_labels,
            C=C,
            fit_intercept=fit_intercept,
            intercept_scaling=intercept_scaling,
            newton_steps=newton_steps,
            gain=gain,
            normalize=normalize,
            calibrate=calibrate,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.alpha = alpha
        self.gamma = gamma
        self.beta = beta
        self.max_candidates = max_candidates
        self.center = center

    def add_trees(self, X: object, y: object, n: int) -> Self:
        """Grow `n` more trees with the propensities and the tail classifiers of the fit.

        A label whose first sample comes here is refused, as it has no center: fit again.
        """
        return super().add_trees(X, y, n)

    def _prepare_fit(self, matrix: CSR, Y: CSR) -> None:
        super()._prepare_fit(matrix, Y)
        if self.center == "likelihood" and sp.issparse(self.propensity):
            # Equation (43) needs p_il also where y_il = 0, which a sparse matrix does not have.
            self._refuse_by_samples("center", "'mean'")
        tail = TailClassifier(
            gamma=self.gamma,
            beta=self.beta,
            center=self.center,
            propensity=getattr(self, "propensity_", None),
            n_jobs=self.n_jobs,
        )
        with warnings.catch_warnings():  # fit has warned of labels without samples already
            warnings.simplefilter("ignore", LabelwoodWarning)
            self.tail_ = tail.fit(matrix, Y)

    def _label_weights(self, Y: CSR) -> FloatArray:
        new = Y.indices[np.isinf(self.tail_.center_squares_[Y.indices])]
        if new.size:
            raise DataError(f"Label {self.classes_[new[0]]} had no sample in fit: fit again.")
        return super()._label_weights(Y)

    def _log_score(self, scores: FloatArray) -> FloatArray:
        return scores

    def _score(self, X: CSR, above: float | None = None) -> CSR:
        if above is not None:
            return super()._score(X, above)
        parts = [self._score_block(rows) for rows in self._blocks(X)]
        return sp.csr_array(sp.vstack(parts, format="csr"))

    def _score_block(self, X: CSR) -> CSR:
        scores = super()._score(X)
        if self.max_candidates is not None:
            scores = _largest_entries(scores, self.max_candidates)
        return self._combine(X, scores)

    def _combine(self, X: CSR, scores: CSR) -> CSR:
        """α log Q + (1 − α) log P, for the entries of Q."""
        check_parameter(type(self).__name__, "alpha", self.alpha, self._constraints["alpha"])
        # Pairs of the same label next to each other: its center is scattered once for all.
        order = np.argsort(scores.indices, kind="stable")
        rows = entry_rows(scores)[order]
        labels = scores.indices[order].astype(np.int32, copy=False)
        log_p = np.empty_like(scores.data)
        log_p[order] = self.tail_.log_pairs(X, rows, labels, n_jobs=self.n_jobs)
        alpha = np.float32(self.alpha)
        scores.data = alpha * np.log(scores.data) + (1 - alpha) * log_p
        return scores

    def _blocks(self, X: CSR) -> list[CSR]:
        """Blocks of rows, so small that their candidates fit into a fixed amount of memory."""
        most = min(self.classes_.size, self.roots_.size * self.max_leaf_labels)
        return [X[rows] for rows in row_blocks(X, max(_PAIRS // max(most, 1), 256))]

    def _score_topk(self, X: CSR, k: int) -> TopK:
        from labelwood.core._kernels import topk_of_scores

        if X.shape[0] == 1:
            return self._topk_of_one(X, k)
        parts = [topk_of_scores(csr_arrays(self._score_block(rows)), k) for rows in self._blocks(X)]
        labels, scores = zip(*parts, strict=True)
        return TopK(np.concatenate(labels), np.concatenate(scores))

    def _topk_of_one(self, X: CSR, k: int) -> TopK:
        """The same for a single row, by as few tail classifiers as decide its `k` best labels."""
        check_parameter(type(self).__name__, "alpha", self.alpha, self._constraints["alpha"])
        alpha, forest = np.float32(self.alpha), self._forest()
        tops = self._top_nodes(forest, 1)
        proposed, q = forest.candidates(self._scaled(X), self.classes_.size, tops)
        if self.max_candidates is not None:
            kept = np.lexsort((proposed, -q))[: self.max_candidates]
            proposed, q = proposed[kept], q[kept]
        labels, scores = self.tail_.of_row(X).best(
            proposed.view(np.int32), alpha * np.log(q), 1 - alpha, k
        )
        best_first = np.lexsort((labels, -scores))[:k]
        top_labels, top_scores = empty_ranking(1, k)
        top_labels[0, : best_first.size] = labels[best_first]
        top_scores[0, : best_first.size] = scores[best_first]
        return TopK(top_labels, top_scores)

    def _check_fitted(self) -> None:
        super()._check_fitted()
        sizes = (self.tail_.n_features_in_, self.tail_.classes_.size)
        if sizes != (self.n_features_in_, self.classes_.size):
            raise DataError("tail_ must know the features and labels of the trees")


def _largest_entries(scores: CSR, most: int) -> CSR:
    """The `most` largest entries of each row; of equal ones those of the smaller labels."""
    rows = entry_rows(scores)
    order = np.lexsort((scores.indices, -scores.data, rows))
    ranks = np.empty(rows.size, dtype=np.int64)
    ranks[order] = np.arange(rows.size) - np.repeat(scores.indptr[:-1], np.diff(scores.indptr))
    kept = ranks < most
    indptr = np.concatenate([[0], np.cumsum(kept)])[scores.indptr]
    return make_csr(indptr, scores.indices[kept], scores.data[kept], scores.shape)
