"""Regularised least squares of all nodes at once: conjugate gradient, a family at a time."""

from typing import NamedTuple

import joblib
import numpy as np
from numpy.typing import NDArray

from labelwood.core.memory import require_memory
from labelwood.core.parallel import blocks, parallel
from labelwood.core.sparse import CSRArrays, csr_arrays, row_squares
from labelwood.core.types import CSR, DoubleArray, IndexArray
from labelwood.taxonomy.hierarchical_rls import _conjugate_gradient_kernels as kernels
from labelwood.taxonomy.hierarchy import Examples, Family, NodeWeights

_SIDE_BY_SIDE = 16  # systems of the same rows that are solved together
_SPREAD_TOL = 1e-5  # of the systems behind intervals


class Rows(NamedTuple):
    """Some rows of a matrix on the features that occur in them."""

    arrays: CSRArrays
    features: IndexArray

    @classmethod
    def of(cls, X: CSR, rows: NDArray[np.int64]) -> "Rows":
        """The `rows` of `X`."""
        arrays = csr_arrays(X if rows.size == X.shape[0] else X[rows])
        features, places = np.unique(arrays.indices, return_inverse=True)
        return cls(arrays._replace(indices=places.astype(np.uint32)), features)

    def solve(self, targets: DoubleArray, tol: float, max_iter: int) -> "Solution":
        """α of (I + G) α = `targets`, by columns."""
        n_features = max(self.features.size, 1)
        return Solution(*kernels.solve(*self.arrays, n_features, targets, tol, max_iter))

    def spreads(self, S: CSR, X: CSR, max_iter: int, n_jobs: int | None) -> DoubleArray:
        """For each row x of `X`: r = xᵀ(I + SSᵀ)⁻¹x, and ‖u‖², u = (I + G)⁻¹Sᵀx.

        S are these rows as they were. Neither is taken for less than it is: steps of conjugate
        gradient from zero only raise (Sᵀx)ᵀu, and as no eigenvalue of I + G is below one, ‖u‖
        is at most by the residual greater than what was found.
        """

        def spread(rows: range) -> DoubleArray:
            some = X[rows.start : rows.stop]
            products = np.ascontiguousarray((S @ some.T).toarray(), dtype=np.float64)
            solved, _, left = self.solve(products, _SPREAD_TOL, max_iter)
            r = row_squares(some) - np.sum(products * solved, axis=0)
            u = np.linalg.norm(solved, axis=0) + left * np.linalg.norm(products, axis=0)
            return np.column_stack([r, u**2])

        return np.concatenate(parallel(spread, blocks(X.shape[0], _SIDE_BY_SIDE), n_jobs=n_jobs))

    def combined(self, alpha: DoubleArray) -> DoubleArray:
        """The weights S α, on the features that occur, by columns."""
        sums = np.empty((self.features.size, alpha.shape[1]))
        kernels.combine(*self.arrays, alpha, sums)
        return sums


class Solution(NamedTuple):
    """α by columns, the steps of each, and the share of each residual that is left."""

    alpha: DoubleArray
    n_iter: NDArray[np.int64]
    left: DoubleArray


class Solved(NamedTuple):
    """What is told of a few nodes that learn from the same rows."""

    weights: list[NodeWeights]
    n_iter: NDArray[np.int64]
    left: DoubleArray


class _Task(NamedTuple):
    """Nodes to solve side by side, and what they learn from."""

    nodes: NDArray[np.int64]
    rows: NDArray[np.int64]


def solve_nodes(
    X: CSR,
    examples: Examples,
    wanted: NDArray[np.bool_],
    *,
    tol: float,
    max_iter: int,
    n_jobs: int | None,
) -> list[Solved]:
    """The exact weights (I + SSᵀ)⁻¹ S v of every node that is `wanted`.

    Nodes that learn from the same rows are solved side by side; each stops by itself.
    """
    families = [
        family._replace(nodes=family.nodes[wanted[family.nodes]]) for family in examples.families()
    ]
    families = [family for family in families if family.nodes.size]
    _refuse_without_memory(X, families, n_jobs)
    tasks = [
        _Task(family.nodes[start : start + _SIDE_BY_SIDE], family.rows)
        for family in families
        for start in range(0, family.nodes.size, _SIDE_BY_SIDE)
    ]

    def solve(task: _Task) -> Solved:
        local = Rows.of(X, task.rows)  # here, so that those of few tasks are held at once
        signs = [examples.signs(int(node), task.rows) for node in task.nodes]
        alpha, n_iter, left = local.solve(np.column_stack(signs), tol, max_iter)
        sums = local.combined(alpha)
        columns = [sums[:, lane] for lane in range(task.nodes.size)]
        weights = [
            NodeWeights.of(int(node), column, local.features)
            for node, column in zip(task.nodes, columns, strict=True)
        ]
        return Solved(weights, n_iter, left)

    tasks.sort(key=lambda task: -task.rows.size)  # so that no thread waits for the longest
    sizes = [task.rows.size for task in tasks]
    return parallel(solve, tasks, n_jobs=n_jobs, description="solving the nodes", weights=sizes)


def _refuse_without_memory(X: CSR, families: list[Family], n_jobs: int | None) -> None:
    """The weights, and what each thread works on: a copy of the rows, and its vectors."""
    lengths = np.diff(X.indptr)
    needed, scratch = 0, 0
    for family in families:
        nonzeros = int(lengths[family.rows].sum())
        n_features = min(nonzeros, X.shape[1])
        width = min(family.nodes.size, _SIDE_BY_SIDE)
        needed += 8 * n_features * family.nodes.size
        work = nonzeros + width * (5 * family.rows.size + 2 * n_features)
        scratch = max(scratch, 8 * work)
    needed += scratch * joblib.effective_n_jobs(n_jobs)
    require_memory(needed, "solving the nodes", "fit fewer rows, or learn by partial_fit")
