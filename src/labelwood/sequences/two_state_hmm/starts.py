"""A moment estimate of the symmetric model, and starts in the ball around it."""

import numpy as np

from labelwood.core.types import DoubleArray
from labelwood.sequences.engine import Sequences


def moment_estimate(data: Sequences, sigma: float | None) -> tuple[DoubleArray, float]:
    """μ and σ² from the second moments.

    E xxᵀ = μμᵀ + σ²I, so μ lies along the first eigenvector; σ² is known or the mean of the
    other eigenvalues. A single feature has none: there, E xₜxₜ₊ₖ = (2ζ − 1)ᵏ μ² gives
    μ² = c₁²/c₂, and half of the mean square when that makes no sense.
    """
    rows = data.values.T  # what is missing is 0: it only shrinks the estimate
    n, d = rows.shape
    values, vectors = np.linalg.eigh(rows.T @ rows / n)
    largest = float(values[-1])
    if sigma is not None:
        noise = sigma**2
    elif d > 1:
        noise = float(values[:-1].mean())
    else:
        noise = largest - _squared_mean(rows[:, 0], largest)
    signal = max(largest - noise, 0.01 * largest)
    return np.sqrt(signal) * vectors[:, -1], largest - signal if d == 1 else noise


def in_ball(center: DoubleArray, radius: float, rng: np.random.Generator) -> DoubleArray:
    """A vector drawn uniformly from the ball.

    Examples
    --------
    >>> x = in_ball(np.zeros(3), 2.0, np.random.default_rng(0))
    >>> bool(np.linalg.norm(x) < 2)
    True
    """
    direction = rng.standard_normal(center.size)
    direction /= np.linalg.norm(direction)
    return np.asarray(center + radius * rng.random() ** (1 / center.size) * direction)


def _squared_mean(x: DoubleArray, square: float) -> float:
    c1, c2 = (float(x[:-lag] @ x[lag:]) / max(x.size - lag, 1) for lag in (1, 2))
    found = c1**2 / c2 if c2 > 0 else 0.0
    return found if 0.05 * square < found < 0.95 * square else square / 2
