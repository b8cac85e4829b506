"""Open-addressing hash tables over slices of bytes, and the counts of one row.

A slot of a table of terms is 0 when it is free, else `tag << 32 | id + 1`: the tag, 32 bits
of a hash, says where probing starts and which slots are worth a comparison, so that a table
grows without its terms being hashed again. Linear probing, at most half full.

A term has a record of three numbers, side by side for one cache miss: its first eight bytes
(all there is of most terms), where it starts in its text, and its length.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelwood.core.allocation import empty, zeros
from labelwood.core.kernel import kernel
from labelwood.core.types import IndexArray, PointerArray
from labelwood.data.text._load import PADDING, Int, load, prefetch, tag_of

Bytes = NDArray[np.uint8]
Slots = NDArray[np.uint64]
Records = NDArray[np.uint64]

LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)
ONE = np.uint64(1)
RECORD = np.uint64(3)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


@kernel
def find(
    slots: Slots, records: Records, terms: Bytes, text: Bytes, p: Int, stop: Int, tag: np.uint64
) -> np.uint64:
    """The slot of the term `text[p:stop]`, or the free slot where it would go.

    `terms` are the bytes that the records point into.
    """
    mask = np.uint64(slots.size - 1)
    n = stop - p
    # Most terms have at most eight bytes: one comparison of 64 bits decides, and the text of the
    # term need not be read at all.
    head = load(text, p, min(n, 8))
    at = tag & mask
    while True:
        slot = slots[at]
        if slot == 0:
            return at
        # Tags of 32 bits differ for nearly all different terms, so that records are rarely read in
        # vain.
        if slot >> HALF == tag:
            record = ((slot & LOW) - ONE) * RECORD
            if records[record] == head and records[record + np.uint64(2)] == np.uint64(n):
                s = np.int64(records[record + ONE])
                k = 8
                while k < n and load(terms, s + k, min(n - k, 8)) == load(
                    text, p + k, min(n - k, 8)
                ):
                    k += 8
                if k >= n:
                    return at
        at = (at + ONE) & mask


@kernel
def write_record(records: Records, term: np.uint64, text: Bytes, p: Int, n: Int) -> None:
    """Record the term of `n` bytes at `text[p]`."""
    at = term * RECORD
    records[at] = load(text, p, min(n, 8))
    records[at + ONE] = np.uint64(p)
    records[at + np.uint64(2)] = np.uint64(n)


@kernel
def grown(slots: Slots) -> Slots:
    """The same table with twice the slots."""
    larger = zeros(2 * slots.size, np.uint64)
    mask = np.uint64(larger.size - 1)
    for slot in slots:
        if slot:
            at = (slot >> HALF) & mask
            while larger[at]:
                at = (at + ONE) & mask
            larger[at] = slot
    return larger


@kernel
def longer(array: Any, n: Int) -> Any:
    """A copy of `array` with space for at least `n` entries, and half as much again."""
    copy = empty(max(n, array.size + array.size // 2), array.dtype)
    for k in range(array.size):
        copy[k] = array[k]
    return copy


@kernel
def index_terms(text: Bytes, ptr: PointerArray) -> tuple[Slots, Records]:
    """A table of the different terms `text[ptr[i]:ptr[i + 1]]`; the text must be padded."""
    n = ptr.size - 1
    capacity = 16
    # The table is at most half full: linear probing then takes about 1.5 steps to find a term.
    while capacity < 2 * n:
        capacity *= 2
    slots = zeros(capacity, np.uint64)
    records = empty(3 * n, np.uint64)
    mask = np.uint64(capacity - 1)
    for term in range(n):
        tag = tag_of(text, ptr[term], ptr[term + 1])
        write_record(records, np.uint64(term), text, ptr[term], ptr[term + 1] - ptr[term])
        at = tag & mask
        while slots[at]:
            at = (at + ONE) & mask
        slots[at] = (tag << HALF) | np.uint64(term + 1)
    return slots, records


@kernel
def merge_terms(
    slots: Slots,
    records: Records,
    text: Bytes,
    df: PointerArray,
    n: Int,
    used: Int,
    other: Bytes,
    other_records: Records,
    tags: IndexArray,
    other_df: IndexArray,
) -> tuple[Slots, Records, Bytes, PointerArray, Int, Int, IndexArray]:
    """Add the terms of a segment to the `n` terms, of `used` bytes, of the segments before.

    Returns the grown arrays, and the numbers that the terms of the segment now have.
    """
    numbers = empty(tags.size, np.uint32)
    for term in range(tags.size):
        p = np.int64(other_records[3 * term + 1])
        size = np.int64(other_records[3 * term + 2])
        tag = np.uint64(tags[term])
        at = find(slots, records, text, other, p, p + size, tag)
        if slots[at] == 0:
            if n == df.size:
                df = longer(df, n + 1)
                records = longer(records, 3 * df.size)
            if used + size + PADDING > text.size:
                text = longer(text, used + size + PADDING)
            for k in range(size):
                text[used + k] = other[p + k]
            write_record(records, np.uint64(n), text, used, size)
            used += size
            df[n] = 0
            slots[at] = (tag << HALF) | np.uint64(n + 1)
            numbers[term] = n
            n += 1
            if 2 * n > slots.size:
                slots = grown(slots)
        else:
            numbers[term] = (slots[at] & LOW) - ONE
        df[numbers[term]] += other_df[term]
    return slots, records, text, df, n, used, numbers


@kernel
def _row_slot(slots: Slots, mask: np.uint64, key: np.uint64) -> np.uint64:
    # Fibonacci hashing: numbers of frequent terms are small and near each other, and the product
    # spreads them over the table.
    at = ((key + ONE) * _SPREAD >> HALF) & mask
    while slots[at] and slots[at] & LOW != key + ONE:
        at = (at + ONE) & mask
    return at


@kernel
def row_place(slots: Slots, mask: np.uint64, key: np.uint64, n: Int) -> Int:
    """The place of `key` in a row of `n` entries: n if it is new, and then it is entered.

    A slot of a row's table is `place << 32 | key + 1`, or 0.
    """
    at = _row_slot(slots, mask, key)
    if slots[at]:
        return np.int64(slots[at] >> HALF)
    slots[at] = (np.uint64(n) << HALF) | (key + ONE)
    return n


@kernel
def empty_row(slots: Slots, most: Int) -> tuple[Slots, np.uint64]:
    """A table without entries for a row of at most `most`, in `slots` if they are enough.

    Also the mask of its slots: at most half of them will be used.
    """
    capacity = 1
    while capacity < 2 * most:
        capacity *= 2
    if slots.size < capacity:
        slots = empty(capacity, np.uint64)
    for at in range(capacity):
        slots[at] = 0
    return slots, np.uint64(capacity - 1)


@kernel
def row_stamps(row: Int, n_fields: Int) -> tuple[np.uint64, np.uint64]:
    """The stamp of a row, and that of the first row of its document, for `seen_place`."""
    return np.uint64(row + 1), np.uint64(row - row % n_fields + 1)


@kernel
def seen_place(
    seen: Slots,
    df: IndexArray,
    term: np.uint64,
    stamp: np.uint64,
    document: np.uint64,
    n: Int,
) -> Int:
    """As `row_place`, where the terms are few enough for an array of them all.

    `seen[term]` is the stamp of the last row that had the term, and its place there. Rows of
    several fields belong to one document, in which a term counts once for `df`.
    """
    last = seen[term] >> HALF
    if last == stamp:
        return np.int64(seen[term] & LOW)
    df[term] += np.uint32(last < document)
    seen[term] = (stamp << HALF) | np.uint64(n)
    return n


@kernel
def prefetch_records(slots: Slots, records: Records, tags: IndexArray) -> None:
    """Ask for the records that a search for terms with these tags begins with."""
    mask = np.uint64(slots.size - 1)
    for k in range(tags.size):
        slot = slots[np.uint64(tags[k]) & mask]
        if slot:
            prefetch(records, ((slot & LOW) - ONE) * RECORD)
