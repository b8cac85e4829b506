"""What the guaranteed intervals rest on: ranges that hold for all that could be drawn.

Predictions are drawn with their samples: a range read from the predictions at hand, such
as how many labels they rank, says nothing of the samples that were not drawn.
"""

from collections.abc import Callable
from itertools import permutations, product

import numpy as np
import pytest
import scipy.sparse as sp

from labelwood import TopK, metrics
from labelwood.data.taxonomy.taxonomy import Taxonomy
from labelwood.metrics import PerSample

N_LABELS = 4
P = np.array([0.2, 0.5, 0.8, 1.0])
EVERY_SET = np.array(list(product([0, 1], repeat=N_LABELS)), dtype=np.float32)
EVERY_RANKING = np.array(
    [[*ranks, *[-1] * (3 - size)] for size in range(4) for ranks in permutations(range(4), size)]
)


def assert_span_is_the_range(metric: PerSample) -> None:
    """Over every ratio t that could be true; the rows hold all truths and predictions."""
    ratios = np.linspace(0, 1, 11) if np.ptp(metric.denominator) else [0.0]
    ranges = [np.ptp(metric.numerator - t * metric.denominator) for t in ratios]
    assert max(ranges) == pytest.approx(metric.span)


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
        lambda hits, k: hits.psp(k, normalize=False),
    ],
    ids=["P", "R", "F1", "nDCG", "PSP", "PSnDCG", "PSP not normalized"],
)
def test_the_span_of_a_ranking_metric_is_its_range_over_all_truths_and_rankings(
    read: Callable[[metrics.RankedHits, int], PerSample], k: int
) -> None:
    Y = np.tile(EVERY_SET, (len(EVERY_RANKING), 1))
    labels = np.repeat(EVERY_RANKING, len(EVERY_SET), axis=0)
    top = TopK(labels, np.where(labels >= 0, 1.0, -np.inf))
    assert_span_is_the_range(read(metrics.ranked_hits(Y, top, 3, P), k))


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
def test_the_span_of_a_label_set_metric_is_its_range_over_all_truths_and_predictions(
    read: Callable[[metrics.MatchedSets], PerSample],
) -> None:
    Y = np.tile(EVERY_SET, (len(EVERY_SET), 1))
    guesses = np.repeat(EVERY_SET, len(EVERY_SET), axis=0)
    assert_span_is_the_range(read(metrics.matched_sets(Y, guesses)))


def test_the_span_of_hierarchical_f1_holds_all_closed_sets() -> None:
    chain = Taxonomy.from_edges([(0, 1), (1, 2), (2, 3)], names=list("abcd"))
    Y = np.tile(EVERY_SET, (len(EVERY_SET), 1))
    closed = metrics.closed_sets(Y, np.repeat(EVERY_SET, len(EVERY_SET), axis=0), chain)
    assert_span_is_the_range(closed.f1_micro())


# Each kind of sample with its truth, ranking and label set; all propensities; its chance.
Kinds = tuple[sp.csr_array, TopK, sp.csr_array, np.ndarray, np.ndarray]


def figures(kinds: Kinds, rows: np.ndarray) -> dict[str, tuple[float, metrics.Interval]]:
    """Every figure that has a guaranteed interval, on samples of the kinds `rows`."""
    Y, top, guess, p, _ = kinds
    ranking = TopK(top.labels[rows], top.scores[rows])
    result = metrics.evaluate(Y[rows], ranking, guess[rows], propensity=p, ks=[1], n_bootstrap=0)
    found = {f.name: (f.value, f.guaranteed) for f in result.figures if f.guaranteed is not None}
    plain = metrics.ranked_hits(Y[rows], ranking, 1, p).psp(1, normalize=False)
    return found | {"PSP@1 not normalized": (plain.value, plain.guaranteed(0.05))}


def misses(kinds: Kinds, n: int, repeats: int) -> dict[str, float]:
    """How often the 95 % interval of each figure misses the figure on the whole population."""
    population = np.repeat([0, 1], np.rint(1000 * kinds[-1]).astype(int))
    truth = {name: value for name, (value, _) in figures(kinds, population).items()}
    missed = dict.fromkeys(truth, 0.0)
    rng = np.random.default_rng(0)
    for _ in range(repeats):
        for name, (_, interval) in figures(kinds, rng.choice(population, size=n)).items():
            missed[name] += (not interval.low <= truth[name] <= interval.high) / repeats
    return missed


def rarely_ranked() -> Kinds:
    """One sample in a hundred has a label ranked, and it is always right."""
    Y = sp.csr_array(np.array([[1, 0], [1, 0]], dtype=np.float32))
    top = TopK([[0], [-1]], [[1.0], [-np.inf]])
    return Y, top, top.to_csr(2), np.array([0.5, 0.5]), np.array([0.01, 0.99])


def sets_of_one_or_many() -> Kinds:
    """A sample has one label of a hundred; the one or 51 labels predicted hold it."""
    Y = np.zeros((2, 100), dtype=np.float32)
    Y[:, 0] = 1
    guess = np.zeros_like(Y)
    guess[0, 0] = guess[1, :51] = 1
    top = TopK([[0], [1]], [[1.0], [1.0]])
    return sp.csr_array(Y), top, sp.csr_array(guess), np.full(100, 0.8), np.array([0.5, 0.5])


@pytest.mark.parametrize("kinds", [rarely_ranked, sets_of_one_or_many])
def test_guaranteed_intervals_hold_where_the_sizes_of_predictions_vary(
    kinds: Callable[[], Kinds],
) -> None:
    missed = misses(kinds(), n=100, repeats=200)
    assert len(missed) == 15
    assert max(missed.values()) <= 0.05, missed


@pytest.mark.slow
@pytest.mark.parametrize("n", [30, 1000])
@pytest.mark.parametrize("kinds", [rarely_ranked, sets_of_one_or_many])
def test_guaranteed_intervals_hold_where_the_sizes_of_predictions_vary_in_long_runs(
    kinds: Callable[[], Kinds], n: int
) -> None:
    missed = misses(kinds(), n, repeats=2000)
    assert max(missed.values()) <= 0.05, missed
