import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.metrics
from hypothesis import given
from hypothesis import strategies as st

from labelwood import metrics
from labelwood.errors import DataError, ParameterError
from metrics import brute_force

# Right, missing and too many labels of each sample: 1 1 1 | 1 0 0 | 0 0 0 | 0 1 0.
TRUE = np.array([[1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0], [1, 0, 0, 0]])
PREDICTED = np.array([[1, 0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]])


def test_f1_of_samples_by_hand() -> None:
    assert metrics.f1_score(TRUE, PREDICTED) == pytest.approx((2 / 4 + 1 + 1 + 0) / 4)


def test_micro_f1_by_hand() -> None:
    assert metrics.f1_score(TRUE, PREDICTED, "micro") == pytest.approx(2 * 2 / (4 + 3))


def test_macro_f1_leaves_out_a_label_that_is_nowhere() -> None:
    by_label = [2 * 1 / (2 + 1), 0 / (1 + 0), 2 * 1 / (1 + 2)]
    assert metrics.f1_score(TRUE, PREDICTED, "macro") == pytest.approx(sum(by_label) / 3)


def test_hamming_loss_by_hand() -> None:
    assert metrics.hamming_loss(TRUE, PREDICTED) == (2 + 0 + 0 + 1) / 4 / 4


def test_subset_loss_by_hand() -> None:
    assert metrics.subset_loss(TRUE, PREDICTED) == 2 / 4


def test_propensity_hamming_by_hand() -> None:
    p = [0.5, 0.25, 0.8, 1.0]
    first = -2 + 4 + 2  # right label 0, missing label 1, two predicted
    second = -1.25 + 1
    fourth = 2
    expected = (first + second + 0 + fourth) / 4 / 4
    assert metrics.propensity_hamming(TRUE, PREDICTED, p) == pytest.approx(expected)


def test_nothing_to_find_and_nothing_claimed_is_right() -> None:
    nothing = sp.csr_array((3, 4), dtype=np.float32)
    for average in ("samples", "micro", "macro"):
        assert metrics.f1_score(nothing, nothing, average) == 1
    assert metrics.hamming_loss(nothing, nothing) == metrics.subset_loss(nothing, nothing) == 0


@given(st.data())
def test_label_set_metrics_agree_with_scikit_learn(data: st.DataObject) -> None:
    true = data.draw(brute_force.truths())
    bits = data.draw(st.lists(st.booleans(), min_size=true.shape[0] * 6, max_size=None))
    dense = true.toarray().astype(int)
    predicted = np.array(bits[: dense.size], dtype=int).reshape(dense.shape)
    for average, zero_division in (("samples", 1.0), ("micro", 1.0), ("macro", np.nan)):
        theirs = sklearn.metrics.f1_score(
            dense, predicted, average=average, zero_division=zero_division
        )
        assert metrics.f1_score(true, predicted, average) == pytest.approx(theirs)
    theirs = sklearn.metrics.hamming_loss(dense, predicted)
    assert metrics.hamming_loss(true, predicted) == pytest.approx(theirs)
    theirs = sklearn.metrics.zero_one_loss(dense, predicted)
    assert metrics.subset_loss(true, predicted) == pytest.approx(theirs)


@given(st.data())
def test_propensity_hamming_agrees_with_its_definition(data: st.DataObject) -> None:
    true = data.draw(brute_force.truths())
    predicted = data.draw(brute_force.rankings(true.shape[0])).to_csr(6) != 0
    p = np.array(data.draw(brute_force.propensities()))
    y, guess = true.toarray(), predicted.toarray().astype(float)
    expected = ((1 - 2 * guess) * y / p + guess**2).sum(axis=1).mean() / 6
    assert metrics.propensity_hamming(true, predicted, p) == pytest.approx(expected, abs=1e-12)


def test_full_propensities_make_the_estimate_the_hamming_loss() -> None:
    ours = metrics.propensity_hamming(TRUE, PREDICTED, np.ones(4))
    assert ours == metrics.hamming_loss(TRUE, PREDICTED)


def test_the_callers_matrices_are_left_alone() -> None:
    data, columns = np.array([1.0, 0.0, 1.0]), np.array([2, 1, 0])
    unsorted = sp.csr_array((data, columns, np.array([0, 3])), shape=(1, 3))
    metrics.f1_score(unsorted, unsorted)
    assert unsorted.indices.tolist() == [2, 1, 0]


def test_shapes_that_disagree_are_refused() -> None:
    with pytest.raises(DataError, match=r"one shape. Got \(4, 4\) and \(4, 3\)"):
        metrics.hamming_loss(TRUE, PREDICTED[:, :3])


def test_scores_in_place_of_an_indicator_are_refused() -> None:
    with pytest.raises(DataError, match=r"Y_pred must hold zeros and ones. Got .*0.3"):
        metrics.subset_loss(TRUE, 0.3 * PREDICTED)


def test_no_samples_are_refused() -> None:
    with pytest.raises(DataError, match="nothing to evaluate"):
        metrics.f1_score(np.zeros((0, 2)), np.zeros((0, 2)))


def test_an_unknown_average_is_refused() -> None:
    with pytest.raises(ParameterError, match="'average' parameter of f1_score must be one of"):
        metrics.f1_score(TRUE, PREDICTED, "weighted")
