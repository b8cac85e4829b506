"""Parquet: a text column and a ``list<string>`` column of labels."""

from collections.abc import Sequence
from dataclasses import replace
from typing import IO, Any

from labelwood.core.io import Source, reason
from labelwood.core.names import first_double, shown, some
from labelwood.data.dataset import Dataset
from labelwood.data.readers.columns import ColumnBuilder
from labelwood.data.readers.indicators import (
    IndicatorColumns,
    NestedIndicator,
    remark_on,
    remark_on_one,
)
from labelwood.data.readers.label_cells import CellLabels, is_class_number, split_cells
from labelwood.data.readers.missing_words import remark_on_missing_texts
from labelwood.data.readers.options import ReadOptions
from labelwood.data.readers.usual_names import Columns, choose_columns, without_labels
from labelwood.errors import DataError, MissingExtraError

_MAX_ROWS_A_BYTE = 1000  # repeated rows are stored as a count, which is taken at no one's word


def read(source: Source, options: ReadOptions) -> Dataset:
    """Read Parquet; a null list of labels is empty, any other null is refused."""
    source = replace(source, unit="row")
    file = _opened(source)
    names = list(file.schema_arrow.names)
    double = first_double(names)
    if double is not None:
        raise source.error(None, f"the column {shown(names[double])} comes twice")
    columns = choose_columns(source, None, names, options)
    if not columns.text:
        raise source.error(
            None,
            f"found the columns {some(map(shown, names)) or 'none'}, but no 'text'; name the right "
            "ones by text_column, label_column and id_column",
        )
    table = _Table(source, file, columns, options)
    texts = table.texts()
    found, label_columns = table.label_lists(len(texts))
    labels = ColumnBuilder(source, "label", options.labels)
    for row, listed in enumerate(found.labels, start=1):
        labels.add(row, listed)
    Y, label_names = labels.labels()
    ids, id_remark = columns.kept_ids(table.ids(), label_columns)
    remarks = (columns.remark, found.remark, id_remark, remark_on_missing_texts(texts))
    return Dataset(
        X=None,
        Y=Y,
        label_names=label_names,
        ids=ids,
        texts=texts,
        description=", ".join(filter(None, remarks)),
        text_columns=columns.text,
        label_columns=label_columns or None,
        label_separator=found.separator,
    )


def _opened(source: Source) -> Any:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError("Reading Parquet", "parquet") from None
    try:
        file = parquet.ParquetFile(pyarrow.BufferReader(source.data))
        if file.metadata.num_rows > _MAX_ROWS_A_BYTE * len(source.data):
            raise ValueError(f"{file.metadata.num_rows:,} rows in {len(source.data):,} bytes")
    except (pyarrow.ArrowException, MemoryError, OSError, ValueError) as error:
        raise source.error(None, f"not a valid Parquet file ({reason(error)})") from None
    return file


class ParquetRecords:
    """The rows of a file with all their columns."""

    def __init__(self, source: Source) -> None:
        self._file = _opened(source)

    def __len__(self) -> int:
        return int(self._file.metadata.num_rows)

    def write(self, rows: Sequence[int], file: IO[bytes]) -> None:
        """Write some of the rows, in this order."""
        from pyarrow import parquet

        parquet.write_table(self._file.read().take(list(rows)), file)

    def write_plain(self, rows: Sequence[int], part: Dataset, file: IO[bytes]) -> bool:
        """Write them with the labels of `part` as lists: not done, as lists are usual here."""
        return False


class _Table:
    """The columns of a file, read when they are asked for."""

    def __init__(self, source: Source, file: Any, columns: Columns, options: ReadOptions) -> None:
        self._source, self._file, self._columns = source, file, columns
        self._options = options

    def texts(self) -> list[str]:
        """The text columns, joined."""
        parts = [_strings(self._source, name, self._values(name)) for name in self._columns.text]
        return ["\n".join(row) for row in zip(*parts, strict=True)]

    def ids(self) -> list[str | None]:
        """The column of ids, if there is one; None for a value that can be none."""
        name = self._columns.id
        if name is None:
            return []
        values = self._values(name)
        if self._columns.requires_ids:
            return list(_strings(self._source, name, values, numbers=True))
        return [str(one) if isinstance(one, str) or type(one) is int else None for one in values]

    def label_lists(self, n_rows: int) -> tuple[CellLabels, Sequence[str] | None]:
        """The labels of each row, and the columns that they come from."""
        empty: list[list[str]] = [[] for _ in range(n_rows)]
        if self._options.ignore_labels:
            return CellLabels(empty), None
        if len(self._columns.labels) == 1:
            name = self._columns.labels[0]
            found = self._lists(name)
            remarks = (found.doubt, remark_on_one(name, found.labels))
            return found._replace(doubt=", ".join(filter(None, remarks))), (name,)
        names = self._columns.labels or self._numeric()
        indicators = self._indicators(names, n_rows)
        if self._columns.labels:
            if indicators.refusal is not None:
                row, at, value = indicators.refusal
                raise self._source.error(
                    row,
                    f"found {shown(value)} in {shown(names[at])}, where 0 or 1 is expected; write "
                    "1 for the labels that apply and 0 for others, or name one column of lists",
                )
            every = range(len(names))
            missing = indicators.remark_on_missing(every)
            return CellLabels(indicators.labels(every), doubt=missing), names
        guessed = indicators.guessed()
        if guessed:
            columns = [names[i] for i in guessed]
            missing = indicators.remark_on_missing(guessed)
            labels = indicators.labels(guessed)
            return CellLabels(labels, remark_on(names, guessed), missing), columns
        remark = without_labels(self._source, self._file.schema_arrow.names, self._columns)
        return CellLabels(empty, remark), None

    def _lists(self, name: str) -> CellLabels:
        """A column of lists, or of strings that are split as the cells of CSV are."""
        values = self._values(name)
        if any(isinstance(one, str) for one in values):
            cells = _strings(self._source, name, ["" if one is None else one for one in values])
            numbered = list(enumerate(cells, start=1))
            given, known = self._options.label_separator, self._options.known_label_separator
            return split_cells(self._source, numbered, given, known)
        lists = [_label_list(self._source, row, name, one) for row, one in enumerate(values, 1)]
        nested = NestedIndicator()
        for row, names in enumerate(lists, 1):
            nested.add(row, names)
        nested.refuse(self._source)
        return CellLabels(lists)

    def _numeric(self) -> list[str]:
        from pyarrow import types

        kinds = (types.is_boolean, types.is_integer, types.is_floating)
        fields = self._file.schema_arrow
        others = {*self._columns.others(fields.names, self.ids())}
        return [
            field.name
            for field in fields
            if field.name in others and any(is_kind(field.type) for is_kind in kinds)
        ]

    def _indicators(self, names: Sequence[str], n_rows: int) -> IndicatorColumns:
        columns = [self._values(name) for name in names]
        indicators = IndicatorColumns(names, range(len(names)))
        for row in range(n_rows):
            values = [column[row] for column in columns]
            indicators.add(row + 1, ["" if one is None else str(one) for one in values])
        return indicators

    def _values(self, name: str) -> list[Any]:
        import pyarrow

        try:
            values: list[Any] = self._file.read(columns=[name]).column(0).to_pylist()
        except (pyarrow.ArrowException, MemoryError, OSError, ValueError) as error:
            what = f"not a valid Parquet file ({reason(error)})"
            raise self._source.error(None, what) from None
        return values


def _strings(source: Source, name: str, values: list[Any], *, numbers: bool = False) -> list[str]:
    for row, value in enumerate(values, start=1):
        if not (isinstance(value, str) or (numbers and type(value) is int)):
            empty = " (an empty one where there is none)" if value is None else ""
            raise source.error(row, f"column {name!r} must hold text{empty}. Got {value!r} instead")
    return [str(value) for value in values]


def _label_list(source: Source, row: int, column: str, value: Any) -> list[str]:
    """The names in a list, or the number of one class."""
    if value is None or value != value:  # NaN, where pandas made decimals of whole numbers
        return []
    listed = value if isinstance(value, list) else [value] if is_class_number(value) else None
    if listed is None or not all(isinstance(one, str) or is_class_number(one) for one in listed):
        raise source.error(
            row, f"column {column!r} must hold lists of strings. Got {shown(repr(value))} instead"
        )
    return [one if isinstance(one, str) else str(int(one)) for one in listed]


def write(dataset: Dataset, file: IO[bytes]) -> None:
    """Write the columns id, text and labels (a list of strings)."""
    if dataset.texts is None:
        raise DataError(
            f"{dataset.description or 'The data set'} has features and no texts; write XMC text, "
            "JSONL or npz."
        )
    columns: dict[str, Any] = {} if dataset.ids is None else {"id": list(dataset.ids)}
    columns |= {"text": list(dataset.texts), "labels": dataset.label_lists()}
    write_columns(file, columns)


def write_columns(file: IO[bytes], columns: dict[str, list[Any]]) -> None:
    """Write columns of strings, numbers, or lists of them."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError("Writing Parquet", "parquet") from None
    types = {"labels": pyarrow.list_(pyarrow.string()), "text": pyarrow.string()}
    arrays = {name: pyarrow.array(values, type=types.get(name)) for name, values in columns.items()}
    # The writer seeks and closes, which a pipe or a file of ours must not suffer.
    sink = pyarrow.BufferOutputStream()
    parquet.write_table(pyarrow.table(arrays), sink)
    file.write(sink.getvalue())
