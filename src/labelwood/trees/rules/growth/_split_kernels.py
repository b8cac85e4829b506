"""The best split of a node, found in one pass over its non-zeros.

The entries of a feature are read from both ends towards zero: positive values from the largest
down, negative ones from the smallest up. What has been read is the *outer* side of a split, and
the *inner* side, with all the zeros, is the node less that. So zeros cost nothing.
"""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from labelwood.core._order_kernels import stable_order
from labelwood.core.allocation import empty, zeros
from labelwood.core.kernel import exact_kernel
from labelwood.core.types import DoubleArray, FloatArray, IndexArray
from labelwood.trees.rules.growth._entry_kernels import BoolArray, Entries, sort_segment

KindArray: TypeAlias = NDArray[np.uint8]

# These are the kinds of features.
NUMERIC, PRESENCE, CATEGORICAL = 0, 1, 2
# Kernels know these criteria; in LOG_CLASSES the labels of one sample exclude each other.
SQUARED, LOG_CLASSES, LOG_LABELS = 0, 1, 2


# These are the places in the record of the best split so far: the sum of the scores of both sides
# (−inf where there is no split), its feature, threshold (values up to it go left), whether missing
# values go left, and the bounds of the feature's entries.
SCORE, FEATURE, THRESHOLD, MISSING_LEFT, START, END = range(6)
# `beyond` answers whether a threshold fits behind a value: not yet, as the next value is equal;
# yes; or never, as no sample would be left on the inner side.
SAME_VALUE, BOUNDARY, WHOLE_NODE = 0, 1, 2


class Segment(NamedTuple):
    """The entries of one feature in a node, those with missing values from `top` on."""

    feature: int
    kind: int
    first: int
    top: int
    end: int
    n_zero: int


@exact_kernel
def xlogx(x: float) -> float:
    """The product x ln x, 0 at 0 (and just below, where differences of sums can end)."""
    return x * np.log(x) if x > 0 else 0.0


@exact_kernel
def one_score(criterion: int, weight: float, total: float) -> float:
    """Minus the loss of a node, but for a term that every split of a node shares.

    Squared loss is Σ w y² − P²/W with P = Σ w y, so that P²/W is to be maximized; log-loss
    is W ln W − P ln P − (W − P) ln(W − P). *Topics in Learning Theory*, lecture 8.
    """
    if criterion == SQUARED:
        return total * total / weight
    return xlogx(total) + xlogx(weight - total) - xlogx(weight)


@exact_kernel
def next_segment(entries: Entries, start: int, end: int, n: int, kinds: KindArray) -> Segment:
    """The segment of the feature whose entries begin at `start`."""
    feature = entries.features[start]
    after = start
    while after < end and entries.features[after] == feature:
        after += 1
    top = after
    while top > start and np.isnan(entries.values[top - 1]):
        top -= 1
    return Segment(int(feature), kinds[feature], start, top, after, n - (after - start))


@exact_kernel
def beyond(
    values: FloatArray, i: int, segment: Segment, value: float, positive: bool
) -> tuple[int, float]:
    """What follows `value` at entry `i` on the way to zero, and the next value there."""
    beside = segment.first <= i < segment.top
    if beside and values[i] == value:
        return SAME_VALUE, 0.0
    if segment.n_zero > 0 and not (beside and (values[i] > 0) == positive):
        return BOUNDARY, 0.0
    if beside:
        return BOUNDARY, np.float64(values[i])
    return WHOLE_NODE, 0.0


@exact_kernel
def keep_best(
    best: DoubleArray, score: float, segment: Segment, threshold: float, missing_left: bool
) -> None:
    """Write a split into the record if it is better than what is there.

    Sums in another order differ by rounding: what is equal to a relative 10⁻¹² is a tie, and the
    first split stays.
    """
    if score > best[SCORE] + 1e-12 * abs(score):
        best[SCORE] = score
        best[FEATURE] = segment.feature
        best[THRESHOLD] = 0.0 if segment.kind == PRESENCE else threshold
        best[MISSING_LEFT] = missing_left
        best[START] = segment.first
        best[END] = segment.end


@exact_kernel
def upper_bound(criterion: int, sums: DoubleArray, weight: float, total: float) -> float:
    """No split of a feature whose non-zeros have these sums scores more, for targets 0 and 1.

    One side of any split holds some of the non-zeros only. The score is convex in the weight and
    the total of a side, so that it is largest at a corner of what they can be: all non-zeros,
    those of target 1, or those of target 0.
    """
    best = -np.inf
    for corner in range(3):
        w = weight if corner == 0 else (total if corner == 1 else weight - total)
        t = 0.0 if corner == 2 else total
        if w > 0 and sums[0] - w > 0:
            score = one_score(criterion, w, t) + one_score(criterion, sums[0] - w, sums[1] - t)
            best = max(best, score)
    return best


@exact_kernel
def best_split_of_one(
    entries: Entries,
    start: int,
    end: int,
    stats: DoubleArray,
    n: int,
    sums: DoubleArray,
    kinds: KindArray,
    positive: BoolArray,
    criterion: int,
    min_leaf: int,
    zero_one: bool,
    ones: BoolArray,
) -> DoubleArray:
    """The record of the best numeric split for one output.

    `stats` holds the weight and the weighted target of each row, `sums` their sums in the node;
    `positive` tells features without negative or missing values, `zero_one` targets of 0 and 1;
    for `ones` see `_segment_totals`.

    A first pass adds up the non-zeros of each feature, which gives the score of zero against
    non-zero, and a bound on all other thresholds. Only features whose bound is above the best
    score are sorted and scanned: in text a handful of thousands.
    """
    best = np.full(6, -np.inf)
    n_segments, totals = _segment_totals(entries, start, end, stats, ones)
    bounds = np.full(n_segments, np.inf)
    for k in range(n_segments):
        first, after = int(totals[k, 0]), int(totals[k, 1])
        feature, weight, total = entries.features[first], totals[k, 2], totals[k, 3]
        n_outer = after - first
        if zero_one:
            bounds[k] = upper_bound(criterion, sums, weight, total)
        if positive[feature]:
            if kinds[feature] == PRESENCE:
                bounds[k] = -np.inf  # there is one threshold, which is looked at here
            if kinds[feature] != CATEGORICAL and min_leaf <= n_outer <= n - min_leaf:
                score = one_score(criterion, weight, total)
                score += one_score(criterion, sums[0] - weight, sums[1] - total)
                segment = Segment(int(feature), kinds[feature], first, after, after, n - n_outer)
                # The threshold needs the smallest value, which is looked up if this remains best.
                keep_best(best, score, segment, np.nan, False)
        if kinds[feature] == CATEGORICAL:
            bounds[k] = -np.inf
    # The most promising features come first: the sooner a good split is known, the fewer are
    # scanned.
    open_segments, n_open = empty(n_segments, np.int64), 0
    for k in range(n_segments):
        if bounds[k] > best[SCORE]:
            open_segments[n_open] = k
            n_open += 1
    keys = empty(n_open, np.float64)
    for j in range(n_open):
        keys[j] = -bounds[open_segments[j]]
    for j in stable_order(keys):
        k = open_segments[j]
        if bounds[k] > best[SCORE]:
            first, after = int(totals[k, 0]), int(totals[k, 1])
            sort_segment(entries, first, after)
            segment = next_segment(entries, first, after, n, kinds)
            _scan_feature(entries, segment, stats, n, sums, criterion, min_leaf, best)
    if np.isnan(best[THRESHOLD]):
        smallest = np.inf
        for i in range(int(best[START]), int(best[END])):
            smallest = min(smallest, np.float64(entries.values[i]))
        best[THRESHOLD] = smallest / 2
    return best


@exact_kernel
def _segment_totals(
    entries: Entries, start: int, end: int, stats: DoubleArray, ones: BoolArray
) -> tuple[int, DoubleArray]:
    """For each feature of a node: where its entries start and end, their weight and target.

    `ones` tells rows of target 1 where all weights are 1, else it is empty: whole numbers are
    added up several times as fast, and a byte per row stays in the cache.
    """
    features, rows = entries.features, entries.rows
    totals = empty((min(end - start, _most_segments(features, start, end)), 4), np.float64)
    k, i = 0, start
    while i < end:
        first, feature = i, features[i]
        weight, total = 0.0, 0.0
        # Weights of 1 and targets of 0 and 1 are counted as integers, without rounding.
        if ones.size:
            count = 0
            while i < end and features[i] == feature:
                count += ones[rows[i]]
                i += 1
            weight, total = np.float64(i - first), np.float64(count)
        else:
            while i < end and features[i] == feature:
                weight += stats[rows[i], 0]
                total += stats[rows[i], 1]
                i += 1
        totals[k, 0], totals[k, 1], totals[k, 2], totals[k, 3] = first, i, weight, total
        k += 1
    return k, totals


@exact_kernel
def _most_segments(features: IndexArray, start: int, end: int) -> int:
    """No more features than this lie between the first and the last, which are sorted."""
    return int(features[end - 1]) - int(features[start]) + 1 if end > start else 0


@exact_kernel
def _scan_feature(
    entries: Entries,
    segment: Segment,
    stats: DoubleArray,
    n: int,
    sums: DoubleArray,
    criterion: int,
    min_leaf: int,
    best: DoubleArray,
) -> None:
    """All splits of one feature, whose entries are sorted."""
    missing = zeros(3, np.float64)  # rows, weight, target
    for i in range(segment.top, segment.end):
        missing[0] += 1
        missing[1] += stats[entries.rows[i], 0]
        missing[2] += stats[entries.rows[i], 1]
    if min_leaf <= missing[0] <= n - min_leaf:  # missing against all others
        score = one_score(criterion, missing[1], missing[2])
        score += one_score(criterion, sums[0] - missing[1], sums[1] - missing[2])
        keep_best(best, score, segment, np.inf, False)
    for positive in (True, False):
        _scan_one(entries, segment, positive, stats, n, sums, missing, criterion, min_leaf, best)


@exact_kernel
def _scan_one(
    entries: Entries,
    segment: Segment,
    positive: bool,
    stats: DoubleArray,
    n: int,
    sums: DoubleArray,
    missing: DoubleArray,
    criterion: int,
    min_leaf: int,
    best: DoubleArray,
) -> None:
    """All thresholds among the positive (or negative) values of a feature."""
    rows, values = entries.rows, entries.values
    outer_n, outer_weight, outer_total = 0, 0.0, 0.0
    i = segment.top - 1 if positive else segment.first
    step = -1 if positive else 1
    quick = criterion == SQUARED and missing[0] == 0 and np.isfinite(best[SCORE])
    while segment.first <= i < segment.top and (values[i] > 0) == positive:
        outer_n += 1
        outer_weight += stats[rows[i], 0]
        outer_total += stats[rows[i], 1]
        value = values[i]
        i += step
        if quick:
            # The test is P²/W + (T − P)²/(V − W) > best, multiplied out: most thresholds end here,
            # and a division takes longer than all of this.
            inner_weight, inner_total = sums[0] - outer_weight, sums[1] - outer_total
            top = outer_total * outer_total * inner_weight
            top += inner_total * inner_total * outer_weight
            if top <= best[SCORE] * outer_weight * inner_weight:
                continue
        state, neighbor = beyond(values, i, segment, value, positive)
        if state == WHOLE_NODE:
            return
        if state == SAME_VALUE or (segment.kind == PRESENCE and not (positive and neighbor <= 0)):
            continue
        for with_missing in range(2 if missing[0] else 1):
            n_side = outer_n + with_missing * missing[0]
            if n_side < min_leaf or n - n_side < min_leaf:
                continue
            weight = outer_weight + with_missing * missing[1]
            total = outer_total + with_missing * missing[2]
            score = one_score(criterion, weight, total)
            score += one_score(criterion, sums[0] - weight, sums[1] - total)
            threshold = np.float64(value) / 2 + neighbor / 2
            keep_best(best, score, segment, threshold, (with_missing == 1) != positive)
