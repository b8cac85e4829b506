"""The group problem of budgeted decisions: its rows, its worst case, its solutions."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from labelwood.core.memory import require_memory
from labelwood.core.sparse import CSRArrays, compact_columns, row_numbers
from labelwood.core.types import CSR, DoubleArray, IndexArray, PointerArray
from labelwood.errors import DataError
from labelwood.linear.budgeted import _feature_kernels as kernels
from labelwood.linear.budgeted import _master_kernels as master
from labelwood.linear.budgeted import _objective_kernels as parts

_LITTLE = 2**26  # bytes; asking what is free takes longer than many a small problem
_LARGEST = 1e100  # C·Σx², whose square is a number yet


class Groups(NamedTuple):
    """The group problem over some planes, solved.

    `union` are the features of all planes, `X` the rows on these alone; see
    `_budgeted_problem_kernels.Problem` for `starts` and `positions`. Features are counted among
    those that occur in the rows. `converged` says whether the tolerance was met.
    """

    planes: list[IndexArray]
    starts: PointerArray
    union: IndexArray
    positions: IndexArray
    X: CSRArrays
    weights: DoubleArray
    intercepts: DoubleArray
    residuals: DoubleArray
    value: float
    lipschitz: float
    converged: bool

    def coef(self) -> DoubleArray:
        """Weights of the features of `union`, a row for each problem."""
        return parts.collapse(self.weights, self.positions, self.union.size)


class GroupSolver:
    """Solves problems that share rows and planes, and counts what that took.

    Attributes
    ----------
    features : the columns that occur in the rows
    n_iter : steps made so far
    """

    def __init__(
        self,
        X: CSR,
        signs: ArrayLike,
        costs: ArrayLike,
        rows: ArrayLike | None,
        fit_intercept: bool,
        gap: float,
        max_iter: int,
    ) -> None:
        chosen = row_numbers(rows, X.shape[0])
        self.signs, self.costs = _check_problems(signs, costs, chosen.size)
        matrix = X if rows is None else X[chosen]
        needed = 50 * matrix.nnz
        if needed > _LITTLE:
            require_memory(needed, f"{matrix.nnz:,} non-zeros", "train on fewer rows or features")
        self.X, self.features = compact_columns(matrix)
        costly = np.repeat(self.costs.any(axis=0), np.diff(self.X.indptr))
        self.largest = float(np.abs(self.X.data).max(where=costly, initial=0))
        if self.costs.sum() * self.largest**2 > _LARGEST:
            raise DataError("C or the values of X are too large; scale them down.")
        self.fit_intercept = fit_intercept
        self.gap = gap
        self.max_iter = max_iter
        self.n_iter = 0

    def worst_case(self, residuals: DoubleArray, budget: int) -> tuple[IndexArray, float]:
        """The plane with the greatest Σ_j (Σ_i r_i x_ij)², and that sum (§4.1.1)."""
        scores = np.zeros(self.features.size)
        kernels.column_scores(self.X, residuals, scores)
        plane = largest(scores, budget, 0.0)
        return plane, float(scores[plane].sum())

    def lower_bound(self, residuals: DoubleArray, worst: float) -> float:
        """What no choice of features can go below, `worst` being the worst case's sum."""
        return parts.lower_bound(residuals, self.costs, worst)

    def no_plane(self) -> Groups:
        """The best intercepts alone."""
        shape = self.costs.shape
        none, starts = np.empty(0, dtype=np.uint32), np.zeros(1, dtype=np.int64)
        intercepts, residuals = np.zeros(shape[0]), np.empty(shape)
        problem = self._problem(self.X, none, starts, none)
        value = parts.losses(problem, np.zeros(shape), intercepts, residuals)
        # Low, as steps raise it faster than they lower it.
        lipschitz = max(1e-4 * self.costs.sum() * self.largest**2, np.finfo(float).tiny)
        weights = np.zeros((shape[0], 0))
        return Groups(
            [], starts, none, none, self.X, weights, intercepts, residuals, value, lipschitz, True
        )

    def add(self, before: Groups, plane: IndexArray) -> Groups:
        """Solve with one more plane, from the solution without it."""
        planes = [*before.planes, plane]
        starts = np.append(before.starts, before.starts[-1] + plane.size)
        weights = np.zeros((self.costs.shape[0], int(starts[-1])))
        weights[:, : before.positions.size] = before.weights
        return self._solve(planes, starts, weights, before)

    def one_plane(self, features: IndexArray, near: Groups) -> Groups:
        """Solve with these features, sorted, as the only plane, from another solution."""
        weights = np.zeros((self.costs.shape[0], features.size))
        _, here, there = np.intersect1d(features, near.union, True, return_indices=True)
        weights[:, here] = near.coef()[:, there]
        return self._solve([features], np.array([0, features.size]), weights, near)

    def _solve(
        self, planes: list[IndexArray], starts: PointerArray, weights: DoubleArray, near: Groups
    ) -> Groups:
        """Solve over these planes, from weights and from the intercepts of another solution."""
        union, inverse = np.unique(np.concatenate(planes), return_inverse=True)
        positions = inverse.astype(np.uint32)
        X = kernels.restrict(self.X, kernels.feature_table(union))
        problem = self._problem(X, union, starts, positions)
        intercepts, residuals = near.intercepts.copy(), np.empty(self.costs.shape)
        solved = master.solve_master(
            problem, weights, intercepts, residuals, near.lipschitz, self.gap, self.max_iter
        )
        self.n_iter += solved.n_iter
        met = solved.value - solved.bound <= max(self.gap, master.FINEST) * solved.value
        return Groups(
            planes,
            starts,
            union,
            positions,
            X,
            solved.weights,
            intercepts,
            residuals,
            solved.value,
            solved.lipschitz,
            bool(met),
        )

    def heaviest(self, solved: Groups, n: int) -> IndexArray:
        """The `n` features whose loss would raise the objective most, judged one by one."""
        rises = kernels.saliency(
            solved.X, solved.residuals, self.costs, self.fit_intercept, solved.coef()
        )
        return solved.union[largest(rises, n, 0.0)]

    def most_promising(self, solved: Groups, n: int) -> IndexArray:
        """The `n` other features that would lower the objective most, judged one by one."""
        gains = kernels.expected_gains(
            self.X, solved.residuals, self.costs, self.fit_intercept, self.features.size
        )
        gains[solved.union] = 0
        return largest(gains, n, 0.0)

    def _problem(
        self, X: CSRArrays, union: IndexArray, starts: PointerArray, positions: IndexArray
    ) -> parts.Problem:
        return parts.Problem(
            X, union.size, self.signs, self.costs, starts, positions, self.fit_intercept
        )


def largest(scores: DoubleArray, budget: int, floor: float) -> IndexArray:
    """The positions of the `budget` greatest scores above `floor`, sorted; of equals the first.

    Examples
    --------
    >>> largest(np.array([3.0, 1.0, 2.0, 2.0]), 2, 0.0).tolist()
    [0, 2]
    """
    positions = np.flatnonzero(scores > floor)
    if positions.size > budget:
        values = scores[positions]
        least = np.partition(values, -budget)[-budget]
        above, equal = positions[values > least], positions[values == least]
        positions = np.sort(np.concatenate([above, equal[: budget - above.size]]))
    return positions.astype(np.uint32)


def _check_problems(
    signs: ArrayLike, costs: ArrayLike, n_rows: int
) -> tuple[DoubleArray, DoubleArray]:
    sign = np.asarray(signs, dtype=np.float64)
    if sign.shape != (n_rows,) or not np.all(np.abs(sign) == 1):
        raise DataError(f"signs must be +1 or −1 for each of the {n_rows} rows.")
    cost = np.atleast_2d(np.asarray(costs, dtype=np.float64))
    if cost.ndim != 2 or cost.shape[1] != n_rows or not np.all((cost >= 0) & np.isfinite(cost)):
        raise DataError(f"costs must be finite and ≥ 0 for each of the {n_rows} rows.")
    return sign, np.ascontiguousarray(cost)
