"""Texts counted in one pass: segments in threads, their terms merged in order.

Each segment numbers its terms by itself. The segments are then merged one after the other, in
the order of the texts, into a table of candidates, so that the result is the same for every
number of threads.
"""

import ctypes
import mmap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from labelwood.core.parallel import parallel_stream
from labelwood.core.types import AnyArray, IndexArray, PointerArray
from labelwood.data.text._count_kernels import Counts, Rule, count_block, empty_index
from labelwood.data.text._load import PADDING
from labelwood.data.text._sort_kernels import gather_terms, leading_bytes, sort_ties
from labelwood.data.text._table_kernels import Bytes, Records, Slots, index_terms, merge_terms
from labelwood.data.text.documents import Segment
from labelwood.data.text.unicode_tables import unicode_tables

_LARGE_BYTES = 1 << 24  # counts below this are not worth the milliseconds of a clean-up


class RowCounts(NamedTuple):
    """Counts of some rows by candidate: those of row i are at `ptr[i]` to `ptr[i + 1]`.

    The counts are of the smallest unsigned type that holds them, mostly one byte.
    """

    ptr: PointerArray
    ids: IndexArray
    counts: AnyArray


@dataclass
class Candidates:
    """The terms of one block met so far, with document frequencies, and the counts of all rows.

    When there are more than `limit`, the rarest are forgotten, down to half of it: all of a
    document frequency or none. `lost_df` is how much too low a frequency can be for that.
    """

    limit: int
    n: int = 0
    lost_df: int = 0
    rows: list[RowCounts] = field(default_factory=list)
    _slots: Slots = field(default_factory=lambda: np.zeros(8192, np.uint64))
    _records: Records = field(default_factory=lambda: np.empty(3072, np.uint64))
    _text: Bytes = field(default_factory=lambda: np.empty(1 << 16, np.uint8))
    _df: PointerArray = field(default_factory=lambda: np.empty(1024, np.int64))
    _used: int = 0

    @property
    def df(self) -> PointerArray:
        """In how many documents each candidate is."""
        return self._df[: self.n]

    def merge(self, counts: Counts, text: Bytes) -> None:
        """Add the terms and counts of the next segment."""
        (self._slots, self._records, self._text, self._df, self.n, self._used, numbers) = (
            merge_terms(
                self._slots,
                self._records,
                self._text,
                self._df,
                self.n,
                self._used,
                text,
                counts.records,
                counts.tags,
                counts.df,
            )
        )
        self.rows.append(stored_rows(counts.ptr, numbers[counts.ids], counts.counts))
        if self.n > self.limit:
            self._forget_rarest()

    def _forget_rarest(self) -> None:
        df = self.df
        frequencies, how_many = np.unique(df, return_counts=True)
        left = self.n - np.cumsum(how_many)
        for most in (self.limit // 2, self.limit):
            # Half the limit, unless that would leave nothing.
            enough = min(int(np.searchsorted(-left, -most)), left.size - 1)
            if left[enough]:
                break
        threshold = int(frequencies[enough])
        kept = np.flatnonzero(df > threshold)
        text, ptr = gather_terms(self._text, self._records, kept, PADDING)
        numbers = np.zeros(self.n, np.uint32)
        numbers[kept] = np.arange(1, kept.size + 1, dtype=np.uint32)
        self.rows = [without(rows, numbers) for rows in self.rows]
        self._slots, self._records = index_terms(text, ptr)
        self._text, self._used = text, int(ptr[-1])
        self._df, self.n = df[kept], kept.size
        self.lost_df += threshold

    def in_order(self, chosen: PointerArray) -> PointerArray:
        """The candidates `chosen`, sorted by their bytes."""
        keys = leading_bytes(self._text, self._records, chosen)
        order = np.argsort(keys, kind="stable")
        terms = chosen[order]
        sort_ties(self._text, self._records, terms, keys[order])
        return terms

    def gather(self, terms: PointerArray) -> tuple[Bytes, PointerArray]:
        """The padded bytes of the candidates `terms`, and where each of them starts."""
        return gather_terms(self._text, self._records, terms, PADDING)


def without(rows: RowCounts, numbers: IndexArray) -> RowCounts:
    """The rows with candidate i as `numbers[i] - 1`, or left out where that is 0."""
    new = numbers[rows.ids]
    kept = new != 0
    sums = np.concatenate([[0], np.cumsum(kept)])
    return stored_rows(sums[rows.ptr], new[kept] - np.uint32(1), rows.counts[kept])


def stored_rows(ptr: PointerArray, ids: IndexArray, counts: AnyArray) -> RowCounts:
    """Rows to be kept until all texts are counted, in little memory that can be given back."""
    smallest = np.min_scalar_type(int(counts.max(initial=0)))
    return RowCounts(ptr, _apart_from_heap(ids), _apart_from_heap(counts.astype(smallest)))


def _apart_from_heap(array: AnyArray) -> AnyArray:
    """A copy in pages of its own.

    An allocator keeps freed pieces of this size for itself, so that the counts would still take
    memory while the matrix, which is as large, is made of them.
    """
    if array.size == 0 or not hasattr(mmap, "MAP_ANONYMOUS"):
        return array
    pages = mmap.mmap(-1, array.nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    copy = np.frombuffer(pages, array.dtype)
    copy[:] = array
    return copy


def count_texts(
    segments: Iterable[Segment],
    rules: Sequence[Rule],
    *,
    n_fields: int,
    separate: bool,
    limit: int,
    n_jobs: int | None,
) -> tuple[list[Candidates], int]:
    """Candidates and counts of each block, and the number of documents.

    The blocks are the rules, in order; with `separate` fields those of the first field, then
    those of the second, and so on.
    """
    n_blocks = len(rules) * (n_fields if separate else 1)
    blocks = [Candidates(limit) for _ in range(n_blocks)]
    tables = unicode_tables()

    def count(segment: Segment) -> tuple[list[tuple[Counts, Bytes]], int]:
        parts = field_parts(segment, n_fields) if separate else [segment]
        together = 1 if separate else n_fields
        counted = [
            count_block(part.data, part.ptr, rule, together, tables, empty_index(), True)
            for part in parts
            for rule in rules
        ]
        return counted, segment.n_documents

    n = 0
    for counted, n_documents in parallel_stream(count, segments, n_jobs=n_jobs):
        for block, (counts, text) in zip(blocks, counted, strict=True):
            block.merge(counts, text)
        n += n_documents
    if sum(rows.ids.nbytes for block in blocks for rows in block.rows) > _LARGE_BYTES:
        _trim_heap()
    return blocks, n


def _trim_heap() -> None:
    """Give what is free on the heap back to the system, where the C library has a call for it.

    Threads leave behind what they counted with, 40 MB for two of them, which would add to the
    matrix that is made next.
    """
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, TypeError, OSError):  # not the GNU library, or not Unix
        return


def field_parts(segment: Segment, n_fields: int) -> list[Segment]:
    """A segment for each field."""
    if n_fields == 1:
        return [segment]
    parts = []
    for which in range(n_fields):
        starts, ends = segment.ptr[:-1][which::n_fields], segment.ptr[1:][which::n_fields]
        ptr = np.concatenate([[0], np.cumsum(ends - starts)])
        places = np.repeat(starts - ptr[:-1], ends - starts) + np.arange(ptr[-1])
        parts.append(Segment(segment.data[places], ptr, segment.n_documents))
    return parts
