"""The byte parser of XMC text and svmlight."""

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelwood.core.io import Source
from labelwood.data.readers import _parse_kernels as kernels
from labelwood.data.readers.pairs import ParseError, parse_pairs

written_numbers = st.from_regex(
    r"[+-]?([0-9]{1,30}(\.[0-9]{0,30})?|\.[0-9]{1,30})([eE][+-]?[0-9]{1,3})?", fullmatch=True
)
short_numbers = st.from_regex(r"-?[0-9]{1,6}(\.[0-9]{1,8})?(e-?[0-9])?", fullmatch=True)
printed_floats = st.floats(allow_nan=False, allow_infinity=False).map(repr)
printed_float32 = st.floats(allow_nan=False, allow_infinity=False, width=32).map(
    lambda value: str(np.float32(value))
)


def parse_numbers(words):
    pairs = " ".join(f"{i}:{word}" for i, word in enumerate(words))
    return parse_pairs(Source("a", bytearray(f"0 {pairs}\n".encode())), 0).values


def nearest_float32(word):
    with np.errstate(over="ignore"):
        return np.float32(float(word))


@settings(deadline=None, max_examples=300)
@given(st.one_of(written_numbers, short_numbers, printed_floats, printed_float32))
def test_a_number_is_read_as_python_reads_it_then_rounded_to_float32(word):
    expected = nearest_float32(word)
    if np.isinf(expected):
        with pytest.raises(ParseError, match=f"{kernels.NOT_FINITE}, 4"):
            parse_numbers([word])
    else:
        assert parse_numbers([word]).tobytes() == expected.tobytes()


def test_numbers_between_two_float32_are_rounded_as_python_rounds_them():
    rng = np.random.default_rng(0)
    below = rng.integers(1, 0x7F7FFFFF, size=2000, dtype=np.uint32).view(np.float32)
    above = np.nextafter(below, np.float32(np.inf))
    middles = (below.astype(np.float64) + above.astype(np.float64)) / 2
    words = [format(Decimal(middle), end) for middle in middles for end in ("f", "e")]
    words += [word + "1" for word in words[::2] if "." in word]
    expected = np.array([nearest_float32(word) for word in words])
    np.testing.assert_array_equal(parse_numbers(words), expected)


def test_the_kernel_itself_reads_nearly_all_long_numbers():
    values = np.random.default_rng(0).lognormal(size=20_000, sigma=5)
    lines = bytearray("".join(f"0 0:{value!r}\n" for value in values.tolist()).encode())
    text = np.frombuffer(lines, dtype=np.uint8)
    result = kernels.parse_lines(text, 0, (20_000, 20_000, 20_000), (0, 1), (0, 1), False)
    np.testing.assert_array_equal(result[3][2], values.astype(np.float32))
    assert len(result[4]) < 5


def test_many_numbers_that_python_must_read_are_all_read():
    words = [f"1e-{power}" for power in range(40, 200)]
    np.testing.assert_array_equal(parse_numbers(words), [nearest_float32(word) for word in words])


@pytest.mark.parametrize(
    "word", ["", ".", "-", "+-1", "1e", "1e+", "1..2", "1.2.3", "0x1", "1_0", "1,5", "--1", "1:2"]
)
def test_what_is_no_number_is_refused_at_its_place(word):
    with pytest.raises(ParseError, match=f"{kernels.BAD_VALUE}, 4"):
        parse_numbers([word])
