"""JSON Lines: an object a line with ``text`` or ``features``, ``labels`` and ``id``.

A JSON array of such objects is read as well; messages then count items.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import IO, Any, NoReturn

from labelwood.core.io import Source
from labelwood.core.names import shown, some
from labelwood.core.sparse import row_blocks
from labelwood.core.types import CSR, AnyArray
from labelwood.data.dataset import Dataset
from labelwood.data.readers.columns import ROWS_AT_ONCE, ColumnBuilder, decimals
from labelwood.data.readers.indicators import NestedIndicator
from labelwood.data.readers.label_cells import CellLabels, is_class_number, split_cells
from labelwood.data.readers.missing_words import remark_on_missing_texts
from labelwood.data.readers.options import ReadOptions
from labelwood.data.readers.usual_names import Columns, choose_columns, without_labels

_FEATURES = "features"


def read(source: Source, options: ReadOptions) -> Dataset:
    """Read JSON Lines; the first line decides which of text, features and id all lines have."""
    is_array = source.data.lstrip()[:1] == b"["
    if is_array:
        source = replace(source, unit="item")
    reader: _Reader | None = None
    for number, point in _items(source) if is_array else _objects(source):
        if reader is None:
            reader = _Reader(source, options, point, number)
        reader.add(number, point)
    return _empty(source, options) if reader is None else reader.dataset()


def _objects(source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in source.lines():
        if not line.isspace():
            yield number, _parse(source, number, line)


def _items(source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of one JSON array, as many tools write a table."""
    text = "".join(line for _, line in source.lines())
    try:
        items = _decoder.decode(text.strip())
        json.dumps(items, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise source.error(None, "found half of a surrogate pair (\\ud800…\\udfff)") from None
    except (ValueError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else 1
        what = f"not a valid JSON array ({error})"
        raise replace(source, unit="line").error(line, what) from None
    for number, item in enumerate(items, start=1):
        if not isinstance(item, dict):
            found = shown(json.dumps(item, ensure_ascii=False))
            raise source.error(number, f"found {found} where an object {{…}} is expected")
        yield number, item


def _empty(source: Source, options: ReadOptions) -> Dataset:
    """No samples, which is what a file without lines holds."""
    Y, names = ColumnBuilder(source, "label", options.labels, options.n_labels).labels()
    return Dataset(X=None, Y=Y, label_names=names, texts=[])


class _Reader:
    """Gathers points; which keys they have is fixed by the first one."""

    def __init__(
        self, source: Source, options: ReadOptions, first: dict[str, Any], number: int
    ) -> None:
        self.source = source
        self.ignore_labels = bool(options.ignore_labels)
        self.separator = options.label_separator
        self.known_separator = options.known_label_separator
        self.has_features = _FEATURES in first
        self.columns = self._chosen(first, options)
        self.has_text = bool(self.columns.text)
        self.id_key = self.columns.id
        self.needs_labels = options.label_column is not None
        known = () if self.ignore_labels else self._known(options)
        self.label_columns = self.columns.labels or known
        self.label_key = (self.label_columns or ("labels",))[0]
        self.has_labels = False
        self.keys = list(first)
        self.unexpected = [key for key in ("text", _FEATURES, "id") if key not in first]
        if self.label_columns and not self.needs_labels:
            rivals = ("labels", *known)  # further down, either would be the labels just as well
            self.unexpected += [one for one in rivals if one not in (self.label_key, *first)]
        if not (self.has_text or self.has_features):
            raise source.error(
                number,
                f"found the keys {some(map(shown, first)) or 'none'}, but 'text' or "
                "'features' is expected; name another key of the text by text_column",
            )
        self.texts: list[str] = []
        self.ids: list[str | None] = []
        self.labels = ColumnBuilder(source, "label", options.labels, options.n_labels)
        self.features = ColumnBuilder(source, "feature", options.features, options.n_features)
        self.in_strings: bool | None = None
        self.pending: list[int] = []
        self.cells: list[tuple[int, str]] = []
        self.nested = NestedIndicator()

    def _chosen(self, first: dict[str, Any], options: ReadOptions) -> Columns:
        """The keys to read; those that options name may be missing in the first object."""
        given = [options.label_column, options.id_column]
        if options.text_column is not None:
            given += options.text_columns
        names = list(dict.fromkeys([*first, *(str(one) for one in given if one is not None)]))
        if not self._known(options):
            options = replace(options, known_label_columns=None)
        chosen = choose_columns(self.source, None, names, options)
        if len(chosen.labels) > 1:
            raise self.source.error(None, "labels stand under one key; name one by label_column")
        spare = tuple(name for name in chosen.spare if name != _FEATURES)
        chosen = replace(chosen, spare=spare)
        if self.has_features and options.text_column is None and chosen.text != ("text",):
            return replace(chosen, text=(), remark="")  # features are what the sample consists of
        return chosen

    @staticmethod
    def _known(options: ReadOptions) -> tuple[str, ...]:
        """The key that a model learned its labels from; several columns have none in JSON."""
        known = options.label_columns_of_model
        return known if len(known) == 1 else ()

    def add(self, number: int, point: dict[str, Any]) -> None:
        """Add the point of line `number`."""
        for key in self.unexpected:
            if key in point:
                raise self.source.error(
                    number, f"found the key {key!r}, which the first line lacks"
                )
        if self.has_text:
            parts = [self._string(number, point, key) for key in self.columns.text]
            self.texts.append("\n".join(parts))
        if self.has_features:
            names, values = self._entries(number, self._value(number, point, _FEATURES))
            self.features.add(number, names, values)
        if self.id_key is not None:
            self.ids.append(self._identifier(number, point, self.id_key))
        if self.ignore_labels:
            self.pending.append(number)
        else:
            self._add_labels(number, point)

    def dataset(self) -> Dataset:
        """All points."""
        X, feature_names = self.features.features() if self.has_features else (None, None)
        self.nested.refuse(self.source)
        found = self._split_cells()
        Y, label_names = self.labels.labels()
        ids, id_remark = self.columns.kept_ids(self.ids)
        if self.ignore_labels or self.has_labels:
            description = self.columns.remark
        else:
            description = without_labels(self.source, self.keys, self.columns)
        remarks = (description, found.remark, id_remark, remark_on_missing_texts(self.texts))
        return Dataset(
            X=X,
            Y=Y,
            label_names=label_names,
            feature_names=feature_names,
            ids=ids,
            texts=self.texts if self.has_text else None,
            description=", ".join(filter(None, remarks)),
            text_columns=self.columns.text if self.has_text else None,
            label_columns=self.label_columns or None,
            label_separator=found.separator,
        )

    def _value(self, number: int, point: dict[str, Any], key: str) -> Any:
        if key not in point:
            raise self.source.error(number, f"the key {key!r} is missing; every line must have it")
        return point[key]

    def _string(self, number: int, point: dict[str, Any], key: str) -> str:
        value = self._value(number, point, key)
        if not isinstance(value, str):
            empty = " (an empty one, '', where there is no text)" if value is None else ""
            self._refuse(number, key, value, f"a string{empty}")
        return value

    def _identifier(self, number: int, point: dict[str, Any], key: str) -> str | None:
        """The id of a sample, or None where the key that was guessed holds something else."""
        value = self._value(number, point, key) if self.columns.requires_ids else point.get(key)
        if isinstance(value, str | int) and not isinstance(value, bool):
            return str(value)
        if self.columns.requires_ids:
            self._refuse(number, key, value, "a string or a whole number")
        return None

    def _add_labels(self, number: int, point: dict[str, Any]) -> None:
        """Labels in a list; those in one string are split when all of them are known."""
        if self.needs_labels:
            self._value(number, point, self.label_key)
        self.has_labels |= self.label_key in point
        value = point.get(self.label_key)
        if self.in_strings is None and value is not None:
            self._decide(isinstance(value, str))
        if self.in_strings is None:
            self.pending.append(number)
        elif not self.in_strings:
            names = self._label_list(number, value)
            self.nested.add(number, names)
            self.labels.add(number, names)
        elif isinstance(value, str | None):
            self.cells.append((number, value or ""))
        else:
            self._refuse(number, self.label_key, value, "a string, as in the lines before")

    def _decide(self, in_strings: bool) -> None:
        """The first labels decide whether all stand in lists or in strings."""
        self.in_strings = in_strings
        for number in self.pending:
            if in_strings:
                self.cells.append((number, ""))
            else:
                self.labels.add(number, [])

    def _split_cells(self) -> CellLabels:
        """Add the labels that stand in strings."""
        if self.in_strings is None:
            self._decide(False)
        found = split_cells(self.source, self.cells, self.separator, self.known_separator)
        for (number, _), names in zip(self.cells, found.labels, strict=True):
            self.labels.add(number, names)
        # Without a cell there is nothing that the separator would be known from.
        return found if self.cells else found._replace(separator=None)

    def _label_list(self, number: int, value: Any) -> list[Any]:
        if value is None:
            return []
        if is_class_number(value):
            return [int(value)]
        names = [_subject(one) for one in value] if isinstance(value, list) else None
        if names is None or not all(type(label) in (str, int) for label in names):
            self._refuse(number, self.label_key, value, 'a list of names such as ["cat", "owl"]')
        return names

    def _entries(self, number: int, value: Any) -> tuple[Sequence[Any], Sequence[float]]:
        pairs = value.items() if isinstance(value, dict) else value
        if not isinstance(value, dict | list) or not all(_is_entry(pair) for pair in pairs):
            expected = 'an object {"name": number} or a list of [name, number] pairs'
            self._refuse(number, _FEATURES, value, expected)
        names, values = zip(*pairs, strict=True) if value else ((), ())
        try:
            return names, [float(one) for one in values]
        except OverflowError:
            self._refuse(number, _FEATURES, value, "numbers within the range of a 32-bit float")

    def _refuse(self, number: int, key: str, value: object, expected: str) -> NoReturn:
        try:
            found = shown(json.dumps(value, ensure_ascii=False))
        except RecursionError:
            found = "a value nested too deeply"
        raise self.source.error(number, f"{key!r} must be {expected}. Got {found} instead")


def _subject(label: Any) -> Any:
    """A label as it is; of an object, as Annif writes it, the URI or else the name."""
    if isinstance(label, dict):
        label = label.get("uri") or label.get("label")
        return label.strip("<>") if isinstance(label, str) else label
    return label


def _is_entry(pair: object) -> bool:
    return (
        isinstance(pair, tuple | list)
        and len(pair) == 2
        and type(pair[0]) in (str, int)
        and type(pair[1]) in (int, float)
    )


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    point = dict(pairs)
    if len(point) < len(pairs):
        raise ValueError("a key comes twice")
    return point


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a finite number")


_decoder = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse_constant)


def _parse(source: Source, number: int, line: str) -> dict[str, Any]:
    try:
        point = _decoder.decode(line)
        if "\\u" in line:
            # An escape can spell half a character, which no file could hold afterwards.
            json.dumps(point, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise source.error(number, "found half of a surrogate pair (\\ud800…\\udfff)") from None
    except json.JSONDecodeError as error:
        what = f"not valid JSON ({error.msg}, column {error.colno}); a line is one object {{…}}"
        raise source.error(number, what) from None
    except (ValueError, RecursionError) as error:
        raise source.error(number, f"not valid JSON ({error})") from None
    if not isinstance(point, dict):
        raise source.error(number, f"found {shown(line.strip())} where an object {{…}} is expected")
    return point


def write(dataset: Dataset, file: IO[bytes]) -> None:
    """Write JSON Lines; columns without names are written as numbers."""
    for rows in row_blocks(dataset.Y, ROWS_AT_ONCE):
        for point in _points(dataset, rows):
            file.write(json.dumps(point, ensure_ascii=False).encode("utf-8") + b"\n")


def _points(dataset: Dataset, rows: slice) -> Iterator[dict[str, Any]]:
    Y = dataset.Y[rows]
    labels = _rows(Y, _named(Y.indices, dataset.label_names))
    features: list[Any] = []
    if dataset.X is not None:
        X = dataset.X[rows]
        values = [float(value) for value in decimals(X.data)]
        entries = map(zip, _rows(X, _named(X.indices, dataset.feature_names)), _rows(X, values))
        features = [list(e) if dataset.feature_names is None else dict(e) for e in entries]
    for at, row in enumerate(range(rows.start, rows.stop)):
        point: dict[str, Any] = {} if dataset.ids is None else {"id": dataset.ids[row]}
        point["labels"] = labels[at]
        if dataset.texts is not None:
            point["text"] = dataset.texts[row]
        if dataset.X is not None:
            point[_FEATURES] = features[at]
        yield point


def _named(columns: AnyArray, names: Sequence[str] | None) -> list[Any]:
    numbers: list[Any] = columns.tolist()
    return numbers if names is None else [names[number] for number in numbers]


def _rows(matrix: CSR, entries: list[Any]) -> list[list[Any]]:
    return [entries[start:end] for start, end in pairwise(matrix.indptr.tolist())]
