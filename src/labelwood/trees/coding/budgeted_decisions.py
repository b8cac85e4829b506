"""Decisions of a coding tree under a feature budget (Liu & Tsang 2017, Algorithms 3 and 4).

The paper makes a budget-aware classifier of every node. Most nodes of a tree over label sets have
a handful of samples: their problems are a few hundred non-zeros, and what they cost is set-up.
"""

import numpy as np

from labelwood.core.types import CSR, IndexArray
from labelwood.errors import ParameterError
from labelwood.linear.budgeted import solve_budgeted

# Below so many samples a decision is one plane: a search for a better choice of features cannot
# tell from them. It costs most of the time, as nearly all nodes are that small.
_FEW = 64
_MAX_PLANES = 3  # of larger nodes; further ones lowered the objective by less than 1 % on Corel5k
_TOL = 1e-2  # of the objective


def resolved_budget(budget: int | str | None, n_features: int, n_used: int, owner: str) -> int:
    """The features that a decision may read; 0 for no limit.

    "auto" is twice the square root of the features that occur, and at least 16: no more than a
    person reads, and not fewer than a document of ordinary length shares with its topic.

    Examples
    --------
    >>> [resolved_budget("auto", n, n, "…") for n in (68, 499, 65_256)]
    [17, 45, 511]
    """
    if budget is None:
        return 0
    if budget == "auto":
        return min(max(16, int(np.ceil(2 * np.sqrt(n_used)))), max(n_features, 1))
    if int(budget) > n_features:
        raise ParameterError(
            f"The 'budget' parameter of {owner} must be at most the number of features, "
            f"{n_features}. Got {budget} instead; budget=None sets no limit."
        )
    return int(budget)


def budgeted_decision(
    X: CSR,
    rows: IndexArray,
    n_positive: int,
    costs: tuple[float, float],
    budget: int,
    fit_intercept: bool,
    max_iter: int,
) -> tuple[IndexArray, "np.ndarray[tuple[int], np.dtype[np.float32]]", float, int, bool]:
    """Features, weights, intercept, steps and convergence of one decision on `rows` of `X`.

    The first `n_positive` of `rows` are positive; `costs` are those of an error on either side.
    """
    signs = np.ones(rows.size)
    signs[n_positive:] = -1
    few = rows.size < _FEW
    solved = solve_budgeted(
        X,
        signs,
        np.where(signs > 0, *costs),
        budget=budget,
        plane_size=budget if few else None,
        rows=rows,
        fit_intercept=fit_intercept,
        tol=_TOL,
        max_planes=1 if few else _MAX_PLANES,
        max_iter=max_iter,
    )
    return (
        solved.features.astype(np.uint32),
        solved.coef[0].astype(np.float32),
        float(solved.intercepts[0]),
        solved.n_iter,
        solved.converged,
    )
