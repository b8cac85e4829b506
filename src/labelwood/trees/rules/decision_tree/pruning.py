"""Pruning by pairs of leaves, and the size of a tree by cross-validation."""

import heapq
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from labelwood.core.types import CSR, AnyArray, DoubleArray, PointerArray
from labelwood.trees.rules.decision_tree.arrays import RuleTrees


class PruningPath(NamedTuple):
    """The nested sequence of trees that pruning goes through.

    Attributes
    ----------
    nodes : array of int
        Nodes whose two leaves are removed, in this order.
    n_leaves : array of int
        Leaves before the first removal and after each one.
    losses : array of float
        The training loss L′ of those trees, as a share of the weight.
    """

    nodes: PointerArray
    n_leaves: PointerArray
    losses: DoubleArray

    def removed(self, n_leaves: int) -> PointerArray:
        """The nodes to collapse for a tree of at most `n_leaves` leaves."""
        return self.nodes[: max(int(self.n_leaves[0]) - n_leaves, 0)]


def pruning_path(trees: RuleTrees, losses: DoubleArray) -> PruningPath:
    """Remove, one by one, the pair of leaves that adds least to the loss L′.

    `losses` has L′ of each node as a leaf. Equal increases are ordered by the loss that growth
    reduced, then by node: *Topics in Learning Theory*, lecture 8, "prune to a fixed tree size".
    """
    right = trees.right
    inner = np.flatnonzero(right >= 0)
    parent = np.full(right.size, -1, dtype=np.int64)
    parent[inner + 1] = parent[right[inner]] = inner
    is_leaf = right < 0
    scales = [(own, float(own[trees.roots].sum()) or 1.0) for own in (losses, trees.losses)]

    def entry(node: int) -> tuple[float, float, int]:
        children = [node + 1, int(right[node])]
        # Sums of weights that are no whole numbers carry rounding, which must not order ties. It
        # is relative to the loss of the root, whatever the units of weights and targets are.
        first, second = (
            round(float(own[node] - own[children].sum()) / scale, 9) for own, scale in scales
        )
        return first, second, -node

    heap = [entry(int(v)) for v in inner if is_leaf[v + 1] and is_leaf[right[v]]]
    heapq.heapify(heap)
    nodes: list[int] = []
    loss = float(losses[is_leaf].sum())
    path = [loss]
    while heap:
        node = -heapq.heappop(heap)[2]
        nodes.append(node)
        loss += float(losses[node] - losses[[node + 1, int(right[node])]].sum())
        path.append(loss)
        is_leaf[node] = True
        above = int(parent[node])
        if above >= 0 and is_leaf[above + 1] and is_leaf[right[above]]:
            heapq.heappush(heap, entry(above))
    n_leaves = np.count_nonzero(right < 0) - np.arange(len(path))
    total = float(trees.weights[trees.roots].sum())
    return PruningPath(
        np.array(nodes, dtype=np.int64), n_leaves.astype(np.int64), np.array(path) / total
    )


@dataclass(frozen=True)
class SizeChoice:
    """The curve of cross-validation over sizes, and the size chosen.

    Attributes
    ----------
    n_leaves : array of int
        Sizes, from 1 leaf on.
    losses, standard_errors : arrays of float
        Mean held-out loss L′ over the folds, and its standard error.
    best, chosen : int
        The size of least loss, and the smallest one within one standard error of it.
    """

    n_leaves: PointerArray
    losses: DoubleArray
    standard_errors: DoubleArray
    best: int
    chosen: int


def choose_size(curves: list[DoubleArray], rule: float = 1.0) -> SizeChoice:
    """The smallest size whose loss is within `rule` standard errors of the least.

    `curves` has the held-out loss of each fold at 1, 2, … leaves; a curve that ends earlier
    stays at its last value, as that fold's tree has no more leaves.

    Examples
    --------
    >>> choice = choose_size([np.array([0.5, 0.2, 0.19]), np.array([0.5, 0.22, 0.21])])
    >>> choice.best, choice.chosen
    (3, 2)
    """
    n = max(curve.size for curve in curves)
    table = np.array([np.pad(curve, (0, n - curve.size), mode="edge") for curve in curves])
    means = table.mean(axis=0)
    errors = table.std(axis=0, ddof=1) / np.sqrt(len(curves))
    best = int(np.argmin(means))
    limit = means[best] + rule * errors[best]
    # The limit carries rounding, relative to the losses.
    chosen = int(np.flatnonzero(means <= limit * (1 + 1e-12))[0])
    return SizeChoice(np.arange(1, n + 1), means, errors, best + 1, chosen + 1)


def size_curve(
    trees: RuleTrees, path: PruningPath, X: CSR, weights: DoubleArray, losses_of: "LossOfNode"
) -> DoubleArray:
    """The held-out loss of each tree of a pruning path, from 1 leaf on.

    A sample's prediction at a size is that of the highest node on its path that is collapsed by
    then. So every node on the path answers for an interval of sizes, and one pass over the
    samples adds up all sizes.
    """
    n_steps = path.nodes.size + 1  # step s has n_leaves[0] − s leaves
    collapsed_at = np.zeros(trees.right.size, dtype=np.int64)  # leaves: from the start
    collapsed_at[path.nodes] = np.arange(1, path.nodes.size + 1)
    parent = np.full(trees.right.size, -1, dtype=np.int64)
    inner = np.flatnonzero(trees.right >= 0)
    parent[inner + 1] = parent[trees.right[inner]] = inner
    node = trees.apply(X)[:, 0]
    rows = np.arange(node.size)
    changes = np.zeros(n_steps + 1)
    while rows.size:
        # The node answers from its own collapse until its parent collapses.
        above = parent[node]
        until = np.where(above >= 0, collapsed_at[above], n_steps)
        loss = losses_of.evaluate(rows, node) * weights[rows]
        changes += np.bincount(collapsed_at[node], loss, minlength=n_steps + 1)
        changes -= np.bincount(until, loss, minlength=n_steps + 1)
        rows, node = rows[above >= 0], above[above >= 0]
    by_step = np.cumsum(changes)[:-1] / weights.sum()
    return by_step[::-1]


@dataclass(frozen=True)
class LossOfNode:
    """The loss L′ of predicting with a node's values for single samples.

    `targets` has the values of the outputs, of shape (n, k), 0 or 1 for classes and labels;
    `exclusive` means that exactly one is predicted (0/1 loss of classes).
    """

    name: str
    values: DoubleArray
    targets: AnyArray
    exclusive: bool

    def evaluate(self, rows: AnyArray, nodes: PointerArray) -> DoubleArray:
        """The loss of each of the rows at the node beside it."""
        p, y = self.values[nodes], self.targets[rows]
        if self.name == "squared":
            return np.asarray(np.square(p - y).sum(axis=1))
        if self.name == "log_loss":
            # A leaf that is sure and wrong costs as much as one sample in a million would.
            p = np.clip(p, 1e-6, 1 - 1e-6)
            if self.exclusive and p.shape[1] > 1:
                return np.asarray(-(y * np.log(p)).sum(axis=1))
            return np.asarray(-(y * np.log(p) + (1 - y) * np.log(1 - p)).sum(axis=1))
        if self.exclusive and p.shape[1] > 1:
            return np.asarray(1.0 - y[np.arange(rows.size), p.argmax(axis=1)])
        return np.asarray(((p > 0.5) != (y > 0.5)).sum(axis=1).astype(np.float64))


def node_losses(name: str, trees: RuleTrees, exclusive: bool) -> DoubleArray:
    """L′ of each node as a leaf on its training samples, weighted."""
    p, weights = trees.values, trees.weights
    if exclusive and p.shape[1] > 1:
        if name == "zero_one":
            return np.asarray(weights * (1 - p.max(axis=1)))
        if name == "squared":
            return np.asarray(weights * (1 - np.square(p).sum(axis=1)))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(-weights * np.where(p > 0, p * np.log(p), 0).sum(axis=1))
    from labelwood.trees.rules.growth import LOSSES

    return np.asarray(weights * LOSSES[name](p.ravel()).reshape(p.shape).sum(axis=1))
