"""What XMC text and svmlight share: lines ``labels feature:value …`` through the byte parser."""

import re
from typing import NamedTuple, NoReturn

import numpy as np

from labelwood.core.io import Source
from labelwood.core.names import shown
from labelwood.core.types import AnyArray, FloatArray, PointerArray
from labelwood.data.readers.columns import MAX_COLUMNS

_WORD, _NUMBER = re.compile(rb"\S*"), re.compile(rb"[-+.0-9eE]*")
_NOT_FINITE = ("nan", "inf", "infinity")


class PairLines(NamedTuple):
    """Lines of labels and features, as the byte parser gives them."""

    starts: PointerArray
    label_pointers: PointerArray
    labels: PointerArray
    pointers: PointerArray
    indices: AnyArray
    values: FloatArray


class ParseError(Exception):
    """The byte parser stopped: the kernel's code, and the offset of the byte."""

    def __init__(self, code: int, offset: int) -> None:
        super().__init__(code, offset)
        self.code = code
        self.offset = offset

    @property
    def is_range(self) -> bool:
        """Whether an index is outside its range."""
        from labelwood.data.readers import _parse_kernels as kernels

        return self.code in (kernels.LABEL_RANGE, kernels.FEATURE_RANGE)


def parse_pairs(
    source: Source,
    start: int,
    *,
    base: int = 0,
    n_features: int = MAX_COLUMNS,
    n_labels: int = MAX_COLUMNS,
    svmlight: bool = False,
) -> PairLines:
    """Parse the lines from byte `start` on, or raise `ParseError`."""
    from labelwood.data.readers import _parse_kernels as kernels

    source.end_last_line()
    text = np.frombuffer(source.data, dtype=np.uint8)
    lines, commas, colons = kernels.count_marks(text)
    (code, offset), starts, labels, features, unsure = kernels.parse_lines(
        text,
        start,
        (lines, lines + commas, colons),
        (base, n_labels),
        (base, n_features),
        svmlight,
    )
    if code != kernels.OK:
        raise ParseError(code, offset)
    values = features[2]
    for position, at in unsure.tolist():
        with np.errstate(over="ignore"):
            values[position] = np.float32(float(_text(source, _NUMBER, at)))
        if not np.isfinite(values[position]):
            raise ParseError(kernels.NOT_FINITE, at)
    return PairLines(starts, *labels, *features)


def refuse(
    source: Source, failure: ParseError, *, labels: str, label_range: str, feature_range: str
) -> NoReturn:
    """Raise the `DataError` for a failure, with what the format expects."""
    from labelwood.data.readers import _parse_kernels as kernels

    word = _text(source, _WORD, failure.offset)
    found = f"found {shown(word) if word else 'nothing'}"
    not_finite = f"{found}, which is not a finite 32-bit number; remove or impute it"
    message = {
        kernels.BAD_LABEL: f"{found} where {labels} are expected",
        kernels.LABEL_RANGE: f"{found}, but {label_range}",
        kernels.BAD_FEATURE: f"{found} where a pair feature:value (feature ≥ 0) is expected",
        kernels.FEATURE_RANGE: f"{found}, but {feature_range}",
        kernels.BAD_VALUE: f"{found} where a number is expected",
        kernels.NOT_FINITE: not_finite,
        kernels.STRAY_CR: "found a carriage return inside the line; end lines with LF or CR LF",
    }[failure.code]
    if failure.code == kernels.BAD_VALUE and word.lower().lstrip("+-") in _NOT_FINITE:
        message = not_finite
    raise source.error(source.line_at(failure.offset), message)


def _text(source: Source, pattern: re.Pattern[bytes], start: int) -> str:
    match = pattern.match(source.data, start)
    return "" if match is None else match.group().decode("utf-8", errors="backslashreplace")
