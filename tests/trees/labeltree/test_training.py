"""Training the nodes of a label tree: the kernels, and the levels that they are called with."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from builders import random_csr, random_labels
from labelwood.core.lanes import WIDTH
from labelwood.core.sparse import CSRArrays, csr_arrays
from labelwood.linear.l2svm.solver import l2svm
from labelwood.trees.labeltree import _training_kernels as kernels
from labelwood.trees.labeltree import training as labelnodes
from labelwood.trees.labeltree.clustering import cluster_labels
from labelwood.trees.labeltree.training import (
    Level,
    NodeProblem,
    Settings,
    train_levels,
    tree_levels,
)

N, D, L = 150, 30, 60
EXACT = Settings(
    n_trees=1,
    max_leaf_labels=20,
    branching=3,
    loss="squared_hinge",
    hard_negatives=False,
    n_negatives=0,
    tol=1e-5,
    bias=1.0,
    max_iter=100_000,
    prune_below=0.0,
    max_weights=0,
    beam=10,
)


class Example:
    """A tree of 60 labels: a root, and leaves of two blocks each."""

    def __init__(self, settings=EXACT):
        # The first feature is in no row, so features inside and outside differ in number.
        unused = sp.csr_array((N, 1), dtype=np.float32)
        self.X = sp.csr_array(sp.hstack([unused, random_csr(N, D - 1, density=0.25)]))
        self.Y = random_labels(N, L, per_point=5)
        self.Y = self.Y[:, np.unique(self.Y.indices)]
        rng = np.random.default_rng(0)
        self.costs = rng.uniform(0.5, 2, self.Y.shape[1]), rng.uniform(0.2, 1, self.Y.shape[1])
        self.members = csr_arrays(sp.csr_array(self.Y.T))
        self.problem = NodeProblem.of(self.X, L, settings, None)
        self.tree = cluster_labels(
            self.problem.X,
            self.members,
            self.problem.features.size,
            np.arange(self.Y.shape[1], dtype=np.uint32),
            max_leaf=settings.max_leaf_labels,
            branching=settings.branching,
            seed=np.random.SeedSequence(0),
            n_jobs=None,
        )
        seed = np.random.SeedSequence(1)
        self.levels = tree_levels(self.tree, self.Y, self.members, *self.costs, seed)

    def groups(self, depth):
        """For each node of a level the label sets of its children."""
        starts = [*self.tree.starts[1:], np.arange(self.tree.order.size + 1)][depth]
        children = np.split(self.tree.order, starts[1:-1])
        firsts = self.tree.firsts[depth]
        return [children[firsts[node] : firsts[node + 1]] for node in range(firsts.size - 1)]


@pytest.fixture(scope="module")
def example():
    return Example()


def train(problem, level, settings=EXACT, *, start=0, end=None):
    end = level.firsts.size - 1 if end is None else end
    return labelnodes._train_batch(problem, labelnodes.Batch(level, start, end, 0), settings)


def dense(trained, level):
    """Weights and intercepts of every child of every node, without the empty lanes."""
    block = np.repeat(np.arange(trained.block_sizes.size), trained.block_sizes)
    row = np.repeat(np.arange(trained.features.size), trained.sizes)
    weights = np.zeros((trained.block_sizes.size, D, WIDTH), dtype=np.float32)
    weights[block[row], trained.features[row], trained.lanes] = trained.weights
    children = [lanes for size in np.diff(level.firsts) for lanes in lanes_of(size)]
    there = np.arange(WIDTH) < np.array(children)[:, None]
    assert not trained.intercepts.reshape(-1, WIDTH)[~there].any()
    assert not weights.transpose(0, 2, 1)[~there].any()
    return weights.transpose(0, 2, 1)[there], trained.intercepts.reshape(-1, WIDTH)[there]


def lanes_of(n_children):
    """How many lanes of each block of a node are used."""
    return [min(WIDTH, n_children - first) for first in range(0, n_children, WIDTH)]


def problems(example, depth, rows_of=None):
    """Rows, signs and costs of the decision on every child of a level, by brute force."""
    Y = example.Y.toarray()
    counts = Y.sum(axis=0)
    for node, children in enumerate(example.groups(depth)):
        under = np.concatenate(children)
        rows = np.flatnonzero(Y[:, under].any(axis=1)) if depth else np.arange(N)
        rows = rows if rows_of is None else rows_of(node, rows)
        for labels in children:
            signs = np.where(Y[np.ix_(rows, labels)].any(axis=1), 1, -1)
            positive, negative = (
                np.average(cost[labels], weights=counts[labels]) for cost in example.costs
            )
            yield rows, signs, np.where(signs > 0, positive, negative)


@pytest.mark.parametrize("depth", [0, 1])
def test_a_decision_is_the_svm_on_the_rows_of_its_node(example, depth):
    level = example.levels[depth]
    trained = train(example.problem, level)
    weights, intercepts = dense(trained, level)
    wanted = list(problems(example, depth))
    assert len(wanted) == len(weights)
    assert np.all(trained.solved)
    for (rows, signs, cost), w, b in zip(wanted, weights, intercepts, strict=True):
        alone = l2svm(example.X, signs, rows=rows, C=cost, tol=1e-5, max_iter=100_000)
        np.testing.assert_allclose(w, alone.coef, atol=2e-3)
        assert b == pytest.approx(alone.intercept, abs=2e-3)


def test_a_logistic_decision_is_liblinears(example):
    level = example.levels[1]
    trained = train(example.problem, level, EXACT._replace(loss="logistic", tol=1e-3, bias=2.0))
    wide = sp.csr_array(sp.hstack([example.X, np.full((N, 1), 2.0)]))
    weights, intercepts = dense(trained, level)
    assert np.all(trained.solved)
    for (rows, signs, cost), w, b in zip(problems(example, 1), weights, intercepts, strict=True):
        if np.all(signs > 0):  # scikit-learn refuses what is no choice
            continue
        theirs = LogisticRegression(solver="liblinear", fit_intercept=False, tol=1e-6)
        theirs.fit(wide[rows], signs, sample_weight=cost)
        np.testing.assert_allclose(w, theirs.coef_[0, :-1], atol=5e-3)
        assert b == pytest.approx(2 * theirs.coef_[0, -1], abs=5e-3)


@pytest.mark.parametrize("bias", [0.0, 0.5])
def test_the_intercept_is_the_weight_of_the_constant_times_its_value(example, bias):
    settings = EXACT._replace(bias=bias)
    problem = NodeProblem.of(example.X, L, settings, None)
    _, intercepts = dense(train(problem, example.levels[0], settings), example.levels[0])
    for (rows, signs, cost), b in zip(problems(example, 0), intercepts, strict=True):
        alone = l2svm(
            example.X,
            signs,
            rows=rows,
            C=cost,
            bias=bias,
            tol=1e-5,
            max_iter=100_000,
        )
        assert b == pytest.approx(alone.intercept, abs=2e-3)


def test_the_features_of_a_block_are_in_order(example):
    trained = train(example.problem, example.levels[1])
    for features in np.split(trained.features, np.cumsum(trained.block_sizes)[:-1]):
        assert np.all(np.diff(features.astype(np.int64)) > 0)


@pytest.mark.parametrize("budget", [1, 5, 1000])
def test_a_budget_keeps_the_largest_weights_of_each_decision(example, budget):
    level = example.levels[1]
    full, full_intercepts = dense(train(example.problem, level), level)
    kept, intercepts = dense(
        train(example.problem, level, EXACT._replace(max_weights=budget)), level
    )
    for whole, part in zip(full, kept, strict=True):
        largest = np.argsort(-np.abs(whole), kind="stable")[:budget]
        wanted = np.where(np.isin(np.arange(D), largest), whole, 0)
        np.testing.assert_array_equal(part, wanted)
    np.testing.assert_array_equal(intercepts, full_intercepts)


@pytest.mark.parametrize("budget", [0, 4])
def test_small_weights_are_dropped_on_request(example, budget):
    level = example.levels[1]
    settings = EXACT._replace(max_weights=budget)
    full, _ = dense(train(example.problem, level, settings), level)
    pruned, _ = dense(train(example.problem, level, settings._replace(prune_below=0.3)), level)
    np.testing.assert_array_equal(pruned, np.where(np.abs(full) > 0.3, full, 0))
    assert 0 < np.count_nonzero(pruned) < np.count_nonzero(full)


def test_running_out_of_passes_is_told_of_each_block(example):
    trained = train(example.problem, example.levels[1], EXACT._replace(max_iter=2))
    assert trained.passes.tolist() == [2] * trained.solved.size
    assert not trained.solved.any()
    assert trained.solved.size == sum(
        len(lanes_of(size)) for size in np.diff(example.levels[1].firsts)
    )


def test_nodes_do_not_depend_on_which_are_trained_with_them(example):
    level = example.levels[1]
    n_nodes = level.firsts.size - 1
    assert n_nodes > 2
    together = train(example.problem, level)
    alone = [train(example.problem, level, start=node, end=node + 1) for node in range(n_nodes)]
    for name in together._fields:
        parts = np.concatenate([getattr(one, name) for one in alone])
        assert parts.tobytes() == getattr(together, name).tobytes()


def test_batches_of_a_level_are_its_nodes_in_order(example, monkeypatch):
    whole = [train(example.problem, level) for level in example.levels]
    monkeypatch.setattr(labelnodes, "_LEAST_WORK", 1)
    batches = [labelnodes._batches(level) for level in example.levels]
    assert [len(of_level) for of_level in batches] == [1, example.levels[1].firsts.size - 1]
    parts = train_levels(example.problem, example.levels, EXACT, 2)
    for one, of_level in zip(whole, parts, strict=True):
        for name in one._fields:
            joined = np.concatenate([getattr(part, name) for part in of_level])
            assert joined.tobytes() == getattr(one, name).tobytes()


@given(sizes=st.lists(st.integers(1, 40), min_size=1, max_size=50), least=st.integers(1, 300))
def test_batches_cover_all_nodes_and_count_their_work(sizes, least):
    firsts = np.append(0, np.cumsum(sizes))
    level = Level(CSRArrays(np.arange(len(sizes) + 1) * 7, *[None] * 2), firsts, *[None] * 5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(labelnodes, "_LEAST_WORK", least)
        batches = labelnodes._batches(level)
    assert [batch.start for batch in batches] == [0, *(batch.end for batch in batches[:-1])]
    assert batches[-1].end == len(sizes)
    limit = max(least, sum(batch.work for batch in batches) // 100)
    for batch in batches:
        blocks = [-(-size // WIDTH) for size in sizes[batch.start : batch.end]]
        assert batch.work == 7 * sum(blocks)
        assert 7 * sum(blocks[:-1]) < limit


def node_rows(inside, n, n_negatives, seed=0):
    indices = np.array(inside, dtype=np.uint32)
    level = CSRArrays(np.array([0, indices.size]), indices, np.ones(indices.size, np.float32))
    place, rows = np.full(n, -1), np.empty(n, dtype=np.uint32)
    state = np.random.SeedSequence(seed).generate_state(4, np.uint64)
    m = kernels._node_rows(level, 0, n_negatives, state, place, rows)
    return rows[:m].tolist(), place


@given(inside=st.sets(st.integers(0, 29)), n_negatives=st.integers(0, 40), seed=st.integers(0, 9))
def test_random_negatives_are_further_rows_from_outside(inside, n_negatives, seed):
    rows, place = node_rows(sorted(inside), 30, n_negatives, seed)
    own, others = rows[: len(inside)], rows[len(inside) :]
    assert own == sorted(inside)
    assert not set(others) & inside
    assert len(set(others)) == len(others) <= n_negatives
    if n_negatives >= 30:
        assert sorted(rows) == list(range(30))
    assert {row: where for row, where in enumerate(place) if where >= 0} == {
        row: where for where, row in enumerate(rows)
    }


def test_about_as_many_random_negatives_are_added_as_asked_for():
    rows, _ = node_rows([3, 4, 5], 10_000, 100)
    assert 90 <= len(rows) - 3 <= 100


def test_a_node_that_has_all_rows_gets_no_others():
    assert node_rows(list(range(8)), 8, 5)[0] == list(range(8))


def test_with_as_many_negatives_as_rows_a_leaf_is_trained_on_all_of_them(example):
    level = example.levels[1]
    trained = train(example.problem, level, EXACT._replace(n_negatives=N))
    weights, intercepts = dense(trained, level)
    wanted = problems(example, 1, lambda node, rows: np.arange(N))
    for (_, signs, cost), w, b in zip(wanted, weights, intercepts, strict=True):
        alone = l2svm(example.X, signs, C=cost, tol=1e-5, max_iter=100_000)
        np.testing.assert_allclose(w, alone.coef, atol=2e-3)
        assert b == pytest.approx(alone.intercept, abs=2e-3)


def rows_inside(level):
    return [
        set(rows.tolist()) for rows in np.split(level.inside.indices, level.inside.indptr[1:-1])
    ]


def test_further_rows_of_a_node_are_trained_on_as_negatives(example):
    level = example.levels[1]
    reached = random_labels(level.firsts.size - 1, N, per_point=40, seed=3) * np.float32(1e-30)
    more = level.with_rows(reached)
    extra = [set(rows.tolist()) for rows in np.split(reached.indices, reached.indptr[1:-1])]
    before, after = rows_inside(level), rows_inside(more)
    assert after == [own | further for own, further in zip(before, extra, strict=True)]
    assert before != after
    weights, _ = dense(train(example.problem, more), more)
    wanted = problems(example, 1, lambda node, rows: np.union1d(rows, list(extra[node])))
    for (rows, signs, cost), w in zip(wanted, weights, strict=True):
        alone = l2svm(example.X, signs, rows=rows, C=cost, tol=1e-5, max_iter=100_000)
        np.testing.assert_allclose(w, alone.coef, atol=2e-3)


@st.composite
def blocks(draw):
    """Weights of a block with many equal ones, features in any order, and used lanes."""
    n_features, n_lanes = draw(st.integers(0, 12)), draw(st.integers(1, WIDTH))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    values = rng.integers(-3, 4, (n_features + 1, WIDTH)) / 4
    values[:, n_lanes:] = 0
    features = rng.choice(100, n_features, replace=False).astype(np.uint32)
    return values.astype(np.float32), features, n_lanes


def unpacked(packed):
    features, sizes, lanes, weights = packed
    matrix = np.zeros((100, WIDTH), dtype=np.float32)
    matrix[np.repeat(features, sizes), lanes] = weights
    return matrix


@given(block=blocks(), prune_below=st.sampled_from([0.0, 0.25, 0.3, 0.75]))
def test_a_packed_block_holds_what_is_larger_than_the_limit(block, prune_below):
    W, features, n_lanes = block
    packed = kernels.pack_block(W.ravel(), features, n_lanes, prune_below, 0)
    wanted = np.zeros((100, WIDTH), dtype=np.float32)
    wanted[features] = np.where(np.abs(W[:-1]) > prune_below, W[:-1], 0)
    np.testing.assert_array_equal(unpacked(packed), wanted)
    assert np.all(np.diff(packed[0].astype(np.int64)) > 0)
    assert np.all(packed[1] > 0)
    assert packed[1].sum() == packed[2].size == packed[3].size == np.count_nonzero(wanted)


@given(block=blocks(), prune_below=st.sampled_from([0.0, 0.3]), budget=st.integers(1, 13))
def test_a_budget_is_used_up_even_among_equal_weights(block, prune_below, budget):
    W, features, n_lanes = block
    matrix = unpacked(kernels.pack_block(W.flatten(), features, n_lanes, prune_below, budget))
    for lane in range(n_lanes):
        sizes = np.sort(np.abs(W[:-1, lane]))[::-1]
        wanted = sizes[sizes > prune_below][:budget]
        kept = np.abs(matrix[:, lane])
        np.testing.assert_array_equal(np.sort(kept[kept > 0])[::-1], wanted)


def test_gathered_rows_have_their_own_features():
    X = random_csr(20, 50, density=0.1)
    rows = np.array([7, 3, 12], dtype=np.uint32)
    number, names = np.zeros(50, dtype=np.uint32), np.empty(50, dtype=np.uint32)
    own, size = kernels._gather(csr_arrays(X), rows, number, names)
    assert not number.any()
    assert sorted(names[:size].tolist()) == sorted(set(X[rows].indices.tolist()))
    again = sp.csr_array((own.data, names[own.indices], own.indptr), shape=(3, 50))
    np.testing.assert_array_equal(again.toarray(), X[rows].toarray())
    assert own.indices.max() == size - 1
