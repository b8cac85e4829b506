"""A choice of features within the budget, where those of all planes are more.

Liu & Tsang 2017 has no such choice: its classifier reads the features of all planes. The aim is
the subset on which a support vector machine has the lowest objective; no fast method finds it for
certain, so several are tried and the best is improved.
"""

import numpy as np

from labelwood.linear.budgeted.group_problem import Groups, GroupSolver

_STEPS = 8  # in which features are gathered; those of one step do not know of each other


def within_budget(
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
