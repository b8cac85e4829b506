import numpy as np
import pytest
from scipy.optimize import minimize

from labelwood.errors import ParameterError
from labelwood.sequences.engine.chain import Chain, checked_chain, stationary_distribution


def test_the_stationary_distribution_is_left_as_it_is_by_a_step():
    A = np.random.default_rng(0).dirichlet(np.ones(5), 5)
    pi = stationary_distribution(A)
    np.testing.assert_allclose(pi @ A, pi, atol=1e-14)
    assert pi.sum() == pytest.approx(1)


def test_the_free_update_normalises_the_sums():
    chain = Chain(np.array([0.5, 0.5]), np.full((2, 2), 0.5))
    new = chain.maximized(
        np.array([1.0, 3.0]), np.array([[1.0, 3.0], [0.0, 0.0]]), stationary=False
    )
    assert new.start.tolist() == [0.25, 0.75]
    assert new.transition.tolist() == [[0.25, 0.75], [0.5, 0.5]]  # a state never left keeps its row


def test_the_stationary_update_maximises_start_and_transitions_together():
    rng = np.random.default_rng(1)
    starts, pairs = 5 * rng.dirichlet(np.ones(2)), rng.uniform(1, 8, (2, 2))

    def value(A):
        return starts @ np.log(stationary_distribution(A)) + (pairs * np.log(A)).sum()

    def objective(theta):
        p, q = 1 / (1 + np.exp(-theta))
        return -value(np.array([[p, 1 - p], [1 - q, q]]))

    best = min(
        (
            minimize(objective, rng.normal(size=2), method="Nelder-Mead", tol=1e-12)
            for _ in range(4)
        ),
        key=lambda found: found.fun,
    )
    new = Chain(np.full(2, 0.5), np.full((2, 2), 0.5)).maximized(starts, pairs, stationary=True)
    assert value(new.transition) == pytest.approx(-best.fun, abs=1e-6)
    np.testing.assert_allclose(new.start, stationary_distribution(new.transition))
    textbook = pairs / pairs.sum(axis=1, keepdims=True)
    assert value(new.transition) > value(textbook) + 1e-3


@pytest.mark.parametrize(
    ("transition", "message"),
    [
        ([[0.5, 0.5], [0.0, 0.0]], r"row 1 of the transition probabilities must sum to 1"),
        ([[0.5, 0.5]], r"must have the shape \(2, 2\)"),
        ([[1.5, -0.5], [0.5, 0.5]], "row 0 .* must be numbers ≥ 0"),
    ],
)
def test_probabilities_that_are_none_are_refused(transition, message):
    with pytest.raises(ParameterError, match=message):
        checked_chain([0.5, 0.5], transition, 2)


def test_start_probabilities_are_checked_and_default_to_the_stationary_ones():
    A = [[0.9, 0.1], [0.3, 0.7]]
    np.testing.assert_allclose(checked_chain(None, A, 2).start, [0.75, 0.25])
    with pytest.raises(ParameterError, match="the start probabilities must sum to 1"):
        checked_chain([0.5, 0.6], A, 2)
    with pytest.raises(ParameterError, match=r"must have the shape \(2,\)"):
        checked_chain([1.0], A, 2)
