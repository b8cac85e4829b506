"""Iterative stratification (Sechidis, Tsoumakas and Vlahavas 2011) over sparse labels."""

import heapq

import numpy as np
from numpy.typing import NDArray

from labelwood.core.allocation import empty
from labelwood.core.kernel import exact_kernel
from labelwood.core.types import DoubleArray, IndexArray, PointerArray


@exact_kernel
def stratify(
    row_indptr: PointerArray,
    row_labels: IndexArray,
    label_indptr: PointerArray,
    label_rows: IndexArray,
    shares: DoubleArray,
    sizes: PointerArray,
) -> NDArray[np.int32]:
    """The fold of each row.

    `shares` are the parts of each label that the folds want, and `sizes` the rows that
    they get, which sum to all rows. The label with the fewest rows left is served first;
    each of its rows goes to the fold that still wants most of the label, then most rows.
    Ties go to the smaller label and the smaller fold. A full fold takes no more: in the
    published algorithm fold sizes drift, and a fold can even stay empty when most labels
    are rare.
    """
    n, n_labels = row_indptr.size - 1, label_indptr.size - 1
    fold = np.full(n, -1, dtype=np.int32)
    left, wanted = empty(n_labels, np.int64), empty((n_labels, shares.size), np.float64)
    wanted_rows = sizes.copy()
    # A key is rows left · n_labels + label, which sorts by the rows left and then by the label; a
    # first key is there only because Numba has to know the type of the list.
    heap = [np.int64(0)]
    heap.pop()
    for k in range(n_labels):
        left[k] = label_indptr[k + 1] - label_indptr[k]
        for j in range(shares.size):
            wanted[k, j] = left[k] * shares[j]
        if left[k] > 0:
            heap.append(left[k] * n_labels + k)
    heapq.heapify(heap)
    while len(heap) > 0:
        key = heapq.heappop(heap)
        label = key % n_labels
        # Counts fall while keys wait in the heap: a key with an old count is dropped, and the
        # current one was pushed when the count changed.
        if left[label] != key // n_labels:
            continue
        for at in range(label_indptr[label], label_indptr[label + 1]):
            row = label_rows[at]
            if fold[row] >= 0:
                continue
            chosen = _neediest(wanted[label], wanted_rows)
            fold[row] = chosen
            wanted_rows[chosen] -= 1
            for where in range(row_indptr[row], row_indptr[row + 1]):
                other = np.int64(row_labels[where])
                wanted[other, chosen] -= 1
                left[other] -= 1
                if left[other] > 0 and other != label:
                    heapq.heappush(heap, left[other] * n_labels + other)
    for row in range(n):
        if fold[row] < 0:
            fold[row] = np.argmax(wanted_rows)
            wanted_rows[fold[row]] -= 1
    return fold


@exact_kernel
def _neediest(wanted_label: DoubleArray, wanted_rows: PointerArray) -> int:
    best = -1
    for j in range(wanted_rows.size):
        if wanted_rows[j] > 0 and (
            best < 0
            or wanted_label[j] > wanted_label[best]
            or (wanted_label[j] == wanted_label[best] and wanted_rows[j] > wanted_rows[best])
        ):
            best = j
    return best
