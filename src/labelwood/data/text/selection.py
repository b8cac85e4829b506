"""Which candidates become features."""

from numbers import Integral

import numpy as np

from labelwood.core.sparse import csr_arrays, make_csr
from labelwood.core.types import CSR, DoubleArray, PointerArray
from labelwood.data.text._selection_kernels import chi_squared
from labelwood.data.text.counting import Candidates, RowCounts


def within_frequencies(df: PointerArray, n: int, min_df: float, max_df: float) -> PointerArray:
    """Candidates in at least `min_df` documents (a share when below 1) and `max_df · n` at most."""
    least = min_df if isinstance(min_df, Integral) else min_df * n
    return np.flatnonzero((df >= least) & (df <= max_df * n))


def most_frequent(df: PointerArray, chosen: PointerArray, limit: int) -> PointerArray:
    """The `limit` of largest document frequency; of equal ones those first in `chosen`."""
    order = np.argsort(-df[chosen], kind="stable")[:limit]
    return np.sort(order)


def most_associated(scores: DoubleArray, limit: int) -> PointerArray:
    """The places of the `limit` largest scores, in order; of equal ones the first."""
    return np.sort(np.argsort(-scores, kind="stable")[:limit])


def chi_squared_scores(
    candidates: Candidates, chosen: PointerArray, Y: CSR, n_fields: int
) -> DoubleArray:
    """For each candidate the largest χ² statistic of its presence with any label.

    Only labels that occur together with the candidate are looked at (Yang & Pedersen, ICML
    1997, χ²_max, less the labels that it never meets).
    """
    number = np.full(candidates.n, -1, np.int64)
    number[chosen] = np.arange(chosen.size)
    presence = _presence(candidates.rows, number, n_fields, chosen.size)
    labels = csr_arrays(Y)
    label_counts = np.bincount(Y.indices, minlength=Y.shape[1]).astype(np.int64)
    return chi_squared(
        presence.indptr.astype(np.int64),
        presence.indices.view(np.uint32),
        labels.indptr,
        labels.indices,
        label_counts,
    )


def _presence(rows: list[RowCounts], number: PointerArray, n_fields: int, width: int) -> CSR:
    """Candidates by the documents that have them."""
    documents, columns = [], []
    first = 0
    for part in rows:
        n_rows = part.ptr.size - 1
        document = np.repeat(np.arange(n_rows) // n_fields, np.diff(part.ptr)) + first
        column = number[part.ids]
        documents.append(document[column >= 0])
        columns.append(column[column >= 0])
        first += n_rows // n_fields
    row, column = np.concatenate(columns), np.concatenate(documents)
    order = np.argsort(row, kind="stable")
    ptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=width))])
    matrix = make_csr(ptr, column[order], np.ones(row.size, np.float32), (width, first))
    matrix.sum_duplicates()  # a term in several fields is there once
    return matrix
