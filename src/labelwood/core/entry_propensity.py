"""Propensities by sample and label, p_il: one for each entry of a label matrix."""

import numpy as np

from labelwood.core.sparse import checked_csr, entry_rows
from labelwood.core.types import CSR, DoubleArray, PointerArray
from labelwood.errors import DataError


def check_entries(given: object, shape: tuple[int, int]) -> CSR:
    """`given` as a float64 CSR matrix of `shape` with entries in (0, 1], or an error."""
    matrix = checked_csr(given, "propensity")
    if matrix.shape != shape:
        raise DataError(f"propensity must have the shape of Y, {shape}. Got {matrix.shape}.")
    if matrix.dtype.kind not in "biuf":
        raise DataError(f"propensity must hold numbers. Got dtype {matrix.dtype}.")
    matrix = matrix.astype(np.float64)  # a copy: the caller's stays as it is
    matrix.sum_duplicates()
    bad = np.flatnonzero(~((matrix.data > 0) & (matrix.data <= 1)))
    if bad.size:
        row, label = divmod(int(_positions(matrix)[bad[0]]), shape[1])
        raise DataError(
            f"Propensities must lie in (0, 1]. "
            f"Got {matrix.data[bad[0]]:g} in row {row}, label {label}."
        )
    return matrix


def propensities_of(matrix: CSR, Y: CSR) -> DoubleArray:
    """The propensity of each entry of `Y`, from a matrix that `check_entries` gave.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> Y = sp.csr_array(np.array([[1.0, 0, 1], [0, 1, 0]]))
    >>> p = check_entries(sp.csr_array(np.array([[0.5, 0.2, 0.9], [0, 1, 0]])), Y.shape)
    >>> propensities_of(p, Y).tolist()
    [0.5, 0.9, 1.0]
    """
    positions, wanted = _positions(matrix), _positions(Y)
    found = np.searchsorted(positions, wanted)
    missing = np.append(positions, -1)[found] != wanted
    if missing.any():
        row, label = divmod(int(wanted[missing][0]), Y.shape[1])
        raise DataError(
            f"propensity must have an entry wherever Y has one. "
            f"Row {row} has label {label} and no propensity of it."
        )
    return matrix.data[found]


def _positions(matrix: CSR) -> PointerArray:
    """The position of each entry in the flattened matrix."""
    return entry_rows(matrix) * matrix.shape[1] + matrix.indices
