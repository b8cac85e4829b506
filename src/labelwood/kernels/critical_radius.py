"""The critical radius of a kernel, and when boosting with it is to stop.

Yang 2018, chapter 3: with the eigenvalues μ_j of the normalized kernel matrix,

    R(δ) = √(Σ_j min(δ², μ_j) / n)      (3.20)

bounds the Gaussian complexity of the functions of norm ≤ 1 and empirical norm ≤ δ, up to a
constant that is at most √2. The critical radius δ_n solves R(δ)/δ = δ/σ (3.15), and 1/δ_n² is
the order of the number of boosting steps, of unit size, to stop at.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from labelwood.core.params import Integer, Real, check_parameter
from labelwood.core.random import seed_sequence
from labelwood.kernels.spectrum import Spectrum

_N_BISECTIONS = 200


@dataclass(frozen=True)
class CriticalRadius:
    """δ_n, with bounds where eigenvalues are known in part.

    Attributes
    ----------
    delta : float
        The radius, or its estimate.
    lower, upper : float
        It is at least and at most this; both are `delta` for exact eigenvalues.
    n : int
    sigma : float

    Examples
    --------
    >>> radius = critical_radius([0.5, 0.3, 0.1], n=3, sigma=1.0)
    >>> round(float(radius), 4), radius.exact
    (0.7401, True)
    """

    delta: float
    lower: float
    upper: float
    n: int
    sigma: float

    @property
    def exact(self) -> bool:
        """Whether no eigenvalue was approximated."""
        return self.lower == self.delta == self.upper

    def __float__(self) -> float:
        return self.delta


def kernel_complexity(eigenvalues: Any, n: int, delta: float) -> float:
    """R(δ) of Yang 2018, eq. (3.20), at an estimate of missing eigenvalues if there are some.

    Examples
    --------
    >>> kernel_complexity([0.09, 0.01], n=4, delta=0.2)
    0.1118033988749895
    """
    check_parameter("kernel_complexity", "n", n, Integer(low=1))
    check_parameter("kernel_complexity", "delta", delta, Real(low=0))
    total = Spectrum.of(eigenvalues, n).sum_of_minima(delta**2)[0]
    return math.sqrt(total / n)


def gaussian_complexity(
    eigenvalues: Any, n: int, delta: float, *, n_draws: int = 200, random_state: object = 0
) -> tuple[float, float]:
    """G_n itself, the mean over Gaussian noise of the supremum in Yang 2018, eq. (3.13).

    In the eigenbasis the supremum is that of gᵀθ/√n over Σθ_j² ≤ δ² and Σθ_j²/μ_j ≤ 1. By
    duality for two quadratic constraints it is the minimum over λ in [0, 1] of
    √(Σ g_j² / (λ/δ² + (1 − λ)/μ_j) / n), which λ = ½ bounds by √2 R(δ).

    Returns
    -------
    mean, standard_error : float

    Examples
    --------
    >>> mean, error = gaussian_complexity([0.09, 0.01], 4, 0.2)
    >>> bool(mean < 2**0.5 * kernel_complexity([0.09, 0.01], 4, 0.2))
    True
    """
    check_parameter("gaussian_complexity", "n", n, Integer(low=1))
    check_parameter("gaussian_complexity", "delta", delta, Real(above=0))
    check_parameter("gaussian_complexity", "n_draws", n_draws, Integer(low=2))
    mu = Spectrum.of(eigenvalues, n).eigenvalues
    mu = mu[mu > 0]
    rng = np.random.default_rng(seed_sequence(random_state))
    suprema = np.empty(n_draws)
    for i in range(n_draws):
        squares = np.square(rng.normal(size=mu.size))

        def dual(weight: float, squares: Any = squares) -> float:
            return float((squares / (weight / delta**2 + (1 - weight) / mu)).sum())

        suprema[i] = min(
            minimize_scalar(dual, bounds=(0.0, 1.0), method="bounded").fun, dual(0.0), dual(1.0)
        )
    suprema = np.sqrt(suprema / n)
    return float(suprema.mean()), float(suprema.std(ddof=1) / math.sqrt(n_draws))


def critical_radius(eigenvalues: Any, n: int, sigma: float) -> CriticalRadius:
    """The radius at which R(δ)/δ = δ/σ, by bisection.

    Parameters
    ----------
    eigenvalues : array or Spectrum
        Those of the normalized kernel matrix k(x_i, x_j)/n.
    n : int
        Number of samples.
    sigma : float
        Noise level: the standard deviation of the gradient φ'(y, f*(x)).

    Examples
    --------
    >>> j = np.arange(1, 201)
    >>> radius = critical_radius(1.0 / j**2, n=200, sigma=0.5)
    >>> round(radius.delta**2, 4)
    0.0178
    """
    check_parameter("critical_radius", "n", n, Integer(low=1))
    check_parameter("critical_radius", "sigma", sigma, Real(above=0))
    spectrum = Spectrum.of(eigenvalues, n)
    delta = lower = upper = math.sqrt(_squared_radius(spectrum, 0, float(sigma)))
    if not spectrum.exact:
        lower, upper = (
            math.sqrt(_squared_radius(spectrum, which, float(sigma))) for which in (1, 2)
        )
    return CriticalRadius(delta, lower, upper, n, float(sigma))


def _squared_radius(spectrum: Spectrum, which: int, sigma: float) -> float:
    """T = δ² with t² = σ² S(t)/n; S is concave, so that there is one root above 0."""
    n = spectrum.n
    total = float(spectrum.eigenvalues.sum()) + spectrum.tail
    low, high = 0.0, sigma * math.sqrt(total / n)
    for _ in range(_N_BISECTIONS):
        t = (low + high) / 2
        if not low < t < high:  # no double is between them
            break
        if t**2 < sigma**2 * spectrum.sum_of_minima(t)[which] / n:
            low = t
        else:
            high = t
    return high


def stopping_time(
    radius: CriticalRadius, *, step: float = 1.0, curvature: float = 1.0, constant: float = 1.0
) -> int:
    """⌊c / (α h δ_n²)⌋ steps of size α, at least one, for a loss of second derivative h.

    A step of size α on a loss of curvature h goes as far as α h steps of size one on squared
    error, so that the time is measured in these.

    Examples
    --------
    >>> stopping_time(CriticalRadius(0.1, 0.1, 0.1, 100, 1.0), step=0.5)
    200
    """
    if radius.delta <= 0:
        return 1
    return max(1, math.floor(constant / (step * curvature * radius.delta**2) * (1 + 1e-12)))


def guaranteed_time(radius: CriticalRadius, M: float) -> int:
    """⌊1 / (δ_n² max(8, M))⌋, at least one (Yang 2018, after eq. (3.17), and Corollary 4).

    Examples
    --------
    >>> guaranteed_time(CriticalRadius(0.12, 0.12, 0.12, 200, 0.7), M=1)
    8
    """
    if radius.delta <= 0:
        return 1
    return max(1, math.floor(1 / (radius.delta**2 * max(8.0, M)) * (1 + 1e-12)))


@dataclass(frozen=True)
class RegularKernel:
    """Whether a kernel is regular, as the lower bound (3.21) of Yang 2018 needs it.

    Attributes
    ----------
    d_n : int
        The first j with μ_j ≤ δ_n²: how many dimensions the noise leaves to be estimated.
    tail : float
        Σ μ_j over j > d_n.
    constant : float
        tail / (d_n δ_n²); a kernel is regular if that stays bounded as n grows.
    """

    d_n: int
    tail: float
    constant: float


def regular_kernel(eigenvalues: Any, n: int, radius: CriticalRadius) -> RegularKernel:
    """d_n and the constant of a regular kernel (Yang 2018, before eq. (3.21)).

    Examples
    --------
    >>> mu = 1.0 / np.arange(1, 201) ** 2
    >>> regular = regular_kernel(mu, 200, critical_radius(mu, 200, 0.5))
    >>> regular.d_n, round(regular.constant, 2)
    (8, 0.79)
    """
    spectrum = Spectrum.of(eigenvalues, n)
    mu = spectrum.eigenvalues
    below = np.flatnonzero(mu <= radius.delta**2)
    d_n = int(below[0]) + 1 if below.size else mu.size
    tail = float(mu[d_n:].sum()) + spectrum.tail
    size = d_n * radius.delta**2
    return RegularKernel(d_n, tail, tail / size if size > 0 else 0.0)
