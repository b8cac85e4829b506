"""Regularized least squares of all nodes at once, by conjugate gradient on sparse rows."""

from typing import NamedTuple

import joblib
import numpy as np
from numpy.typing import NDArray

from labelwood.core.memory import require_memory
from labelwood.core.parallel import blocks, parallel
from labelwood.core.sparse import CSRArrays, csr_arrays, row_squares
from labelwood.core.types import CSR, DoubleArray, IndexArray
from labelwood.taxonomy.hierarchical_rls import _conjugate_gradient_kernels as kernels
from labelwood.taxonomy.hierarchy import NodeWeights, Siblings, TrainingSets

_WIDTH = 16  # systems of the same rows that are solved side by side: a vector register or two
_INTERVAL_TOL = 1e-5  # relative residual of the systems behind intervals


class Settings(NamedTuple):
    """When to stop: at the relative residual `tol`, or after `max_iter` iterations."""

    tol: float
    max_iter: int


class Rows(NamedTuple):
    """Some rows of a matrix on the features that occur in them."""

    arrays: CSRArrays
    features: IndexArray

    @classmethod
    def of(cls, X: CSR, rows: NDArray[np.int64]) -> "Rows":
        """The `rows` of `X`."""
        arrays = csr_arrays(X if rows.size == X.shape[0] else X[rows])
        features, columns = np.unique(arrays.indices, return_inverse=True)
        return cls(arrays._replace(indices=columns.astype(np.uint32)), features)

    def solve(self, B: DoubleArray, settings: Settings) -> "Solution":
        """α of (I + G) α = b for each column b of `B`."""
        n_features = max(self.features.size, 1)
        return Solution(*kernels.solve(self.arrays, n_features, B, *settings))

    def quadratic_forms(self, S: CSR, X: CSR, max_iter: int, n_jobs: int | None) -> DoubleArray:
        """For each row x of `X`: r = xᵀ(I + SSᵀ)⁻¹x, and ‖u‖², u = (I + G)⁻¹Sᵀx.

        S are these rows on all features. Both are upper bounds in exact arithmetic: iterations
        of conjugate gradient from zero only raise (Sᵀx)ᵀu, and as no eigenvalue of I + G is
        below one, the true ‖u‖ exceeds the computed one by at most the residual.
        """

        def block(rows: range) -> DoubleArray:
            some = X[rows.start : rows.stop]
            products = np.ascontiguousarray((S @ some.T).toarray(), dtype=np.float64)
            solved, _, residual = self.solve(products, Settings(_INTERVAL_TOL, max_iter))
            r = row_squares(some) - np.sum(products * solved, axis=0)
            u = np.linalg.norm(solved, axis=0) + residual * np.linalg.norm(products, axis=0)
            return np.column_stack([r, u**2])

        return np.concatenate(parallel(block, blocks(X.shape[0], _WIDTH), n_jobs=n_jobs))

    def combined(self, alpha: DoubleArray) -> DoubleArray:
        """The weights S α, on the features that occur, by columns."""
        sums = np.empty((self.features.size, alpha.shape[1]))
        kernels.combine(self.arrays, alpha, sums)
        return sums


class Solution(NamedTuple):
    """α by columns, and for each column its iterations and its relative residual."""

    alpha: DoubleArray
    n_iter: NDArray[np.int64]
    residual: DoubleArray


class SolvedNodes(NamedTuple):
    """Weights of nodes, and the iterations and the relative residual of each."""

    weights: list[NodeWeights]
    n_iter: NDArray[np.int64]
    residual: DoubleArray


class _Task(NamedTuple):
    """Nodes to solve side by side, and the rows from which they learn."""

    nodes: NDArray[np.int64]
    rows: NDArray[np.int64]


def solve_nodes(
    X: CSR,
    training_sets: TrainingSets,
    wanted: NDArray[np.bool_],
    settings: Settings,
    n_jobs: int | None,
) -> SolvedNodes:
    """The exact weights (I + SSᵀ)⁻¹ S v of every node that is `wanted`, in their order.

    Nodes that learn from the same rows are solved side by side; each stops by itself.
    """
    groups = [
        group._replace(nodes=group.nodes[wanted[group.nodes]]) for group in training_sets.siblings()
    ]
    groups = [group for group in groups if group.nodes.size]
    _require_memory(X, groups, n_jobs)
    tasks = [
        _Task(group.nodes[start : start + _WIDTH], group.rows)
        for group in groups
        for start in range(0, group.nodes.size, _WIDTH)
    ]

    def solve(task: _Task) -> SolvedNodes:
        local = Rows.of(X, task.rows)  # inside the task, so that few copies exist at once
        signs = [training_sets.signs(int(node), task.rows) for node in task.nodes]
        alpha, n_iter, residual = local.solve(np.column_stack(signs), settings)
        sums = local.combined(alpha)
        columns = [sums[:, lane] for lane in range(task.nodes.size)]
        weights = [
            NodeWeights.of(int(node), column, local.features)
            for node, column in zip(task.nodes, columns, strict=True)
        ]
        return SolvedNodes(weights, n_iter, residual)

    tasks.sort(key=lambda task: -task.rows.size)  # so that no thread is left with the longest
    sizes = [task.rows.size for task in tasks]
    parts = parallel(solve, tasks, n_jobs=n_jobs, description="solving the nodes", weights=sizes)
    return _in_order(parts)


def _in_order(parts: list[SolvedNodes]) -> SolvedNodes:
    """All nodes, by their numbers."""
    weights = [one for part in parts for one in part.weights]
    order = np.argsort([one.node for one in weights])
    n_iter = np.concatenate([np.empty(0, dtype=np.int64), *(part.n_iter for part in parts)])
    residual = np.concatenate([np.empty(0), *(part.residual for part in parts)])
    return SolvedNodes([weights[i] for i in order], n_iter[order], residual[order])


def _require_memory(X: CSR, groups: list[Siblings], n_jobs: int | None) -> None:
    """The weights, and for each thread a copy of the rows and its vectors."""
    lengths = np.diff(X.indptr)
    needed, workspace = 0, 0
    for group in groups:
        nonzeros = int(lengths[group.rows].sum())
        n_features = min(nonzeros, X.shape[1])
        width = min(group.nodes.size, _WIDTH)
        needed += 8 * n_features * group.nodes.size
        work = nonzeros + width * (5 * group.rows.size + 2 * n_features)
        workspace = max(workspace, 8 * work)
    needed += workspace * joblib.effective_n_jobs(n_jobs)
    require_memory(needed, "solving the nodes", "fit fewer rows, or learn by partial_fit")
