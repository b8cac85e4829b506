import numpy as np
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from builders import random_csr, random_labels
from labelwood.core.sparse import CSRArrays, csr_arrays
from labelwood.linear.label_means._kernels import mean_vectors
from labelwood.linear.label_means.groups import group_labels


def groups_of(X, Y, size):
    members = csr_arrays(sp.csr_array(Y.T))
    labels = np.unique(Y.indices).astype(np.uint32)
    return group_labels(csr_arrays(X), members, X.shape[1], labels, size), labels


@given(st.integers(1, 60), st.integers(1, 16), st.integers(0, 5))
def test_every_label_is_in_one_group_of_at_most_the_size(n_labels, size, seed):
    X, Y = random_csr(50, 12, seed=seed), random_labels(50, n_labels, seed=seed)
    groups, labels = groups_of(X, Y, size)
    assert sorted(np.concatenate([*groups, []]).tolist()) == labels.tolist()
    assert all(0 < group.size <= size for group in groups)


def test_labels_with_the_same_points_stand_together():
    # Four topics of eight labels each; topics share no feature.
    rng = np.random.default_rng(0)
    topic = np.repeat(np.arange(4), 100)
    X = np.zeros((400, 40), dtype=np.float32)
    X[np.arange(400), 10 * topic + rng.integers(0, 10, 400)] = 1
    Y = np.zeros((400, 32), dtype=np.float32)
    Y[np.arange(400), 8 * topic + np.arange(400) % 8] = 1
    groups, _ = groups_of(sp.csr_array(X), sp.csr_array(Y), 8)
    for group in groups:
        assert len(set(group // 8)) == 1


def test_common_and_rare_labels_do_not_share_a_group():
    X = random_csr(500, 20)
    Y = sp.csr_array((np.arange(6) < 3).astype(np.float32) * (np.arange(500) % 2)[:, None])
    Y = sp.lil_array(Y)
    Y[:5, 3:] = 1
    groups, _ = groups_of(X, sp.csr_array(Y), 16)
    assert sorted(map(sorted, groups)) == [[0, 1, 2], [3, 4, 5]]


def test_mean_vectors_are_the_largest_terms_of_the_sums_at_unit_length():
    X, Y = random_csr(60, 30, density=0.4), random_labels(60, 7, per_point=3)
    members = csr_arrays(sp.csr_array(Y.T))
    labels = np.arange(7, dtype=np.uint32)
    indptr, terms, values = mean_vectors(csr_arrays(X), members, labels, 30, 5)
    vectors = sp.csr_array((values, terms.astype(np.int32), indptr), shape=(7, 30)).toarray()
    for total, vector in zip((Y.T @ X).toarray(), vectors, strict=True):
        kept = np.argsort(-total)[:5]
        expected = np.where(np.isin(np.arange(30), kept), total, 0)
        length = np.linalg.norm(expected)
        np.testing.assert_allclose(vector, expected / (length or 1), atol=1e-5)


def test_the_largest_terms_are_kept_behind_any_number_of_equal_smaller_ones():
    X = sp.csr_array(np.array([[1.0, 1, 1, -5, 1, 3]], dtype=np.float32))
    members = csr_arrays(sp.csr_array(np.ones((1, 1), dtype=np.float32)))
    _, terms, values = mean_vectors(csr_arrays(X), members, np.zeros(1, dtype=np.uint32), 6, 3)
    assert terms.tolist() == [0, 3, 5]
    np.testing.assert_allclose(values, np.array([1, -5, 3]) / np.sqrt(35), rtol=1e-6)


def test_terms_that_cancel_and_stored_zeros_are_harmless():
    signs = np.where(np.arange(1000) % 2, 1, -1).astype(np.float32)
    X = sp.csr_array((np.append(signs, 0), np.zeros(1001, dtype=int), [*range(1000), 1001]))
    Y = sp.csr_array(np.ones((1000, 1), dtype=np.float32))
    members = csr_arrays(sp.csr_array(Y.T))
    arrays = CSRArrays(X.indptr.astype(np.int64), X.indices.astype(np.uint32), X.data)
    indptr, terms, _ = mean_vectors(arrays, members, np.zeros(1, dtype=np.uint32), 1, 4)
    assert indptr.tolist() == [0, terms.size]
    assert terms.size <= 1
