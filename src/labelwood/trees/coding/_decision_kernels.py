"""Kernels of the trees that code label sets: one decision, and the search for likely leaves.

A decision is a product of sparse weights with a sparse row. Where many rows meet, the weights
of the node are spread out once and each row looks up its features; a row that goes on alone
is spread out itself, and looked up by the features of the nodes it meets.
"""

import numpy as np
from numpy.typing import NDArray

from labelwood.core.kernel import kernel
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import DoubleArray, FloatArray, IndexArray, PointerArray
from labelwood.linear.l2svm import solve
from labelwood.trees.coding.arrays import CodingTree

_ONE = np.uint64(1)
_FAR = 1e30  # in place of infinity, which fast arithmetic must not meet


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
    """Features and weights (above `prune_below`) that part the rows by `signs`, and the intercept.

    `w` holds zeros for all features and the constant one, and is left so: what is touched
    follows the non-zeros of the rows. Also returns passes made and whether they were enough.
    """
    alpha = np.zeros(rows.size, dtype=np.float32)
    active = np.empty(rows.size, dtype=np.uint32)
    n_iter, solved = solve(
        X, norms, rows, signs, ridge, bias, tol, max_iter, state, active, alpha, w
    )
    n_entries = 0
    for k in range(rows.size):
        n_entries += X.indptr[rows[k] + 1] - X.indptr[rows[k]]
    features = np.empty(min(n_entries, w.size), dtype=np.uint32)
    weights = np.empty(features.size, dtype=np.float32)
    size = 0
    for k in range(rows.size):
        for p in range(X.indptr[rows[k]], X.indptr[rows[k] + 1]):
            feature = X.indices[p]
            weight = w[feature]
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
    """By what the row is divided: its length with `unit`, if it has any."""
    squares = 0.0
    if unit:
        for p in range(np.uint64(X.indptr[row]), np.uint64(X.indptr[row + _ONE])):
            squares += np.float64(X.data[p]) * np.float64(X.data[p])
    return np.sqrt(squares) if squares > 0 else 1.0


@kernel
def product(tree: CodingTree, node: np.uint64, spread: FloatArray) -> float:
    """The row in `spread`, times the weights of the node."""
    total = 0.0
    first, end = tree.weight_indptr[node], tree.weight_indptr[node + _ONE]
    for p in range(np.uint64(first), np.uint64(end)):
        total += np.float64(tree.weights[p]) * spread[tree.features[p]]
    return total


@kernel
def spread_row(X: CSRArrays, row: np.uint64, spread: FloatArray) -> None:
    """Write the values of the row at their features."""
    for p in range(np.uint64(X.indptr[row]), np.uint64(X.indptr[row + _ONE])):
        spread[X.indices[p]] = X.data[p]


@kernel
def clear_row(X: CSRArrays, row: np.uint64, spread: FloatArray) -> None:
    """Write zeros at the features of the row."""
    for p in range(np.uint64(X.indptr[row]), np.uint64(X.indptr[row + _ONE])):
        spread[X.indices[p]] = 0


@kernel
def pays_to_spread(X: CSRArrays, tree: CodingTree, node: int, rows: IndexArray) -> bool:
    """Whether spreading out the node's weights costs less than reading them for each row."""
    n_weights = tree.weight_indptr[node + 1] - tree.weight_indptr[node]
    cost = 2 * n_weights
    for k in range(rows.size):
        cost += X.indptr[rows[k] + 1] - X.indptr[rows[k]]
    return cost < rows.size * n_weights


@kernel
def products_together(
    X: CSRArrays,
    tree: CodingTree,
    node: int,
    rows: IndexArray,
    spread: FloatArray,
    products: DoubleArray,
) -> None:
    """The rows times the weights of the node, which are spread out."""
    first, end = np.uint64(tree.weight_indptr[node]), np.uint64(tree.weight_indptr[node + 1])
    for p in range(first, end):
        spread[tree.features[p]] = tree.weights[p]
    for k in range(rows.size):
        row = np.uint64(rows[k])
        total = 0.0
        for p in range(np.uint64(X.indptr[row]), np.uint64(X.indptr[row + _ONE])):
            total += np.float64(X.data[p]) * spread[X.indices[p]]
        products[k] = total
    for p in range(first, end):
        spread[tree.features[p]] = 0


@kernel
def _log_chance(margin: float) -> float:
    """log(1/(1 + exp(−margin)))."""
    margin = min(max(margin, -_FAR), _FAR)
    return -np.log1p(np.exp(-margin)) if margin > 0 else margin - np.log1p(np.exp(margin))


@kernel
def likely_leaves(
    X: CSRArrays,
    unit: bool,
    tree: CodingTree,
    sharpness: float,
    beam: int,
    spread: FloatArray,
) -> tuple[PointerArray, DoubleArray]:
    """The leaves found by a search that keeps the `beam` likeliest nodes, and their log chances.

    The chance of a way is the product of 1/(1 + exp(−`sharpness` · decision)) along it. In each
    round all nodes kept that are no leaves give way to their children; a leaf keeps its place
    until likelier nodes push it out. Rows of the answer are filled up with −1.
    """
    n = X.indptr.size - 1
    found, logs, margins = np.full((n, beam), -1), np.zeros((n, beam)), np.empty((n, beam))
    found[:, 0] = 0
    nodes, places = np.empty(n * beam, dtype=np.int64), np.empty(n * beam, dtype=np.int64)
    lengths = np.empty(n)
    waiting, n_waiting = np.arange(n), n
    for i in range(n):
        lengths[i] = length(X, np.uint64(i), unit)
    while True:
        n_open, n_still = 0, 0
        for w in range(n_waiting):
            i, before = waiting[w], n_open
            for k in range(beam):
                if found[i, k] >= 0 and tree.right[found[i, k]] >= 0:
                    nodes[n_open], places[n_open] = found[i, k], i * beam + k
                    n_open += 1
            waiting[n_still] = i
            n_still += n_open > before
        n_waiting = n_still
        if n_waiting == 0:
            return found, logs
        _decide(X, tree, nodes[:n_open], places[:n_open], lengths, spread, margins)
        for w in range(n_waiting):
            i = waiting[w]
            _advance(tree, margins[i], sharpness, found[i], logs[i])


@kernel
def _decide(
    X: CSRArrays,
    tree: CodingTree,
    nodes: PointerArray,
    places: PointerArray,
    lengths: DoubleArray,
    spread: FloatArray,
    margins: DoubleArray,
) -> None:
    """Decisions of `nodes` at `places` (row · beam + slot), node by node, into `margins`."""
    beam = margins.shape[1]
    order = np.argsort(nodes)
    rows, products = np.empty(nodes.size, dtype=np.uint32), np.empty(nodes.size)
    for k in range(nodes.size):
        rows[k] = places[order[k]] // beam
    start = 0
    while start < nodes.size:
        node, end = nodes[order[start]], start + 1
        while end < nodes.size and nodes[order[end]] == node:
            end += 1
        here = rows[start:end]
        if pays_to_spread(X, tree, node, here):
            products_together(X, tree, node, here, spread, products[start:end])
        else:
            for k in range(start, end):
                spread_row(X, np.uint64(rows[k]), spread)
                products[k] = product(tree, np.uint64(node), spread)
                clear_row(X, np.uint64(rows[k]), spread)
        for k in range(start, end):
            place = places[order[k]]
            margin = products[k] / lengths[rows[k]] + tree.intercepts[node]
            margins[place // beam, place % beam] = margin
        start = end


@kernel
def _advance(
    tree: CodingTree,
    margins: DoubleArray,
    sharpness: float,
    found: PointerArray,
    logs: DoubleArray,
) -> None:
    """Put the children of a row's nodes in their place, as far as they are among the likeliest."""
    before, chances = found.copy(), logs.copy()
    found[:] = -1
    size = 0
    for k in range(before.size):
        node = before[k]
        if node < 0:
            break
        if tree.right[node] < 0:
            size = _insert(node, chances[k], found, logs, size)
            continue
        yes = chances[k] + _log_chance(sharpness * margins[k])
        no = chances[k] + _log_chance(-sharpness * margins[k])
        size = _insert(node + 1, yes, found, logs, size)
        size = _insert(tree.right[node], no, found, logs, size)


@kernel
def _insert(node: int, log: float, found: PointerArray, logs: DoubleArray, size: int) -> int:
    """Give a node its place among the `size` likeliest so far; returns how many there are then."""
    place = size
    while place > 0 and logs[place - 1] < log:
        place -= 1
    if place == found.size:
        return size
    size = min(size + 1, found.size)
    for j in range(size - 1, place, -1):
        found[j], logs[j] = found[j - 1], logs[j - 1]
    found[place], logs[place] = node, log
    return size
