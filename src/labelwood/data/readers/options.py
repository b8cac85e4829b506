"""What a user can tell a reader, and lists of names."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from labelwood.data.readers.files import Source, read_source, shown
from labelwood.errors import DataError

if TYPE_CHECKING:
    from labelwood.data.taxonomy import Taxonomy

Names: TypeAlias = str | Path | Sequence[str]


@dataclass(frozen=True)
class NameList:
    """Names in column order, the keys under which a data file knows them, and their parents."""

    names: tuple[str, ...]
    keys: tuple[str, ...]
    edges: tuple[tuple[str, str], ...] = ()

    def taxonomy(self) -> "Taxonomy | None":
        """The forest of (parent, child) edges, when there are any."""
        from labelwood.data.taxonomy import Taxonomy

        return Taxonomy.from_edges(self.edges, self.names) if self.edges else None


@dataclass(frozen=True)
class ReadOptions:
    """The options of `load_dataset`; None is a format's own default."""

    label_names: Names | None = None
    feature_names: Names | None = None
    n_labels: int | None = None
    n_features: int | None = None
    one_based: bool | None = None
    text_column: str | Sequence[str] | None = None
    label_column: str | None = None
    id_column: str | None = None
    label_separator: str | None = None
    label_count: int | None = None
    missing: str | None = None

    @cached_property
    def labels(self) -> NameList | None:
        """The label names, read if they are in a file."""
        return None if self.label_names is None else read_names(self.label_names, "label_names")

    @cached_property
    def features(self) -> NameList | None:
        """The feature names, read if they are in a file."""
        if self.feature_names is None:
            return None
        return read_names(self.feature_names, "feature_names")

    @property
    def text_columns(self) -> tuple[str, ...]:
        """The columns that make the text, joined in this order."""
        if self.text_column is None:
            return ("text",)
        if isinstance(self.text_column, str):
            return tuple(name.strip() for name in self.text_column.split(","))
        return tuple(self.text_column)


def read_names(names: Names, parameter: str) -> NameList:
    """Names from a sequence, or from a file with one name or ``id<TAB>name`` a line."""
    if isinstance(names, str | Path):
        if Path(names).suffix.lower() == ".xml":
            from labelwood.data.readers.mulan import read_labels

            return read_labels(names)
        return _names_of_file(read_source(names))
    listed = tuple(names)
    if not all(isinstance(name, str) for name in listed):
        odd = next(name for name in listed if not isinstance(name, str))
        raise DataError(f"{parameter} must hold text. Got {odd!r} instead.")
    if len(set(listed)) < len(listed):
        raise DataError(f"{parameter} holds {shown(_first_double(listed)[1])} twice.")
    return NameList(listed, listed)


def _names_of_file(source: Source) -> NameList:
    rows: list[list[str]] = []
    for number, line in source.lines():
        fields = line.rstrip("\r\n").split("\t")
        if not all(field.strip() for field in fields) or len(fields) > 2:
            raise source.error(
                number,
                f"found {shown(line)} where one name, or an id, a tab and a name is expected",
            )
        if len(fields) != len(rows[0] if rows else fields):
            raise source.error(number, "only some of the lines have a tab; all or none must")
        rows.append(fields)
    keys, names = tuple(row[0] for row in rows), tuple(row[-1] for row in rows)
    for listed in (keys, names):
        if len(set(listed)) < len(listed):
            position, name = _first_double(listed)
            raise source.error(position + 1, f"{shown(name)} stands on an earlier line too")
    return NameList(names, keys)


def _first_double(names: Sequence[str]) -> tuple[int, str]:
    seen: set[str] = set()
    for position, name in enumerate(names):
        if name in seen:
            return position, name
        seen.add(name)
    raise ValueError("no name comes twice")
