"""Partly observed rows under full covariances: what is missing is integrated out exactly."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from labelwood.core.types import DoubleArray
from labelwood.sequences.engine import Sequences

_LOG_2PI = float(np.log(2 * np.pi))


def fill_missing_densities(
    data: Sequences, means: DoubleArray, covariances: DoubleArray, out: DoubleArray
) -> None:
    """Overwrite the rows that lack something by the densities of what was observed."""
    for pattern in data.patterns:
        o = pattern.observed
        if o.size == 0:
            out[pattern.rows] = 0.0
            continue
        x = data.values[np.ix_(o, pattern.rows)]
        for k, (mean, covariance) in enumerate(zip(means, covariances, strict=True)):
            L = np.linalg.cholesky(covariance[np.ix_(o, o)])
            y = np.linalg.solve(L, x - mean[o, None])
            constant = np.log(np.diagonal(L)).sum() + 0.5 * o.size * _LOG_2PI
            out[pattern.rows, k] = -0.5 * np.einsum("ct,ct->t", y, y) - constant


def add_missing_moments(
    data: Sequences,
    means: DoubleArray,
    covariances: DoubleArray,
    gamma: DoubleArray,
    counts: DoubleArray,
    first: DoubleArray,
    second: DoubleArray,
) -> None:
    """Add the expected moments of the rows that lack something, given what was observed.

    The missing part is Gaussian with mean μ_m + B (x_o − μ_o), B = Σ_mo Σ_oo⁻¹, and covariance
    Σ_mm − B Σ_om (Little & Rubin 2019, section 11.2); both are of the current parameters.
    """
    for pattern in data.patterns:
        o, m, rows = pattern.observed, pattern.missing, pattern.rows
        for k, (mean, covariance) in enumerate(zip(means, covariances, strict=True)):
            weights = gamma[rows, k]
            z = np.zeros((mean.size, rows.size))
            conditional = covariance[np.ix_(m, m)]
            if o.size:
                z[o] = data.values[np.ix_(o, rows)] - mean[o, None]
                B = cho_solve(cho_factor(covariance[np.ix_(o, o)]), covariance[np.ix_(o, m)]).T
                z[m] = B @ z[o]
                conditional = conditional - B @ covariance[np.ix_(o, m)]
            counts[k] += weights.sum()
            first[k] += z @ weights
            second[k] += (z * weights) @ z.T
            second[k][np.ix_(m, m)] += weights.sum() * conditional
