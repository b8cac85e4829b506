"""Where the terms of a vocabulary stand in a text."""

import numpy as np

from labelwood.core.allocation import empty
from labelwood.core.kernel import kernel
from labelwood.core.types import IndexArray, PointerArray
from labelwood.data.text._count_kernels import Rule, TermIndex
from labelwood.data.text._load import Int, tag_of
from labelwood.data.text._normalize_kernels import GROWTH_OF_FOLDING, decode, normalize
from labelwood.data.text._table_kernels import LOW, ONE, Bytes, find, longer
from labelwood.data.text._token_kernels import join_tokens, token_spans
from labelwood.data.text.unicode_tables import UnicodeTables


@kernel
def _term(index: TermIndex, text: Bytes, p: Int, stop: Int) -> Int:
    """The column of a slice, or -1."""
    tag = tag_of(text, p, stop)
    slot = index.slots[find(index.slots, index.records, index.text, text, p, stop, tag)]
    return np.int64((slot & LOW) - ONE) if slot else np.int64(-1)


@kernel
def _next_char(text: Bytes, p: Int) -> Int:
    """The byte after the character at `p`."""
    p += 1
    # Continuation bytes of UTF-8 begin with the bits 10; any other byte starts a character.
    while text[p] & 0xC0 == 0x80:
        p += 1
    return p


@kernel
def _known_slices(
    text: Bytes, starts: PointerArray, ends: PointerArray, rule: Rule, index: TermIndex
) -> tuple[IndexArray, PointerArray, PointerArray, PointerArray, PointerArray]:
    """The slices that are terms: column, start, end, and the first and the last token."""
    columns = empty(16, np.uint32)
    first, last = empty(16, np.int64), empty(16, np.int64)
    heads, tails = empty(16, np.int64), empty(16, np.int64)
    m = 0
    for i in range(starts.size):
        # For words, the slices of one to `high` tokens start at token i alone. For characters, they
        # start at every character of the token and of the spaces around it.
        p = starts[i] - 1 if rule.chars else starts[i]
        end = ends[i] + 1 if rule.chars else starts[i] + 1
        while p < end:
            stop = p
            for length in range(1, rule.high + 1):
                if rule.chars:
                    if stop == end:
                        break
                    stop = _next_char(text, stop)
                    whole = p == starts[i] - 1 and stop == end  # of a word that is too short
                    if length < rule.low and not whole:
                        continue
                else:
                    if i + length > starts.size:
                        break
                    stop = ends[i + length - 1]
                column = _term(index, text, p, stop)
                if column < 0:
                    continue
                if m == columns.size:
                    columns = longer(columns, m + 1)
                    first, last = longer(first, m + 1), longer(last, m + 1)
                    heads, tails = longer(heads, m + 1), longer(tails, m + 1)
                columns[m], first[m], last[m] = column, p, stop
                heads[m], tails[m] = i, i if rule.chars else i + length - 1
                m += 1
            p = _next_char(text, p) if rule.chars else end
    return columns[:m], first[:m], last[:m], heads[:m], tails[:m]


@kernel
def locate_block(
    data: Bytes, rule: Rule, tables: UnicodeTables, index: TermIndex
) -> tuple[IndexArray, PointerArray, PointerArray]:
    """The columns found in one text, in its order, and the bytes of `data` that each spans."""
    origin = empty(data.size * GROWTH_OF_FOLDING + 1, np.int64)
    text, ptr = normalize(
        data,
        np.array([0, data.size]),
        rule.lowercase,
        rule.fold_accents,
        rule.fold_digits,
        tables,
        origin,
    )
    places, place_ends, _ = token_spans(text, ptr, rule.shortest, rule.symbols, rule.chars, tables)
    joined, starts, ends = join_tokens(text, places, place_ends)
    columns, first, last, heads, tails = _known_slices(joined, starts, ends, rule, index)
    for m in range(columns.size):
        i, k = heads[m], tails[m]
        # The spaces around a word, which characters may include, are not marked.
        begin = min(max(first[m], starts[i]), ends[i] - 1)
        final = max(min(last[m], ends[k]) - 1, starts[k])
        # The way back has two steps: from the joined tokens to the normalized text, and from there,
        # by `origin`, to the bytes that the user gave.
        first[m] = origin[begin - starts[i] + places[i]]
        at = origin[final - starts[k] + places[k]]
        last[m] = at + decode(data, at, data.size)[1]
    return columns, first, last
