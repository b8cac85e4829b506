import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from labelwood import TopK
from labelwood.errors import DataError


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
