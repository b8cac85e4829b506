"""Training a block of labels, and scoring rows against all of them."""

import numpy as np
from numpy.typing import NDArray

from labelwood.core.kernel import kernel
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import FloatArray, IndexArray, PointerArray
from labelwood.linear._l2svm_kernels import solve


@kernel
def train_block(
    X: CSRArrays,
    norms: FloatArray,
    members: CSRArrays,
    labels: IndexArray,
    states: NDArray[np.uint64],
    C: float,
    bias: float,
    tol: float,
    max_iter: int,
    prune_below: float,
    w: FloatArray,
) -> tuple[PointerArray, IndexArray, FloatArray, FloatArray, NDArray[np.int64], NDArray[np.bool_]]:
    """One decision a label of `labels`, each against all other rows.

    The positives of label l are `members.indices[members.indptr[l]:members.indptr[l + 1]]`; `w` is
    a zeroed work array. Returns the weights in compressed columns, the intercepts, the
    passes and whether the tolerance was met.
    """
    n = norms.size
    rows = np.arange(n).astype(np.uint32)
    signs = np.full(n, np.float32(-1))
    ridge = np.full(n, np.float32(0.5 / C))
    active = np.empty(n, dtype=np.uint32)
    alpha = np.empty(n, dtype=np.float32)
    pointers = np.zeros(labels.size + 1, dtype=np.int64)
    intercepts = np.empty(labels.size, dtype=np.float32)
    passes = np.empty(labels.size, dtype=np.int64)
    converged = np.empty(labels.size, dtype=np.bool_)
    features = np.empty(1024, dtype=np.uint32)
    weights = np.empty(1024, dtype=np.float32)
    last = w.size - 1
    for b in range(labels.size):
        start, end = members.indptr[labels[b]], members.indptr[labels[b] + 1]
        for p in range(start, end):
            signs[members.indices[p]] = 1
        alpha[:] = 0
        passes[b], converged[b] = solve(
            X, norms, rows, signs, ridge,
            bias, tol, max_iter, states[b], active, alpha, w,
        )  # fmt: skip
        for p in range(start, end):
            signs[members.indices[p]] = -1
        size = pointers[b]
        for j in range(last):
            if abs(w[j]) > prune_below:
                if size == features.size:
                    features = np.concatenate((features, np.empty_like(features)))
                    weights = np.concatenate((weights, np.empty_like(weights)))
                features[size] = j
                weights[size] = w[j]
                size += 1
        pointers[b + 1] = size
        intercepts[b] = w[last] * bias
        w[:] = 0
    size = pointers[labels.size]
    return pointers, features[:size].copy(), weights[:size].copy(), intercepts, passes, converged


@kernel
def _score_row(
    X: CSRArrays,
    i: int,
    W: CSRArrays,
    intercepts: FloatArray,
    scores: FloatArray,
) -> None:
    """Scores of all labels for one row; only the postings of its features are touched."""
    scores[:] = intercepts
    for p in range(X.indptr[i], X.indptr[i + 1]):
        x = X.data[p]
        feature = np.uint64(X.indices[p])
        first = np.uint64(W.indptr[feature])
        for q in range(first, np.uint64(W.indptr[feature + np.uint64(1)])):
            scores[W.indices[q]] += x * W.data[q]


@kernel
def topk_rows(
    X: CSRArrays,
    W: CSRArrays,
    intercepts: FloatArray,
    candidates: IndexArray,
    top_labels: NDArray[np.int32],
    top_scores: FloatArray,
) -> None:
    """Fill `top_labels` and `top_scores` with the best candidates of each row, best first.

    Equal scores go to the smaller label first; `candidates` must be increasing.
    """
    k = top_labels.shape[1]
    scores = np.empty_like(intercepts)
    for i in range(X.indptr.size - 1):
        _score_row(X, i, W, intercepts, scores)
        size = 0
        for c in range(candidates.size):
            label = candidates[c]
            score = scores[label]
            if size == k and score <= top_scores[i, k - 1]:
                continue
            place = size if size < k else k - 1
            while place > 0 and top_scores[i, place - 1] < score:
                top_scores[i, place] = top_scores[i, place - 1]
                top_labels[i, place] = top_labels[i, place - 1]
                place -= 1
            top_scores[i, place] = score
            top_labels[i, place] = np.int32(label)
            size = min(size + 1, k)


@kernel
def above_rows(
    X: CSRArrays,
    W: CSRArrays,
    intercepts: FloatArray,
    candidates: IndexArray,
    threshold: float,
) -> tuple[PointerArray, IndexArray, FloatArray]:
    """Scores above `threshold` of each row, in CSR arrays."""
    n = X.indptr.size - 1
    scores = np.empty_like(intercepts)
    pointers = np.zeros(n + 1, dtype=np.int64)
    labels = np.empty(1024, dtype=np.uint32)
    values = np.empty(1024, dtype=np.float32)
    size = 0
    for i in range(n):
        _score_row(X, i, W, intercepts, scores)
        for c in range(candidates.size):
            if scores[candidates[c]] > threshold:
                if size == labels.size:
                    labels = np.concatenate((labels, np.empty_like(labels)))
                    values = np.concatenate((values, np.empty_like(values)))
                labels[size] = candidates[c]
                values[size] = scores[candidates[c]]
                size += 1
        pointers[i + 1] = size
    return pointers, labels[:size].copy(), values[:size].copy()
