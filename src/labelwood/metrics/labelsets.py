"""Metrics of predicted label sets: which labels are right, missing or too many.

A point that has no labels and is given none is right: its F1 is 1 and its losses 0.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labelwood.core.params import Integer, OneOf, check_parameter
from labelwood.core.types import CSR
from labelwood.errors import DataError
from labelwood.metrics._inputs import check_sets
from labelwood.metrics.intervals import ratio
from labelwood.metrics.perpoint import PerPoint
from labelwood.metrics.propensity import check_propensity


@dataclass(frozen=True)
class MatchedSets:
    """True and predicted labels, and those in both; all label-set metrics are read from it.

    Attributes
    ----------
    true, predicted, common : csr_array of shape (n, n_labels)
        Indicators.
    max_labels : int
        The most labels that a point can have. Only the guaranteed intervals depend on
        it: the smaller it is, the narrower they are.
    """

    true: CSR
    predicted: CSR
    common: CSR
    max_labels: int

    def f1_samples(self) -> PerPoint:
        """F1 of each point's label set."""
        true, predicted, common = self._sizes()
        values = np.nan_to_num(ratio(2 * common, true + predicted), nan=1.0)
        return PerPoint.mean(values, width=1.0)

    def f1_micro(self) -> PerPoint:
        """F1 of all (point, label) pairs together."""
        true, predicted, common = self._sizes()
        # With y labels of which h are right, 2h − t(y + predicted) lies between −t(m + predicted)
        # and (2 − t)·min(predicted, m) − t·predicted, for t in [0, 1].
        m = self.max_labels
        return PerPoint(
            (2 * common).astype(np.float64),
            (true + predicted).astype(np.float64),
            width=m + np.minimum(predicted, m).astype(np.float64),
            span=float(m + predicted.max()),
        )

    def f1_macro(self) -> float:
        """Mean F1 of the labels that are true or predicted somewhere; no sum over points."""
        true, predicted, common = (
            np.bincount(matrix.indices, minlength=matrix.shape[1])
            for matrix in (self.true, self.predicted, self.common)
        )
        per_label = ratio(2 * common, true + predicted)
        return 1.0 if np.isnan(per_label).all() else float(np.nanmean(per_label))

    def subset_loss(self) -> PerPoint:
        """Whether each point's label set is wrong anywhere."""
        true, predicted, common = self._sizes()
        wrong = (common < true) | (common < predicted)
        return PerPoint.mean(wrong.astype(np.float64), width=1.0)

    def hamming(self) -> PerPoint:
        """The share of all labels that are wrong at each point."""
        true, predicted, common = self._sizes()
        low = np.maximum(predicted - self.max_labels, 0)
        high = np.minimum(predicted + self.max_labels, self.true.shape[1])
        return self._share_of_labels(true + predicted - 2 * common, low, high, (0.0, 1.0))

    def propensity_hamming(self, propensity: object) -> PerPoint:
        """The unbiased estimate of the Hamming loss on the complete truth (th. 4.4)."""
        weights = 1 / check_propensity(propensity, self.true.shape[1])
        predicted = np.diff(self.predicted.indptr)
        values = self.true @ weights - 2 * (self.common @ weights) + predicted
        most = np.sort(weights)[::-1][: self.max_labels].sum()
        low = predicted - np.minimum(self.predicted @ weights, most)
        return self._share_of_labels(values, low, predicted + most, (-np.inf, np.inf))

    def _sizes(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        true, predicted, common = (
            np.diff(matrix.indptr).astype(np.int64)
            for matrix in (self.true, self.predicted, self.common)
        )
        return true, predicted, common

    def _share_of_labels(
        self,
        values: NDArray[np.number],
        low: NDArray[np.number],
        high: NDArray[np.number],
        limits: tuple[float, float],
    ) -> PerPoint:
        """`values` in low…high, divided by the number of labels."""
        n, n_labels = self.true.shape
        return PerPoint(
            values / n_labels,
            np.ones(n),
            width=(high - low) / n_labels,
            span=float(high.max() - low.min()) / n_labels,
            limits=limits,
        )


def matched_sets(Y_true: object, Y_pred: object, max_labels: int | None = None) -> MatchedSets:
    """Match predicted label sets against the truth once, for all metrics.

    `max_labels` is the most labels a point can have (by default all of them) in the
    complete truth; a truth that has more is refused.

    Examples
    --------
    >>> sets = matched_sets([[1, 0, 1], [0, 1, 0]], [[1, 1, 0], [0, 1, 0]])
    >>> sets.f1_samples().numerator.tolist(), sets.subset_loss().value
    ([0.5, 1.0], 0.5)
    """
    true, predicted = check_sets(Y_true, Y_pred)
    check_parameter("label-set metrics", "max_labels", max_labels, (Integer(low=1), None))
    n_labels = true.shape[1]
    limit = n_labels if max_labels is None else min(int(max_labels), n_labels)
    sizes = np.diff(true.indptr)
    if sizes.max() > limit:
        row = int(sizes.argmax())
        raise DataError(f"Point {row} has {sizes[row]} labels where max_labels is {limit}.")
    return MatchedSets(true, predicted, true.multiply(predicted).tocsr(), limit)


def f1_score(Y_true: object, Y_pred: object, average: str = "samples") -> float:
    """F1 of label sets: 2 · right / (true + predicted).

    Parameters
    ----------
    Y_true, Y_pred : sparse matrices or arrays of shape (n, n_labels)
        Indicators.
    average : {"samples", "micro", "macro"}
        The mean over points; one figure over all pairs; or the mean over the labels
        that are true or predicted somewhere.

    Examples
    --------
    >>> Y_true, Y_pred = [[1, 0, 1], [0, 1, 0]], [[1, 1, 0], [0, 1, 0]]
    >>> f1_score(Y_true, Y_pred), round(f1_score(Y_true, Y_pred, "micro"), 4)
    (0.75, 0.6667)
    """
    check_parameter("f1_score", "average", average, OneOf("samples", "micro", "macro"))
    sets = matched_sets(Y_true, Y_pred)
    if average == "macro":
        return sets.f1_macro()
    return (sets.f1_samples() if average == "samples" else sets.f1_micro()).value


def hamming_loss(Y_true: object, Y_pred: object) -> float:
    """The mean over points of the number of wrong labels divided by the number of labels.

    Examples
    --------
    >>> round(hamming_loss([[1, 0, 1], [0, 1, 0]], [[1, 1, 0], [0, 1, 0]]), 4)
    0.3333
    """
    return matched_sets(Y_true, Y_pred).hamming().value


def propensity_hamming(Y_true: object, Y_pred: object, propensity: object) -> float:
    """Estimate the Hamming loss on the complete truth from the observed labels.

    The mean over points of Σ_l ((1 − 2ŷ_l) y_l / p_l + ŷ_l) / n_labels. It is unbiased
    when true labels go missing with probability 1 − p_l and false ones never appear
    (Jain et al. 2016, th. 4.4; seed 003), and can fall below 0 or rise above 1.

    Examples
    --------
    >>> propensity_hamming([[1, 0, 0, 0]], [[0, 0, 1, 0]], [0.5, 1, 1, 1])
    0.75
    """
    return matched_sets(Y_true, Y_pred).propensity_hamming(propensity).value


def subset_loss(Y_true: object, Y_pred: object) -> float:
    """The share of points whose label set is not exactly right (subset 0/1 loss).

    Examples
    --------
    >>> subset_loss([[1, 0, 1], [0, 1, 0]], [[1, 1, 0], [0, 1, 0]])
    0.5
    """
    return matched_sets(Y_true, Y_pred).subset_loss().value
