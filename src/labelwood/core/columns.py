"""Columns of sparse matrices: means and deviations, and columns of one deviation."""

from typing import NamedTuple

import numpy as np

from labelwood.core.sparse import CSRArrays, compact_columns, make_csr
from labelwood.core.types import CSR, AnyArray, DoubleArray, IndexArray

_VARIES = 1e-6  # the share of its mean that a column's deviation exceeds; values are float32


class Scaling(NamedTuple):
    """Columns that occur, sorted, and the factor that each was multiplied by."""

    columns: IndexArray
    factors: DoubleArray

    def of(self, chosen: AnyArray) -> DoubleArray:
        """The factors of some of them."""
        return self.factors[np.searchsorted(self.columns, chosen)]


def column_moments(
    X: CSRArrays, n_columns: int, weights: DoubleArray
) -> tuple[DoubleArray, DoubleArray]:
    """Mean and standard deviation of each column, its zeros included; a weight for each row.

    Examples
    --------
    >>> from labelwood.core.sparse import as_csr, csr_arrays
    >>> X = csr_arrays(as_csr([[2, 0], [0, 0], [0, 0], [2, 4]]))
    >>> means, deviations = column_moments(X, 2, np.ones(4))
    >>> means.tolist(), deviations.round(3).tolist()
    ([1.0, 1.0], [1.0, 1.732])
    """
    total = weights.sum()
    weight = np.repeat(weights, np.diff(X.indptr))
    values = X.data.astype(np.float64)
    present = np.bincount(X.indices, weight, minlength=n_columns)
    means = np.bincount(X.indices, weight * values, minlength=n_columns) / total
    # Around the mean, as the square of a large one would drown the variance.
    around = weight * (values - means[X.indices]) ** 2
    squares = np.bincount(X.indices, around, minlength=n_columns)
    absent = np.maximum(total - present, 0)
    return means, np.sqrt((squares + absent * means**2) / total)


def varying(means: DoubleArray, deviations: DoubleArray) -> AnyArray:
    """Whether each column varies by more than rounding does."""
    return deviations > _VARIES * np.abs(means)


def equal_columns(X: CSR, weights: DoubleArray) -> tuple[CSR, Scaling]:
    """Columns of one deviation: 1 over the root of their number; and how they were scaled.

    Points then have a squared length of 1 on average, but for the means of the columns. Columns
    that do not vary become 0.

    Examples
    --------
    >>> from labelwood.core.sparse import as_csr
    >>> X = as_csr([[2, 0, 6, 0, 1], [0, 4, 0, 8, 1]])
    >>> equal_columns(X, np.ones(2))[0].toarray().tolist()
    [[1.0, 0.0, 1.0, 0.0, 0.0], [0.0, 1.0, 0.0, 1.0, 0.0]]
    """
    arrays, columns = compact_columns(X)
    means, deviations = column_moments(arrays, columns.size, weights)
    varies = varying(means, deviations)
    factors = np.zeros(columns.size)
    factors[varies] = 1 / (deviations[varies] * np.sqrt(np.count_nonzero(varies)))
    data = (arrays.data * factors[arrays.indices]).astype(np.float32)
    return make_csr(X.indptr, X.indices, data, X.shape), Scaling(columns, factors)
