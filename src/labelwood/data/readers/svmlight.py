"""svmlight: ``label,label f:v f:v # comment`` for each point."""

import re

import numpy as np

from labelwood.core.io import Source
from labelwood.core.names import shown
from labelwood.core.types import AnyArray
from labelwood.data.dataset import Dataset
from labelwood.data.readers.columns import MAX_COLUMNS, feature_matrix, label_matrix
from labelwood.data.readers.names import NameList
from labelwood.data.readers.options import ReadOptions
from labelwood.data.readers.pairs import PairLines, ParseError, parse_pairs, refuse

_ZERO = re.compile(rb"0+:")


def read(source: Source, options: ReadOptions) -> Dataset:
    """Read svmlight: labels are names; features count from 1 unless `one_based` is False."""
    base = 0 if options.one_based is False else 1
    lines = _parse(source, base)
    label_columns, label_names = _columns(source, lines, options.labels)
    feature_names = options.features
    width = options.n_features if feature_names is None else len(feature_names.names)
    arrays = (lines.values, lines.indices, lines.pointers)
    return Dataset(
        X=feature_matrix(
            source,
            arrays,
            _n_features(source, lines, width),
            lambda row: source.line_at(int(lines.starts[row])),
        ),
        Y=label_matrix(label_columns, lines.label_pointers, len(label_names)),
        label_names=label_names,
        feature_names=None if feature_names is None else feature_names.names,
        description=f"features from {base}",
    )


def _parse(source: Source, base: int) -> PairLines:
    try:
        return parse_pairs(source, 0, base=base, svmlight=True)
    except ParseError as failure:
        refuse(
            source,
            failure,
            labels="labels separated by commas",
            label_range="",
            feature_range=_feature_range(source, failure, base),
        )


def _feature_range(source: Source, failure: ParseError, base: int) -> str:
    # Never guessed: of a training and a test file only one may hold a feature 0.
    if _ZERO.match(source.data, failure.offset):
        return "features count from 1; read a file that counts from 0 with one_based=False"
    return f"features are numbered {base} to {MAX_COLUMNS - 1 + base}"


def _n_features(source: Source, lines: PairLines, width: int | None) -> int:
    used = int(lines.indices.max()) + 1 if lines.indices.size else 0
    if width is None:
        return used
    if used > width:
        first = np.flatnonzero(lines.indices >= width)[0]
        raise source.error(
            _line(source, lines, lines.pointers, first),
            f"feature column {lines.indices[first]} (from 0) is outside the {width} features",
        )
    return width


def _columns(
    source: Source, lines: PairLines, given: NameList | None
) -> tuple[AnyArray, tuple[str, ...]]:
    """The column of each label, and the names of the columns: numbers first, then words."""
    from labelwood.data.readers._parse_kernels import NAME

    is_number = lines.labels < NAME
    numbers, which = np.unique(lines.labels[is_number], return_inverse=True)
    words = [_name(source, code - NAME) for code in lines.labels[~is_number].tolist()]
    names = (*map(str, numbers.tolist()), *sorted(set(words)))
    index = {name: column for column, name in enumerate(names)}
    columns = np.empty(lines.labels.size, dtype=np.int64)
    columns[is_number] = which
    columns[~is_number] = [index[word] for word in words]
    if given is None:
        return columns, names
    place = {key: column for column, key in enumerate(given.keys)}
    placed = np.array([place.get(name, -1) for name in names], dtype=np.int64)[columns]
    if placed.size and placed.min() < 0:
        first = int(np.argmin(placed))
        raise source.error(
            _line(source, lines, lines.label_pointers, first),
            f"found label {shown(names[columns[first]])}, which is not among the label_names given",
        )
    return placed, given.names


def _name(source: Source, start: int) -> str:
    """The label that starts at byte `start`."""
    end = start
    while source.data[end] not in b" \t\r\n#,":
        end += 1
    raw = source.data[start:end]
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return source.decode(raw, source.line_at(start))  # says what is wrong, and where


def _line(source: Source, lines: PairLines, pointers: AnyArray, entry: int) -> int:
    """The line of the point that the entry number `entry` belongs to."""
    row = int(np.searchsorted(pointers, entry, side="right")) - 1
    return source.line_at(int(lines.starts[row]))
