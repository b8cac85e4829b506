import numpy as np
from scipy.stats import kstest

from labelwood.core._kernels import (
    next_below,
    next_double,
    next_normal,
    next_uint64,
    shuffle,
)
from labelwood.core.random import kernel_states, seed_sequence


def reference_xoshiro(state, count):
    """xoshiro256++ in Python integers."""
    s = [int(word) for word in state]
    mask = 2**64 - 1

    def rotate(x, k):
        return ((x << k) | (x >> (64 - k))) & mask

    for _ in range(count):
        yield (rotate((s[0] + s[3]) & mask, 23) + s[0]) & mask
        t = (s[1] << 17) & mask
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotate(s[3], 45)


def test_the_kernel_generator_is_xoshiro():
    state = kernel_states(5, 1)[0]
    expected = list(reference_xoshiro(state, 50))
    assert [int(next_uint64(state)) for _ in range(50)] == expected


def test_draws_below_n_are_uniform():
    state = kernel_states(1, 1)[0]
    counts = np.bincount([int(next_below(state, np.uint64(7))) for _ in range(70_000)])
    assert counts.size == 7
    assert np.abs(counts - 10_000).max() < 500  # five standard deviations are 463


def test_doubles_lie_in_the_unit_interval_around_a_half():
    state = kernel_states(2, 1)[0]
    draws = np.array([next_double(state) for _ in range(10_000)])
    assert draws.min() >= 0
    assert draws.max() < 1
    assert abs(draws.mean() - 0.5) < 0.02


def test_normal_draws_have_the_normal_distribution():
    state = kernel_states(0, 1)[0]
    assert kstest([next_normal(state) for _ in range(5_000)], "norm").pvalue > 0.001


def test_shuffle_permutes_the_first_n_only():
    values = np.arange(10, dtype=np.uint32)
    shuffle(kernel_states(3, 1)[0], values, np.uint64(6))
    assert sorted(values[:6].tolist()) == list(range(6))
    assert values[6:].tolist() == [6, 7, 8, 9]
    assert values[:6].tolist() != list(range(6))


def test_every_place_is_equally_likely_after_a_shuffle():
    state = kernel_states(4, 1)[0]
    counts = np.zeros((4, 4))
    for _ in range(8_000):
        values = np.arange(4, dtype=np.uint32)
        shuffle(state, values, np.uint64(4))
        counts[np.arange(4), values] += 1
    assert np.abs(counts - 2_000).max() < 250


def test_shuffling_nothing_or_one_value_is_legal():
    for n in (0, 1):
        values = np.arange(n, dtype=np.uint32)
        shuffle(kernel_states(0, 1)[0], values, np.uint64(n))
        assert values.tolist() == list(range(n))


def test_streams_depend_on_the_seed_and_on_nothing_else():
    np.testing.assert_array_equal(kernel_states(9, 3), kernel_states(9, 3))
    assert not np.array_equal(kernel_states(9, 1), kernel_states(8, 1))
    np.testing.assert_array_equal(kernel_states(9, 5)[:3], kernel_states(9, 3))


def test_a_seed_sequence_is_not_used_up():
    seed = np.random.SeedSequence(3)
    np.testing.assert_array_equal(kernel_states(seed, 2), kernel_states(seed, 2))
    np.testing.assert_array_equal(kernel_states(seed, 2), kernel_states(3, 2))


def test_generators_move_on_and_give_new_streams():
    for generator in (np.random.default_rng(0), np.random.RandomState(0)):
        first, second = seed_sequence(generator).entropy, seed_sequence(generator).entropy
        assert first != second
