"""Terms in the order of their bytes, which is the order of `sorted` on strings."""

import numpy as np

from labelwood.core.allocation import empty, zeros
from labelwood.core.kernel import kernel
from labelwood.core.types import PointerArray
from labelwood.data.text._load import Int
from labelwood.data.text._table_kernels import Bytes, Records, Slots

_BYTE = np.uint64(8)


@kernel
def leading_bytes(text: Bytes, records: Records, terms: PointerArray) -> Slots:
    """The first eight bytes of each term as a number that sorts as they do."""
    keys = empty(terms.size, np.uint64)
    for i in range(terms.size):
        p, n = np.int64(records[3 * terms[i] + 1]), np.int64(records[3 * terms[i] + 2])
        key = np.uint64(0)
        for k in range(8):
            # The first byte is the highest and short terms end in zeros: numbers compare as bytes
            # do.
            key = (key << _BYTE) | np.uint64(text[p + k] if k < n else 0)
        keys[i] = key
    return keys


@kernel
def _is_before(text: Bytes, records: Records, a: Int, b: Int) -> bool:
    p, n = np.int64(records[3 * a + 1]), np.int64(records[3 * a + 2])
    q, m = np.int64(records[3 * b + 1]), np.int64(records[3 * b + 2])
    for k in range(min(n, m)):
        if text[p + k] != text[q + k]:
            return bool(text[p + k] < text[q + k])
    return bool(n < m)


@kernel
def sort_ties(text: Bytes, records: Records, terms: PointerArray, keys: Slots) -> None:
    """Put terms that are sorted by `keys` into order where their keys are the same."""
    begin = 0
    spare = empty(terms.size, np.int64)
    while begin < terms.size:
        end = begin + 1
        while end < terms.size and keys[end] == keys[begin]:
            end += 1
        # The merge sort starts from runs of one term and doubles their width in each round.
        width = 1
        while width < end - begin:
            for k in range(begin, end):
                spare[k] = terms[k]
            for left in range(begin, end, 2 * width):
                middle, stop = min(left + width, end), min(left + 2 * width, end)
                i, j = left, middle
                for k in range(left, stop):
                    if j >= stop or (
                        i < middle and not _is_before(text, records, spare[j], spare[i])
                    ):
                        terms[k] = spare[i]
                        i += 1
                    else:
                        terms[k] = spare[j]
                        j += 1
            width *= 2
        begin = end


@kernel
def gather_terms(
    text: Bytes, records: Records, terms: PointerArray, padding: Int
) -> tuple[Bytes, PointerArray]:
    """The bytes of the terms one after the other, and where each starts."""
    ptr = zeros(terms.size + 1, np.int64)
    for i in range(terms.size):
        ptr[i + 1] = ptr[i] + np.int64(records[3 * terms[i] + 2])
    out = zeros(ptr[-1] + padding, np.uint8)
    for i in range(terms.size):
        p = np.int64(records[3 * terms[i] + 1])
        for k in range(ptr[i + 1] - ptr[i]):
            out[ptr[i] + k] = text[p + k]
    return out, ptr
