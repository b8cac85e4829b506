"""What a tree is grown from: sorted entries, weighted targets and the criterion."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from labelwood.core.types import AnyArray, DoubleArray, IndexArray
from labelwood.trees.rules.growth import criteria
from labelwood.trees.rules.growth._entry_kernels import BoolArray, Entries, select_rows
from labelwood.trees.rules.growth._many_output_kernels import Targets
from labelwood.trees.rules.growth._split_kernels import (
    LOG_CLASSES,
    LOG_LABELS,
    SQUARED,
    KindArray,
)

Score = Callable[[DoubleArray, DoubleArray], DoubleArray]


@dataclass(frozen=True)
class Criterion:
    """How nodes are scored.

    `code` is that of the kernels, None for a user's purity; `score` gives minus the loss of nodes
    of given weights (n,) and sums (n, k), but for a term that all splits of a node share,
    which is the sum of squares of the targets when `has_constant`.
    """

    code: int | None
    score: Score
    has_constant: bool = False


def make_criterion(name: object, exclusive: bool) -> Criterion:
    """The criterion of a name or of a user's function.

    With several outputs, `exclusive` tells classes, of which a sample has one, from labels.
    """
    if name in ("gini", "squared"):
        return Criterion(SQUARED, criteria.squared_score, has_constant=True)
    if name == "log_loss":
        if exclusive:
            return Criterion(LOG_CLASSES, criteria.class_log_score)
        return Criterion(LOG_LABELS, _with_purity(criteria.log_loss))
    purity: criteria.Purity = name  # type: ignore[assignment]
    criteria.check_purity(purity)
    return Criterion(None, _with_purity(purity))


def _with_purity(purity: criteria.Purity) -> Score:
    return lambda weights, sums: criteria.purity_score(purity, weights, sums)


@dataclass(frozen=True)
class Problem:
    """The data of one tree; rows of weight 0 have no entries and are in no node.

    Attributes
    ----------
    entries : Entries
    kinds : array of shape (n_features,)
        Whether a feature is numeric, only present or absent, or categorical.
    positive : array of shape (n_features,)
        Whether all values of a feature are positive, none of them missing.
    n_categories : dict of int to int
        Categories of each categorical feature.
    rows : array of int
        The samples that count.
    targets : Targets
    squares : array of shape (n_samples,)
        Weighted squares of the targets, summed over outputs.
    n_outputs : int
    criterion : Criterion
    """

    entries: Entries
    kinds: KindArray
    positive: BoolArray
    n_categories: dict[int, int]
    rows: IndexArray
    targets: Targets
    squares: DoubleArray
    n_outputs: int
    criterion: Criterion

    @cached_property
    def stats(self) -> DoubleArray:
        """Weight and weighted target of each sample, next to each other for the kernel."""
        return np.column_stack([self.targets.weights, self.targets.values])

    @cached_property
    def zero_one(self) -> bool:
        """Whether the one output is 0 or 1, as that of a label or of two classes."""
        weights, values = self.targets.weights, self.targets.values
        return bool(np.all((values == 0) | (values == weights)))

    @cached_property
    def ones(self) -> BoolArray:
        """The samples of target 1, where targets are 0 or 1 and weights 1 (or 0); else empty."""
        weights = self.targets.weights[self.rows]
        if not self.zero_one or np.any(weights != 1):
            return np.empty(0, dtype=np.bool_)
        return self.targets.values > 0

    def restricted(self, keep: BoolArray) -> "Problem":
        """The same on some of the rows; the sort is not repeated."""
        rows = self.rows[keep[self.rows]]
        return replace(self, entries=select_rows(self.entries, keep), rows=rows)


def single_target(weights: DoubleArray, target: AnyArray) -> tuple[Targets, DoubleArray]:
    """Targets of one output, and their weighted squares."""
    n = weights.size
    values = weights * target
    targets = Targets(np.arange(n + 1), np.zeros(n, dtype=np.uint32), values, weights)
    return targets, values * target


def many_targets(
    weights: DoubleArray, indptr: AnyArray, outputs: AnyArray, data: AnyArray
) -> tuple[Targets, DoubleArray]:
    """Targets of many outputs in CSR form, and their weighted squares."""
    repeated = np.repeat(weights, np.diff(indptr))
    values = repeated * data
    sums = np.concatenate([[0.0], np.cumsum(values * data)])
    squares = sums[indptr[1:]] - sums[indptr[:-1]]
    pointers = np.asarray(indptr, dtype=np.int64)
    return Targets(pointers, np.asarray(outputs, dtype=np.uint32), values, weights), squares
