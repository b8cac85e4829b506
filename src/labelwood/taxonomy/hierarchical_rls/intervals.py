"""How far the margin of a node may be from the true one.

Cesa-Bianchi, Conconi & Gentile 2004, lemmas 2 and 3, at the samples themselves: with A = I + SSᵀ,
r = xᵀA⁻¹x and u = SᵀA⁻¹x, the margin is estimated by wᵀx/(1 + r). Given the instances it is a sum
of independent labels with coefficients u/(1 + r), so that by Hoeffding's inequality it deviates
from its mean by ε or more with probability at most 2 exp(−ε²(1 + r)²/2‖u‖²). As |uᵢᵀA⁻¹x| ≤
‖A⁻¹x‖, that mean is at most (‖A⁻¹x‖ + r)/(1 + r) from the true margin; ‖A⁻¹x‖² = r − ‖u‖².

Both need labels that are independent of which examples are in S. They are not when an example was
kept because it was mistaken, or removed because of its coefficient: no interval is given there.
"""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from labelwood.core.sparse import csr_arrays, unit_rows
from labelwood.core.types import CSR, DoubleArray, FloatArray
from labelwood.taxonomy.hierarchical_rls._primal_kernels import primal_quadratic_forms
from labelwood.taxonomy.hierarchical_rls._update_kernels import quadratic_forms
from labelwood.taxonomy.hierarchical_rls.conjugate_gradient import Rows
from labelwood.taxonomy.hierarchy import SELECTED, Estimates, Nodes, TrainingSets


class _LeastSquaresMargins(ABC):
    """Estimates of margins, from r and ‖u‖² of the samples.

    `linear` says of each node whether the labels that it learns from follow eq. (1), without
    which nothing is known of the bias.
    """

    def __init__(self, linear: NDArray[np.bool_]) -> None:
        self._linear = linear

    def estimates(self, node: int, X: CSR, margins: FloatArray) -> Estimates:
        """The estimates of `margins`, which `node` has on the rows of `X` (of any length)."""
        r, squares = self._quadratic_forms(node, unit_rows(X)).T
        estimate = margins / (1 + r)
        if not self._holds(node):
            return Estimates(estimate, None, None)
        bias = (np.sqrt(np.maximum(r - squares, 0)) + r) / (1 + r)
        deviation = np.sqrt(squares) / (1 + r)
        return Estimates(estimate, deviation, bias if self._linear[node] else None)

    @abstractmethod
    def _quadratic_forms(self, node: int, X: CSR) -> DoubleArray:
        """Columns r and ‖u‖²."""

    @abstractmethod
    def _holds(self, node: int) -> bool:
        """Whether the examples of `node` are there whatever their labels are."""


class OnlineMargins(_LeastSquaresMargins):
    """After `partial_fit`: by the inverse that each node keeps."""

    def __init__(self, linear: NDArray[np.bool_], nodes: Nodes, n_features: int) -> None:
        super().__init__(linear)
        self._nodes = nodes
        self._n_features = n_features

    def _quadratic_forms(self, node: int, X: CSR) -> DoubleArray:
        nodes, one = self._nodes, self._nodes.node(node)
        if one.is_primal:
            return primal_quadratic_forms(csr_arrays(X), one)
        counts = nodes.counts[node]
        return quadratic_forms(nodes.store, self._n_features, csr_arrays(X), one, counts)

    def _holds(self, node: int) -> bool:
        return bool(self._nodes.counts[node, SELECTED] == 0)


class BatchMargins(_LeastSquaresMargins):
    """After `fit`: by conjugate gradient on the training samples, of unit length."""

    def __init__(
        self,
        linear: NDArray[np.bool_],
        X: CSR,
        training_sets: TrainingSets,
        max_iter: int,
        n_jobs: int | None,
    ) -> None:
        super().__init__(linear)
        self._X = X
        self._training_sets = training_sets
        self._max_iter = max_iter
        self._n_jobs = n_jobs

    def _quadratic_forms(self, node: int, X: CSR) -> DoubleArray:
        rows = self._training_sets.of_node(node)
        local, S = Rows.of(self._X, rows), self._X[rows]
        return local.quadratic_forms(S, X, self._max_iter, self._n_jobs)

    def _holds(self, node: int) -> bool:
        return True
