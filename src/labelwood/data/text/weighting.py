"""Counts turned into rows: tf, idf, length one; blocks and fields weighted and joined."""

import warnings
from collections.abc import Sequence
from copy import copy
from functools import lru_cache

import numpy as np

from labelwood.core.caller import user_stacklevel
from labelwood.core.names import count
from labelwood.core.parallel import parallel
from labelwood.core.sparse import CSRArrays, make_csr
from labelwood.core.types import CSR, DoubleArray, FloatArray, IndexArray, PointerArray
from labelwood.data.text._weight_kernels import (
    add_fields,
    join_rows,
    kept_per_row,
    scale_rows,
    weigh_rows,
)
from labelwood.data.text.counting import RowCounts
from labelwood.errors import LabelwoodWarning

_LARGEST_INT32 = 2**31 - 1


def inverse_frequencies(df: PointerArray, n: int, use_idf: bool) -> FloatArray:
    """1 + log((1 + n) / (1 + df)), as scikit-learn smooths it, or ones."""
    if not use_idf:
        return np.ones(df.size, np.float32)
    values: DoubleArray = np.log((1.0 + n) / (1.0 + df)) + 1.0
    return values.astype(np.float32)


def weigh_counts(
    rows: list[RowCounts], kept: IndexArray, idf: FloatArray, sublinear: bool, n_jobs: int | None
) -> CSRArrays:
    """All rows with the columns `kept - 1`, each of length one; `rows` is emptied on the way.

    The arrays are filled segment by segment while the counts are given back, so that the
    texts' counts are never in memory twice.
    """
    sizes = parallel(lambda part: kept_per_row(part.ptr, part.ids, kept), rows, n_jobs=n_jobs)
    ptr = np.zeros(sum(size.size for size in sizes) + 1, np.int64)
    np.cumsum(np.concatenate(sizes), out=ptr[1:])
    columns, data = np.empty(ptr[-1], np.uint32), np.empty(ptr[-1], np.float32)
    starts = np.cumsum([0, *(size.size for size in sizes)]).tolist()

    def fill(part: int) -> None:
        counts = rows[part]
        out = ptr[starts[part] : starts[part + 1]]
        times = counts.counts.astype(np.uint32)
        weigh_rows(counts.ptr, counts.ids, times, kept, idf, sublinear, out, columns, data)
        rows[part] = RowCounts(counts.ptr, columns[:0], columns[:0])

    parallel(fill, range(len(rows)), n_jobs=n_jobs)
    rows.clear()
    return CSRArrays(ptr, columns, data)


def join_fields(rows: CSRArrays, weights: FloatArray) -> CSRArrays:
    """Rows of documents from rows of fields: the weighted sum, of length one again."""
    joined = CSRArrays(*add_fields(*rows, weights))
    scale_rows(joined.indptr, joined.data)
    return joined


def join_blocks(
    blocks: Sequence[CSRArrays], widths: Sequence[int], weights: Sequence[float]
) -> CSRArrays:
    """Blocks side by side, each times its weight; rows of length one again."""
    joined, width = blocks[0], widths[0]
    if len(blocks) == 1:
        return joined
    # Rows are scaled at the end, so that only ratios matter: none is beyond single precision.
    largest = max(weights)
    factor = weights[0] / largest
    for block, own_width, weight in zip(blocks[1:], widths[1:], weights[1:], strict=True):
        joined = CSRArrays(*join_rows(*joined, factor, *block, weight / largest, width))
        width += own_width
        factor = 1.0
    scale_rows(joined.indptr, joined.data)
    return joined


def warn_of_empty_rows(indptr: PointerArray) -> None:
    """Warn once of texts without a known feature."""
    filled = indptr[1:] > indptr[:-1]
    if filled.all():
        return
    empty = filled.size - int(np.count_nonzero(filled))
    verb = "has" if empty == 1 else "have"
    place = f"row {int(np.argmin(filled)) + 1} of the data"
    # Rows are counted from 1, as lines of files are.
    warnings.warn(
        f"{empty:,} of {count(filled.size, 'text')} {verb} no known feature "
        f"({place if empty == 1 else f'the first is {place}'}); "
        f"{'its row is' if empty == 1 else 'their rows are'} zero.",
        LabelwoodWarning,
        stacklevel=user_stacklevel(),
    )


def as_matrix(rows: CSRArrays, width: int) -> CSR:
    """The rows as a SciPy matrix, without a copy."""
    n = rows.indptr.size - 1
    if max(n, width, rows.indices.size) > _LARGEST_INT32:
        return make_csr(rows.indptr, rows.indices, rows.data, (n, width))
    if n == 1:  # SciPy takes longer to check a matrix than it takes to make this row
        matrix = copy(_empty_row(width))
        matrix.data, matrix.indices = rows.data, rows.indices.view(np.int32)
        matrix.indptr = rows.indptr.astype(np.int32)
    else:
        matrix = make_csr(rows.indptr, rows.indices.view(np.int32), rows.data, (n, width))
    matrix.has_canonical_format = True  # rows are sorted without duplicates
    return matrix


@lru_cache(maxsize=16)
def _empty_row(width: int) -> CSR:
    return CSR((1, width), dtype=np.float32)
