"""Checked CSR matrices, and their plain arrays for kernels."""

from copy import copy
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from labelwood.core.types import CSR, AnyArray, DoubleArray, FloatArray, IndexArray, PointerArray
from labelwood.errors import DataError


class CSRArrays(NamedTuple):
    """What a kernel takes of a CSR matrix: int64 pointers, uint32 indices, float32 data."""

    indptr: PointerArray
    indices: IndexArray
    data: FloatArray


def as_csr(
    X: object, *, name: str = "X", n_columns: int | None = None, allow_nan: bool = False
) -> CSR:
    """Return `X` as a float32 CSR array with sorted, unique indices and finite values.

    Nothing is copied where `X` already is that, and `X` itself is never changed.
    Dense arrays, every sparse format, other dtypes, int64 indices, unsorted or
    duplicate indices (which are summed) and read-only memory maps are accepted. With
    `allow_nan`, so is NaN, for estimators that know missing values.

    Examples
    --------
    >>> as_csr([[0, 2], [1, 0]]).indices.tolist()
    [1, 0]
    """
    if sp.issparse(X):
        matrix = checked_csr(X, name)
    else:
        dense = np.asarray(X)
        if dense.ndim != 2:
            raise DataError(f"{name} must have two dimensions. Got {dense.ndim} instead.")
        matrix = sp.csr_array(_as_float32(dense, name))
    if n_columns is not None and matrix.shape[1] != n_columns:
        raise DataError(f"{name} has {matrix.shape[1]} columns where {n_columns} are expected.")
    if matrix.data.dtype != np.float32 or matrix.indices.dtype != np.int32:
        data = _as_float32(matrix.data, name)
        matrix = make_csr(matrix.indptr, matrix.indices, data, matrix.shape)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    check_finite(matrix, name, allow_nan=allow_nan)
    return matrix


def checked_csr(matrix: Any, name: str) -> CSR:
    """Any sparse matrix as CSR; indices out of range are refused before SciPy follows them."""
    if matrix.ndim != 2:
        raise DataError(f"{name} must have two dimensions. Got {matrix.ndim} instead.")
    if matrix.format == "csr":
        check_structure(matrix, name)
    elif matrix.format == "csc":
        check_structure(matrix.T, name)
    else:
        matrix = matrix.tocoo()
        for axis, (indices, size) in enumerate(zip(matrix.coords, matrix.shape, strict=True)):
            if indices.size and (indices.min() < 0 or indices.max() >= size):
                bad = indices.min() if indices.min() < 0 else indices.max()
                what = "column" if axis else "row"
                raise DataError(f"{name} has {what} index {bad}, outside 0…{size - 1}.")
    return sp.csr_array(matrix)


def make_csr(indptr: AnyArray, indices: AnyArray, data: AnyArray, shape: tuple[int, int]) -> CSR:
    """A CSR matrix of these arrays, with 32-bit indices wherever they suffice.

    SciPy's sparse arrays keep the wider of the index types they are given, which
    costs memory and a conversion at every call of a kernel.
    """
    small = max(*shape, indices.size) <= np.iinfo(np.int32).max
    dtype = np.int32 if small else np.int64
    parts = (data, indices.astype(dtype, copy=False), indptr.astype(dtype, copy=False))
    return sp.csr_array(parts, shape=shape)


def cuts(pointers: AnyArray, n: int, end: int) -> bool:
    """Whether the pointers cut `end` things into `n` pieces, one after the other.

    They are compared, as differences of extreme numbers would wrap.
    """
    return bool(
        pointers.size == n + 1
        and pointers[0] == 0
        and pointers[-1] == end
        and np.all(pointers[1:] >= pointers[:-1])
    )


def check_structure(matrix: Any, name: str) -> None:
    """Refuse a CSR matrix whose pointers or indices would send a kernel out of bounds."""
    indptr, indices = matrix.indptr, matrix.indices
    if (
        indptr.size == 0
        or not cuts(indptr, matrix.shape[0], indptr[-1])
        or indptr[-1] > min(indices.size, matrix.data.size)
    ):
        raise DataError(f"{name} is not a valid CSR matrix: its row pointers are inconsistent.")
    used = indices[: indptr[-1]]
    if used.size and (used.min() < 0 or used.max() >= matrix.shape[1]):
        bad = used.min() if used.min() < 0 else used.max()
        raise DataError(f"{name} has column index {bad}, outside 0…{matrix.shape[1] - 1}.")


def check_finite(matrix: CSR, name: str, *, allow_nan: bool = False) -> None:
    """Refuse NaN (unless allowed) and infinite values, naming the first one's place."""
    # The sum is finite unless a value is not (or the sum overflows): one cheap pass.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(matrix.data.sum(dtype=np.float64)):
            return
    bad = np.flatnonzero(np.isinf(matrix.data) if allow_nan else ~np.isfinite(matrix.data))
    if bad.size == 0:
        return
    row = int(np.searchsorted(matrix.indptr, bad[0], side="right")) - 1
    value = "NaN" if np.isnan(matrix.data[bad[0]]) else "infinity"
    column = matrix.indices[bad[0]]
    raise DataError(
        f"{name} contains {value} (row {row}, column {column}); remove or impute such values."
    )


class _Alias:
    """The memory of a read-only array, offered as one that may be written to."""

    def __init__(self, array: AnyArray) -> None:
        self._array = array  # which owns the memory
        self.__array_interface__ = {**array.__array_interface__, "data": (array.ctypes.data, False)}


def _as_if_writable(array: AnyArray) -> AnyArray:
    # Numba would compile every kernel once more for read-only arrays, which is what pandas, joblib
    # and memory maps hand out. No kernel writes into its input: the contract tests compare it.
    return array if array.flags.writeable else np.asarray(_Alias(array))


def csr_arrays(matrix: CSR) -> CSRArrays:
    """Plain arrays of a matrix from `as_csr`; indices and data are not copied."""
    indices = matrix.indices
    if indices.dtype == np.int32:
        unsigned = _as_if_writable(indices).view(np.uint32)
    else:
        if matrix.shape[1] > np.iinfo(np.uint32).max:
            raise DataError(f"{matrix.shape[1]} columns: at most 2³² − 1 are supported.")
        unsigned = indices.astype(np.uint32)
    indptr = _as_if_writable(matrix.indptr).astype(np.int64, copy=False)
    return CSRArrays(indptr, unsigned, _as_if_writable(matrix.data))


def compact_columns(matrix: CSR, *, commonest_first: bool = False) -> tuple[CSRArrays, IndexArray]:
    """The matrix without unused columns, and which are left: in order or the commonest first.

    Examples
    --------
    >>> arrays, columns = compact_columns(as_csr([[0, 1, 0, 2], [0, 0, 0, 3]]))
    >>> arrays.indices.tolist(), columns.tolist()
    ([0, 1, 1], [1, 3])
    """
    indptr, indices, data = csr_arrays(matrix)
    if not commonest_first and matrix.nnz < matrix.shape[1] // 32:
        # Sorting is quicker than a pass over all columns.
        found, places = np.unique(indices, return_inverse=True)
        return CSRArrays(indptr, places.astype(np.uint32), data), found
    if commonest_first:
        counts = np.bincount(matrix.indices, minlength=matrix.shape[1])
        order = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
    else:
        used = np.zeros(matrix.shape[1], dtype=bool)
        used[indices] = True
        order = np.flatnonzero(used)
    columns = order.astype(np.uint32)
    place = np.zeros(matrix.shape[1], dtype=np.uint32)
    place[columns] = np.arange(columns.size, dtype=np.uint32)
    return CSRArrays(indptr, place[indices], data), columns


def row_blocks(matrix: CSR, size: int = 256) -> list[slice]:
    """All rows, cut into slices for threads; at least one, so that no row is no special case."""
    n = matrix.shape[0]
    return [slice(start, min(start + size, n)) for start in range(0, max(n, 1), size)]


def some_rows(arrays: CSRArrays, rows: slice) -> CSRArrays:
    """A slice of rows, without a copy: pointers keep counting from the start of all rows."""
    return CSRArrays(arrays.indptr[rows.start : rows.stop + 1], arrays.indices, arrays.data)


def entry_rows(matrix: CSR) -> PointerArray:
    """The row of each stored entry.

    Examples
    --------
    >>> entry_rows(as_csr([[0, 2], [0, 0], [1, 3]])).tolist()
    [0, 2, 2]
    """
    return np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr))


def row_squares(matrix: CSR) -> DoubleArray:
    """Squared length of each row."""
    rows = entry_rows(matrix)
    squares = np.square(matrix.data, dtype=np.float64)
    return np.bincount(rows, squares, minlength=matrix.shape[0]).astype(np.float64, copy=False)


def row_numbers(rows: ArrayLike | None, n_rows: int, *, name: str = "rows") -> IndexArray:
    """`rows` as unsigned numbers below `n_rows`; None means all, a mask is as good as numbers."""
    if rows is None:
        return np.arange(n_rows, dtype=np.uint32)
    chosen = np.asarray(rows)
    if chosen.dtype == bool and chosen.shape == (n_rows,):
        return np.flatnonzero(chosen).astype(np.uint32)
    if chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "iu"):
        raise DataError(f"{name} must be a list of row numbers, or a mask of all rows.")
    if chosen.size and (chosen.min() < 0 or chosen.max() >= n_rows):
        raise DataError(f"{name} must be numbers in 0…{n_rows - 1}.")
    return chosen.astype(np.uint32)


def unit_rows(matrix: CSR) -> CSR:
    """Rows scaled to Euclidean length one (empty rows stay empty)."""
    lengths = np.sqrt(row_squares(matrix))
    lengths[lengths == 0] = 1
    # SciPy would check the structure again, which takes longer than to score a single row.
    scaled = copy(matrix)
    scaled.data = (matrix.data / np.repeat(lengths, np.diff(matrix.indptr))).astype(np.float32)
    return scaled


def _as_float32(values: AnyArray, name: str) -> FloatArray:
    if values.dtype.kind == "c":
        raise DataError(f"Complex data not supported: {name} has dtype {values.dtype}.")
    try:
        with np.errstate(over="ignore"):
            return values.astype(np.float32, copy=False)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} must hold numbers: {error}.") from None
