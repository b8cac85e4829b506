"""A ledger as a table: one row for each experiment, the procedure repeated in every row."""

import csv
import io
import json
import reprlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from threading import Lock
from typing import Any

from labelwood.errors import DataError
from labelwood.experiments.ledger.entry import Entry, read_json

_LOCK = Lock()
_HEAD = ("procedure", "alpha", "options", "head")
_COLUMNS = (*_HEAD, *(field.name for field in fields(Entry)), "hash")
_TEXTS = ("procedure", "head", "name", "reason", "policy", "hash")
_LISTS = ("n_samples", "totals", "estimates")
_JSON = ("options", "reward")


def to_csv(head: Mapping[str, Any], entries: Iterable[Mapping[str, Any]]) -> str:
    """The rows of a ledger whose procedure, α, options and head are in `head`."""
    text = io.StringIO(newline="")
    # Only what is in the line's end is quoted, and a name may hold a carriage return alone.
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(_COLUMNS)
    for entry in entries:
        values = {**{name: head[name] for name in _HEAD}, **entry}
        writer.writerow([_write(name, values[name]) for name in _COLUMNS])
    return text.getvalue()


def from_csv(text: str, source: str) -> tuple[dict[str, Any], list[tuple[str, dict[str, Any]]]]:
    """Procedure, α, options and head; and for each row its place and its values, unchecked."""
    with _long_fields(len(text)):
        rows = _rows(text, source)
    if not rows:
        raise DataError(f"{source} has no entries, so nothing tells the procedure; use JSON")
    head = {name: rows[0][1][name] for name in _HEAD}
    for place, values in rows:
        for name in _HEAD:
            if values.pop(name) != head[name]:
                raise DataError(f"{place}: {name} is not that of the first entry")
    return head, rows


@contextmanager
def _long_fields(length: int) -> Iterator[None]:
    """Let `csv`, whose limit is one for the whole process, read fields of this length."""
    with _LOCK:
        before = csv.field_size_limit()
        csv.field_size_limit(max(before, length))
        try:
            yield
        finally:
            csv.field_size_limit(before)


def _rows(text: str, source: str) -> list[tuple[str, dict[str, Any]]]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows = []
    try:
        if tuple(next(reader, ())) != _COLUMNS:
            raise DataError(f"{source} is not a ledger; its columns must be {','.join(_COLUMNS)}")
        for cells in reader:
            place = f"{source}, line {reader.line_num}"
            if len(cells) != len(_COLUMNS):
                raise DataError(f"{place}: {len(cells)} cells for {len(_COLUMNS)} columns")
            named = zip(_COLUMNS, cells, strict=True)
            rows.append((place, {name: _read(name, cell, place) for name, cell in named}))
    except csv.Error as error:
        raise DataError(f"{source}, line {reader.line_num}: {error}") from None
    return rows


def _write(name: str, value: Any) -> str:
    if name in _TEXTS:
        return str(value)
    if name in _LISTS:
        return ";".join(_number(one) for one in value)
    return json.dumps(value) if name in _JSON else _number(value)


def _number(value: float | bool | None) -> str:
    return "" if value is None else json.dumps(value)


def _read(name: str, cell: str, place: str) -> Any:
    if name in _TEXTS:
        return cell
    try:
        if name in _LISTS:
            return [read_json(one) if one else None for one in cell.split(";")]
        return read_json(cell) if cell else None
    except (ValueError, RecursionError):
        raise DataError(f"{place}: {name} cannot be read. Got {reprlib.repr(cell)}.") from None
