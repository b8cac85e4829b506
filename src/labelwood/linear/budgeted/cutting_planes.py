"""Cutting planes for decisions under a feature budget (Liu & Tsang 2017, §4.1).

A plane is a set of few features. Each turn adds the plane that the current dual
variables ask for most, and solves the group problem over all planes again.

Liu & Tsang 2017 reads the features of all planes. Where these are more than the budget, a subset
is chosen here: no fast method finds the one on which a support vector machine has the lowest
objective for certain, so several are tried and the best is improved.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from labelwood.core.columns import Scaling
from labelwood.core.sparse import csr_arrays
from labelwood.core.types import CSR, DoubleArray, IndexArray
from labelwood.linear.budgeted import _feature_kernels as kernels
from labelwood.linear.budgeted.group_problem import Groups, GroupSolver

_STEPS = 8  # in which features are gathered; those of one step do not know of each other
_STRICTER = 0.1  # the group problem is solved this much closer than planes are judged


@dataclass(frozen=True)
class BudgetedDecisions:
    """Solved decisions: `x[features]·coef[v] + intercepts[v]` is positive for the positive side.

    Attributes
    ----------
    features :
        Features of non-zero weight in any decision, sorted.
    coef, intercepts :
        A row (a number) for each problem.
    planes, plane_weights :
        Features of each plane, and its weights ω_h of shape (n_problems, features). They add
        up to `coef`, unless features were chosen to keep to the budget.
    objectives :
        Value without a feature, and after each plane; it never rises.
    objective :
        Value of these decisions: the last of `objectives`, or another where features were chosen.
    bound :
        No choice of as many features as a plane has is lower in value.
    n_iter, converged :
        Steps made (proximal ones, and those of the systems of Newton's), and whether the last group
        problem, and that of these decisions, met their tolerance.
    stop_reason :
        Why no more planes were added.
    """

    features: IndexArray
    coef: DoubleArray
    intercepts: DoubleArray
    planes: list[IndexArray]
    plane_weights: list[DoubleArray]
    objectives: list[float]
    objective: float
    bound: float
    n_iter: int
    converged: bool
    stop_reason: str

    def unscaled(self, scaling: Scaling) -> Self:
        """The same decisions for rows whose columns were scaled for the solution."""
        weights = [
            one * scaling.of(plane)
            for one, plane in zip(self.plane_weights, self.planes, strict=True)
        ]
        return replace(self, coef=self.coef * scaling.of(self.features), plane_weights=weights)


def solve_budgeted(
    X: CSR,
    signs: ArrayLike,
    costs: ArrayLike,
    *,
    budget: int,
    plane_size: int | None = None,
    rows: ArrayLike | None = None,
    fit_intercept: bool = True,
    tol: float = 1e-3,
    max_planes: int = 10,
    max_iter: int = 10_000,
) -> BudgetedDecisions:
    """Minimize ½ Σ_j w_j²/ρ_j + Σ_i c_i max(0, 1 − s_i (w·x_i + b))², 0 ≤ ρ ≤ 1, Σρ ≤ size.

    Parameters
    ----------
    X : csr_array from `as_csr`
    signs : array of ±1, one for each of `rows`
    costs : array of shape (n_rows,) or (n_problems, n_rows)
        Cost of an error on each of `rows`. Several problems, such as the folds of a
        cross-validation, differ in their costs (0 leaves a row out) and share ρ: planes are
        chosen by the sum of their objectives (§5.2); each has its own w and b.
    budget : features in all
    plane_size : features in a plane. Planes are added while their features are within the budget;
        with None, planes of `budget` features, of which as many are chosen (`budgeted_choice`)
    rows : row numbers, all when None; cost follows their non-zeros
    fit_intercept : whether b is fitted (it is not regularized) or 0
    tol : a plane, after the first, must lower the value by this share
    max_planes, max_iter : limits of planes, and of steps for each

    Examples
    --------
    >>> from labelwood.core.sparse import as_csr
    >>> X = as_csr([[1, 0, 2], [0, 1, -2], [1, 1, 3], [0, 0, -3]])
    >>> solved = solve_budgeted(X, [1, -1, 1, -1], np.ones(4), budget=1)
    >>> solved.features.tolist(), solved.stop_reason
    ([2], 'no plane lowers the objective by more than tol')
    """
    solver = GroupSolver(X, signs, costs, rows, fit_intercept, _STRICTER * tol, max_iter)
    size = budget if plane_size is None else plane_size
    found = solver.no_plane()
    objectives, bound, reason = [found.value], 0.0, ""
    while not reason:
        plane, worst = solver.worst_case(found.residuals, size)
        bound = max(bound, solver.lower_bound(found.residuals, worst))
        if plane.size == 0 or (found.planes and found.value - bound <= tol * found.value):
            reason = "no plane lowers the objective by more than tol"
        elif any(np.array_equal(plane, known) for known in found.planes):
            reason = "no new plane"  # the group problem was not solved closely enough to tell
        elif len(found.planes) == max_planes:
            reason = "limit of planes"
        elif plane_size is not None and np.union1d(found.union, plane).size > budget:
            reason = "the next plane is beyond the budget"
        else:
            more = solver.add(found, plane)
            if found.planes and found.value - more.value < tol * found.value:
                reason = "the next plane lowers the objective by less than tol"
            else:
                found = more
                objectives.append(found.value)
    kept = found
    if plane_size is None:
        kept = _within_budget(solver, found, budget, tol, max_planes)
    return _decisions(solver, found, kept, objectives, bound, reason)


def decide(X: CSR, features: IndexArray, coef: DoubleArray, intercepts: DoubleArray) -> DoubleArray:
    """Scores (n_decisions, n) of the rows of X, by a hash table of the features (§7)."""
    return kernels.decide(csr_arrays(X), kernels.feature_table(features), coef, intercepts)


def _decisions(
    solver: GroupSolver,
    found: Groups,
    kept: Groups,
    objectives: list[float],
    bound: float,
    reason: str,
) -> BudgetedDecisions:
    coef = kept.coef()
    used = np.any(coef != 0, axis=0)
    parts = np.split(found.weights, found.starts[1:-1], axis=1) if found.planes else []
    return BudgetedDecisions(
        features=solver.features[kept.union[used]],
        coef=np.ascontiguousarray(coef[:, used]),
        intercepts=kept.intercepts,
        planes=[solver.features[plane] for plane in found.planes],
        plane_weights=parts,
        objectives=objectives,
        objective=kept.value,
        bound=min(bound, kept.value),  # which rounding may exceed where both are next to nothing
        n_iter=solver.n_iter,
        converged=found.converged and kept.converged,
        stop_reason=reason,
    )


def _within_budget(
    solver: GroupSolver, found: Groups, budget: int, tol: float, max_turns: int
) -> Groups:
    """A solution with at most `budget` features, as one plane; `found` if it has no more.

    It begins with three choices: the first plane, the heaviest features of all planes, and
    features gathered step by step. The two best are improved, for the best of all may be one
    from which no exchange leads on.
    """
    if found.union.size <= budget:
        return found
    choices = [
        solver.one_plane(found.planes[0], found),
        solver.one_plane(solver.heaviest(found, budget), found),
        _gathered(solver, budget),
    ]
    first, second, _ = sorted(choices, key=lambda one: one.value)
    improved = [_improved(solver, one, budget, tol, max_turns) for one in (first, second)]
    return min(improved, key=lambda one: one.value)


def _gathered(solver: GroupSolver, budget: int) -> Groups:
    """Features added a few at a time, those that promise most beside the ones before."""
    solved = solver.no_plane()
    at_once = -(-budget // _STEPS)
    while solved.union.size < budget:
        more = solver.most_promising(solved, min(at_once, budget - solved.union.size))
        if more.size == 0:
            break
        solved = solver.one_plane(np.union1d(solved.union, more), solved)
    return solved


def _improved(solver: GroupSolver, best: Groups, budget: int, tol: float, max_turns: int) -> Groups:
    """Features exchanged for more promising ones, many at a time and then fewer."""
    size = budget
    while size > 0:
        for _ in range(max_turns):
            new = _exchanged(solver, best, size, budget)
            if best.value - new.value < tol * best.value:
                break
            best = new
        size //= 2
    return best


def _exchanged(solver: GroupSolver, solved: Groups, size: int, budget: int) -> Groups:
    """With `size` promising features more, and then without the lightest of all."""
    more = solver.most_promising(solved, size)
    if more.size == 0:
        return solved
    wider = solver.one_plane(np.union1d(solved.union, more), solved)
    kept = solver.heaviest(wider, budget)
    return solved if np.array_equal(kept, solved.union) else solver.one_plane(kept, wider)
