"""Propensities learned from samples whose complete labels are known."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import xlogy
from sklearn.isotonic import IsotonicRegression

from labelwood.core.labels import indicator
from labelwood.core.params import OneOf, check_parameter
from labelwood.core.propensity import CONSTANTS, Propensity, label_propensity
from labelwood.core.types import CSR, DoubleArray
from labelwood.errors import DataError

# Starts of the search for (a, b): the three pairs that Jain, Prabhu & Varma 2016 publish.
_STARTS = ((0.55, 1.5), (0.5, 0.4), (0.6, 2.6))


def fit_propensity(
    Y: object, observed: object, complete: object, *, curve: str = "constants"
) -> Propensity | DoubleArray:
    """Fit the propensity of labels to samples of which all true labels are known.

    Jain, Prabhu and Varma (KDD 2016) found a and b of `propensity` in this way, on Wikipedia
    and Amazon. Of each label, n of the n* audited samples that truly have it have it recorded;
    n is taken as binomial with the propensity that the curve gives for the label's count N_l
    in the training labels, and the likelihood is maximized.

    Parameters
    ----------
    Y : sparse matrix or array of shape (n, n_labels)
        The training labels, as recorded: their counts are what propensities depend on.
    observed, complete : sparse matrices or arrays of shape (n_audited, n_labels)
        Recorded and complete labels of some samples; no label is recorded that is not true.
    curve : {"constants", "monotone"}
        The model of Jain, Prabhu & Varma 2016 with its two constants, or any curve that does
        not fall with N_l (isotonic regression, n and n* each raised by ½ and 1 so that no
        propensity is 0; it says nothing beyond the counts that were audited, where it is flat).

    Returns
    -------
    Propensity
        With the fitted a and b, or for ``curve="monotone"`` an array of shape (n_labels,).

    Examples
    --------
    >>> complete = [[1, 1]] * 400
    >>> observed = [[1, 1]] * 100 + [[1, 0]] * 200 + [[0, 0]] * 100
    >>> fit_propensity(observed, observed, complete, curve="monotone").round(2).tolist()
    [0.75, 0.25]
    """
    check_parameter("fit_propensity", "curve", curve, OneOf("constants", "monotone"))
    labels = indicator(Y)
    seen, true = _audited(observed, complete, labels.shape[1])
    counts = _column_counts(labels)
    if curve == "monotone":
        return _monotone(counts, seen, true)
    a, b = _constants(counts, labels.shape[0], seen, true)
    return Propensity(counts.astype(np.int64), labels.shape[0], a, b)


def _audited(observed: object, complete: object, n_labels: int) -> tuple[DoubleArray, DoubleArray]:
    """How often each label was recorded and how often it is true, in the audited samples."""
    recorded, whole = indicator(observed, name="observed"), indicator(complete, name="complete")
    for name, matrix in (("observed", recorded), ("complete", whole)):
        if matrix.shape[1] != n_labels:
            raise DataError(f"{name} has {matrix.shape[1]} labels and Y has {n_labels}.")
    if recorded.shape != whole.shape:
        raise DataError(
            f"observed and complete must have one shape. Got {recorded.shape} and {whole.shape}."
        )
    if recorded.multiply(whole).nnz < recorded.nnz:
        raise DataError(
            "observed has labels that complete has not: propensities are of labels that go "
            "missing, not of false ones."
        )
    if whole.nnz == 0:
        raise DataError("complete holds no label: there is nothing to fit propensities to.")
    return _column_counts(recorded), _column_counts(whole)


def _column_counts(matrix: CSR) -> DoubleArray:
    return np.bincount(matrix.indices, minlength=matrix.shape[1]).astype(np.float64)


def _constants(
    counts: DoubleArray, n_samples: int, seen: DoubleArray, true: DoubleArray
) -> tuple[float, float]:
    """(a, b) of greatest likelihood; b is searched on a logarithmic scale."""

    def loss(at: DoubleArray) -> float:
        p = label_propensity(counts, n_samples, float(at[0]), float(np.exp(at[1])))
        p = np.clip(p, 1e-12, 1 - 1e-12)  # so that the likelihood is finite everywhere
        return -float(np.sum(xlogy(seen, p) + xlogy(true - seen, 1 - p)))

    bounds = [(0.0, CONSTANTS["a"].high), (np.log(1e-6), np.log(1e6))]
    found = [minimize(loss, [a, np.log(b)], bounds=bounds, method="L-BFGS-B") for a, b in _STARTS]
    best = min(found, key=lambda result: float(result.fun))
    return float(best.x[0]), float(np.exp(best.x[1]))


def _monotone(counts: DoubleArray, seen: DoubleArray, true: DoubleArray) -> DoubleArray:
    audited = true > 0
    share = (seen[audited] + 0.5) / (true[audited] + 1)
    fitted = IsotonicRegression(out_of_bounds="clip").fit(
        counts[audited], share, sample_weight=true[audited] + 1
    )
    return np.asarray(fitted.predict(counts), dtype=np.float64)
