"""The records of a file as they stand there, so that some of them can be written unchanged.

A record is what holds one sample: a line, a row of a table with all its columns, whatever they
are. Formats whose samples have no place of their own in the file (XMC text, whose first line
counts them, npz, ARFF, a JSON array) have none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Protocol

import numpy as np

from labelwood.core.io import Source
from labelwood.core.types import PointerArray
from labelwood.data.dataset import Dataset
from labelwood.data.readers.options import ReadOptions

_LINES = ("jsonl", "fasttext", "annif")
_TABLES = {"csv": ",", "tsv": "\t"}
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Records(Protocol):
    """The records of one file."""

    def __len__(self) -> int: ...

    def write(self, rows: Sequence[int], file: IO[bytes]) -> None:
        """Write some of the records, in this order."""

    def write_plain(self, rows: Sequence[int], part: Dataset, file: IO[bytes]) -> bool:
        """Write them with the labels of `part` in a form that leaves no doubt, if that can be."""


def find_records(source: Source, chosen: str, options: ReadOptions) -> Records | None:
    """The records of `source`, which is in the format `chosen`; None where it has none.

    Examples
    --------
    >>> import io
    >>> source = Source("a.csv", bytearray(b"text,labels,from\\nan owl,owl,7\\na cat,cat,8"))
    >>> found, file = find_records(source, "csv", ReadOptions()), io.BytesIO()
    >>> found.write([1], file)
    >>> file.getvalue()
    b'text,labels,from\\na cat,cat,8\\n'
    """
    if chosen == "parquet":
        from labelwood.data.readers.parquet import ParquetRecords

        return ParquetRecords(source)
    if chosen in _TABLES:
        from labelwood.data.readers.tabular import sample_lines

        lines = sample_lines(source, options, _TABLES[chosen])
        starts = _line_starts(source)[np.array(lines, dtype=int) - 1]
        return _Rows(source, starts, options, _TABLES[chosen])
    if chosen == "svmlight":
        from labelwood.data.readers.pairs import parse_pairs

        return _TextRecords(source, _lines_at(source, parse_pairs(source, 0, svmlight=True).starts))
    if chosen in _LINES and source.data.lstrip()[:1] != b"[":
        filled = [not line.isspace() for _, line in source.lines()]
        return _TextRecords(source, _line_starts(source)[: len(filled)][filled])
    return None


def _line_starts(source: Source) -> PointerArray:
    """Where each line begins; the last number is the end of the file."""
    source.end_last_line()
    text = np.frombuffer(source.data, dtype=np.uint8)
    return np.concatenate([[0], np.flatnonzero(text == ord("\n")) + 1]).astype(np.int64)


def _lines_at(source: Source, offsets: PointerArray) -> PointerArray:
    """Where the lines begin that hold the bytes at `offsets`."""
    starts = _line_starts(source)
    return starts[np.searchsorted(starts, offsets, side="right") - 1]


@dataclass(frozen=True)
class _TextRecords:
    """Records that begin at `starts`, each of which ends where the next one begins.

    What stands before the first one, such as a header row, belongs to all parts of the file.
    """

    source: Source
    starts: PointerArray

    def __len__(self) -> int:
        return self.starts.size

    def write(self, rows: Sequence[int], file: IO[bytes]) -> None:
        file.write(self._joined(rows))

    def write_plain(self, rows: Sequence[int], part: Dataset, file: IO[bytes]) -> bool:
        return False

    def _joined(self, rows: Sequence[int]) -> bytes:
        data, ends = memoryview(self.source.data), np.append(self.starts, len(self.source.data))
        return b"".join([data[: ends[0]], *(data[ends[row] : ends[row + 1]] for row in rows)])


@dataclass(frozen=True)
class _Rows(_TextRecords):
    """Rows of a CSV or TSV file."""

    options: ReadOptions
    usual: str

    def write(self, rows: Sequence[int], file: IO[bytes]) -> None:
        _write_for_spreadsheets(self._joined(rows), file)

    def write_plain(self, rows: Sequence[int], part: Dataset, file: IO[bytes]) -> bool:
        from labelwood.data.readers.tabular import with_label_lists

        found = with_label_lists(self.source, self.options, self.usual, rows, part)
        if found is not None:
            _write_for_spreadsheets(found, file)
        return found is not None


def _write_for_spreadsheets(table: bytes, file: IO[bytes]) -> None:
    if not table.isascii():
        file.write(_BYTE_ORDER_MARK)  # without which Excel takes the file for cp1252
    file.write(table)
