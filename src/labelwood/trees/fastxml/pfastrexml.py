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
from labelwood.core.params import Constraints, OneOf, Real, check_parameter
from labelwood.core.propensity import CONSTANTS, Propensity
from labelwood.core.sparse import csr_arrays, row_blocks
from labelwood.core.topk import TopK
from labelwood.core.types import CSR, DoubleArray, FloatArray
from labelwood.errors import DataError, LabelwoodWarning, ParameterError
from labelwood.reranking import TailClassifier
from labelwood.trees.fastxml.estimator import FastXMLClassifier
from labelwood.trees.fastxml.propensities import (
    Chances,
    check_chances,
    entry_propensities,
    label_propensities,
)

_PAIRS = 2**22  # of a row and a candidate, at most, that are held at once


class PfastXMLClassifier(FastXMLClassifier):
    """FastXML whose labels weigh as much as they are likely to be missing.

    A label that a point has counts 1/p, where p is the chance (the propensity) that a true
    label is recorded: in the nDCG by which nodes are split, and in the averages of the leaves.
    So leaves estimate how many of their points would have the label if none were missing. Such
    an estimate, and with it a score, can exceed 1. `predict` gives the labels above 0.5.

    Parameters
    ----------
    a, b : float
        Constants of the propensities that are estimated from the training labels
        (see `metrics.propensity`) when none are given.
    propensities : None, array of shape (n_labels,), Propensity, or sparse matrix (n, n_labels)
        Chances in (0, 1] that a label is recorded where it is true; a sparse matrix tells them
        for each point and label, and must have an entry wherever the training labels have one.
    n_trees, max_leaf, labels_per_leaf, C, bias, newton_steps, normalize, calibrate, \
random_state, n_jobs :
        As in `FastXMLClassifier`. What `calibrate` learns is the chance that a label is
        *recorded*, and it takes no propensities by points.

    Attributes
    ----------
    propensities_ : Propensity or array of shape (n_labels,)
        What was used, for `metrics.evaluate(…, propensity=model.propensities_)`; not there
        when propensities were given for each point and label.
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
        **CONSTANTS,
        "propensities": (Chances(), None),
    }

    propensities_: Propensity | DoubleArray

    def __init__(
        self,
        *,
        a: float = 0.55,
        b: float = 1.5,
        propensities: Any = None,
        n_trees: int = 50,
        max_leaf: int = 10,
        labels_per_leaf: int = 100,
        C: float = 1.0,
        bias: float = 1.0,
        newton_steps: int = 3,
        normalize: bool = False,
        calibrate: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            n_trees=n_trees,
            max_leaf=max_leaf,
            labels_per_leaf=labels_per_leaf,
            C=C,
            bias=bias,
            newton_steps=newton_steps,
            normalize=normalize,
            calibrate=calibrate,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.a = a
        self.b = b
        self.propensities = propensities

    def add_trees(self, X: object, y: object, n: int) -> Self:
        """Grow `n` more trees with the propensities of the fit.

        Propensities for each point and label must be those of the rows given here: set the
        parameter first when the rows are others.
        """
        return super().add_trees(X, y, n)

    def _before_trees(self, matrix: CSR, Y: CSR) -> None:
        self.__dict__.pop("propensities_", None)  # of an earlier fit
        if not sp.issparse(self.propensities):
            self.propensities_ = label_propensities(self.propensities, Y, self.a, self.b)
        elif self.calibrate:
            self._refuse_by_points("calibrate", "False")

    def _refuse_by_points(self, name: str, wanted: str) -> None:
        raise ParameterError(
            f"The {name!r} parameter of {type(self).__name__} must be {wanted} with "
            "propensities for each point and label; give them for each label."
        )

    def _label_weights(self, Y: CSR) -> FloatArray:
        if sp.issparse(self.propensities):
            chances = entry_propensities(self.propensities, Y)
        elif not hasattr(self, "propensities_"):
            raise DataError("The fit had propensities for each point and label: give such again.")
        else:
            chances = np.asarray(self.propensities_, dtype=np.float64)[Y.indices]
        return (1 / chances).astype(np.float32)

    def _check_fitted(self) -> None:
        super()._check_fitted()
        if not sp.issparse(self.propensities):
            check_chances(getattr(self, "propensities_", None), self.classes_.size)


class PfastreXMLClassifier(PfastXMLClassifier):
    """PfastXML whose labels are ranked again by tail classifiers.

    The score of a label that the trees propose is α log Q + (1 − α) log P, where Q is the score
    of PfastXML, and P that of a `TailClassifier`: how close the point is to the centre of the
    label's points. Labels that no tree proposes have no score. Scores are logarithms, for
    ranking only: `predict` gives the labels that the trees alone predict (Q above 0.5). After
    a fit on one class for each point it gives the best class after ranking again.

    Parameters
    ----------
    alpha : float
        Weight of the trees, from 0 to 1; the tail classifiers have the rest. It may be changed
        after the fit.
    gamma : float
        How fast P falls with the distance from the centre; the value of the fit stays.
    tail : "mean" or "mle"
        Which centres: means, or those of greatest likelihood (slow; see `TailClassifier`).
    a, b, propensities :
        As in `PfastXMLClassifier`. Likeliest centres take those of labels into account too.
    n_trees, max_leaf, labels_per_leaf, C, bias, newton_steps, normalize, calibrate, \
random_state, n_jobs :
        As in `FastXMLClassifier`. The tail classifiers always scale rows to unit length.

    Attributes
    ----------
    tail_ : TailClassifier
        Fitted on the same points; for it labels are 0…n_labels−1.
    propensities_, classes_, n_leaves_, depth_, path_length_, … :
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
        "tail": OneOf("mean", "mle"),
    }
    _unscored: ClassVar[float] = float(np.finfo(np.float32).min)
    _fitted: ClassVar[FittedAttributes] = {**PfastXMLClassifier._fitted, "tail_": TailClassifier}

    tail_: TailClassifier

    def __init__(
        self,
        *,
        alpha: float = 0.8,
        gamma: float = 30.0,
        tail: str = "mean",
        a: float = 0.55,
        b: float = 1.5,
        propensities: Any = None,
        n_trees: int = 50,
        max_leaf: int = 10,
        labels_per_leaf: int = 100,
        C: float = 1.0,
        bias: float = 1.0,
        newton_steps: int = 3,
        normalize: bool = False,
        calibrate: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            a=a,
            b=b,
            propensities=propensities,
            n_trees=n_trees,
            max_leaf=max_leaf,
            labels_per_leaf=labels_per_leaf,
            C=C,
            bias=bias,
            newton_steps=newton_steps,
            normalize=normalize,
            calibrate=calibrate,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.alpha = alpha
        self.gamma = gamma
        self.tail = tail

    def add_trees(self, X: object, y: object, n: int) -> Self:
        """Grow `n` more trees with the propensities and the tail classifiers of the fit.

        A label whose first point comes here is refused, as it has no centre: fit again.
        """
        return super().add_trees(X, y, n)

    def _before_trees(self, matrix: CSR, Y: CSR) -> None:
        super()._before_trees(matrix, Y)
        if self.tail == "mle" and sp.issparse(self.propensities):
            self._refuse_by_points("tail", "'mean'")  # (43) wants p_il where y_il = 0 too
        tail = TailClassifier(
            gamma=self.gamma,
            centre=self.tail,
            propensity=getattr(self, "propensities_", None),
            n_jobs=self.n_jobs,
        )
        with warnings.catch_warnings():  # labels without points were told of
            warnings.simplefilter("ignore", LabelwoodWarning)
            self.tail_ = tail.fit(matrix, Y)

    def _label_weights(self, Y: CSR) -> FloatArray:
        new = Y.indices[np.isinf(self.tail_.centre_squares_[Y.indices])]
        if new.size:
            raise DataError(f"Label {self.classes_[new[0]]} had no point in fit: fit again.")
        return super()._label_weights(Y)

    def _log_score(self, scores: FloatArray) -> FloatArray:
        return scores

    def _score(self, X: CSR, above: float | None = None) -> CSR:
        if above is not None:
            return super()._score(X, above)
        parts = [self._score_block(rows) for rows in self._blocks(X)]
        return sp.csr_array(sp.vstack(parts, format="csr"))

    def _score_block(self, X: CSR) -> CSR:
        return self._combine(X, super()._score(X))

    def _combine(self, X: CSR, scores: CSR) -> CSR:
        """α log Q + (1 − α) log P, in the places of Q."""
        check_parameter(type(self).__name__, "alpha", self.alpha, self._constraints["alpha"])
        order = np.argsort(scores.indices, kind="stable")  # pairs of a label side by side
        rows = np.repeat(np.arange(X.shape[0]), np.diff(scores.indptr))[order]
        labels = scores.indices[order].astype(np.int32, copy=False)
        log_p = np.empty_like(scores.data)
        log_p[order] = self.tail_.log_pairs(X, rows, labels, n_jobs=self.n_jobs)
        alpha = np.float32(self.alpha)
        scores.data = alpha * np.log(scores.data) + (1 - alpha) * log_p
        return scores

    def _blocks(self, X: CSR) -> list[CSR]:
        """Rows that are scored at once, so few that their candidates take little memory."""
        most = min(self.classes_.size, self.roots_.size * self.labels_per_leaf)
        return [X[rows] for rows in row_blocks(X, max(_PAIRS // max(most, 1), 256))]

    def _score_topk(self, X: CSR, k: int) -> TopK:
        from labelwood.trees.fastxml._rerank_kernels import topk_of_scores

        parts = [topk_of_scores(csr_arrays(self._score_block(rows)), k) for rows in self._blocks(X)]
        labels, scores = zip(*parts, strict=True)
        return TopK(np.concatenate(labels), np.concatenate(scores))

    def _check_fitted(self) -> None:
        super()._check_fitted()
        sizes = (self.tail_.n_features_in_, self.tail_.classes_.size)
        if sizes != (self.n_features_in_, self.classes_.size):
            raise DataError("tail_ must know the features and labels of the trees")
