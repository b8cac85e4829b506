"""Measurements on one scale: what a Tagger does to dense features before its learner sees them.

Linear decisions, those of a forest included, depend on the units of the features: an income in
dollars would hide an age in years. Counts of words, zeros and ones, and rows of unit length are
left as they are.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from labelwood.core.sparse import as_csr, entry_rows, row_blocks, row_squares
from labelwood.core.types import CSR, AnyArray, DoubleArray, FloatArray
from labelwood.errors import DataError

# A column is a measurement where at least half of the samples are not zero there and not all alike.
# The features are measurements where half of the columns are, or where those that are hold nearly
# all of the sum of squares, so that flags beside them would not count. Texts have common words,
# too, but most of their words are rare, and have some weight.
_SHARE = 0.5
_NEARLY_ALL = 0.95
_LEAST_SPREAD = 1e-5  # of a column, beside its mean: what is below is rounding of single precision
_BLOCK = 1024  # rows, of which a dense copy is made
_ENTRIES = 2**22


class Scaling(NamedTuple):
    """What is subtracted from each feature, and what it is divided by then."""

    offsets: FloatArray
    scales: FloatArray

    @property
    def n_centered(self) -> int:
        """How many features have an offset."""
        return int(np.count_nonzero(self.offsets))

    def apply(self, X: CSR) -> CSR:
        """The features on one scale; where there is an offset, zeros are shifted as others are."""
        blocks = [self._apply_to(X[rows]) for rows in row_blocks(X, _BLOCK)]
        return blocks[0] if len(blocks) == 1 else sp.csr_array(sp.vstack(blocks, format="csr"))

    def _apply_to(self, X: CSR) -> CSR:
        n, rows = X.shape[0], entry_rows(X)
        centered = np.flatnonzero(self.offsets)
        place = np.full(X.shape[1], -1)
        place[centered] = np.arange(centered.size)
        at = place[X.indices]
        inside = at >= 0
        shifted = np.tile(-self.offsets[centered].astype(np.float64), (n, 1))
        shifted[rows[inside], at[inside]] += X.data[inside]
        outside = ~inside
        data = np.concatenate([shifted.ravel(), X.data[outside]])
        columns = np.concatenate([np.tile(centered, n), X.indices[outside]])
        of_row = np.concatenate([np.repeat(np.arange(n), centered.size), rows[outside]])
        scaled = (data / self.scales[columns]).astype(np.float32)
        # Sorted by rows and columns, and canonical, as no column comes from both parts.
        return as_csr(sp.csr_array((scaled, (of_row, columns)), shape=X.shape))

    def check(self, n_features: int) -> None:
        """Refuse what cannot have come of a fit (after loading)."""
        for values in self:
            shaped = isinstance(values, np.ndarray) and values.shape == (n_features,)
            if not shaped or values.dtype != np.float32 or not np.isfinite(values).all():
                raise DataError(
                    "feature_offsets_ and feature_scales_ must have a finite number "
                    "for each feature"
                )
        if not (self.scales > 0).all():
            raise DataError("feature_scales_ must be positive")


def find_scaling(X: CSR) -> Scaling | None:
    """The scaling of features that are measurements, or None where they are not.

    Measurements are centered and divided by their standard deviation; other columns beside them by
    the root mean square of their entries, and stay as sparse as they are. Then all are divided by
    one number, so that rows are of unit length on the average, for which the learners' defaults of
    `C` are meant.

    Examples
    --------
    >>> ages_and_incomes = sp.csr_array([[20.0, 30_000.0], [40.0, 20_000.0], [60.0, 40_000.0]])
    >>> scaling = find_scaling(ages_and_incomes)
    >>> scaling.offsets.tolist()
    [40.0, 30000.0]
    >>> print(scaling.apply(ages_and_incomes).toarray().round(2))
    [[-0.87  0.  ]
     [ 0.   -0.87]
     [ 0.87  0.87]]
    """
    n = X.shape[0]
    filled, sums, squares = _column_sums(X)
    often = filled >= _SHARE * n
    if not squares.any() or not often.any() or np.allclose(row_squares(X[:_BLOCK]), 1, atol=1e-3):
        return None
    means = sums / n
    deviations, differ = _deviations(X, filled, sums)
    measured = often & differ
    if measured.mean() < _SHARE and squares[measured].sum() < _NEARLY_ALL * squares.sum():
        return None
    entries = np.sqrt(squares / np.maximum(filled, 1))
    scales = np.where(measured, deviations, np.where(entries > 0, entries, 1.0))
    mean_square = (np.count_nonzero(measured) * n + filled[~measured].sum()) / n
    offsets = np.where(measured, means, 0.0)
    return Scaling(offsets.astype(np.float32), (scales * np.sqrt(mean_square)).astype(np.float32))


def _column_sums(X: CSR) -> tuple[AnyArray, DoubleArray, DoubleArray]:
    """Entries of each column, their sum, and the sum of their squares."""
    d = X.shape[1]
    filled, sums, squares = np.zeros(d, dtype=np.int64), np.zeros(d), np.zeros(d)
    for columns, values in _entries(X):
        filled += np.bincount(columns, minlength=d)
        sums += np.bincount(columns, values, minlength=d)
        squares += np.bincount(columns, values**2, minlength=d)
    return filled, sums, squares


def _deviations(X: CSR, filled: AnyArray, sums: DoubleArray) -> tuple[DoubleArray, AnyArray]:
    """Standard deviation of each column, and whether its entries differ.

    It is a second pass over the data, as the square of a large mean would drown what differs.
    """
    n, d = X.shape
    means, of_entries = sums / n, sums / np.maximum(filled, 1)
    around, within = np.zeros(d), np.zeros(d)
    for columns, values in _entries(X):
        around += np.bincount(columns, (values - means[columns]) ** 2, minlength=d)
        within += np.bincount(columns, (values - of_entries[columns]) ** 2, minlength=d)
    deviations = np.sqrt((around + (n - filled) * means**2) / n)
    spread = np.sqrt(within / np.maximum(filled, 1))
    return deviations, spread > _LEAST_SPREAD * np.abs(of_entries)


def _entries(X: CSR) -> Iterator[tuple[AnyArray, DoubleArray]]:
    """Columns and values of the entries, some at a time, for memory."""
    for start in range(0, X.data.size, _ENTRIES):
        part = slice(start, start + _ENTRIES)
        yield X.indices[part], X.data[part].astype(np.float64)
