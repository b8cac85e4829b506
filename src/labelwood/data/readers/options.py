"""What a user can tell a reader, and what a reader says of labels that it did not find."""

import warnings
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from labelwood.core.caller import user_stacklevel
from labelwood.core.io import Source
from labelwood.core.names import shown, some
from labelwood.data.readers.names import NameList, Names, read_names
from labelwood.errors import LabelwoodWarning

# Columns of these names are probably the labels, if nothing is called "labels".
_USUAL_NAMES = {"label", "tag", "category", "class", "topic", "keyword", "subject", "target"}


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


def without_labels(source: Source, columns: Iterable[str], used: Collection[str]) -> str:
    """A description of data without a column of labels, with a warning if one looks like it."""
    others = [name for name in columns if name not in used]
    for name in others:
        word = name.strip().lower()
        if {word, word.removesuffix("s"), word.removesuffix("ies") + "y"} & _USUAL_NAMES:
            warnings.warn(
                f"{source.name} has no column 'labels', so its samples have no labels; if the "
                f"labels are in {shown(name)}, give label_column={name!r}",
                LabelwoodWarning,
                stacklevel=user_stacklevel(),
            )
            break
    return f"no labels among the columns {some(map(shown, columns))}" if others else ""
