"""Nyström features: a kernel by its values against a few landmarks."""

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from labelwood.core.memory import available_memory
from labelwood.core.random import seed_sequence
from labelwood.core.types import AnyArray, DoubleArray
from labelwood.errors import DataError
from labelwood.kernels.functions import KernelFunction, Samples, row_slices
from labelwood.kernels.spectrum import Spectrum

_RANK_TOLERANCE = 1e-10
LANDMARKS = ("uniform", "leverage")


class NystromFeatures(NamedTuple):
    """Features Z with Z Zᵀ = K_nM K_MM⁺ K_Mn, whose columns are orthogonal.

    Attributes
    ----------
    Z : array of shape (n, rank)
    landmarks : array
        Rows that are landmarks.
    expansion : array of shape (n_landmarks, rank)
        Features of a sample are its kernel values against the landmarks times this.
    spectrum : Spectrum
        Eigenvalues ZᵀZ/n, which are lower bounds of those of K.
    """

    Z: DoubleArray
    landmarks: AnyArray
    expansion: DoubleArray
    spectrum: Spectrum


def require_landmarks(n_landmarks: int, n: int) -> None:
    """Refuse landmarks whose kernel values cannot fit, before they are allocated.

    Three matrices of landmarks by landmarks, and three of samples by landmarks: kernel values,
    features, and the features rotated.
    """
    needed, free = 24 * n_landmarks * (n_landmarks + n), available_memory()
    if needed > free:
        # The positive root of 24 M (M + n) = free.
        fitting = int(((n * n + free / 6) ** 0.5 - n) / 2)
        remedy = f"set n_landmarks to {fitting:,} or less" if fitting else "take fewer samples"
        raise MemoryError(
            f"{n_landmarks:,} landmarks need {_size(8 * n_landmarks**2)} for their kernel matrix "
            f"and twice that to factor it, and {_size(24 * n_landmarks * n)} for the features of "
            f"{n:,} samples, and {_size(free)} are free; 3,000 need {_size(8 * 3000**2)} and "
            f"{_size(24 * 3000 * n)}: {remedy}"
        )


def _size(n_bytes: float) -> str:
    return f"{n_bytes / 1e9:.0f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.0f} MB"


def nystrom_features(
    function: KernelFunction,
    X: Samples,
    n_landmarks: int,
    *,
    landmarks: str = "uniform",
    random_state: object = 0,
) -> NystromFeatures:
    """Features of all rows of `X` from landmarks among them.

    Parameters
    ----------
    landmarks : {"uniform", "leverage"}
        Drawn uniformly, or by approximate ridge leverage scores from a uniform pilot.

    Examples
    --------
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> few = nystrom_features(KernelFunction("gaussian", 10.0), X, 10)
    >>> bool(few.spectrum.tail < 0.01)  # the kernel is nearly of rank 10
    True
    """
    n = X.shape[0]
    if n_landmarks > n:
        raise DataError(f"n_landmarks={n_landmarks} is above the number of samples ({n}).")
    require_landmarks(n_landmarks, n)
    rng = np.random.default_rng(seed_sequence(random_state))
    if landmarks == "leverage":
        chosen = _by_leverage(function, X, n_landmarks, rng)
    else:
        chosen = np.sort(rng.choice(n, n_landmarks, replace=False))
    return features_of_landmarks(function, X, chosen)


def features_of_landmarks(
    function: KernelFunction, X: Samples, chosen: AnyArray
) -> NystromFeatures:
    """Nyström features of all rows of `X` from the rows `chosen`."""
    n = X.shape[0]
    if function.name == "precomputed":
        K = np.asarray(X) / function.scale
        cross: Any = K[:, chosen]
        inner = cross[chosen]
    else:
        centers = X[chosen]
        inner = function(centers, centers)
        cross = np.empty((n, chosen.size))
        for rows in row_slices(n, chosen.size):
            cross[rows] = function(X[rows], centers)
    values, vectors = scipy.linalg.eigh(inner, check_finite=False)
    kept = values > _RANK_TOLERANCE * values[-1]
    root = vectors[:, kept] / np.sqrt(values[kept])
    Z = cross @ root
    # A rotation makes the columns orthogonal, so that squared error decouples into them.
    mu, rotation = scipy.linalg.eigh(Z.T @ Z / n, check_finite=False)
    order = np.argsort(-mu)
    mu, rotation = np.maximum(mu[order], 0), rotation[:, order]
    trace = float(function.diagonal(X).sum()) / n
    spectrum = Spectrum(mu, n, max(trace - float(mu.sum()), 0.0), "nystrom")
    return NystromFeatures(Z @ rotation, chosen, root @ rotation, spectrum)


def _by_leverage(
    function: KernelFunction, X: Samples, n_landmarks: int, rng: np.random.Generator
) -> AnyArray:
    """Rows drawn by (k(x, x) − k_S(x)ᵀ(K_S + λ s I)⁻¹k_S(x)) / λ, with a uniform pilot S.

    Rows that the pilot explains badly are drawn more often (Musco & Musco 2017, in one round).
    λ is the mean of k(x, x) over the number of landmarks.
    """
    n = X.shape[0]
    pilot = np.sort(rng.choice(n, max(1, min(n_landmarks, n)), replace=False))
    precomputed = function.name == "precomputed"
    diagonal = function.diagonal(X)
    ridge = float(diagonal.mean()) / n_landmarks * pilot.size
    whole = np.asarray(X) / function.scale if precomputed else None
    inner = whole[np.ix_(pilot, pilot)] if whole is not None else function(X[pilot], X[pilot])
    inner[np.diag_indices_from(inner)] += ridge
    factor = scipy.linalg.cholesky(inner, lower=True, check_finite=False)
    scores = np.empty(n)
    for rows in row_slices(n, pilot.size):
        cross = whole[rows][:, pilot] if whole is not None else function(X[rows], X[pilot])
        half = scipy.linalg.solve_triangular(factor, cross.T, lower=True, check_finite=False)
        scores[rows] = diagonal[rows] - np.square(half).sum(axis=0)
    scores = np.maximum(scores, 1e-12 * max(float(diagonal.max()), 1e-300))
    return np.sort(rng.choice(n, n_landmarks, replace=False, p=scores / scores.sum()))
