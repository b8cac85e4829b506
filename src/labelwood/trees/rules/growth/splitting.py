"""The best split of a node over features of all kinds."""

from dataclasses import dataclass, field

import numpy as np

from labelwood.core.types import AnyArray, DoubleArray, IndexArray, PointerArray
from labelwood.trees.rules.growth import _split_kernels as kernels
from labelwood.trees.rules.growth._entry_kernels import Entries
from labelwood.trees.rules.growth._enumeration_kernels import all_splits, category_sums
from labelwood.trees.rules.growth._many_output_kernels import best_split_of_many
from labelwood.trees.rules.growth.problem import Problem

_NO_MASK = np.empty(0, dtype=np.uint32)


@dataclass(frozen=True)
class NodeSums:
    """Number of samples of a node, their weight, and the sums of the outputs."""

    n: int
    weight: float
    sums: DoubleArray
    squares: float


@dataclass(frozen=True)
class BestSplit:
    """Values up to `threshold`, or the categories in `mask`, go left.

    `start` and `end` bound the entries of the feature in the node, and `score` is that of
    both sides together.
    """

    score: float
    feature: int
    threshold: float
    missing_left: bool
    start: int
    end: int
    mask: IndexArray = field(default_factory=lambda: _NO_MASK)

    @property
    def zero_left(self) -> bool:
        """Where samples without an entry go."""
        return bool(self.mask[0] & 1) if self.mask.size else self.threshold >= 0


def best_split(
    problem: Problem, entries: Entries, start: int, end: int, node: NodeSums, min_leaf: int
) -> BestSplit | None:
    """The best split of the node that owns these entries; None where there is none."""
    record = _best_numeric(problem, entries, start, end, node, min_leaf)
    best = None
    if np.isfinite(record[kernels.SCORE]):
        score, feature, threshold, missing_left, first, after = record.tolist()
        best = BestSplit(score, int(feature), threshold, bool(missing_left), int(first), int(after))
    for feature, n_categories in problem.n_categories.items():
        found = _best_subset(problem, entries, start, end, node, min_leaf, feature, n_categories)
        if found is not None and (best is None or found.score > best.score):
            best = found
    return best


def _best_numeric(
    problem: Problem, entries: Entries, start: int, end: int, node: NodeSums, min_leaf: int
) -> DoubleArray:
    targets, code = problem.targets, problem.criterion.code
    if code is None:
        records, sums = all_splits(
            entries, start, end, targets, node.n, problem.n_outputs, problem.kinds, min_leaf
        )
        if not records.size:
            return np.full(6, -np.inf)
        weights = records[:, kernels.SCORE]
        score = problem.criterion.score
        scores = score(weights, sums) + score(node.weight - weights, node.sums - sums)
        best = int(np.argmax(scores))
        records[best, kernels.SCORE] = scores[best]
        return records[best]
    if problem.n_outputs == 1:
        stats = problem.stats
        sums = np.array([node.weight, node.sums[0]])
        return kernels.best_split_of_one(
            entries,
            start,
            end,
            stats,
            node.n,
            sums,
            problem.kinds,
            problem.positive,
            code,
            min_leaf,
            problem.zero_one,
            problem.ones,
        )
    return best_split_of_many(
        entries,
        start,
        end,
        targets,
        node.n,
        node.weight,
        node.sums,
        problem.kinds,
        code,
        min_leaf,
    )


def _best_subset(
    problem: Problem,
    entries: Entries,
    start: int,
    end: int,
    node: NodeSums,
    min_leaf: int,
    feature: int,
    n_categories: int,
) -> BestSplit | None:
    """The best split of a categorical feature into two subsets.

    With one output the best subset is a prefix of the categories in the order of their mean
    target, for every concave criterion (Breiman et al. 1984, theorem 4.5). With several outputs
    the orders by the mean of each output are tried; that is not always the optimum. Missing
    values are one more category.
    """
    segment = entries.features[start:end]
    first = start + int(np.searchsorted(segment, feature, side="left"))
    after = start + int(np.searchsorted(segment, feature, side="right"))
    counts, weights, sums = category_sums(
        entries, first, after, problem.targets, n_categories, problem.n_outputs
    )
    counts[0] = node.n - counts.sum()  # zeros have no entries
    weights[0] = node.weight - weights.sum()
    sums[0] = node.sums - sums.sum(axis=0)
    present = np.flatnonzero(counts)
    if present.size < 2:
        return None
    means = sums[present] / weights[present, None]
    best_score, best_left = -np.inf, present[:0]
    for output in range(problem.n_outputs):
        order = present[np.argsort(means[:, output], kind="stable")]
        n_left = np.cumsum(counts[order])[:-1]
        w_left = np.cumsum(weights[order])[:-1]
        s_left = np.cumsum(sums[order], axis=0)[:-1]
        score = problem.criterion.score
        scores = score(w_left, s_left) + score(node.weight - w_left, node.sums - s_left)
        scores[(n_left < min_leaf) | (node.n - n_left < min_leaf)] = -np.inf
        at = int(np.argmax(scores))
        if scores[at] > best_score:
            best_score, best_left = float(scores[at]), order[: at + 1]
    if not np.isfinite(best_score):
        return None
    return _subset_split(best_score, feature, first, after, counts, best_left)


def _subset_split(
    score: float, feature: int, first: int, after: int, counts: PointerArray, left: AnyArray
) -> BestSplit:
    """The split whose left side has these categories, and unseen ones if it is the larger."""
    n_categories = counts.size - 1
    goes_left = np.zeros(counts.size, dtype=bool)
    goes_left[left] = True
    larger_left = counts[goes_left].sum() >= counts[~goes_left].sum()
    goes_left[counts == 0] = larger_left
    bits = np.zeros((n_categories + 31) // 32 * 32, dtype=np.uint8)
    bits[:n_categories] = goes_left[:n_categories]
    bits[n_categories:] = larger_left
    mask = np.packbits(bits, bitorder="little").view(np.uint32)
    return BestSplit(score, feature, np.nan, bool(goes_left[n_categories]), first, after, mask)
