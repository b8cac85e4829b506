"""XMC repository text: ``points features labels``, then ``l1,l2 f:v f:v`` for each point.

The lines are parsed by `_parse_kernels.parse_lines`.
"""

import re
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple

from labelwood.core.io import Source, without_compression
from labelwood.core.names import has_control, shown
from labelwood.core.sparse import row_blocks
from labelwood.data.dataset import Dataset
from labelwood.data.readers.columns import (
    MAX_COLUMNS,
    ROWS_AT_ONCE,
    check_label_space,
    decimals,
    feature_matrix,
    label_matrix,
)
from labelwood.data.readers.names import NameList
from labelwood.data.readers.options import ReadOptions
from labelwood.data.readers.pairs import PairLines, ParseError, parse_pairs, refuse
from labelwood.errors import DataError

HEADER = re.compile(rb"[ \t]*(\d{1,18})[ \t]+(\d{1,18})[ \t]+(\d{1,18})[ \t]*\r?\n?\Z")


class _Header(NamedTuple):
    points: int
    features: int
    labels: int


def read(source: Source, options: ReadOptions) -> Dataset:
    """Read XMC text."""
    source.end_last_line()
    header = _header(source)
    lines = _parse(source, header, options.one_based)
    n = lines.starts.size
    if n != header.points:
        raise source.error(1, f"the header says {header.points} points, but {n} lines follow it")
    check_label_space(source, 1, header.labels, lines.labels.size)
    arrays = (lines.values, lines.indices, lines.pointers)
    return Dataset(
        X=feature_matrix(source, arrays, header.features, lambda row: row + 2),
        Y=label_matrix(lines.labels, lines.label_pointers, header.labels),
        label_names=_names(options.labels, "label", header.labels, source),
        feature_names=_names(options.features, "feature", header.features, source),
    )


def _header(source: Source) -> _Header:
    line = bytes(source.data[: _header_size(source)])
    match = HEADER.match(line)
    if match is None:
        found = shown(line.decode("utf-8", errors="backslashreplace").rstrip())
        raise source.error(
            1, f"found {found} where the header 'points features labels' is expected"
        )
    header = _Header(*map(int, match.groups()))
    if max(header.features, header.labels) > MAX_COLUMNS:
        raise source.error(1, f"the header asks for more than {MAX_COLUMNS} features or labels")
    return header


def _header_size(source: Source) -> int:
    return source.data.find(b"\n") + 1


def _parse(source: Source, header: _Header, one_based: bool | None) -> PairLines:
    def attempt(base: int) -> PairLines:
        start = _header_size(source)
        return parse_pairs(
            source, start, base=base, n_features=header.features, n_labels=header.labels
        )

    base = int(bool(one_based))
    try:
        return attempt(base)
    except ParseError as failure:
        hint = ""
        if one_based is None and failure.is_range:
            with suppress(ParseError):
                attempt(1)
                hint = "; counted from 1 all numbers would be in range: try one_based=True"
        refuse(
            source,
            failure,
            labels="label numbers ≥ 0 separated by commas",
            label_range=_range("label", header.labels, base) + hint,
            feature_range=_range("feature", header.features, base) + hint,
        )


def _range(kind: str, size: int, base: int) -> str:
    if size == 0:
        return f"the header says that there are no {kind}s"
    return f"the header allows {kind}s {base} to {size - 1 + base}"


def _names(given: NameList | None, kind: str, size: int, source: Source) -> tuple[str, ...] | None:
    if given is not None and len(given.names) != size:
        raise source.error(
            1, f"the header says {size} {kind}s, but {len(given.names)} {kind}_names are given"
        )
    return None if given is None else given.names


def name_files(dataset: Dataset, path: Path) -> dict[Path, bytes]:
    """The files of label and feature names that belong beside `path`: one name a line."""
    stem = without_compression(path).stem
    files = {}
    for kind, names in (("labels", dataset.label_names), ("features", dataset.feature_names)):
        if not names:
            continue
        bad = next((name for name in names if not name.strip() or has_control(name)), None)
        if bad is not None:
            raise DataError(f"the name {shown(bad)} does not fit on a line of its own")
        content = "".join(f"{name}\n" for name in names).encode("utf-8")
        files[path.with_name(f"{stem}.{kind}.txt")] = content
    return files


def write(dataset: Dataset, file: IO[bytes]) -> None:
    """Write XMC text; the shortest decimals that give back each float32 value."""
    X, Y = dataset.X, dataset.Y
    if X is None:
        raise DataError(
            "XMC text holds features, and this data set has texts only; "
            "vectorize them first, or write JSONL"
        )
    file.write(f"{X.shape[0]} {X.shape[1]} {Y.shape[1]}\n".encode())
    for rows in row_blocks(X, ROWS_AT_ONCE):
        block, labels = X[rows], Y[rows]
        pairs = [
            f" {index}:{value}"
            for index, value in zip(block.indices.tolist(), decimals(block.data), strict=True)
        ]
        names = list(map(str, labels.indices.tolist()))
        text = [
            ",".join(names[labels.indptr[i] : labels.indptr[i + 1]])
            + "".join(pairs[block.indptr[i] : block.indptr[i + 1]])
            + "\n"
            for i in range(block.shape[0])
        ]
        file.write("".join(text).encode())
