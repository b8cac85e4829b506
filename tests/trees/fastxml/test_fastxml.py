import numpy as np
import pytest
import scipy.sparse as sp

from builders import random_csr, random_labels, separable
from labelwood import load_dataset, metrics
from labelwood.core import memory
from labelwood.core._kernels import next_uint64
from labelwood.core.random import kernel_states
from labelwood.core.sparse import as_csr, csr_arrays, unit_rows
from labelwood.errors import DataError, LabelwoodWarning, ParameterError
from labelwood.trees.fastxml._partition_kernels import assign_sides, gather_labels
from labelwood.trees.fastxml.arrays import Forest
from labelwood.trees.fastxml.estimator import FastXMLClassifier
from labelwood.trees.fastxml.growth import _samples

ARRAYS = [f"{name}_" for name in Forest._fields]


def forest(X, Y, **options):
    return FastXMLClassifier(**{"n_trees": 4, "random_state": 0, **options}).fit(X, Y)


def same_trees(one, other):
    names = (*ARRAYS, "n_leaves_", "depth_", "path_length_")
    return all(getattr(one, name).tobytes() == getattr(other, name).tobytes() for name in names)


def walk(model, X):
    """The leaf and the number of decisions of each row in each tree, by dense arithmetic."""
    rows = X.toarray().astype(np.float64)
    leaves = np.empty((X.shape[0], model.roots_.size), dtype=np.int64)
    lengths = np.zeros_like(leaves)
    for tree, root in enumerate(model.roots_):
        for i, row in enumerate(rows):
            node = root
            while model.right_[node] >= 0:
                entries = slice(*model.weight_indptr_[node : node + 2])
                weights = model.weights_[entries].astype(np.float64)
                score = model.intercepts_[node] + row[model.features_[entries]] @ weights
                node = node + 1 if score > 0 else model.right_[node]
                lengths[i, tree] += 1
            leaves[i, tree] = node
    return leaves, lengths


def averages(model):
    """What the leaves hold, as a dense matrix of nodes and labels."""
    dense = np.zeros((model.right_.size, model.classes_.size))
    for node in np.flatnonzero(model.right_ < 0):
        entries = slice(*model.leaf_indptr_[node : node + 2])
        dense[node, model.labels_[entries]] = model.averages_[entries]
    return dense


def brute_force_sides(gains, discounts, sides):
    """The alternating optimization on a dense matrix of points and labels."""
    before = -1.0
    while True:
        lead, value = np.zeros(gains.shape[1]), 0.0
        for sign in (-1, 1):
            sums = gains[sides == sign].sum(axis=0)
            n_there = np.count_nonzero(sums > 0)
            given = np.full(sums.size, discounts[n_there])
            for total in np.unique(sums[sums > 0]):
                better, tied = np.count_nonzero(sums > total), sums == total
                given[tied] = discounts[better : better + tied.sum()].mean()
            lead += sign * given
            value += given @ sums
        favor = gains @ lead
        moved = favor * sides < 0
        sides = np.where(moved, -sides, sides)
        if not moved.any() or value - before <= 1e-6 * sides.size:
            return sides
        before = value


@pytest.mark.parametrize("seed", range(12))
def test_sides_are_those_of_the_dense_computation(seed):
    rng = np.random.default_rng(seed)
    Y = random_labels(60, 25, per_point=4, seed=seed)
    Y.data = rng.choice([0.25, 0.5, 1.0, 2.0], Y.nnz).astype(np.float32)
    discounts = (1 / np.log2(2 + np.arange(26))).astype(np.float32)
    start = kernel_states(seed, 1)[0]
    signs = start.copy()
    random_sides = np.array([1 if next_uint64(signs) >> np.uint64(63) else -1 for _ in range(60)])
    ids = rng.permutation(60).astype(np.uint32)
    labels = Y.indices.view(np.uint32)
    ends, local, gains, names = gather_labels(
        Y.indptr.astype(np.int64), labels, Y.data, ids, np.zeros(25, dtype=np.uint32)
    )
    sides = assign_sides(ends, local, gains, names.size, discounts, start)
    dense = Y.toarray()[ids][:, names].astype(np.float64)
    np.testing.assert_array_equal(sides, brute_force_sides(dense, discounts, random_sides))
    assert 0 < np.count_nonzero(sides > 0) < 60


def test_labels_of_a_node_are_numbered_as_they_appear():
    Y = random_labels(20, 9, seed=3)
    ids = np.array([7, 2, 11], dtype=np.uint32)
    places = np.zeros(9, dtype=np.uint32)
    ends, local, values, names = gather_labels(
        Y.indptr.astype(np.int64), Y.indices.view(np.uint32), Y.data, ids, places
    )
    lists = [Y.indices[Y.indptr[i] : Y.indptr[i + 1]].tolist() for i in ids]
    found = [names[local[ends[k] : ends[k + 1]]].tolist() for k in range(3)]
    assert found == lists
    assert names.tolist() == list(dict.fromkeys(label for one in lists for label in one))
    assert np.all(values == 1)
    assert not places.any()


@pytest.mark.parametrize("max_leaf_samples", [3, 10])
def test_every_point_reaches_a_leaf_that_holds_the_mean_of_its_points(max_leaf_samples):
    X, Y = separable(300, 12)
    model = forest(X, Y, max_leaf_samples=max_leaf_samples, C=20.0)
    leaves, lengths = walk(model, X)
    held = averages(model)
    for tree in range(4):
        end = np.append(model.roots_, model.right_.size)[tree + 1]
        nodes = np.arange(model.roots_[tree], end)
        reached, counts = np.unique(leaves[:, tree], return_counts=True)
        assert reached.tolist() == nodes[model.right_[nodes] < 0].tolist()
        assert model.n_leaves_[tree] == reached.size
        assert model.depth_[tree] == lengths[:, tree].max()
        assert model.path_length_[tree] == pytest.approx(lengths[:, tree].mean())
        n_stuck = 0
        for leaf, count in zip(reached, counts, strict=True):
            inside = Y[leaves[:, tree] == leaf].toarray()
            np.testing.assert_allclose(held[leaf], inside.mean(axis=0), rtol=1e-6)
            alike = np.all(inside == inside[0])
            n_stuck += 0 if count <= max_leaf_samples or alike else count
        assert n_stuck <= 60  # all labels can be told from features, so few splits fail


def test_a_leaf_keeps_its_most_frequent_labels():
    X, Y = random_csr(40, 10), random_labels(40, 15, per_point=6)
    model = forest(X, Y, n_trees=1, max_leaf_samples=40, max_leaf_labels=5)
    means = Y.toarray().mean(axis=0)
    best = np.argsort(-means, kind="stable")[:5]
    assert model.n_leaves_.tolist() == [1]
    assert model.labels_.tolist() == best.tolist()
    np.testing.assert_allclose(model.averages_, means[best], rtol=1e-6)


def test_scores_rankings_and_predictions_follow_from_the_leaves():
    X, Y = random_csr(700, 40, seed=2), random_labels(700, 20, per_point=3, seed=2)
    model = forest(X, Y, n_trees=7)
    expected = averages(model)[walk(model, X)[0]].mean(axis=1)
    np.testing.assert_allclose(model.decision_function(X).toarray(), expected, atol=1e-6)
    top = model.predict_topk(X, k=6)
    np.testing.assert_allclose(top.scores, -np.sort(-expected, axis=1)[:, :6], atol=1e-6)
    taken = np.take_along_axis(expected, top.labels.astype(int), axis=1)
    np.testing.assert_allclose(taken, top.scores, atol=1e-6)
    clear = np.abs(expected - 0.5) > 1e-6
    assert np.array_equal(model.predict(X).toarray()[clear], (expected > 0.5)[clear])


def test_a_row_scores_alone_as_it_does_among_others():
    X, Y = random_csr(600, 60, density=0.3, seed=5), random_labels(600, 20, seed=5)
    model = forest(X, Y)
    together = model.predict_topk(X, 4)
    for i in (0, 17, 599):
        alone = model.predict_topk(X[[i]], 4)
        np.testing.assert_array_equal(alone.labels[0], together.labels[i])
        np.testing.assert_array_equal(alone.scores[0], together.scores[i])


def test_equal_scores_go_to_the_smaller_label_first():
    X, Y = random_csr(8, 5), sp.csr_array(np.eye(8, 8, dtype=np.float32))
    assert forest(X, Y).predict_topk(X[:1], 8).labels.tolist() == [list(range(8))]


def test_labels_can_be_told_from_separable_features():
    X, Y = separable(600, 10)
    model = forest(X[:400], Y[:400], n_trees=30)
    some = 400 + np.flatnonzero(np.diff(Y.indptr[400:]))
    top = model.predict_topk(X[some], 1)
    assert metrics.precision_at_k(Y[some], top, 1) > 0.95


def test_threads_do_not_change_a_single_byte():
    X, Y = separable(200, 15)
    one, two = (forest(X, Y, n_trees=9, n_jobs=n) for n in (1, 2))
    assert same_trees(one, two)


def test_other_seeds_grow_other_trees():
    X, Y = random_csr(200, 30), random_labels(200, 10)
    assert not same_trees(forest(X, Y), forest(X, Y, random_state=1))


@pytest.mark.parametrize("names", [False, True])
def test_added_trees_are_those_of_a_larger_fit(names):
    X, Y = separable(150, 8)
    labels = [[f"l{j}" for j in row] for row in np.split(Y.indices, Y.indptr[1:-1])] if names else Y
    grown = forest(X, labels, n_trees=2).add_trees(X, labels, 3)
    assert same_trees(grown, forest(X, labels, n_trees=5))
    grown._check_fitted()


def test_trees_can_be_added_to_a_model_of_classes():
    X, _ = separable(60, 4)
    y = np.arange(60) % 3
    grown = forest(X, y, n_trees=2).add_trees(X, y, 1)
    assert same_trees(grown, forest(X, y, n_trees=3))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"y": np.zeros((29, 3))}, DataError, "X has 30 rows and Y has 29"),
        ({"y": np.zeros((30, 4))}, DataError, "must have the 3 labels .* and so on. Got"),
        ({"y": np.zeros(30, dtype=int)}, DataError, "must have the 3 labels"),
        ({"y": [["cat"]] * 30}, DataError, "unknown label 'cat'"),
        ({"n": 0}, ParameterError, "The 'n' parameter of FastXMLClassifier must be an int ≥ 1"),
        ({"X": np.zeros((30, 7))}, DataError, "7 features, but .* is expecting 6"),
    ],
)
def test_trees_are_not_added_from_data_that_do_not_fit(change, error, message):
    X, Y = separable(30, 3)
    model = forest(X, Y)
    with pytest.raises(error, match=message):
        model.add_trees(**{"X": X, "y": Y, "n": 1, **change})
    assert model.roots_.size == 4


def test_weights_of_labels_reach_the_leaves_and_the_splits():
    class Weighted(FastXMLClassifier):
        def _label_weights(self, Y):
            return (1 + Y.indices % 3).astype(np.float32)

    X, Y = random_csr(200, 30, seed=1), random_labels(200, 12, per_point=3, seed=1)
    model = Weighted(n_trees=2, random_state=0).fit(X, Y)
    plain = forest(X, Y, n_trees=2)
    assert not np.array_equal(model.right_, plain.right_)
    leaves, _ = walk(model, X)
    held, weighted = averages(model), Y.toarray() * (1 + np.arange(12) % 3)
    for leaf in np.unique(leaves[:, 0]):
        np.testing.assert_allclose(
            held[leaf], weighted[leaves[:, 0] == leaf].mean(axis=0), rtol=1e-6
        )


def test_the_scale_of_the_features_does_not_matter():
    X, Y = random_csr(200, 30), random_labels(200, 10)
    near, far = forest(X, Y), forest(X * np.float32(1024), Y)
    np.testing.assert_array_equal(near.right_, far.right_)
    np.testing.assert_array_equal(
        near.predict_topk(X).scores, far.predict_topk(X * np.float32(1024)).scores
    )


def test_one_long_row_does_not_make_all_others_short():
    X, Y = separable(300, 8)
    X.data[X.indptr[7] : X.indptr[8]] *= 1e6
    assert forest(X, Y).n_leaves_.min() > 20


def test_rows_are_scaled_to_unit_length_on_request():
    X, Y = random_csr(200, 30), random_labels(200, 10)
    scaled, given = forest(X, Y, normalize=True), forest(unit_rows(X), Y)
    assert same_trees(scaled, given)
    np.testing.assert_array_equal(
        scaled.predict_topk(X * np.float32(9)).labels, given.predict_topk(unit_rows(X)).labels
    )


def test_calibrated_scores_are_chances():
    X, Y = separable(300, 6)
    chances = forest(X, Y, calibrate=True).predict_proba(X)
    assert chances.shape == Y.shape
    assert 0 <= chances.data.min() <= chances.data.max() <= 1


def alike(n=40, d=6):
    return sp.csr_array(np.ones((n, d), dtype=np.float32))


@pytest.mark.parametrize(
    ("X", "Y"),
    [
        (alike(), random_labels(40, 5)),
        (sp.csr_array((40, 6), dtype=np.float32), random_labels(40, 5)),
        (random_csr(40, 6), sp.csr_array(np.ones((40, 2), dtype=np.float32))),
        (random_csr(40, 6), sp.csr_array((40, 1), dtype=np.float32)),
    ],
    ids=["same points", "no features", "same labels", "no labels"],
)
@pytest.mark.filterwarnings("ignore:.*ha(s|ve) no sample")
def test_points_that_nothing_separates_share_one_leaf(X, Y):
    model = forest(X, Y)
    assert model.n_leaves_.tolist() == [1, 1, 1, 1]
    assert model.depth_.tolist() == [0, 0, 0, 0]
    np.testing.assert_allclose(
        model.decision_function(X[:1]).toarray()[0], Y.toarray().mean(axis=0), rtol=1e-6
    )


def test_points_without_features_or_labels_are_legal():
    X, Y = separable(80, 4)
    X, Y = (sp.csr_array(sp.vstack([M, sp.csr_array((9, M.shape[1]))])) for M in (X, Y))
    model = forest(X, Y, fit_intercept=False)
    leaves, _ = walk(model, X)
    assert np.unique(leaves[80:], axis=0).shape[0] == 1
    assert not model.intercepts_.any()


def test_one_label_splits_those_that_have_it_from_those_that_do_not():
    X, Y = separable(200, 2)
    Y = Y[:, [1]]
    scores = forest(X, Y, n_trees=10).decision_function(X).toarray().ravel()
    has = Y.toarray().ravel() > 0
    assert 0 < has.sum() < 200
    assert scores[has].min() > scores[~has].max()


def test_a_label_without_points_is_never_predicted():
    X, Y = separable(60, 4)
    Y = sp.csr_array(sp.hstack([Y, sp.csr_array((60, 2))]))
    with pytest.warns(LabelwoodWarning, match="2 of 6 labels have no sample"):
        model = forest(X, Y)
    assert model.predict_topk(X, k=6).labels.max() == 3


def wrapping(pointers):
    return np.concatenate([[0, 2**63 - 1, -(2**63), -1], pointers[4:]])


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("right_", lambda a: np.where(a < 0, a, 1), "not further on in its tree"),
        ("right_", lambda a: np.where(a < 0, a, a.size), "not further on in its tree"),
        ("right_", lambda a: np.where(a < 0, -2, a), "not further on in its tree"),
        ("right_", lambda a: a[:-1], "do not fit together"),
        ("intercepts_", lambda a: a[:-1], "do not fit together"),
        ("weight_indptr_", lambda a: a[::-1].copy(), "do not fit together"),
        ("leaf_indptr_", lambda a: a + 1, "do not fit together"),
        ("leaf_indptr_", lambda a: a[:-1], "do not fit together"),
        ("weights_", lambda a: a[:-1], "do not fit together"),
        ("labels_", lambda a: a[:-1], "do not fit together"),
        ("averages_", lambda a: -a, "average that is not positive"),
        ("averages_", lambda a: a * np.float32(np.nan), "average that is not positive"),
        ("averages_", lambda a: a * np.float32(np.inf), "average that is not positive"),
        ("features_", lambda a: a + np.uint32(10), "feature that does not exist"),
        ("labels_", lambda a: a + np.uint32(5), "label that does not exist"),
        ("roots_", lambda a: a[::-1].copy(), "one after the other"),
        ("roots_", lambda a: a[:0], "one after the other"),
        ("roots_", lambda a: np.append(a, 10**6), "one after the other"),
        ("roots_", lambda a: a.astype(np.int32), "must be an array of int64"),
        # Differences of these wrap, and would all be positive.
        ("roots_", lambda a: np.array([0, 2**63 - 1, -(2**63), -1]), "one after the other"),
        ("leaf_indptr_", lambda a: wrapping(a), "do not fit together"),
        ("weight_indptr_", lambda a: wrapping(a), "do not fit together"),
        ("intercepts_", lambda a: a + np.float32(np.inf), "not finite"),
        ("weights_", lambda a: a * np.float32(np.nan), "not finite"),
    ],
)
def test_damaged_arrays_are_refused(name, change, message):
    X, Y = separable(100, 5)
    model = forest(X, Y)
    model._check_fitted()
    setattr(model, name, change(getattr(model, name)))
    with pytest.raises(DataError, match=message):
        model._check_fitted()


@pytest.mark.parametrize(
    ("free", "message"),
    [
        ([1000], r"growing trees on 1 threads needs .* lower n_jobs"),
        ([2**40, 1000], r"a forest of 4 trees needs .* lower n_trees or C"),
    ],
)
def test_what_cannot_fit_into_memory_is_refused(monkeypatch, free, message):
    X, Y = separable(100, 5)
    left = iter(free)
    monkeypatch.setattr(memory, "available_memory", lambda: next(left))
    with pytest.raises(MemoryError, match=message):
        forest(X, Y, n_jobs=1)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("n_trees", 0),
        ("max_leaf_samples", 0),
        ("max_leaf_labels", 0),
        ("C", 0),
        ("intercept_scaling", -1),
        ("newton_steps", 0),
        ("normalize", 1),
    ],
)
def test_parameters_are_checked_by_name(parameter, value):
    X, Y = separable(20, 2)
    with pytest.raises(ParameterError, match=f"The '{parameter}' parameter of FastXMLClassifier"):
        forest(X, Y, **{parameter: value})


@pytest.mark.shared
def test_bibtex_is_tagged_as_well_as_by_the_authors(shared_data):
    folder = shared_data / "bibtex"
    train, test = (load_dataset(folder / f"{part}.txt.xz") for part in ("train", "test"))
    model = FastXMLClassifier(random_state=0, n_jobs=2).fit(train.X, train.Y)
    top = model.predict_topk(test.X, 5)
    at_1, at_3, at_5 = (metrics.precision_at_k(test.Y, top, k) for k in (1, 3, 5))
    # No more than half a point below the authors' program.
    assert at_1 >= 0.6386 - 0.005
    assert at_3 >= 0.3886 - 0.005
    assert at_5 >= 0.2883 - 0.005
    assert 8 <= model.path_length_.mean() <= 12


def test_gains_are_weights_over_the_best_dcg_that_so_many_labels_can_have():
    Y = sp.csr_array(np.array([[1, 1, 1], [0, 1, 0], [0, 0, 0], [1, 0, 1]], dtype=np.float32))
    weights = np.array([1, 2, 4, 8, 16, 32], dtype=np.float32)
    X = csr_arrays(as_csr(np.eye(4)))
    samples = _samples(X, Y, weights, normalize=True)
    discount = [1.0, 1 / np.log2(3), 0.5]  # 1/log2(2 + rank), ranks from 0
    best = {1: discount[0], 2: sum(discount[:2]), 3: sum(discount)}
    expected = [1 / best[3], 2 / best[3], 4 / best[3], 8 / best[1], 16 / best[2], 32 / best[2]]
    np.testing.assert_allclose(samples.gains, expected, rtol=1e-6)
    np.testing.assert_allclose(samples.discounts[:3], discount, rtol=1e-6)
