"""Sixteen squared-hinge problems at once, on the same rows.

The problems are those of `l2svm._kernels`, one in each lane; a visit of a row moves its
dual variable in all sixteen. Arrays of "rows × lanes" are flat, sixteen numbers per row; the
weights `W` hold sixteen numbers per feature, and those of the constant feature last.
"""

import numpy as np
from numpy.typing import NDArray

from labelwood.core._kernels import shuffle
from labelwood.core.allocation import empty, zeros
from labelwood.core.kernel import kernel
from labelwood.core.lanes import (
    WIDTH,
    any_above,
    choose,
    larger,
    load,
    smaller,
    splat,
    store,
)
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import DoubleArray, FloatArray, IndexArray

_HUGE = np.float32(1e30)
_LANES = np.uint64(WIDTH)
_START = np.uint64(0)
_ONE = np.uint64(1)
_FOUR = np.uint64(4)


@kernel
def dot_lanes(X: CSRArrays, row: np.uint64, W: FloatArray) -> FloatArray:
    """Products of a row with sixteen weight vectors (four sums, to keep the processor busy)."""
    p, end = np.uint64(X.indptr[row]), np.uint64(X.indptr[row + _ONE])
    first = splat(np.float32(0))
    second, third, fourth = first, first, first
    while p + _FOUR <= end:
        q, r, s = p + _ONE, p + np.uint64(2), p + np.uint64(3)
        first += splat(X.data[p]) * load(W, np.uint64(X.indices[p]) * _LANES)
        second += splat(X.data[q]) * load(W, np.uint64(X.indices[q]) * _LANES)
        third += splat(X.data[r]) * load(W, np.uint64(X.indices[r]) * _LANES)
        fourth += splat(X.data[s]) * load(W, np.uint64(X.indices[s]) * _LANES)
        p += _FOUR
    while p < end:
        first += splat(X.data[p]) * load(W, np.uint64(X.indices[p]) * _LANES)
        p += _ONE
    return (first + second) + (third + fourth)


@kernel
def add_row_lanes(
    X: CSRArrays, row: np.uint64, bias: np.float32, step: FloatArray, W: FloatArray
) -> None:
    """Add a row, `step` times, to sixteen weight vectors."""
    for p in range(np.uint64(X.indptr[row]), np.uint64(X.indptr[row + _ONE])):
        place = np.uint64(X.indices[p]) * _LANES
        store(W, place, load(W, place) + splat(X.data[p]) * step)
    last = np.uint64(W.size) - _LANES
    store(W, last, load(W, last) + splat(bias) * step)


@kernel
def solve_block(
    X: CSRArrays,
    norms: FloatArray,
    rows: IndexArray,
    signs: FloatArray,
    ridge_positive: FloatArray,
    ridge_negative: FloatArray,
    live: FloatArray,
    bias: np.float32,
    tol: float,
    max_iter: int,
    state: NDArray[np.uint64],
    active: IndexArray,
    alpha: FloatArray,
    W: FloatArray,
) -> tuple[int, bool]:
    """Solve on `rows`; `signs` and `alpha` go with them, `W` belongs to `alpha`.

    A ridge is 1/(2C) of a lane; lanes whose `live` is 0 stay as they are. Returns the
    number of passes and whether the tolerance was met in every lane.
    """
    m = np.uint64(rows.size)
    last = np.uint64(W.size) - _LANES
    zero, one = splat(np.float32(0)), splat(np.float32(1))
    alive = load(live, _START)
    positive, negative = load(ridge_positive, _START), load(ridge_negative, _START)
    highest, lowest = empty(WIDTH, np.float32), empty(WIDTH, np.float32)
    limit = empty(WIDTH, np.float32)
    limit[:] = _HUGE
    for start in range(rows.size):
        active[start] = start
    n_active = m
    for iteration in range(max_iter):
        shuffle(state, active, n_active)
        high, low, bound = splat(-_HUGE), splat(_HUGE), load(limit, _START)
        k = _START
        while k < n_active:
            position = np.uint64(active[k])
            row = np.uint64(rows[position])
            place = position * _LANES
            sign, a = load(signs, place), load(alpha, place)
            ridge = choose(sign, zero, positive, negative)
            score = dot_lanes(X, row, W) + splat(bias) * load(W, last)
            # This is the dual's derivative by the variable (Hsieh et al. 2008, algorithm 1). Where
            # the variable is 0 only a negative one counts, since the variable cannot fall.
            gradient = sign * score - one + a * ridge
            projected = choose(a, zero, gradient, smaller(gradient, zero)) * alive
            high, low = larger(high, projected), smaller(low, projected)
            if not any_above(a, zero) and not any_above(bound * alive, gradient * alive):
                # The variable will stay at zero in every lane: it is put out of sight (shrinking).
                n_active -= _ONE
                active[k], active[n_active] = active[n_active], active[k]
                continue
            step = (larger(a - gradient / (splat(norms[row]) + ridge), zero) - a) * alive
            if any_above(larger(step, zero - step), zero):
                store(alpha, place, a + step)
                add_row_lanes(X, row, bias, step * sign, W)
            k += _ONE
        store(highest, _START, high)
        store(lowest, _START, low)
        if _largest_difference(highest, lowest) <= tol:
            if n_active == m:
                return iteration + 1, True
            # The variables in sight are solved, so that all others come back for a last check.
            n_active = m
            limit[:] = _HUGE
        else:
            for lane in range(WIDTH):
                limit[lane] = highest[lane] if highest[lane] > 0 else _HUGE
    return max_iter, False


@kernel
def _largest_difference(highest: FloatArray, lowest: FloatArray) -> np.float32:
    largest = highest[0] - lowest[0]
    for lane in range(1, WIDTH):
        largest = max(largest, highest[lane] - lowest[lane])
    return largest


@kernel
def rebuild_weights(
    X: CSRArrays,
    rows: IndexArray,
    signs: FloatArray,
    bias: np.float32,
    alpha: FloatArray,
    W: FloatArray,
    exact: DoubleArray,
    is_touched: NDArray[np.bool_],
    touched: IndexArray,
) -> None:
    """W = Σ α_i s_i x_i recomputed, because many small steps leave rounding errors behind.

    In double precision: unlike the steps of the solver, the terms of the sum can be far
    larger than the sum. `exact` (as long as `W`) and `is_touched` must hold zeros, and do so
    again at the end; `is_touched` and `touched` have a place for each feature and for the constant
    one. Only features of `rows` are written: no other feature can have a weight.
    """
    step = empty(WIDTH, np.float64)
    last = np.uint32(W.size // WIDTH - 1)
    touched[0] = last
    n_touched = 1
    for position in range(rows.size):
        place = position * WIDTH
        # A row that supports no lane is touched too: what rounding left at its features must go.
        is_support = any_above(load(alpha, np.uint64(place)), splat(np.float32(0)))
        for lane in range(WIDTH):
            step[lane] = alpha[place + lane] * signs[place + lane]
        row = rows[position]
        for p in range(X.indptr[row], X.indptr[row + 1]):
            feature = X.indices[p]
            if not is_touched[feature]:
                is_touched[feature] = True
                touched[n_touched] = feature
                n_touched += 1
            if is_support:
                start = np.int64(feature) * WIDTH
                for lane in range(WIDTH):
                    exact[start + lane] += X.data[p] * step[lane]
        if is_support:
            for lane in range(WIDTH):
                exact[np.int64(last) * WIDTH + lane] += bias * step[lane]
    for t in range(n_touched):
        is_touched[touched[t]] = False
        start = np.int64(touched[t]) * WIDTH
        for k in range(start, start + WIDTH):
            W[k] = exact[k]
            exact[k] = 0


@kernel
def scan_block(
    X: CSRArrays,
    signs: FloatArray,
    ridge_positive: FloatArray,
    ridge_negative: FloatArray,
    live: FloatArray,
    bias: np.float32,
    threshold: np.float32,
    W: FloatArray,
    place: NDArray[np.int32],
    found: IndexArray,
    loss: DoubleArray,
) -> int:
    """Score all rows; fill `found` with the non-members scored above `threshold` in some lane.

    Row i is a member of the working set when `place[i]` ≥ 0, and has its signs there; all others
    are negative in every lane. `loss` gets Σ C_i max(0, 1 − s_i f(x_i))² of each lane over all
    rows. Returns how many rows were found.
    """
    zero, one, half = splat(np.float32(0)), splat(np.float32(1)), splat(np.float32(0.5))
    outside, border, outsider = splat(-_HUGE), splat(threshold), splat(np.float32(-1))
    alive = load(live, _START)
    positive, negative = load(ridge_positive, _START), load(ridge_negative, _START)
    offset = splat(bias) * load(W, np.uint64(W.size) - _LANES)
    total = zero
    part = zeros(WIDTH, np.float32)
    loss[:] = 0
    n_found = 0
    for i in range(X.indptr.size - 1):
        row = np.uint64(i)
        score = dot_lanes(X, row, W) + offset
        is_member = place[row] >= 0
        sign = load(signs, np.uint64(place[row]) * _LANES) if is_member else outsider
        slack = larger(one - sign * score, zero)
        # A cost C_i is ½ divided by its ridge.
        total += slack * slack * half / choose(sign, zero, positive, negative)
        # A lane that is not live must not bring rows into the working set.
        if not is_member and any_above(choose(alive, zero, score, outside), border):
            found[n_found] = i
            n_found += 1
        if i % 1024 == 1023:  # before a long float32 sum forgets its small terms
            store(part, _START, total)
            for lane in range(WIDTH):
                loss[lane] += part[lane]
            total = zero
    store(part, _START, total)
    for lane in range(WIDTH):
        loss[lane] += part[lane]
    return n_found
