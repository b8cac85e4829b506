"""Measurements on one scale: what a Tagger does to dense features before its learner sees them.

Linear decisions, those of a forest included, depend on the units of the features: an income in
dollars would hide an age in years. Counts of words, zeros and ones, and rows of unit length are
left as they are.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from labelwood.core.sparse import as_csr, entry_rows, row_blocks, row_squares
from labelwood.core.types import CSR, DoubleArray, FloatArray
from labelwood.errors import DataError

# A column is a measurement where at least half of the samples are not zero there and not all alike.
# The features are measurements where half of the columns are, or where those that are hold nearly
# all of the sum of squares, so that flags beside them would not count. Texts have common words,
# too, but most of their words are rare, and have some weight.
_SHARE = 0.5
_NEARLY_ALL = 0.95
_LEAST_SPREAD = 1e-5  # of a column, beside its mean: what is below is rounding of single precision
_BLOCK = 1024  # rows, of which a dense copy is made


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
    n, d = X.shape
    squares = np.bincount(X.indices, X.data.astype(np.float64) ** 2, minlength=d)
    if not n or not squares.any() or np.allclose(row_squares(X), 1, atol=1e-3):
        return None
    filled = np.bincount(X.indices, minlength=d)
    means, deviations, differ = _moments(X, filled)
    measured = (filled >= _SHARE * n) & differ
    if measured.mean() < _SHARE and squares[measured].sum() < _NEARLY_ALL * squares.sum():
        return None
    entries = np.sqrt(squares / np.maximum(filled, 1))
    scales = np.where(measured, deviations, np.where(entries > 0, entries, 1.0))
    mean_square = (np.count_nonzero(measured) * n + filled[~measured].sum()) / n
    offsets = np.where(measured, means, 0.0)
    return Scaling(offsets.astype(np.float32), (scales * np.sqrt(mean_square)).astype(np.float32))


def _moments(X: CSR, filled: Any) -> tuple[DoubleArray, DoubleArray, Any]:
    """Mean and standard deviation of each column, and whether its entries differ.

    Deviations come from a second pass, as the square of a large mean would drown them.
    """
    n, d = X.shape
    values = X.data.astype(np.float64)
    sums = np.bincount(X.indices, values, minlength=d)
    means, of_entries = sums / n, sums / np.maximum(filled, 1)
    around = np.bincount(X.indices, (values - means[X.indices]) ** 2, minlength=d)
    deviations = np.sqrt((around + (n - filled) * means**2) / n)
    within = np.bincount(X.indices, (values - of_entries[X.indices]) ** 2, minlength=d)
    spread = np.sqrt(within / np.maximum(filled, 1))
    return means, deviations, spread > _LEAST_SPREAD * np.abs(of_entries)
