import numpy as np
import pytest

from labelwood.sequences.gaussian_hmm.spectral import spectral_start, triple_moments


def test_the_spectral_start_recovers_a_chain_from_its_symbols():
    rng = np.random.default_rng(2)
    A, emission = np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([[0.7, 0.1], [0.2, 0.2], [0.1, 0.7]])
    n = 200_000
    z = np.zeros(n, dtype=int)
    u = rng.random(n)
    for t in range(1, n):
        z[t] = u[t] > A[z[t - 1], 0]
    symbols = (rng.random(n)[:, None] > np.cumsum(emission, axis=0).T[z]).sum(axis=1)
    chain, responsibilities = spectral_start(symbols, np.array([0, n]), 2, rng)
    order = np.argsort(-responsibilities[0])
    np.testing.assert_allclose(chain.permuted(order).transition, A, atol=0.03)


def test_a_spectral_start_needs_as_many_moments_as_states():
    symbols = np.zeros(50, dtype=np.int64)
    assert spectral_start(symbols, np.array([0, 50]), 2, np.random.default_rng(0)) is None


@pytest.mark.parametrize("m", [2, 3])  # fewer and more possible triples than rows: counted, sorted
def test_triples_stay_inside_their_sequence(m):
    symbols, offsets = np.array([0, 1, 1, 0, 1, 0, 0] * 2), np.array([0, 3, 7, 10, 14])
    found = triple_moments(symbols, offsets, m)
    expected = np.zeros((m, m, m))
    for first, second, third in ((0, 1, 1), (0, 1, 0), (1, 0, 0)):
        expected[third, first, second] += 1 / 3
    for second in range(m):
        np.testing.assert_allclose(found.contracted(np.eye(m)[second]), expected[:, :, second])
    np.testing.assert_allclose(found.first_by_second(), expected.sum(axis=0))
