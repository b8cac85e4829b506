"""Training a block of labels: its working set, the rows that join it, and what remains.

A block has sixteen lanes, one for each label: its weights, dual variables and signs are stored
sixteen side by side, so that one pass over a row serves all of them by vector instructions.
"""

import numpy as np
from numpy.typing import NDArray

from labelwood.core._kernels import next_below
from labelwood.core._order_kernels import resized
from labelwood.core.allocation import empty, zeros
from labelwood.core.kernel import kernel
from labelwood.core.lanes import WIDTH, any_above, choose, load, splat
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import DoubleArray, FloatArray, IndexArray
from labelwood.linear.l2svm import dot_lanes

_LANES = np.uint64(WIDTH)
_START = np.uint64(0)
_HUGE = np.float32(1e30)
# Candidates are looked up where they cost at most this share of a pass over all rows: postings
# are read in no order, and each candidate is scored as well.
_WORTHWHILE = 0.125
# The weights that can matter are looked for from this share of the exact bound on, which leaves far
# more room than rounding needs.
_ROUNDING = 0.999
# Rounding changes the sum of a row's terms by far less than this share of the largest possible sum.
_ROUNDING_OF_SUMS = 1e-4


@kernel
def first_rows(
    members: CSRArrays,
    labels: IndexArray,
    n_negatives: int,
    state: NDArray[np.uint64],
    place: NDArray[np.int32],
    rows: IndexArray,
) -> int:
    """The first working set: all positives and some random rows; how many there are.

    Row i gets the place `place[i]`, which must be −1 before, in `rows`.
    """
    n, m = place.size, 0
    for lane in range(labels.size):
        for p in range(members.indptr[labels[lane]], members.indptr[labels[lane] + 1]):
            row = members.indices[p]
            if place[row] < 0:
                place[row] = m
                rows[m] = row
                m += 1
    for k in range(min(n_negatives, n)):
        row = np.uint32(k) if n_negatives >= n else np.uint32(next_below(state, np.uint64(n)))
        if place[row] < 0:
            place[row] = m
            rows[m] = row
            m += 1
    return m


@kernel
def mark_positives(
    members: CSRArrays, labels: IndexArray, place: NDArray[np.int32], signs: FloatArray
) -> None:
    """Set the signs of the positives to 1, in the lanes of their labels."""
    for lane in range(labels.size):
        for p in range(members.indptr[labels[lane]], members.indptr[labels[lane] + 1]):
            signs[np.int64(place[members.indices[p]]) * WIDTH + lane] = 1


@kernel
def find_in_sample(
    X: CSRArrays,
    n_sampled: int,
    state: NDArray[np.uint64],
    live: FloatArray,
    bias: np.float32,
    threshold: np.float32,
    W: FloatArray,
    place: NDArray[np.int32],
    found: IndexArray,
) -> int:
    """Of `n_sampled` random rows those outside the working set that score above `threshold`.

    A row that is found gets the place 0, so that it is not found twice.
    """
    alive = load(live, _START)
    zero, outside = splat(np.float32(0)), splat(-_HUGE)
    offset = splat(bias) * load(W, np.uint64(W.size) - _LANES)
    border = splat(threshold)
    n, n_found = np.uint64(place.size), 0
    for _ in range(n_sampled):
        row = next_below(state, n)
        if place[row] < 0:
            score = dot_lanes(X, row, W) + offset
            if any_above(choose(alive, zero, score, outside), border):
                place[row] = 0
                found[n_found] = row
                n_found += 1
    return n_found


@kernel
def find_by_postings(
    X: CSRArrays,
    columns: CSRArrays,
    max_row_l1: float,
    has_negative: bool,
    live: FloatArray,
    bias: np.float32,
    threshold: np.float32,
    W: FloatArray,
    place: NDArray[np.int32],
    found: IndexArray,
) -> int:
    """The rows outside the working set that score above `threshold`, or −1 where it does not pay.

    No row has Σ|x_f| above `max_row_l1`. So a row whose weights are all at most (`threshold` −
    intercept) / `max_row_l1` cannot score above `threshold`: only rows that have one of the
    features with a larger weight are scored. `has_negative` tells whether some x_f are negative.
    Finds the same rows as `scan_block`.
    """
    alive = load(live, _START)
    zero, outside = splat(np.float32(0)), splat(-_HUGE)
    offset = splat(bias) * load(W, np.uint64(W.size) - _LANES)
    border = splat(threshold)
    distance = _HUGE  # from the border, in the lane that is closest to it
    for lane in range(WIDTH):
        if live[lane] > 0:
            distance = min(distance, threshold - bias * W[W.size - WIDTH + lane])
    # Where an intercept alone reaches the threshold, no weight can rule a row out.
    if distance <= 0 or max_row_l1 <= 0:
        return -1
    least = splat(np.float32(_ROUNDING * distance / max_row_l1))
    n_features = columns.indptr.size - 1
    strong = empty(n_features, np.uint32)
    n_strong, n_entries = 0, 0
    for feature in range(n_features):
        w = load(W, np.uint64(feature) * _LANES) * alive
        if any_above(w, least) or (has_negative and any_above(zero - w, least)):
            strong[n_strong] = feature
            n_strong += 1
            n_entries += columns.indptr[feature + 1] - columns.indptr[feature]
    if n_entries > _WORTHWHILE * X.indices.size:
        return -1
    n = X.indptr.size - 1
    is_candidate = zeros(n, np.bool_)
    for k in range(n_strong):
        for p in range(columns.indptr[strong[k]], columns.indptr[strong[k] + 1]):
            is_candidate[columns.indices[p]] = True
    n_found = 0
    for i in range(n):
        if is_candidate[i] and place[i] < 0:
            score = dot_lanes(X, np.uint64(i), W) + offset
            if any_above(choose(alive, zero, score, outside), border):
                found[n_found] = i
                n_found += 1
    return n_found


@kernel
def find_by_bounds(
    X: CSRArrays,
    max_row_l1: float,
    has_negative: bool,
    live: FloatArray,
    bias: np.float32,
    threshold: np.float32,
    W: FloatArray,
    place: NDArray[np.int32],
    found: IndexArray,
) -> int:
    """The rows outside the working set that score above `threshold`, few of which are scored.

    The best of sixteen scores is at most Σ x_f · max_l w_lf + max_l b_l: one number per feature,
    which fit into the cache where sixteen weights per feature do not. Only rows whose bound is
    above `threshold` are scored. `has_negative` tells whether some x_f are negative. Finds the same
    rows as `scan_block`.
    """
    alive = load(live, _START)
    zero, outside = splat(np.float32(0)), splat(-_HUGE)
    offset = splat(bias) * load(W, np.uint64(W.size) - _LANES)
    border = splat(threshold)
    highest, largest = -_HUGE, np.float32(0)
    for lane in range(WIDTH):
        if live[lane] > 0:
            highest = max(highest, bias * W[W.size - WIDTH + lane])
    n_features = W.size // WIDTH - 1
    bounds = empty(n_features, np.float32)
    for feature in range(n_features):
        # Lanes that are not live are included, which makes the bound looser and never wrong.
        upper, lower = W[feature * WIDTH], W[feature * WIDTH]
        for lane in range(1, WIDTH):
            upper = max(upper, W[feature * WIDTH + lane])
            lower = min(lower, W[feature * WIDTH + lane])
        magnitude = max(upper, -lower)
        bounds[feature] = magnitude if has_negative else upper
        largest = max(largest, magnitude)
    needed = threshold - highest - np.float32(_ROUNDING_OF_SUMS * max_row_l1 * largest)
    n_found = 0
    for i in range(X.indptr.size - 1):
        row = np.uint64(i)
        if place[row] >= 0:
            continue
        bound = np.float32(0)
        for p in range(np.uint64(X.indptr[row]), np.uint64(X.indptr[row + np.uint64(1)])):
            value = X.data[p]
            bound += (abs(value) if has_negative else value) * bounds[X.indices[p]]
        if bound <= needed:
            continue
        score = dot_lanes(X, row, W) + offset
        if any_above(choose(alive, zero, score, outside), border):
            found[n_found] = i
            n_found += 1
    return n_found


@kernel
def full_gap(
    loss: DoubleArray,
    alpha: FloatArray,
    signs: FloatArray,
    positive: FloatArray,
    negative: FloatArray,
    W: FloatArray,
    report: DoubleArray,
) -> None:
    """Primal objective over all rows and the duality gap; dual variables off the set are 0."""
    squares, duals = zeros(WIDTH, np.float64), zeros(WIDTH, np.float64)
    for start in range(0, W.size, WIDTH):
        for lane in range(WIDTH):
            squares[lane] += np.float64(W[start + lane]) * W[start + lane]
    for start in range(0, alpha.size, WIDTH):
        for lane in range(WIDTH):
            a = np.float64(alpha[start + lane])
            ridge = positive[lane] if signs[start + lane] > 0 else negative[lane]
            duals[lane] += a - 0.5 * ridge * a * a
    for lane in range(WIDTH):
        # With w = Σ α_i s_i x_i the dual objective is Σ α_i − ½ Σ α_i²/(2 C_i) − ½‖w‖².
        primal = 0.5 * squares[lane] + loss[lane]
        report[lane, 0] = primal
        report[lane, 1] = max(primal - (duals[lane] - 0.5 * squares[lane]), 0.0)


@kernel
def prune_block(W: FloatArray, n_lanes: int, prune_below: float) -> tuple[IndexArray, FloatArray]:
    """The features (not the constant one) with a weight above `prune_below`, and their lanes."""
    n_features = W.size // WIDTH - 1
    features = empty(n_features, np.uint32)
    size = 0
    for feature in range(n_features):
        for lane in range(n_lanes):
            if abs(W[feature * WIDTH + lane]) > prune_below:
                features[size] = feature
                size += 1
                break
    weights = zeros(size * WIDTH, np.float32)
    for k in range(size):
        for lane in range(n_lanes):
            value = W[np.int64(features[k]) * WIDTH + lane]
            if abs(value) > prune_below:
                weights[k * WIDTH + lane] = value
    return resized(features, size), weights
