"""Kernels of the trees that code label sets: one decision, and the search for likely leaves.

A decision is the dot product of sparse weights with a sparse row. Where many rows meet, the
weights of the node are scattered into a dense vector once, and each row gathers from it; a row that
goes on alone is scattered itself, and the weights of the nodes on its path gather from it.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from labelwood.core._order_kernels import stable_order
from labelwood.core.allocation import empty, zeros
from labelwood.core.kernel import kernel
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import DoubleArray, FloatArray, IndexArray, PointerArray
from labelwood.linear.l2svm import solve

if TYPE_CHECKING:  # the arrays call these kernels
    from labelwood.trees.coding.arrays import CodingTree

_ONE = np.uint64(1)
_FAR = 1e30  # stands for infinity, which kernels under fastmath must not produce


@kernel
def solve_decision(
    X: CSRArrays,
    norms: FloatArray,
    rows: IndexArray,
    signs: FloatArray,
    ridge: FloatArray,
    bias: float,
    tol: float,
    max_iter: int,
    prune_below: float,
    state: NDArray[np.uint64],
    w: FloatArray,
) -> tuple[IndexArray, FloatArray, float, int, bool]:
    """Features and weights (above `prune_below`) that separate the rows by `signs`, the intercept.

    `w` must hold zeros for all features and the constant one, and does so again at the end, so
    that the cost follows the non-zeros of the rows. Also returns iterations and convergence.
    """
    alpha = zeros(rows.size, np.float32)
    active = empty(rows.size, np.uint32)
    n_iter, solved = solve(
        X, norms, rows, signs, ridge, bias, tol, max_iter, state, active, alpha, w
    )
    n_entries = 0
    for k in range(rows.size):
        n_entries += X.indptr[rows[k] + 1] - X.indptr[rows[k]]
    features = empty(min(n_entries, w.size), np.uint32)
    weights = empty(features.size, np.float32)
    size = 0
    for k in range(rows.size):
        for p in range(X.indptr[rows[k]], X.indptr[rows[k] + 1]):
            feature = X.indices[p]
            weight = w[feature]
            # The first row that has a feature clears its weight: no feature is listed twice.
            w[feature] = 0
            if abs(weight) > prune_below:
                features[size] = feature
                weights[size] = weight
                size += 1
    intercept = w[w.size - 1] * bias
    w[w.size - 1] = 0
    return features[:size].copy(), weights[:size].copy(), intercept, n_iter, solved


@kernel
def length(X: CSRArrays, row: np.uint64, unit: bool) -> float:
    """The divisor of a row: its norm with `unit`, 1 without it or for an empty row."""
    squares = 0.0
    if unit:
        for p in range(np.uint64(X.indptr[row]), np.uint64(X.indptr[row + _ONE])):
            squares += np.float64(X.data[p]) * np.float64(X.data[p])
    return np.sqrt(squares) if squares > 0 else 1.0


@kernel
def product(tree: "CodingTree", node: np.uint64, dense: FloatArray) -> float:
    """The dot product of the row in `dense` with the weights of the node."""
    total = 0.0
    first, end = tree.weight_indptr[node], tree.weight_indptr[node + _ONE]
    for p in range(np.uint64(first), np.uint64(end)):
        total += np.float64(tree.weights[p]) * dense[tree.features[p]]
    return total


@kernel
def scatter_row(X: CSRArrays, row: np.uint64, dense: FloatArray) -> None:
    """Write the values of the row at their features."""
    for p in range(np.uint64(X.indptr[row]), np.uint64(X.indptr[row + _ONE])):
        dense[X.indices[p]] = X.data[p]


@kernel
def clear_row(X: CSRArrays, row: np.uint64, dense: FloatArray) -> None:
    """Write zeros at the features of the row."""
    for p in range(np.uint64(X.indptr[row]), np.uint64(X.indptr[row + _ONE])):
        dense[X.indices[p]] = 0


@kernel
def pays_to_scatter(X: CSRArrays, tree: "CodingTree", node: int, rows: IndexArray) -> bool:
    """Whether scattering the node's weights costs less than reading them for each row."""
    n_weights = tree.weight_indptr[node + 1] - tree.weight_indptr[node]
    # Scattering and clearing read the weights twice, and every row is then read once; the other way
    # reads the weights for every row.
    cost = 2 * n_weights
    for k in range(rows.size):
        cost += X.indptr[rows[k] + 1] - X.indptr[rows[k]]
    return cost < rows.size * n_weights


@kernel
def scattered_products(
    X: CSRArrays,
    tree: "CodingTree",
    node: int,
    rows: IndexArray,
    dense: FloatArray,
    products: DoubleArray,
) -> None:
    """The dot products of the rows with the weights of the node, which are scattered once."""
    first, end = np.uint64(tree.weight_indptr[node]), np.uint64(tree.weight_indptr[node + 1])
    for p in range(first, end):
        dense[tree.features[p]] = tree.weights[p]
    for k in range(rows.size):
        row = np.uint64(rows[k])
        total = 0.0
        for p in range(np.uint64(X.indptr[row]), np.uint64(X.indptr[row + _ONE])):
            total += np.float64(X.data[p]) * dense[X.indices[p]]
        products[k] = total
    for p in range(first, end):
        dense[tree.features[p]] = 0


@kernel
def _log_probability(margin: float) -> float:
    """log(1/(1 + exp(−margin)))."""
    # Fast arithmetic must not meet infinities: margins are limited, and exp gets none that is
    # positive.
    margin = min(max(margin, -_FAR), _FAR)
    return -np.log1p(np.exp(-margin)) if margin > 0 else margin - np.log1p(np.exp(margin))


@kernel
def likely_leaves(
    X: CSRArrays,
    unit: bool,
    tree: "CodingTree",
    sharpness: float,
    beam: int,
    dense: FloatArray,
) -> tuple[PointerArray, DoubleArray]:
    """The leaves of a beam search that keeps the `beam` likeliest nodes, and log-probabilities.

    The probability of a path is the product of 1/(1 + exp(−`sharpness` · decision)) along it. In
    each round all inner nodes of the beam are replaced by their children; a leaf stays until
    likelier nodes displace it. Rows of the result are padded with −1.
    """
    n = X.indptr.size - 1
    found, logs, margins = (
        np.full((n, beam), -1),
        zeros((n, beam), np.float64),
        empty((n, beam), np.float64),
    )
    nodes, positions = empty(n * beam, np.int64), empty(n * beam, np.int64)
    lengths = empty(n, np.float64)
    active, n_active = np.arange(n), n
    for i in range(n):
        found[i, 0] = 0
        lengths[i] = length(X, np.uint64(i), unit)
    while True:
        n_open, n_still = 0, 0
        for w in range(n_active):
            i, before = active[w], n_open
            for k in range(beam):
                if found[i, k] >= 0 and tree.right[found[i, k]] >= 0:
                    nodes[n_open], positions[n_open] = found[i, k], i * beam + k
                    n_open += 1
            active[n_still] = i
            # A row whose beam holds leaves alone has ended and leaves the list.
            n_still += n_open > before
        n_active = n_still
        if n_active == 0:
            return found, logs
        _decide(X, tree, nodes[:n_open], positions[:n_open], lengths, dense, margins)
        for w in range(n_active):
            i = active[w]
            _advance(tree, margins[i], sharpness, found[i], logs[i])


@kernel
def _decide(
    X: CSRArrays,
    tree: "CodingTree",
    nodes: PointerArray,
    positions: PointerArray,
    lengths: DoubleArray,
    dense: FloatArray,
    margins: DoubleArray,
) -> None:
    """Decisions of `nodes` at `positions` (row · beam + slot), node by node, into `margins`."""
    beam = margins.shape[1]
    order = stable_order(nodes)
    rows, products = empty(nodes.size, np.uint32), empty(nodes.size, np.float64)
    for k in range(nodes.size):
        rows[k] = positions[order[k]] // beam
    start = 0
    while start < nodes.size:
        node, end = nodes[order[start]], start + 1
        while end < nodes.size and nodes[order[end]] == node:
            end += 1
        node_rows = rows[start:end]
        if pays_to_scatter(X, tree, node, node_rows):
            scattered_products(X, tree, node, node_rows, dense, products[start:end])
        else:
            for k in range(start, end):
                scatter_row(X, np.uint64(rows[k]), dense)
                products[k] = product(tree, np.uint64(node), dense)
                clear_row(X, np.uint64(rows[k]), dense)
        for k in range(start, end):
            position = positions[order[k]]
            margin = products[k] / lengths[rows[k]] + tree.intercepts[node]
            margins[position // beam, position % beam] = margin
        start = end


@kernel
def _advance(
    tree: "CodingTree",
    margins: DoubleArray,
    sharpness: float,
    found: PointerArray,
    logs: DoubleArray,
) -> None:
    """Replace the inner nodes of a row's beam by their children, as far as these are likely."""
    # The beam is rebuilt in place, so that it is read from a copy.
    before, probabilities = found.copy(), logs.copy()
    size = 0
    for k in range(found.size):
        found[k] = -1
    for k in range(before.size):
        node = before[k]
        if node < 0:
            break
        if tree.right[node] < 0:
            size = _insert(node, probabilities[k], found, logs, size)
            continue
        yes = probabilities[k] + _log_probability(sharpness * margins[k])
        no = probabilities[k] + _log_probability(-sharpness * margins[k])
        size = _insert(node + 1, yes, found, logs, size)
        size = _insert(tree.right[node], no, found, logs, size)


@kernel
def _insert(node: int, log: float, found: PointerArray, logs: DoubleArray, size: int) -> int:
    """Insert a node among the `size` likeliest so far; returns how many there are then."""
    position = size
    while position > 0 and logs[position - 1] < log:
        position -= 1
    if position == found.size:
        return size
    size = min(size + 1, found.size)
    for j in range(size - 1, position, -1):
        found[j], logs[j] = found[j - 1], logs[j - 1]
    found[position], logs[position] = node, log
    return size
