"""Mean vectors of labels, and labels in an order in which neighbors are alike."""

import numpy as np
from numpy.typing import NDArray

from labelwood.core._kernels import next_below
from labelwood.core._order_kernels import nth_smallest, resized, stable_order
from labelwood.core.allocation import empty, zeros
from labelwood.core.kernel import kernel
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import DoubleArray, FloatArray, IndexArray, PointerArray


@kernel
def mean_vectors(
    X: CSRArrays, members: CSRArrays, labels: IndexArray, n_features: int, n_terms: int
) -> tuple[PointerArray, IndexArray, FloatArray]:
    """The sum of the rows of each label: its `n_terms` largest terms, at unit length.

    Of equal terms the first ones are taken.

    Row l of `members` lists the rows of X that have label l.
    """
    total = zeros(n_features, np.float32)
    touched = empty(n_features, np.uint32)
    sizes = empty(n_features, np.float32)
    owner = zeros(n_features, np.uint32)  # the last label that touched a feature
    pointers = zeros(labels.size + 1, np.int64)
    terms = empty(labels.size * n_terms, np.uint32)
    values = empty(labels.size * n_terms, np.float32)
    size = 0
    for l in range(labels.size):  # noqa: E741
        n_touched = 0
        for q in range(members.indptr[labels[l]], members.indptr[labels[l] + 1]):
            row = members.indices[q]
            for p in range(X.indptr[row], X.indptr[row + 1]):
                feature = X.indices[p]
                # Labels count from 1 here, since 0 means untouched. With the list of touched
                # features `total` is cleared at the cost of the label's own non-zeros.
                if owner[feature] != l + 1:
                    owner[feature] = l + 1
                    touched[n_touched] = feature
                    n_touched += 1
                total[feature] += X.data[p]
        least = np.float32(0)
        if n_touched > n_terms:
            for t in range(n_touched):
                sizes[t] = abs(total[touched[t]])
            least = nth_smallest(sizes[:n_touched], n_touched - n_terms)
        n_equal = n_terms  # how many terms of the size `least` are kept
        for t in range(n_touched):
            if abs(total[touched[t]]) > least:
                n_equal -= 1
        start, squares = size, 0.0
        for t in range(n_touched):
            value = total[touched[t]]
            is_equal = value != 0 and abs(value) == least and n_equal > 0
            if is_equal:
                n_equal -= 1
            if is_equal or abs(value) > least:
                terms[size] = touched[t]
                values[size] = value
                squares += value * value
                size += 1
            total[touched[t]] = 0
        if squares > 0:
            length = np.float32(np.sqrt(squares))
            for t in range(start, size):
                values[t] /= length
        pointers[l + 1] = size
    return pointers, resized(terms, size), resized(values, size)


@kernel
def _split(
    V: CSRArrays,
    order: NDArray[np.int64],
    n_left: np.int64,
    n_rounds: int,
    state: NDArray[np.uint64],
    left: DoubleArray,
    right: DoubleArray,
) -> None:
    """Spherical 2-means with fixed sizes: the `n_left` on the left side come first."""
    n = order.size
    # The second row is 1 to n − 1 places after the first, so that it is always another one.
    first = np.int64(next_below(state, np.uint64(n)))
    second = (first + 1 + np.int64(next_below(state, np.uint64(n - 1)))) % n
    on_left, on_right, preference = empty(n, np.float64), empty(n, np.float64), empty(n, np.float64)
    before = empty(n, np.int64)
    for turn in range(n_rounds):
        for k in range(n):
            # The first centers are the two rows themselves, later ones the sums of the sides.
            if turn == 0 and k != first and k != second:
                continue
            side = left if (k == first if turn == 0 else k < n_left) else right
            for p in range(V.indptr[order[k]], V.indptr[order[k] + 1]):
                side[V.indices[p]] += V.data[p]
        for k in range(n):
            on_left[k], on_right[k] = 0.0, 0.0
            for p in range(V.indptr[order[k]], V.indptr[order[k] + 1]):
                on_left[k] += V.data[p] * left[V.indices[p]]
                on_right[k] += V.data[p] * right[V.indices[p]]
        # The small start keeps a center without any weights from a division by zero.
        left_square, right_square = 1e-12, 1e-12
        for k in range(n):
            for p in range(V.indptr[order[k]], V.indptr[order[k] + 1]):
                # A feature is cleared as its square is added: the next row that has it adds
                # nothing.
                feature = V.indices[p]
                left_square += left[feature] ** 2
                right_square += right[feature] ** 2
                left[feature], right[feature] = 0.0, 0.0
        left_length, right_length = np.sqrt(left_square), np.sqrt(right_square)
        for k in range(n):
            preference[k] = on_right[k] / right_length - on_left[k] / left_length
            before[k] = order[k]
        # Sides keep their sizes because rows are ranked by how much more they resemble the right
        # center, instead of joining the nearer one.
        ranks = stable_order(preference)
        for k in range(n):
            order[k] = before[ranks[k]]


@kernel
def bisect_labels(
    V: CSRArrays,
    n_features: int,
    borders: NDArray[np.int64],
    n_rounds: int,
    state: NDArray[np.uint64],
    order: NDArray[np.int64],
) -> None:
    """Reorder `order` so that each run `borders[i]:borders[i + 1]` is a group of like vectors."""
    left, right = zeros(n_features, np.float64), zeros(n_features, np.float64)
    stack = empty((borders.size + 1, 2), np.int64)
    stack[0, 0], stack[0, 1] = 0, borders.size - 1
    top = 1
    while top > 0:
        top -= 1
        first, last = stack[top, 0], stack[top, 1]
        if last - first < 2:
            continue
        # Halves are counted in runs, not in labels, so that no run is ever cut.
        middle = (first + last) // 2
        start, end = borders[first], borders[last]
        n_left = borders[middle] - start
        _split(V, order[start:end], n_left, n_rounds, state, left, right)
        stack[top, 0], stack[top, 1] = first, middle
        stack[top + 1, 0], stack[top + 1, 1] = middle, last
        top += 2
