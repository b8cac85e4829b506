"""How noisy the targets are, by a pilot fit of ridge regression."""

import numpy as np

from labelwood.core.types import DoubleArray
from labelwood.kernels.critical_radius import critical_radius
from labelwood.kernels.spectrum import Spectrum

_RIDGES = np.logspace(-7, 0, 15)  # times the largest eigenvalue
# The ridge of the second fit is the squared critical radius over this: a fit a little closer to
# the data than the best one. Set on the simulations of `stopping.THEORY_CONSTANT`.
_CLOSER = 16.0
_LEAST_NOISE = 0.03  # times the root mean square of the targets, where they seem free of noise


def noise_deviation(Z: DoubleArray, spectrum: Spectrum, Y: DoubleArray) -> DoubleArray:
    """Standard deviation of the noise of each column of `Y`, by orthogonal features Z.

    Both fits are ridge regression, and both estimates the residual sum of squares over n − tr H,
    where H is the smoother. The first takes the ridge of least generalized cross-validation
    error; its noise gives the critical radius, and that the ridge of the second, which varies
    less. Noise below 3 % of the targets' root mean square is taken as that.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = np.linspace(0, 1, 400)
    >>> Z = np.column_stack([np.sqrt(2) * np.cos(j * np.pi * x) / j for j in range(1, 60)])
    >>> mu = np.square(Z).mean(axis=0)
    >>> y = Z[:, 0] + 0.3 * rng.normal(size=400)
    >>> noise_deviation(Z, Spectrum.of(mu, 400), y[:, None]).round(1).tolist()
    [0.3]
    """
    n, mu = Y.shape[0], spectrum.eigenvalues
    ZY = Z.T @ Y / n
    total = np.square(Y).mean(axis=0)
    floor = np.maximum(_LEAST_NOISE**2 * total, 1e-300)

    def variance(ridge: float, columns: slice) -> tuple[DoubleArray, float]:
        """RSS/(n − tr H), and the share 1 − tr H/n."""
        shrink = 1 / (mu + ridge)
        c = ZY[:, columns] * shrink[:, None]
        explained = (c * (2 * ZY[:, columns] - mu[:, None] * c)).sum(axis=0)
        left = max(1 - float((mu * shrink).sum()) / n, 1e-3)
        return np.maximum(total[columns] - explained, floor[columns] * left) / left, left

    ridges = _RIDGES * max(float(mu[0]), 1e-300)
    everything = slice(0, Y.shape[1])
    fits = [variance(float(ridge), everything) for ridge in ridges]
    best = np.argmin([found / left for found, left in fits], axis=0)
    first = np.array([fits[i][0][output] for output, i in enumerate(best)])
    second = np.empty_like(first)
    for output in range(first.size):
        rms = np.sqrt(max(float(total[output]), 1e-300))
        radius = critical_radius(spectrum, n, float(np.sqrt(first[output])) / rms)
        found, _ = variance(radius.delta**2 / _CLOSER, slice(output, output + 1))
        second[output] = found[0]
    return np.sqrt(np.maximum(second, floor))
