from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from builders import random_csr, random_labels
from labelwood.core.sparse import CSRArrays, csr_arrays
from labelwood.linear.label_means._kernels import bisect_labels
from labelwood.trees.labeltree.clustering import LabelClusters, cluster_labels, rows_of_nodes


def tree_of(X, Y, *, max_leaf=4, branching=3, seed=0, n_jobs=None):
    members = csr_arrays(sp.csr_array(Y.T))
    labels = np.unique(Y.indices).astype(np.uint32)
    return cluster_labels(
        csr_arrays(X),
        members,
        X.shape[1],
        labels,
        max_leaf=max_leaf,
        branching=branching,
        seed=np.random.SeedSequence(seed),
        n_jobs=n_jobs,
    )


def labels_under(tree, depth, node):
    """The labels under a node, found by going down."""
    if depth == len(tree.firsts) - 1:
        return tree.order[tree.firsts[depth][node] : tree.firsts[depth][node + 1]].tolist()
    children = range(tree.firsts[depth][node], tree.firsts[depth][node + 1])
    return [label for child in children for label in labels_under(tree, depth + 1, child)]


def leaves_of(tree):
    return np.split(tree.order, tree.firsts[-1][1:-1])


def topics(n_topics, labels_each, words_each=10, seed=0):
    """Topics that share no word; a point has one label of its topic and a few of its words."""
    rng = np.random.default_rng(seed)
    n = 20 * n_topics * labels_each
    label = rng.permutation(n) % (n_topics * labels_each)
    X = np.zeros((n, n_topics * words_each), dtype=np.float32)
    words = words_each * (label // labels_each)[:, None] + rng.integers(0, words_each, (n, 4))
    np.put_along_axis(X, words, 1, axis=1)
    Y = np.zeros((n, n_topics * labels_each), dtype=np.float32)
    Y[np.arange(n), label] = 1
    return sp.csr_array(X), sp.csr_array(Y)


@given(
    n_labels=st.integers(1, 90),
    max_leaf=st.integers(1, 9),
    branching=st.integers(2, 6),
    seed=st.integers(0, 5),
)
def test_the_tree_is_even_and_holds_every_label_once(n_labels, max_leaf, branching, seed):
    X, Y = random_csr(60, 12, seed=seed), random_labels(60, n_labels, per_point=3, seed=seed)
    labels = np.unique(Y.indices)
    tree = tree_of(X, Y, max_leaf=max_leaf, branching=branching, seed=seed)
    assert sorted(tree.order.tolist()) == labels.tolist()
    assert tree.firsts[0].size == 2  # one root
    for above, below in pairwise(tree.firsts):
        assert above[-1] == below.size - 1  # every node has one parent
        assert all(1 <= size <= branching for size in np.diff(above))
    sizes = np.diff(tree.firsts[-1])
    assert sizes.sum() == labels.size
    assert all(1 <= size <= max_leaf for size in sizes)
    assert sizes.max() - sizes.min() <= 1


@pytest.mark.parametrize(
    ("n_labels", "depth"), [(8, 1), (9, 2), (16, 2), (17, 3), (32, 3), (33, 4)]
)
def test_it_is_no_deeper_than_it_must_be(n_labels, depth):
    X, Y = random_csr(n_labels, 10), sp.eye_array(n_labels, format="csr", dtype=np.float32)
    assert len(tree_of(X, Y, max_leaf=8, branching=2).firsts) == depth


def test_the_labels_of_a_node_stand_together_from_where_it_starts():
    X, Y = random_csr(200, 30), random_labels(200, 70, per_point=8)
    tree = tree_of(X, Y, max_leaf=3, branching=3)
    for depth, starts in enumerate(tree.starts):
        assert starts.size == tree.firsts[depth].size
        for node in range(starts.size - 1):
            there = tree.order[starts[node] : starts[node + 1]].tolist()
            assert there == labels_under(tree, depth, node)


def test_topics_that_share_no_feature_do_not_share_a_leaf():
    X, Y = topics(6, 5)
    for seed in range(10):
        tree = tree_of(X, Y, max_leaf=5, branching=3, seed=seed)
        assert all(len(set(leaf // 5)) == 1 for leaf in leaves_of(tree))


def test_kindred_topics_mostly_stand_under_one_node():
    # The first two of four topics share words, and so do the last two.
    X, Y = topics(4, 6)
    kin = 0.6 * np.kron(np.eye(2), np.ones((2, 2))) + np.eye(4)
    X = sp.csr_array(X @ np.kron(kin, np.eye(10)), dtype=np.float32)
    trees = [tree_of(X, Y, max_leaf=6, branching=2, seed=seed) for seed in range(40)]
    together = [len({label // 12 for label in labels_under(tree, 1, 0)}) == 1 for tree in trees]
    assert sum(together) >= 20


def test_groups_are_cut_at_the_borders_given():
    # Three runs of equal vectors of 2, 5 and 3 labels, shuffled.
    kinds = np.array([0, 1, 2, 1, 1, 2, 0, 1, 2, 1])
    V = CSRArrays(
        np.arange(11, dtype=np.int64), kinds.astype(np.uint32), np.ones(10, dtype=np.float32)
    )
    borders = np.array([0, 5, 10])
    for seed in range(5):
        order = np.arange(10)
        state = np.random.SeedSequence(seed).generate_state(4, np.uint64)
        bisect_labels(V, 3, borders, 8, state, order)
        assert sorted(order.tolist()) == list(range(10))
        halves = [set(kinds[order[:5]].tolist()), set(kinds[order[5:]].tolist())]
        assert {1} in halves


def test_the_same_seed_gives_the_same_tree_and_another_another():
    X, Y = random_csr(300, 40), random_labels(300, 60, per_point=6)
    first, again, two, other = (
        tree_of(X, Y, seed=seed, n_jobs=jobs) for seed, jobs in [(0, 1), (0, 1), (0, 2), (1, 1)]
    )
    assert first.order.tolist() == again.order.tolist() == two.order.tolist()
    assert first.order.tolist() != other.order.tolist()
    assert sorted(first.order) == sorted(other.order)


def test_labels_whose_points_have_no_features_have_a_place():
    X = sp.csr_array((20, 3), dtype=np.float32)
    Y = sp.csr_array(np.eye(20, dtype=np.float32))
    tree = tree_of(X, Y, max_leaf=3, branching=2)
    assert sorted(tree.order.tolist()) == list(range(20))


@given(n_labels=st.integers(1, 40), per_point=st.floats(0.5, 6), seed=st.integers(0, 5))
def test_the_rows_of_a_node_are_those_with_a_label_under_it(n_labels, per_point, seed):
    X, Y = random_csr(50, 12, seed=seed), random_labels(50, n_labels, per_point, seed=seed)
    tree = tree_of(X, Y, max_leaf=3, branching=2)
    levels = rows_of_nodes(Y, tree)
    dense = Y.toarray()
    assert len(levels) == len(tree.firsts)
    for depth, rows in enumerate(levels):
        assert rows.indptr.size == tree.firsts[depth].size
        for node in range(rows.indptr.size - 1):
            found = rows.indices[rows.indptr[node] : rows.indptr[node + 1]].tolist()
            under = dense[:, labels_under(tree, depth, node)].any(axis=1)
            wanted = np.flatnonzero(under) if depth else np.arange(50)
            assert found == wanted.tolist()
        assert np.all(rows.data > 0)


def test_the_root_has_rows_without_labels_even_where_it_is_a_leaf():
    Y = sp.csr_array(np.array([[1, 0], [0, 0], [1, 1]], dtype=np.float32))
    tree = LabelClusters(np.array([0, 1], dtype=np.uint32), [np.array([0, 2])])
    (rows,) = rows_of_nodes(Y, tree)
    assert rows.indices.tolist() == [0, 1, 2]
    assert rows.indptr.tolist() == [0, 3]
