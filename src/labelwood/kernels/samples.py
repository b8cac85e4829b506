"""Checked input of the kernel estimators, in double precision."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from labelwood.core.parallel import blocks
from labelwood.core.sparse import check_finite, checked_csr
from labelwood.core.types import CSR, AnyArray, DoubleArray
from labelwood.errors import DataError
from labelwood.kernels.functions import Samples, canonical, check_kernel_matrix

_LARGEST = 1e140  # sums of squares of such numbers are still finite
_LABELS_IN_BLOCK = 256  # right-hand sides solved together, which bounds the dense workspace


def check_samples(owner: Any, X: object, *, reset: bool = False) -> Samples:
    """X in double precision, dense or CSR by its content; a precomputed kernel is dense.

    With `reset` the owner takes its width and names from it. New samples take the form of
    the training samples, `owner.X_fit_`, if there are any.
    """
    if not reset:
        check_is_fitted(owner)
    checked = _validated(owner, X, reset)
    if getattr(owner, "kernel", None) == "precomputed":
        K = np.asarray(canonical(checked, sparse=False))
        if reset:
            check_kernel_matrix(K)
        return K
    known = None if reset else getattr(owner, "X_fit_", None)
    return canonical(checked, sparse=None if known is None else bool(sp.issparse(known)))


def check_unlabeled(owner: Any, X: object, like: Samples) -> Samples:
    """Unlabeled samples in the form of the labeled ones, of the same width."""
    return canonical(_validated(owner, X, False), sparse=bool(sp.issparse(like)))


def _validated(owner: Any, X: object, reset: bool) -> Any:
    if sp.issparse(X):
        matrix = checked_csr(X, "X")  # scikit-learn would follow indices out of bounds
        if not matrix.has_canonical_format:
            matrix = matrix.copy()  # SciPy would sum duplicates in the caller's own matrix
            matrix.sum_duplicates()
        X = matrix
    try:
        checked = validate_data(
            owner,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=np.float64,
            ensure_all_finite=False,
        )
    except ValueError as error:
        raise DataError(str(error)) from None
    if sp.issparse(checked):
        check_finite(checked, "X")
    elif not np.isfinite(checked).all():
        check_finite(sp.csr_array(checked), "X")
    _refuse_huge(checked.data if sp.issparse(checked) else checked, "X")
    return checked


def _refuse_huge(values: AnyArray, name: str) -> None:
    """Refuse numbers whose squares are beyond double precision."""
    largest = max(float(values.max(initial=0)), -float(values.min(initial=0)))
    if largest > _LARGEST:
        raise DataError(
            f"{name} holds a number of size {largest:.3g}, whose square is beyond double "
            "precision; scale it, for example by StandardScaler()."
        )


class Targets:
    """The columns to be learned, a dense block of them at a time.

    The targets are `gain` × the matrix + `shift`, so that a sparse indicator can stand for
    targets of −1 and 1 without becoming dense.
    """

    def __init__(self, matrix: DoubleArray | CSR, *, gain: float = 1.0, shift: float = 0.0) -> None:
        self._sparse = bool(sp.issparse(matrix))
        self._matrix: Any = sp.csc_array(matrix) if self._sparse else matrix
        self._gain, self._shift = gain, shift
        self.shape: tuple[int, int] = self._matrix.shape

    def block(self, columns: slice) -> DoubleArray:
        """Some columns as a dense array."""
        part = self._matrix[:, columns]
        dense = np.asarray(part.toarray() if self._sparse else part, dtype=np.float64)
        return self._gain * dense + self._shift

    def slices(self) -> list[slice]:
        """All columns, cut into blocks."""
        ranges = blocks(self.shape[1], _LABELS_IN_BLOCK)
        return [slice(one.start, one.stop) for one in ranges]


def check_targets(owner: object, y: object, n: int) -> tuple[DoubleArray | CSR, bool]:
    """Real targets as a matrix with a column for each output, and whether `y` was a vector."""
    if y is None:
        raise DataError(
            f"{type(owner).__name__} requires y to be passed, but the target y is None."
        )
    try:
        checked: Any = check_array(
            checked_csr(y, "y") if sp.issparse(y) else y,
            accept_sparse="csc",
            dtype=np.float64,
            ensure_2d=False,
            input_name="y",
        )
    except ValueError as error:
        raise DataError(str(error)) from None
    if checked.shape[0] != n:
        raise DataError(f"X has {n} rows and y has {checked.shape[0]}.")
    _refuse_huge(checked.data if sp.issparse(checked) else checked, "y")
    if checked.ndim > 2:
        raise DataError(f"y must have one or two dimensions. Got {checked.ndim}.")
    vector = checked.ndim == 1
    return (checked[:, None] if vector else checked), vector
