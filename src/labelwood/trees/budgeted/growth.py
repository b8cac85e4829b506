"""Trees of budgeted decisions: grown level by level, pruned by held-out errors.

After Liu & Tsang 2017, §5.

Samples are sent on by classifiers that have not seen them: children learn from samples that were
divided as new ones would be, and the errors of a decision are those that its children have as
leaves, so that errors of parents and children can be compared.
"""

import joblib
import numpy as np

from labelwood.core.memory import require_memory
from labelwood.core.parallel import blocks
from labelwood.core.types import AnyArray, DoubleArray, PointerArray
from labelwood.linear.budgeted import NOT_DIVIDED
from labelwood.trees.budgeted.arrays import FlatTrees, Node, flatten, join
from labelwood.trees.budgeted.decisions import (
    LINEAR,
    Effort,
    Growth,
    OpenNode,
    Samples,
    Split,
    find_splits,
)
from labelwood.trees.budgeted.pair_splits import memory_of_pairs
from labelwood.trees.budgeted.pruning import (
    MIN_GAINS,
    N_PARTS,
    Strictness,
    apply_gain_rule,
    apply_paper_rule,
    choose,
    cut,
    parts_of,
    wrong_by_strictness,
)

_AT_ONCE = 8  # trees that grow together; the samples of their nodes are held in memory
_USUAL_DEPTH = 12


def grow_trees(
    samples: Samples, codes: PointerArray, classes: range, growth: Growth, n_jobs: int | None
) -> tuple[FlatTrees, list[Strictness], Effort]:
    """A tree for each of `classes`, `codes` being the class of each sample; some at a time."""
    _require_memory(samples, min(len(classes), _AT_ONCE), growth, n_jobs)
    balance = growth.class_weight == "balanced"
    parts, pruned, effort = [], [], Effort()
    for block in blocks(len(classes), _AT_ONCE):
        trees = [samples.of_class(codes, classes[k], balance) for k in block]
        strictness, tried = _strictness(trees, growth, n_jobs)
        nodes, cost = _grow(trees, growth, n_jobs)
        if growth.prune and growth.pruning == "paper":
            apply_paper_rule(nodes)
        else:
            apply_gain_rule(nodes, trees, [one.min_gain for one in strictness])
        cut(nodes)
        parts.append(flatten(nodes[: len(trees)], trees))
        pruned += strictness
        effort = effort.and_of(tried).and_of(cost)
    return join(parts), pruned, effort


def _strictness(
    trees: list[Samples], growth: Growth, n_jobs: int | None
) -> tuple[list[Strictness], Effort]:
    """How strictly each tree is pruned: as was asked, or by trial."""
    if growth.prune and growth.pruning == "paper":
        return [Strictness(np.nan, np.nan)] * len(trees), Effort()
    if not growth.prune or not np.isnan(growth.min_gain):
        min_gain = growth.min_gain if growth.prune else -np.inf
        return [Strictness(min_gain, np.nan)] * len(trees), Effort()
    parts = [parts_of(samples) for samples in trees]
    wrong = [np.zeros((len(MIN_GAINS), part.size), dtype=bool) for part in parts]
    total = Effort()
    for k in range(N_PARTS):
        balance = growth.class_weight == "balanced"
        others = [
            samples.without(part == k, balance) for samples, part in zip(trees, parts, strict=True)
        ]
        nodes, effort = _grow(others, growth, n_jobs, f"trial {k + 1} of {N_PARTS}: ")
        total = total.and_of(Effort(effort.n_iter))  # a trial that is not quite solved will do
        for root in nodes[: len(trees)]:
            rows = np.flatnonzero(parts[root.tree] == k)
            wrong[root.tree][:, rows] = wrong_by_strictness(root, others, rows, n_jobs)
    return [choose(one, samples.weights) for one, samples in zip(wrong, trees, strict=True)], total


def _require_memory(samples: Samples, n_trees: int, growth: Growth, n_jobs: int | None) -> None:
    n, n_threads = samples.X.shape[0], joblib.effective_n_jobs(n_jobs)
    # Each level holds the samples of its nodes and their margins; each thread a copy of its rows
    # and some numbers for each of them and fold, or what pairs are compared with.
    levels = 1 + min(growth.max_depth, _USUAL_DEPTH)
    needed = n_trees * n * (48 + 16 * levels)
    for_pairs = memory_of_pairs(samples.X) if growth.second_order else 0
    needed += n_threads * (50 * samples.X.nnz + max(80 * n * samples.n_folds, for_pairs))
    require_memory(
        needed, f"{n_trees} trees on {n_threads} threads", "lower n_jobs or train on fewer rows"
    )


def _grow(
    trees: list[Samples], growth: Growth, n_jobs: int | None, what: str = ""
) -> tuple[list[Node], Effort]:
    """All nodes of a tree for each of `trees`, the roots first and in the order of the trees.

    The nodes of a level are found together; nothing is pruned.
    """
    level = [_root(samples, number) for number, samples in enumerate(trees)]
    nodes, total = [], Effort()
    while level:
        nodes += level
        for node in level:
            node.reason = _no_split(node, growth)
        still = [node for node in level if not node.reason]
        places = [OpenNode(trees[node.tree], node.rows, node.leaf_errors[1]) for node in still]
        description = f"{what}decisions at depth {level[0].depth}"
        splits, effort = find_splits(places, growth, n_jobs, description)
        total = total.and_of(effort)
        level = []
        for node, split in zip(still, splits, strict=True):
            if split.separates:
                level += _divide(trees[node.tree], node, split)
            else:
                found = split.decision.features.size > 0
                node.reason = NOT_DIVIDED if found else "no feature separates the classes"
    return nodes, total


def _no_split(node: Node, growth: Growth) -> str:
    """Why a node is a leaf before a decision is looked for, or nothing."""
    if node.totals.min() == 0:
        return "one class"
    if node.depth == growth.max_depth:
        return "limit of depth"
    return "few samples" if node.rows.size < growth.min_samples_split else ""


def _divide(samples: Samples, node: Node, split: Split) -> list[Node]:
    """The children of a node."""
    node.decision = split.decision
    if split.decision.kind == LINEAR:  # the sides of the other stand for no class
        node.cv_error = samples.wrong(node.rows, split.held_out)
    sent = split.scores > 0
    sides = (sent, ~sent)
    labels = [_majority(_totals(samples, node.rows[side])) for side in sides]
    held_out = np.where(split.held_out > 0, *labels)
    distances = np.abs(split.scores)
    children = [
        _node(samples, node.tree, node.depth + 1, node.rows[side], distances[side], held_out[side])
        for side in sides
    ]
    node.positive, node.negative = children
    return children


def _root(samples: Samples, tree: int) -> Node:
    rows = np.flatnonzero(samples.weights > 0)
    held_out = np.full(rows.size, _majority(_totals(samples, rows)))
    return _node(samples, tree, 0, rows, np.ones(rows.size), held_out)


def _node(
    samples: Samples,
    tree: int,
    depth: int,
    rows: PointerArray,
    distances: DoubleArray,
    held_out: DoubleArray,
) -> Node:
    totals = _totals(samples, rows)
    errors = np.array([totals.min(), samples.wrong(rows, held_out)])
    return Node(tree, depth, rows, distances * _majority(totals), totals, errors)


def _totals(samples: Samples, rows: PointerArray) -> DoubleArray:
    positive = (samples.signs[rows] > 0).astype(np.intp)
    totals: AnyArray = np.bincount(positive, samples.weights[rows], minlength=2)
    return totals


def _majority(totals: DoubleArray) -> float:
    return 1.0 if totals[1] > totals[0] else -1.0
