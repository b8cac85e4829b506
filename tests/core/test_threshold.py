import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import separable
from labelwood import OneVsRestSVM
from labelwood.core.calibration import MIN_SAMPLES, best_threshold, held_out_scores
from labelwood.errors import DataError

pairs = st.lists(st.tuples(st.integers(1, 9), st.booleans()), min_size=1, max_size=20)


def micro_f1(probabilities, hits, n_true, threshold):
    chosen = probabilities >= threshold
    return 2 * hits[chosen].sum() / (chosen.sum() + n_true)


@given(pairs, st.integers(0, 5))
def test_no_other_threshold_has_a_larger_micro_f1(outcomes, n_missed):
    probabilities = np.array([p / 10 for p, _ in outcomes])
    hits = np.array([hit for _, hit in outcomes])
    n_true = int(hits.sum()) + n_missed
    found = best_threshold(probabilities, hits, n_true)
    assert 0 <= found <= 1
    if hits.any():
        best = max(micro_f1(probabilities, hits, n_true, at) for at in probabilities)
        assert micro_f1(probabilities, hits, n_true, found) == pytest.approx(best)


def test_of_calibrated_probabilities_it_is_half_of_the_best_f1():
    # Lipton, Elkan and Naryanaswamy 2014, "Optimal thresholding of classifiers".
    rng = np.random.default_rng(0)
    probabilities = rng.beta(0.5, 2, 200_000)
    hits = rng.random(200_000) < probabilities
    found = best_threshold(probabilities, hits, int(hits.sum()))
    assert found == pytest.approx(micro_f1(probabilities, hits, hits.sum(), found) / 2, abs=0.02)


def test_where_nothing_is_right_no_threshold_is_better_than_another():
    assert best_threshold(np.array([0.9, 0.1]), np.array([False, False]), 3) == 0.5


def test_few_samples_are_held_out_in_turns_and_many_once(monkeypatch):
    X, Y = separable(60, 3)
    model = OneVsRestSVM(random_state=0)
    assert held_out_scores(model, X, Y, 0).n_true == Y.nnz
    monkeypatch.setattr("labelwood.core.calibration._IN_TURNS", 50)
    once = held_out_scores(model, X, Y, 0)
    assert once.scores.size <= 12 * 3
    assert once.n_true < Y.nnz
    with pytest.raises(DataError, match=r"at least 10 samples of any class\. Got n_samples = 9"):
        held_out_scores(model, X[: MIN_SAMPLES - 1], Y[: MIN_SAMPLES - 1], 0)
