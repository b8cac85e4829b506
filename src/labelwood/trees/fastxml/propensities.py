"""Propensities as a parameter: for each label, or for each entry of the training labels."""

import numpy as np
import scipy.sparse as sp

from labelwood.core.entry_propensity import check_entries, propensities_of
from labelwood.core.propensity import Propensity, check_propensity
from labelwood.core.types import CSR, DoubleArray
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
    matrix = check_entries(given, Y.shape)
    _refuse_tiny(matrix.data)
    return propensities_of(matrix, Y)


def _refuse_tiny(values: DoubleArray) -> None:
    if values.min(initial=1) < _LEAST:
        raise DataError(f"Propensities must be at least {_LEAST:g}. Got {values.min():g}.")
