"""The leaf that each row reaches, every decision taken by its sign.

Rows at the same node are processed together. In an annotation tree, whose nodes ask for one label
after the other, most rows go to the negative child at each of the next nodes; then sixteen
decisions of that chain are computed at once. A row alone in a tree of short decisions looks its
features up in a hash table of its own, so that nothing as long as all features is touched.
"""

from typing import TYPE_CHECKING

import numpy as np

from labelwood.core.allocation import empty, zeros
from labelwood.core.kernel import kernel
from labelwood.core.lanes import WIDTH, load, splat, store
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import DoubleArray, FloatArray, IndexArray, PointerArray
from labelwood.trees.coding._decision_kernels import (
    clear_row,
    length,
    pays_to_scatter,
    product,
    scatter_row,
    scattered_products,
)

if TYPE_CHECKING:  # the arrays call these kernels
    from labelwood.trees.coding.arrays import CodingTree

_ONE = np.uint64(1)
_LANES = np.uint64(WIDTH)
_SHORT = 4  # shorter chains, or fewer rows, do not repay their table
_FEW = 4  # a chain continues while at most 1/_FEW of the nodes below branch off at a node
_EXPONENT = np.uint32(0x7F800000)  # its bits in a number of single precision
_FREE = np.uint32(2**32 - 1)  # no column has this number: `csr_arrays` refuses so many


@kernel
def find_leaves(
    X: CSRArrays, unit: bool, tree: "CodingTree", dense: FloatArray, slots: IndexArray
) -> PointerArray:
    """The leaf of each row; with `unit`, of rows scaled to length one.

    `dense` and `slots` must hold a zero for each feature, and do so again at the end.
    """
    n = X.indptr.size - 1
    lengths, products = empty(n, np.float64), empty(n, np.float64)
    rows, others = empty(n, np.uint32), empty(n, np.uint32)
    for i in range(n):
        rows[i] = i
        lengths[i] = length(X, np.uint64(i), unit)
    leaves = empty(n, np.int64)
    chain, ends = empty(WIDTH, np.int64), empty(WIDTH + 1, np.int64)
    exits = empty(n, np.int64)
    stack = empty((n + 1, 4), np.int64)  # node, end of its nodes, its rows
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, tree.right.size, 0, n
    top = 1
    while top > 0:
        top -= 1
        node, last, start, end = stack[top]
        node_rows = rows[start:end]
        size = _chain(tree, node, last, chain)
        if _chain_pays(X, tree, chain[:size], node_rows):
            _exits_of_chain(X, tree, chain[:size], node_rows, lengths, slots, exits)
        elif size > 0 and pays_to_scatter(X, tree, node, node_rows):
            size = 1
            scattered_products(X, tree, node, node_rows, dense, products)
            for k in range(node_rows.size):
                positive = products[k] + tree.intercepts[node] * lengths[node_rows[k]] > 0
                exits[k] = 0 if positive else 1
        else:
            for k in range(node_rows.size):
                row = node_rows[k]
                leaves[row] = _walk(X, np.uint64(row), lengths[row], tree, node, dense)
            continue
        _group_rows(node_rows, exits, size, others, ends)
        for k in range(size + 1):
            begin = 0 if k == 0 else ends[k - 1]
            if begin == ends[k]:
                continue
            stack[top, 0] = chain[k] + 1 if k < size else tree.right[chain[size - 1]]
            stack[top, 1] = tree.right[chain[k]] if k < size else last
            stack[top, 2], stack[top, 3] = start + begin, start + ends[k]
            top += 1
    return leaves


@kernel
def _walk(
    X: CSRArrays, row: np.uint64, scale: float, tree: "CodingTree", node: int, dense: FloatArray
) -> int:
    """The leaf that a single row of norm `scale` reaches from `node`."""
    if tree.right[node] < 0:
        return node
    scatter_row(X, row, dense)
    this = np.uint64(node)
    while tree.right[this] >= 0:
        score = product(tree, this, dense) + tree.intercepts[this] * scale
        this = this + _ONE if score > 0 else np.uint64(tree.right[this])
    clear_row(X, row, dense)
    return int(this)


@kernel
def _chain(tree: "CodingTree", node: int, last: int, chain: PointerArray) -> int:
    """The nodes that follow each other by negative decisions; returns how many there are.

    `last` is the end of the nodes below `node`. The chain ends where much of the subtree is below
    the positive child.
    """
    size = 0
    while size < chain.size and tree.right[node] >= 0:
        chain[size] = node
        size += 1
        # In preorder the subtree of the positive child has right − node − 1 nodes: the share of
        # leaves below stands for the share of rows that are expected there.
        if _FEW * (tree.right[node] - node) > last - node:
            break
        node = tree.right[node]
    return size


@kernel
def _chain_pays(X: CSRArrays, tree: "CodingTree", chain: PointerArray, rows: IndexArray) -> bool:
    """Whether building the table costs less than evaluating half of the chain for each row."""
    if chain.size < _SHORT or rows.size < _SHORT:
        return False
    n_weights = 0
    for lane in range(chain.size):
        n_weights += tree.weight_indptr[chain[lane] + 1] - tree.weight_indptr[chain[lane]]
    cost = 3 * n_weights
    for k in range(rows.size):
        cost += 2 * (X.indptr[rows[k] + 1] - X.indptr[rows[k]])
    return 2 * cost < rows.size * n_weights


@kernel
def _chain_table(tree: "CodingTree", chain: PointerArray, slots: IndexArray) -> FloatArray:
    """The weights of the chain, sixteen for each of its features; `slots` maps features to rows.

    Slot 0, of all other features, holds zeros.
    """
    size = 1
    for lane in range(chain.size):
        for p in range(tree.weight_indptr[chain[lane]], tree.weight_indptr[chain[lane] + 1]):
            # The first pass numbers the features of the chain, the second fills the table.
            if slots[tree.features[p]] == 0:
                slots[tree.features[p]] = size
                size += 1
    table = zeros(size * WIDTH, np.float32)
    for lane in range(chain.size):
        for p in range(tree.weight_indptr[chain[lane]], tree.weight_indptr[chain[lane] + 1]):
            table[np.int64(slots[tree.features[p]]) * WIDTH + lane] = tree.weights[p]
    return table


@kernel
def _exits_of_chain(
    X: CSRArrays,
    tree: "CodingTree",
    chain: PointerArray,
    rows: IndexArray,
    lengths: DoubleArray,
    slots: IndexArray,
    exits: PointerArray,
) -> None:
    """The first node of the chain with a positive decision, for each row; its size if none has."""
    table = _chain_table(tree, chain, slots)
    scores = empty(WIDTH, np.float32)
    for k in range(rows.size):
        row = np.uint64(rows[k])
        a, end = np.uint64(X.indptr[row]), np.uint64(X.indptr[row + _ONE])
        total = splat(np.float32(0))
        # Two independent sums hide the latency of the fused multiply-add.
        other = total
        while a + _ONE < end:
            b = a + _ONE
            total += splat(X.data[a]) * load(table, np.uint64(slots[X.indices[a]]) * _LANES)
            other += splat(X.data[b]) * load(table, np.uint64(slots[X.indices[b]]) * _LANES)
            a = b + _ONE
        if a < end:
            total += splat(X.data[a]) * load(table, np.uint64(slots[X.indices[a]]) * _LANES)
        store(scores, np.uint64(0), total + other)
        exits[k] = 0
        for lane in range(chain.size):
            if scores[lane] + tree.intercepts[chain[lane]] * lengths[row] > 0:
                break
            exits[k] += 1
    for lane in range(chain.size):
        for p in range(tree.weight_indptr[chain[lane]], tree.weight_indptr[chain[lane] + 1]):
            slots[tree.features[p]] = 0


@kernel
def _group_rows(
    rows: IndexArray, exits: PointerArray, size: int, others: IndexArray, ends: PointerArray
) -> None:
    """Sort the rows by their exits 0…size; `ends` gets where those of each exit end."""
    ends[: size + 1] = 0
    for k in range(rows.size):
        ends[exits[k]] += 1
    total = 0
    for k in range(size + 1):
        ends[k], total = total, total + ends[k]
    for k in range(rows.size):
        others[ends[exits[k]]] = rows[k]
        ends[exits[k]] += 1
    for k in range(rows.size):
        rows[k] = others[k]


@kernel
def leaf_of_row(X: CSRArrays, n_features: int, unit: bool, tree: "CodingTree") -> np.int64:
    """The leaf that the only row of `X` reaches; with `unit`, scaled to length one.

    −1 where the arrays are not those of one row with sorted, unique indices and finite values.
    A weight takes a little longer to find its value than in a dense vector, so that this pays
    where decisions read few features.
    """
    if not _is_one_row(X, n_features):
        return np.int64(-1)
    keys, values = _row_table(X)
    mask = np.uint64(keys.size - 1)
    scale = length(X, np.uint64(0), unit)
    node = np.uint64(0)
    while tree.right[node] >= 0:
        score = tree.intercepts[node] * scale
        first, end = tree.weight_indptr[node], tree.weight_indptr[node + _ONE]
        for p in range(np.uint64(first), np.uint64(end)):
            feature = tree.features[p]
            slot = _first_slot(feature, mask)
            while keys[slot] != feature and keys[slot] != _FREE:
                slot = (slot + _ONE) & mask
            # A free slot has the value 0.
            score += np.float64(tree.weights[p]) * values[slot]
        node = node + _ONE if score > 0 else np.uint64(tree.right[node])
    return np.int64(node)


@kernel
def _is_one_row(X: CSRArrays, n_features: int) -> bool:
    if X.indptr.size != 2 or X.indptr[0] != 0:
        return False
    end = X.indptr[1]
    if end < 0 or end > min(X.indices.size, X.data.size):
        return False
    before = np.int64(-1)
    bits = X.data.view(np.uint32)
    for p in range(end):
        feature = np.int64(X.indices[p])
        # Kernels under fastmath cannot ask for NaN or infinity, whose exponents are all ones.
        if feature <= before or feature >= n_features or bits[p] & _EXPONENT == _EXPONENT:
            return False
        before = feature
    return True


@kernel
def _row_table(X: CSRArrays) -> tuple[IndexArray, FloatArray]:
    """A hash table from the features of the only row to their values, at most a quarter full."""
    n = X.indptr[1]
    size = 4
    # Most features of a decision are not in the row: at a quarter full, the search for these ends
    # at the first slot nearly always.
    while size < 4 * n:
        size *= 2
    keys, values = empty(size, np.uint32), zeros(size, np.float32)
    for k in range(size):
        keys[k] = _FREE
    mask = np.uint64(size - 1)
    for p in range(n):
        slot = _first_slot(X.indices[p], mask)
        while keys[slot] != _FREE:
            slot = (slot + _ONE) & mask
        keys[slot], values[slot] = X.indices[p], X.data[p]
    return keys, values


@kernel
def _first_slot(feature: np.uint32, mask: np.uint64) -> np.uint64:
    # Fibonacci hashing: the middle bits of the product depend on all bits of the feature.
    return ((np.uint64(feature) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)) & mask
