"""Scoring rows against all blocks of labels.

A block has sixteen lanes, one for each label: its weights are stored sixteen side by side, so that
one pass over a row serves all of them by vector instructions.
"""

import numpy as np
from numpy.typing import NDArray

from labelwood.core._kernels import insert_label
from labelwood.core._order_kernels import resized
from labelwood.core.allocation import empty, zeros
from labelwood.core.kernel import kernel
from labelwood.core.lanes import WIDTH, any_above, load, splat, store
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import FloatArray, IndexArray, PointerArray

_LANES = np.uint64(WIDTH)
_ONE = np.uint64(1)
_LEAST = np.finfo(np.float32).min


@kernel
def _lane_offsets(lane_labels: NDArray[np.int32], intercepts: FloatArray) -> FloatArray:
    """The intercept of each lane; in empty ones the least number, which is never the best."""
    offsets = empty(lane_labels.size, np.float32)
    for lane in range(lane_labels.size):
        label = lane_labels[lane]
        offsets[lane] = intercepts[label] if label >= 0 else _LEAST
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
    for lane in range(offsets.size):
        scores[lane] = offsets[lane]
    for p in range(X.indptr[i], X.indptr[i + 1]):
        x = splat(np.float32(X.data[p] / length))
        # Unsigned indices need no test for negative ones, which would count from the end.
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
    top_labels: NDArray[np.int32],
    top_scores: FloatArray,
) -> None:
    """Fill each row of `top_labels` and `top_scores` with its best labels, best first.

    They must hold −1 and −∞, which remain where no label is left. Equal scores go to the smaller
    label first; a lane with label −1 is empty.
    """
    n, k = top_labels.shape
    offsets = _lane_offsets(lane_labels, intercepts)
    scores = empty(offsets.size, np.float32)
    for i in range(n):
        _score_row(X, i, unit, indptr, blocks, weights, offsets, scores)
        size = 0
        border = splat(_LEAST)
        for start in range(0, scores.size, WIDTH):
            # Sixteen scores at a time are compared with the last of the best: most blocks end here.
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
    scores = empty(offsets.size, np.float32)
    pointers = zeros(n + 1, np.int64)
    labels = empty(1024, np.int32)
    values = empty(1024, np.float32)
    size = 0
    for i in range(n):
        _score_row(X, i, unit, indptr, blocks, weights, offsets, scores)
        for lane in range(scores.size):
            if lane_labels[lane] >= 0 and scores[lane] > threshold:
                if size == labels.size:
                    labels, values = resized(labels, 2 * size), resized(values, 2 * size)
                labels[size] = lane_labels[lane]
                values[size] = scores[lane]
                size += 1
        pointers[i + 1] = size
    return pointers, resized(labels, size), resized(values, size)
