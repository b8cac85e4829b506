"""Parquet: a text column and a ``list<string>`` column of labels."""

from dataclasses import replace
from typing import Any

from labelwood.core.io import Source, reason
from labelwood.core.names import first_double, shown, some
from labelwood.data.dataset import Dataset
from labelwood.data.readers.columns import ColumnBuilder
from labelwood.data.readers.options import ReadOptions, without_labels
from labelwood.errors import MissingExtraError

_MAX_ROWS_A_BYTE = 1000  # repeated rows are stored as a count, which is taken at no one's word


def read(source: Source, options: ReadOptions) -> Dataset:
    """Read Parquet; a null list of labels is empty, any other null is refused."""
    source = replace(source, unit="row")
    label_column, id_column = options.label_column or "labels", options.id_column or "id"
    required = [*options.text_columns, options.label_column, options.id_column]
    columns, names = _columns(
        source,
        wanted={*options.text_columns, label_column, id_column},
        required=[name for name in required if name is not None],
    )
    parts = [_strings(source, name, columns[name]) for name in options.text_columns]
    texts = ["\n".join(row) for row in zip(*parts, strict=True)]
    labels = ColumnBuilder(source, "label", options.labels)
    for row, listed in enumerate(columns.get(label_column, [None] * len(texts)), start=1):
        labels.add(row, _label_list(source, row, listed))
    Y, label_names = labels.labels()
    used = {*options.text_columns, id_column}
    ids = columns.get(id_column)
    return Dataset(
        X=None,
        Y=Y,
        label_names=label_names,
        ids=None if ids is None else _strings(source, id_column, ids, numbers=True),
        texts=texts,
        description="" if label_column in columns else without_labels(source, names, used),
    )


def _columns(
    source: Source, wanted: set[str], required: list[str]
) -> tuple[dict[str, list[Any]], list[str]]:
    """The wanted columns that are there, as lists, and the names of all."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError("Reading Parquet", "parquet") from None
    try:
        file = parquet.ParquetFile(pyarrow.BufferReader(source.data))
        names = file.schema_arrow.names
        if file.metadata.num_rows > _MAX_ROWS_A_BYTE * len(source.data):
            raise ValueError(f"{file.metadata.num_rows:,} rows in {len(source.data):,} bytes")
        table = file.read(columns=[name for name in names if name in wanted])
        # By position: a name that comes twice is refused below.
        columns = {name: table.column(i).to_pylist() for i, name in enumerate(table.column_names)}
    except (pyarrow.ArrowException, MemoryError, OSError, ValueError) as error:
        raise source.error(None, f"not a valid Parquet file ({reason(error)})") from None
    double = first_double(names)
    if double is not None:
        raise source.error(None, f"the column {shown(names[double])} comes twice")
    for name in required:
        if name not in columns:
            found = some(map(shown, names)) or "none"
            raise source.error(
                None,
                f"found the columns {found}, but no {name!r}; name the right ones by "
                "text_column, label_column and id_column",
            )
    return columns, names


def _strings(source: Source, name: str, values: list[Any], *, numbers: bool = False) -> list[str]:
    for row, value in enumerate(values, start=1):
        if not (isinstance(value, str) or (numbers and type(value) is int)):
            raise source.error(row, f"column {name!r} must hold text. Got {value!r} instead")
    return [str(value) for value in values]


def _label_list(source: Source, row: int, value: Any) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise source.error(
            row, f"labels must be a list of strings. Got {shown(repr(value))} instead"
        )
    return value
