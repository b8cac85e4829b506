"""UTF-8 bytes, lower-cased as `str.lower` does it, accents and digits folded where asked."""

import numpy as np
from numpy.typing import NDArray

from labelwood.core.allocation import empty
from labelwood.core.kernel import kernel
from labelwood.core.types import PointerArray
from labelwood.data.text._load import PADDING, Int
from labelwood.data.text.unicode_tables import (
    CAPITAL_SIGMA,
    CASED,
    DIGIT,
    DOT_ABOVE,
    DOTTED_I,
    FINAL_SIGMA,
    HANGUL,
    IGNORABLE,
    N_HANGUL,
    REPLACEMENT,
    SIGMA,
    UnicodeTables,
)

Bytes = NDArray[np.uint8]

# Lower-casing turns 2 bytes into 3 at most (U+023A, U+0130), folding 3 bytes into 33 (U+FDFA).
GROWTH_OF_LOWER = 2
GROWTH_OF_FOLDING = 11


@kernel
def decode(data: Bytes, p: Int, end: Int) -> tuple[Int, Int]:
    """The character at byte `p` and its length; what is not UTF-8 is U+FFFD, byte by byte."""
    b = np.int64(data[p])
    if b < 0x80:
        return b, 1
    if b < 0xC2 or b > 0xF4:
        return REPLACEMENT, 1
    size = 2 if b < 0xE0 else (3 if b < 0xF0 else 4)
    if p + size > end:
        return REPLACEMENT, 1
    c = b & (0x7F >> size)
    for i in range(1, size):
        b = np.int64(data[p + i])
        if b & 0xC0 != 0x80:
            return REPLACEMENT, 1
        c = (c << 6) | (b & 0x3F)
    # Overlong forms, halves of surrogate pairs and numbers beyond the last character are refused.
    if (size == 3 and (c < 0x800 or 0xD800 <= c < 0xE000)) or (
        size == 4 and (c < 0x10000 or c > 0x10FFFF)
    ):
        return REPLACEMENT, 1
    return c, size


@kernel
def encode(c: Int, out: Bytes, q: Int) -> Int:
    """Write the character `c` at byte `q`; returns the byte after it."""
    if c < 0x80:
        out[q] = c
        return q + 1
    if c < 0x800:
        out[q] = 0xC0 | (c >> 6)
        out[q + 1] = 0x80 | (c & 0x3F)
        return q + 2
    if c < 0x10000:
        out[q] = 0xE0 | (c >> 12)
        out[q + 1] = 0x80 | ((c >> 6) & 0x3F)
        out[q + 2] = 0x80 | (c & 0x3F)
        return q + 3
    out[q] = 0xF0 | (c >> 18)
    out[q + 1] = 0x80 | ((c >> 12) & 0x3F)
    out[q + 2] = 0x80 | ((c >> 6) & 0x3F)
    out[q + 3] = 0x80 | (c & 0x3F)
    return q + 4


@kernel
def char_class(c: Int, tables: UnicodeTables) -> Int:
    """The class of a character, an index of `tables.flags` and `tables.lower`."""
    return np.int64(tables.stage2[(np.int64(tables.stage1[c >> 8]) << 8) + (c & 255)])


@kernel
def char_flags(c: Int, tables: UnicodeTables) -> Int:
    """What kind of character `c` is."""
    return np.int64(tables.flags[char_class(c, tables)])


@kernel
def _before(data: Bytes, start: Int, p: Int) -> tuple[Int, Int]:
    """The character that ends at byte `p`, and where it starts."""
    for size in range(1, min(4, p - start) + 1):
        c, length = decode(data, p - size, p)
        if length == size and (c != REPLACEMENT or size > 1):
            return c, p - size
    return REPLACEMENT, p - 1


@kernel
def _is_final_sigma(data: Bytes, start: Int, p: Int, end: Int, tables: UnicodeTables) -> bool:
    """Whether the capital sigma at byte `p` ends a word, by the rule of `str.lower`.

    Before it must stand a cased letter, and after it none; ignorable characters between do
    not count.
    """
    found = 0
    at = p
    while at > start:
        c, at = _before(data, start, at)
        found = char_flags(c, tables)
        if not found & IGNORABLE:
            break
        found = 0
    if not found & CASED:
        return False
    # A capital sigma has two bytes in UTF-8.
    at = p + 2
    while at < end:
        c, size = decode(data, at, end)
        found = char_flags(c, tables)
        if not found & IGNORABLE:
            return not found & CASED
        at += size
    return True


@kernel
def _write(
    c: Int, fold_accents: bool, fold_digits: bool, tables: UnicodeTables, out: Bytes, q: Int
) -> Int:
    """Write a lower-cased character, or what folding makes of it."""
    if fold_accents and HANGUL <= c < HANGUL + N_HANGUL:
        # A syllable is a leading consonant, a vowel and perhaps a final consonant
        # (The Unicode Standard, section 3.12).
        s = c - HANGUL
        q = encode(0x1100 + s // 588, out, q)
        q = encode(0x1161 + s % 588 // 28, out, q)
        return q if s % 28 == 0 else encode(0x11A7 + s % 28, out, q)
    if fold_accents:
        fold = np.int64(tables.fold2[(np.int64(tables.fold1[c >> 8]) << 8) + (c & 255)])
        if fold:
            for i in range(tables.fold_ptr[fold], tables.fold_ptr[fold + 1]):
                part: Int = np.int64(tables.fold_data[i])
                if fold_digits and char_flags(part, tables) & DIGIT:
                    part = 0x30
                q = encode(part, out, q)
            return q
    if c == REPLACEMENT:
        c = 0x20  # what could not be decoded separates words, and is nothing by itself
    elif fold_digits and char_flags(c, tables) & DIGIT:
        c = 0x30
    return encode(c, out, q)


@kernel
def _is_ascii(data: Bytes) -> bool:
    found = np.uint8(0)
    for b in data:  # without an early end, so that the compiler takes many bytes at once
        found |= b
    return bool(found < 128)


@kernel
def _normalize_ascii(data: Bytes, lowercase: bool, fold_digits: bool, out: Bytes) -> None:
    """Arithmetic in place of a table and branches: many bytes at once, here too."""
    shift = np.uint8(32 if lowercase else 0)
    # Digits are the bytes 48…57; with a width of 0 no byte counts as one.
    width = np.uint8(10 if fold_digits else 0)
    for p in range(data.size):
        b = data[p]
        is_upper = np.uint8(b - np.uint8(65)) < np.uint8(26)
        is_digit = np.uint8(b - np.uint8(48)) < width
        b = np.uint8(b + (shift if is_upper else np.uint8(0)))
        out[p] = np.uint8(48) if is_digit else b


@kernel
def normalize(
    data: Bytes,
    ptr: PointerArray,
    lowercase: bool,
    fold_accents: bool,
    fold_digits: bool,
    tables: UnicodeTables,
    origin: PointerArray,
) -> tuple[Bytes, PointerArray]:
    """The documents `data[ptr[i]:ptr[i + 1]]`, normalized, and where each then starts.

    When `origin` is not empty, it gets the byte of `data` that each written byte stems from.
    """
    n = ptr.size - 1
    first, last = ptr[0], ptr[n]
    growth = GROWTH_OF_FOLDING if fold_accents else GROWTH_OF_LOWER
    out = empty((last - first) * growth + PADDING, np.uint8)
    out_ptr = empty(n + 1, np.int64)
    plain = np.arange(128).astype(np.uint8)
    _normalize_ascii(plain.copy(), lowercase, fold_digits, plain)
    q = 0
    out_ptr[0] = 0
    for i in range(n):
        start, end = ptr[i], ptr[i + 1]
        if _is_ascii(data[start:end]):
            _normalize_ascii(data[start:end], lowercase, fold_digits, out[q : q + end - start])
            if origin.size:
                for p in range(start, end):
                    origin[q + p - start] = p
            q += end - start
            out_ptr[i + 1] = q
            continue
        p = start
        while p < end:
            before = q
            b = data[p]
            if b < 128:
                out[q] = plain[b]
                if origin.size:
                    origin[q] = p
                q += 1
                p += 1
                continue
            c, size = decode(data, p, end)
            # U+0130 is the only character that two replace in lower case: an i and a dot above.
            if lowercase and c == DOTTED_I:
                q = _write(0x69, fold_accents, fold_digits, tables, out, q)
                c = DOT_ABOVE
            elif lowercase and c == CAPITAL_SIGMA:
                c = FINAL_SIGMA if _is_final_sigma(data, start, p, end, tables) else SIGMA
            elif lowercase:
                c += tables.lower[char_class(c, tables)]
            q = _write(c, fold_accents, fold_digits, tables, out, q)
            if origin.size:
                origin[before:q] = p
            p += size
        out_ptr[i + 1] = q
    return out[: q + PADDING], out_ptr
