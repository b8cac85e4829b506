"""Sorting and selection inside kernels.

Numba's `np.partition`, `np.argsort` and `np.concatenate` are generic and take seconds to compile;
these few lines take tenths of a second and give the same results to the bit.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelwood.core.allocation import empty, zeros
from labelwood.core.kernel import exact_kernel

_ONE = np.uint64(1)
_RUN = 16  # runs of this length are sorted by insertion, which is quicker than merging there


@exact_kernel
def nth_smallest(values: Any, n: int) -> Any:
    """The n-th smallest of `values`, counted from 0; rearranges them (Hoare 1961, FIND)."""
    low, high = 0, values.size - 1
    while low < high:
        pivot = values[(low + high) >> 1]
        i, j = low, high
        while i <= j:
            # Both scans stop at values that equal the pivot, so that a run of them is halved too.
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        # Now values[low : j + 1] ≤ pivot ≤ values[i : high + 1], and those between equal it.
        if n <= j:
            high = j
        elif n >= i:
            low = i
        else:
            break
    return values[n]


@exact_kernel
def stable_order(keys: Any) -> NDArray[np.int64]:
    """The places of the keys in ascending order, equal ones as they stand (merge sort)."""
    n = keys.size
    order, spare = empty(n, np.int64), empty(n, np.int64)
    for k in range(n):
        start = k - k % _RUN
        place = k
        # The comparison is strict, so that equal keys are not exchanged.
        while place > start and keys[order[place - 1]] > keys[k]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = k
    width = _RUN
    while width < n:
        left = 0
        while left < n:
            middle, stop = min(left + width, n), min(left + 2 * width, n)
            i, j = left, middle
            for k in range(left, stop):
                if j >= stop or (i < middle and keys[order[i]] <= keys[order[j]]):
                    spare[k] = order[i]
                    i += 1
                else:
                    spare[k] = order[j]
                    j += 1
            left = stop
        order, spare = spare, order
        width *= 2
    return order


@exact_kernel
def resized(values: Any, size: int) -> Any:
    """The first numbers of `values` in a new array of `size` places; the rest is undefined."""
    larger = empty(size, values.dtype)
    for k in range(min(size, values.size)):
        larger[k] = values[k]
    return larger


@exact_kernel
def sort_keys(keys: NDArray[np.uint64]) -> None:
    """Sort in place: distribute by leading bits, then insertion sort.

    Several times as fast as NumPy's sort on the few hundred keys of a node. Where most keys fell
    into a few buckets, insertion would be quadratic, and a heap sort takes over.
    """
    n = keys.size
    if n > 16:
        _distribute(keys)
    moves = 0
    for a in range(1, n):
        key, b = keys[a], a
        while b > 0 and keys[b - 1] > key:
            keys[b] = keys[b - 1]
            b -= 1
        keys[b] = key
        moves += a - b
        if moves > 32 * n:
            _heap_sort(keys)
            return


@exact_kernel
def _distribute(keys: NDArray[np.uint64]) -> None:
    """Bring keys into the order of about 2n buckets of equal width."""
    n = keys.size
    low, high = keys[0], keys[0]
    for a in range(1, n):
        low, high = min(low, keys[a]), max(high, keys[a])
    shift = np.uint64(0)
    # The width of a bucket is a power of two, so that a shift finds it and no division is needed.
    while (high - low) >> shift >= np.uint64(2 * n):
        shift += _ONE
    starts = zeros(2 * n + 1, np.uint32)
    for a in range(n):
        # Counts stand one place further on: their running sums are then where the buckets start.
        starts[((keys[a] - low) >> shift) + _ONE] += np.uint32(1)
    for b in range(2 * n):
        starts[b + 1] += starts[b]
    unsorted = keys.copy()
    for a in range(n):
        b = (unsorted[a] - low) >> shift
        keys[starts[b]] = unsorted[a]
        starts[b] += np.uint32(1)


@exact_kernel
def _heap_sort(keys: NDArray[np.uint64]) -> None:
    for start in range(keys.size // 2 - 1, -1, -1):
        _sift_down(keys, start, keys.size)
    for end in range(keys.size - 1, 0, -1):
        keys[0], keys[end] = keys[end], keys[0]
        _sift_down(keys, 0, end)


@exact_kernel
def _sift_down(keys: NDArray[np.uint64], start: int, end: int) -> None:
    """Restore the heap below `start`: no key is smaller than those at 2i + 1 and 2i + 2."""
    parent, child = start, 2 * start + 1
    while child < end:
        if child + 1 < end and keys[child] < keys[child + 1]:
            child += 1
        if keys[parent] >= keys[child]:
            return
        keys[parent], keys[child] = keys[child], keys[parent]
        parent, child = child, 2 * child + 1
