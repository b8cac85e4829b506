"""Two sides for the samples of a node, each with the ranking of labels that suits its samples.

The alternating optimization of FastXML (Prabhu & Varma 2014): rank the labels of each side by
the gains of its samples, move every sample to the side whose ranking gives it the higher nDCG,
and repeat until no sample moves or nDCG no longer grows.
"""

import numpy as np
from numpy.typing import NDArray

from labelwood.core._kernels import next_uint64
from labelwood.core._order_kernels import sort_keys
from labelwood.core.allocation import empty, zeros
from labelwood.core.kernel import kernel
from labelwood.core.types import FloatArray, IndexArray, PointerArray

_ONE = np.uint64(1)
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
# The alternation stops when nDCG grows by less than this per sample; float32 sums resolve no more.
_LEAST_GROWTH = 1e-6


@kernel
def gather_labels(
    indptr: PointerArray,
    indices: IndexArray,
    values: FloatArray,
    ids: IndexArray,
    positions: IndexArray,
) -> tuple[PointerArray, IndexArray, FloatArray, IndexArray]:
    """The label entries of the samples `ids`, with labels numbered as they appear.

    The last array maps these numbers to labels. `positions` must hold a zero for each label,
    and holds zeros again at the end.
    """
    ends = empty(ids.size + 1, np.int64)
    ends[0] = 0
    for k in range(ids.size):
        ends[k + 1] = ends[k] + indptr[ids[k] + 1] - indptr[ids[k]]
    size = ends[ids.size]
    labels, own = empty(size, np.uint32), empty(size, np.float32)
    names = empty(min(size, positions.size), np.uint32)
    n_names, q = 0, 0
    for k in range(ids.size):
        i = np.uint64(ids[k])
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + _ONE])):
            label = indices[p]
            # Numbers start at 1, so that 0 means not met: one array serves as map and as mark.
            if positions[label] == 0:
                names[n_names] = label
                n_names += 1
                positions[label] = n_names
            labels[q] = positions[label] - np.uint32(1)
            own[q] = values[p]
            q += 1
    for j in range(n_names):
        positions[names[j]] = 0
    return ends, labels, own, names[:n_names]


@kernel
def assign_sides(
    ends: PointerArray,
    labels: IndexArray,
    gains: FloatArray,
    n_labels: int,
    discounts: FloatArray,
    state: NDArray[np.uint64],
) -> FloatArray:
    """A side, +1 or −1, for each sample, from a random start.

    Sample k has the labels `labels[ends[k]:ends[k + 1]]`; a label at rank r (from 0) of a side
    gives it `discounts[r]` times its gain.
    """
    sides = empty(ends.size - 1, np.float32)
    for k in range(sides.size):
        # The side is the highest bit of the generator, whose lowest bits are the weakest.
        sides[k] = 1 if next_uint64(state) >> np.uint64(63) else -1
    sums = zeros((2, n_labels), np.float32)
    for k in range(sides.size):
        side = 1 if sides[k] > 0 else 0
        for p in range(np.uint64(ends[k]), np.uint64(ends[k + 1])):
            sums[side, labels[p]] += gains[p]
    lead = empty(n_labels, np.float32)
    before = -1.0
    while True:
        lead[:] = 0
        value = _rank(sums[0], discounts, np.float32(-1), lead)
        value += _rank(sums[1], discounts, np.float32(1), lead)
        moved = _move_samples(ends, labels, gains, lead, sides, sums)
        if not moved or value - before <= _LEAST_GROWTH * sides.size:
            return sides
        before = value


@kernel
def _rank(sums: FloatArray, discounts: FloatArray, sign: np.float32, lead: FloatArray) -> float:
    """Add the discounts of the labels, best sum first, to `lead`; returns the side's DCG.

    Equal sums share the mean of their discounts, so that the order among them does not matter.
    Labels that no sample of the side has all stand at the next rank.
    """
    # Each sort key is one integer: the complemented bits of a positive float32 sort descending by
    # value, and the label in the low half breaks ties.
    keys = empty(sums.size, np.uint64)
    bits = sums.view(np.uint32)
    n = 0
    for j in range(sums.size):
        if sums[j] > 0:
            keys[n] = (np.uint64(~bits[j]) << _HALF) | np.uint64(j)
            n += 1
    for j in range(sums.size):
        if sums[j] <= 0:
            lead[j] += sign * discounts[n]
    keys = keys[:n]
    sort_keys(keys)
    value = 0.0
    first = 0
    while first < n:
        end, total = first, np.float32(0)
        while end < n and keys[end] >> _HALF == keys[first] >> _HALF:
            total += discounts[end]
            end += 1
        mean = total / np.float32(end - first)
        for r in range(first, end):
            lead[keys[r] & _LOW] += sign * mean
        value += total * sums[keys[first] & _LOW]
        first = end
    return value


@kernel
def _move_samples(
    ends: PointerArray,
    labels: IndexArray,
    gains: FloatArray,
    lead: FloatArray,
    sides: FloatArray,
    sums: NDArray[np.float32],
) -> bool:
    """Move each sample to the side whose ranking leads on its labels; sum both sides' gains."""
    moved = False
    sums[:] = 0
    for k in range(sides.size):
        first, end = np.uint64(ends[k]), np.uint64(ends[k + 1])
        gain = np.float32(0)
        for p in range(first, end):
            gain += gains[p] * lead[labels[p]]
        # A sample moves only to a strictly better side: one that both sides rank equally well
        # stays, which makes the alternation end.
        if gain * sides[k] < 0:
            sides[k] = -sides[k]
            moved = True
        side = 1 if sides[k] > 0 else 0
        for p in range(first, end):
            sums[side, labels[p]] += gains[p]
    return moved
