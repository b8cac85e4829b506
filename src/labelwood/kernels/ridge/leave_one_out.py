"""Leave-one-out errors of ridge regression in closed form, for a grid of λ at once."""

import numpy as np
import scipy.linalg

from labelwood.core.types import DoubleArray
from labelwood.kernels.functions import Samples
from labelwood.kernels.samples import Targets

_GRID = np.logspace(-8, 1, 19)  # times the mean of k(x, x), the largest that λ can matter


def alpha_grid(mean_diagonal: float) -> DoubleArray:
    """λ from 1e−8 to 10 times the mean of k(x, x), two to a decade."""
    return _GRID * (mean_diagonal if mean_diagonal > 0 else 1.0)


def loo_errors_of_kernel(
    values: DoubleArray, U: DoubleArray, targets: Targets, alphas: DoubleArray
) -> DoubleArray:
    """Mean squared leave-one-out error for each λ from the eigenpairs of K.

    With G = K + λnI the residual of the sample left out is (G⁻¹Y)_i / (G⁻¹)_ii, where λn is
    the same with n − 1 samples. Directions outside the range of K have eigenvalue 0.
    """
    n = U.shape[0]
    rest = np.maximum(1 - np.square(U).sum(axis=1), 0)
    totals = np.zeros(alphas.size)
    for columns in targets.slices():
        Y = targets.block(columns)
        UY = U.T @ Y
        outside = Y - U @ UY
        for i, alpha in enumerate(alphas):
            ridge = alpha * n
            inverse = 1 / (values + ridge)
            coefficients = U @ (UY * inverse[:, None]) + outside / ridge
            diagonal = np.square(U) @ inverse + rest / ridge
            totals[i] += np.square(coefficients / diagonal[:, None]).sum()
    return totals / (n * max(targets.shape[1], 1))


def loo_errors_of_features(X: Samples, targets: Targets, alphas: DoubleArray) -> DoubleArray:
    """The same from the p × p matrix XᵀX: the residual is (y_i − f_i) / (1 − H_ii)."""
    n = X.shape[0]
    gram = X.T @ X
    values, V = scipy.linalg.eigh(gram.toarray() if hasattr(gram, "toarray") else gram)
    B = X @ V
    squares = np.square(B)
    totals = np.zeros(alphas.size)
    for columns in targets.slices():
        Y = targets.block(columns)
        BY = B.T @ Y
        for i, alpha in enumerate(alphas):
            inverse = 1 / (np.maximum(values, 0) + alpha * n)
            residual = Y - B @ (BY * inverse[:, None])
            # A leverage of one would leave nothing to predict the sample from.
            left = np.maximum(1 - squares @ inverse, 1e-12)
            totals[i] += np.square(residual / left[:, None]).sum()
    return totals / (n * max(targets.shape[1], 1))
