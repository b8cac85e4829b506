"""Several data sets as one."""

from collections.abc import Sequence
from itertools import chain
from typing import TypeVar

import numpy as np
import scipy.sparse as sp

from labelwood.core.sparse import make_csr
from labelwood.core.types import CSR
from labelwood.data.dataset import Dataset
from labelwood.data.readers.label_cells import common_separator
from labelwood.errors import DataError

T = TypeVar("T")


def concatenate(parts: Sequence[Dataset]) -> Dataset:
    """All samples of `parts`, in order; labels and features are matched by name.

    Where they have no names they are matched by number, and all parts must have as many.

    Examples
    --------
    >>> first = Dataset.from_lists(["a cat"], [["cat"]])
    >>> both = concatenate([first, Dataset.from_lists(["an owl"], [["owl"]])])
    >>> both.label_lists()
    [['cat'], ['owl']]
    """
    if not parts:
        raise DataError("There is no data set to put together.")
    # A part without samples says nothing about what the others hold.
    filled = [part for part in parts if len(part)] or [parts[0]]
    for part in filled:
        if (part.X is None) != (filled[0].X is None):
            kinds = ["texts" if one.X is None else "features" for one in (filled[0], part)]
            raise DataError(
                f"{filled[0].description or 'The first'} holds {kinds[0]} and "
                f"{part.description or 'another'} {kinds[1]}; read files of one kind together."
            )
    Y, label_names = _joined([(one.Y, one.label_names, one) for one in filled], "label")
    X: CSR | None = None
    feature_names: Sequence[str] | None = None
    if filled[0].X is not None:
        X, feature_names = _joined([(one.X, one.feature_names, one) for one in filled], "feature")
    return Dataset(
        X=X,
        Y=Y,
        label_names=label_names,
        feature_names=feature_names,
        ids=_chained([one.ids for one in filled]),
        texts=_chained([one.texts for one in filled]),
        taxonomy=_first([one.taxonomy for one in filled]),
        description=", ".join(one.description for one in parts if one.description),
        text_columns=_first([one.text_columns for one in filled]),
        label_columns=_first([one.label_columns for one in filled]),
        label_separator=common_separator(one.label_separator for one in filled),
    )


def _first(values: Sequence[T | None]) -> T | None:
    return next((one for one in values if one is not None), None)


def _chained(columns: Sequence[Sequence[str] | None]) -> list[str] | None:
    """All values, where every part has them."""
    if any(one is None for one in columns):
        return None
    return list(chain.from_iterable(one for one in columns if one is not None))


def _joined(
    parts: Sequence[tuple[CSR | None, Sequence[str] | None, Dataset]], kind: str
) -> tuple[CSR, Sequence[str] | None]:
    matrices = [sp.csr_array(matrix) for matrix, _, _ in parts]
    named = [names is not None for _, names, _ in parts if names is None or len(names)]
    if named and any(named) != all(named):
        raise DataError(f"Only some of the files name their {kind}s; read them apart.")
    if not any(named):
        widths = {matrix.shape[1] for matrix in matrices}
        if len(widths) > 1:
            raise DataError(
                f"The files have {' and '.join(map(str, sorted(widths)))} {kind}s; "
                f"give n_{kind}s={max(widths)}."
            )
        return sp.csr_array(sp.vstack(matrices, format="csr")), None
    every = [names or () for _, names, _ in parts]
    if all(list(names) == list(every[0]) for names in every):
        return sp.csr_array(sp.vstack(matrices, format="csr")), every[0]
    union = sorted({name for names in every for name in names})
    place = {name: column for column, name in enumerate(union)}
    moved = []
    for matrix, names in zip(matrices, every, strict=True):
        columns = np.array([place[name] for name in names], dtype=np.int64)
        shape = (matrix.shape[0], len(union))
        one = make_csr(matrix.indptr, columns[matrix.indices], matrix.data, shape)
        one.sort_indices()
        moved.append(one)
    return sp.csr_array(sp.vstack(moved, format="csr")), union
