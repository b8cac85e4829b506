"""Training a block of labels by working sets, and scoring rows against all blocks.

A block has sixteen lanes, one for each label: its weights, dual variables and signs are stored
sixteen side by side, so that one pass over a row serves all of them by vector instructions.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from labelwood.core._kernels import insert_label, next_below
from labelwood.core.kernel import kernel
from labelwood.core.lanes import WIDTH, any_above, load, splat, store
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import DoubleArray, FloatArray, IndexArray, PointerArray
from labelwood.linear.l2svm import rebuild_weights, scan_block, solve_block

if TYPE_CHECKING:
    from labelwood.linear.onevsrest.working_sets import Settings

_LANES = np.uint64(WIDTH)
_ONE = np.uint64(1)
_LEAST = np.finfo(np.float32).min


@kernel
def _first_rows(
    members: CSRArrays,
    labels: IndexArray,
    n_negatives: int,
    state: NDArray[np.uint64],
    signs: FloatArray,
    member: NDArray[np.bool_],
    rows: IndexArray,
) -> int:
    """The first working set: all positives, marked in `signs`, and some random rows.

    Writes the rows of the working set to `rows`; returns how many there are.
    """
    n, m = member.size, 0
    for lane in range(labels.size):
        for p in range(members.indptr[labels[lane]], members.indptr[labels[lane] + 1]):
            row = members.indices[p]
            signs[np.uint64(row) * _LANES + np.uint64(lane)] = 1
            if not member[row]:
                member[row] = True
                rows[m] = row
                m += 1
    for k in range(min(n_negatives, n)):
        row = np.uint32(k) if n_negatives >= n else np.uint32(next_below(state, np.uint64(n)))
        if not member[row]:
            member[row] = True
            rows[m] = row
            m += 1
    return m


@kernel
def train_block(
    X: CSRArrays,
    norms: FloatArray,
    members: CSRArrays,
    labels: IndexArray,
    cost_positive: DoubleArray,
    cost_negative: DoubleArray,
    settings: "Settings",
    state: NDArray[np.uint64],
    W: FloatArray,
    report: DoubleArray,
) -> tuple[int, int, int, bool, bool]:
    """Train at most sixteen `labels`; the weights go to `W`, which must hold zeros.

    The working set starts with all positives and `n_negatives` random rows. After each solution
    all rows are scored, and those above −1 + `slack` join, until at most the share `violators` of
    the working set does. Objective and duality gap of each label on the full problem go to
    `report`. Returns passes, rounds, size of the working set, and whether the tolerance and the
    share of violators were met.
    """
    bias = np.float32(settings.bias)
    n = norms.size
    live = np.zeros(WIDTH, dtype=np.float32)
    positive, negative = np.ones(WIDTH, dtype=np.float32), np.ones(WIDTH, dtype=np.float32)
    for lane in range(labels.size):
        live[lane] = 1
        positive[lane] = 0.5 / cost_positive[labels[lane]]
        negative[lane] = 0.5 / cost_negative[labels[lane]]
    signs = np.full(n * WIDTH, np.float32(-1))
    member = np.zeros(n, dtype=np.bool_)
    rows, found = np.empty(n, dtype=np.uint32), np.empty(n, dtype=np.uint32)
    m = _first_rows(members, labels, settings.n_negatives, state, signs, member, rows)
    alpha = np.zeros(m * WIDTH, dtype=np.float32)
    active = np.empty(n, dtype=np.uint32)
    loss = np.empty(WIDTH)
    passes, rounds = 0, 0
    while True:
        chosen = np.empty(m * WIDTH, dtype=np.float32)
        for k in range(m):
            store(chosen, np.uint64(k) * _LANES, load(signs, np.uint64(rows[k]) * _LANES))
        done, solved = solve_block(
            X, norms, rows[:m], chosen, positive, negative, live,
            bias, settings.tol, settings.max_iter, state, active, alpha, W,
        )  # fmt: skip
        rebuild_weights(X, rows[:m], chosen, bias, alpha, W)
        passes += done
        rounds += 1
        border = np.float32(settings.slack - 1)
        n_found = scan_block(
            X, signs, positive, negative, live, bias, border, W, member, found, loss
        )
        enough = n_found <= settings.violators * m
        if enough or rounds == settings.max_rounds:
            _full_gap(labels.size, loss, alpha, chosen, positive, negative, W, report)
            return passes, rounds, m, solved, enough
        grown = np.zeros((m + n_found) * WIDTH, dtype=np.float32)
        grown[: alpha.size] = alpha
        alpha = grown
        for k in range(n_found):
            member[found[k]] = True
            rows[m + k] = found[k]
        m += n_found


@kernel
def _full_gap(
    n_lanes: int,
    loss: DoubleArray,
    alpha: FloatArray,
    signs: FloatArray,
    positive: FloatArray,
    negative: FloatArray,
    W: FloatArray,
    report: DoubleArray,
) -> None:
    """Primal objective over all rows and the duality gap; dual variables off the set are 0."""
    squares, duals = np.zeros(WIDTH), np.zeros(WIDTH)
    for start in range(0, W.size, WIDTH):
        for lane in range(WIDTH):
            squares[lane] += np.float64(W[start + lane]) * W[start + lane]
    for start in range(0, alpha.size, WIDTH):
        for lane in range(WIDTH):
            a = np.float64(alpha[start + lane])
            ridge = positive[lane] if signs[start + lane] > 0 else negative[lane]
            duals[lane] += a - 0.5 * ridge * a * a
    for lane in range(n_lanes):
        primal = 0.5 * squares[lane] + loss[lane]
        report[2 * lane] = primal
        report[2 * lane + 1] = max(primal - (duals[lane] - 0.5 * squares[lane]), 0.0)


@kernel
def prune_block(W: FloatArray, n_lanes: int, prune_below: float) -> tuple[IndexArray, FloatArray]:
    """The features (not the constant one) with a weight above `prune_below`, and their lanes."""
    n_features = W.size // WIDTH - 1
    features = np.empty(n_features, dtype=np.uint32)
    size = 0
    for feature in range(n_features):
        for lane in range(n_lanes):
            if abs(W[feature * WIDTH + lane]) > prune_below:
                features[size] = feature
                size += 1
                break
    weights = np.zeros(size * WIDTH, dtype=np.float32)
    for k in range(size):
        for lane in range(n_lanes):
            value = W[np.int64(features[k]) * WIDTH + lane]
            if abs(value) > prune_below:
                weights[k * WIDTH + lane] = value
    return features[:size].copy(), weights


@kernel
def _lane_offsets(lane_labels: NDArray[np.int32], intercepts: FloatArray) -> FloatArray:
    """The intercept of each lane, zero in empty ones."""
    offsets = np.zeros(lane_labels.size, dtype=np.float32)
    for lane in range(lane_labels.size):
        if lane_labels[lane] >= 0:
            offsets[lane] = intercepts[lane_labels[lane]]
    return offsets


@kernel
def _score_row(
    X: CSRArrays,
    i: int,
    unit: bool,
    indptr: PointerArray,
    blocks: IndexArray,
    weights: FloatArray,
    offsets: FloatArray,
    scores: FloatArray,
) -> None:
    """Scores of all lanes for one row; only the postings of its features are read.

    With `unit` the row is scaled to length one first.
    """
    squares = 0.0
    for p in range(X.indptr[i], X.indptr[i + 1]):
        squares += np.float64(X.data[p]) * np.float64(X.data[p])
    length = np.sqrt(squares) if unit and squares > 0 else 1.0
    scores[:] = offsets
    for p in range(X.indptr[i], X.indptr[i + 1]):
        x = splat(np.float32(X.data[p] / length))
        feature = np.uint64(X.indices[p])
        for q in range(np.uint64(indptr[feature]), np.uint64(indptr[feature + _ONE])):
            position = np.uint64(blocks[q]) * _LANES
            store(scores, position, load(scores, position) + x * load(weights, q * _LANES))


@kernel
def topk_rows(
    X: CSRArrays,
    unit: bool,
    indptr: PointerArray,
    blocks: IndexArray,
    weights: FloatArray,
    lane_labels: NDArray[np.int32],
    intercepts: FloatArray,
    k: int,
) -> tuple[NDArray[np.int32], FloatArray]:
    """The best `k` labels of each row and their scores, best first, −1 and −∞ where none is left.

    Equal scores go to the smaller label first; a lane with label −1 is empty.
    """
    n = X.indptr.size - 1
    top_labels = np.full((n, k), np.int32(-1))
    top_scores = np.full((n, k), np.float32(-np.inf))
    offsets = _lane_offsets(lane_labels, intercepts)
    scores = np.empty_like(offsets)
    for i in range(n):
        _score_row(X, i, unit, indptr, blocks, weights, offsets, scores)
        size = 0
        border = splat(_LEAST)
        for start in range(0, scores.size, WIDTH):
            if not any_above(load(scores, start), border):
                continue
            for lane in range(start, start + WIDTH):
                if lane_labels[lane] >= 0:
                    size = insert_label(
                        lane_labels[lane], scores[lane], top_labels[i], top_scores[i], size
                    )
            # A score that equals the last one may still go before it, if its label is smaller.
            if size == k:
                border = splat(np.nextafter(top_scores[i, k - 1], _LEAST))
    return top_labels, top_scores


@kernel
def above_rows(
    X: CSRArrays,
    unit: bool,
    indptr: PointerArray,
    blocks: IndexArray,
    weights: FloatArray,
    lane_labels: NDArray[np.int32],
    intercepts: FloatArray,
    threshold: float,
) -> tuple[PointerArray, NDArray[np.int32], FloatArray]:
    """Scores above `threshold` of each row, in CSR arrays (labels in no order)."""
    n = X.indptr.size - 1
    offsets = _lane_offsets(lane_labels, intercepts)
    scores = np.empty_like(offsets)
    pointers = np.zeros(n + 1, dtype=np.int64)
    labels = np.empty(1024, dtype=np.int32)
    values = np.empty(1024, dtype=np.float32)
    size = 0
    for i in range(n):
        _score_row(X, i, unit, indptr, blocks, weights, offsets, scores)
        for lane in range(scores.size):
            if lane_labels[lane] >= 0 and scores[lane] > threshold:
                if size == labels.size:
                    labels = np.concatenate((labels, np.empty_like(labels)))
                    values = np.concatenate((values, np.empty_like(values)))
                labels[size] = lane_labels[lane]
                values[size] = scores[lane]
                size += 1
        pointers[i + 1] = size
    return pointers, labels[:size].copy(), values[:size].copy()
