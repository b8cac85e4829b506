"""Samples, their labels, and what both are called."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from labelwood.core.frames import is_missing
from labelwood.core.labels import (
    indicator,
    is_label_lists,
    lists_to_indicator,
    plain_lists,
)
from labelwood.core.names import EMPTY_REFUSED, check_names, count
from labelwood.core.sparse import as_csr
from labelwood.core.types import CSR
from labelwood.errors import DataError

if TYPE_CHECKING:
    from labelwood.data.taxonomy import Taxonomy


@dataclass(frozen=True, repr=False)
class Dataset:
    """A set of samples with their labels.

    `X` and `Y` may be given as any sparse matrix or as a dense array; they are kept in
    the forms below, without a copy where they have them already.

    Attributes
    ----------
    X : csr_array of shape (n, n_features), or None
        Features in float32, all finite, with sorted and unique indices. None for a set of
        texts that has not been vectorized.
    Y : csr_array of shape (n, n_labels)
        Indicator of the labels, float32 ones, none of them a stored zero.
    label_names, feature_names : sequences of str, or None
        What the columns of `Y` and `X` are called, all different.
    ids : sequence of str, or None
        What the samples are called.
    texts : sequence of str, or None
        The raw text of each sample.
    taxonomy : Taxonomy or None
        The forest that the labels stand in; `label_taxonomy` is that of the columns of `Y`.
    description : str
        Where the data come from.
    text_columns : sequence of str, or None
        The columns of a table that the texts were read from, and joined.
    label_columns : sequence of str, or None
        The columns of a table that the labels were read from.
    label_separator : str or None
        What separated the labels of a sample in their cell.
    """

    X: CSR | None
    Y: CSR
    label_names: Sequence[str] | None = None
    feature_names: Sequence[str] | None = None
    ids: Sequence[str] | None = None
    texts: Sequence[str] | None = None
    taxonomy: "Taxonomy | None" = None
    description: str = ""
    text_columns: Sequence[str] | None = None
    label_columns: Sequence[str] | None = None
    label_separator: str | None = None

    def __post_init__(self) -> None:
        if self.X is None and self.texts is None:
            raise DataError("A Dataset needs features (X) or texts.")
        object.__setattr__(self, "Y", indicator(self.Y))
        n, n_labels = self.Y.shape
        if self.X is not None:
            object.__setattr__(self, "X", as_csr(self.X))
            _check_size("X", self.X.shape[0], n)
        for what, names, size in (
            ("label_names", self.label_names, n_labels),
            ("feature_names", self.feature_names, None if self.X is None else self.X.shape[1]),
        ):
            if names is not None:
                check_names(names, what)
                _check_size(what, len(names), size)
        for what, values in (("ids", self.ids), ("texts", self.texts)):
            if values is not None:
                _check_size(what, len(values), n)

    @classmethod
    def from_lists(
        cls,
        texts: object,
        labels: object,
        *,
        ids: Sequence[str] | None = None,
        description: str = "",
    ) -> "Dataset":
        """A set of texts from their label lists; labels are numbered in sorted order.

        Both may be lists, arrays of objects, or columns of a table (a Series of pandas or
        polars).

        Examples
        --------
        >>> Dataset.from_lists(["a cat", "an owl"], [["cat"], ["bird", "owl"]]).label_names
        ['bird', 'cat', 'owl']
        """
        documents, lists = check_texts(texts), plain_lists(labels)
        if not isinstance(lists, Sequence) or not (is_label_lists(lists) or len(lists) == 0):
            raise DataError("from_lists takes a list of texts, and a list of labels for each.")
        for row, one in enumerate(lists):
            for name in one:
                if not isinstance(name, str):
                    raise DataError(f"Sample {row} has the label {name!r}, which is no name (str).")
                if not name.strip():
                    raise DataError(f"Row {row} of the labels holds {name!r}, {EMPTY_REFUSED}.")
        names = sorted({name for one in lists for name in one})
        Y = lists_to_indicator(lists, names)
        return cls(None, Y, label_names=names, ids=ids, texts=documents, description=description)

    def __len__(self) -> int:
        return int(self.Y.shape[0])

    @property
    def n_labels(self) -> int:
        """The number of labels, used or not."""
        return int(self.Y.shape[1])

    @property
    def label_taxonomy(self) -> "Taxonomy | None":
        """The taxonomy over exactly the columns of `Y`, in their order.

        Columns without a name are called by their index; a label that is no node is a root.

        Examples
        --------
        >>> from labelwood import Taxonomy
        >>> forest = Taxonomy.from_edges([("animal", "cat"), ("animal", "owl")])
        >>> data = Dataset.from_lists(["a cat"], [["cat", "animal"]])
        >>> replace(data, taxonomy=forest).label_taxonomy.names
        ('animal', 'cat')
        """
        if self.taxonomy is None:
            return None
        names = self.label_names or [str(label) for label in range(self.n_labels)]
        return self.taxonomy.align(names, unknown="root")

    def select(self, rows: Sequence[int] | np.ndarray) -> "Dataset":
        """The samples `rows`, in that order, with the same labels and features."""
        index = np.asarray(rows)
        if index.dtype == bool:
            index = np.flatnonzero(index)
        index = index.astype(np.intp, copy=False)
        return replace(
            self,
            X=None if self.X is None else self.X[index],
            Y=self.Y[index],
            ids=None if self.ids is None else [self.ids[i] for i in index],
            texts=None if self.texts is None else [self.texts[i] for i in index],
        )

    def label_lists(self) -> list[list[str]]:
        """The label names (or indices, as text) of each sample."""
        names = self.label_names
        called = [str(i) if names is None else names[i] for i in self.Y.indices.tolist()]
        return [called[start:end] for start, end in pairwise(self.Y.indptr.tolist())]

    def __repr__(self) -> str:
        n, n_labels = self.Y.shape
        counts = np.bincount(self.Y.indices, minlength=n_labels)
        if self.X is None:
            features = "texts, not vectorized"
        else:
            width = count(self.X.shape[1], "feature")
            features = f"{width}, {count(self.X.nnz, 'non-zero')}"
        empty = int(np.count_nonzero(np.diff(self.Y.indptr) == 0)) if n_labels else 0
        without = f", {empty:,} without one" if empty else ""
        rare = np.count_nonzero(counts < 5) / max(n_labels, 1)
        head = f"Dataset({self.description!r}: " if self.description else "Dataset("
        return (
            f"{head}{count(n, 'sample')}, {features}, {count(n_labels, 'label')}, "
            f"{self.Y.nnz / max(n, 1):.2f} labels a sample{without}, "
            f"{rare:.0%} of the labels with < 5 examples)"
        )


def check_texts(texts: object) -> list[str]:
    """`texts` as a list of str: of a list, an array, or a column of a table.

    Examples
    --------
    >>> check_texts(np.array(["a cat", "an owl"]))
    ['a cat', 'an owl']
    """
    if isinstance(texts, (str, bytes)):
        raise DataError("A list of texts is expected, not one text; put it in a list: [text].")
    if isinstance(texts, Mapping) or len(getattr(texts, "shape", ())) > 1:
        # Iteration over a mapping or a data frame gives its keys, and not the texts.
        kind = type(texts).__name__
        raise DataError(
            f"A list of texts is expected. Got a {kind}; pass one column: data['text']."
        )
    if not isinstance(texts, Iterable):
        raise DataError(f"A list of texts is expected. Got {type(texts).__name__}.")
    checked = [one.item() if isinstance(one, np.str_) else one for one in texts]
    for i, text in enumerate(checked):
        if not isinstance(text, str):
            remedy = "; fill missing texts with '', or drop them" if is_missing(text) else ""
            raise DataError(f"Text {i} must be a str. Got {type(text).__name__}{remedy}.")
    return checked


def _check_size(what: str, size: int, wanted: int | None) -> None:
    if wanted is not None and size != wanted:
        raise DataError(f"{what} has {size} entries where {wanted} are expected.")
