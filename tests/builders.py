"""Small data for tests, made in one place."""

import numpy as np
import scipy.sparse as sp


def random_csr(n: int, d: int, density: float = 0.1, seed: int = 0) -> sp.csr_array:
    """Sparse float32 features with values in (0, 1]."""
    rng = np.random.default_rng(seed)
    return sp.random_array(
        (n, d), density=density, format="csr", dtype=np.float32, rng=rng, data_sampler=None
    )


def random_labels(n: int, n_labels: int, per_point: float = 2.0, seed: int = 0) -> sp.csr_array:
    """An indicator whose labels have power-law frequencies; some points may have none."""
    rng = np.random.default_rng(seed)
    share = 1.0 / np.arange(1, n_labels + 1)
    share *= per_point / share.sum()
    return sp.csr_array((rng.random((n, n_labels)) < share).astype(np.float32))


def separable(n: int, n_labels: int, seed: int = 0) -> tuple[sp.csr_array, sp.csr_array]:
    """Features from which every label can be told: one feature a label, with noise features."""
    Y = random_labels(n, n_labels, seed=seed)
    X = sp.hstack([Y, random_csr(n, n_labels, seed=seed + 1)], format="csr")
    return sp.csr_array(X, dtype=np.float32), Y
