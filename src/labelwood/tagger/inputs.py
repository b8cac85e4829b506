"""What `fit` and prediction accept: data sets, texts, tables and matrices of features."""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from labelwood.core.frames import frame_column, frame_matrix, frame_names, is_frame
from labelwood.core.names import shown, some
from labelwood.core.sparse import as_csr
from labelwood.data.dataset import Dataset, check_texts
from labelwood.data.frames import frame_texts, label_matrix, lists_dataset
from labelwood.errors import DataError


def labeled_data(X: object, y: object, known_separator: str | None = None) -> Dataset:
    """A data set as it is, or one made of texts (or features) and labels.

    `known_separator` is that of the cells that the model learned from.
    """
    if isinstance(X, Dataset):
        if y is not None:
            raise DataError("A Dataset holds its labels already; call this with the Dataset alone.")
        return X
    if y is None:
        raise DataError(
            f"Labels are missing. Got {type(X).__name__} alone; give texts and labels, "
            "or a Dataset, or use Tagger.from_frame(df, text=…, labels=…)."
        )
    _refuse_other_order(X, y)
    if not (is_matrix(X) or is_frame(X)):
        return lists_dataset(X, y, known_separator)
    if is_frame(X) and any(_is_text(X, name) for name in frame_names(X)):
        raise DataError(
            f"A table of texts cannot stand for a list of them: give one column, "
            f"such as data[{frame_names(X)[0]!r}], or use "
            "Tagger.from_frame(data, text=…, labels=…)."
        )
    data = feature_data(X)
    found = label_matrix(y, known_separator)
    return Dataset(
        data.X,
        found.Y,
        label_names=found.names,
        feature_names=data.feature_names,
        label_separator=found.separator,
    )


def _refuse_other_order(X: object, y: object) -> None:
    """Rows are matched by place, which is wrong for two tables of which one was sorted."""
    one: Any = getattr(X, "index", None)
    other: Any = getattr(y, "index", None)
    if not (hasattr(one, "equals") and hasattr(other, "equals")) or one.equals(other):
        return
    if len(one) == len(other) and set(one) == set(other):
        raise DataError(
            "The rows of the samples and of the labels have the same index in another order, and "
            "they are matched by place; give y.loc[X.index], or reset_index(drop=True) of both."
        )


def is_matrix(X: object) -> bool:
    """Whether `X` are features: a sparse matrix, or an array of numbers with two axes."""
    if sp.issparse(X):
        return True
    return isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "biuf"


def feature_data(X: Any) -> Dataset:
    """Features without labels; those of a table are called as its columns."""
    names = frame_names(X) if is_frame(X) else None
    matrix = as_csr(frame_matrix(X) if is_frame(X) else X)
    nothing: Any = sp.csr_array((matrix.shape[0], 0), dtype=np.float32)
    return Dataset(matrix, nothing, feature_names=names)


def texts_of(data: object, columns: Sequence[str] | None) -> list[str]:
    """Texts of a list or Series, or of the `columns` of a table from which the model learned."""
    if not is_frame(data):
        return check_texts(data)
    names = frame_names(data)
    # A table often begins with ids or numbers, which are no texts.
    strings = (one for one in names if any(isinstance(v, str) for v in frame_column(data, one)))
    of_model = (one for one in columns or () if one in names)
    example = f"predict(data[{next(of_model, None) or next(strings, 'text')!r}])"
    if columns is None:
        kind = type(data).__name__
        raise DataError(f"A list of texts is expected. Got a {kind}; pass one column: {example}.")
    missing = [name for name in columns if name not in names]
    if missing:
        raise DataError(
            f"The model learned from {' and '.join(map(shown, columns))}, and the table has no "
            f"{shown(missing[0])} among {some(map(shown, names))}; rename a column, or pass texts: "
            f"{example}."
        )
    return frame_texts(data, columns)


def _is_text(frame: Any, name: str) -> bool:
    first = next((one for one in frame_column(frame, name) if one is not None), None)
    return isinstance(first, str)


def content_hash(dataset: Dataset) -> str:
    """SHA-256 of the features (or texts) and labels."""
    digest = hashlib.sha256()
    if dataset.X is None:
        for text in dataset.texts or ():
            digest.update(text.encode("utf-8", "surrogatepass"))
            digest.update(b"\0")
    for matrix in (dataset.X, dataset.Y):
        if matrix is not None:
            for part in (matrix.indptr.astype("<i8"), matrix.indices.astype("<i8"), matrix.data):
                digest.update(np.ascontiguousarray(part).data)
    return digest.hexdigest()
