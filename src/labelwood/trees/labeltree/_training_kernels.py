"""Training the decisions of the nodes of a label tree."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from labelwood.core._kernels import next_below
from labelwood.core._order_kernels import nth_smallest, resized, stable_order
from labelwood.core.allocation import empty, zeros
from labelwood.core.kernel import kernel
from labelwood.core.lanes import WIDTH
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import FloatArray, IndexArray
from labelwood.linear.l2_logistic import solve_logistic_block
from labelwood.linear.l2svm import solve_block

if TYPE_CHECKING:
    from labelwood.trees.labeltree.training import Level, NodeProblem


@kernel
def _node_rows(
    inside: CSRArrays,
    node: int,
    n_negatives: int,
    state: NDArray[np.uint64],
    place: NDArray[np.int64],
    rows: IndexArray,
) -> int:
    """Fill `rows` with those of the node and some others; `place` (−1 before) says where."""
    n, m = place.size, 0
    for p in range(inside.indptr[node], inside.indptr[node + 1]):
        place[inside.indices[p]] = m
        rows[m] = inside.indices[p]
        m += 1
    if m == n:
        return m
    for k in range(min(n_negatives, n)):
        # Rows are drawn with replacement, since one that comes twice is only skipped; where more
        # are asked for than there are, all are taken.
        row = np.uint32(k) if n_negatives >= n else np.uint32(next_below(state, np.uint64(n)))
        if place[row] < 0:
            place[row] = m
            rows[m] = row
            m += 1
    return m


@kernel
def _gather(
    X: CSRArrays, rows: IndexArray, number: IndexArray, features: IndexArray
) -> tuple[CSRArrays, int]:
    """The rows with features renumbered; `features` gets what the numbers stand for.

    `number` must be zero, and is zero again afterwards.
    """
    indptr = zeros(rows.size + 1, np.int64)
    for i in range(rows.size):
        indptr[i + 1] = indptr[i] + X.indptr[rows[i] + 1] - X.indptr[rows[i]]
    indices = empty(indptr[-1], np.uint32)
    data = empty(indptr[-1], np.float32)
    size = 0
    for i in range(rows.size):
        q = indptr[i]
        for p in range(X.indptr[rows[i]], X.indptr[rows[i] + 1]):
            feature = X.indices[p]
            # Features are numbered from 1 as they appear, so that 0 means not met; the weights of a
            # node are then as long as the features of its rows, not as all features.
            if number[feature] == 0:
                features[size] = feature
                size += 1
                number[feature] = size
            indices[q] = number[feature] - 1
            data[q] = X.data[p]
            q += 1
    for k in range(size):
        number[features[k]] = 0
    return CSRArrays(indptr, indices, data), size


@kernel
def _keep_largest(W: FloatArray, n_lanes: int, budget: int) -> None:
    """Zero all but the `budget` largest weights of each lane, the first ones among equals."""
    n_features = W.size // WIDTH - 1
    if budget >= n_features:
        return
    sizes = empty(n_features, np.float32)
    for lane in range(n_lanes):
        for k in range(n_features):
            sizes[k] = abs(W[k * WIDTH + lane])
        least = nth_smallest(sizes, n_features - budget)
        # `nth_smallest` has rearranged `sizes`, so that magnitudes come from W from here on.
        n_equal = budget  # how many weights of the size `least` are kept
        for k in range(n_features):
            if abs(W[k * WIDTH + lane]) > least:
                n_equal -= 1
        for k in range(n_features):
            size = abs(W[k * WIDTH + lane])
            if size == least and n_equal > 0:
                n_equal -= 1
            elif size <= least:
                W[k * WIDTH + lane] = 0


@kernel
def pack_block(
    W: FloatArray, features: IndexArray, n_lanes: int, prune_below: float, budget: int
) -> tuple[IndexArray, NDArray[np.uint8], NDArray[np.uint8], FloatArray]:
    """The weights that are kept: features in order, how many lanes each has, which, and values.

    A `budget` of 0 is none; otherwise weights beyond it are gone from `W` as well.
    """
    if budget > 0:
        _keep_largest(W, n_lanes, budget)
    n_features = W.size // WIDTH - 1
    sizes = zeros(n_features, np.uint8)
    total = 0
    for k in range(n_features):
        for lane in range(n_lanes):
            if abs(W[k * WIDTH + lane]) > prune_below:
                sizes[k] += np.uint8(1)
                total += 1
    kept = _nonzero_in_order(sizes, features)
    kept_features = empty(kept.size, np.uint32)
    kept_sizes = empty(kept.size, np.uint8)
    lanes = empty(total, np.uint8)
    weights = empty(total, np.float32)
    q = 0
    for place in range(kept.size):
        k = kept[place]
        kept_features[place], kept_sizes[place] = features[k], sizes[k]
        for lane in range(n_lanes):
            if abs(W[k * WIDTH + lane]) > prune_below:
                lanes[q] = lane
                weights[q] = W[k * WIDTH + lane]
                q += 1
    return kept_features, kept_sizes, lanes, weights


@kernel
def _nonzero_in_order(sizes: NDArray[np.uint8], features: IndexArray) -> NDArray[np.int64]:
    """The places whose size is not zero, in the order of their features."""
    n_kept = 0
    for k in range(sizes.size):
        if sizes[k] > 0:
            n_kept += 1
    kept, keys = empty(n_kept, np.int64), empty(n_kept, np.int64)
    n_kept = 0
    for k in range(sizes.size):
        if sizes[k] > 0:
            kept[n_kept], keys[n_kept] = k, features[k]
            n_kept += 1
    order = stable_order(keys)
    for k in range(n_kept):
        keys[k] = kept[order[k]]
    return keys


@kernel
def _block_lanes(
    level: "Level",
    first: int,
    n_lanes: int,
    place: NDArray[np.int64],
    signs: FloatArray,
    lanes: FloatArray,
) -> None:
    """Mark the positives of each child; `lanes` gets who is there and the ridges of each."""
    for k in range(signs.size):
        signs[k] = -1
    for lane in range(WIDTH):
        lanes[0, lane] = 1 if lane < n_lanes else 0
        # Empty lanes have ridges of 1, because arithmetic on all sixteen must not divide by zero.
        lanes[1, lane], lanes[2, lane] = 1, 1
    for lane in range(n_lanes):
        # A ridge is the diagonal 1/(2C) that the squared hinge adds to the dual (Hsieh et al. 2008,
        # table 1).
        lanes[1, lane] = 0.5 / level.cost_positive[first + lane]
        lanes[2, lane] = 0.5 / level.cost_negative[first + lane]
        child = level.children[first + lane]
        for p in range(level.positives.indptr[child], level.positives.indptr[child + 1]):
            signs[place[level.positives.indices[p]] * WIDTH + lane] = 1


@kernel
def _appended(values: Any, size: int, new: Any) -> Any:
    """`values` with `new` behind their first `size` entries; reallocated where they are full."""
    if size + new.size > values.size:
        # The array is at least doubled, so that appending takes amortized constant time.
        values = resized(values, values.size + size + new.size)
    for k in range(new.size):
        values[size + k] = new[k]
    return values


@kernel
def _taken(values: Any, places: IndexArray) -> Any:
    """`values[places]`."""
    taken = empty(places.size, values.dtype)
    for k in range(places.size):
        taken[k] = values[places[k]]
    return taken


@kernel
def _solve(
    own: CSRArrays,
    norms: FloatArray,
    signs: FloatArray,
    lanes: FloatArray,
    n_features: int,
    logistic: bool,
    bias: np.float32,
    tol: float,
    max_iter: int,
    state: NDArray[np.uint64],
) -> tuple[FloatArray, int, bool]:
    """The weights of a block of children on the node's own rows."""
    m = norms.size
    everyone, active = empty(m, np.uint32), empty(m, np.uint32)
    for k in range(m):
        everyone[k] = k
    alpha = zeros(m * WIDTH, np.float32)
    W = zeros((n_features + 1) * WIDTH, np.float32)
    if logistic:  # one call for both would be a function type, which Numba warns of
        passes, solved = solve_logistic_block(
            own, norms, everyone, signs, lanes[1], lanes[2], lanes[0],
            bias, tol, max_iter, state, active, alpha, W,
        )  # fmt: skip
    else:
        passes, solved = solve_block(
            own, norms, everyone, signs, lanes[1], lanes[2], lanes[0],
            bias, tol, max_iter, state, active, alpha, W,
        )  # fmt: skip
    return W, passes, solved


@kernel
def train_nodes(
    problem: "NodeProblem",
    level: "Level",
    start: int,
    end: int,
    logistic: bool,
    bias: np.float32,
    tol: float,
    max_iter: int,
    n_negatives: int,
    prune_below: float,
    budget: int,
) -> tuple[
    NDArray[np.int64],
    IndexArray,
    NDArray[np.uint8],
    NDArray[np.uint8],
    FloatArray,
    FloatArray,
    NDArray[np.int64],
    NDArray[np.bool_],
]:
    """One decision for each child of the nodes `start`…`end` of a level.

    Returns, for blocks of at most sixteen children of a node: how many features each has,
    the features (as numbered outside, in order), how many lanes each feature has, the
    lanes, the weights; the intercepts, the passes made and whether the tolerance was met.
    """
    X, feature_ids, norms = problem.X, problem.features, problem.norms
    firsts, n_features = level.firsts, feature_ids.size
    place = np.full(norms.size, np.int64(-1))
    rows = empty(norms.size, np.uint32)
    number = zeros(n_features, np.uint32)
    names = empty(n_features, np.uint32)
    lane_values = empty((3, WIDTH), np.float32)
    n_blocks = 0
    for node in range(start, end):
        n_blocks += (firsts[node + 1] - firsts[node] + WIDTH - 1) // WIDTH
    block_sizes, passes = zeros(n_blocks, np.int64), zeros(n_blocks, np.int64)
    solved = zeros(n_blocks, np.bool_)
    intercepts = zeros(n_blocks * WIDTH, np.float32)
    features, sizes = empty(1024, np.uint32), empty(1024, np.uint8)
    lanes, weights = empty(1024, np.uint8), empty(1024, np.float32)
    block, n_kept, n_weights = 0, 0, 0
    for node in range(start, end):
        # Every node has a stream of its own: results are the same for any number of threads.
        state = level.states[node].copy()
        m = _node_rows(level.inside, node, n_negatives, state, place, rows)
        own, size = _gather(X, rows[:m], number, names)
        own_norms, signs = _taken(norms, rows[:m]), empty(m * WIDTH, np.float32)
        for first in range(firsts[node], firsts[node + 1], WIDTH):
            n_lanes = min(WIDTH, firsts[node + 1] - first)
            _block_lanes(level, first, n_lanes, place, signs, lane_values)
            W, passes[block], solved[block] = _solve(
                own, own_norms, signs, lane_values, size, logistic, bias, tol, max_iter, state
            )
            own_ids = _taken(feature_ids, names[:size])
            packed = pack_block(W, own_ids, n_lanes, prune_below, budget)
            block_sizes[block] = packed[0].size
            features = _appended(features, n_kept, packed[0])
            sizes = _appended(sizes, n_kept, packed[1])
            lanes = _appended(lanes, n_weights, packed[2])
            weights = _appended(weights, n_weights, packed[3])
            n_kept += packed[0].size
            n_weights += packed[3].size
            for lane in range(WIDTH):
                intercepts[block * WIDTH + lane] = W[size * WIDTH + lane] * bias
            block += 1
        for i in range(m):
            place[rows[i]] = -1
    return (
        block_sizes,
        resized(features, n_kept),
        resized(sizes, n_kept),
        resized(lanes, n_weights),
        resized(weights, n_weights),
        intercepts,
        passes,
        solved,
    )
