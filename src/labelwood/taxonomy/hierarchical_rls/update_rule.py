"""The update of a node by regularized least squares, one example after another."""

import numpy as np
from numpy.typing import NDArray

from labelwood.core.sparse import CSRArrays
from labelwood.taxonomy.hierarchical_rls._primal_kernels import learn_primal, set_from_support
from labelwood.taxonomy.hierarchical_rls._update_kernels import Settings, learn
from labelwood.taxonomy.hierarchy import NO_LIMIT, PENDING, SUPPORT, Examples, Node, UpdateRule


class LeastSquaresRule(UpdateRule):
    """Keep an example, and change the inverse and the coefficients of the support with it.

    In the dual an example costs the square of the number of examples, in the primal that of the
    number of features. A node that keeps all examples starts in the dual and takes the primal form
    at the example with which it would keep more of them than there are features: its cost is the
    lower one at every time, and its memory follows the smaller number.

    Parameters
    ----------
    margin : float or None
        Keep only examples that are mistaken or have |wᵀx| ≤ `margin`; None keeps all.
    max_support : int or None
        How many examples a node keeps at most.
    n_features : int
    """

    keeps_inverse = True

    def __init__(self, margin: float | None, max_support: int | None, n_features: int) -> None:
        self.max_support = NO_LIMIT if max_support is None else int(max_support)
        by_margin = margin is not None
        keeps_all = not by_margin and max_support is None
        self._primal_from = n_features if keeps_all else NO_LIMIT
        self._settings = Settings(
            by_margin, float(margin or 0.0), self.max_support, self._primal_from
        )

    def update(
        self,
        store: CSRArrays,
        n_features: int,
        examples: Examples,
        node: Node,
        counts: NDArray[np.int64],
        may_flush: bool,
    ) -> int:
        """Learn from `examples` in their order; return how many were used."""
        if node.is_primal:
            if not may_flush:
                return 0  # every example changes the inverse, so that it has to be copied first
            learn_primal(store, examples, node, counts, self._settings)
            return examples.rows.size
        return learn(store, n_features, examples, node, counts, self._settings, may_flush)

    def enlarged(
        self, store: CSRArrays, n_features: int, node: Node, counts: NDArray[np.int64]
    ) -> Node | None:
        """The node with capacity for more examples, or in the primal form; None as it is."""
        n = int(counts[SUPPORT])
        if node.is_primal:
            return None
        if n >= self._primal_from:
            primal = Node.primal(n_features)
            set_from_support(store, node, n, primal)
            counts[PENDING] = 0
            return primal
        if n == node.rows.size < self.max_support:
            return node.enlarged(min(self.max_support, self._primal_from))
        return None
