"""A byte parser for lines ``label,label feature:value feature:value``.

The text ends with a line feed, so no loop looks for its end: each stops at that
byte. Errors come back as a code and the offset of the byte where they stand; the
caller makes the message.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelwood.core.allocation import empty, zeros
from labelwood.core.kernel import exact_kernel
from labelwood.data.readers._decimal_kernels import byte_at, parse_digits, parse_value
from labelwood.data.readers.columns import MAX_COLUMNS

OK, BAD_LABEL, LABEL_RANGE, BAD_FEATURE, FEATURE_RANGE, BAD_VALUE, NOT_FINITE, STRAY_CR = range(8)
NAME = 2**40  # a label that is no integer is left as NAME + the offset of its first byte

_TAB, _LF, _CR, _BLANK = (ord(character) for character in "\t\n\r ")
_HASH, _PLUS, _COMMA, _MINUS, _ZERO, _COLON = (ord(character) for character in "#+,-0:")
_Q, _I, _D = (ord(character) for character in "qid")


@exact_kernel
def count_marks(text: NDArray[np.uint8]) -> tuple[int, int, int]:
    """The numbers of line feeds, commas and colons."""
    lines, commas, colons = 0, 0, 0
    for byte in text:
        # Sums of comparisons become vector instructions, which branches would not.
        lines += byte == _LF
        commas += byte == _COMMA
        colons += byte == _COLON
    return lines, commas, colons


@exact_kernel
def _ends_field(byte: int, svmlight: bool) -> bool:
    blank = byte == _BLANK or byte == _LF or byte == _TAB or byte == _CR
    return blank or (svmlight and byte == _HASH)


@exact_kernel
def _skip_blanks(text: NDArray[np.uint8], at: int) -> int:
    while byte_at(text, at) == _BLANK or byte_at(text, at) == _TAB:
        at += 1
    return at


@exact_kernel
def _skip_field(text: NDArray[np.uint8], at: int) -> int:
    while not _ends_field(byte_at(text, at), True):
        at += 1
    return at


@exact_kernel
def _skip_line(text: NDArray[np.uint8], at: int) -> int:
    while byte_at(text, at) != _LF:
        at += 1
    return at + 1


@exact_kernel
def _ends_line(text: NDArray[np.uint8], at: int, svmlight: bool) -> bool:
    """Whether nothing but the line's end, or a comment, stands at `at`."""
    byte = byte_at(text, at)
    # Lines may end with CR LF; a CR before anything else is an error, reported elsewhere.
    if byte == _CR:
        byte = byte_at(text, at + 1)
    return byte == _LF or (svmlight and byte == _HASH)


@exact_kernel
def _skip_empty_lines(text: NDArray[np.uint8], at: int) -> int:
    while at < text.size and _ends_line(text, _skip_blanks(text, at), True):
        at = _skip_line(text, at)
    return at


@exact_kernel
def _is_query(text: NDArray[np.uint8], at: int) -> bool:
    """Whether ``qid:`` stands at `at` (the line feed at the end stops the comparison)."""
    return (
        byte_at(text, at) == _Q
        and byte_at(text, at + 1) == _I
        and byte_at(text, at + 2) == _D
        and byte_at(text, at + 3) == _COLON
    )


@exact_kernel
def _parse_name(text: NDArray[np.uint8], at: int) -> tuple[int, int]:
    """The svmlight label at `at`: its value if it is a plain integer, else NAME + offset.

    A label that holds a control character ends where it starts.
    """
    sign = byte_at(text, at)
    first = at + (sign == _PLUS or sign == _MINUS)
    value, end = parse_digits(text, first)
    # Digits with a leading zero are a name: 007 and 7 are different labels.
    plain = first < end and (byte_at(text, first) != _ZERO or end == first + 1)
    byte = byte_at(text, end)
    while not (_ends_field(byte, True) or byte == _COMMA or byte == _COLON):
        if byte < _BLANK:
            return 0, at
        plain = False
        end += 1
        byte = byte_at(text, end)
    if not plain or value > MAX_COLUMNS:
        return NAME + at, end
    return -value if sign == _MINUS else value, end


@exact_kernel
def _parse_labels(
    text: NDArray[np.uint8],
    at: int,
    bounds: tuple[int, int],
    svmlight: bool,
    labels: NDArray[np.int64],
    used: int,
) -> tuple[int, int, int]:
    """Add the labels at `at` to `labels`; a code, the offset reached, and the number now used."""
    base, size = bounds
    start = at
    while True:
        value, end = _parse_name(text, at) if svmlight else parse_digits(text, at)
        byte = byte_at(text, end)
        if byte == _COLON and at == start:
            return OK, at, used  # a line without labels that starts with its first feature
        if end == at or not (byte == _COMMA or _ends_field(byte, svmlight)):
            return BAD_LABEL, at, used
        if not svmlight:
            value -= base
            if not 0 <= value < size:
                return LABEL_RANGE, at, used
        labels[used] = value
        used += 1
        if byte != _COMMA:
            return OK, end, used
        at = end + 1


@exact_kernel
def _parse_features(
    text: NDArray[np.uint8],
    at: int,
    bounds: tuple[int, int],
    svmlight: bool,
    indices: NDArray[np.int32],
    values: NDArray[np.float32],
    used: int,
    unsure: NDArray[np.int64],
    n_unsure: int,
) -> tuple[int, int, int, NDArray[np.int64], int]:
    """Add the features up to the end of the line; as `_parse_labels`, and the unsure values."""
    base, size = bounds
    code = OK
    while True:
        at = _skip_blanks(text, at)
        if _ends_line(text, at, svmlight):
            break
        if svmlight and _is_query(text, at):
            at = _skip_field(text, at)
            continue
        index, end = parse_digits(text, at)
        if end == at or byte_at(text, end) != _COLON:
            code = STRAY_CR if byte_at(text, at) == _CR else BAD_FEATURE
            break
        if not base <= index < base + size:
            code = FEATURE_RANGE
            break
        value, stop, sure = parse_value(text, end + 1)
        if stop == end + 1 or not _ends_field(byte_at(text, stop), svmlight):
            at, code = end + 1, BAD_VALUE
            break
        if sure and not np.isfinite(value):
            at, code = end + 1, NOT_FINITE
            break
        if not sure:
            # The array doubles when it is full, which is rare: in ordinary files a handful of
            # values in a million is unsure.
            if n_unsure == unsure.shape[0]:
                unsure = np.concatenate((unsure, unsure))
            unsure[n_unsure, 0], unsure[n_unsure, 1] = used, end + 1
            n_unsure += 1
        indices[np.uint64(used)] = index - base
        values[np.uint64(used)] = value
        used += 1
        at = stop
    return code, at, used, unsure, n_unsure


@exact_kernel
def parse_lines(
    text: NDArray[np.uint8],
    at: int,
    capacities: tuple[int, int, int],
    label_bounds: tuple[int, int],
    feature_bounds: tuple[int, int],
    svmlight: bool,
) -> Any:
    """Parse the lines from `at` on.

    Parameters
    ----------
    text : bytes that end with a line feed
    capacities : upper bounds of the numbers of lines, labels and features
    label_bounds, feature_bounds : the smallest index, and how many there are
    svmlight : labels are names, ``#`` starts a comment, ``qid:`` and empty lines are skipped

    Returns
    -------
    code, offset : OK, or what is wrong and where
    starts : the offset of each line
    label_pointers, labels : the labels of each line
    pointers, indices, values : the features of each line
    unsure : (position in `values`, offset) of the values that the caller must read
    """
    starts = empty(capacities[0], np.int64)
    label_pointers = zeros(capacities[0] + 1, np.int64)
    pointers = zeros(capacities[0] + 1, np.int64)
    labels = empty(capacities[1], np.int64)
    indices = empty(capacities[2], np.int32)
    values = empty(capacities[2], np.float32)
    unsure = empty((16, 2), np.int64)
    row, n_labels, n_values, n_unsure, code = 0, 0, 0, 0, OK
    while True:
        if svmlight:
            at = _skip_empty_lines(text, at)
        if at == text.size:
            break
        starts[row] = at
        if svmlight:
            at = _skip_blanks(text, at)
        # A line that begins with a blank has no labels; in svmlight blanks may precede them.
        if not _ends_field(byte_at(text, at), svmlight):
            code, at, n_labels = _parse_labels(text, at, label_bounds, svmlight, labels, n_labels)
        if code == OK:
            code, at, n_values, unsure, n_unsure = _parse_features(
                text, at, feature_bounds, svmlight, indices, values, n_values, unsure, n_unsure
            )
        if code != OK:
            break
        at = _skip_line(text, at)
        row += 1
        label_pointers[row] = n_labels
        pointers[row] = n_values
    return (
        (code, at),
        starts[:row],
        (label_pointers[: row + 1], labels[:n_labels]),
        (pointers[: row + 1], indices[:n_values], values[:n_values]),
        unsure[:n_unsure],
    )
