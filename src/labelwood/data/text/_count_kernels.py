"""Terms of each document counted: sequences of words, and characters within words."""

from typing import NamedTuple

import numpy as np

from labelwood.core.allocation import empty, zeros
from labelwood.core.kernel import kernel
from labelwood.core.types import IndexArray, PointerArray
from labelwood.data.text._load import PADDING, Int, prefetch, tag_of
from labelwood.data.text._normalize_kernels import normalize
from labelwood.data.text._table_kernels import (
    HALF,
    LOW,
    ONE,
    Bytes,
    Records,
    Slots,
    empty_row,
    find,
    grown,
    longer,
    prefetch_records,
    row_place,
    row_stamps,
    seen_place,
    write_record,
)
from labelwood.data.text._token_kernels import join_tokens, token_spans
from labelwood.data.text.unicode_tables import UnicodeTables

_AHEAD = 32  # tokens whose tags are made, and whose records are asked for, before they are needed


class TermIndex(NamedTuple):
    """Terms that can be looked up: a table, their records, and the bytes these point into."""

    slots: Slots
    records: Records
    text: Bytes


class Counts(NamedTuple):
    """Counts of terms in rows, and the terms that are new: slices of the written bytes.

    Row i has the terms `ids[ptr[i]:ptr[i + 1]]`, so many times as `counts` has there.
    """

    ptr: PointerArray
    ids: IndexArray
    counts: IndexArray
    records: Records
    tags: IndexArray
    df: IndexArray


@kernel
def _tags_ahead(
    text: Bytes,
    starts: PointerArray,
    ends: PointerArray,
    begin: Int,
    stop: Int,
    last: Int,
    longest: Int,
    index: TermIndex,
    tags: IndexArray,
) -> None:
    """Tags of the sequences that start at the tokens `begin` to `stop`, none beyond `last`.

    Slots and records that they will be looked up in are asked for on the way.
    """
    slots, records, _ = index
    mask = np.uint64(slots.size - 1)
    n = 0
    for i in range(begin, stop):
        for j in range(i, min(i + longest, last)):
            tag = tag_of(text, starts[i], ends[j])
            prefetch(slots, tag & mask)
            tags[n] = tag
            n += 1
    prefetch_records(slots, records, tags[:n])


@kernel
def count_sequences(
    text: Bytes,
    starts: PointerArray,
    ends: PointerArray,
    first: PointerArray,
    longest: Int,
    n_fields: Int,
    index: TermIndex,
    grow: bool,
) -> Counts:
    """Count the sequences of 1 to `longest` tokens in each row.

    With `grow` every sequence gets a number, else only the terms of `index` are counted.
    `n_fields` rows in a row are one document, for the document frequencies.
    """
    n_rows = first.size - 1
    slots, records, terms = index
    tags = empty(records.size // 3 if grow else 0, np.uint32)
    df, seen = empty(tags.size, np.uint32), empty(tags.size, np.uint64)
    ahead = empty(_AHEAD * longest, np.uint32)
    n_terms = k = 0
    # At most so many sequences start at the tokens; memory that is never written to costs nothing.
    most = first[n_rows] * longest
    ids, counts = empty(most, np.uint32), empty(most, np.uint32)
    ptr = empty(n_rows + 1, np.int64)
    row_slots = empty(0, np.uint64)
    m = 0
    ptr[0] = 0
    for row in range(n_rows):
        begin, last = m, first[row + 1]
        row_slots, mask = empty_row(row_slots, 0 if grow else (last - first[row]) * longest)
        stamp, document = row_stamps(row, n_fields)
        for i in range(first[row], last):
            if (i - first[row]) % _AHEAD == 0:
                k = 0
                # The table may have grown since the last tags were made.
                known = TermIndex(slots, records, terms)
                stop = min(i + _AHEAD, last)
                _tags_ahead(text, starts, ends, i, stop, last, longest, known, ahead)
            p = starts[i]
            for j in range(i, min(i + longest, last)):
                stop = ends[j]
                tag = np.uint64(ahead[k])
                k += 1
                at = find(slots, records, terms, text, p, stop, tag)
                slot = slots[at]
                # A term that the index does not have gets the next number, or is skipped.
                if slot == 0:
                    if not grow:
                        continue
                    if n_terms == tags.size:
                        tags, df = longer(tags, n_terms + 1), longer(df, n_terms + 1)
                        seen = longer(seen, n_terms + 1)
                        records = longer(records, 3 * tags.size)
                    write_record(records, np.uint64(n_terms), text, p, stop - p)
                    tags[n_terms], df[n_terms], seen[n_terms] = tag, 0, 0
                    n_terms += 1
                    slot = (tag << HALF) | np.uint64(n_terms)
                    slots[at] = slot
                    # The table is kept at most half full; growing moves tags and needs no hash
                    # again.
                    if 2 * n_terms > slots.size:
                        slots = grown(slots)
                term = (slot & LOW) - ONE
                if grow:
                    # While terms are collected they number few enough for an array of all, which
                    # also counts the documents; a given index may be far larger than a row.
                    place = begin + seen_place(seen, df, term, stamp, document, m - begin)
                else:
                    place = begin + row_place(row_slots, mask, term, m - begin)
                if place < m:
                    counts[place] += np.uint32(1)
                    continue
                ids[m], counts[m] = term, 1
                m += 1
        ptr[row + 1] = m
    # The copies are as long as what was found, so that the arrays for the worst case are freed.
    return Counts(
        ptr,
        ids[:m].copy(),
        counts[:m].copy(),
        records[: 3 * n_terms].copy(),
        tags[:n_terms].copy(),
        df[:n_terms].copy(),
    )


@kernel
def _spans_of_grams(
    text: Bytes, begin: Int, end: Int, low: Int, high: Int, spans: PointerArray
) -> tuple[PointerArray, Int]:
    """Start and end of each term of `low` to `high` characters in `text[begin:end]`, by turns.

    As scikit-learn's `char_wb` has them: a run too short for `low` counts as a whole. Returns
    the spans, in a longer array if need be, and how many there are.
    """
    n_chars = 0
    for k in range(begin, end):
        # A byte that does not begin with the bits 10 is the first of a character.
        n_chars += text[k] & 0xC0 != 0x80
    shortest = min(low, n_chars)
    n = 0
    p = begin
    for _ in range(n_chars - shortest + 1):
        if 2 * (n + high) > spans.size:
            spans = longer(spans, 2 * (n + high))
        stop, length = p, 0
        while length < high and stop < end:
            stop += 1
            while text[stop] & 0xC0 == 0x80:  # the bytes after the first of a character
                stop += 1
            length += 1
            # A span is written without a branch, and n grows only if it is long enough.
            spans[2 * n], spans[2 * n + 1] = p, stop
            n += 1 if length >= shortest else 0
        p += 1
        while text[p] & 0xC0 == 0x80:
            p += 1
    return spans, n


@kernel
def _grams_of_runs(
    text: Bytes, runs: Counts, low: Int, high: Int, index: TermIndex, grow: bool
) -> tuple[PointerArray, IndexArray, Records, IndexArray]:
    """The terms of `low` to `high` characters in each different run and the spaces around it.

    Returns the terms' numbers by run, and records and tags of the new terms.
    """
    slots, records, terms = index
    tags = empty(records.size // 3 if grow else 0, np.uint32)
    n_terms = 0
    n_runs = runs.tags.size
    ptr = empty(n_runs + 1, np.int64)
    grams = empty(64 * n_runs + 64, np.uint32)
    spans, ahead = empty(256, np.int64), empty(128, np.uint32)
    m = 0
    ptr[0] = 0
    for run in range(n_runs):
        # The space on either side of a run belongs to its n-grams.
        begin = np.int64(runs.records[3 * run + 1]) - 1
        end = begin + np.int64(runs.records[3 * run + 2]) + 2
        spans, n = _spans_of_grams(text, begin, end, low, high, spans)
        if n > ahead.size:
            ahead = longer(ahead, n)
        mask = np.uint64(slots.size - 1)
        for k in range(n):
            ahead[k] = tag_of(text, spans[2 * k], spans[2 * k + 1])
            prefetch(slots, np.uint64(ahead[k]) & mask)
        prefetch_records(slots, records, ahead[:n])
        if m + n > grams.size:
            grams = longer(grams, m + n)
        for k in range(n):
            p, stop, tag = spans[2 * k], spans[2 * k + 1], np.uint64(ahead[k])
            at = find(slots, records, terms, text, p, stop, tag)
            slot = slots[at]
            if slot == 0:
                if not grow:
                    continue
                if n_terms == tags.size:
                    tags = longer(tags, n_terms + 1)
                    records = longer(records, 3 * tags.size)
                write_record(records, np.uint64(n_terms), text, p, stop - p)
                tags[n_terms] = tag
                n_terms += 1
                slot = (tag << HALF) | np.uint64(n_terms)
                slots[at] = slot
                if 2 * n_terms > slots.size:
                    slots = grown(slots)
            grams[m] = (slot & LOW) - ONE
            m += 1
        ptr[run + 1] = m
    return ptr, grams, records[: 3 * n_terms].copy(), tags[:n_terms].copy()


@kernel
def count_grams(
    text: Bytes, runs: Counts, low: Int, high: Int, n_fields: Int, index: TermIndex, grow: bool
) -> Counts:
    """Count the character n-grams of each row, given how often it has each run.

    The n-grams of a run are found once, however often it occurs; `text` must have a space on
    either side of each run. The other arguments are as those of `count_sequences`.
    """
    gram_ptr, grams, records, tags = _grams_of_runs(text, runs, low, high, index, grow)
    n_rows = runs.ptr.size - 1
    df, seen = zeros(tags.size, np.uint32), zeros(tags.size, np.uint64)
    sizes = zeros(n_rows, np.int64)
    for row in range(n_rows):
        for run in runs.ids[runs.ptr[row] : runs.ptr[row + 1]]:
            sizes[row] += gram_ptr[run + 1] - gram_ptr[run]
    most: Int = 0
    for size in sizes:
        most += size
    ids, counts = empty(most, np.uint32), empty(most, np.uint32)
    ptr = empty(n_rows + 1, np.int64)
    row_slots = empty(0, np.uint64)
    m = 0
    ptr[0] = 0
    for row in range(n_rows):
        begin = m
        row_slots, mask = empty_row(row_slots, 0 if grow else sizes[row])
        stamp, document = row_stamps(row, n_fields)
        for k in range(runs.ptr[row], runs.ptr[row + 1]):
            run, times = runs.ids[k], runs.counts[k]
            for g in range(gram_ptr[run], gram_ptr[run + 1]):
                term = np.uint64(grams[g])
                if grow:
                    place = begin + seen_place(seen, df, term, stamp, document, m - begin)
                else:
                    place = begin + row_place(row_slots, mask, term, m - begin)
                if place < m:
                    counts[place] += times
                    continue
                ids[m], counts[m] = term, times
                m += 1
        ptr[row + 1] = m
    return Counts(ptr, ids[:m].copy(), counts[:m].copy(), records, tags, df)


class Rule(NamedTuple):
    """How texts become the terms of one block.

    `chars` says whether they are the n-grams of `low` to `high` characters, or the sequences
    of 1 to `high` words; words have at least `shortest` characters.
    """

    lowercase: bool
    fold_accents: bool
    fold_digits: bool
    symbols: bool
    shortest: Int
    chars: bool
    low: Int
    high: Int


@kernel
def _bytes_of_terms(text: Bytes, records: Records) -> Bytes:
    """The bytes of the recorded terms one after the other; the records then point into them.

    Segments wait for the one before them to be merged, and so need not keep their text.
    """
    n = records.size // 3
    size: Int = 0
    for term in range(n):
        size += np.int64(records[3 * term + 2])
    out = empty(size + PADDING, np.uint8)
    q = 0
    for term in range(n):
        p = np.int64(records[3 * term + 1])
        records[3 * term + 1] = np.uint64(q)
        for k in range(np.int64(records[3 * term + 2])):
            out[q] = text[p + k]
            q += 1
    for k in range(q, out.size):
        out[k] = 0
    return out


@kernel
def empty_index() -> TermIndex:
    """A table without terms."""
    return TermIndex(zeros(8192, np.uint64), empty(3072, np.uint64), empty(0, np.uint8))


@kernel
def count_block(
    data: Bytes,
    ptr: PointerArray,
    rule: Rule,
    n_fields: Int,
    tables: UnicodeTables,
    index: TermIndex,
    grow: bool,
) -> tuple[Counts, Bytes]:
    """Count the terms of a block in UTF-8 rows; also the bytes that hold new terms, and no more."""
    text, text_ptr = normalize(
        data,
        ptr,
        rule.lowercase,
        rule.fold_accents,
        rule.fold_digits,
        tables,
        empty(0, np.int64),
    )
    starts, ends, first = token_spans(
        text, text_ptr, rule.shortest, rule.symbols, rule.chars, tables
    )
    if rule.chars or rule.high > 1:
        text, starts, ends = join_tokens(text, starts, ends)
    # Records of new terms point into the text of this block, those of a given index into its own.
    terms = text if grow else index.text
    known = TermIndex(index.slots, index.records, terms)
    if rule.chars:
        new = empty_index()
        unknown = TermIndex(new.slots, new.records, text)
        runs = count_sequences(text, starts, ends, first, 1, 1, unknown, True)
        counts = count_grams(text, runs, rule.low, rule.high, n_fields, known, grow)
    else:
        counts = count_sequences(text, starts, ends, first, rule.high, n_fields, known, grow)
    return counts, _bytes_of_terms(text, counts.records)
