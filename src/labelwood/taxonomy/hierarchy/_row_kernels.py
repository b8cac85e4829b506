"""Stored rows against a dense vector: dot products, sums, and back to zero."""

from labelwood.core.kernel import kernel
from labelwood.core.types import AnyArray, DoubleArray, FloatArray, IndexArray, PointerArray


@kernel
def dot(
    indptr: PointerArray, indices: IndexArray, data: FloatArray, row: int, dense: DoubleArray
) -> float:
    """Row times `dense`."""
    total = 0.0
    for at in range(indptr[row], indptr[row + 1]):
        total += data[at] * dense[indices[at]]
    return total


@kernel
def add(
    indptr: PointerArray,
    indices: IndexArray,
    data: FloatArray,
    row: int,
    factor: float,
    dense: DoubleArray,
) -> None:
    """Add `factor` times the row to `dense`."""
    for at in range(indptr[row], indptr[row + 1]):
        dense[indices[at]] += factor * data[at]


@kernel
def clear(indptr: PointerArray, indices: IndexArray, row: int, dense: DoubleArray) -> None:
    """Set `dense` to zero where the row is not."""
    for at in range(indptr[row], indptr[row + 1]):
        dense[indices[at]] = 0


@kernel
def add_all(
    indptr: PointerArray,
    indices: IndexArray,
    data: FloatArray,
    rows: AnyArray,
    factors: DoubleArray,
    n: int,
    dense: DoubleArray,
) -> None:
    """Add the first `n` rows, each times its factor, in their order."""
    for i in range(n):
        add(indptr, indices, data, rows[i], factors[i], dense)
