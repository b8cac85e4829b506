"""The ranges that the guaranteed intervals rest on, against every truth that could be."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from labelwood import TopK, metrics
from labelwood.metrics import PerPoint

N_LABELS = 4
P = np.array([0.2, 0.5, 0.8, 1.0])
EVERY_TRUTH = np.array(list(product([0, 1], repeat=N_LABELS)), dtype=np.float32)
RANKINGS = np.array([[0, 1, 2], [3, 0, -1], [2, -1, -1], [-1, -1, -1]])
GUESSES = np.array([[1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0], [1, 1, 1, 1]], dtype=np.float32)


def assert_ranges_hold(metric: PerPoint, n_truths: int) -> None:
    """Rows stand in groups of `n_truths`, one group for each prediction."""
    for t in np.linspace(0, 1, 11) if np.ptp(metric.denominator) else [0.0]:
        values = (metric.numerator - t * metric.denominator).reshape(-1, n_truths)
        widths = metric.width.reshape(-1, n_truths)
        assert np.all(np.ptp(values, axis=1) <= widths[:, 0] + 1e-12)
        assert np.ptp(values) <= metric.span + 1e-12


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize(
    "read",
    [
        metrics.RankedHits.precision,
        metrics.RankedHits.recall,
        metrics.RankedHits.f1,
        metrics.RankedHits.ndcg,
        metrics.RankedHits.psp,
        metrics.RankedHits.psndcg,
        lambda hits, k: hits.psp(k, normalise=False),
    ],
    ids=["P", "R", "F1", "nDCG", "PSP", "PSnDCG", "PSP not normalised"],
)
def test_ranges_of_ranking_metrics_hold_for_every_truth(
    read: Callable[[metrics.RankedHits, int], PerPoint], k: int
) -> None:
    Y = np.tile(EVERY_TRUTH, (len(RANKINGS), 1))
    labels = np.repeat(RANKINGS, len(EVERY_TRUTH), axis=0)
    top = TopK(labels, np.where(labels >= 0, 1.0, -np.inf))
    assert_ranges_hold(read(metrics.ranked_hits(Y, top, 3, P), k), len(EVERY_TRUTH))


@pytest.mark.parametrize("max_labels", [1, 2, 3, 4])
@pytest.mark.parametrize(
    "read",
    [
        metrics.MatchedSets.f1_samples,
        metrics.MatchedSets.f1_micro,
        metrics.MatchedSets.subset_loss,
        metrics.MatchedSets.hamming,
        lambda sets: sets.propensity_hamming(P),
    ],
    ids=["F1 samples", "F1 micro", "subset", "Hamming", "PS-Hamming"],
)
def test_ranges_of_label_set_metrics_hold_for_every_truth(
    read: Callable[[metrics.MatchedSets], PerPoint], max_labels: int
) -> None:
    truths = EVERY_TRUTH[EVERY_TRUTH.sum(axis=1) <= max_labels]
    Y = np.tile(truths, (len(GUESSES), 1))
    guesses = np.repeat(GUESSES, len(truths), axis=0)
    assert_ranges_hold(read(metrics.matched_sets(Y, guesses, max_labels)), len(truths))


def test_a_guaranteed_interval_stays_within_the_limits_of_its_metric() -> None:
    metric = PerPoint.mean(np.array([0.0, 1.0, 1.0]), width=1.0)
    assert metric.guaranteed(0.05) == (0, 1)
    assert PerPoint.mean(np.zeros(3), width=0.0).guaranteed(0.05) == (0, 0)
