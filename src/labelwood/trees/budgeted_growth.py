"""Trees of budgeted decisions: grown level by level, pruned by held-out errors (seed 004, §5).

Every point belongs to one fold. At each node the folds share one set of features, and each has
a linear classifier that has not seen its own points, which are sent on by it: children learn
from points that were divided as new ones would be, and the errors of a decision are those that
its children have as leaves, so that errors of parents and children can be compared. As the shared
features were chosen with the help of all points, errors are also counted for classifiers
whose features were chosen without the point.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from labelwood.core.parallel import parallel
from labelwood.core.types import CSR, AnyArray, DoubleArray, IndexArray, PointerArray
from labelwood.linear.budgeted_planes import BudgetedDecisions, decide, solve_budgeted
from labelwood.trees.budgeted_pairs import find_pair

LINEAR, SECOND_ORDER = "linear", "second order"


class Growth(NamedTuple):
    """What the growth of a tree depends on besides its points."""

    budget: int
    C: float
    max_planes: int
    max_depth: int
    min_split: int
    prune: bool
    min_gain: float
    second_order: bool
    tol: float
    max_iter: int


class Points(NamedTuple):
    """The points of one tree: a sign, a weight and a fold for each row of X."""

    X: CSR
    signs: DoubleArray
    weights: DoubleArray
    folds: PointerArray
    n_folds: int


class Decision(NamedTuple):
    """A linear classifier for each fold, on the same features.

    `scores` are those of the node's points under the classifier of their own fold. That has
    not seen them, but its features were chosen with their help; `held_out` are scores of
    classifiers that chose their features without them.
    """

    features: IndexArray
    coef: DoubleArray
    intercepts: DoubleArray
    kind: str
    scores: DoubleArray
    held_out: DoubleArray


class Effort(NamedTuple):
    """Proximal steps made, and problems that ended at their limit."""

    n_iter: int
    n_unsolved: int


@dataclass(eq=False)
class Node:
    """A node while trees grow.

    Attributes
    ----------
    tree, depth : where it stands
    rows : its points
    margins : distance of each from the parent's decision (1 at the root), positive if most
        of them are, as a leaf predicts what most of its points are
    totals : weight of the negative and of the positive ones
    leaf_errors : weight of the wrong ones if it is a leaf, and if the parent's `held_out`
        sent them to it or to its sibling
    decision : None for a leaf, and `reason` says why
    cv_error : weight of the points whose `held_out` is wrong, NaN without a linear decision
    subtree_errors : as `leaf_errors`, in the leaves below after pruning
    n_leaves : leaves below after pruning, 1 for a leaf
    positive, negative : the children
    """

    tree: int
    depth: int
    rows: PointerArray
    margins: DoubleArray
    totals: DoubleArray
    leaf_errors: DoubleArray
    decision: Decision | None = None
    reason: str = ""
    cv_error: float = np.nan
    subtree_errors: DoubleArray = field(default_factory=lambda: np.zeros(2))
    n_leaves: int = 1
    positive: "Node | None" = None
    negative: "Node | None" = None

    def prune(self, reason: str) -> None:
        """Make it a leaf."""
        self.decision = self.positive = self.negative = None
        self.reason = reason


def grow_trees(
    trees: list[Points], growth: Growth, n_jobs: int | None
) -> tuple[list[Node], Effort]:
    """The root of one tree for each of `trees`; the nodes of a level are independent work."""
    level = [_root(points, number) for number, points in enumerate(trees)]
    nodes, efforts = [], []
    while level:
        found = parallel(
            lambda node: _decide(trees[node.tree], node, growth),
            level,
            n_jobs=n_jobs,
            description=f"decisions at depth {level[0].depth}",
        )
        nodes += level
        below: list[Node] = []
        for node, (decision, effort) in zip(level, found, strict=True):
            efforts.append(effort)
            if isinstance(decision, str):
                node.reason = decision
            else:
                below += _split(trees[node.tree], node, decision)
        level = below
    for node in reversed(nodes):  # children come after their parents
        _settle(node, growth, trees[0].X.shape[1])
    return nodes[: len(trees)], Effort(*(sum(parts) for parts in zip(*efforts, strict=True)))


def _decide(points: Points, node: Node, growth: Growth) -> tuple[Decision | str, Effort]:
    """The decision of a node, or why there is none, and what that took."""
    if node.totals.min() == 0:
        return "one class", Effort(0, 0)
    if node.depth == growth.max_depth:
        return "limit of depth", Effort(0, 0)
    if node.rows.size < growth.min_split:
        return "few points", Effort(0, 0)
    X = points.X if node.rows.size == points.X.shape[0] else points.X[node.rows]
    linear, effort = _linear(X, points, node, growth)
    before = node.leaf_errors[1]
    gain = before - _wrong(points, node.rows, linear.held_out)
    if growth.second_order and gain < 2 * np.sqrt(before):  # perhaps by chance
        other = _second_order(X, points, node)
        if other is not None:
            return other, effort
    return linear if _separates(linear) else "nothing separates the points", effort


def _linear(X: CSR, points: Points, node: Node, growth: Growth) -> tuple[Decision, Effort]:
    """A classifier for each fold on features that all share, and scores of held-out points."""
    folds, signs = points.folds[node.rows], points.signs[node.rows]
    every = np.arange(folds.size)
    costs = np.repeat(growth.C * points.weights[None, node.rows], points.n_folds, axis=0)
    costs[folds, every] = 0
    shared = _solve(X, signs, costs, growth)
    scores = decide(X, shared.features, shared.coef, shared.intercepts)[folds, every]
    solved, held_out = [shared], np.empty(folds.size)
    for fold in np.unique(folds):
        seen, left_out = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        own = _solve(X[seen], signs[seen], costs[fold, seen], growth)
        held_out[left_out] = decide(X[left_out], own.features, own.coef, own.intercepts)[0]
        solved.append(own)
    effort = Effort(sum(one.n_iter for one in solved), sum(not one.converged for one in solved))
    coef, intercepts = shared.coef, shared.intercepts
    return Decision(shared.features, coef, intercepts, LINEAR, scores, held_out), effort


def _solve(X: CSR, signs: DoubleArray, costs: DoubleArray, growth: Growth) -> BudgetedDecisions:
    return solve_budgeted(
        X,
        signs,
        costs,
        budget=growth.budget,
        strict=True,
        tol=growth.tol,
        max_planes=growth.max_planes,
        max_iter=growth.max_iter,
    )


def _second_order(X: CSR, points: Points, node: Node) -> Decision | None:
    found = find_pair(X, points.signs[node.rows])
    if found is None:
        return None
    features = np.array([found.feature], dtype=np.uint32)
    coef = np.full((points.n_folds, 1), 1 / found.deviation)
    intercepts = np.full(points.n_folds, -found.mean / found.deviation)
    scores = decide(X, features, coef[:1], intercepts[:1])[0]
    decision = Decision(features, coef, intercepts, SECOND_ORDER, scores, scores)
    return decision if _separates(decision) else None


def _separates(decision: Decision) -> bool:
    positive = np.count_nonzero(decision.scores > 0)
    return bool(0 < positive < decision.scores.size)


def _wrong(points: Points, rows: PointerArray, scores: DoubleArray) -> float:
    """Weight of the rows whose score has the wrong sign."""
    return float(points.weights[rows][(scores > 0) != (points.signs[rows] > 0)].sum())


def _split(points: Points, node: Node, decision: Decision) -> list[Node]:
    node.decision = decision
    if decision.kind == LINEAR:  # the sides of the other stand for no class
        node.cv_error = _wrong(points, node.rows, decision.held_out)
    sent = decision.scores > 0
    sides = (sent, ~sent)
    labels = [_majority(_totals(points, node.rows[side])) for side in sides]
    held_out = np.where(decision.held_out > 0, *labels)
    distances = np.abs(decision.scores)
    children = [
        _node(points, node.tree, node.depth + 1, node.rows[side], distances[side], held_out[side])
        for side in sides
    ]
    node.positive, node.negative = children
    return children


def _root(points: Points, tree: int) -> Node:
    rows = np.flatnonzero(points.weights > 0)
    held_out = np.full(rows.size, _majority(_totals(points, rows)))
    return _node(points, tree, 0, rows, np.ones(rows.size), held_out)


def _node(
    points: Points,
    tree: int,
    depth: int,
    rows: PointerArray,
    distances: DoubleArray,
    held_out: DoubleArray,
) -> Node:
    totals = _totals(points, rows)
    errors = np.array([totals.min(), _wrong(points, rows, held_out)])
    return Node(tree, depth, rows, distances * _majority(totals), totals, errors)


def _settle(node: Node, growth: Growth, n_features: int) -> None:
    """The errors left below a node; a leaf takes its place if that has hardly more."""
    node.subtree_errors = node.leaf_errors
    if node.decision is None or node.positive is None or node.negative is None:
        return
    below = node.positive.subtree_errors + node.negative.subtree_errors
    choices = 2 * node.decision.features.size * np.log(n_features + 1)
    n_leaves = node.positive.n_leaves + node.negative.n_leaves
    chance = np.array([choices, n_leaves / 2])
    if growth.prune and not _gains(node.leaf_errors, below, growth.min_gain, chance):
        node.prune("pruned")
    else:
        node.subtree_errors, node.n_leaves = below, n_leaves


def _gains(alone: DoubleArray, below: DoubleArray, min_gain: float, chance: DoubleArray) -> bool:
    """Whether fewer errors are left, and by one of the counts fewer than chance explains.

    A number e of errors has a standard error of about √e. The best of d features without
    meaning, k at a time, lower it by some √(2 e k ln d); leaves that take the label of most of
    their points by one that grows with the root of their number. `chance` holds 2 k ln d
    and, for the held-out errors, half the number of leaves.
    """
    least = min_gain * np.sqrt(alone * chance)
    fewer = (alone > below) & (alone - below >= least)
    return bool(alone[0] > below[0] and np.any(fewer))


def _totals(points: Points, rows: PointerArray) -> DoubleArray:
    positive = (points.signs[rows] > 0).astype(np.intp)
    totals: AnyArray = np.bincount(positive, points.weights[rows], minlength=2)
    return totals


def _majority(totals: DoubleArray) -> float:
    return 1.0 if totals[1] > totals[0] else -1.0
