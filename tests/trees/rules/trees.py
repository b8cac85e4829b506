"""Data and trees for the tests of rule trees."""

import numpy as np
import scipy.sparse as sp


def table(n=200, d=5, n_classes=2, seed=0, levels=None):
    """Dense features and classes that depend on two of them, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    if levels:
        X = np.round(X * levels) / levels
    X = X.astype(np.float32)
    score = X[:, 0] * 2 + (X[:, 1] > 0.3) * X[:, 2] + 0.5 * rng.standard_normal(n)
    cuts = np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1])
    return X, np.searchsorted(cuts, score)


def text(n=300, d=40, seed=0):
    """Sparse positive features; the label follows from two words."""
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, d), density=0.15, format="csr", dtype=np.float32, rng=rng)
    dense = X.toarray()
    y = ((dense[:, 3] > 0) | ((dense[:, 7] > 0) & (dense[:, 9] == 0))).astype(int)
    flip = rng.random(n) < 0.05
    return sp.csr_array(X), np.where(flip, 1 - y, y)
