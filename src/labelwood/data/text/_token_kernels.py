"""Normalized bytes cut into tokens, and tokens written one after the other.

Sixty-four bytes become two 64-bit masks, of the bytes where a token starts and of those where
one has ended, and the tokens are read off the set bits. A loop over the bytes of each word
would end unpredictably once a word, which costs several times as much as all the rest.
"""

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from labelwood.core.allocation import empty
from labelwood.core.kernel import kernel
from labelwood.core.types import PointerArray
from labelwood.data.text._load import PADDING, Int
from labelwood.data.text._normalize_kernels import char_flags, decode
from labelwood.data.text.unicode_tables import SPACE, SYMBOL, WORD, UnicodeTables

Bytes = NDArray[np.uint8]
_intrinsic: Any = intrinsic  # its type has no place for the typing context
_BLANK = 0x20
_ONE = np.uint64(1)
_LAST = np.uint64(63)


@_intrinsic  # type: ignore[untyped-decorator]
def _lowest_bit(typing: Any, mask: Any) -> Any:
    """The number of the lowest set bit of a uint64 that is not 0."""

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], context.get_constant(types.boolean, True))

    return types.uint64(types.uint64), generate


@kernel
def _kind(flags: Int, runs: bool, symbols: bool) -> Int:
    """1 for a character of a token, 2 for one that is a token by itself, else 0."""
    if runs:
        return 0 if flags & SPACE else 1
    if flags & WORD:
        return 1
    return 2 if symbols and flags & SYMBOL else 0


@kernel
def token_spans(
    text: Bytes, ptr: PointerArray, shortest: Int, symbols: bool, runs: bool, tables: UnicodeTables
) -> tuple[PointerArray, PointerArray, PointerArray]:
    """Where the tokens of each document start and end, and the first token of each document.

    Tokens are the longest runs of word characters, of at least `shortest` of them, and with
    `symbols` each punctuation mark, symbol and emoji. With `runs` they are what stands between
    spaces, as `str.split` cuts it.
    """
    n = ptr.size - 1
    size = ptr[n] - ptr[0]
    most = (size if symbols else size // 2 + n) + 65
    starts, ends = empty(most, np.int64), empty(most, np.int64)
    first = empty(n + 1, np.int64)
    kinds = empty(128, np.uint64)
    for c in range(128):
        kinds[c] = _kind(char_flags(c, tables), runs, symbols)
    t = 0
    first[0] = 0
    for i in range(n):
        p, end = ptr[i], ptr[i + 1]
        n_starts = n_ends = t
        inside = np.uint64(0)  # 1 while a word goes on from one block into the next
        ended = np.uint64(0)  # 1 where a symbol is the last byte of its block
        while p < end:
            words, alone, alone_ends, width = _block(text, p, end, kinds, runs, symbols, tables)
            # Bit k of `before` tells whether byte k − 1 is in a word. A word starts where a word
            # byte follows another, and has ended at the first byte that is none.
            before = (words << _ONE) | inside
            begins = (words & ~before) | alone
            finishes = (before & ~words) | (alone_ends << _ONE) | ended
            last = np.uint64(width - 1)
            inside = (words >> last) & _ONE
            ended = (alone_ends >> last) & _ONE
            if width < 64:
                kept = (_ONE << np.uint64(width)) - _ONE
                finishes &= kept
            while begins:
                starts[n_starts] = p + np.int64(_lowest_bit(begins))
                n_starts += 1
                # This clears the lowest set bit: the loop runs once for each token, not each byte.
                begins &= begins - _ONE
            while finishes:
                ends[n_ends] = p + np.int64(_lowest_bit(finishes))
                n_ends += 1
                finishes &= finishes - _ONE
            p += width
        if n_ends < n_starts:
            ends[n_ends] = end
        t = _drop_short(text, starts, ends, t, n_starts, shortest, tables)
        first[i + 1] = t
    # Views are returned: memory that was not written to is never taken, and a copy would take more.
    return starts[:t], ends[:t], first


@kernel
def _block(
    text: Bytes,
    p: Int,
    end: Int,
    kinds: NDArray[np.uint64],
    runs: bool,
    symbols: bool,
    tables: UnicodeTables,
) -> tuple[np.uint64, np.uint64, np.uint64, Int]:
    """Masks of word bytes, first and last bytes of symbols; and how many bytes they are of.

    A character that would be cut by the end of 64 bytes is left to the next block.
    """
    words, alone, alone_ends = np.uint64(0), np.uint64(0), np.uint64(0)
    width = min(64, end - p)
    k = 0
    while k < width:
        b = text[p + k]
        if b < 128:
            kind = kinds[b]
            words |= (kind & _ONE) << np.uint64(k)
            alone |= (kind >> _ONE) << np.uint64(k)
            alone_ends |= (kind >> _ONE) << np.uint64(k)
            k += 1
            continue
        c, size = decode(text, p + k, end)
        if k + size > 64:
            return words, alone, alone_ends, k
        kind = np.uint64(_kind(char_flags(c, tables), runs, symbols))
        bits = ((_ONE << np.uint64(size)) - _ONE) << np.uint64(k)
        if kind & _ONE:
            words |= bits
        elif kind:
            alone |= _ONE << np.uint64(k)
            alone_ends |= _ONE << np.uint64(k + size - 1)
        k += size
    return words, alone, alone_ends, width


@kernel
def _drop_short(
    text: Bytes,
    starts: PointerArray,
    ends: PointerArray,
    t: Int,
    stop: Int,
    shortest: Int,
    tables: UnicodeTables,
) -> Int:
    """Move the tokens from `t` on together that are symbols or long enough."""
    for k in range(t, stop):
        size = ends[k] - starts[k]
        # A character has at most four bytes, so that long tokens need no decoding.
        keep = size >= 4 * shortest
        if not keep:
            c, width = decode(text, starts[k], ends[k])
            n_chars, p = 1, starts[k] + width
            while p < ends[k]:
                p += decode(text, p, ends[k])[1]
                n_chars += 1
            keep = n_chars >= shortest or not char_flags(c, tables) & WORD
        # A token is written without a branch, and the length grows only if it is kept.
        starts[t], ends[t] = starts[k], ends[k]
        t += 1 if keep else 0
    return t


@kernel
def join_tokens(
    text: Bytes, starts: PointerArray, ends: PointerArray
) -> tuple[Bytes, PointerArray, PointerArray]:
    """The tokens with one space between them, at either end too, and their new places.

    A sequence of tokens, and a token with the spaces around it, are then slices of the bytes.
    """
    n = starts.size
    size = n + 1
    for i in range(n):
        size += ends[i] - starts[i]
    out = empty(size + PADDING, np.uint8)
    new_starts, new_ends = empty(n, np.int64), empty(n, np.int64)
    out[0] = _BLANK
    q = 1
    for i in range(n):
        new_starts[i] = q
        for p in range(starts[i], ends[i]):
            out[q] = text[p]
            q += 1
        new_ends[i] = q
        out[q] = _BLANK
        q += 1
    for p in range(q, out.size):
        out[p] = 0
    return out, new_starts, new_ends
