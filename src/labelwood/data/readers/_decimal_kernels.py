"""Numbers in a text of bytes that ends with a line feed, where every loop stops."""

import numpy as np
from numpy.typing import NDArray

from labelwood.core.kernel import exact_kernel
from labelwood.data.readers.columns import MAX_COLUMNS

_PLUS, _MINUS, _DOT, _ZERO, _LOWER_E, _UPPER_E = (ord(character) for character in "+-.0eE")
_POWERS = np.array([float(f"1e{exponent}") for exponent in range(61)])
_EXACT_POWER = 22  # 10²² is the largest power of ten that a double holds exactly
_EXACT_MANTISSA = np.uint64(2**53)
_MAX_DIGITS = 19  # as many as a 64-bit integer always holds
_DOUBT = 1e-15  # more than the relative error of the roundings in `_scale`


@exact_kernel
def byte_at(text: NDArray[np.uint8], at: int) -> int:
    """The byte at `at`; an unsigned index needs no wrap-around test, which is a sixth faster."""
    return text[np.uint64(at)]


@exact_kernel
def parse_digits(text: NDArray[np.uint8], at: int) -> tuple[int, int]:
    """The number whose digits start at `at`, capped just above MAX_COLUMNS, and where it ends."""
    value = 0
    while _ZERO <= byte_at(text, at) < _ZERO + 10:
        # The value is capped at each digit, so that no number of digits overflows; the cap is
        # refused as out of range.
        value = min(value * 10 + (byte_at(text, at) - _ZERO), MAX_COLUMNS + 1)
        at += 1
    return value, at


@exact_kernel
def _scale(mantissa: np.uint64, exponent: int, truncated: bool) -> tuple[np.float32, bool]:
    """The mantissa times 10^exponent, and whether it is sure.

    Sure is what Python's `float` gives, rounded to float32. That is not always the
    float32 nearest to the decimals, since they are rounded twice.
    """
    if mantissa == np.uint64(0):
        return np.float32(0.0), True
    if abs(exponent) >= _POWERS.size:
        return np.float32(0.0), False
    power = _POWERS[abs(exponent)]
    value = np.float64(mantissa) * power if exponent > 0 else np.float64(mantissa) / power
    # Both operands are exact doubles, so that their quotient or product is correctly rounded
    # (Clinger 1990).
    if abs(exponent) <= _EXACT_POWER and mantissa < _EXACT_MANTISSA and not truncated:
        return np.float32(value), True
    # Where both ends of the error interval round to the same float32, that is the answer.
    low, high = np.float32(value * (1 - _DOUBT)), np.float32(value * (1 + _DOUBT))
    return low, low == high


@exact_kernel
def _add_digits(text: NDArray[np.uint8], at: int, mantissa: np.uint64) -> tuple[np.uint64, int]:
    """`mantissa` followed by the digits at `at` (wrapping around after 19), and their end."""
    while _ZERO <= byte_at(text, at) < _ZERO + 10:
        mantissa = mantissa * np.uint64(10) + np.uint64(byte_at(text, at) - _ZERO)
        at += 1
    return mantissa, at


@exact_kernel
def _leading_digits(text: NDArray[np.uint8], at: int, end: int) -> tuple[np.uint64, int, bool]:
    """The first 19 significant digits, their exponent, and whether more were left out."""
    mantissa, digits, exponent = np.uint64(0), 0, 0
    fraction, truncated = False, False
    for i in range(at, end):
        if byte_at(text, i) == _DOT:
            fraction = True
        elif digits < _MAX_DIGITS:
            mantissa = mantissa * np.uint64(10) + np.uint64(byte_at(text, i) - _ZERO)
            digits += int(mantissa > np.uint64(0))
            exponent -= fraction
        else:
            truncated = True
            exponent += not fraction
    return mantissa, exponent, truncated


@exact_kernel
def parse_value(text: NDArray[np.uint8], at: int) -> tuple[np.float32, int, bool]:
    """The decimal number at `at`, where it ends, and whether its last bit is sure.

    The end equals `at` when there is no number. A number that is not sure (its
    decimals stand too near the middle of two float32 numbers, or its exponent is
    extreme) is for the caller to read.
    """
    start = at
    negative = byte_at(text, at) == _MINUS
    if negative or byte_at(text, at) == _PLUS:
        at += 1
    first = at
    mantissa, at = _add_digits(text, at, np.uint64(0))
    digits, exponent, truncated = at - first, 0, False
    if byte_at(text, at) == _DOT:
        mantissa, end = _add_digits(text, at + 1, mantissa)
        exponent = at + 1 - end
        digits -= exponent
        at = end
    if digits == 0:
        return np.float32(0.0), start, True
    # The 64-bit mantissa has wrapped around: it is read again, digit by digit.
    if digits > _MAX_DIGITS:
        mantissa, exponent, truncated = _leading_digits(text, first, at)
    if byte_at(text, at) == _LOWER_E or byte_at(text, at) == _UPPER_E:
        sign = byte_at(text, at + 1)
        power_at = at + 1 + (sign == _MINUS or sign == _PLUS)
        power, at = parse_digits(text, power_at)
        if at == power_at:
            return np.float32(0.0), start, True
        exponent += -power if sign == _MINUS else power
    value, sure = _scale(mantissa, exponent, truncated)
    return -value if negative else value, at, sure
