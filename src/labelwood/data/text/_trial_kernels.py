"""A small linear learner of all labels at once, to compare feature sets with.

Dual coordinate descent on the squared hinge (Hsieh et al., ICML 2008), as one-vs-rest, with
the weights of all labels of a feature side by side: a row is read once for all labels. There
is no shrinking and no test of convergence, only a fixed number of passes.
"""

import numpy as np

from labelwood.core.allocation import empty
from labelwood.core.kernel import kernel
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import FloatArray, PointerArray


@kernel
def train_labels(
    X: CSRArrays,
    rows: PointerArray,
    signs: FloatArray,
    C: float,
    n_passes: int,
    alpha: FloatArray,
    W: FloatArray,
) -> None:
    """Pass over `rows` in their order; `signs` is ±1 by row and label, the last row of W a bias.

    `alpha` and W are continued from, as a path over C does.
    """
    indptr, indices, data = X
    n_labels = signs.shape[1]
    bias = W.shape[0] - 1
    ridge = np.float32(0.5 / C)
    margins = empty(n_labels, np.float32)
    for _ in range(n_passes):
        for i in rows:
            for k in range(n_labels):
                margins[k] = W[bias, k]
            # The bias is the weight of a constant feature, which adds 1 to the squared length.
            norm = np.float32(1.0) + ridge
            for p in range(indptr[i], indptr[i + 1]):
                weights, value = W[indices[p]], data[p]
                norm += value * value
                for k in range(n_labels):
                    margins[k] += value * weights[k]
            for k in range(n_labels):
                gradient = signs[i, k] * margins[k] - np.float32(1.0) + ridge * alpha[i, k]
                new = max(alpha[i, k] - gradient / norm, np.float32(0.0))
                # The margin's place now holds what is added to the weights.
                margins[k] = (new - alpha[i, k]) * signs[i, k]
                alpha[i, k] = new
            for p in range(indptr[i], indptr[i + 1]):
                weights, value = W[indices[p]], data[p]
                for k in range(n_labels):
                    weights[k] += value * margins[k]
            for k in range(n_labels):
                W[bias, k] += margins[k]


@kernel
def score_labels(X: CSRArrays, rows: PointerArray, W: FloatArray) -> FloatArray:
    """The margins of all labels for some rows."""
    indptr, indices, data = X
    scores = empty((rows.size, W.shape[1]), np.float32)
    for r in range(rows.size):
        for k in range(W.shape[1]):
            scores[r, k] = W[W.shape[0] - 1, k]
        for p in range(indptr[rows[r]], indptr[rows[r] + 1]):
            weights, value = W[indices[p]], data[p]
            for k in range(W.shape[1]):
                scores[r, k] += value * weights[k]
    return scores
