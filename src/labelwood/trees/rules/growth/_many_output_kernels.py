"""The best split of a node for many outputs: classes, labels, or several regression targets."""

from typing import NamedTuple

import numpy as np

from labelwood.core.allocation import zeros
from labelwood.core.kernel import exact_kernel
from labelwood.core.types import DoubleArray, IndexArray, PointerArray
from labelwood.trees.rules.growth._entry_kernels import Entries
from labelwood.trees.rules.growth._split_kernels import (
    CATEGORICAL,
    LOG_CLASSES,
    LOG_LABELS,
    PRESENCE,
    SAME_VALUE,
    SQUARED,
    WHOLE_NODE,
    KindArray,
    Segment,
    beyond,
    keep_best,
    next_segment,
    one_score,
    xlogx,
)


class Targets(NamedTuple):
    """Weighted targets of many outputs, the non-zero ones of each row (CSR), and row weights."""

    indptr: PointerArray
    outputs: IndexArray
    values: DoubleArray
    weights: DoubleArray


@exact_kernel
def side_score(criterion: int, weight: float, sums: DoubleArray) -> float:
    """The same summed over outputs; LOG_LABELS has a log-loss for each label."""
    score = 0.0
    for k in range(sums.size):
        if criterion == SQUARED:
            score += sums[k] ** 2 / weight
        elif criterion == LOG_CLASSES:
            score += xlogx(sums[k])
        elif sums[k] > 0:
            score += one_score(criterion, weight, sums[k])
    return score - xlogx(weight) if criterion == LOG_CLASSES else score


@exact_kernel
def best_split_of_many(
    entries: Entries,
    start: int,
    end: int,
    targets: Targets,
    n: int,
    node_weight: float,
    totals: DoubleArray,
    kinds: KindArray,
    criterion: int,
    min_leaf: int,
) -> DoubleArray:
    """The record of the best numeric split for many outputs, whose scores are summed."""
    best = np.full(6, -np.inf)
    work = zeros((4, totals.size), np.float64)  # sums of: missing, outer, one side, the other
    missing = work[0]
    while start < end:
        segment = next_segment(entries, start, end, n, kinds)
        start = segment.end
        if segment.kind == CATEGORICAL:
            continue
        missing[:] = 0
        missing_weight = 0.0
        for i in range(segment.top, segment.end):
            missing_weight += add_row(targets, entries.rows[i], missing)
        # This split parts the missing values from all others: every value is below the threshold ∞.
        if min_leaf <= segment.end - segment.top <= n - min_leaf:
            score = side_score(criterion, missing_weight, missing)
            score += side_score(criterion, node_weight - missing_weight, totals - missing)
            keep_best(best, score, segment, np.inf, False)
        for positive in (True, False):
            _scan_many(
                entries,
                segment,
                positive,
                targets,
                n,
                node_weight,
                totals,
                missing_weight,
                work,
                criterion,
                min_leaf,
                best,
            )
    return best


@exact_kernel
def add_row(targets: Targets, row: int, sums: DoubleArray) -> float:
    """Add the targets of a row to `sums`; its weight is returned."""
    for j in range(targets.indptr[row], targets.indptr[row + 1]):
        sums[targets.outputs[j]] += targets.values[j]
    return targets.weights[row]


@exact_kernel
def _scan_many(
    entries: Entries,
    segment: Segment,
    positive: bool,
    targets: Targets,
    n: int,
    node_weight: float,
    totals: DoubleArray,
    missing_weight: float,
    work: DoubleArray,
    criterion: int,
    min_leaf: int,
    best: DoubleArray,
) -> None:
    """All thresholds among the positive (or negative) values of a feature.

    For squared loss and for classes, the sums over outputs are updated by the outputs of the
    row that changes sides: the cost follows the labels of the rows, not the number of labels.
    """
    values, missing, outer, side, rest = entries.values, work[0], work[1], work[2], work[3]
    n_missing = segment.end - segment.top
    outer[:] = 0
    outer_n, outer_weight, outer_sum, inner_sum = 0, 0.0, 0.0, _sum_terms(criterion, totals)
    i = segment.top - 1 if positive else segment.first
    step = -1 if positive else 1
    while segment.first <= i < segment.top and (values[i] > 0) == positive:
        row = entries.rows[i]
        outer_n += 1
        outer_weight += targets.weights[row]
        for j in range(targets.indptr[row], targets.indptr[row + 1]):
            k, moved = targets.outputs[j], targets.values[j]
            old, new = outer[k], outer[k] + moved
            outer[k] = new
            if criterion == SQUARED:
                # (a + m)² − a² = m (2a + m): the sum of squares changes by the outputs that moved.
                outer_sum += moved * (old + new)
                inner_sum -= moved * (2 * totals[k] - old - new)
            elif criterion == LOG_CLASSES:
                outer_sum += xlogx(new) - xlogx(old)
                inner_sum += xlogx(totals[k] - new) - xlogx(totals[k] - old)
        value = values[i]
        i += step
        state, neighbor = beyond(values, i, segment, value, positive)
        if state == WHOLE_NODE:
            return
        if state == SAME_VALUE or (segment.kind == PRESENCE and not (positive and neighbor <= 0)):
            continue
        threshold = np.float64(value) / 2 + neighbor / 2
        for with_missing in range(2 if n_missing else 1):
            n_side = outer_n + with_missing * n_missing
            if n_side < min_leaf or n - n_side < min_leaf:
                continue
            weight = outer_weight + with_missing * missing_weight
            other = node_weight - weight
            # The running sums hold for the outer side alone; with missing values, and for the
            # log-loss of each label, the score is computed over all outputs.
            if with_missing or criterion == LOG_LABELS:
                for output in range(totals.size):
                    side[output] = outer[output] + with_missing * missing[output]
                    rest[output] = totals[output] - side[output]
                score = side_score(criterion, weight, side) + side_score(criterion, other, rest)
            elif criterion == SQUARED:
                score = outer_sum / weight + inner_sum / other
            else:
                score = outer_sum - xlogx(weight) + inner_sum - xlogx(other)
            # The outer side of positive values is the right one: missing values off it go left.
            keep_best(best, score, segment, threshold, (with_missing == 1) != positive)


@exact_kernel
def _sum_terms(criterion: int, totals: DoubleArray) -> float:
    """The sum over outputs that is kept up to date while rows change sides."""
    result = 0.0
    for k in range(totals.size):
        result += totals[k] ** 2 if criterion == SQUARED else xlogx(totals[k])
    return result
