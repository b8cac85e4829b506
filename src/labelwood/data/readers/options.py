"""What a user can tell a reader."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from labelwood.data.readers.names import NameList, Names, read_names


@dataclass(frozen=True)
class ReadOptions:
    """The options of `load_dataset`; None is a format's own default."""

    label_names: Names | None = None
    feature_names: Names | None = None
    n_labels: int | None = None
    n_features: int | None = None
    one_based: bool | None = None
    text_column: str | Sequence[str] | None = None
    label_column: str | Sequence[str] | None = None
    id_column: str | None = None
    label_separator: str | None = None
    label_count: int | None = None
    missing: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    header: bool | None = None
    ignore_labels: bool | None = None
    known_text_columns: str | Sequence[str] | None = None
    known_label_columns: str | Sequence[str] | None = None
    known_label_separator: str | None = None

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

    @property
    def text_columns_of_model(self) -> tuple[str, ...]:
        """The columns that a model learned its texts from, to be taken where they are there."""
        return _tuple(self.known_text_columns)

    @property
    def label_columns_of_model(self) -> tuple[str, ...]:
        """The columns that a model learned its labels from."""
        return _tuple(self.known_label_columns)


def _tuple(names: str | Sequence[str] | None) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names or ())
