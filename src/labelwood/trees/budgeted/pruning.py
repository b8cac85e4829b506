"""Which decisions of a grown tree stay (Liu & Tsang 2017, §5.2), and how strictly that is judged.

Errors counted in the tree itself are too low: the features of its decisions were chosen with the
help of the samples that are counted. Trees differ in what that hides. Where decisions are many
and weak, a strict rule cuts what would help; where labels are noisy, a lenient one keeps what
fits the noise. So each half of the samples is tried on a tree that was grown from the other half.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelwood.core.types import AnyArray, DoubleArray, PointerArray
from labelwood.linear.budgeted import NOT_DIVIDED
from labelwood.trees.budgeted.arrays import Node, flatten, in_order
from labelwood.trees.budgeted.decisions import SECOND_ORDER, Samples

MIN_GAINS = (1.0, 0.5, 2.0, 0.25, 4.0, 0.0)  # candidate strictness values, the default first
N_PARTS = 2
# Standard errors by which another value must beat an earlier one; with 1, a quarter of trees on
# pure noise grew.
_DEVIATIONS = 2.0


class Strictness(NamedTuple):
    """How strictly a tree is pruned, and the share of the samples that trial trees get wrong."""

    min_gain: float
    error: float


def apply_gain_rule(
    nodes: Sequence[Node], trees: Sequence[Samples], min_gains: Sequence[float]
) -> None:
    """For each node the errors and leaves below, where only decisions stay that gain enough.

    Errors are counted twice: `leaf_errors` and `subtree_errors` of a node, and all that is computed
    from them, are pairs of the training and the held-out value. Parents come before their children
    in `nodes`, and nothing is cut yet; `min_gains` has a number for each of `trees`, −∞ to keep
    everything.
    """
    for node in reversed(nodes):
        _apply_gain_rule_to(trees[node.tree], node, min_gains[node.tree])


def _apply_gain_rule_to(samples: Samples, node: Node, min_gain: float) -> None:
    node.subtree_errors, node.n_leaves = node.leaf_errors, 1
    if node.decision is None or node.positive is None or node.negative is None:
        return
    below = node.positive.subtree_errors + node.negative.subtree_errors
    choices = 2 * node.decision.features.size * np.log(samples.X.shape[1] + 1)
    n_leaves = node.positive.n_leaves + node.negative.n_leaves
    variances = samples.variance(node.rows, node.leaf_errors)
    deviations = np.sqrt(variances * [choices, n_leaves / 2])
    if np.isneginf(min_gain) or _gains(node.leaf_errors, below, min_gain * deviations):
        node.subtree_errors, node.n_leaves = below, n_leaves


def apply_paper_rule(nodes: Sequence[Node]) -> None:
    """The rule of Liu & Tsang 2017, §5.2, to the letter, in place of `apply_gain_rule`.

    Both children of a node go, with all below them, when the sum of their CV errors is larger
    than that of the node; ties stay, and the root stays. The CV error of a child that is a leaf
    is the weight of its wrong samples.
    """
    for node in reversed(nodes):
        node.subtree_errors, node.n_leaves = node.leaf_errors, 1
        if node.decision is None or node.positive is None or node.negative is None:
            continue
        children = (node.positive, node.negative)
        if sum(map(_cv_error, children)) > _cv_error(node):
            for child in children:
                child.subtree_errors, child.n_leaves = child.leaf_errors, 1
        node.subtree_errors = node.positive.subtree_errors + node.negative.subtree_errors
        node.n_leaves = node.positive.n_leaves + node.negative.n_leaves


def _cv_error(node: Node) -> float:
    return float(node.leaf_errors[0]) if np.isnan(node.cv_error) else node.cv_error


def _gains(alone: DoubleArray, below: DoubleArray, least: DoubleArray) -> bool:
    """Whether errors fall, and by one of the counts by more than chance explains.

    A number e of errors has a standard error of about √e. The best of d features without
    meaning, k at a time, lower it by some √(2 e k ln d); leaves that take the label of most of
    their samples by one that grows with the root of their number. So `least` is
    `min_gain` times √(2 e k ln d) and, for the held-out errors, √(e × half the number of leaves).
    """
    fewer = (alone > below) & (alone - below >= least)
    return bool(alone[0] > below[0] and np.any(fewer))


def cut(nodes: Sequence[Node]) -> None:
    """Make leaves of the nodes that have no others below."""
    for node in reversed(nodes):
        if node.decision is not None and node.n_leaves == 1:
            node.prune(_why_pruned(node))


def _why_pruned(node: Node) -> str:
    """A split of second order is in vain if no decision divides its halves."""
    halves = [child.reason for child in (node.positive, node.negative) if child is not None]
    second = node.decision is not None and node.decision.kind == SECOND_ORDER
    return NOT_DIVIDED if second and halves == [NOT_DIVIDED] * 2 else "pruned"


def parts_of(samples: Samples) -> PointerArray:
    """A part for each sample of positive weight, −1 for others; folds and classes stratified."""
    parts = np.full(samples.folds.size, -1, dtype=np.int64)
    rows = np.flatnonzero(samples.weights > 0)
    order = np.lexsort((samples.folds[rows], samples.signs[rows]))
    parts[rows[order]] = np.arange(rows.size) % N_PARTS
    return parts


def wrong_by_strictness(
    root: Node, trees: list[Samples], rows: PointerArray, n_jobs: int | None
) -> NDArray[np.bool_]:
    """For each strictness, which of `rows` the tree pruned with it misclassifies."""
    samples = trees[root.tree]
    leaves = flatten([root], trees, slopes=False).walk(samples.X[rows], n_jobs)[0][:, 0]
    nodes = in_order(root)
    wrong = np.empty((len(MIN_GAINS), rows.size), dtype=bool)
    for k, min_gain in enumerate(MIN_GAINS):
        apply_gain_rule(nodes, trees, [min_gain] * len(trees))
        wrong[k] = _labels(root)[leaves] != (samples.signs[rows] > 0)
    return wrong


def _labels(root: Node) -> AnyArray:
    """For each node, in their order, whether the leaf that stands for it predicts the class."""
    labels, stack = [], [(root, root)]
    while stack:
        node, judge = stack.pop()
        labels.append(judge.totals[1] > judge.totals[0])
        for child in (node.negative, node.positive):
            if child is not None:
                stack.append((child, judge if judge.n_leaves == 1 else child))
    return np.array(labels)


def choose(wrong: NDArray[np.bool_], weights: DoubleArray) -> Strictness:
    """The first of `MIN_GAINS` that is within two standard errors of the best.

    Of two trees the difference in errors has as its variance the number of samples that one
    of them alone gets wrong.
    """
    best = wrong[int(np.argmin(wrong @ weights))]
    # Subtract before summing: equal rows then give exactly 0, while two sums could differ by
    # rounding.
    more = (wrong.astype(np.int8) - best) @ weights
    apart = (wrong != best) @ np.square(weights)
    chosen = int(np.argmax(more <= _DEVIATIONS * np.sqrt(apart)))
    return Strictness(MIN_GAINS[chosen], float(weights[wrong[chosen]].sum() / weights.sum()))
