"""Non-zero entries of a matrix in the order in which splits are searched, and their partition.

An entry is a row, a feature and a value. All entries are sorted by feature once, and those of a
feature by value when its thresholds are first searched. A node of a tree owns a contiguous part
of them, which stays sorted when it is divided: a split search reads the non-zeros of a node.
"""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from labelwood.core._order_kernels import stable_order
from labelwood.core.allocation import empty, zeros
from labelwood.core.kernel import exact_kernel, kernel
from labelwood.core.types import FloatArray, IndexArray, PointerArray

BoolArray: TypeAlias = NDArray[np.bool_]


# Below so many values a merge sort is quicker than three passes with 2,048 counters each.
_RADIX_LENGTH = 1_024


class Entries(NamedTuple):
    """Rows, features and values of non-zeros, sorted by feature; sorted by value where needed."""

    rows: IndexArray
    features: IndexArray
    values: FloatArray


@exact_kernel
def entries_by_feature(
    indptr: PointerArray,
    indices: IndexArray,
    data: FloatArray,
    keep_row: BoolArray,
    n_features: int,
) -> tuple[Entries, BoolArray]:
    """Entries of the kept rows of a CSR matrix without its stored zeros, sorted by feature.

    Also tells which features have only positive values, none of them missing. The order is that
    of a stable counting sort: its cost is linear in the non-zeros.
    """
    starts = zeros(n_features + 1, np.int64)
    positive = np.ones(n_features, dtype=np.bool_)
    for row in range(indptr.size - 1):
        if keep_row[row]:
            for i in range(indptr[row], indptr[row + 1]):
                starts[indices[i] + 1] += data[i] != 0
                if not data[i] >= 0:  # NaN too
                    positive[indices[i]] = False
    for feature in range(n_features):
        starts[feature + 1] += starts[feature]
    n = starts[n_features]
    rows = empty(n, np.uint32)
    features = empty(n, np.uint32)
    values = empty(n, np.float32)
    for row in range(indptr.size - 1):
        if keep_row[row]:
            for i in range(indptr[row], indptr[row + 1]):
                if data[i] != 0:
                    place = starts[indices[i]]
                    starts[indices[i]] = place + 1
                    rows[place] = row
                    features[place] = indices[i]
                    values[place] = data[i]
    return Entries(rows, features, values), positive


@exact_kernel
def sort_segment(entries: Entries, first: int, after: int) -> None:
    """Sort the entries of one feature by value in place, NaN last, if they are not yet."""
    values = entries.values
    i = first + 1
    # Counts and presences are often in order already, and partitions keep the order: the check
    # costs less than the sort that it saves.
    while i < after and (values[i - 1] <= values[i] or np.isnan(values[i])):
        i += 1
    if i >= after:
        return
    order = _order_by_value(values[first:after])
    rows, sorted_values = entries.rows[first:after].copy(), values[first:after].copy()
    for i in range(after - first):
        entries.rows[first + i] = rows[order[i]]
        values[first + i] = sorted_values[order[i]]


@exact_kernel
def sort_all(entries: Entries) -> None:
    """Sort the entries of every feature by value."""
    first = 0
    while first < entries.rows.size:
        after = first
        while after < entries.rows.size and entries.features[after] == entries.features[first]:
            after += 1
        sort_segment(entries, first, after)
        first = after


@exact_kernel
def _order_by_value(values: FloatArray) -> IndexArray:
    """A stable ordering of float32 values, ascending, NaN last: radix sort for long arrays."""
    n = values.size
    bits = values.view(np.uint32)
    keys = empty(n, np.uint32)
    for i in range(n):
        # The keys keep the order of the values: a negative number has all bits flipped, another its
        # sign bit. All NaNs share one key, beyond infinity, whatever their payload.
        if np.isnan(values[i]):
            keys[i] = 0xFFFFFFFF
        elif bits[i] >> 31:
            keys[i] = ~bits[i]
        else:
            keys[i] = bits[i] | np.uint32(0x80000000)
    order, other = empty(n, np.uint32), empty(n, np.uint32)
    if n < _RADIX_LENGTH:
        merged = stable_order(keys)
        for i in range(n):
            order[i] = merged[i]
        return order
    for i in range(n):
        order[i] = i
    counts = empty(2049, np.int64)
    # Three stable passes over 11, 11 and 10 bits order 32-bit keys, the lowest bits first.
    for shift in (0, 11, 22):
        counts[:] = 0
        for i in range(n):
            counts[((keys[i] >> shift) & 2047) + 1] += 1
        if n == 0 or counts.max() == n:
            continue  # All keys agree in these bits, as those of binary features do.
        for digit in range(2048):
            counts[digit + 1] += counts[digit]
        for i in range(n):
            digit = (keys[order[i]] >> shift) & 2047
            other[counts[digit]] = order[i]
            counts[digit] += 1
        order, other = other, order
    return order


@kernel
def select_rows(entries: Entries, keep_row: BoolArray) -> Entries:
    """The entries of some rows, in their order."""
    n = 0
    for i in range(entries.rows.size):
        n += keep_row[entries.rows[i]]
    rows = empty(n, np.uint32)
    features = empty(n, np.uint32)
    values = empty(n, np.float32)
    n = 0
    for i in range(entries.rows.size):
        if keep_row[entries.rows[i]]:
            rows[n], features[n] = entries.rows[i], entries.features[i]
            values[n] = entries.values[i]
            n += 1
    return Entries(rows, features, values)


@exact_kernel
def mark_sides(
    entries: Entries,
    start: int,
    end: int,
    rows: IndexArray,
    left: BoolArray,
    zero_left: bool,
    threshold: float,
    missing_left: bool,
    mask: IndexArray,
) -> None:
    """Write into `left` on which side of a split each of a node's `rows` falls.

    `start` and `end` bound the entries of the split's feature in the node; rows without an
    entry have the value 0. `mask` holds the categories that go left as bits; it is empty for
    a numeric feature.
    """
    for i in range(rows.size):
        left[rows[i]] = zero_left
    for i in range(start, end):
        value = entries.values[i]
        if np.isnan(value):
            side = missing_left
        elif mask.size:
            category = np.int64(value)
            side = (mask[category >> 5] >> np.uint32(category & 31)) & 1 == 1
        else:
            side = value <= threshold
        left[entries.rows[i]] = side


@kernel
def partition_rows(rows: IndexArray, left: BoolArray, buffer: IndexArray) -> int:
    """Move the rows of the left side to the front, keeping the order on both sides."""
    n_left = n_right = 0
    for i in range(rows.size):
        row = rows[i]
        # A branch on the side would be unpredictable: both places are written, and one advances.
        rows[n_left] = row
        buffer[n_right] = row
        side = left[row]
        n_left += side
        n_right += not side
    for i in range(n_right):
        rows[n_left + i] = buffer[i]
    return n_left


@kernel
def partition_entries(
    entries: Entries, start: int, end: int, left: BoolArray, buffer: Entries
) -> int:
    """The same for the entries of a node; both sides stay sorted. Where the right side starts."""
    place, n_right = start, 0
    for i in range(start, end):
        # Sides of text are lopsided and so predictable: a branch beats writing to both places.
        row = entries.rows[i]
        if left[row]:
            entries.rows[place] = row
            entries.features[place] = entries.features[i]
            entries.values[place] = entries.values[i]
            place += 1
        else:
            buffer.rows[n_right] = row
            buffer.features[n_right] = entries.features[i]
            buffer.values[n_right] = entries.values[i]
            n_right += 1
    for i in range(n_right):
        entries.rows[place + i] = buffer.rows[i]
        entries.features[place + i] = buffer.features[i]
        entries.values[place + i] = buffer.values[i]
    return place
