"""CSV and TSV: a header row, then a text and its labels in each row."""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from threading import Lock
from typing import IO

from labelwood.core.io import Source
from labelwood.core.names import count, first_double, shown, some
from labelwood.data.dataset import Dataset
from labelwood.data.readers.columns import ColumnBuilder
from labelwood.data.readers.dialect import Dialect, find_dialect, header_below
from labelwood.data.readers.indicators import (
    FlagColumns,
    IndicatorColumns,
    remark_on,
    remark_on_one,
)
from labelwood.data.readers.label_cells import (
    CellLabels,
    common_separator,
    is_read_back,
    split_cells,
)
from labelwood.data.readers.missing_words import remark_on_missing_texts
from labelwood.data.readers.options import ReadOptions
from labelwood.data.readers.usual_names import (
    Columns,
    choose_columns,
    without_labels,
)
from labelwood.errors import DataError

_LONGEST_FIELD = 2**31 - 1  # the csv module keeps it in a C long, which may have 32 bits
_field_limit = Lock()
_Rows = Iterator[tuple[int, list[str]]]


def read(source: Source, options: ReadOptions) -> Dataset:
    """Read CSV: fields may stand in double quotes, which may hold commas and line ends."""
    return _read(source, options, ",")


def read_tsv(source: Source, options: ReadOptions) -> Dataset:
    """Read TSV: a tab always ends a field, and quotes are characters like others."""
    return _read(source, options, "\t")


def sample_lines(source: Source, options: ReadOptions, usual: str) -> list[int]:
    """The number of the line on which each sample begins, below the header row."""
    with _long_fields():
        dialect = find_dialect(source, options.delimiter, usual)
        lines = [number for number, _ in _rows(source, dialect)]
    return lines if options.header is False else lines[1:]


def with_label_lists(
    source: Source, options: ReadOptions, usual: str, rows: Sequence[int], part: Dataset
) -> bytes | None:
    """The `rows` of a table with the labels of `part` in a form that leaves no doubt.

    All other fields stay as they are. None where labels do not stand in one column.
    """
    with _long_fields():
        dialect = find_dialect(source, options.delimiter, usual)
        (number, header), *table = _rows(source, dialect)
    columns = choose_columns(source, number, header, options)
    if len(columns.labels) != 1 or options.header is False or not dialect.quoted:
        return None
    at = header.index(columns.labels[0])
    chosen = [table[row][1] for row in rows]
    for row, cell in zip(chosen, label_cells(part.label_lists()), strict=True):
        row[at] = cell
    file = io.BytesIO()
    write_table(file, header, iter(chosen), dialect.delimiter)
    return file.getvalue()


def _read(source: Source, options: ReadOptions, usual: str) -> Dataset:
    with _long_fields():
        dialect = find_dialect(source, options.delimiter, usual)
        return _gather(source, options, dialect, _rows(source, dialect))


@contextmanager
def _long_fields() -> Iterator[None]:
    """The csv module has one limit for the whole process, too small for long texts."""
    with _field_limit:
        before = csv.field_size_limit(_LONGEST_FIELD)
        try:
            yield
        finally:
            csv.field_size_limit(before)


def _rows(source: Source, dialect: Dialect) -> _Rows:
    """Rows with the number of their first line; empty lines are skipped."""
    reader = dialect.reader(line for number, line in source.lines() if number > dialect.skip)
    start = dialect.skip + 1
    try:
        for row in reader:
            if row:
                yield start, row
            start = dialect.skip + reader.line_num + 1
    except csv.Error as error:
        if "new-line character" in str(error):
            raise source.error(
                start,
                "found a carriage return within a row; put the field in double quotes, or, if "
                "lines end so as on old Macs, save the file with line ends of Windows or Unix",
            ) from None
        raise source.error(
            start,
            f"this row cannot be read ({error}); a quote inside a field in quotes must be doubled",
        ) from None


def _gather(source: Source, options: ReadOptions, dialect: Dialect, rows: _Rows) -> Dataset:
    number, header = next(rows, (1, []))
    if options.header is False:
        rows = chain([(number, header)], rows) if header else rows
        header = [str(place) for place in range(1, len(header) + 1)]
    named = [name for name in header if name.strip()]
    double = first_double(named)
    if double is not None:
        raise source.error(number, f"the column {shown(named[double])} comes twice")
    columns = _chosen(source, number, header, options)
    if not columns.text:
        raise _no_text(source, number, header, options, rows)
    table = _Table(source, header, columns, guess=not options.ignore_labels)
    for line, row in rows:
        if len(row) != len(header):
            hint = _below_title(source, number, options) if len(named) == 1 else ""
            raise _uneven(source, line, row, header, dialect, hint)
        table.add(line, row)
    return table.dataset(options, dialect.remark)


def _chosen(source: Source, line: int, header: Sequence[str], options: ReadOptions) -> Columns:
    """The columns to read; what seems to be a title above them is refused."""
    found = f"found the columns {some(map(shown, header))}"
    try:
        columns = choose_columns(source, line, header, options)
    except DataError:
        hint = _below_title(source, line, options)
        if hint:
            raise source.error(line, found + hint) from None
        raise
    hint = _below_title(source, line, options, even=True) if len(header) == 1 else ""
    if columns.text and hint:  # a column of texts would be as wide as the title
        raise source.error(line, found + hint)
    return columns


def _below_title(source: Source, line: int, options: ReadOptions, *, even: bool = False) -> str:
    """The remedy where the first row is a title that stands above the header row."""
    if options.header is False:
        return ""
    given = [] if options.text_column is None else list(options.text_columns)
    given += [one for one in (options.label_column, options.id_column) if isinstance(one, str)]
    below = header_below(source, line, given, even=even)
    if below is None:
        return ""
    return f"; line {below} looks like the header row: delete what stands above it"


class _Table:
    """Gathers the fields of the chosen columns."""

    def __init__(
        self, source: Source, header: Sequence[str], columns: Columns, *, guess: bool
    ) -> None:
        self._source, self._header, self._columns = source, header, columns
        self._text_at = [header.index(name) for name in columns.text]
        self._label_at = [header.index(name) for name in columns.labels]
        self._id_at = None if columns.id is None else header.index(columns.id)
        looked_at = self._label_at if len(self._label_at) != 1 else []
        if guess and not self._label_at:
            looked_at = [i for i in range(len(header)) if i not in self._text_at]
        self._indicators = IndicatorColumns(header, looked_at)
        self._lines: list[int] = []
        self._texts: list[str] = []
        self._cells: list[list[str]] = [[] for _ in self._label_at]
        self._ids: list[str] = []

    def add(self, number: int, row: list[str]) -> None:
        """Add the row that starts on line `number`."""
        self._lines.append(number)
        self._texts.append("\n".join(row[i] for i in self._text_at))
        for cells, at in zip(self._cells, self._label_at, strict=True):
            cells.append(row[at])
        if self._id_at is not None:
            self._ids.append(row[self._id_at])
        self._indicators.add(number, row)

    def dataset(self, options: ReadOptions, delimiter: str) -> Dataset:
        """All rows; `delimiter` is a remark on how they were divided."""
        found, label_columns = self._label_lists(options)
        ids, id_remark = self._columns.kept_ids(self._ids, label_columns)
        labels = ColumnBuilder(self._source, "label", options.labels)
        for number, names in zip(self._lines, found.labels, strict=True):
            labels.add(number, names)
        Y, label_names = labels.labels()
        missing = remark_on_missing_texts(self._texts)
        remarks = (delimiter, self._columns.remark, found.remark, id_remark, missing)
        return Dataset(
            X=None,
            Y=Y,
            label_names=label_names,
            ids=ids,
            texts=self._texts,
            description=", ".join(filter(None, remarks)),
            text_columns=self._columns.text,
            label_columns=label_columns or None,
            label_separator=found.separator,
        )

    def _label_lists(self, options: ReadOptions) -> tuple[CellLabels, Sequence[str] | None]:
        """The labels of each row, and the columns that they come from."""
        columns = self._columns.labels
        if len(columns) == 1:
            found = self._split(self._cells[0], options)
            remarks = (found.doubt, remark_on_one(columns[0], found.labels))
            return found._replace(doubt=", ".join(filter(None, remarks))), columns
        if columns:
            return self._of_several(options), columns
        if self._id_at is not None and self._columns.id not in self._columns.others(
            self._header, self._ids
        ):
            self._indicators.leave_out(self._id_at)
        guessed = [] if options.ignore_labels else self._indicators.guessed()
        if guessed:
            names = [self._header[i] for i in guessed]
            labels = self._indicators.labels(guessed)
            missing = self._indicators.remark_on_missing(guessed)
            return CellLabels(labels, remark_on(self._header, guessed), missing), names
        empty: list[list[str]] = [[] for _ in self._lines]
        if options.ignore_labels:
            return CellLabels(empty), None
        return CellLabels(empty, without_labels(self._source, self._header, self._columns)), None

    def _of_several(self, options: ReadOptions) -> CellLabels:
        """Columns of 0 and 1, or columns of names, whose labels are put together."""
        if self._indicators.all_hold:
            missing = self._indicators.remark_on_missing(self._label_at)
            return CellLabels(self._indicators.labels(self._label_at), doubt=missing)
        if options.label_separator is None:  # which tells that they are names
            self._refuse_flags()
        lists: list[list[str]] = [[] for _ in self._lines]
        remarks: dict[str, None] = {}  # each is made once
        separators: list[str | None] = []
        for cells in self._cells:
            split = self._split(cells, options)
            remarks[split.remark] = None
            separators.append(split.separator)
            for row, names in enumerate(split.labels):
                lists[row].extend(names)
        remark = ", ".join(filter(None, remarks))
        return CellLabels(lists, remark, separator=common_separator(separators))

    def _refuse_flags(self) -> None:
        """Refuse columns of which only some hold 0 and 1, and flags in other words."""
        sure, refusal = self._indicators.sure, self._indicators.refusal
        columns = FlagColumns(self._source, self._columns.labels, self._cells)
        columns.refuse_numbers(self._lines)
        if sure is not None and refusal is not None:
            line, at, value = refusal
            held = sorted({cell.strip() for cell in self._cells[self._label_at.index(sure)]} - {""})
            raise self._source.error(
                line,
                f"found {shown(value)} in {shown(self._header[at])}, but only "
                f"{some(map(shown, held))} in {shown(self._header[sure])}; give columns of one "
                "kind by label_column",
            )
        columns.refuse_words()

    def _split(self, cells: list[str], options: ReadOptions) -> CellLabels:
        numbered = list(zip(self._lines, cells, strict=True))
        given, known = options.label_separator, options.known_label_separator
        return split_cells(self._source, numbered, given, known)


def _uneven(
    source: Source,
    line: int,
    row: Sequence[str],
    header: Sequence[str],
    dialect: Dialect,
    hint: str,
) -> DataError:
    quotes = f"; a field that holds {dialect.delimiter!r} must stand in double quotes"
    if len(row) < len(header):
        quotes = f"; a field without a value needs its {dialect.delimiter!r} too"
    remedy = hint or (quotes if dialect.quoted or len(row) < len(header) else "")
    found = f"found {count(len(row), 'field')} where the header row has {len(header)}{remedy}"
    return source.error(line, found)


def _no_text(
    source: Source, line: int, header: Sequence[str], options: ReadOptions, rows: _Rows
) -> DataError:
    if options.header is False:
        return source.error(
            line,
            f"without a header row its {len(header)} columns are called 1 to {len(header)}; "
            "name that of the text by text_column",
        )
    found = f"found the columns {some(map(shown, header)) or 'none'}, but no 'text'"
    hint = _below_title(source, line, options)
    if hint:
        return source.error(line, found + hint)
    try:
        below, first = next(rows, (0, []))
    except DataError:  # what is wrong further down says less than the missing column
        below, first = 0, []
    n_numbers = sum(map(_is_number, first))
    if n_numbers > 1 and n_numbers > len(first) // 2 and not any(map(_is_number, header)):
        return source.error(
            line,
            f"{found}, and numbers in line {below}: a table of features is read from ARFF, XMC "
            "text, JSONL or npz, or goes to a learner in Python, as OneVsRestSVM().fit(X, y); a "
            "column of texts is named by text_column",
        )
    return source.error(
        line,
        f"{found}; name the right one by text_column, or give header=False if the first row is "
        "none",
    )


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def write(dataset: Dataset, file: IO[bytes]) -> None:
    """Write CSV with the columns id, text and labels."""
    _write(dataset, file, ",")


def write_tsv(dataset: Dataset, file: IO[bytes]) -> None:
    """Write TSV, where no text may hold a tab or a line end."""
    for row, text in enumerate(dataset.texts or ()):
        if any(mark in text for mark in "\t\r\n"):
            raise DataError(
                f"Sample {row} holds a tab or a line end, which TSV has no place for; write CSV."
            )
    _write(dataset, file, "\t")


def _write(dataset: Dataset, file: IO[bytes], delimiter: str) -> None:
    if dataset.texts is None:
        raise DataError(
            f"{dataset.description or 'The data set'} has features and no texts; write XMC text, "
            "JSONL or npz."
        )
    cells = label_cells(dataset.label_lists())
    columns = [("text", dataset.texts), ("labels", cells)]
    if dataset.ids is not None:
        columns.insert(0, ("id", dataset.ids))
    write_table(
        file, [name for name, _ in columns], zip(*(c for _, c in columns), strict=True), delimiter
    )


def label_cells(lists: Sequence[Sequence[str]]) -> list[str]:
    """Labels joined by ``;``, or as JSON lists where a reader could take that for anything else.

    Examples
    --------
    >>> label_cells([["owl", "bird"], []])
    ['owl; bird', '']
    >>> label_cells([["a; b"], ["c"]])
    ['["a; b"]', '["c"]']
    """
    joined = ["; ".join(labels) for labels in lists]
    divides = any(";" in label for labels in lists for label in labels)
    if not divides and is_read_back(joined):
        return joined
    return [json.dumps(list(labels), ensure_ascii=False) if labels else "" for labels in lists]


def write_table(
    file: IO[bytes], header: Sequence[str], rows: Iterator[Sequence[object]], delimiter: str
) -> None:
    """Write rows of fields; those of TSV must hold no tab and no line end."""
    stream = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    if delimiter == "\t":
        stream.writelines("\t".join(map(str, row)) + "\n" for row in chain([header], rows))
    else:
        writer = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
    stream.detach()
