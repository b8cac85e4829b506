"""Counts of terms turned into weighted, sorted rows of length one, and rows joined."""

import numpy as np

from labelwood.core._order_kernels import sort_keys
from labelwood.core.allocation import empty, zeros
from labelwood.core.kernel import kernel
from labelwood.core.types import FloatArray, IndexArray, PointerArray

_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


@kernel
def kept_per_row(ptr: PointerArray, ids: IndexArray, kept: IndexArray) -> PointerArray:
    """How many entries of each row have a column; `kept` is the column of a term, plus one."""
    n = ptr.size - 1
    sizes = zeros(n, np.int64)
    for row in range(n):
        for p in range(ptr[row], ptr[row + 1]):
            sizes[row] += kept[ids[p]] != 0
    return sizes


@kernel
def weigh_rows(
    ptr: PointerArray,
    ids: IndexArray,
    counts: IndexArray,
    kept: IndexArray,
    idf: FloatArray,
    sublinear: bool,
    out_ptr: PointerArray,
    columns: IndexArray,
    weights: FloatArray,
) -> None:
    """Write each row to `columns` and `weights` from `out_ptr[row]` on.

    A weight is (1 + log count) · idf, or count · idf, and the row is scaled to length one.
    `kept` is as in `kept_per_row`; when it is empty, terms are columns.
    """
    n = ptr.size - 1
    largest = 0
    for row in range(n):
        largest = max(largest, ptr[row + 1] - ptr[row])
    keys = empty(largest, np.uint64)
    for row in range(n):
        size = 0
        for p in range(ptr[row], ptr[row + 1]):
            column = np.uint64(ids[p])
            if kept.size:
                if kept[column] == 0:
                    continue
                column = np.uint64(kept[column] - np.uint32(1))
            # With columns in the upper half, one sort of numbers orders a row with its counts.
            keys[size] = (column << _HALF) | np.uint64(counts[p])
            size += 1
        sort_keys(keys[:size])
        q = out_ptr[row]
        # The length is summed in double precision, before the weights are rounded to single.
        total = 0.0
        for k in range(size):
            column, count = keys[k] >> _HALF, np.float64(keys[k] & _LOW)
            # Most terms occur once in a text, where the logarithm is zero and need not be taken.
            if sublinear and count > 1.0:
                count = 1.0 + np.log(count)
            weight = count * np.float64(idf[column])
            columns[q + k] = column
            weights[q + k] = weight
            total += weight * weight
        if total > 0:
            scale = 1.0 / np.sqrt(total)
            for k in range(q, q + size):
                weights[k] = weights[k] * scale


@kernel
def join_rows(
    left_ptr: PointerArray,
    left_columns: IndexArray,
    left: FloatArray,
    left_weight: float,
    right_ptr: PointerArray,
    right_columns: IndexArray,
    right: FloatArray,
    right_weight: float,
    shift: int,
) -> tuple[PointerArray, IndexArray, FloatArray]:
    """The rows side by side, each side times its weight; right columns start at `shift`."""
    n = left_ptr.size - 1
    ptr = empty(n + 1, np.int64)
    for row in range(n + 1):
        ptr[row] = left_ptr[row] + right_ptr[row]
    columns = empty(ptr[n], np.uint32)
    data = empty(ptr[n], np.float32)
    for row in range(n):
        q = ptr[row]
        for p in range(left_ptr[row], left_ptr[row + 1]):
            columns[q], data[q] = left_columns[p], left[p] * left_weight
            q += 1
        for p in range(right_ptr[row], right_ptr[row + 1]):
            columns[q], data[q] = right_columns[p] + np.uint32(shift), right[p] * right_weight
            q += 1
    return ptr, columns, data


@kernel
def add_fields(
    ptr: PointerArray, columns: IndexArray, data: FloatArray, weights: FloatArray
) -> tuple[PointerArray, IndexArray, FloatArray]:
    """Sums of as many rows in a row as there are weights, each times its weight."""
    n_fields = weights.size
    n = (ptr.size - 1) // n_fields
    out_ptr = zeros(n + 1, np.int64)
    out_columns = empty(columns.size, np.uint32)
    out = empty(columns.size, np.float32)
    m = 0
    at = empty(n_fields, np.int64)
    for row in range(n):
        for f in range(n_fields):
            at[f] = ptr[row * n_fields + f]
        while True:
            # The rows of all fields are sorted, so that the least column that is next in a field
            # follows; its search starts beyond all columns, which have 32 bits.
            least = np.int64(1) << 40
            for f in range(n_fields):
                if at[f] < ptr[row * n_fields + f + 1]:
                    least = min(least, np.int64(columns[at[f]]))
            if least == np.int64(1) << 40:
                break
            total = 0.0
            for f in range(n_fields):
                if at[f] < ptr[row * n_fields + f + 1] and columns[at[f]] == least:
                    total += weights[f] * data[at[f]]
                    at[f] += 1
            out_columns[m], out[m] = least, total
            m += 1
        out_ptr[row + 1] = m
    return out_ptr, out_columns[:m].copy(), out[:m].copy()


@kernel
def scale_rows(ptr: PointerArray, data: FloatArray) -> None:
    """Scale rows to length one, in place; rows without an entry stay as they are."""
    for row in range(ptr.size - 1):
        total = 0.0
        for p in range(ptr[row], ptr[row + 1]):
            total += np.float64(data[p]) * data[p]
        if total > 0:
            scale = 1.0 / np.sqrt(total)
            for p in range(ptr[row], ptr[row + 1]):
                data[p] = data[p] * scale
