import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwood.core._order_kernels import nth_smallest, resized, sort_keys, stable_order

crowded = st.lists(st.integers(0, 300) | st.integers(2**63, 2**63 + 9) | st.integers(0, 2**64 - 1))


@given(crowded)
def test_keys_are_sorted(values):
    keys = np.array(values, dtype=np.uint64)
    sort_keys(keys)
    assert keys.tolist() == sorted(values)


def test_keys_that_crowd_into_one_bucket_are_sorted_too():
    keys = np.random.default_rng(0).permutation(5000).astype(np.uint64)
    keys[17] = 2**63
    expected = np.sort(keys)
    sort_keys(keys)
    np.testing.assert_array_equal(keys, expected)


@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 100, 1000])
def test_a_stable_order_is_that_of_numpy(n):
    keys = np.random.default_rng(n).integers(0, max(n // 4, 1), n).astype(np.float64)
    np.testing.assert_array_equal(stable_order(keys), np.argsort(keys, kind="stable"))


def test_a_stable_order_knows_infinities():
    keys = np.array([np.inf, 1.0, -np.inf, 1.0, np.inf] * 5)
    np.testing.assert_array_equal(stable_order(keys), np.argsort(keys, kind="stable"))


@pytest.mark.parametrize("kind", ["random", "equal", "rising", "falling", "few"])
def test_the_nth_smallest_is_that_of_a_sorted_array(kind):
    rng = np.random.default_rng(0)
    values = {
        "random": rng.random(300),
        "equal": np.ones(300),
        "rising": np.arange(300.0),
        "falling": -np.arange(300.0),
        "few": rng.integers(0, 3, 300).astype(float),
    }[kind].astype(np.float32)
    for n in (0, 1, 150, 298, 299):
        assert nth_smallest(values.copy(), n) == np.sort(values)[n]


def test_a_resized_array_keeps_what_fits():
    values = np.arange(5, dtype=np.float32)
    assert resized(values, 3).tolist() == [0, 1, 2]
    assert resized(values, 8)[:5].tolist() == [0, 1, 2, 3, 4]
