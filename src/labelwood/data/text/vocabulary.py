"""The fitted terms: bytes one after the other, of which tables are made when first needed."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from labelwood.core.sparse import cuts
from labelwood.core.types import PointerArray
from labelwood.data.text._count_kernels import TermIndex
from labelwood.data.text._load import PADDING
from labelwood.data.text._table_kernels import Bytes, index_terms
from labelwood.errors import DataError


class Terms(NamedTuple):
    """Term i, that of column i, is `text[ptr[i]:ptr[i + 1]]` in UTF-8; block b starts at
    column `block_ptr[b]`. The text has a few more bytes, as kernels read eight at once.
    """

    text: Bytes
    ptr: PointerArray
    block_ptr: PointerArray

    def strings(self, columns: Iterable[int]) -> list[str]:
        """The terms of some columns."""
        text, ptr = self.text, self.ptr
        return [text[ptr[i] : ptr[i + 1]].tobytes().decode("utf-8") for i in columns]


def join_terms(blocks: Sequence[tuple[Bytes, PointerArray]]) -> Terms:
    """The terms of all blocks; each comes as padded bytes and where terms start in them."""
    texts = [text[: ptr[-1]] for text, ptr in blocks]
    sizes = np.cumsum([0, *(text.size for text in texts)])
    starts = [ptr[:-1] + size for (_, ptr), size in zip(blocks, sizes, strict=False)]
    return Terms(
        np.concatenate([*texts, np.zeros(PADDING, np.uint8)]),
        np.concatenate([*starts, sizes[-1:]]).astype(np.int64),
        np.cumsum([0, *(start.size for start in starts)]).astype(np.int64),
    )


def terms_of_strings(strings: Sequence[str]) -> Terms:
    """One block of terms from strings."""
    encoded = [string.encode("utf-8") for string in strings]
    ptr = np.cumsum([0, *(len(one) for one in encoded)]).astype(np.int64)
    text = np.frombuffer(b"".join(encoded) + bytes(PADDING), np.uint8)
    return Terms(text, ptr, np.array([0, len(strings)], np.int64))


def index_blocks(terms: Terms) -> list[TermIndex]:
    """A table for each block; its columns count from the block's first."""
    indexes = []
    for first, last in zip(terms.block_ptr[:-1], terms.block_ptr[1:], strict=True):
        slots, records = index_terms(terms.text, terms.ptr[first : last + 1])
        indexes.append(TermIndex(slots, records, terms.text))
    return indexes


def check_terms(terms: Terms, n_blocks: int) -> None:
    """Refuse terms that would send a kernel out of bounds (after loading)."""
    text, ptr, block_ptr = terms
    if text.dtype != np.uint8 or text.ndim != 1 or text.size < PADDING:
        raise DataError("terms_ must be an array of bytes")
    n = ptr.size - 1
    if ptr.dtype != np.int64 or ptr.ndim != 1 or not cuts(ptr, n, text.size - PADDING):
        raise DataError("term_ptr_ must cut terms_ into terms")
    if n and np.any(ptr[1:] == ptr[:-1]):
        raise DataError("term_ptr_ must not have an empty term")
    if block_ptr.dtype != np.int64 or block_ptr.ndim != 1 or not cuts(block_ptr, n_blocks, n):
        raise DataError("block_ptr_ must cut the terms into blocks")
    try:
        text[: ptr[-1]].tobytes().decode("utf-8")
    except UnicodeDecodeError:
        raise DataError("terms_ must be UTF-8") from None
    if n and np.any(text[ptr[:-1]] & 0xC0 == 0x80):
        raise DataError("term_ptr_ must not cut a character")
