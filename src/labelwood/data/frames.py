"""Texts and labels in columns: of a table, or as lists, Series and arrays of their own."""

import re
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from labelwood.core.caller import user_stacklevel
from labelwood.core.frames import (
    frame_column,
    frame_matrix,
    frame_names,
    is_frame,
    is_missing,
    is_numbered,
)
from labelwood.core.labels import indicator, lists_to_indicator
from labelwood.core.names import EMPTY_REFUSED, shown
from labelwood.data.dataset import Dataset, check_texts
from labelwood.data.readers.indicators import NestedIndicator, flag
from labelwood.data.readers.label_cells import CellLabels, Doubt, split_cells
from labelwood.data.readers.missing_words import remark_on_missing_texts
from labelwood.data.readers.options import ReadOptions
from labelwood.data.readers.usual_names import choose_columns
from labelwood.errors import DataError, LabelwoodWarning

_FLAGS = (str, int, float, np.integer, np.floating, np.bool_)


def frame_dataset(
    frame: object,
    *,
    text: str | Sequence[str],
    labels: str | Sequence[str] | None = None,
    ids: str | None = None,
    label_separator: str | None = None,
) -> Dataset:
    """A data set from the columns of a table of pandas, polars or Arrow.

    Parameters
    ----------
    frame : table
        A `DataFrame` of pandas or polars, a `Table` of Arrow, or what keeps the dataframe
        interchange or the Arrow stream protocol.
    text : str or list of str
        The column of the texts; several are joined, and a missing cell among them is left out.
    labels : str, list of str or None
        One column of label lists (or of names in one cell, see `label_separator`), or several
        columns of zeros and ones (or ``yes`` and ``no``), one for each label. None for samples
        without labels.
    ids : str or None
        The column of what samples are called.
    label_separator : str or None
        What separates labels in one cell, for a column of texts; None finds it in the cells, reads
        those such as ``["a", "b"]`` as lists, and refuses cells that leave it in doubt.

    Examples
    --------
    >>> import pyarrow
    >>> table = pyarrow.table({"title": ["a cat", "an owl"], "tags": ["pet", "bird;night"]})
    >>> frame_dataset(table, text="title", labels="tags").label_names
    ['bird', 'night', 'pet']
    """
    if not is_frame(frame):
        remedy = "lists and columns go to Tagger().fit(texts, labels)"
        if hasattr(frame, "collect"):
            remedy = "give the DataFrame that its collect() returns"
        raise DataError(
            f"A table of pandas, polars or Arrow is expected. Got {type(frame).__name__}; {remedy}."
        )
    columns = [text] if isinstance(text, str) else list(text)
    both = {*columns} & {*([labels] if isinstance(labels, str) else labels or ())}
    if both:
        raise DataError(f"Column {shown(min(both))} is given both as text and as labels.")
    texts = frame_texts(frame, columns)
    named = None if ids is None else [str(one) for one in frame_column(frame, ids)]
    if labels is None:
        Y: Any = sp.csr_array((len(texts), 0), dtype=np.float32)
        return Dataset(None, Y, ids=named, texts=texts, text_columns=columns)
    if isinstance(labels, str):
        where = f"column {shown(labels)}"
        values = frame_column(frame, labels)
        found = label_lists(values, where, label_separator)
        _warn(f"In {where} ", found.doubt)
        _refuse_indicator(values)
        names = sorted({name for one in found.labels for name in one})
        Y, separator = lists_to_indicator(found.labels, names), found.separator
    else:
        names, separator = list(labels), None
        Y = indicator(_flags(frame, names))
    return Dataset(
        X=None,
        Y=Y,
        label_names=names,
        ids=named,
        texts=texts,
        text_columns=columns,
        label_columns=[labels] if isinstance(labels, str) else names,
        label_separator=separator,
    )


def guess_columns(
    frame: object, text: str | Sequence[str] | None, labels: str | Sequence[str] | None
) -> tuple[list[str], str | Sequence[str]]:
    """The columns of texts and labels: those that are given, else those with usual names.

    Examples
    --------
    >>> import pyarrow
    >>> guess_columns(pyarrow.table({"body": ["a cat"], "tags": ["pet"]}), None, None)
    (['body'], 'tags')
    """
    if not is_frame(frame) or (text is not None and labels is not None):
        return [text] if isinstance(text, str) else list(text or ()), labels or ()
    names = frame_names(frame)
    given = ReadOptions(
        text_column=[text] if isinstance(text, str) else text,
        label_column=[labels] if isinstance(labels, str) else labels,
    )
    source: Any = _Column("the table")
    try:
        found = choose_columns(source, None, names, given)
    except DataError as error:
        message = str(error).replace("text_column", "text").replace("label_column", "labels")
        raise DataError(message) from None
    listed = list(found.labels)
    if found.text and not listed:
        values = [] if found.id is None else frame_column(frame, found.id)
        ids = [str(one) if isinstance(one, str) or type(one) is int else None for one in values]
        listed = _indicator_columns(frame, found.others(names, ids))
    for what, columns in (("text", found.text), ("labels", listed)):
        if not columns:
            several = "; several columns of 0 and 1 are a list" if what == "labels" else ""
            raise DataError(
                f"The table has the columns {', '.join(map(shown, names)) or 'none'}, and none of "
                f"them has a usual name of the {what}; name it: Tagger.from_frame(df, "
                f"{what}=…){several}."
            )
    return list(found.text), listed[0] if len(listed) == 1 else listed


def _indicator_columns(frame: object, names: Sequence[str]) -> list[str]:
    """The columns of 0 and 1 alone: at least two that stand side by side, else none."""
    columns = {name: frame_column(frame, name) for name in names}
    holds = [_is_zero_one(columns[name]) for name in names]
    places = [i for i, one in enumerate(holds) if one]
    side_by_side = len(places) > 1 and places[-1] - places[0] == len(places) - 1
    found = [names[i] for i in places] if side_by_side else []
    return found if any(flag(one) for name in found for one in columns[name]) else []


def _is_zero_one(values: Sequence[Any]) -> bool:
    """Whether a column holds 0 and 1, or yes and no, and not nothing but empty cells."""
    return any(str(one) for one in values) and all(
        isinstance(one, _FLAGS) and flag(one) is not None for one in values
    )


def _flags(frame: object, names: Sequence[str]) -> np.ndarray:
    """The numbers of some columns, in which yes and no may stand in words, as in files."""
    columns = [frame_column(frame, name) for name in names]
    if not any(isinstance(one, str) for values in columns for one in values):
        return frame_matrix(frame, names)
    return np.column_stack(
        [_numbers(values, name) for values, name in zip(columns, names, strict=True)]
    )


def _numbers(values: Sequence[Any], name: str) -> list[int]:
    numbers = []
    for row, one in enumerate(values):
        if one is None:
            raise DataError(f"Row {row} has no value in column {shown(name)}; fill it or drop it.")
        held = flag(one) if isinstance(one, _FLAGS) else None
        if held is None:
            raise DataError(
                f"Row {row} of column {shown(name)} holds {one!r} where 0 or 1, or yes or no, is "
                "expected; write 1 for a label that applies, else 0."
            )
        numbers.append(int(held))
    return numbers


def frame_texts(frame: object, columns: Sequence[str]) -> list[str]:
    """The texts of some columns of a table, joined; a sample must have one of them."""
    if not columns:
        raise DataError("text must name a column of the texts, or several.")
    parts = [frame_column(frame, name) for name in columns]
    for name, column in zip(columns, parts, strict=True):
        odd = [(row, one) for row, one in enumerate(column) if not isinstance(one, str | None)]
        if odd:
            raise DataError(
                f"Row {odd[0][0]} of column {shown(name)} holds {odd[0][1]!r} where a text is "
                "expected."
            )
    rows = list(zip(*parts, strict=True))
    for row, cells in enumerate(rows):
        if all(cell is None for cell in cells):
            raise DataError(
                f"Row {row} has no text in {' or '.join(map(shown, columns))}; drop such rows, "
                "or fill them with ''."
            )
    texts = ["\n".join(cell for cell in cells if cell is not None) for cells in rows]
    _warn("", remark_on_missing_texts(texts))
    return texts


def lists_dataset(texts: object, labels: object, known_separator: str | None = None) -> Dataset:
    """A data set from texts and their labels, in any of the forms that people have them in.

    Texts are a list, array or Series. Labels are lists of names, one name for each text, cells
    of separated names (see `frame_dataset`), an indicator, or a table of zeros and ones.
    `known_separator` is that of the cells that a model learned from.

    Examples
    --------
    >>> lists_dataset(["a cat", "an owl"], ["cat", "bird;owl"]).label_names
    ['bird', 'cat', 'owl']
    """
    documents = check_texts(texts)
    found = label_matrix(labels, known_separator)
    if found.Y.shape[0] != len(documents):
        n = found.Y.shape[0]
        raise DataError(f"There are {len(documents)} texts and labels of {n} samples.")
    return Dataset(
        None,
        found.Y,
        label_names=found.names,
        texts=documents,
        label_separator=found.separator,
    )


class LabelMatrix(NamedTuple):
    """An indicator, the names of its columns, and what separated them in cells, where known."""

    Y: Any
    names: Any = None
    separator: str | None = None


def label_matrix(labels: object, known_separator: str | None = None) -> LabelMatrix:
    """Labels of any form as an indicator and the names of its columns, or None for numbers."""
    if isinstance(labels, (str, bytes, Mapping)) or labels is None:
        kind = type(labels).__name__
        raise DataError(f"Labels must be a list with an entry for each sample. Got {kind}.")
    if is_frame(labels):
        names = frame_names(labels)
        Y = indicator(_flags(labels, names))
        return LabelMatrix(Y, None if is_numbered(labels) else names)
    if sp.issparse(labels) or (isinstance(labels, np.ndarray) and labels.ndim == 2):
        return LabelMatrix(indicator(labels))
    values = _values(labels)
    found = label_lists(values, "the labels", known=known_separator, remedy=_give_lists)
    # There is no parameter for the separator here.
    _warn("In the labels ", re.sub(r"label_separator='[^']*'", "lists of labels", found.doubt))
    _refuse_indicator(values)
    names = sorted({name for one in found.labels for name in one})
    return LabelMatrix(lists_to_indicator(found.labels, names), names, found.separator)


def _give_lists(doubt: Doubt) -> str:
    return (
        f"give lists: [[name.strip() for name in one.split({doubt.mark!r})] for one in labels] if "
        "it separates labels, else [[one] for one in labels]."
    )


def label_lists(
    values: Sequence[Any],
    where: str,
    separator: str | None = None,
    known: str | None = None,
    remedy: Callable[[Doubt], str] = lambda doubt: doubt.remedy,
) -> CellLabels:
    """The names in each entry, which is a list, one name or number, a cell of names, or missing."""
    missing = [is_missing(one) for one in values]
    cells = [
        (row, one)
        for row, one in enumerate(values)
        if not missing[row] and isinstance(one, (str, np.str_))
    ]
    n_lists = sum(_is_list(one) for one in values)
    if cells and n_lists:
        raise DataError(
            f"Row {cells[0][0]} of {where} is {str(cells[0][1])!r} where other rows are lists; "
            "put it in a list."
        )
    plain = [(row, str(cell)) for row, cell in cells]
    column: Any = _Column(where)
    found = split_cells(column, plain, separator, known, remedy)
    split = dict(zip([row for row, _ in cells], found.labels, strict=True))
    result: list[list[str]] = []
    for row, one in enumerate(values):
        if missing[row]:
            result.append([])
        elif row in split:
            result.append(split[row])
        else:
            names = list(one) if _is_list(one) else [one]
            result.append([_name(name, row, where) for name in names])
    return CellLabels(result, doubt=found.doubt, separator=found.separator if cells else None)


@dataclass(frozen=True)
class _Column:
    """Stands for the file in messages about the labels of a column."""

    name: str

    def error(self, row: int | None, message: str) -> DataError:
        place = self.name if row is None else f"Row {row} of {self.name}"
        return DataError(f"{place[0].upper()}{place[1:]}: {message}")


def _warn(place: str, remark: str) -> None:
    if remark:
        warnings.warn(f"{place}{remark}.", LabelwoodWarning, stacklevel=user_stacklevel())


def _values(labels: object) -> list[Any]:
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(labels, method):
            return list(getattr(labels, method)())
    if not isinstance(labels, Collection):
        raise DataError(f"Labels must be a list. Got {type(labels).__name__}.")
    return list(labels)


def _is_list(value: object) -> bool:
    return isinstance(value, (list, tuple, set, frozenset)) or (
        isinstance(value, np.ndarray) and value.ndim == 1
    )


def _name(value: object, row: int, where: str) -> str:
    if isinstance(value, str):
        if not value.strip():  # "".split(";") is [""], not []
            raise DataError(f"Row {row} of {where} holds {value!r}, {EMPTY_REFUSED}.")
        return str(value)
    if isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_)):
        return str(int(value))
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))  # pandas makes whole numbers floats where some are missing
    raise DataError(f"Row {row} of {where} holds {value!r}, which is no name of a label.")


def _refuse_indicator(values: list[Any]) -> None:
    """Refuse nested lists of zeros and ones, which would be taken for the labels 0 and 1."""
    nested = NestedIndicator()
    for row, one in enumerate(values):
        nested.add(row, list(one) if _is_list(one) else ())
    if nested.is_one:
        raise DataError(
            "The labels look like an indicator in nested lists, which are read as lists of "
            "labels. Give numpy.asarray(labels)."
        )
