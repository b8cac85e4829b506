"""The Perceptron of one node, on sparse rows."""

import numpy as np
from numpy.typing import NDArray

from labelwood.core.allocation import zeros
from labelwood.core.kernel import kernel
from labelwood.core.sparse import CSRArrays
from labelwood.taxonomy.hierarchy import (
    POSITIVE,
    SEEN,
    SUPPORT,
    Examples,
    Node,
    add,
    add_all,
    dot,
)


@kernel
def learn(
    store: CSRArrays, n_features: int, examples: Examples, node: Node, counts: NDArray[np.int64]
) -> int:
    """Add every mistaken example to the support; return how many examples were used.

    Fewer than all are used when the node needs a larger capacity.
    """
    weights = zeros(n_features, np.float64)
    rows, alpha = node.rows, node.alpha
    add_all(store, rows, alpha, counts[SUPPORT], weights)
    for at in range(examples.rows.size):
        row, sign = examples.rows[at], examples.signs[at]
        # A margin of zero is a mistake, so that the first example is learned; an empty row would be
        # one for ever, and is no mistake.
        wrong = dot(store, row, weights) * sign <= 0
        mistaken = wrong and store.indptr[row] < store.indptr[row + 1]
        n = counts[SUPPORT]
        # The caller enlarges the arrays and goes on from this example, which has not been counted
        # yet.
        if mistaken and n == rows.size:
            return at
        counts[SEEN] += 1
        counts[POSITIVE] += sign > 0
        if not mistaken:
            continue
        rows[n], alpha[n] = row, sign
        counts[SUPPORT] += 1
        add(store, row, sign, weights)
    return examples.rows.size
