import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import random_csr
from labelwood.core.lanes import WIDTH
from labelwood.errors import DataError
from labelwood.linear.onevsrest.postings import Postings


def parts_of(dense, groups):
    """The blocks that a weight matrix of shape (n_features, n_labels) is made of."""
    for labels in groups:
        block = np.zeros((dense.shape[0], WIDTH), dtype=np.float32)
        block[:, : len(labels)] = dense[:, labels]
        features = np.flatnonzero(block.any(axis=1)).astype(np.uint32)
        yield np.array(labels, dtype=np.uint32), features, block[features].ravel()


@pytest.fixture
def postings():
    dense = random_csr(12, 20, density=0.3).toarray()
    groups = [list(range(3, 19)), [0, 19, 1]]
    dense[:, 2] = 0
    return dense, Postings.of(list(parts_of(dense, groups)), 12)


def test_the_matrix_comes_back(postings):
    dense, stored = postings
    np.testing.assert_array_equal(stored.to_csr(20).toarray(), dense)
    stored.check(12, 20)


def scores_of(dense, X, intercepts, unit):
    rows = X.toarray().astype(np.float64)
    if unit:
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        rows = rows / np.where(lengths > 0, lengths, 1)
    return rows @ dense + intercepts


@pytest.mark.parametrize("unit", [False, True])
def test_scores_are_products_and_label_2_has_no_lane(postings, unit):
    dense, stored = postings
    X = random_csr(300, 12, density=0.4, seed=5)
    intercepts = np.linspace(-1, 1, 20, dtype=np.float32)
    scores = scores_of(dense, X, intercepts, unit)
    scores[:, 2] = -np.inf
    clear = np.abs(scores - 0.2) > 1e-4
    found = stored.above(X, intercepts, 0.2, None, unit=unit).toarray()
    np.testing.assert_allclose(
        found[clear], np.where(scores > 0.2, scores, 0)[clear], rtol=1e-5, atol=1e-6
    )
    top = stored.topk(X, intercepts, 20, 2, unit=unit)
    np.testing.assert_allclose(top.scores, -np.sort(-scores, axis=1), rtol=1e-5, atol=1e-6)
    assert np.all(top.labels[:, -1] == -1)
    assert np.all(np.sort(top.labels[:, :-1], axis=1) == np.delete(np.arange(20), 2))


@given(
    st.lists(st.integers(-2, 2), min_size=20, max_size=20),
    st.permutations(range(20)),
    st.integers(1, 20),
)
def test_the_best_come_first_and_among_equals_the_smaller_label(values, order, k):
    blocks = [np.array(part, dtype=np.uint32) for part in (order[:16], order[16:])]
    no_weights = np.empty(0, dtype=np.uint32), np.empty(0, dtype=np.float32)
    stored = Postings.of([(labels, *no_weights) for labels in blocks], 3)
    intercepts = np.array(values, dtype=np.float32)
    top = stored.topk(random_csr(1, 3), intercepts, k, None)
    expected = sorted(range(20), key=lambda label: (-values[label], label))[:k]
    assert top.labels[0].tolist() == expected
    assert top.scores[0].tolist() == [values[label] for label in expected]


def test_a_row_scores_the_same_alone_and_among_others(postings):
    _, stored = postings
    X, intercepts = random_csr(600, 12, density=0.4, seed=6), np.zeros(20, dtype=np.float32)
    together = stored.topk(X, intercepts, 4, 2, unit=True)
    for row in (0, 255, 256, 599):
        alone = stored.topk(X[[row]], intercepts, 4, None, unit=True)
        assert alone.labels.tobytes() == together.labels[[row]].tobytes()
        assert alone.scores.tobytes() == together.scores[[row]].tobytes()


def test_labels_that_go_leave_nothing_behind(postings):
    dense, stored = postings
    less = stored.without(np.array([0, 19, 1, 5], dtype=np.uint32))
    less.check(12, 20)
    dense[:, [0, 19, 1, 5]] = 0
    np.testing.assert_array_equal(less.to_csr(20).toarray(), dense)
    assert less.lane_labels.size == WIDTH
    assert less.weights.reshape(-1, WIDTH).any(axis=1).all()


def test_joined_postings_hold_both(postings):
    dense, stored = postings
    gone = stored.without(np.arange(3, 19, dtype=np.uint32))
    rest = stored.without(np.array([0, 19, 1], dtype=np.uint32))
    both = gone.joined(rest)
    both.check(12, 20)
    np.testing.assert_array_equal(both.to_csr(20).toarray(), dense)


def test_no_blocks_are_an_empty_matrix():
    empty = Postings.of([], 4)
    empty.check(4, 3)
    assert empty.to_csr(3).shape == (4, 3)
    assert empty.to_csr(3).nnz == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"indptr": np.zeros(3, dtype=np.int64)}, "postings of the features"),
        ({"blocks": np.full(3, 9, dtype=np.uint32)}, "postings of the features"),
        ({"weights": np.zeros(5, dtype=np.float32)}, "postings of the features"),
        ({"lane_labels": np.full(32, 20, dtype=np.int32)}, "names a label"),
        ({"lane_labels": np.full(32, -2, dtype=np.int32)}, "names a label"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(postings, change, message):
    _, stored = postings
    with pytest.raises(DataError, match=message):
        stored._replace(**change).check(12, 20)
