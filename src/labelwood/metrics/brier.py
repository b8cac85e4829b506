"""The Brier score of predicted probabilities, also where true labels are missing."""

import numpy as np
import scipy.sparse as sp

from labelwood.core.sparse import checked_csr
from labelwood.core.types import CSR
from labelwood.errors import DataError
from labelwood.metrics._inputs import check_truth
from labelwood.metrics.intervals import PerSample
from labelwood.metrics.label_sets import weighted_truth


def brier_score(Y_true: object, probabilities: object) -> float:
    """The mean over samples and labels of (y − ŷ)², ŷ being the predicted probability.

    Parameters
    ----------
    Y_true : sparse matrix or array of shape (n, n_labels)
        Indicator of the true labels.
    probabilities : sparse matrix or array of shape (n, n_labels)
        In [0, 1]; a label without an entry has probability 0.

    Examples
    --------
    >>> brier_score([[1, 0]], [[0.5, 0.0]])
    0.125
    """
    return propensity_brier_per_sample(Y_true, probabilities, None).value


def propensity_brier(Y_true: object, probabilities: object, propensity: object) -> float:
    """Estimate the Brier score on the complete truth from the recorded labels.

    The mean over samples of Σ_l ((1 − 2ŷ_l) y_l / p_l + ŷ_l²) / n_labels: theorem 4.4 of Jain,
    Prabhu and Varma (KDD 2016), whose ŷ may be any number, with probabilities for ŷ. It is
    unbiased when true labels go missing with probability 1 − p and false ones never appear, and
    can fall below 0 or rise above 1.

    Parameters
    ----------
    Y_true, probabilities :
        As of `brier_score`.
    propensity : Propensity, array of shape (n_labels,) or sparse matrix of shape (n, n_labels)

    Examples
    --------
    >>> propensity_brier([[1, 0]], [[0.25, 0.0]], [0.5, 1])
    0.53125
    """
    return propensity_brier_per_sample(Y_true, probabilities, propensity).value


def propensity_brier_per_sample(
    Y_true: object, probabilities: object, propensity: object
) -> PerSample:
    """What each sample adds to `propensity_brier`, or without propensities to `brier_score`."""
    Y = check_truth(Y_true)
    predicted = _checked_probabilities(probabilities, Y.shape)
    p = np.ones(Y.shape[1]) if propensity is None else propensity
    weighted, span = weighted_truth(Y, p)
    gains = weighted.sum(axis=1) - 2 * weighted.multiply(predicted).sum(axis=1)
    values = (gains + predicted.multiply(predicted).sum(axis=1)) / Y.shape[1]
    limits = (0.0, 1.0) if propensity is None else (-np.inf, np.inf)
    return PerSample.mean(np.asarray(values, dtype=np.float64), span, limits)


def _checked_probabilities(given: object, shape: tuple[int, int]) -> CSR:
    matrix = checked_csr(given, "probabilities") if sp.issparse(given) else None
    if matrix is None:
        dense = np.asarray(given)
        if dense.ndim != 2 or dense.dtype.kind not in "biuf":
            raise DataError("probabilities must be a matrix of numbers.")
        matrix = sp.csr_array(dense)
    if matrix.shape != shape:
        raise DataError(f"Y_true and probabilities have shapes {shape} and {matrix.shape}.")
    matrix = matrix.astype(np.float64)
    matrix.sum_duplicates()
    bad = np.flatnonzero(~((matrix.data >= 0) & (matrix.data <= 1)))
    if bad.size:
        raise DataError(f"Probabilities must lie in [0, 1]. Got {matrix.data[bad[0]]:g}.")
    return matrix
