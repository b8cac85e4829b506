"""CSV and TSV: a header row, then a text and its labels in each row."""

import csv
from collections.abc import Iterator, Sequence
from threading import Lock
from typing import Any

from labelwood.core.io import Source
from labelwood.core.names import first_double, shown, some
from labelwood.data.dataset import Dataset
from labelwood.data.readers.columns import ColumnBuilder
from labelwood.data.readers.label_cells import split_cells
from labelwood.data.readers.options import ReadOptions, without_labels

_CSV: dict[str, Any] = {"delimiter": ",", "strict": True}
_TSV: dict[str, Any] = {"delimiter": "\t", "quoting": csv.QUOTE_NONE, "strict": True}
_LONGEST_FIELD = 2**31 - 1  # the csv module keeps it in a C long, which may have 32 bits
_field_limit = Lock()


def read(source: Source, options: ReadOptions) -> Dataset:
    """Read CSV: fields may stand in double quotes, which may hold commas and line ends."""
    return _read(source, options, _CSV)


def read_tsv(source: Source, options: ReadOptions) -> Dataset:
    """Read TSV: a tab always ends a field, and quotes are characters like others."""
    return _read(source, options, _TSV)


def _read(source: Source, options: ReadOptions, dialect: dict[str, Any]) -> Dataset:
    with _field_limit:
        # The csv module has one limit for the whole process, too small for long texts.
        before = csv.field_size_limit(_LONGEST_FIELD)
        try:
            return _gather(source, options, _rows(source, dialect))
        finally:
            csv.field_size_limit(before)


def _rows(source: Source, dialect: dict[str, Any]) -> Iterator[tuple[int, list[str]]]:
    """Rows with the number of their first line; empty lines are skipped."""
    reader = csv.reader((line for _, line in source.lines()), **dialect)
    start = 1
    try:
        for row in reader:
            if row:
                yield start, row
            start = reader.line_num + 1
    except csv.Error as error:
        raise source.error(start, f"this row cannot be read ({error})") from None


def _gather(source: Source, options: ReadOptions, rows: Iterator[tuple[int, list[str]]]) -> Dataset:
    number, header = next(rows, (1, []))
    double = first_double(header)
    if double is not None:
        raise source.error(number, f"the column {shown(header[double])} comes twice")
    text_at = [_column(source, number, header, name, "text") for name in options.text_columns]
    label_at = _optional(source, number, header, options.label_column, "label")
    id_at = _optional(source, number, header, options.id_column, "id")
    cells: list[tuple[int, str]] = []
    texts: list[str] = []
    ids: list[str] = []
    for number, row in rows:
        if len(row) != len(header):
            raise source.error(
                number, f"found {len(row)} fields where the header row has {len(header)}"
            )
        texts.append("\n".join(row[i] for i in text_at))
        cells.append((number, "" if label_at is None else row[label_at]))
        if id_at is not None:
            ids.append(row[id_at])
    labels = ColumnBuilder(source, "label", options.labels)
    split = split_cells(source, cells, options.label_separator)
    for (number, _), names in zip(cells, split, strict=True):
        labels.add(number, names)
    Y, label_names = labels.labels()
    used = {*options.text_columns, options.id_column or "id"}
    return Dataset(
        X=None,
        Y=Y,
        label_names=label_names,
        ids=None if id_at is None else ids,
        texts=texts,
        description="" if label_at is not None else without_labels(source, header, used),
    )


def _column(source: Source, line: int, header: Sequence[str], name: str, kind: str) -> int:
    if name not in header:
        raise source.error(
            line,
            f"found the columns {some(map(shown, header))}, but no {name!r}; "
            f"name the right one by {kind}_column",
        )
    return header.index(name)


def _optional(
    source: Source, line: int, header: Sequence[str], name: str | None, kind: str
) -> int | None:
    default = {"label": "labels", "id": "id"}[kind]
    if name is None and default not in header:
        return None
    return _column(source, line, header, name or default, kind)
