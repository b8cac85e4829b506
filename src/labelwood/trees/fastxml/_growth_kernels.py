"""Growing one tree of FastXML, depth first.

The samples of a node are assigned to two sides (`assign_sides`), an L1-regularized logistic
regression learns the assignment, and its sign sends each sample to a child. Nodes are numbered
in preorder: the left child of node v is v + 1.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelwood.core._order_kernels import resized, sort_keys
from labelwood.core.allocation import empty, zeros
from labelwood.core.kernel import kernel
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import DoubleArray, FloatArray, IndexArray, PointerArray
from labelwood.linear.l1_logistic import gather_columns, solve
from labelwood.trees.fastxml._partition_kernels import assign_sides, gather_labels

_ONE = np.uint64(1)
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
# The tolerance of the separator is relative to the share of its smaller side, as in LIBLINEAR.
_TOL = 0.1
# Features whose gradient at w = 0 is below the L1 penalty are left out of the problem. On Bibtex
# hardly any of them got a weight in later iterations, and most columns of a node are such.
_LEAST_GRADIENT = 1.0


class Settings(NamedTuple):
    """The parameters of `FastXMLClassifier`; `bias` is the value of the constant feature."""

    max_leaf_samples: int
    max_leaf_labels: int
    C: float
    bias: float
    newton_steps: int


class Samples(NamedTuple):
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
    """Arrays that are allocated once for all nodes of a tree.

    The rows of a node are copied next to each other for cache locality. The two buffers `odd`
    and `even` alternate by depth, so that a child never overwrites the rows that its parent is
    read from. `column_*` hold the columns of one node, `features` two entries for each feature
    and `labels` one for each label.
    """

    odd: CSRArrays
    even: CSRArrays
    column_indices: IndexArray
    column_data: FloatArray
    features: IndexArray
    labels: IndexArray


class Tree(NamedTuple):
    """One tree in the arrays of a `Forest`.

    `height` is the longest path, and `path` the mean number of decisions of a sample.
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
def grow_tree(
    samples: Samples, settings: Settings, workspace: Workspace, state: NDArray[np.uint64]
) -> Tree:
    """Grow until nodes are small or cannot be split."""
    n = samples.X.indptr.size - 1
    ids = empty(n, np.uint32)
    for i in range(n):
        ids[i] = i
    stack = empty((n + 1, 4), np.int64)
    _push(stack, 0, 0, n, -1, 0)
    right = np.full(2 * n, np.int64(-1))
    intercepts = zeros(2 * n, np.float32)
    ends = zeros((2, 2 * n + 1), np.int64)
    features, weights = empty(4096, np.uint32), empty(4096, np.float32)
    labels, averages = empty(4096, np.uint32), empty(4096, np.float32)
    node, top, height, steps = 0, 1, 0, 0
    while top > 0:
        top -= 1
        start, end, parent, depth = stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3]
        node_samples = ids[start:end]
        if parent >= 0:
            right[parent] = node
        n_left = 0
        if node_samples.size > settings.max_leaf_samples:
            # The root reads X itself; below, the parity of the depth names the buffer.
            X = samples.X if depth == 0 else (workspace.odd if depth % 2 else workspace.even)
            order, n_left, found, values_found, intercepts[node] = _find_split(
                samples, X, start, node_samples, settings, workspace, state
            )
        n_weights, n_averages = ends[0, node], ends[1, node]
        if n_left > 0:
            _reorder(node_samples, order)
            if max(n_left, node_samples.size - n_left) > settings.max_leaf_samples:
                _move_rows(X, start, order, workspace.even if depth % 2 else workspace.odd)
            # The right child is pushed first, so that the left one is grown next and gets number v
            # + 1.
            _push(stack, top, start + n_left, end, node, depth + 1)
            _push(stack, top + 1, start, start + n_left, -1, depth + 1)
            top += 2
            steps += node_samples.size
            height = max(height, depth + 1)
            features, weights = _append(features, weights, n_weights, found, values_found)
            n_weights += found.size
        else:
            found, values_found = _average_labels(
                samples, node_samples, settings.max_leaf_labels, workspace.labels
            )
            labels, averages = _append(labels, averages, n_averages, found, values_found)
            n_averages += found.size
        node += 1
        ends[0, node], ends[1, node] = n_weights, n_averages
    n_weights, n_averages = ends[0, node], ends[1, node]
    return Tree(
        resized(right, node),
        resized(intercepts, node),
        resized(ends[0], node + 1),
        resized(features, n_weights),
        resized(weights, n_weights),
        resized(ends[1], node + 1),
        resized(labels, n_averages),
        resized(averages, n_averages),
        height,
        steps / n,
    )


@kernel
def _push(
    stack: NDArray[np.int64], top: int, start: int, end: int, parent: int, depth: int
) -> None:
    """Push a node: its samples, the node whose right child it is (−1 for none), its depth."""
    stack[top, 0] = start
    stack[top, 1] = end
    stack[top, 2] = parent
    stack[top, 3] = depth


@kernel
def _append(
    indices: IndexArray,
    values: FloatArray,
    size: int,
    new_indices: IndexArray,
    new_values: FloatArray,
) -> tuple[IndexArray, FloatArray]:
    """Append behind the first `size` entries; the arrays are reallocated where they are full."""
    end = size + new_indices.size
    if end > indices.size:
        # The array is at least doubled, so that appending takes amortized constant time.
        capacity = indices.size + end
        indices, values = resized(indices, capacity), resized(values, capacity)
    for k in range(new_indices.size):
        indices[size + k], values[size + k] = new_indices[k], new_values[k]
    return indices, values


@kernel
def _reorder(values: IndexArray, order: IndexArray) -> None:
    """`values[:] = values[order]`."""
    before = values.copy()
    for k in range(order.size):
        values[k] = before[order[k]]


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
    samples: Samples,
    X: CSRArrays,
    start: int,
    ids: IndexArray,
    settings: Settings,
    workspace: Workspace,
    state: NDArray[np.uint64],
) -> tuple[IndexArray, int, IndexArray, FloatArray, np.float32]:
    """A separator of the samples `ids`, which are the rows of X from `start` on.

    Returns the samples, those of the left child first, how many these are (0 when nothing
    separates them), and features, weights and intercept of the separator.
    """
    n = ids.size
    no_index, no_value = empty(0, np.uint32), empty(0, np.float32)
    nothing = (no_index, 0, no_index, no_value, np.float32(0))
    ends, labels, gains, names = gather_labels(
        samples.label_indptr, samples.labels, samples.gains, ids, workspace.labels
    )
    if names.size * n == labels.size:
        return nothing  # All samples have the same labels.
    sides = assign_sides(ends, labels, gains, names.size, samples.discounts, state)
    n_positive = 0
    for k in range(n):
        n_positive += sides[k] > 0
    if n_positive == 0 or n_positive == n:
        return nothing
    # Both sides have the same total cost, whatever their sizes.
    costs = empty(n, np.float32)
    for k in range(n):
        costs[k] = settings.C * n / (n_positive if sides[k] > 0 else n - n_positive)
    features, columns = gather_columns(
        X,
        start,
        sides,
        costs,
        settings.bias,
        _LEAST_GRADIENT,
        workspace.features,
        workspace.column_indices,
        workspace.column_data,
    )
    w = zeros(columns.indptr.size - 1, np.float64)
    tol = _TOL * min(n_positive, n - n_positive) / n
    solve(columns, sides, costs, tol, settings.newton_steps, 1, state, w)
    intercept = np.float32(0)
    if w.size > features.size:
        intercept = np.float32(w[-1] * settings.bias)
    w = w[: features.size]
    order, n_left = _order_by_side(columns, w, intercept, n)
    if n_left == 0 or n_left == n:
        return nothing
    chosen, weights = _nonzero(features, w)
    return order, n_left, chosen, weights, intercept


@kernel
def _nonzero(features: IndexArray, w: DoubleArray) -> tuple[IndexArray, FloatArray]:
    """The features whose weights the L1 penalty has not left at exactly zero, and these weights."""
    n = 0
    for j in range(w.size):
        n += w[j] != 0
    chosen, weights = empty(n, np.uint32), empty(n, np.float32)
    n = 0
    for j in range(w.size):
        if w[j] != 0:
            chosen[n], weights[n] = features[j], w[j]
            n += 1
    return chosen, weights


@kernel
def _order_by_side(
    columns: CSRArrays, w: DoubleArray, intercept: np.float32, n: int
) -> tuple[IndexArray, int]:
    """The rows with a positive score first, all in their order; and how many those are."""
    scores = np.full(n, np.float64(intercept))
    for j in range(w.size):
        # A weight is rounded as it will be stored: training and prediction send a sample the same
        # way.
        weight = np.float64(np.float32(w[j]))
        if weight != 0:
            for p in range(np.uint64(columns.indptr[j]), np.uint64(columns.indptr[j + 1])):
                scores[columns.indices[p]] += weight * columns.data[p]
    order = empty(n, np.uint32)
    n_left = 0
    for k in range(n):
        n_left += scores[k] > 0
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
    samples: Samples, ids: IndexArray, most: int, positions: IndexArray
) -> tuple[IndexArray, FloatArray]:
    """The labels with the largest mean weight over the samples, and those means."""
    _, labels, weights, names = gather_labels(
        samples.label_indptr, samples.labels, samples.weights, ids, positions
    )
    sums = zeros(names.size, np.float32)
    for p in range(labels.size):
        sums[labels[p]] += weights[p]
    # Each sort key is one integer: the bits of a positive float32 have the order of its value, so
    # their complement sorts descending, and the label in the low half breaks ties.
    bits = sums.view(np.uint32)
    keys = empty(names.size, np.uint64)
    n = 0
    for j in range(names.size):
        if sums[j] > 0:
            keys[n] = (np.uint64(~bits[j]) << _HALF) | np.uint64(names[j])
            n += 1
    keys = keys[:n]
    sort_keys(keys)
    kept = min(most, n)
    chosen, means = empty(kept, np.uint32), empty(kept, np.float32)
    bits = means.view(np.uint32)
    for j in range(kept):
        chosen[j] = keys[j] & _LOW
        bits[j] = ~np.uint32(keys[j] >> _HALF)
        means[j] /= np.float32(ids.size)
    return chosen, means
