"""Propensities by sample and label, given normalizers, the Brier score and fitted propensities."""

import numpy as np
import pytest
import scipy.sparse as sp

from labelwood import TopK, metrics
from labelwood.errors import DataError, ParameterError
from metrics.test_theorems import expectation

TOP = TopK([[2, 0, 1]], [[3, 2, 1]])
COMPLETE = np.array([1, 1, 1])
P = np.array([0.5, 0.25, 0.8])
SECOND, THIRD = 1 / np.log2(3), 1 / 2


def test_4_2_with_the_number_of_true_labels_given_ndcg_and_recall_are_unbiased() -> None:
    truths = [[1, 0, 0]]  # a second sample, so that no observed truth is empty
    top = TopK([[2, 0, 1], [1, 2, 0]], [[3, 2, 1], [3, 2, 1]])

    def ndcg(y: np.ndarray) -> float:
        return metrics.psndcg_at_k([y, *truths], top, 2, P, normalize=False, n_relevant=[3, 1])

    def recall(y: np.ndarray) -> float:
        return metrics.psrecall_at_k([y, *truths], top, 2, P, [3, 1])

    on_complete = [COMPLETE, *truths]
    assert expectation(COMPLETE, P, ndcg) == pytest.approx(metrics.ndcg_at_k(on_complete, top, 2))
    assert expectation(COMPLETE, P, recall) == pytest.approx(
        metrics.recall_at_k(on_complete, top, 2)
    )


def test_psndcg_without_normalization_divides_by_the_best_dcg_of_the_recorded_labels() -> None:
    value = metrics.psndcg_at_k([[1, 1, 0]], TOP, 3, P, normalize=False)
    assert value == pytest.approx((SECOND / 0.5 + THIRD / 0.25) / (1 + SECOND))


def test_corollary_4_2_1_needs_no_normalizer_where_propensities_follow_it() -> None:
    g, size = np.array([1.5, 2.0, 2.5]), 3.0
    ideal = 1 + SECOND + THIRD
    top = TopK([[2, 0, 1], [0, 1, 2]], [[3, 2, 1], [3, 2, 1]])
    second = [0, 1, 0]  # its second rank is a hit, and adds a constant

    def recall(y: np.ndarray) -> float:
        return metrics.psgain_at_k([y, second], top, 2, g)

    def ndcg(y: np.ndarray) -> float:
        return metrics.psgain_at_k([y, second], top, 3, g / size * ideal, discounted=True)

    assert expectation(COMPLETE, g / size, recall) == pytest.approx((2 / 3 + 1 / 2.0) / 2)
    constant = SECOND / (2.0 / size * ideal)
    assert expectation(COMPLETE, g / size, ndcg) == pytest.approx((1 + constant) / 2)


def test_propensities_by_sample_and_label_weigh_each_entry_by_its_own() -> None:
    Y = np.array([[1, 1, 0], [0, 1, 1]])
    top = TopK([[0, 2], [1, 2]], [[2, 1], [2, 1]])
    p = np.array([[0.5, 0.25, 1], [1, 0.2, 0.4]])
    hits = metrics.ranked_hits(Y, top, 2, sp.csr_array(p))
    assert hits.psp(2, normalize=False).value == pytest.approx((2 + 5 + 2.5) / 4)
    assert hits.psp(2).value == pytest.approx((2 + 7.5) / (6 + 7.5))
    assert hits.psp(2).span == pytest.approx(2 * 5)  # every pair is given: the largest 1/p
    by_label = np.tile(P, (2, 1))
    for k in (1, 2):
        both = (
            metrics.ranked_hits(Y, top, k, given).psndcg(k).value
            for given in (P, sp.csr_array(by_label))
        )
        assert len({round(value, 12) for value in both}) == 1
    hamming = metrics.propensity_hamming(Y, [[1, 0, 0], [0, 0, 0]], sp.csr_array(p))
    assert hamming == pytest.approx((2 + 4 - 4 + 1 + 5 + 2.5) / 6)


def test_without_propensities_of_all_pairs_there_is_no_guaranteed_interval() -> None:
    Y = np.array([[1, 1, 0], [0, 1, 1]])
    p = sp.csr_array(np.array([[0.5, 0.25, 0], [0, 0.2, 0.4]]))
    top = TopK([[0], [1]], [[2], [2]])
    found = metrics.evaluate(Y, top, propensity=p, ks=[1], n_bootstrap=0)
    assert found.figure("PSP@1").guaranteed is None
    assert found.figure("P@1").guaranteed is not None


@pytest.mark.parametrize(
    ("p", "message"),
    [
        (sp.csr_array(np.full((2, 4), 0.5)), r"shape of Y, \(2, 3\). Got \(2, 4\)"),
        (sp.csr_array(np.full((3, 2), 0.5)), r"shape of Y, \(2, 3\). Got \(3, 2\)"),
        (sp.csr_array(np.full((2, 3), 1.5)), "Got 1.5 in row 0, label 0"),
        (sp.csr_array(np.array([[0.5, 0, 0], [0, 0, 1.0]])), "Row 0 has label 1 and no prop"),
    ],
)
def test_p_il_of_the_wrong_shape_or_value_is_refused(p: sp.csr_array, message: str) -> None:
    Y = [[1, 1, 0], [0, 0, 1]]
    with pytest.raises(DataError, match=message):
        metrics.psp_at_k(Y, TopK([[0], [1]], [[2], [2]]), 1, p)
    with pytest.raises(DataError, match=message):
        metrics.propensity_hamming(Y, Y, p)
    with pytest.raises(DataError, match=message):
        metrics.propensity_brier(Y, Y, p)


@pytest.mark.parametrize(
    ("n_relevant", "message"),
    [([1], "which has 2 recorded"), ([2, 2], r"shape \(2,\)"), ([np.inf], "is inf for sample 0")],
)
def test_a_complete_truth_smaller_than_the_recorded_one_is_refused(
    n_relevant: list[float], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        metrics.psrecall_at_k([[1, 1, 0]], TOP, 2, P, n_relevant)


def test_a_given_normalizer_cannot_be_combined_with_that_of_the_best_ranking() -> None:
    with pytest.raises(ParameterError, match="normalize=False alone"):
        metrics.psndcg_at_k([[1, 1, 0]], TOP, 2, P, n_relevant=[3])
    with pytest.raises(DataError, match="positive number for each of 3 labels"):
        metrics.psgain_at_k([[1, 1, 0]], TOP, 2, [1, 0, 1])


def test_4_4_the_brier_score_by_propensities_is_unbiased_for_the_complete_truth() -> None:
    predicted = np.array([[0.9, 0.3, 0.0]])
    on_complete = metrics.brier_score([COMPLETE], predicted)
    assert on_complete == pytest.approx((0.01 + 0.49 + 1) / 3)

    def scored(y: np.ndarray) -> float:
        return metrics.propensity_brier([y], sp.csr_array(predicted), P)

    assert expectation(COMPLETE, P, scored) == pytest.approx(on_complete)
    with pytest.raises(DataError, match=r"\[0, 1\]. Got 1.2"):
        metrics.brier_score([[1]], [[1.2]])
    with pytest.raises(DataError, match="shapes"):
        metrics.brier_score([[1]], [[0.2, 0.1]])


@pytest.fixture(scope="module")
def audited() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training labels, an audit of them, and the true propensities (a = 0.9, b = 3)."""
    rng = np.random.default_rng(7)
    n, counts = 4000, np.geomspace(2, 2000, 40).astype(int)
    p = metrics.propensity(counts, a=0.9, b=3.0, n_samples=n).values
    Y = np.zeros((n, counts.size))
    for label, count in enumerate(counts):
        Y[rng.choice(n, count, replace=False), label] = 1
    complete = (rng.random((1500, counts.size)) < 0.3).astype(float)
    observed = complete * (rng.random(complete.shape) < p)
    return Y, observed, complete, p


def test_constants_are_recovered_from_samples_with_known_missing_labels(
    audited: tuple[np.ndarray, ...],
) -> None:
    Y, observed, complete, p = audited
    fitted = metrics.fit_propensity(Y, observed, complete)
    assert isinstance(fitted, metrics.Propensity)
    assert fitted.a == pytest.approx(0.9, abs=0.1)
    assert np.abs(fitted.values - p).max() < 0.03
    published = metrics.propensity(Y).values
    assert np.abs(published - p).max() > 0.1


def test_a_monotone_curve_rises_with_the_count_and_follows_the_truth(
    audited: tuple[np.ndarray, ...],
) -> None:
    Y, observed, complete, p = audited
    fitted = metrics.fit_propensity(Y, observed, complete, curve="monotone")
    values = np.asarray(fitted)
    assert np.all(np.diff(values) >= 0)
    assert np.abs(values - p).max() < 0.08
    metrics.check_propensity(values, Y.shape[1])


def test_fits_of_propensities_refuse_false_labels_and_other_shapes() -> None:
    with pytest.raises(DataError, match="labels that complete has not"):
        metrics.fit_propensity([[1, 0]], [[1, 1]], [[1, 0]])
    with pytest.raises(DataError, match="observed has 3 labels"):
        metrics.fit_propensity([[1, 0]], [[1, 1, 0]], [[1, 1, 0]])
    with pytest.raises(DataError, match="one shape"):
        metrics.fit_propensity([[1, 0]], [[1, 0]], [[1, 0], [0, 1]])
    with pytest.raises(DataError, match="no label"):
        metrics.fit_propensity([[1, 0]], [[0, 0]], [[0, 0]])
