"""Splits and categories of a node listed one by one, where Python has to compare them."""

import numpy as np

from labelwood.core.allocation import empty, zeros
from labelwood.core.kernel import exact_kernel
from labelwood.core.types import DoubleArray, PointerArray
from labelwood.trees.rules.growth._entry_kernels import Entries
from labelwood.trees.rules.growth._many_output_kernels import Targets, add_row
from labelwood.trees.rules.growth._split_kernels import (
    CATEGORICAL,
    PRESENCE,
    SAME_VALUE,
    SCORE,
    WHOLE_NODE,
    KindArray,
    beyond,
    keep_best,
    next_segment,
)


@exact_kernel
def all_splits(
    entries: Entries,
    start: int,
    end: int,
    targets: Targets,
    n: int,
    n_outputs: int,
    kinds: KindArray,
    min_leaf: int,
) -> tuple[DoubleArray, DoubleArray]:
    """Every numeric split of a node, for a purity that only Python can compute.

    Records as in `best_split_of_one` whose score is the weight of the outer side, and the sums
    of the outer side's outputs.
    """
    # Each entry can end at most two candidate sides, without and with the missing values.
    capacity = 2 * (end - start) + 1
    records, sums = empty((capacity, 6), np.float64), empty((capacity, n_outputs), np.float64)
    missing, outer = zeros(n_outputs, np.float64), zeros(n_outputs, np.float64)
    n_found = 0
    while start < end:
        segment = next_segment(entries, start, end, n, kinds)
        start = segment.end
        if segment.kind == CATEGORICAL:
            continue
        n_missing = segment.end - segment.top
        missing[:] = 0
        missing_weight = 0.0
        for i in range(segment.top, segment.end):
            missing_weight += add_row(targets, entries.rows[i], missing)
        if min_leaf <= n_missing <= n - min_leaf:
            records[n_found, SCORE] = -np.inf
            keep_best(records[n_found], missing_weight, segment, np.inf, False)
            sums[n_found] = missing
            n_found += 1
        # Zeros have no entries: from the largest value down to zero, and from the smallest up to
        # zero, every threshold has the zeros on its inner side.
        for positive in (True, False):
            outer[:] = 0
            outer_n, outer_weight = 0, 0.0
            i = segment.top - 1 if positive else segment.first
            while segment.first <= i < segment.top and (entries.values[i] > 0) == positive:
                outer_n += 1
                outer_weight += add_row(targets, entries.rows[i], outer)
                value = entries.values[i]
                i += -1 if positive else 1
                state, neighbor = beyond(entries.values, i, segment, value, positive)
                if state == WHOLE_NODE:
                    break
                skipped = segment.kind == PRESENCE and not (positive and neighbor <= 0)
                if state == SAME_VALUE or skipped:
                    continue
                for with_missing in range(2 if n_missing else 1):
                    n_side = outer_n + with_missing * n_missing
                    if n_side < min_leaf or n - n_side < min_leaf:
                        continue
                    weight = outer_weight + with_missing * missing_weight
                    threshold = np.float64(value) / 2 + neighbor / 2
                    missing_left = (with_missing == 1) != positive
                    records[n_found, SCORE] = -np.inf
                    keep_best(records[n_found], weight, segment, threshold, missing_left)
                    sums[n_found] = outer + with_missing * missing
                    n_found += 1
    return records[:n_found], sums[:n_found]


@exact_kernel
def category_sums(
    entries: Entries, start: int, end: int, targets: Targets, n_categories: int, n_outputs: int
) -> tuple[PointerArray, DoubleArray, DoubleArray]:
    """Rows, weights and sums of outputs of each category of a feature; missing values come last.

    Category 0 has no entries: the caller finds it as the node less all others.
    """
    counts = zeros(n_categories + 1, np.int64)
    weights = zeros(n_categories + 1, np.float64)
    sums = zeros((n_categories + 1, n_outputs), np.float64)
    for i in range(start, end):
        value = entries.values[i]
        category = n_categories if np.isnan(value) else np.int64(value)
        counts[category] += 1
        weights[category] += add_row(targets, entries.rows[i], sums[category])
    return counts, weights, sums
