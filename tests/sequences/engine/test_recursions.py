import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwood.errors import DataError
from labelwood.sequences.engine import (
    Chain,
    filter_states,
    most_probable_path,
    sample_states,
    smooth,
)
from labelwood.sequences.engine import _recursion_kernels as kernels
from sequences.brute_force import enumerate_paths


def filler(log_b):
    def fill(out):
        out[:] = log_b

    return fill


def one(n):
    return np.array([0, n], dtype=np.int64)


@given(st.integers(1, 3), st.integers(1, 6), st.integers(0, 10**6))
def test_smoothing_and_viterbi_agree_with_the_enumeration_of_all_paths(s, n, seed):
    rng = np.random.default_rng(seed)
    log_b = rng.normal(scale=3, size=(n, s))
    chain = Chain(rng.dirichlet(np.ones(s)), rng.dirichlet(np.ones(s), s))
    log_likelihood, gamma, pairs, best, path = enumerate_paths(log_b, chain.start, chain.transition)
    found = smooth(filler(log_b), one(n), chain)
    np.testing.assert_allclose(found.log_likelihood, log_likelihood, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.gamma, gamma, atol=1e-12)
    np.testing.assert_allclose(found.pairs, pairs, atol=1e-12)
    np.testing.assert_allclose(found.starts, gamma[0], atol=1e-12)
    states, log_probability = most_probable_path(filler(log_b), one(n), chain)
    assert log_probability == pytest.approx(best, abs=1e-12)
    assert states.tolist() == path.tolist()


@pytest.mark.parametrize("s", [2, 3])
def test_the_filter_sees_the_past_only(s):
    rng = np.random.default_rng(0)
    log_b = rng.normal(size=(5, s))
    chain = Chain(rng.dirichlet(np.ones(s)), rng.dirichlet(np.ones(s), s))
    found = filter_states(filler(log_b), one(5), chain).gamma
    for t in range(5):
        past = enumerate_paths(log_b[: t + 1], chain.start, chain.transition)[1]
        np.testing.assert_allclose(found[t], past[t], atol=1e-13)


@pytest.mark.parametrize("s", [2, 4])
def test_sequences_are_independent(s):
    rng = np.random.default_rng(1)
    log_b = rng.normal(size=(12, s))
    chain = Chain(rng.dirichlet(np.ones(s)), rng.dirichlet(np.ones(s), s))
    together = smooth(filler(log_b), np.array([0, 4, 5, 12]), chain)
    alone = [smooth(filler(log_b[a:b]), one(b - a), chain) for a, b in ((0, 4), (4, 5), (5, 12))]
    np.testing.assert_allclose(together.gamma, np.vstack([part.gamma for part in alone]))
    np.testing.assert_allclose(together.pairs, sum(part.pairs for part in alone))
    np.testing.assert_allclose(together.starts, sum(part.starts for part in alone))
    np.testing.assert_allclose(
        together.log_likelihoods, [part.log_likelihood for part in alone], rtol=1e-13
    )


@pytest.mark.parametrize("s", [2, 3])
def test_extreme_data_switch_to_log_space_and_give_the_same(s):
    rng = np.random.default_rng(2)
    transition = np.full((s, s), 1e-200)
    np.fill_diagonal(transition, 1.0)
    chain = Chain(np.full(s, 1 / s), transition)
    log_b = rng.normal(scale=800, size=(6, s))
    found = smooth(filler(log_b), one(6), chain)
    assert found.n_log_space == 1
    # Exact rational arithmetic is not needed: one path dominates, and Viterbi knows it.
    path, best = most_probable_path(filler(log_b), one(6), chain)
    assert found.log_likelihood == pytest.approx(best, abs=1e-6)
    assert found.gamma.argmax(axis=1).tolist() == path.tolist()
    np.testing.assert_allclose(found.gamma.sum(axis=1), 1)
    filtered = filter_states(filler(log_b), one(6), chain)
    assert filtered.log_likelihood == pytest.approx(found.log_likelihood, rel=1e-12)


def test_log_space_agrees_with_the_scaled_recursions_on_ordinary_data():
    from labelwood.sequences.engine._log_kernels import log_posteriors

    rng = np.random.default_rng(3)
    log_b = rng.normal(size=(300, 3))
    chain = Chain(rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), 3))
    found = smooth(filler(log_b), one(300), chain)
    gamma, xi = np.empty((300, 3)), np.zeros((3, 3))
    value = log_posteriors(log_b, chain.log_start(), chain.log_transition(), gamma, xi)
    assert found.log_likelihood == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(found.gamma, gamma, atol=1e-11)
    np.testing.assert_allclose(found.pairs, xi, rtol=1e-10)


def test_an_impossible_sequence_is_an_error_that_names_it():
    chain = Chain(np.array([1.0, 0.0]), np.eye(2))
    log_b = np.array([[0.0, 0.0], [-np.inf, 0.0]])
    with pytest.raises(DataError, match="sequence 0 has probability zero"):
        smooth(filler(log_b), one(2), chain)


@pytest.mark.parametrize("s", [2, 3])
def test_a_million_steps_stay_stable(s):
    rng = np.random.default_rng(4)
    chain = Chain(np.full(s, 1 / s), 0.98 * np.eye(s) + 0.02 / s)
    log_b = 3 * rng.normal(size=(1_000_000, s))
    found = smooth(filler(log_b), one(len(log_b)), chain)
    assert found.n_log_space == 0
    np.testing.assert_allclose(found.gamma.sum(axis=1), 1, atol=1e-11)
    assert found.pairs.sum() == pytest.approx(len(log_b) - 1, rel=1e-11)
    # The posteriors far from both ends depend on a window only.
    window = smooth(filler(log_b[499_000:501_000]), one(2_000), chain).gamma[1_000]
    np.testing.assert_allclose(found.gamma[500_000], window, atol=1e-12)


def test_the_vectorised_exponential_is_correct_to_rounding():
    x = -np.concatenate(
        [[0.0, 1e-300, 1e-17, 0.5, 707.9], np.random.default_rng(0).uniform(0, 700, 5000)]
    )
    values = x.copy()
    kernels.exponentials(values, np.empty(x.size, dtype=np.int64), x.size)
    np.testing.assert_allclose(values, np.exp(x), rtol=5e-16)


def test_sampled_paths_have_the_frequencies_of_the_chain():
    chain = Chain(np.array([0.2, 0.8]), np.array([[0.9, 0.1], [0.3, 0.7]]))
    path = sample_states(chain, [200_000], np.random.default_rng(0))
    assert path.mean() == pytest.approx(0.25, abs=0.01)
    assert (path[1:][path[:-1] == 1] == 0).mean() == pytest.approx(0.3, abs=0.01)
    heads = sample_states(chain, [1] * 20_000, np.random.default_rng(1))
    assert heads.mean() == pytest.approx(0.8, abs=0.015)
