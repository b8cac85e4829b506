"""How noisy the targets are and how large the function is, by pilot fits of ridge regression."""

import numpy as np

from labelwood.core.types import DoubleArray
from labelwood.kernels.critical_radius import critical_radius
from labelwood.kernels.spectrum import Spectrum

_RIDGES = np.logspace(-7, 0, 15)  # times the largest eigenvalue
# The ridge of the later fits is the squared critical radius times this, a fit a little closer to
# the data than the best one; and three passes settle both estimates. Set on the simulations of
# `stopping.THEORY_CONSTANT`, by the error at the discrepancy principle's time.
_CLOSER = 0.25
_PASSES = 3
_LEAST_NOISE = 0.03  # times the root mean square of the targets, where they seem free of noise
_LEAST_NORM = 1.0  # times the root mean square of the targets, where they seem all noise


def noise_and_norm(
    Z: DoubleArray, spectrum: Spectrum, Y: DoubleArray, sigma: float | None = None
) -> tuple[DoubleArray, DoubleArray]:
    """Deviation of the noise of each column of `Y`, and Hilbert norm of the function behind it.

    All fits are ridge regression on the orthogonal features Z. The noise is the residual sum of
    squares over n − tr H, where H is the smoother. The squared norm is that of the fit less what
    noise adds to it, σ²/n Σ μ_j/(μ_j + λ)². The first fit takes the ridge of least generalized
    cross-validation error; its noise, and the targets' root mean square as the norm, give a
    critical radius, and that the ridge of the next fit, which varies less. Noise below 3 % of the
    targets' root mean square is taken as that; a `sigma` that is given stays.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = np.linspace(0, 1, 400)
    >>> Z = np.column_stack([np.sqrt(2) * np.cos(j * np.pi * x) / j for j in range(1, 60)])
    >>> mu = np.square(Z).mean(axis=0)
    >>> y = 2 * Z[:, 0] + 0.3 * rng.normal(size=400)
    >>> sigma, norm = noise_and_norm(Z, Spectrum.of(mu, 400), y[:, None])
    >>> sigma.round(1).tolist(), bool(1.5 < norm[0] < 3)
    ([0.3], True)
    """
    n, mu = Y.shape[0], spectrum.eigenvalues
    ZY = Z.T @ Y / n
    total = np.maximum(np.square(Y).mean(axis=0), 1e-300)
    least = _LEAST_NOISE**2 * total

    def fit(ridge: float, output: int) -> tuple[float, float]:
        """RSS/(n − tr H), and the share 1 − tr H/n."""
        shrink = 1 / (mu + ridge)
        c = ZY[:, output] * shrink
        rss = total[output] - float((c * (2 * ZY[:, output] - mu * c)).sum())
        left = max(1 - float((mu * shrink).sum()) / n, 1e-3)
        return max(rss / left, float(least[output])), left

    def fitted_norm(ridge: float, output: int, variance: float) -> float:
        shrink = 1 / (mu + ridge)
        fitted = float(np.square(ZY[:, output] * shrink).sum())
        of_noise = variance / n * float((mu * np.square(shrink)).sum())
        return float(np.sqrt(max(fitted - of_noise, _LEAST_NORM**2 * float(total[output]))))

    ridges = _RIDGES * max(float(mu.max(initial=0)), 1e-300)
    variances, norms = np.empty(Y.shape[1]), np.sqrt(total)
    for output in range(Y.shape[1]):
        variance, _ = min((fit(float(r), output) for r in ridges), key=lambda one: one[0] / one[1])
        for _ in range(_PASSES):
            variance = variance if sigma is None else max(sigma**2, 1e-18)
            radius = critical_radius(spectrum, n, float(np.sqrt(variance)) / norms[output])
            ridge = _CLOSER * radius.delta**2
            norms[output] = fitted_norm(ridge, output, variance)
            variance, _ = fit(ridge, output)
        variances[output] = variance
    deviations = np.sqrt(variances) if sigma is None else np.full(norms.size, float(sigma))
    return deviations, norms
