from math import log2

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score

from labelwood import TopK, metrics
from labelwood.errors import DataError, ParameterError
from metrics import brute_force

# Hits at the three ranks: 1 0 1 | 0 1 0 | 0 0 – | 1 1 0; true labels: 2, 1, 0 and 4.
Y = sp.csr_array(
    np.array([[1, 0, 1, 0, 0], [0, 1, 0, 0, 0], [0, 0, 0, 0, 0], [1, 1, 0, 1, 1]], np.float32)
)
TOP = TopK(
    np.array([[2, 1, 0], [0, 1, 2], [3, 2, -1], [4, 3, 2]]),
    np.array([[0.9, 0.5, 0.1], [0.9, 0.5, 0.1], [0.9, 0.5, -np.inf], [0.9, 0.5, 0.1]]),
)
P = [0.5, 1.0, 0.25, 0.8, 0.4]  # inverse: 2, 1, 4, 1.25, 2.5
SECOND = 1 / log2(3)  # the discount of rank two


def test_precision_divides_by_k_even_where_fewer_labels_exist() -> None:
    assert metrics.precision_at_k(Y, TOP, 1) == (1 + 0 + 0 + 1) / 4
    assert metrics.precision_at_k(Y, TOP, 3) == pytest.approx((2 + 1 + 0 + 2) / 3 / 4)


def test_recall_divides_by_the_true_labels_and_counts_an_unlabeled_sample_as_zero() -> None:
    assert metrics.recall_at_k(Y, TOP, 1) == pytest.approx((1 / 2 + 0 + 0 + 1 / 4) / 4)
    assert metrics.recall_at_k(Y, TOP, 3) == pytest.approx((2 / 2 + 1 / 1 + 0 + 2 / 4) / 4)


def test_f1_is_the_harmonic_mean_of_precision_and_recall_at_each_point() -> None:
    assert metrics.f1_at_k(Y, TOP, 3) == pytest.approx((4 / 5 + 2 / 4 + 0 + 4 / 7) / 4)


def test_ndcg_divides_by_the_best_that_the_labels_of_the_sample_allow() -> None:
    best = [1 + SECOND, 1, 1, 1 + SECOND + 0.5]
    expected = ((1 + 0.5) / best[0] + SECOND / best[1] + 0 + (1 + SECOND) / best[3]) / 4
    assert metrics.ndcg_at_k(Y, TOP, 3) == pytest.approx(expected)


def test_psp_is_a_ratio_of_sums_over_all_samples() -> None:
    assert metrics.psp_at_k(Y, TOP, 1, P) == pytest.approx((4 + 0 + 2.5) / (4 + 1 + 2.5))
    top, best = 6 + 1 + 0 + 3.75, 6 + 1 + 0 + 5.75
    assert metrics.psp_at_k(Y, TOP, 3, P) == pytest.approx(top / best)


def test_psp_that_is_not_normalised_divides_by_k_and_the_samples() -> None:
    assert metrics.psp_at_k(Y, TOP, 3, P, normalize=False) == pytest.approx(10.75 / 3 / 4)


def test_psndcg_weighs_ndcg_by_inverse_propensity() -> None:
    ideal = [1 + SECOND, 1, 1, 1 + SECOND + 0.5]
    top = (4 + 2 * 0.5) / ideal[0] + SECOND + (2.5 + 1.25 * SECOND) / ideal[3]
    best = (4 + 2 * SECOND) / ideal[0] + 1 + (2.5 + 2 * SECOND + 1.25 * 0.5) / ideal[3]
    assert metrics.psndcg_at_k(Y, TOP, 3, P) == pytest.approx(top / best)


def test_equal_scores_of_a_sparse_matrix_rank_the_smaller_label_first() -> None:
    scores = sp.csr_array(np.array([[0.5, 0.7, 0.5, 0.5]]))
    first_in_tie, last_in_tie = [[1, 0, 0, 0]], [[0, 0, 0, 1]]
    assert metrics.recall_at_k(first_in_tie, scores, 2) == 1
    assert metrics.recall_at_k(last_in_tie, scores, 3) == 0
    assert metrics.recall_at_k(last_in_tie, scores, 4) == 1


def test_scores_that_differ_only_in_double_precision_are_not_a_tie() -> None:
    scores = sp.csr_array(np.array([[1.0, 1.0 + 1e-12]]))
    assert metrics.precision_at_k([[0, 1]], scores, 1) == 1


def test_only_stored_scores_are_ranked_and_a_stored_zero_is_one_of_them() -> None:
    scores = sp.csr_array((np.array([-1.0, 0.0]), np.array([0, 2]), np.array([0, 2])), shape=(1, 3))
    hits = metrics.ranked_hits([[1, 1, 1]], scores, 3)
    assert hits.labels.tolist() == [[2, 0, -1]]


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float32])
def test_scores_of_any_real_type_are_ranked_alike(dtype: type) -> None:
    scores = sp.csr_array(
        (np.array([1, 0, 1], dtype=dtype), np.array([0, 1, 2]), np.array([0, 3])), shape=(1, 3)
    )
    assert metrics.ranked_hits([[1, 1, 1]], scores, 3).labels.tolist() == [[0, 2, 1]]


def test_entries_given_twice_are_summed_and_the_callers_matrix_is_left_alone() -> None:
    data, columns = np.array([0.4, 0.5, 0.4]), np.array([1, 0, 1])
    scores = sp.csr_array((data, columns, np.array([0, 3])), shape=(1, 2))
    assert metrics.precision_at_k([[0, 1]], scores, 1) == 1
    assert scores.data.tolist() == [0.4, 0.5, 0.4]


def test_k_beyond_the_number_of_labels_is_allowed_when_all_are_ranked() -> None:
    everything = TopK(np.array([[1, 0]]), np.array([[0.9, 0.1]]))
    assert metrics.precision_at_k([[1, 1]], everything, 5) == 2 / 5
    assert metrics.recall_at_k([[1, 1]], everything, 5) == 1


def test_a_model_that_knows_fewer_labels_than_the_truth_can_only_miss_the_others() -> None:
    top = TopK(np.array([[1, 0]]), np.array([[0.9, 0.1]]), classes=np.arange(2))
    assert metrics.recall_at_k([[1, 0, 1]], top, 3) == 0.5


@given(st.data())
def test_every_metric_agrees_with_its_definition(data: st.DataObject) -> None:
    truth = data.draw(brute_force.truths())
    top = data.draw(brute_force.rankings(truth.shape[0]))
    p = data.draw(brute_force.propensities())
    k = data.draw(st.integers(1, 6))
    sets, ranks = brute_force.label_sets(truth), top.names()
    for ours, theirs in [
        (metrics.precision_at_k(truth, top, k), brute_force.precision(sets, ranks, k)),
        (metrics.recall_at_k(truth, top, k), brute_force.recall(sets, ranks, k)),
        (metrics.f1_at_k(truth, top, k), brute_force.f1_at(sets, ranks, k)),
        (metrics.ndcg_at_k(truth, top, k), brute_force.ndcg(sets, ranks, k)),
        (metrics.psp_at_k(truth, top, k, p), brute_force.psp(sets, ranks, k, p)),
        (metrics.psndcg_at_k(truth, top, k, p), brute_force.psndcg(sets, ranks, k, p)),
    ]:
        assert 0 <= ours <= 1
        assert ours == pytest.approx(theirs, abs=1e-12)


@given(truth=brute_force.truths(), p=brute_force.propensities(), k=st.integers(1, 6))
def test_the_ranking_by_inverse_propensity_of_the_true_labels_scores_one(
    truth: sp.csr_array, p: list[float], k: int
) -> None:
    ideal = TopK.from_csr(sp.csr_array(truth.astype(np.float64) / np.array(p)), 6)
    assert metrics.psp_at_k(truth, ideal, k, p) == 1
    assert metrics.psndcg_at_k(truth, ideal, k, p) == 1


@pytest.mark.parametrize("k", [1, 3, 10])
def test_ndcg_agrees_with_scikit_learn_where_there_are_no_ties(k: int) -> None:
    rng = np.random.default_rng(0)
    truth = (rng.random((50, 10)) < 0.3).astype(int)
    scores = rng.random((50, 10)) + 0.01
    assert metrics.ndcg_at_k(truth, sp.csr_array(scores), k) == pytest.approx(
        ndcg_score(truth, scores, k=k)
    )


@pytest.mark.parametrize(
    ("top", "k", "message"),
    [
        (TopK([[0, 0]], [[1, 1]]), 2, "sample 0 holds label 0 twice"),
        (TopK([[3]], [[1]]), 1, r"sample 0 holds label 3, outside 0…2"),
        (TopK([[-2]], [[1]]), 1, r"holds label -2, outside 0…2"),
        (TopK([[-1, 1]], [[1, 0]]), 2, "−1 before a label"),
        (TopK([[0, 1]], [[0, 1]]), 2, "not best first: score 1 follows 0"),
        (TopK([[0, 1]], [[0, np.nan]]), 2, "not best first: score nan follows 0"),
        (TopK([[0]], [[1]]), 2, "holds 1 labels per sample and k is 2: predict at least 2"),
        (TopK([[0], [1]], [[1], [1]]), 1, "2 samples and 3 labels, Y_true of 1 sample "),
        (TopK([[0]], [[1]], np.arange(4)), 1, "1 sample and 4 labels, Y_true of 1 sample and 3"),
        (sp.csr_array((1, 4)), 1, "1 sample and 4 labels, Y_true of 1 sample and 3"),
        (sp.csr_array([[0, np.nan, 0]]), 1, r"The ranking contains NaN \(row 0, column 1\)"),
        (sp.csr_array([[0, 1j, 0]]), 1, "real numbers. Got dtype complex128"),
        (np.ones((1, 3)), 1, "TopK or a sparse matrix of scores. Got ndarray"),
    ],
)
def test_a_ranking_that_cannot_be_meant_is_refused(top: TopK, k: int, message: str) -> None:
    with pytest.raises(DataError, match=message):
        metrics.precision_at_k([[1, 0, 0]], top, k)


@pytest.mark.parametrize(
    ("truth", "message"),
    [
        (np.zeros((0, 3)), r"shape \(0, 3\): there is nothing to evaluate"),
        (sp.csr_array((2, 0)), r"shape \(2, 0\): there is nothing to evaluate"),
        ([[0, 0, 0]], "no label at all"),
        ([[0, 2, 0]], "must hold zeros and ones"),
    ],
)
def test_a_truth_that_cannot_be_measured_is_refused(truth: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        metrics.precision_at_k(truth, TopK([[0]], [[1]]), 1)


@pytest.mark.parametrize("k", [0, -1, 1.5, True])
def test_k_must_be_a_positive_whole_number(k: int) -> None:
    with pytest.raises(ParameterError, match="'k' parameter of the top-k metrics must be an int ≥"):
        metrics.precision_at_k(Y, TOP, k)


def test_ranks_that_were_not_matched_cannot_be_read() -> None:
    hits = metrics.ranked_hits(Y, TOP, 2, P)
    for metric in (hits.precision, hits.recall, hits.f1, hits.ndcg, hits.psp, hits.psndcg):
        with pytest.raises(DataError, match=r"k must lie in 1…2, the ranks matched. Got 3"):
            metric(3)


def test_propensity_scores_need_propensities() -> None:
    with pytest.raises(DataError, match="need propensities; pass propensity="):
        metrics.ranked_hits(Y, TOP, 2).psp(2)
