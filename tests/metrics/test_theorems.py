"""What theorems 4.1–4.4 of Jain, Prabhu and Varma (KDD 2016) promise, and what not.

Expectations are exact, over every set of labels that could be observed, wherever
that is possible; one simulation shows the same at work on many samples.
"""

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from labelwood import TopK, metrics

P = np.array([0.5, 0.25, 0.8])


def observations(truth: np.ndarray, p: np.ndarray) -> Iterator[tuple[float, np.ndarray]]:
    """Every observed label set with its probability, given the complete one."""
    for kept in product([0, 1], repeat=truth.size):
        y = np.array(kept)
        chance = np.prod(np.where(y == 1, p, 1 - p)[truth == 1])
        if np.all(y <= truth) and chance > 0:
            yield float(chance), y


def expectation(truth: np.ndarray, p: np.ndarray, value: object) -> float:
    return sum(chance * value(y) for chance, y in observations(truth, p))  # type: ignore[operator]


@pytest.mark.parametrize("truth", [[1, 1, 0], [0, 1, 1], [1, 1, 1]])
def test_4_1_the_score_by_inverse_propensity_is_unbiased_for_the_complete_truth(
    truth: list[int],
) -> None:
    complete = np.array(truth)
    top = TopK([[2, 0], [1, 2]], [[2, 1], [2, 1]])
    on_complete = metrics.precision_at_k([complete, [1, 0, 0]], top, 2)

    # The second sample keeps its label, so that no truth is empty; it is not predicted.
    def scored(y: np.ndarray) -> float:
        return metrics.psp_at_k([y, [1, 0, 0]], top, 2, P, normalize=False)

    def plain(y: np.ndarray) -> float:
        return metrics.precision_at_k([y, [1, 0, 0]], top, 2)

    assert expectation(complete, P, scored) == pytest.approx(on_complete)
    assert expectation(complete, P, plain) < on_complete - 0.04


def test_4_2_needs_the_normaliser_of_the_complete_truth_which_ndcg_does_not_have() -> None:
    complete, p = np.array([1, 1]), np.array([0.5, 0.5])
    second = 1 / np.log2(3)

    def with_observed_normalizer(y: np.ndarray) -> float:
        ideal = [1, 1, 1 + second][y.sum()]
        return (y[0] / p[0] + second * y[1] / p[1]) / ideal

    def with_complete_normalizer(y: np.ndarray) -> float:
        return (y[0] / p[0] + second * y[1] / p[1]) / (1 + second)

    assert expectation(complete, p, with_complete_normalizer) == pytest.approx(1)
    assert expectation(complete, p, with_observed_normalizer) > 1.3


def test_normalised_psp_is_not_unbiased_for_precision_on_the_complete_truth() -> None:
    complete, p = np.array([1, 1, 0]), np.array([1.0, 0.1, 1.0])
    top = TopK([[0]], [[1]])

    def normalized(y: np.ndarray) -> float:
        return metrics.psp_at_k([y], top, 1, p)

    assert metrics.precision_at_k([complete], top, 1) == 1
    assert expectation(complete, p, normalized) == pytest.approx(0.9 * 1 + 0.1 * 1 / 10)


def test_4_3_fails_when_rho_is_taken_over_the_observed_pairs_only() -> None:
    # One label, true everywhere and never predicted right; loss 1/p where it is observed.
    # Nothing is observed with probability 0.99¹⁰, and then the observed rho is 0.
    p, n, delta = 0.01, 10, 0.05
    covered = 0.0
    for seen in range(n + 1):
        estimate = seen / p / n
        observed_rho = 1 / p if seen else 0.0
        radius = metrics.concentration_radius(observed_rho, 1, n, delta)
        covered += binom.pmf(seen, n, p) * (abs(estimate - 1) <= radius)
    assert covered < 0.1
    assert metrics.concentration_radius(1 / p, 1, n, delta) > 1


def test_4_3_fails_for_samples_drawn_anew_when_l_bar_is_taken_over_those_at_hand() -> None:
    # One sample in a hundred can have a label, has it, and loses 1; the others lose nothing.
    chance, n, delta = 0.01, 100, 0.05
    drawn = np.arange(n + 1)
    deviation = np.abs(drawn / n - chance)
    at_hand = [metrics.concentration_radius(1, np.sqrt(m / n), n, delta) for m in drawn]
    known_before = metrics.concentration_radius(1, 1, n, delta)
    chances = binom.pmf(drawn, n, chance)
    assert chances[deviation <= at_hand].sum() < 0.65
    assert chances[deviation <= known_before].sum() > 0.95


@given(st.data())
def test_4_4_the_hamming_estimate_is_unbiased(data: st.DataObject) -> None:
    bits = st.lists(st.integers(0, 1), min_size=3, max_size=3)
    complete, guess = np.array(data.draw(bits)), np.array(data.draw(bits))
    p = np.array(data.draw(st.lists(st.floats(0.05, 1), min_size=3, max_size=3)))

    def estimate(y: np.ndarray) -> float:
        return metrics.propensity_hamming([y], [guess], p)

    expected = metrics.hamming_loss([complete], [guess])
    assert expectation(complete, p, estimate) == pytest.approx(expected, abs=1e-9)


@given(st.data())
def test_4_4_the_range_is_rho_times_the_labels_of_a_truth_that_is_fixed(
    data: st.DataObject,
) -> None:
    bits = st.lists(st.integers(0, 1), min_size=3, max_size=3)
    complete, guess = np.array(data.draw(bits)), np.array(data.draw(bits))
    losses = [3 * metrics.propensity_hamming([y], [guess], P) for _, y in observations(complete, P)]
    assert np.ptp(losses) <= complete.sum() / P.min() + 1e-9


def test_4_4_the_range_is_twice_that_when_the_truth_is_random_too() -> None:
    # Label 0 is predicted. The truth is {0} or {1}, a fair coin, and fully observed:
    # the loss is 0 or 2, rho = 1, and no sample has more than one label.
    n, delta = 200, 0.05
    radius = metrics.concentration_radius(rho=1, L_bar=1, n=n, delta=delta)
    heads = np.arange(n + 1)
    deviation = np.abs(2 * heads / n - 1)
    chances = binom.pmf(heads, n, 0.5)
    assert chances[deviation <= radius].sum() < 0.85
    assert chances[deviation <= 2 * radius].sum() > 0.95

    Y = sp.csr_array(np.array([[1, 0]] * 100 + [[0, 1]] * 100, dtype=np.float32))
    guess = sp.csr_array(np.tile(np.array([[1, 0]], dtype=np.float32), (n, 1)))
    ours = metrics.matched_sets(Y, guess).propensity_hamming([1, 1])
    assert 2 * ours.span == 2  # ours is a share of the two labels; the theorem counts them


def complete_data(n: int, seed: int) -> tuple[np.ndarray, TopK, np.ndarray]:
    """Complete labels, rarer ones missing more often, and a ranking that is often right."""
    rng = np.random.default_rng(seed)
    p = np.linspace(0.9, 0.15, 12)
    Y = rng.random((n, 12)) < np.linspace(0.5, 0.1, 12)
    scores = Y + 1.5 * rng.random((n, 12))
    return Y, TopK.from_csr(sp.csr_array(scores), 3), p


def observe(Y: np.ndarray, p: np.ndarray, rng: np.random.Generator) -> sp.csr_array:
    return sp.csr_array((Y & (rng.random(Y.shape) < p)).astype(np.float32))


def test_dropped_labels_bias_the_plain_figure_and_not_the_one_by_inverse_propensity() -> None:
    Y, top, p = complete_data(1500, seed=0)
    rng = np.random.default_rng(1)
    on_complete = metrics.precision_at_k(sp.csr_array(Y.astype(np.float32)), top, 3)
    plain, scored = np.array(
        [
            (
                metrics.precision_at_k(observed, top, 3),
                metrics.psp_at_k(observed, top, 3, p, normalize=False),
            )
            for observed in (observe(Y, p, rng) for _ in range(100))
        ]
    ).T
    error = scored.std(ddof=1) / np.sqrt(scored.size)
    assert abs(scored.mean() - on_complete) < 4 * error
    assert on_complete - plain.mean() > 20 * plain.std(ddof=1)


def coverage(repeats: int, n: int = 300) -> dict[str, float]:
    """How often each guaranteed interval, and the bootstrap's, hold what they estimate."""
    rng = np.random.default_rng(7)
    Y, top, p = complete_data(4000, seed=6)
    guess = top.head(1).to_csr(12)
    guess.data[:] = 1
    whole = metrics.evaluate(Y, labels=guess, n_bootstrap=0)
    held = dict.fromkeys(["PS-Hamming guaranteed", "PS-Hamming bootstrap", "PSP guaranteed"], 0.0)
    for repeat in range(repeats):
        rows = rng.integers(len(Y), size=n)
        part = TopK(top.labels[rows], top.scores[rows])
        result = metrics.evaluate(
            observe(Y[rows], p, rng),
            part,
            guess[rows],
            propensity=p,
            ks=[3],
            n_bootstrap=300,
            random_state=repeat,
        )
        hamming = result.figure("PS-Hamming")
        truth = whole["Hamming"]
        assert hamming.guaranteed is not None
        assert hamming.bootstrap is not None
        held["PS-Hamming guaranteed"] += hamming.guaranteed[0] <= truth <= hamming.guaranteed[1]
        held["PS-Hamming bootstrap"] += hamming.bootstrap[0] <= truth <= hamming.bootstrap[1]
        plain = metrics.ranked_hits(observe(Y[rows], p, rng), part, 3, p).psp(3, normalize=False)
        low, high = plain.guaranteed(0.05)
        on_complete = metrics.precision_at_k(Y, top, 3)
        held["PSP guaranteed"] += low <= on_complete <= high
    return {name: count / repeats for name, count in held.items()}


def test_intervals_from_observed_labels_hold_the_figure_on_the_complete_truth() -> None:
    held = coverage(repeats=100)
    assert held["PS-Hamming guaranteed"] >= 0.95
    assert held["PSP guaranteed"] >= 0.95
    assert held["PS-Hamming bootstrap"] >= 0.88


@pytest.mark.slow
def test_intervals_from_observed_labels_hold_in_long_runs() -> None:
    held = coverage(repeats=2000)
    assert held["PS-Hamming guaranteed"] >= 0.95
    assert held["PSP guaranteed"] >= 0.95
    assert 0.92 <= held["PS-Hamming bootstrap"] <= 0.98
