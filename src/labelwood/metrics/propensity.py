"""How likely a true label is to be in the data at all."""

import numpy as np

from labelwood.core.labels import indicator
from labelwood.core.propensity import Propensity
from labelwood.core.types import DoubleArray
from labelwood.errors import DataError


def propensity(
    Y: object, a: float = 0.55, b: float = 1.5, *, n_points: int | None = None
) -> Propensity:
    """The chance that a label which holds for a point was recorded for it.

    Jain, Prabhu and Varma (KDD 2016) fitted p_l = 1/(1 + C (N_l + b)^(−a)) with
    C = (ln N − 1)(b + 1)^a to data with known missing labels; N is the number of
    points and N_l that of points with label l. It is a model: a rare label is taken
    to be missing more often. With N < e the formula would give p > 1; C is then 0
    and every propensity 1.

    Parameters
    ----------
    Y : sparse matrix or array of shape (n, n_labels)
        Indicator of the *training* labels; with `n_points`, the number of points of each
        label instead.
    a, b : float
        The authors give a = 0.5, b = 0.4 for Wikipedia, a = 0.6, b = 2.6 for Amazon,
        and 0.55 and 1.5 elsewhere.
    n_points : int, optional
        The number of points that the counts were taken over.

    Returns
    -------
    Propensity
        For the `propensity` of estimators and of metrics; its `values` are the chances,
        a float64 array of shape (n_labels,).

    Examples
    --------
    >>> Y = [[1, 0]] * 90 + [[0, 1]] * 10
    >>> propensity(Y).values.round(3).tolist()
    [0.668, 0.391]
    >>> propensity([90, 10], n_points=100) == propensity(Y)
    True
    """
    if n_points is not None:
        return Propensity(np.asarray(Y), n_points, a, b)
    labels = indicator(Y)
    n, n_labels = labels.shape
    if n == 0:
        raise DataError("Propensities need the labels of at least one point. Got none.")
    return Propensity(np.bincount(labels.indices, minlength=n_labels), n, a, b)


def check_propensity(p: object, n_labels: int) -> DoubleArray:
    """`p` as a float64 array of `n_labels` values in (0, 1], or an error that says where not.

    Examples
    --------
    >>> check_propensity([0.5, 1], 2).tolist()
    [0.5, 1.0]
    """
    try:
        values = np.asarray(p, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"Propensities must be numbers. Got {type(p).__name__} instead.") from None
    if values.shape != (n_labels,):
        raise DataError(
            f"Propensities must be one for each of {n_labels} labels. "
            f"Got an array of shape {values.shape}; compute them from the training labels."
        )
    bad = np.flatnonzero(~((values > 0) & (values <= 1)))
    if bad.size:
        raise DataError(
            f"Propensities must lie in (0, 1]. Got {values[bad[0]]:g} for label {bad[0]}."
        )
    return values
