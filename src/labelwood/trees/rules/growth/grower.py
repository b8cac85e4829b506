"""Growing a tree: depth first to a depth, or best first to a number of leaves."""

import heapq
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from labelwood.core.types import DoubleArray, IndexArray
from labelwood.trees.rules.growth._entry_kernels import (
    Entries,
    mark_sides,
    partition_entries,
    partition_rows,
    sort_all,
)
from labelwood.trees.rules.growth.problem import Problem
from labelwood.trees.rules.growth.splitting import BestSplit, NodeSums, best_split

# A node counts as pure when its loss is below this share of the sums that it is the difference
# of: sums of weights and targets that are no whole numbers carry rounding.
_PURE = 1e-12


class Growth(NamedTuple):
    """Limits of a tree; 0 stands for no limit."""

    max_depth: int
    max_leaves: int
    min_samples_split: int
    min_samples_leaf: int
    min_gain: float


@dataclass(eq=False)
class Node:
    """A node while a tree grows: where its samples and entries are, and how it is split.

    `gain` is the loss that the split takes away, `reason` says why a leaf is one.
    """

    depth: int
    rows: slice
    entries: slice
    node: NodeSums
    loss: float
    split: BestSplit | None = None
    gain: float = 0.0
    reason: str = ""
    larger_left: bool = True
    left: "Node | None" = None
    right: "Node | None" = None


class Grower:
    """Grows one tree on its own copy of a problem's entries."""

    def __init__(self, problem: Problem, growth: Growth) -> None:
        self.problem = problem
        self.growth = growth
        rows, features, values = problem.entries
        self.entries = Entries(rows.copy(), features.copy(), values.copy())
        if problem.n_outputs > 1 or problem.criterion.code is None:
            sort_all(self.entries)  # one output sorts the few features that it scans
        self.rows = problem.rows.copy()
        # One workspace for all partitions: the right side waits there while the left one moves.
        self._entry_buffer = Entries(
            np.empty_like(rows), np.empty_like(features), np.empty_like(values)
        )
        self._row_buffer = np.empty_like(self.rows)
        self._left = np.zeros(problem.targets.weights.size, dtype=np.bool_)

    def grow(self) -> Node:
        """The root of the tree."""
        root = self._node(0, slice(0, self.rows.size), slice(0, self.entries.rows.size))
        if self.growth.max_leaves:
            self._best_first(root)
        else:
            self._depth_first(root)
        return root

    def _depth_first(self, root: Node) -> None:
        stack = [root]
        while stack:
            node = stack.pop()
            self._search(node)
            if node.split is not None:
                stack += self._divide(node)

    def _best_first(self, root: Node) -> None:
        """Divide the leaf of the largest gain until there are `max_leaves`."""
        n_leaves, n_made = 1, 0
        self._search(root)
        heap = [(-root.gain, n_made, root)] if root.split is not None else []
        while heap and n_leaves < self.growth.max_leaves:
            node = heapq.heappop(heap)[2]
            n_leaves += 1
            last = n_leaves == self.growth.max_leaves
            for child in self._divide(node, keep_entries=not last):
                n_made += 1
                if not last:
                    self._search(child)
                    if child.split is not None:
                        heapq.heappush(heap, (-child.gain, n_made, child))
                elif not child.reason:
                    child.reason = "max_leaves"
        for _, _, node in heap:
            node.split, node.reason = None, "max_leaves"

    def _node(self, depth: int, rows: slice, entries: slice) -> Node:
        chosen = self.rows[rows]
        targets = self.problem.targets
        weight = float(targets.weights[chosen].sum())
        squares = float(self.problem.squares[chosen].sum())
        sums = sum_outputs(self.problem, chosen)
        score = self.problem.criterion.score(np.array([weight]), sums[None])[0]
        loss = (squares if self.problem.criterion.has_constant else 0.0) - float(score)
        return Node(depth, rows, entries, NodeSums(chosen.size, weight, sums, squares), loss)

    def _search(self, node: Node) -> None:
        """Find the split of a node, or the reason why it is a leaf."""
        growth, sums = self.growth, node.node
        scale = sums.squares if self.problem.criterion.has_constant else sums.weight
        if node.loss <= _PURE * scale:
            node.reason = "pure"
        elif growth.max_depth and node.depth >= growth.max_depth:
            node.reason = "max_depth"
        elif sums.n < max(growth.min_samples_split, 2 * growth.min_samples_leaf):
            node.reason = "too few samples"
        if node.reason:
            return
        start, end = node.entries.start, node.entries.stop
        split = best_split(self.problem, self.entries, start, end, sums, growth.min_samples_leaf)
        if split is None:
            node.reason = "no split"
            return
        score = self.problem.criterion.score(np.array([sums.weight]), sums.sums[None])[0]
        # A concave criterion never loses by a split; a gain below 0 is rounding.
        node.gain = max(split.score - float(score), 0.0)
        if growth.min_gain and node.gain < growth.min_gain:
            node.reason = "min_gain"
        else:
            node.split = split

    def _divide(self, node: Node, keep_entries: bool = True) -> tuple[Node, Node]:
        """Move the rows and entries of a node to its two sides."""
        split, rows = node.split, self.rows[node.rows]
        assert split is not None
        mark_sides(
            self.entries,
            split.start,
            split.end,
            rows,
            self._left,
            split.zero_left,
            split.threshold,
            split.missing_left,
            split.mask,
        )
        start, stop = node.rows.start, node.rows.stop
        middle = start + partition_rows(rows, self._left, self._row_buffer)
        node.larger_left = middle - start >= stop - middle
        has_missing = split.end > split.start and np.isnan(self.entries.values[split.end - 1])
        if not has_missing and not split.mask.size:
            node.split = split = _with_missing(split, node.larger_left)
        first, after = node.entries.start, node.entries.stop
        between = first
        if keep_entries:
            between = partition_entries(self.entries, first, after, self._left, self._entry_buffer)
        else:
            after = first
        node.left = self._node(node.depth + 1, slice(start, middle), slice(first, between))
        node.right = self._node(node.depth + 1, slice(middle, stop), slice(between, after))
        return node.left, node.right


def _with_missing(split: BestSplit, missing_left: bool) -> BestSplit:
    """The same split; missing values, of which training had none here, go to the larger side."""
    return BestSplit(
        split.score, split.feature, split.threshold, missing_left, split.start, split.end
    )


def sum_outputs(problem: Problem, rows: IndexArray) -> DoubleArray:
    """The sums of the weighted targets of some rows, for each output."""
    targets = problem.targets
    if problem.n_outputs == 1 and targets.values.size == targets.weights.size:
        return np.array([targets.values[rows].sum()])
    lengths = targets.indptr[rows + 1] - targets.indptr[rows]
    firsts = np.repeat(targets.indptr[rows] - np.cumsum(lengths) + lengths, lengths)
    places = firsts + np.arange(int(lengths.sum()))
    return np.bincount(
        targets.outputs[places], targets.values[places], minlength=problem.n_outputs
    ).astype(np.float64, copy=False)
