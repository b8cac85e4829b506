"""Trees of budgeted decisions: grown level by level, pruned by held-out errors (seed 004, §5).

Points are sent on by classifiers that have not seen them: children learn from points that were
divided as new ones would be, and the errors of a decision are those that its children have as
leaves, so that errors of parents and children can be compared.
"""

import joblib
import numpy as np

from labelwood.core.classes import NOT_DIVIDED
from labelwood.core.memory import require_memory
from labelwood.core.parallel import blocks
from labelwood.core.types import AnyArray, DoubleArray, PointerArray
from labelwood.trees.budgeted_decisions import (
    LINEAR,
    SECOND_ORDER,
    Effort,
    Growth,
    Place,
    Points,
    Split,
    find_splits,
)
from labelwood.trees.budgeted_nodes import FlatTrees, Node, flatten, join
from labelwood.trees.budgeted_pairs import memory_of_pairs

_AT_ONCE = 8  # trees that grow together; the points of their nodes are held in memory
_USUAL_DEPTH = 12


def grow_trees(
    points: Points, codes: PointerArray, classes: range, growth: Growth, n_jobs: int | None
) -> tuple[FlatTrees, Effort]:
    """A tree for each of `classes`, `codes` being the class of each point; some at a time."""
    _require_memory(points, min(len(classes), _AT_ONCE), growth, n_jobs)
    balance = growth.class_weight == "balanced"
    parts, effort = [], Effort()
    for block in blocks(len(classes), _AT_ONCE):
        trees = [points.of_class(codes, classes[k], balance) for k in block]
        roots, cost = _grow(trees, growth, n_jobs)
        parts.append(flatten(roots, trees))
        effort = effort.and_of(cost)
    return join(parts), effort


def _require_memory(points: Points, n_trees: int, growth: Growth, n_jobs: int | None) -> None:
    n, n_threads = points.X.shape[0], joblib.effective_n_jobs(n_jobs)
    # Each level holds the points of its nodes and their margins; each thread a copy of its rows
    # and some numbers for each of them and fold, or what pairs are compared with.
    levels = 1 + min(growth.max_depth, _USUAL_DEPTH)
    needed = n_trees * n * (48 + 16 * levels)
    for_pairs = memory_of_pairs(points.X) if growth.second_order else 0
    needed += n_threads * (50 * points.X.nnz + max(80 * n * points.n_folds, for_pairs))
    require_memory(
        needed, f"{n_trees} trees on {n_threads} threads", "lower n_jobs or train on fewer rows"
    )


def _grow(trees: list[Points], growth: Growth, n_jobs: int | None) -> tuple[list[Node], Effort]:
    """The root of one tree for each of `trees`; the nodes of a level are found together."""
    level = [_root(points, number) for number, points in enumerate(trees)]
    nodes, total = [], Effort()
    while level:
        nodes += level
        for node in level:
            node.reason = _no_split(node, growth)
        still = [node for node in level if not node.reason]
        places = [Place(trees[node.tree], node.rows, node.leaf_errors[1]) for node in still]
        splits, effort = find_splits(places, growth, n_jobs, f"decisions at depth {level[0].depth}")
        total = total.and_of(effort)
        level = []
        for node, split in zip(still, splits, strict=True):
            if split.separates:
                level += _divide(trees[node.tree], node, split)
            else:
                found = split.decision.features.size > 0
                node.reason = NOT_DIVIDED if found else "no feature tells the classes apart"
    for node in reversed(nodes):  # children come after their parents
        _settle(trees[node.tree], node, growth)
    return nodes[: len(trees)], total


def _no_split(node: Node, growth: Growth) -> str:
    """Why a node is a leaf before a decision is looked for, or nothing."""
    if node.totals.min() == 0:
        return "one class"
    if node.depth == growth.max_depth:
        return "limit of depth"
    return "few points" if node.rows.size < growth.min_split else ""


def _divide(points: Points, node: Node, split: Split) -> list[Node]:
    """The children of a node."""
    node.decision = split.decision
    if split.decision.kind == LINEAR:  # the sides of the other stand for no class
        node.cv_error = points.wrong(node.rows, split.held_out)
    sent = split.scores > 0
    sides = (sent, ~sent)
    labels = [_majority(_totals(points, node.rows[side])) for side in sides]
    held_out = np.where(split.held_out > 0, *labels)
    distances = np.abs(split.scores)
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
    errors = np.array([totals.min(), points.wrong(rows, held_out)])
    return Node(tree, depth, rows, distances * _majority(totals), totals, errors)


def _settle(points: Points, node: Node, growth: Growth) -> None:
    """The errors left below a node; a leaf takes its place if that has hardly more."""
    node.subtree_errors = node.leaf_errors
    if node.decision is None or node.positive is None or node.negative is None:
        return
    below = node.positive.subtree_errors + node.negative.subtree_errors
    choices = 2 * node.decision.features.size * np.log(points.X.shape[1] + 1)
    n_leaves = node.positive.n_leaves + node.negative.n_leaves
    variances = points.variance(node.rows, node.leaf_errors)
    least = growth.min_gain * np.sqrt(variances * [choices, n_leaves / 2])
    if growth.prune and not _gains(node.leaf_errors, below, least):
        node.prune(_why_pruned(node))
    else:
        node.subtree_errors, node.n_leaves = below, n_leaves


def _why_pruned(node: Node) -> str:
    """A split of second order is in vain if no decision divides its halves."""
    halves = [child.reason for child in (node.positive, node.negative) if child is not None]
    second = node.decision is not None and node.decision.kind == SECOND_ORDER
    return NOT_DIVIDED if second and halves == [NOT_DIVIDED] * 2 else "pruned"


def _gains(alone: DoubleArray, below: DoubleArray, least: DoubleArray) -> bool:
    """Whether fewer errors are left, and by one of the counts fewer by more than chance explains.

    A number e of errors has a standard error of about √e. The best of d features without
    meaning, k at a time, lower it by some √(2 e k ln d); leaves that take the label of most of
    their points by one that grows with the root of their number. So `least` is √(2 e k ln d)
    and, for the held-out errors, √(e × half the number of leaves).
    """
    fewer = (alone > below) & (alone - below >= least)
    return bool(alone[0] > below[0] and np.any(fewer))


def _totals(points: Points, rows: PointerArray) -> DoubleArray:
    positive = (points.signs[rows] > 0).astype(np.intp)
    totals: AnyArray = np.bincount(positive, points.weights[rows], minlength=2)
    return totals


def _majority(totals: DoubleArray) -> float:
    return 1.0 if totals[1] > totals[0] else -1.0
