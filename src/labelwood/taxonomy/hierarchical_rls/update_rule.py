"""The update of a node by regularized least squares, one example after another."""

import numpy as np
from numpy.typing import NDArray

from labelwood.core.sparse import CSRArrays
from labelwood.taxonomy.hierarchical_rls._update_kernels import Settings, learn
from labelwood.taxonomy.hierarchy import NO_LIMIT, Examples, Node, UpdateRule


class LeastSquaresRule(UpdateRule):
    """Keep an example, and change the inverse and the coefficients of the support with it.

    Parameters
    ----------
    margin : float or None
        Keep only examples that are mistaken or have |wᵀx| ≤ `margin`; None keeps all.
    max_support : int or None
        How many examples a node keeps at most.
    """

    keeps_inverse = True

    def __init__(self, margin: float | None, max_support: int | None) -> None:
        self.max_support = NO_LIMIT if max_support is None else int(max_support)
        by_margin = margin is not None
        self._settings = Settings(by_margin, float(margin or 0.0), self.max_support)

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
        return learn(store, n_features, examples, node, counts, self._settings, may_flush)
