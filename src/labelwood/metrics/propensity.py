"""How likely a true label is to be in the data at all, by the model of `core.propensity`."""

import numpy as np

from labelwood.core.labels import indicator
from labelwood.core.propensity import Propensity
from labelwood.errors import DataError


def propensity(
    Y: object, a: float = 0.55, b: float = 1.5, *, n_samples: int | None = None
) -> Propensity:
    """The probability that a label which holds for a sample was recorded for it.

    Jain, Prabhu and Varma (KDD 2016) fitted p_l = 1/(1 + C (N_l + b)^(−a)) with
    C = (ln N − 1)(b + 1)^a to data with known missing labels; N is the number of
    samples and N_l that of samples with label l. It is a model: a rare label is taken
    to be missing more often. With N < e the formula would give p > 1; C is then 0
    and every propensity 1.

    Parameters
    ----------
    Y : sparse matrix or array of shape (n, n_labels)
        Indicator of the *training* labels; with `n_samples`, the number of samples of each
        label instead.
    a, b : float
        The authors give a = 0.5, b = 0.4 for Wikipedia, a = 0.6, b = 2.6 for Amazon,
        and 0.55 and 1.5 elsewhere.
    n_samples : int, optional
        The number of samples that the counts were taken over.

    Returns
    -------
    Propensity
        For the `propensity` of estimators and of metrics; its `values` are the probabilities,
        a float64 array of shape (n_labels,).

    Examples
    --------
    >>> Y = [[1, 0]] * 90 + [[0, 1]] * 10
    >>> propensity(Y).values.round(3).tolist()
    [0.668, 0.391]
    >>> propensity([90, 10], n_samples=100) == propensity(Y)
    True
    """
    if n_samples is not None:
        return Propensity(np.asarray(Y), n_samples, a, b)
    labels = indicator(Y)
    n, n_labels = labels.shape
    if n == 0:
        raise DataError("Propensities need the labels of at least one sample. Got none.")
    return Propensity(np.bincount(labels.indices, minlength=n_labels), n, a, b)
