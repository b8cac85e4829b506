"""Growing one tree of FastXML, depth first.

The points of a node get sides (`assign_sides`), a sparse linear separator learns the sides, and
the points go where it sends them. Nodes are numbered as they are met: the left child of node v
is v + 1.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelwood.core.kernel import kernel
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import DoubleArray, FloatArray, IndexArray, PointerArray
from labelwood.linear.l1_logistic import gather_columns, solve
from labelwood.trees.fastxml._partition_kernels import assign_sides, gather_labels, sort_keys

_ONE = np.uint64(1)
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_TOL = 0.1
# Features that want no weight at first are not looked at: hardly any would get one later.
_LEAST_GRADIENT = 1.0


class Growth(NamedTuple):
    """What `FastXMLClassifier` calls by the same names."""

    max_leaf: int
    labels_per_leaf: int
    C: float
    bias: float
    newton_steps: int


class Points(NamedTuple):
    """What all trees are grown on.

    `weights` and `gains` belong to the entries of the label lists; gains are weights over the best
    DCG that so many labels can have. `discounts` belong to ranks.
    """

    X: CSRArrays
    label_indptr: PointerArray
    labels: IndexArray
    weights: FloatArray
    gains: FloatArray
    discounts: FloatArray


class Workspace(NamedTuple):
    """Room for a tree to grow in.

    The rows of a node lie side by side in one of two copies of X; its children's lie in the other.
    Then there are the columns of a node, two cells for each feature and one for each label.
    """

    odd: CSRArrays
    even: CSRArrays
    column_indices: IndexArray
    column_data: FloatArray
    features: IndexArray
    labels: IndexArray


class Tree(NamedTuple):
    """One tree in the arrays of a `Forest`.

    `height` is the longest path, and `path` the mean number of decisions of a point.
    """

    right: PointerArray
    intercepts: FloatArray
    weight_indptr: PointerArray
    features: IndexArray
    weights: FloatArray
    leaf_indptr: PointerArray
    labels: IndexArray
    averages: FloatArray
    height: int
    path: float


@kernel
def grow_tree(points: Points, growth: Growth, room: Workspace, state: NDArray[np.uint64]) -> Tree:
    """Grow until nodes are small or cannot be split."""
    n = points.X.indptr.size - 1
    ids = np.arange(n).astype(np.uint32)
    todo = np.empty((n + 1, 4), dtype=np.int64)
    _put(todo, 0, 0, n, -1, 0)
    right = np.full(2 * n, np.int64(-1))
    intercepts = np.zeros(2 * n, dtype=np.float32)
    ends = np.zeros((2, 2 * n + 1), dtype=np.int64)
    features, weights = np.empty(4096, dtype=np.uint32), np.empty(4096, dtype=np.float32)
    labels, averages = np.empty(4096, dtype=np.uint32), np.empty(4096, dtype=np.float32)
    node, waiting, height, steps = 0, 1, 0, 0
    while waiting > 0:
        waiting -= 1
        start, end, parent, depth = todo[waiting]
        mine = ids[start:end]
        if parent >= 0:
            right[parent] = node
        n_left = 0
        if mine.size > growth.max_leaf:
            X = points.X if depth == 0 else (room.odd if depth % 2 else room.even)
            order, n_left, found, numbers, intercepts[node] = _find_split(
                points, X, start, mine, growth, room, state
            )
        n_weights, n_averages = ends[0, node], ends[1, node]
        if n_left > 0:
            mine[:] = mine[order]
            if max(n_left, mine.size - n_left) > growth.max_leaf:
                _move_rows(X, start, order, room.even if depth % 2 else room.odd)
            _put(todo, waiting, start + n_left, end, node, depth + 1)
            _put(todo, waiting + 1, start, start + n_left, -1, depth + 1)
            waiting += 2
            steps += mine.size
            height = max(height, depth + 1)
            features, weights = _append(features, weights, n_weights, found, numbers)
            n_weights += found.size
        else:
            found, numbers = _average_labels(points, mine, growth.labels_per_leaf, room.labels)
            labels, averages = _append(labels, averages, n_averages, found, numbers)
            n_averages += found.size
        node += 1
        ends[0, node], ends[1, node] = n_weights, n_averages
    n_weights, n_averages = ends[0, node], ends[1, node]
    return Tree(
        right[:node].copy(),
        intercepts[:node].copy(),
        ends[0, : node + 1].copy(),
        features[:n_weights].copy(),
        weights[:n_weights].copy(),
        ends[1, : node + 1].copy(),
        labels[:n_averages].copy(),
        averages[:n_averages].copy(),
        height,
        steps / n,
    )


@kernel
def _put(
    todo: NDArray[np.int64], place: int, start: int, end: int, parent: int, depth: int
) -> None:
    """Note a node: its points, the node whose right child it is (−1 for none), its depth."""
    todo[place, 0] = start
    todo[place, 1] = end
    todo[place, 2] = parent
    todo[place, 3] = depth


@kernel
def _append(
    indices: IndexArray, values: FloatArray, size: int, more: IndexArray, numbers: FloatArray
) -> tuple[IndexArray, FloatArray]:
    """Write behind the first `size` entries; the arrays are longer ones where room is short."""
    end = size + more.size
    if end > indices.size:
        room = np.empty(end, dtype=np.uint32), np.empty(end, dtype=np.float32)
        indices, values = np.concatenate((indices, room[0])), np.concatenate((values, room[1]))
    indices[size:end] = more
    values[size:end] = numbers
    return indices, values


@kernel
def _move_rows(X: CSRArrays, start: int, order: IndexArray, to: CSRArrays) -> None:
    """Copy the rows start + order[0], start + order[1], … to the rows from `start` on."""
    q = X.indptr[start]
    to.indptr[start] = q
    for k in range(order.size):
        i = np.uint64(start + order[k])
        for p in range(np.uint64(X.indptr[i]), np.uint64(X.indptr[i + _ONE])):
            to.indices[q] = X.indices[p]
            to.data[q] = X.data[p]
            q += 1
        to.indptr[start + k + 1] = q


@kernel
def _find_split(
    points: Points,
    X: CSRArrays,
    start: int,
    ids: IndexArray,
    growth: Growth,
    room: Workspace,
    state: NDArray[np.uint64],
) -> tuple[IndexArray, int, IndexArray, FloatArray, np.float32]:
    """A separator of the points `ids`, which are the rows of X from `start` on.

    Returns the points, left ones first, how many are left (0 when nothing separates them), and
    features, weights and intercept of the separator.
    """
    n = ids.size
    no_index, no_value = np.empty(0, dtype=np.uint32), np.empty(0, dtype=np.float32)
    nothing = (no_index, 0, no_index, no_value, np.float32(0))
    ends, labels, gains, names = gather_labels(
        points.label_indptr, points.labels, points.gains, ids, room.labels
    )
    if names.size * n == labels.size:
        return nothing  # all points have the same labels
    sides = assign_sides(ends, labels, gains, names.size, points.discounts, state)
    n_positive = np.count_nonzero(sides > 0)
    if n_positive == 0 or n_positive == n:
        return nothing
    costs = np.empty(n, dtype=np.float32)
    for k in range(n):
        costs[k] = growth.C * n / (n_positive if sides[k] > 0 else n - n_positive)
    features, columns = gather_columns(
        X,
        start,
        sides,
        costs,
        growth.bias,
        _LEAST_GRADIENT,
        room.features,
        room.column_indices,
        room.column_data,
    )
    w = np.zeros(columns.indptr.size - 1)
    tol = _TOL * min(n_positive, n - n_positive) / n
    solve(columns, sides, costs, tol, growth.newton_steps, 1, state, w)
    intercept = np.float32(0)
    if w.size > features.size:
        intercept = np.float32(w[-1] * growth.bias)
    w = w[: features.size]
    order, n_left = _order_by_side(columns, w, intercept, n)
    if n_left == 0 or n_left == n:
        return nothing
    chosen = np.flatnonzero(w)
    return order, n_left, features[chosen], w[chosen].astype(np.float32), intercept


@kernel
def _order_by_side(
    columns: CSRArrays, w: DoubleArray, intercept: np.float32, n: int
) -> tuple[IndexArray, int]:
    """The rows with a positive score first, all in their order; and how many those are."""
    scores = np.full(n, np.float64(intercept))
    for j in range(w.size):
        weight = np.float64(np.float32(w[j]))
        if weight != 0:
            for p in range(np.uint64(columns.indptr[j]), np.uint64(columns.indptr[j + 1])):
                scores[columns.indices[p]] += weight * columns.data[p]
    order = np.empty(n, dtype=np.uint32)
    n_left = int(np.count_nonzero(scores > 0))
    left, other = 0, n_left
    for k in range(n):
        if scores[k] > 0:
            order[left] = k
            left += 1
        else:
            order[other] = k
            other += 1
    return order, n_left


@kernel
def _average_labels(
    points: Points, ids: IndexArray, most: int, places: IndexArray
) -> tuple[IndexArray, FloatArray]:
    """The labels with the largest mean weight over the points, and those means."""
    _, labels, weights, names = gather_labels(
        points.label_indptr, points.labels, points.weights, ids, places
    )
    sums = np.zeros(names.size, dtype=np.float32)
    for p in range(labels.size):
        sums[labels[p]] += weights[p]
    bits = sums.view(np.uint32)
    keys = np.empty(names.size, dtype=np.uint64)
    n = 0
    for j in range(names.size):
        if sums[j] > 0:
            keys[n] = (np.uint64(~bits[j]) << _HALF) | np.uint64(names[j])
            n += 1
    keys = keys[:n]
    sort_keys(keys)
    kept = min(most, n)
    chosen, means = np.empty(kept, dtype=np.uint32), np.empty(kept, dtype=np.float32)
    bits = means.view(np.uint32)
    for j in range(kept):
        chosen[j] = keys[j] & _LOW
        bits[j] = ~np.uint32(keys[j] >> _HALF)
        means[j] /= np.float32(ids.size)
    return chosen, means
