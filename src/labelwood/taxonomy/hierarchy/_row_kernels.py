"""Rows of a CSR matrix against a dense vector, and the columns of a node's counts."""

from labelwood.core.kernel import kernel
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import AnyArray, DoubleArray

SUPPORT, PENDING, SEEN, POSITIVE, SELECTED = 0, 1, 2, 3, 4
"""Columns of the counts: examples kept, pending rank-one terms, examples seen, positive examples,
and examples that were kept or dropped by a rule that looks at their labels."""
N_COUNTS = 5


@kernel
def dot(matrix: CSRArrays, row: int, dense: DoubleArray) -> float:
    """Row times `dense`."""
    total = 0.0
    for at in range(matrix.indptr[row], matrix.indptr[row + 1]):
        total += matrix.data[at] * dense[matrix.indices[at]]
    return total


@kernel
def add(matrix: CSRArrays, row: int, factor: float, dense: DoubleArray) -> None:
    """Add `factor` times the row to `dense`."""
    for at in range(matrix.indptr[row], matrix.indptr[row + 1]):
        dense[matrix.indices[at]] += factor * matrix.data[at]


@kernel
def clear(matrix: CSRArrays, row: int, dense: DoubleArray) -> None:
    """Set `dense` to zero on the features of the row."""
    # Clearing the features of one row costs its non-zeros, not the width of `dense`.
    for at in range(matrix.indptr[row], matrix.indptr[row + 1]):
        dense[matrix.indices[at]] = 0


@kernel
def add_all(
    matrix: CSRArrays, rows: AnyArray, factors: DoubleArray, n: int, dense: DoubleArray
) -> None:
    """Add the first `n` of `rows`, each times its factor, in this order."""
    for i in range(n):
        add(matrix, rows[i], factors[i], dense)
