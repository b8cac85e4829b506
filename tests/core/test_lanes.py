import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numba import njit
from numba.core.errors import TypingError

from labelwood.core.lanes import (
    WIDTH,
    any_above,
    choose,
    count_bits,
    larger,
    load,
    load_packed,
    smaller,
    splat,
    store,
)

numbers = hnp.arrays(np.float32, WIDTH, elements=st.floats(-100, 100, width=32))
START = np.uint64(0)


@njit
def compute(a, b, out):
    x, y = load(a, START), load(b, START)
    store(out, np.uint64(0), x + y)
    store(out, np.uint64(16), x - y)
    store(out, np.uint64(32), x * y)
    store(out, np.uint64(48), larger(x, y))
    store(out, np.uint64(64), smaller(x, y))
    store(out, np.uint64(80), choose(x, y, splat(np.float32(1)), splat(np.float32(-1))))
    return any_above(x, y)


@given(numbers, numbers)
def test_every_operation_is_numpys_on_sixteen_numbers(a, b):
    out = np.empty(96, dtype=np.float32)
    above = compute(a, b, out)
    expected = [a + b, a - b, a * b, np.maximum(a, b), np.minimum(a, b), np.where(a > b, 1, -1)]
    for row, values in zip(out.reshape(6, WIDTH), expected, strict=True):
        np.testing.assert_allclose(row, values, rtol=1e-6, atol=1e-6)
    assert above == bool(np.any(a > b))


@njit
def unpack(packed, offset, mask, out):
    store(out, START, load_packed(packed, np.uint64(offset), np.uint16(mask)))
    return count_bits(np.uint64(mask))


@given(mask=st.integers(0, 2**WIDTH - 1), offset=st.integers(0, 3))
def test_packed_numbers_go_to_the_lanes_of_the_mask(mask, offset):
    lanes = [lane for lane in range(WIDTH) if mask >> lane & 1]
    packed = np.arange(1, offset + len(lanes) + 1, dtype=np.float32)
    out, wanted = np.empty(WIDTH, dtype=np.float32), np.zeros(WIDTH, dtype=np.float32)
    wanted[lanes] = packed[offset:]
    assert unpack(packed, offset, mask, out) == len(lanes)
    np.testing.assert_array_equal(out, wanted)


@njit
def divide_and_accumulate(a, b, out):
    total = splat(np.float32(0))
    for _ in range(3):
        total += load(a, START) / load(b, START)
    store(out, START, total)


def test_division_and_sums_in_a_loop():
    a, b = np.arange(WIDTH, dtype=np.float32), np.full(WIDTH, 4, dtype=np.float32)
    out = np.empty(WIDTH, dtype=np.float32)
    divide_and_accumulate(a, b, out)
    np.testing.assert_array_equal(out, 3 * a / 4)


@njit(fastmath=True)
def masked(a, live, out):
    alive = load(live, START)
    away = (splat(np.float32(1)) - alive) * splat(np.float32(-1e30))
    store(out, START, load(a, START) * alive + away)


def test_a_number_in_place_of_infinity_does_not_swallow_small_ones():
    a = np.full(WIDTH, -0.9, dtype=np.float32)
    out = np.empty(WIDTH, dtype=np.float32)
    masked(a, np.ones(WIDTH, dtype=np.float32), out)
    np.testing.assert_array_equal(out, a)


def test_loads_and_stores_go_where_they_are_told():
    array = np.arange(40, dtype=np.float32)

    @njit
    def move(array):
        store(array, np.uint64(20), load(array, np.uint64(3)))

    move(array)
    np.testing.assert_array_equal(array[20:36], np.arange(3, 19))
    assert array[36] == 36


@pytest.mark.parametrize("array", [np.zeros(32), np.zeros(64, dtype=np.float32)[::2]])
def test_other_arrays_are_refused_when_a_kernel_is_compiled(array):
    @njit
    def read(array, out):
        store(out, START, load(array, START))

    with pytest.raises(TypingError, match="load"):
        read(array, np.empty(WIDTH, dtype=np.float32))


@pytest.mark.parametrize("value", [0.0, -2.5])
def test_a_splat_fills_every_lane(value):
    @njit
    def fill(out, value):
        store(out, START, splat(np.float32(value)))

    out = np.empty(WIDTH, dtype=np.float32)
    fill(out, value)
    np.testing.assert_array_equal(out, np.full(WIDTH, value, dtype=np.float32))
