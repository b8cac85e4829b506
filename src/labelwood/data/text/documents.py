"""Texts checked, encoded as UTF-8 and gathered into segments for the kernels."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, NoReturn

import numpy as np

from labelwood.core.types import PointerArray
from labelwood.data.text._table_kernels import Bytes
from labelwood.errors import DataError

SEGMENT_BYTES = 1 << 19
"""Bytes of text in a segment. Each thread works on one and a few wait for it, so that memory beyond
the counts goes by it: with two threads on the training texts of EURLEX57K 1 MB took 30 MB more than
half of it, for 3 % less CPU time, and a quarter took 10 MB less, for 11 % more CPU time."""


class Segment(NamedTuple):
    """Rows of text: row i is `data[ptr[i]:ptr[i + 1]]`, the fields of a document in a row."""

    data: Bytes
    ptr: PointerArray
    n_documents: int


def segments(
    texts: object, fields: Sequence[str], decode_error: str, size: int = SEGMENT_BYTES
) -> Iterator[Segment]:
    """Cut the texts into segments of at least `size` bytes, reading no more than is needed.

    Where a segment ends depends on the texts alone.
    """
    rows: list[bytes] = []
    total = 0
    for number, document in enumerate(_iterable(texts)):
        for text in _rows(document, fields, number):
            row = _encoded(text, number, decode_error)
            rows.append(row)
            total += len(row)
        if total >= size:
            yield _segment(rows, max(len(fields), 1))
            rows, total = [], 0
    if rows:
        yield _segment(rows, max(len(fields), 1))


def _segment(rows: list[bytes], n_fields: int) -> Segment:
    if len(rows) == 1:  # a service asks for one text, and waits for every microsecond
        return Segment(np.frombuffer(rows[0], np.uint8), np.array([0, len(rows[0])]), 1)
    ptr = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(row) for row in rows], out=ptr[1:])
    return Segment(np.frombuffer(b"".join(rows), np.uint8), ptr, len(rows) // n_fields)


def _iterable(texts: object) -> Iterable[object]:
    if isinstance(texts, (str, bytes)):
        raise DataError("A list of texts is expected, not one text; put it in a list: [text].")
    if not isinstance(texts, Iterable):
        raise DataError(f"A list of texts is expected. Got {type(texts).__name__}.")
    return texts


def _rows(document: object, fields: Sequence[str], number: int) -> Sequence[object]:
    if not fields:
        return (document,)
    if not isinstance(document, Mapping):
        raise DataError(
            f"Text {number} must be a mapping with the fields {', '.join(fields)}. "
            f"Got {type(document).__name__}."
        )
    missing = [field for field in fields if field not in document]
    if missing:
        raise DataError(f"Text {number} has no field {missing[0]!r}; give it an empty text.")
    return [document[field] for field in fields]


def _encoded(text: object, number: int, decode_error: str) -> bytes:
    if isinstance(text, str):
        # Half of a surrogate pair becomes bytes that are not UTF-8, which separate words.
        return text.encode("utf-8", "surrogatepass")
    if not isinstance(text, bytes):
        _refuse(number, text)
    if decode_error == "strict":
        try:
            text.decode("utf-8")
        except UnicodeDecodeError as error:
            line = text.count(b"\n", 0, error.start) + 1
            raise DataError(
                f"Text {number}, line {line}: byte 0x{text[error.start]:02x} at position "
                f"{error.start} is not UTF-8; decode the text by its encoding, or take such "
                "bytes as spaces with decode_error='replace'."
            ) from None
    return text


def _refuse(number: int, text: object) -> NoReturn:
    raise DataError(f"Text {number} must be a str. Got {type(text).__name__}.")
