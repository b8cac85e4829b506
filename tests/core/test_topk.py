import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from labelwood import TopK
from labelwood.errors import DataError, ParameterError


@given(
    hnp.arrays(
        np.float32, hnp.array_shapes(min_dims=2, max_dims=2, max_side=6), elements=st.integers(0, 3)
    ),
    st.integers(1, 8),
)
def test_from_csr_sorts_stored_scores_and_breaks_ties_by_label(dense, k):
    top = TopK.from_csr(sp.csr_array(dense), k)
    for row, labels, scores in zip(dense, top.labels, top.scores, strict=True):
        stored = np.flatnonzero(row)
        expected = sorted(stored, key=lambda label: (-row[label], label))[:k]
        assert labels[labels >= 0].tolist() == expected
        assert scores[labels >= 0].tolist() == row[expected].tolist()
        assert np.all(scores[labels < 0] == -np.inf)


@given(st.integers(1, 5), st.integers(1, 4))
def test_to_csr_and_back_gives_the_same_ranking(n, k):
    rng = np.random.default_rng(n * 10 + k)
    scores = sp.csr_array(rng.random((n, 6)).astype(np.float32))
    top = TopK.from_csr(scores, k)
    again = TopK.from_csr(top.to_csr(6), k)
    np.testing.assert_array_equal(again.labels, top.labels)


@given(st.integers(1, 6), st.integers(1, 5), st.integers(0, 99))
def test_hits_are_the_labels_that_are_true(n, k, seed):
    rng = np.random.default_rng(seed)
    truth = rng.random((n, 7)) < 0.4
    ranks = np.array([rng.permutation(7)[:k] for _ in range(n)])
    labels = np.where(rng.random((n, k)) < 0.2, -1, ranks)
    hits = TopK(labels, np.zeros((n, k))).hits(sp.csr_array(truth.astype(np.float32)))
    expected = [[label >= 0 and truth[i, label] for label in labels[i]] for i in range(n)]
    np.testing.assert_array_equal(hits, expected)


def test_names_leave_out_the_filling():
    top = TopK(np.array([[1, -1]]), np.array([[0.5, -np.inf]]), np.array(["a", "b"]))
    assert top.names() == [["b"]]
    assert top.names(["x", "y"]) == [["y"]]
    assert top.head(1).labels.tolist() == [[1]]


def test_shapes_that_disagree_are_refused():
    with pytest.raises(DataError, match=r"one shape \(n, k\)"):
        TopK(np.zeros((2, 3)), np.zeros((2, 2)))


RANKING = TopK(np.array([[2, 0], [1, -1]]), np.array([[0.9, 0.4], [0.3, -np.inf]]))
TRUTH = np.array([[1, 0, 0], [0, 1, 1]])


@pytest.mark.parametrize(
    "form",
    [np.asarray, sp.csr_array, sp.csc_array, sp.coo_array, lambda Y: sp.csr_array(Y * 1.0)],
    ids=["dense", "CSR", "CSC", "COO", "float64"],
)
def test_hits_are_the_same_for_every_form_of_the_truth(form):
    assert RANKING.hits(form(TRUTH)).tolist() == [[False, True], [True, False]]


def test_stored_zeros_are_no_hits():
    stored = sp.csr_array((np.zeros(6), np.tile(np.arange(3), 2), [0, 3, 6]), shape=(2, 3))
    assert not RANKING.hits(stored).any()


def test_a_square_truth_is_not_read_transposed():
    top = TopK([[1], [2], [2]], [[1.0]] * 3)
    truth = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    assert top.hits(sp.csc_array(truth)).ravel().tolist() == [True, True, False]


def test_a_truth_without_labels_has_no_hits():
    assert not RANKING.hits(sp.csr_array((2, 3))).any()


@pytest.mark.parametrize(
    ("Y", "message"),
    [
        (TRUTH[:1], "The ranking is of 2 samples and 3 labels, Y_true of 1 sample "),
        (TRUTH[:, :2], "holds label 2, outside 0…1"),
        (TRUTH * 2, "must hold zeros and ones. Got 2"),
        ([["cat"], ["owl"]], "must be a matrix of zeros and ones"),
    ],
)
def test_a_truth_that_does_not_fit_is_refused(Y, message):
    ranking = TopK(RANKING.labels, RANKING.scores, np.arange(3) if len(Y) == 1 else None)
    with pytest.raises(DataError, match=message):
        ranking.hits(Y)


def test_a_ranking_of_another_label_space_is_refused():
    named = TopK([[0]], [[1.0]], np.array(["cat", "owl"]))
    with pytest.raises(DataError, match="knows 2 labels by name and Y has 3 columns"):
        named.hits(np.zeros((1, 3)))
    with pytest.raises(DataError, match=r"Column 0 is 'owl' in label_names and .*'cat'"):
        named.check_labels(1, 2, ["owl", "cat"])
    named.check_labels(1, 3, ["cat", "owl", "emu"])


@pytest.mark.parametrize("n_labels", [0, 1, 2])
def test_too_few_columns_for_the_labels_are_refused(n_labels):
    with pytest.raises(DataError, match=rf"labels from -1 to 2 .* have {n_labels} columns"):
        RANKING.to_csr(n_labels)


def test_labels_below_minus_one_make_no_matrix():
    with pytest.raises(DataError, match="labels from -2 to 1"):
        TopK([[1, -2]], [[1.0, 0.5]]).to_csr(3)


@pytest.mark.parametrize("k", [-1, 1.5, None])
def test_a_head_of_less_than_no_labels_is_refused(k):
    with pytest.raises(ParameterError, match=r"'k' parameter of TopK.head must be an int ≥ 0"):
        RANKING.head(k)
    with pytest.raises(ParameterError, match=r"'k' parameter of TopK.from_csr"):
        TopK.from_csr(sp.csr_array(TRUTH), k)


def test_scores_with_indices_out_of_bounds_are_refused():
    broken = sp.csr_array(TRUTH.astype(np.float32))
    broken.indices[0] = 10**6
    with pytest.raises(DataError, match="scores has column index 1000000"):
        TopK.from_csr(broken, 1)
