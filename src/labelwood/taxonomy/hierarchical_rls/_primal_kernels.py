"""On-line least squares of one node in the primal, for at least as many examples as features.

With support rows S (as columns), signs v and A = I + SSᵀ the node's weights are w = A⁻¹Sv. An
example costs the square of the number of features, and no row needs to be kept.
"""

import numpy as np
from numpy.typing import NDArray

from labelwood.core.allocation import empty, zeros
from labelwood.core.kernel import kernel
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import DoubleArray
from labelwood.taxonomy.hierarchical_rls._update_kernels import Settings
from labelwood.taxonomy.hierarchy import (
    POSITIVE,
    SEEN,
    SELECTED,
    SUPPORT,
    Examples,
    Node,
    add_all,
    add_example,
    dot,
)


@kernel
def learn_primal(
    store: CSRArrays,
    examples: Examples,
    node: Node,
    counts: NDArray[np.int64],
    settings: Settings,
) -> None:
    """Learn from all `examples` in their order, in a node that has the primal form."""
    weights = node.alpha
    inverse = node.inverse.reshape(weights.size, weights.size)
    solved = empty(weights.size, np.float64)
    for at in range(examples.rows.size):
        row, sign = examples.rows[at], examples.signs[at]
        start, end = store.indptr[row], store.indptr[row + 1]
        score = dot(store, row, weights)
        wanted = not settings.by_margin or score * sign <= 0 or abs(score) <= settings.margin
        counts[SEEN] += 1
        counts[POSITIVE] += sign > 0
        counts[SELECTED] += settings.by_margin and start < end
        if wanted and start < end:
            counts[SUPPORT] += 1
            indices, values = store.indices[start:end], store.data[start:end]
            add_example(inverse, indices, values, sign - score, 1.0, weights, solved)


@kernel
def set_from_support(store: CSRArrays, dual: Node, n: int, primal: Node) -> None:
    """`primal`, which has no examples yet, becomes what `dual` is with its `n` support rows."""
    weights, inverse = zeros(primal.alpha.size, np.float64), primal.inverse
    square = inverse.reshape(weights.size, weights.size)
    solved = empty(weights.size, np.float64)
    for i in range(n):
        # The rows enter A⁻¹ one by one, by the update of later examples; the residual of zero
        # leaves the weights, which follow from the coefficients at once.
        start, end = store.indptr[dual.rows[i]], store.indptr[dual.rows[i] + 1]
        indices, values = store.indices[start:end], store.data[start:end]
        add_example(square, indices, values, 0.0, 1.0, weights, solved)
    add_all(store, dual.rows, dual.alpha, n, primal.alpha)


@kernel
def primal_quadratic_forms(X: CSRArrays, node: Node) -> DoubleArray:
    """For each row x of `X`: r = xᵀA⁻¹x, and ‖SᵀA⁻¹x‖² = r − ‖A⁻¹x‖², as SSᵀ = A − I."""
    d = node.alpha.size
    inverse, solved = node.inverse.reshape(d, d), empty(d, np.float64)
    result = zeros((X.indptr.size - 1, 2), np.float64)
    for row in range(X.indptr.size - 1):
        solved[:] = 0
        for at in range(X.indptr[row], X.indptr[row + 1]):
            value, one = X.data[at], inverse[X.indices[at]]
            for i in range(d):
                solved[i] += value * one[i]
        r, square = dot(X, row, solved), 0.0
        for i in range(d):
            square += solved[i] * solved[i]
        result[row, 0], result[row, 1] = r, max(r - square, 0.0)
    return result
