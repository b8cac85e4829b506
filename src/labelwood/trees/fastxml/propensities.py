"""Propensities as a parameter: for each label, or for each entry of the training labels."""

import numpy as np
import scipy.sparse as sp

from labelwood.core.propensity import Propensity, check_propensity
from labelwood.core.sparse import checked_csr, entry_rows
from labelwood.core.types import CSR, DoubleArray, PointerArray
from labelwood.errors import DataError

_LEAST = 1e-9  # sums of inverse propensities stay far below the largest float32


class PropensityValues:
    """The constraint of the parameter: whatever holds numbers; `fit` checks them."""

    def accepts(self, value: object) -> bool:
        """Whether `value` can be an array or a sparse matrix."""
        return isinstance(value, (list, tuple)) or sp.issparse(value) or hasattr(value, "__array__")

    def parse(self, text: str) -> object:
        """Never: arrays cannot be written on a command line."""
        raise ValueError(text)

    def __str__(self) -> str:
        return "an array, a Propensity or a sparse matrix"


def label_propensities(given: object, Y: CSR) -> Propensity | DoubleArray:
    """One propensity for each label: ones for None, estimated from the labels, or as given."""
    n, n_labels = Y.shape
    if given is None:
        return np.ones(n_labels)
    if isinstance(given, str):  # "estimate", by the parameter's constraint
        given = Propensity(np.bincount(Y.indices, minlength=n_labels), n)
    values = check_label_propensities(given, n_labels)
    return given if isinstance(given, Propensity) else values


def check_label_propensities(given: object, n_labels: int) -> DoubleArray:
    """`given` as an array of `n_labels` propensities, none of them too small to be divided by."""
    values = check_propensity(given, n_labels)
    _refuse_tiny(values)
    return values


def entry_propensities(given: object, Y: CSR) -> DoubleArray:
    """The propensity of each entry of Y, from a sparse matrix that holds one for each.

    Examples
    --------
    >>> Y = sp.csr_array(np.array([[1.0, 0, 1], [0, 1, 0]]))
    >>> entry_propensities(sp.csr_array(np.array([[0.5, 0.2, 0.9], [0, 1, 0]])), Y).tolist()
    [0.5, 0.9, 1.0]
    """
    matrix = _checked_entries(given, Y.shape)
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


def _checked_entries(given: object, shape: tuple[int, int]) -> CSR:
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
    _refuse_tiny(matrix.data)
    return matrix


def _positions(matrix: CSR) -> PointerArray:
    """The position of each entry in the flattened matrix."""
    rows = entry_rows(matrix)
    return rows * matrix.shape[1] + matrix.indices


def _refuse_tiny(values: DoubleArray) -> None:
    if values.min(initial=1) < _LEAST:
        raise DataError(f"Propensities must be at least {_LEAST:g}. Got {values.min():g}.")
