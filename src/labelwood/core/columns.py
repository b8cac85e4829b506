"""Columns of sparse matrices: means and deviations, and columns of one deviation."""

from typing import NamedTuple

import numpy as np

from labelwood.core.sparse import CSRArrays, compact_columns, make_csr
from labelwood.core.types import CSR, AnyArray, DoubleArray, IndexArray

_VARIES = 1e-6  # the share of its mean that a column's deviation exceeds; values are float32
_LARGE = 16.0  # typical value of a column whose units make solvers slow
_LARGEST = 1e30  # in absolute value; squares of float32 beyond are too large for sums


class Scaling(NamedTuple):
    """Columns that occur, sorted, and the factor of each, 0 if it does not vary."""

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
    # Two sums of the same weights may differ by rounding, and that is not the share of zeros.
    full = np.bincount(X.indices, weight > 0, minlength=n_columns) == np.count_nonzero(weights)
    means = np.bincount(X.indices, weight * values, minlength=n_columns) / total
    # Around the mean, as the square of a large one would drown the variance.
    around = weight * (values - means[X.indices]) ** 2
    squares = np.bincount(X.indices, around, minlength=n_columns)
    absent = np.where(full, 0.0, total - present)
    return means, np.sqrt((squares + absent * means**2) / total)


def varying(means: DoubleArray, deviations: DoubleArray) -> AnyArray:
    """Whether each column varies by more than rounding does.

    Examples
    --------
    >>> varying(np.array([0.0, 5.0, 5.0]), np.array([0.1, 0.1, 1e-7])).tolist()
    [True, True, False]
    """
    return deviations > _VARIES * np.abs(means)


def equal_columns(X: CSR, weights: DoubleArray, n_chosen: int) -> tuple[CSR, Scaling]:
    """Columns of one deviation, 1 over the root of `n_chosen`; and how they were scaled.

    On as many of them samples then have a squared length of 1 on average, but for the means of
    the columns. Columns that do not vary become 0.

    Examples
    --------
    >>> from labelwood.core.sparse import as_csr
    >>> X = as_csr([[2, 0, 6, 0, 1], [0, 4, 0, 8, 1]])
    >>> equal_columns(X, np.ones(2), 4)[0].toarray().tolist()
    [[1.0, 0.0, 1.0, 0.0, 0.0], [0.0, 1.0, 0.0, 1.0, 0.0]]
    """
    arrays, columns = compact_columns(X)
    means, deviations = column_moments(arrays, columns.size, weights)
    varies = varying(means, deviations)
    factors = np.zeros(columns.size)
    n_counted = min(n_chosen, int(np.count_nonzero(varies)))
    factors[varies] = 1 / (deviations[varies] * np.sqrt(n_counted))
    values = arrays.data * factors[arrays.indices]
    # Only rows that weigh next to nothing are so far out.
    data = np.clip(values, -_LARGEST, _LARGEST).astype(np.float32)
    return make_csr(X.indptr, X.indices, data, X.shape), Scaling(columns, factors)


def moderate_columns(X: CSR) -> tuple[CSR, Scaling | None]:
    """Columns of large values divided by powers of two; and how they were scaled, if any was.

    Where the root mean square of a column's non-zeros is above 16, it is between 1 and 2
    afterwards; all other columns stay as they are, to the bit.

    Examples
    --------
    >>> from labelwood.core.sparse import as_csr
    >>> X = as_csr([[1, 1000], [0, 1048]])
    >>> moderate_columns(X)[0].toarray().tolist()
    [[1.0, 0.9765625], [0.0, 1.0234375]]
    """
    if np.abs(X.data).max(initial=0) <= _LARGE:
        return X, None
    arrays, columns = compact_columns(X)
    counts = np.bincount(arrays.indices, arrays.data != 0, minlength=columns.size)
    squares = np.bincount(arrays.indices, np.square(arrays.data, dtype=np.float64))
    typical = np.sqrt(squares / np.maximum(counts, 1))
    large = typical > _LARGE
    if not large.any():
        return X, None
    factors = np.ones(columns.size)
    factors[large] = 2.0 ** -np.floor(np.log2(typical[large]))
    data = (arrays.data * factors[arrays.indices]).astype(np.float32)
    return make_csr(X.indptr, X.indices, data, X.shape), Scaling(columns, factors)
