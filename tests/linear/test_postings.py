import numpy as np
import pytest

from builders import random_csr
from labelwood.core.lanes import WIDTH
from labelwood.errors import DataError
from labelwood.linear.postings import Postings


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


def test_offsets_go_to_the_lanes_of_their_labels(postings):
    _, stored = postings
    offsets = stored.offsets(np.arange(20, dtype=np.float32))
    filled = stored.lane_labels >= 0
    np.testing.assert_array_equal(offsets[filled], stored.lane_labels[filled])
    assert not offsets[~filled].any()


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
