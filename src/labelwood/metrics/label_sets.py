"""Metrics of predicted label sets: which labels are right, missing or too many.

A sample that has no labels and is given none is right: its F1 is 1 and its losses 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labelwood.core.entry_propensity import check_entries, propensities_of
from labelwood.core.params import OneOf, check_parameter
from labelwood.core.propensity import check_propensity
from labelwood.core.types import CSR, DoubleArray
from labelwood.metrics._inputs import check_sets
from labelwood.metrics.intervals import PerSample, ratio
from labelwood.metrics.per_label import PerLabel


@dataclass(frozen=True)
class MatchedSets:
    """True and predicted labels, and those in both; all label-set metrics are read from it.

    Attributes
    ----------
    true, predicted, common : csr_array of shape (n, n_labels)
        Indicators.
    """

    true: CSR
    predicted: CSR
    common: CSR

    def f1_samples(self) -> PerSample:
        """F1 of each sample's label set."""
        true, predicted, common = self._sizes()
        values = np.nan_to_num(ratio(2 * common, true + predicted), nan=1.0)
        return PerSample.mean(values)

    def f1_micro(self) -> PerSample:
        """F1 of all (sample, label) pairs together."""
        true, predicted, common = self._sizes()
        top, bottom = (2 * common).astype(np.float64), (true + predicted).astype(np.float64)
        # With L labels and t in [0, 1], top − t·bottom lies between −t·L (nothing right, no
        # label left over) and 2(1 − t)L (all labels right).
        return PerSample(top, bottom, span=2.0 * self.true.shape[1])

    def f1_macro(self) -> float:
        """Mean F1 of the labels that are true or predicted somewhere; no sum over samples."""
        f1 = self.per_label().f1
        return 1.0 if np.isnan(f1).all() else float(np.nanmean(f1))

    def precision_micro(self) -> PerSample:
        """The share of all predicted labels that are true; 0 where none is predicted."""
        _, predicted, common = self._sizes()
        return _share_of_pairs(common, predicted, self.true.shape[1])

    def recall_micro(self) -> PerSample:
        """The share of all true labels that are predicted; 0 where none is true."""
        true, _, common = self._sizes()
        return _share_of_pairs(common, true, self.true.shape[1])

    def without_labels(self) -> PerSample:
        """Which samples are given no label."""
        return PerSample.mean((np.diff(self.predicted.indptr) == 0).astype(np.float64))

    def subset_loss(self) -> PerSample:
        """Whether each sample's label set is wrong anywhere."""
        true, predicted, common = self._sizes()
        wrong = (common < true) | (common < predicted)
        return PerSample.mean(wrong.astype(np.float64))

    def hamming(self) -> PerSample:
        """The share of all labels that are wrong at each sample."""
        true, predicted, common = self._sizes()
        return PerSample.mean((true + predicted - 2 * common) / self.true.shape[1])

    def propensity_hamming(self, propensity: object) -> PerSample:
        """The unbiased estimate of the Hamming loss on the complete truth (th. 4.4)."""
        weighted, span = weighted_truth(self.true, propensity)
        missed = weighted.sum(axis=1) - 2 * weighted.multiply(self.predicted).sum(axis=1)
        values = (missed + np.diff(self.predicted.indptr)) / self.true.shape[1]
        return PerSample.mean(np.asarray(values, dtype=np.float64), span, (-np.inf, np.inf))

    def per_label(
        self, names: Sequence[str] | None = None, propensity: DoubleArray | None = None
    ) -> PerLabel:
        """How each label fares; names and propensities are only passed on."""
        true, predicted, common = (
            np.bincount(matrix.indices, minlength=matrix.shape[1])
            for matrix in (self.true, self.predicted, self.common)
        )
        return PerLabel(names, true, predicted, common, propensity)

    def _sizes(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        true, predicted, common = (
            np.diff(matrix.indptr).astype(np.int64)
            for matrix in (self.true, self.predicted, self.common)
        )
        return true, predicted, common


def weighted_truth(Y: CSR, propensity: object) -> tuple[CSR, float]:
    """`Y` with 1/p at each entry, and the span of the losses of th. 4.4 on one sample.

    A label adds w = 1/p when it is missed and 1 − w when it is right, and every predicted share
    of it something between: these are the extremes. Where propensities by sample and label are
    not given for all pairs the span is unknown, and infinite.
    """
    if sp.issparse(propensity):
        matrix = check_entries(propensity, Y.shape)
        entries = 1 / propensities_of(matrix, Y)
        complete = matrix.nnz == Y.shape[0] * Y.shape[1]
        span = 2 / matrix.data.min() - 1 if complete else np.inf
    else:
        weights = 1 / check_propensity(propensity, Y.shape[1])
        entries, span = weights[Y.indices], np.mean(2 * weights - 1)
    return sp.csr_array((entries, Y.indices, Y.indptr), shape=Y.shape), float(span)


def _share_of_pairs(
    common: NDArray[np.int64], given: NDArray[np.int64], n_labels: int
) -> PerSample:
    """Common labels among the given ones, over all samples together."""
    top, bottom = common.astype(np.float64), given.astype(np.float64)
    if not bottom.any():
        # As scikit-learn has it, what gives nothing earns nothing; but nothing is known of the
        # share among what it would give elsewhere, so that the interval is that of all shares.
        return PerSample.mean(top, span=np.inf)
    # With t in [0, 1], common − t·given lies between −t·L (L given, none common) and (1 − t)·L.
    return PerSample(top, bottom, span=float(n_labels))


def matched_sets(Y_true: object, Y_pred: object) -> MatchedSets:
    """Match predicted label sets against the truth once, for all metrics.

    Examples
    --------
    >>> sets = matched_sets([[1, 0, 1], [0, 1, 0]], [[1, 1, 0], [0, 1, 0]])
    >>> sets.f1_samples().numerator.tolist(), sets.subset_loss().value
    ([0.5, 1.0], 0.5)
    """
    true, predicted = check_sets(Y_true, Y_pred)
    return MatchedSets(true, predicted, true.multiply(predicted).tocsr())


def f1_score(Y_true: object, Y_pred: object, average: str = "samples") -> float:
    """F1 of label sets: 2 · right / (true + predicted).

    Parameters
    ----------
    Y_true, Y_pred : sparse matrices or arrays of shape (n, n_labels)
        Indicators.
    average : {"samples", "micro", "macro"}
        The mean over samples; one figure over all pairs; or the mean over the labels
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
    """The mean over samples of the number of wrong labels divided by the number of labels.

    Examples
    --------
    >>> round(hamming_loss([[1, 0, 1], [0, 1, 0]], [[1, 1, 0], [0, 1, 0]]), 4)
    0.3333
    """
    return matched_sets(Y_true, Y_pred).hamming().value


def propensity_hamming(Y_true: object, Y_pred: object, propensity: object) -> float:
    """Estimate the Hamming loss on the complete truth from the observed labels.

    The mean over samples of Σ_l ((1 − 2ŷ_l) y_l / p_l + ŷ_l) / n_labels. It is unbiased
    when true labels go missing with probability 1 − p_l and false ones never appear
    (Jain, Prabhu and Varma, KDD 2016, th. 4.4), and can fall below 0 or rise above 1.

    Examples
    --------
    >>> propensity_hamming([[1, 0, 0, 0]], [[0, 0, 1, 0]], [0.5, 1, 1, 1])
    0.75
    """
    return matched_sets(Y_true, Y_pred).propensity_hamming(propensity).value


def subset_loss(Y_true: object, Y_pred: object) -> float:
    """The share of samples whose label set is not exactly right (subset 0/1 loss).

    Examples
    --------
    >>> subset_loss([[1, 0, 1], [0, 1, 0]], [[1, 1, 0], [0, 1, 0]])
    0.5
    """
    return matched_sets(Y_true, Y_pred).subset_loss().value
