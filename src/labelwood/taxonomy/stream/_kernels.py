"""Predict, then learn, sample by sample: least squares of all nodes in the primal."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelwood.core.allocation import zeros
from labelwood.core.kernel import kernel
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import DoubleArray, IndexArray, PointerArray
from labelwood.taxonomy.hierarchy import add_example


class State(NamedTuple):
    """Weights of each node, its inverse (a matrix, or its diagonal), and its counts.

    With A = I + Σ xxᵀ over a node's examples, `inverses[i]` is A⁻¹, or `diagonals[i]` the diagonal
    of A; the one that is not used has no rows.
    """

    weights: DoubleArray
    inverses: DoubleArray
    diagonals: DoubleArray
    n_seen: NDArray[np.int64]
    n_positive: NDArray[np.int64]


@kernel
def predict_then_learn(
    X: CSRArrays,
    Y_indptr: PointerArray,
    Y_indices: IndexArray,
    parent: NDArray[np.int32],
    order: NDArray[np.int32],
    state: State,
    decay: float,
    predicted: NDArray[np.bool_],
) -> None:
    """Each row is predicted by the nodes as they are, and then learned from.

    `order` has every parent before its children. Row i of `predicted` gets the label set.
    """
    n_nodes = parent.size
    is_true = zeros(n_nodes, np.bool_)
    full = state.inverses.shape[0] > 0
    solved = zeros(state.inverses.shape[1], np.float64)
    for row in range(X.indptr.size - 1):
        start, end = X.indptr[row], X.indptr[row + 1]
        indices, values = X.indices[start:end], X.data[start:end]
        for at in range(Y_indptr[row], Y_indptr[row + 1]):
            is_true[Y_indices[at]] = True
        for k in range(n_nodes):
            node = order[k]
            above = parent[node]
            # A node is predicted below a predicted parent, and learns from its parent's examples.
            may_be = above < 0 or predicted[row, above]
            learns = above < 0 or is_true[above]
            if not may_be and not learns:
                continue
            weights = state.weights[node]
            margin = 0.0
            for j in range(indices.size):
                margin += weights[indices[j]] * values[j]
            # A label that was never positive is not predicted, whatever rounding says.
            predicted[row, node] = may_be and margin > 0 and state.n_positive[node] > 0
            if learns and indices.size > 0:
                sign = 1.0 if is_true[node] else -1.0
                state.n_seen[node] += 1
                state.n_positive[node] += is_true[node]
                residual = sign - margin
                if full:
                    add_example(
                        state.inverses[node], indices, values, residual, decay, weights, solved
                    )
                else:
                    _learn_diagonal(
                        state.diagonals[node], indices, values, residual, decay, weights
                    )
        # Only the labels of this row are cleared, whatever the number of nodes.
        for at in range(Y_indptr[row], Y_indptr[row + 1]):
            is_true[Y_indices[at]] = False


@kernel
def _learn_diagonal(
    diagonal: DoubleArray,
    indices: IndexArray,
    values: "np.ndarray[tuple[int], np.dtype[np.float32]]",
    residual: float,
    decay: float,
    weights: DoubleArray,
) -> None:
    """`add_example` with the diagonal of A alone, at a cost that follows the row's non-zeros.

    Only the diagonal's entries of this row decay: the others are not looked at.
    """
    r = 1.0
    for j in range(indices.size):
        feature = indices[j]
        # Decay never takes the diagonal below 1, the share of I in A.
        diagonal[feature] = max(decay * diagonal[feature], 1.0)
        r += values[j] * values[j] / diagonal[feature]
    step = residual / r
    for j in range(indices.size):
        feature = indices[j]
        weights[feature] += step * values[j] / diagonal[feature]
        diagonal[feature] += values[j] * values[j]
