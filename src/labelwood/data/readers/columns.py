"""Entries of rows, by name or by number, gathered into CSR matrices."""

from array import array
from collections.abc import Callable, Sequence

import numpy as np

from labelwood.core.io import Source
from labelwood.core.labels import has_unused_labels
from labelwood.core.names import CONTROL_REFUSED, EMPTY_REFUSED, has_control, shown
from labelwood.core.sparse import make_csr
from labelwood.core.types import CSR, AnyArray
from labelwood.data.readers.names import NameList

MAX_COLUMNS = 2**31 - 1  # what a 32-bit index can number
ROWS_AT_ONCE = 4096  # written in one piece


class ColumnBuilder:
    """Rows of (column, value) entries, where a column is a name (str) or a number (int).

    Without given names the columns are the names that occur, sorted. Numbers of labels are codes
    then, and codes are names too; numbers of features are columns.
    """

    def __init__(
        self, source: Source, kind: str, given: NameList | None = None, width: int | None = None
    ) -> None:
        self._source = source
        self._kind = kind
        self._given = given
        self._index = {} if given is None else {key: i for i, key in enumerate(given.keys)}
        self._width = width if given is None else len(given.keys)
        self._type: type | None = None
        self._columns, self._values = array("q"), array("f")
        self._ends, self._lines = array("q", [0]), array("q")

    def add(
        self, line: int, columns: Sequence[str | int], values: Sequence[float] | None = None
    ) -> None:
        """Add a row that stands on `line`; without values its entries are ones."""
        for column in columns:
            self._columns.append(self._position(column, line))
        self._values.extend([1.0] * len(columns) if values is None else values)
        self._ends.append(len(self._columns))
        self._lines.append(line)

    def _position(self, column: str | int, line: int) -> int:
        kind = self._kind
        if self._type is None:
            self._type = type(column)
        if type(column) is not self._type:
            raise self._source.error(
                line, f"{kind} {column!r}: a file holds names (text) or numbers, not both"
            )
        if isinstance(column, int) and self._is_code:
            return self._index.setdefault(str(column), len(self._index))
        if isinstance(column, int):
            if self._given is not None and self._given.has_ids:
                raise self._source.error(
                    line,
                    f"found {kind} number {column}, but {kind}_names lists ids: "
                    f'write the id as text: "{column}"',
                )
            limit = MAX_COLUMNS if self._width is None else self._width
            if not 0 <= column < limit:
                raise self._source.error(line, f"{kind} number {column} is outside 0…{limit - 1}")
            return column
        if not column.strip():
            empty = EMPTY_REFUSED if kind == "label" else f"a {kind} with an empty name; name it"
            raise self._source.error(line, f"found {empty}")
        if has_control(column):
            raise self._source.error(line, f"found {kind} {shown(column)}, {CONTROL_REFUSED}")
        if self._width is None:
            return self._index.setdefault(column, len(self._index))
        if column not in self._index:
            why = f"which is not among the {kind}_names given"
            if self._given is None:
                why = f"but n_{kind}s is for numbered {kind}s"
            raise self._source.error(line, f"found {kind} {shown(column)}, {why}")
        return self._index[column]

    @property
    def _is_code(self) -> bool:
        return self._kind == "label" and self._width is None

    def features(self) -> tuple[CSR, Sequence[str] | None]:
        """The matrix of values, and the names of its columns."""
        indices, width, names = self._finished()
        matrix = feature_matrix(
            self._source,
            (np.asarray(self._values), indices, np.asarray(self._ends)),
            width,
            lambda row: self._lines[row],
        )
        return matrix, names

    def labels(self) -> tuple[CSR, Sequence[str] | None]:
        """The indicator matrix, and the names of its columns."""
        indices, width, names = self._finished()
        check_label_space(self._source, None, width, indices.size)
        return label_matrix(indices, np.asarray(self._ends), width), names

    def _finished(self) -> tuple[AnyArray, int, Sequence[str] | None]:
        """Column numbers, how many columns there are, and what they are called."""
        columns: AnyArray = np.asarray(self._columns)
        if self._given is not None:
            return columns, len(self._given.names), self._given.names
        if self._width is not None or (self._type is int and not self._is_code):
            used = int(columns.max()) + 1 if columns.size else 0
            return columns, used if self._width is None else self._width, None
        names = sorted(self._index, key=int if self._type is int else None)
        rank = np.empty(len(names), dtype=np.int64)
        rank[[self._index[name] for name in names]] = np.arange(len(names))
        return rank[columns], len(names), names


def check_label_space(source: Source, line: int | None, n_labels: int, n_entries: int) -> None:
    """Refuse far more labels than are ever used: a number of labels is taken at no one's word."""
    if has_unused_labels(n_labels, n_entries):
        raise source.error(
            line,
            f"there are said to be {n_labels:,} labels, but they are given {n_entries:,} times in "
            "all; are the numbers codes? Give the labels as names, in JSONL or CSV",
        )


def feature_matrix(
    source: Source,
    arrays: tuple[AnyArray, AnyArray, AnyArray],
    n_features: int,
    line_of_row: Callable[[int], int],
) -> CSR:
    """A CSR matrix of finite values from (data, indices, indptr); duplicates are summed."""
    matrix = _canonical(*arrays, n_features)
    finite = np.isfinite(matrix.data)
    if not finite.all():
        bad = int(np.flatnonzero(~finite)[0])
        row = int(np.searchsorted(matrix.indptr, bad, side="right")) - 1
        raise source.error(
            line_of_row(row),
            f"the value of feature {matrix.indices[bad]} is too large for a 32-bit float",
        )
    return matrix


def label_matrix(indices: AnyArray, indptr: AnyArray, n_labels: int) -> CSR:
    """An indicator matrix; a label given twice counts once."""
    matrix = _canonical(np.ones(indices.size, dtype=np.float32), indices, indptr, n_labels)
    matrix.data[:] = 1
    return matrix


def _canonical(data: AnyArray, indices: AnyArray, indptr: AnyArray, n_columns: int) -> CSR:
    matrix = make_csr(indptr, indices, data, (indptr.size - 1, n_columns))
    matrix.sum_duplicates()
    return matrix


def decimals(values: AnyArray) -> list[str]:
    """The shortest decimals that read back as the same float32 numbers.

    Examples
    --------
    >>> decimals(np.array([0.1, 2.0, 1e-12], dtype=np.float32))
    ['0.1', '2', '1e-12']
    """
    # Values repeat a lot (counts, rounded weights): each is spelt once.
    distinct, which = np.unique(values, return_inverse=True)
    spelt = [text.removesuffix(".0") for text in distinct.astype(np.float32).astype(str).tolist()]
    return [spelt[i] for i in which.tolist()]
