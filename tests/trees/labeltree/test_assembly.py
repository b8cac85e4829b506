from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import random_csr
from labelwood.core.lanes import WIDTH
from labelwood.trees.labeltree.arrays import Search
from labelwood.trees.labeltree.assembly import assembled, grown, in_lanes
from labelwood.trees.labeltree.clustering import LabelClusters
from labelwood.trees.labeltree.training import Trained
from trees.labeltree.forests import dense_weights, mean_scores, random_forest, slots

D = 25


def random_part(n_blocks, seed):
    """Random trained blocks, and the same weights as an array of shape (lanes, D)."""
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal((n_blocks, D, WIDTH)).astype(np.float32)
    weights[rng.random((n_blocks, D, WIDTH)) < 0.8] = 0
    used = (weights != 0).any(axis=2)
    trained = Trained(
        block_sizes=used.sum(axis=1),
        features=np.nonzero(used)[1].astype(np.uint32),
        sizes=(weights != 0).sum(axis=2)[used].astype(np.uint8),
        lanes=np.nonzero(weights)[2].astype(np.uint8),
        weights=weights[weights != 0],
        intercepts=rng.standard_normal(n_blocks * WIDTH).astype(np.float32),
        passes=np.ones(n_blocks, dtype=np.int64),
        solved=np.ones(n_blocks, dtype=np.bool_),
    )
    return trained, weights.transpose(0, 2, 1).reshape(-1, D)


# 44 labels: a root of 18 leaves (two blocks) in one tree, three levels in the other.
TREES = [
    LabelClusters(
        np.random.default_rng(0).permutation(44).astype(np.uint32),
        [np.array([0, 18]), np.arange(19) * 44 // 18],
    ),
    LabelClusters(
        np.random.default_rng(1).permutation(44).astype(np.uint32),
        [np.array([0, 2]), np.array([0, 1, 3]), np.array([0, 20, 40, 44])],
    ),
]
BLOCKS = [2 + 18, 1 + 2 + 2 + 2 + 1]


def shape_under(forest, node):
    """The tree under a node: nested lists that end in labels."""
    children = forest.children[slots(forest, node)].tolist()
    return children if forest.is_leaf[node] else [shape_under(forest, one) for one in children]


def shape_of(tree, depth=0, node=0):
    children = range(tree.firsts[depth][node], tree.firsts[depth][node + 1])
    if depth == len(tree.firsts) - 1:
        return [int(tree.order[place]) for place in children]
    return [shape_of(tree, depth + 1, child) for child in children]


@pytest.fixture
def parts():
    # More parts than levels: a level may have been trained in several batches.
    return [random_part(n_blocks, seed) for seed, n_blocks in enumerate([2, 11, 7, 1, 2, 3, 2])]


def test_the_forest_has_the_shape_of_the_trees(parts):
    forest = assembled(TREES, [trained for trained, _ in parts])
    forest.check(D, 44)
    assert forest.roots.size == 2
    assert [shape_under(forest, root) for root in forest.roots] == [shape_of(t) for t in TREES]
    assert forest.node_blocks[forest.roots].tolist() == [0, BLOCKS[0]]
    assert forest.node_blocks[-1] == sum(BLOCKS)


def test_the_forest_has_the_weights_of_the_parts_in_order(parts):
    trained = [one for one, _ in parts]
    forest = assembled(TREES, list(trained))
    np.testing.assert_array_equal(
        dense_weights(forest, D), np.concatenate([dense for _, dense in parts])
    )
    intercepts = np.concatenate([one.intercepts for one in trained])
    np.testing.assert_array_equal(forest.intercepts, intercepts)


def test_the_parts_are_handed_over(parts):
    trained = [one for one, _ in parts]
    assembled(TREES, trained)
    assert trained == []


def test_no_trees_are_a_forest_too():
    forest = assembled([], [])
    forest.check(D, 5)
    assert forest.is_leaf.size == forest.roots.size == 0


@given(st.lists(st.integers(0, 40), min_size=1, max_size=8))
def test_children_stand_in_blocks_of_their_node(counts):
    firsts = np.append(0, np.cumsum(counts))
    targets = 100 + np.arange(firsts[-1])
    expected = []
    for first, last in pairwise(firsts):
        expected += targets[first:last].tolist() + [-1] * (-(last - first) % WIDTH)
    lanes = in_lanes(targets, firsts)
    assert lanes.tolist() == expected
    assert lanes.dtype == np.int32


@pytest.fixture(scope="module")
def growth():
    """A forest of 30 labels, grown by six more in four blocks at three leaves."""
    forest = random_forest(D, 30, n_trees=2, seed=7)
    leaves = np.flatnonzero(forest.is_leaf)
    homes = leaves[[1, 4, 4, -1]]
    trained, dense = random_part(4, seed=9)
    children = np.full(4 * WIDTH, -1, dtype=np.int32)
    children[[0, 1, 16, 32, 48, 49]] = [30, 31, 32, 33, 34, 35]
    new = (trained.intercepts, children, dense)
    return forest, grown(forest, homes, children, [trained]), homes, new


def test_new_blocks_stand_at_the_end_of_their_leaves(growth):
    before, after, homes, (intercepts, children, dense) = growth
    after.check(D, 36)
    old, now = dense_weights(before, D), dense_weights(after, D)
    for node in range(before.is_leaf.size):
        was, became = (
            slice(WIDTH * one.node_blocks[node], WIDTH * one.node_blocks[node + 1])
            for one in (before, after)
        )
        new = (WIDTH * np.flatnonzero(homes == node)[:, None] + np.arange(WIDTH)).ravel()
        for first, second, joined in [
            (before.children[was], children[new], after.children[became]),
            (before.intercepts[was], intercepts[new], after.intercepts[became]),
            (old[was], dense[new], now[became]),
        ]:
            np.testing.assert_array_equal(joined, np.concatenate([first, second]))
    assert after.is_leaf is before.is_leaf
    assert after.roots is before.roots


def test_growing_keeps_the_kinds_of_the_arrays(growth):
    before, after, _, _ = growth
    for name in before._fields:
        assert getattr(after, name).dtype == getattr(before, name).dtype
        assert getattr(after, name).flags.c_contiguous


@pytest.mark.parametrize("beam", [3, 30])
def test_old_labels_keep_their_scores_to_the_bit(growth, beam):
    before, after, _, _ = growth
    X, search = random_csr(40, D, density=0.3), Search(beam, False, 0.25)
    old = before.above(X, 30, -1.0, search, None).toarray()
    now = after.above(X, 36, -1.0, search, None).toarray()
    assert now[:, :30].tobytes() == old.tobytes()
    assert now[:, 30:].any()


def test_new_labels_are_scored_by_their_decisions(growth):
    _, after, _, _ = growth
    X, search = random_csr(40, D, density=0.3), Search(5, False, 0.25)
    np.testing.assert_allclose(
        after.above(X, 36, -1.0, search, None).toarray(),
        mean_scores(after, X, 36, search),
        rtol=1e-4,
        atol=1e-7,
    )
