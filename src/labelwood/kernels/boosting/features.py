"""Features whose inner products are the kernel: all that boosting needs of it.

The update (3.9) of Yang 2018, f ← f − α n K ∇L_n(f), is the gradient step w ← w − (α/n) Zᵀφ'(y, Zw)
on the weights of features with ZZᵀ = nK. Features come from the eigenvectors of the kernel
matrix, from landmarks (Nyström), or are the samples themselves for the linear kernel.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from labelwood.core.types import AnyArray, DoubleArray
from labelwood.kernels.functions import KernelFunction, Samples, require_matrix
from labelwood.kernels.nystrom import nystrom_features
from labelwood.kernels.spectrum import Spectrum, linear_spectrum

EXACT_SAMPLES = 3000  # up to which "auto" takes all eigenvectors: seconds, and 72 MB for each copy
AUTO_LANDMARKS = 500  # beyond that: a9a (32,561 samples) takes 69 s of a core of a busy machine
_RANK_TOLERANCE = 1e-13
_PILOT_LANDMARKS = 500


class KernelFeatures(NamedTuple):
    """Features of the training samples, and how new samples get theirs.

    Attributes
    ----------
    Z : array of shape (n, rank), dense or sparse
    orthogonal : bool
        Whether ZᵀZ/n is the diagonal matrix of the known eigenvalues.
    spectrum : Spectrum
    basis : array or None
        Numbers of the samples against which kernel values are taken; None for the samples'
        own features (linear kernel).
    expansion : array of shape (len(basis), rank) or None
        Features of x are k(x, basis) times this.
    """

    Z: Any
    orthogonal: bool
    spectrum: Spectrum
    basis: AnyArray | None
    expansion: DoubleArray | None


def make_features(
    function: KernelFunction,
    X: Samples,
    n_landmarks: int | None,
    landmarks: str,
    random_state: object,
) -> KernelFeatures:
    """Features by the number of samples, or by landmarks where their number is given."""
    n, p = X.shape
    if n_landmarks is None and function.name == "linear" and (n > EXACT_SAMPLES or p < n):
        return _own_features(function, X)
    if n_landmarks is None and n > EXACT_SAMPLES:
        n_landmarks = AUTO_LANDMARKS
    if n_landmarks is not None and n_landmarks < n:
        found = nystrom_features(
            function, X, n_landmarks, landmarks=landmarks, random_state=random_state
        )
        return KernelFeatures(found.Z, True, found.spectrum, found.landmarks, found.expansion)
    require_matrix(n, n, 4, f"a kernel matrix of {n:,} samples", "set n_landmarks=1000")
    return exact_features(function(X, X))


def exact_features(K: DoubleArray) -> KernelFeatures:
    """Z = U Λ^(1/2) from all eigenvectors of the kernel matrix."""
    n = K.shape[0]
    values, vectors = scipy.linalg.eigh(K, check_finite=False)
    kept = values > _RANK_TOLERANCE * max(float(values[-1]), 0)
    values, vectors = values[kept][::-1], vectors[:, kept][:, ::-1]
    root = np.sqrt(values)
    return KernelFeatures(
        vectors * root, True, Spectrum(values / n, n), np.arange(n), vectors / root
    )


def _own_features(function: KernelFunction, X: Samples) -> KernelFeatures:
    Z = X / np.sqrt(function.scale)
    return KernelFeatures(
        sp.csr_array(Z) if sp.issparse(Z) else Z,
        False,
        linear_spectrum(X, function.scale),
        None,
        None,
    )


def pilot_features(
    features: KernelFeatures, function: KernelFunction, X: Samples
) -> tuple[DoubleArray, Spectrum]:
    """Orthogonal features and their eigenvalues, for the pilot fit that estimates the noise."""
    if features.orthogonal:
        return features.Z, features.spectrum
    n = X.shape[0]
    found = nystrom_features(function, X, min(n, _PILOT_LANDMARKS), random_state=0)
    return found.Z, found.spectrum
