import numpy as np
import pytest

from builders import random_csr
from labelwood.core.lanes import WIDTH
from labelwood.core.topk import TopK
from labelwood.errors import DataError
from labelwood.trees.labeltree import arrays as labelforest
from labelwood.trees.labeltree.arrays import Search
from trees.labeltree.forests import mean_scores, random_forest, slots

D, L = 60, 70


@pytest.fixture(scope="module")
def forest():
    return random_forest(D, L, n_trees=3, gaps=True, seed=4)


@pytest.fixture(scope="module")
def X():
    return random_csr(50, D, density=0.15, seed=4)


@pytest.mark.parametrize("logistic", [False, True])
@pytest.mark.parametrize("path_weight", [1.0, 0.25])
@pytest.mark.parametrize("beam", [1, 4, L])
def test_scores_are_the_mean_over_the_trees(forest, X, logistic, path_weight, beam):
    search = Search(beam, logistic, path_weight)
    expected = mean_scores(forest, X, L, search)
    found = forest.above(X, L, -1.0, search, None)
    assert found.has_canonical_format
    np.testing.assert_array_equal(found.toarray() > 0, expected > 0)
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-3, atol=1e-7)
    if beam == L:
        assert found.nnz == X.shape[0] * L


@pytest.mark.parametrize("k", [1, 5, L + 3])
def test_the_best_labels_are_those_of_the_scores(forest, X, k):
    search = Search(4, False, 0.25)
    top = forest.topk(X, L, k, search, None)
    wanted = TopK.from_csr(forest.above(X, L, -1.0, search, None), k)
    np.testing.assert_array_equal(top.labels, wanted.labels)
    np.testing.assert_array_equal(top.scores, wanted.scores)


@pytest.mark.parametrize("threshold", [0.0, 0.05, 0.3])
def test_only_scores_above_the_threshold_are_given(forest, X, threshold):
    search = Search(6, False)
    all_of_them = forest.above(X, L, -1.0, search, None)
    some = forest.above(X, L, threshold, search, None)
    wanted = np.where(all_of_them.toarray() > threshold, all_of_them.toarray(), 0)
    np.testing.assert_array_equal(some.toarray(), wanted)
    assert 0 < some.nnz <= all_of_them.nnz


def test_equal_scores_go_to_the_smaller_label_first(forest, X):
    flat = forest._replace(
        weights=np.zeros_like(forest.weights), intercepts=np.ones_like(forest.intercepts)
    )
    top = flat.topk(X, L, 6, Search(L, False), None)
    assert top.labels.tolist() == [[0, 1, 2, 3, 4, 5]] * X.shape[0]
    assert np.unique(top.scores).size == 1


def test_a_narrow_beam_reaches_as_many_leaves_as_it_is_wide(X):
    one_tree = random_forest(D, L, seed=4)
    leaves = np.flatnonzero(one_tree.is_leaf)
    groups = [set(one_tree.children[slots(one_tree, leaf)].tolist()) for leaf in leaves]
    for beam in (1, 2, 3):
        found = one_tree.above(X, L, -1.0, Search(beam, False), None)
        for row in range(X.shape[0]):
            labels = set(found[[row]].indices.tolist())
            assert sum(group <= labels for group in groups) == beam
            assert sum(bool(group & labels) for group in groups) == beam


@pytest.mark.parametrize("rows", [1, 7])
def test_blocks_of_rows_and_threads_do_not_change_a_bit(forest, X, monkeypatch, rows):
    search = Search(4, False, 0.25)
    whole = forest.topk(X, L, 5, search, None)
    scores = forest.above(X, L, 0.01, search, None)
    monkeypatch.setattr(labelforest, "_MOST_ROWS", rows)
    assert search.block_size(forest.width) == rows
    parts = forest.topk(X, L, 5, search, 2)
    assert parts.labels.tobytes() == whole.labels.tobytes()
    assert parts.scores.tobytes() == whole.scores.tobytes()
    again = forest.above(X, L, 0.01, search, 2)
    assert again.indices.tobytes() == scores.indices.tobytes()
    assert again.data.tobytes() == scores.data.tobytes()


def test_wide_beams_take_fewer_rows_at_a_time():
    assert Search(10, False).block_size(16) == 2048
    assert Search(1000, False).block_size(32) == 2**21 // 32_000
    assert Search(10**6, False).block_size(32) == 1


def test_a_beam_wider_than_the_forest_costs_no_more_than_one_as_wide(forest, X):
    huge, wide = Search(10**9, False), Search(forest.is_leaf.size, False)
    assert huge.within(forest.is_leaf.size) == wide
    tops = [forest.topk(X, L, 5, search, None) for search in (huge, wide)]
    assert tops[0].scores.tobytes() == tops[1].scores.tobytes()


def test_without_trees_nothing_is_found(forest, X):
    none = forest._replace(roots=forest.roots[:0])
    top = none.topk(X, L, 3, Search(4, False), None)
    assert top.labels.tolist() == [[-1] * 3] * X.shape[0]
    assert none.above(X, L, -1.0, Search(4, False), None).nnz == 0


def test_the_nodes_above_the_leaves_are_those_whose_children_are_leaves():
    forest = random_forest(D, L, n_trees=3, seed=4)
    children = [forest.children[slots(forest, node)] for node in range(forest.is_leaf.size)]
    wanted = [
        bool(not leaf and forest.is_leaf[below].all())
        for leaf, below in zip(forest.is_leaf, children, strict=True)
    ]
    assert forest.above_leaves().tolist() == wanted
    assert 0 < sum(wanted) < sum(~forest.is_leaf)


def test_the_width_is_that_of_the_widest_node(forest):
    widest = max(
        (forest.node_blocks[node + 1] - forest.node_blocks[node]) * WIDTH
        for node in range(forest.is_leaf.size)
    )
    assert forest.width == widest > WIDTH


def changed(array, place, value):
    copy = array.copy()
    copy[place] = value
    return copy


def grown_by_one(array):
    return np.append(array, array[-1:])


CORRUPT = {
    "node pointers that fall": ("node_blocks", lambda f: changed(f.node_blocks, 1, 9**6)),
    "node pointers from one": ("node_blocks", lambda f: changed(f.node_blocks, 0, 1)),
    "negative node pointers": ("node_blocks", lambda f: changed(f.node_blocks, 1, -1)),
    "node pointers that end too late": ("node_blocks", lambda f: changed(f.node_blocks, -1, 9**6)),
    "a node pointer too many": ("node_blocks", lambda f: grown_by_one(f.node_blocks)),
    "no node pointers": ("node_blocks", lambda f: f.node_blocks[:0]),
    "a node too many": ("is_leaf", lambda f: grown_by_one(f.is_leaf)),
    "too few children": ("children", lambda f: f.children[:-1]),
    "half a block of children": ("children", lambda f: f.children[: -WIDTH // 2]),
    "too few intercepts": ("intercepts", lambda f: f.intercepts[:-1]),
    "intercepts of a block too many": (
        "intercepts",
        lambda f: np.append(f.intercepts, f.intercepts[:WIDTH]),
    ),
    "block pointers that fall": ("block_indptr", lambda f: changed(f.block_indptr, 1, 9**6)),
    "block pointers that end too late": (
        "block_indptr",
        lambda f: changed(f.block_indptr, -1, 9**6),
    ),
    "too few block pointers": ("block_indptr", lambda f: f.block_indptr[1:]),
    "too few features": ("features", lambda f: f.features[:-1]),
    "a feature that does not exist": ("features", lambda f: changed(f.features, 3, D)),
    "entry pointers that fall": ("entry_indptr", lambda f: changed(f.entry_indptr, 1, 9**6)),
    "entry pointers that end too late": (
        "entry_indptr",
        lambda f: changed(f.entry_indptr, -1, 9**6),
    ),
    "too many entry pointers": ("entry_indptr", lambda f: grown_by_one(f.entry_indptr)),
    "a lane that does not exist": ("lanes", lambda f: changed(f.lanes, 5, WIDTH)),
    "too few lanes": ("lanes", lambda f: f.lanes[:-1]),
    "too few weights": ("weights", lambda f: f.weights[:-1]),
    "a weight that is no number": ("weights", lambda f: changed(f.weights, 3, np.nan)),
    "an infinite intercept": ("intercepts", lambda f: changed(f.intercepts, 3, np.inf)),
    "a root that does not exist": ("roots", lambda f: changed(f.roots, 0, f.is_leaf.size)),
    "a negative root": ("roots", lambda f: changed(f.roots, 0, -1)),
}


@pytest.mark.parametrize("what", CORRUPT)
def test_arrays_that_do_not_fit_together_are_refused(forest, what):
    name, change = CORRUPT[what]
    forest.check(D, L)
    with pytest.raises(DataError, match="the arrays of the label trees are inconsistent"):
        forest._replace(**{name: change(forest)}).check(D, L)


@pytest.mark.parametrize(
    ("leaf", "child"),
    [
        (True, lambda node: L),
        (True, lambda node: -2),
        (False, lambda node: 10**6),
        (False, lambda node: -2),
        (False, lambda node: node),
        (False, lambda node: node - 1),
    ],
    ids=["label", "negative label", "node", "negative node", "itself", "its parent"],
)
def test_children_that_do_not_exist_or_lead_back_are_refused(forest, leaf, child):
    node = int(np.flatnonzero(forest.is_leaf == leaf)[-1])
    children = changed(forest.children, slots(forest, node)[0], child(node))
    with pytest.raises(DataError, match="children_ names a node or a label that does not exist"):
        forest._replace(children=children).check(D, L)


@pytest.mark.parametrize("leaf", [True, False])
def test_a_node_without_a_child_is_refused(forest, leaf):
    node = int(np.flatnonzero(forest.is_leaf == leaf)[-1])
    children = changed(forest.children, slots(forest, node), -1)
    with pytest.raises(DataError, match="a node of the label trees has no child"):
        forest._replace(children=children).check(D, L)


def test_a_node_without_a_block_is_refused(forest):
    # The last block goes over to the node before.
    node_blocks = changed(forest.node_blocks, -2, forest.node_blocks[-1])
    with pytest.raises(DataError, match="a node of the label trees has no child"):
        forest._replace(node_blocks=node_blocks).check(D, L)


def test_a_node_that_is_a_child_twice_is_refused(forest):
    # A row alone would meet it twice, and be laid out for many rows in arrays made for one.
    first, second = slots(forest, forest.roots[0])[:2]
    children = changed(forest.children, second, forest.children[first])
    with pytest.raises(DataError, match="a node of the label trees is a child twice"):
        forest._replace(children=children).check(D, L)


def test_children_of_two_kinds_are_refused(forest):
    node = int(np.flatnonzero(forest.above_leaves())[0])
    last_inner = int(np.flatnonzero(~forest.is_leaf)[-1])
    children = changed(forest.children, slots(forest, node)[-1], last_inner)
    with pytest.raises(DataError, match="a node of the label trees has children of two kinds"):
        forest._replace(children=children).check(D, L)


def test_features_of_a_block_that_are_not_in_order_are_refused(forest):
    features = forest.features.copy()
    features[[0, 1]] = features[[1, 0]]
    with pytest.raises(DataError, match="the arrays of the label trees are inconsistent"):
        forest._replace(features=features).check(D, L)


def test_a_forest_without_trees_is_consistent():
    forest = random_forest(D, L)
    pointers = ("node_blocks", "block_indptr", "entry_indptr")
    sizes = {name: 1 if name in pointers else 0 for name in forest._fields}
    nothing = forest._replace(**{name: getattr(forest, name)[:n] for name, n in sizes.items()})
    nothing.check(D, L)
    assert nothing.width == WIDTH
