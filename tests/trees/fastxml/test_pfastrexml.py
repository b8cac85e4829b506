import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import labelwood
from builders import random_csr, random_labels, separable
from labelwood import (
    FastXMLClassifier,
    PfastreXMLClassifier,
    PfastXMLClassifier,
    RerankedClassifier,
    TailClassifier,
    TopK,
    load_dataset,
    metrics,
    synthetic,
)
from labelwood.core._kernels import topk_of_scores
from labelwood.core.sparse import csr_arrays
from labelwood.errors import DataError, LabelwoodWarning, ParameterError
from labelwood.trees.fastxml import pfastrexml
from trees.fastxml.test_fastxml import averages, same_trees, walk

BOTH = pytest.mark.parametrize("kind", [PfastXMLClassifier, PfastreXMLClassifier])


def noisy(n=200, n_labels=12, seed=1):
    return random_csr(n, 30, seed=seed), random_labels(n, n_labels, per_point=3, seed=seed)


def fitted(kind, X, Y, **options):
    return kind(**{"n_trees": 4, "random_state": 0, **options}).fit(X, Y)


def chances_of_labels(n_labels, seed=0):
    return np.random.default_rng(seed).uniform(0.05, 1, n_labels)


def as_entries(chances, Y):
    """The same propensities, told for each point and label."""
    return sp.csr_array((chances[Y.indices], Y.indices, Y.indptr), shape=Y.shape)


def formula(Y, a, b):
    n, counts = Y.shape[0], Y.toarray().sum(axis=0, dtype=np.float64)
    return 1 / (1 + (np.log(n) - 1) * (b + 1) ** a * (counts + b) ** -a)


def check_leaves(model, X, weighted):
    """Every leaf holds the mean of the weights of the points that reach it."""
    leaves, _ = walk(model, X)
    held = averages(model)
    for tree in range(leaves.shape[1]):
        for leaf in np.unique(leaves[:, tree]):
            mean = weighted[leaves[:, tree] == leaf].mean(axis=0)
            np.testing.assert_allclose(held[leaf], mean, rtol=1e-5)


@pytest.mark.parametrize("constants", [(0.55, 1.5), (0.5, 0.4)])
def test_leaves_hold_means_weighted_by_the_estimated_propensities(constants):
    X, Y = noisy()
    a, b = constants
    model = fitted(PfastXMLClassifier, X, Y, propensity=metrics.propensity(Y, a=a, b=b))
    expected = formula(Y, a, b)
    np.testing.assert_allclose(np.asarray(model.propensity_), expected, rtol=1e-12)
    check_leaves(model, X, Y.toarray() / expected)


def test_leaves_hold_means_weighted_by_the_propensity_of_points_and_labels():
    X, Y = noisy()
    entries = Y.copy().astype(np.float64)
    entries.data = np.random.default_rng(3).uniform(0.1, 1, Y.nnz)
    model = fitted(PfastXMLClassifier, X, Y, propensity=entries)
    weights = np.zeros(Y.shape)
    rows = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))
    weights[rows, Y.indices] = 1 / entries.data
    check_leaves(model, X, weights)
    assert not hasattr(model, "propensity_")


def test_nodes_are_split_by_the_weights_too():
    class Weighted(FastXMLClassifier):
        def _label_weights(self, Y):
            return (1 / chances[Y.indices]).astype(np.float32)

    X, Y = noisy()
    chances = chances_of_labels(12)
    model = fitted(PfastXMLClassifier, X, Y, propensity=chances)
    assert same_trees(model, Weighted(n_trees=4, random_state=0).fit(X, Y))
    assert not np.array_equal(model.right_, fitted(FastXMLClassifier, X, Y).right_)


@BOTH
def test_where_nothing_is_missing_the_trees_are_those_of_fastxml(kind):
    X, Y = noisy()
    assert same_trees(fitted(kind, X, Y, propensity=np.ones(12)), fitted(FastXMLClassifier, X, Y))


def test_the_order_of_labels_is_a_matter_of_relative_propensities():
    X, Y = noisy()
    plain = fitted(FastXMLClassifier, X, Y)
    half = fitted(PfastXMLClassifier, X, Y, propensity=np.full(12, 0.5))
    np.testing.assert_array_equal(half.right_, plain.right_)
    np.testing.assert_array_equal(half.averages_, 2 * plain.averages_)


@settings(max_examples=10)
@given(st.integers(0, 2**31), st.integers(1, 9))
def test_propensity_repeated_for_every_point_are_those_of_the_labels(seed, n_labels):
    X, Y = random_csr(40, 8, seed=seed % 97), random_labels(40, n_labels, seed=seed % 89)
    chances = chances_of_labels(n_labels, seed)
    dense = sp.csr_array(np.tile(chances, (40, 1)))  # also where there is no label
    options = {"n_trees": 2, "max_leaf_samples": 5}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelwoodWarning)
        models = [
            fitted(PfastXMLClassifier, X, Y, propensity=given, **options)
            for given in (chances, as_entries(chances, Y), dense.tocoo())
        ]
    assert same_trees(models[0], models[1])
    assert same_trees(models[0], models[2])


@pytest.mark.parametrize(
    "form", [list, tuple, np.asarray, lambda chances: np.asarray(chances, dtype=np.float32)]
)
def test_propensity_may_come_in_any_array(form):
    X, Y = noisy()
    chances = [0.25, 0.5, 1.0, 0.125] * 3
    model = fitted(PfastXMLClassifier, X, Y, propensity=form(chances))
    assert model.propensity_.tolist() == chances
    assert model.propensity_.dtype == np.float64


def test_the_same_propensity_serve_training_and_evaluation():
    X, Y = noisy()
    chances = metrics.propensity(Y, a=0.6, b=2.6)
    given = fitted(PfastXMLClassifier, X, Y, propensity=chances)
    estimated = fitted(PfastXMLClassifier, X, Y, propensity=metrics.propensity(Y, a=0.6, b=2.6))
    assert given.propensity_ is chances
    assert estimated.propensity_ == chances
    assert same_trees(given, estimated)
    top = given.predict_topk(X)
    here, there = (metrics.psp_at_k(Y, top, 3, one) for one in (given.propensity_, chances))
    assert here == there


def test_propensity_of_an_earlier_fit_are_forgotten():
    X, Y = noisy()
    model = fitted(PfastXMLClassifier, X, Y)
    model.set_params(propensity=as_entries(chances_of_labels(12), Y)).fit(X, Y)
    assert not hasattr(model, "propensity_")


@BOTH
@pytest.mark.parametrize(
    ("propensities", "message"),
    [
        ([0.5] * 11, r"one for each of 12 labels. Got an array of shape \(11,\)"),
        (np.ones((12, 1)), r"one for each of 12 labels. Got an array of shape \(12, 1\)"),
        ([1.0] * 7 + [0.0] + [1.0] * 4, r"lie in \(0, 1\], from 1e-150 on. Got 0 for label 7"),
        ([1.0] * 7 + [-0.5] + [1.0] * 4, r"lie in \(0, 1\], from 1e-150 on. Got -0.5 for label 7"),
        ([1.5] + [1.0] * 11, r"lie in \(0, 1\], from 1e-150 on. Got 1.5 for label 0"),
        ([1.0] * 11 + [np.nan], r"lie in \(0, 1\], from 1e-150 on. Got nan for label 11"),
        ([1.0] * 11 + [1e-30], r"at least 1e-09. Got 1e-30"),
        (["much"] * 12, "Propensities must be numbers"),
    ],
)
def test_bad_propensity_of_labels_are_refused(kind, propensities, message):
    X, Y = noisy(60)
    with pytest.raises(DataError, match=message):
        fitted(kind, X, Y, propensity=propensities)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda P: P[:-1], r"the shape of Y, \(60, 12\). Got \(59, 12\)"),
        (lambda P: P[:, :-1], r"the shape of Y, \(60, 12\). Got \(60, 11\)"),
        (lambda P: P * 0, r"lie in \(0, 1\]. Got 0 in row 0, label 0"),
        (lambda P: P * -1, r"lie in \(0, 1\]. Got -1 in row 0, label 0"),
        (lambda P: P * 1.5, r"lie in \(0, 1\]. Got 1.5 in row 0, label 0"),
        (lambda P: P * np.nan, r"lie in \(0, 1\]. Got nan in row 0, label 0"),
        (lambda P: P * 1e-30, r"at least 1e-09. Got 1e-30"),
        (lambda P: P * 1j, "must hold numbers. Got dtype complex"),
        (lambda P: sp.csr_array(P.shape), r"Row 0 has label 0 and no propensity of it"),
        (lambda P: sp.csr_array(np.eye(60, 12)), "Row 0 has label 2 and no propensity of it"),
        (lambda P: sp.coo_array(P.toarray()[0]), "must have two dimensions. Got 1"),
    ],
)
def test_bad_propensity_of_points_and_labels_are_refused(change, message):
    X, Y = random_csr(60, 30), sp.csr_array(np.tile([1.0, 0, 1] + [0.0] * 9, (60, 1)))
    with (
        pytest.warns(LabelwoodWarning, match="10 of 12 labels have no sample"),
        pytest.raises(DataError, match=message),
    ):
        fitted(PfastXMLClassifier, X, Y, propensity=change(Y.copy()))


def test_propensity_of_points_cannot_be_calibrated():
    X, Y = noisy()
    entries = as_entries(chances_of_labels(12), Y)
    with pytest.raises(ParameterError, match="'calibrate' parameter of PfastXMLClassifier must be"):
        fitted(PfastXMLClassifier, X, Y, propensity=entries, calibrate=True)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("alpha", -0.1),
        ("alpha", 1.1),
        ("alpha", np.nan),
        ("gamma", 0),
        ("gamma", -1),
        ("gamma", np.inf),
        ("center", "median"),
        ("propensity", "guess"),
        ("propensity", 0.5),
        ("n_trees", 0),
    ],
)
def test_parameters_are_checked_by_name(parameter, value):
    X, Y = separable(20, 2)
    with pytest.raises(ParameterError, match=f"'{parameter}' parameter of PfastreXMLClassifier"):
        fitted(PfastreXMLClassifier, X, Y, **{parameter: value})


def combined(model, X, Y):
    """α log Q + (1 − α) log P by dense formulas; −∞ where no tree proposes the label."""
    Q = averages(model)[walk(model, X)[0]].mean(axis=1)
    rows, members = X.toarray().astype(np.float64), Y.toarray()
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
    centers = members.T @ rows / np.maximum(members.sum(axis=0), 1)[:, None]
    distances = np.square(rows[:, None] - centers[None]).sum(axis=2)
    log_p = -np.logaddexp(0, model.gamma / 2 * distances)
    log_q = np.log(np.maximum(Q, 1e-300))
    return np.where(Q > 0, model.alpha * log_q + (1 - model.alpha) * log_p, -np.inf)


@pytest.mark.parametrize(("alpha", "gamma"), [(0.8, 30), (0.3, 2), (0, 30), (1, 30)])
def test_scores_and_rankings_are_those_of_the_dense_formula(alpha, gamma):
    X, Y = noisy()
    model = fitted(
        PfastreXMLClassifier, X, Y, n_trees=2, max_leaf_samples=3, alpha=alpha, gamma=gamma
    )
    expected = combined(model, X, Y)
    scores = model.decision_function(X)
    assert scores.nnz == np.isfinite(expected).sum() < Y.shape[0] * Y.shape[1]
    rows = np.repeat(np.arange(Y.shape[0]), np.diff(scores.indptr))
    np.testing.assert_allclose(scores.data, expected[rows, scores.indices], atol=1e-4)
    top = model.predict_topk(X, 5)
    best = -np.sort(-expected, axis=1)[:, :5]
    np.testing.assert_allclose(top.scores, best, atol=1e-4)
    there = top.labels >= 0
    np.testing.assert_array_equal(there, np.isfinite(best))
    taken = np.take_along_axis(expected, np.maximum(top.labels, 0), axis=1)
    np.testing.assert_allclose(taken[there], top.scores[there], atol=1e-4)


def test_only_the_candidates_that_the_trees_like_best_are_ranked_again():
    X, Y = noisy()
    model = fitted(PfastreXMLClassifier, X, Y, n_trees=2, max_leaf_samples=3)
    every = model.decision_function(X)
    model.set_params(max_candidates=2)
    kept = model.decision_function(X)
    assert np.diff(kept.indptr).max() == 2
    trees = fitted(PfastXMLClassifier, X, Y, n_trees=2, max_leaf_samples=3)
    best = trees.predict_topk(X, 2)
    for row in range(X.shape[0]):
        wanted = sorted(label for label in best.labels[row] if label >= 0)
        assert kept[[row]].indices.tolist() == wanted
        np.testing.assert_array_equal(kept[[row]].data, every[[row]].toarray()[0, wanted])


def test_gains_without_the_normalizer_weigh_samples_with_many_labels_more():
    X, Y = noisy()
    trees = [
        fitted(PfastXMLClassifier, X, Y, n_trees=3, max_leaf_samples=3, gain=gain)
        for gain in ("ndcg", "dcg")
    ]
    assert trees[0].n_leaves_.tolist() != trees[1].n_leaves_.tolist()
    one_label = Y[:, :1]  # with one label a sample the best DCG is 1 for all
    same = [
        fitted(PfastXMLClassifier, X, one_label, n_trees=2, gain=gain).decision_function(X)
        for gain in ("ndcg", "dcg")
    ]
    np.testing.assert_array_equal(same[0].toarray(), same[1].toarray())


@pytest.mark.parametrize("k", [1, 3, 9])
def test_of_equal_scores_the_smaller_label_comes_first(k):
    scores = sp.random_array((50, 8), density=0.5, format="csr", rng=np.random.default_rng(0))
    scores = scores.astype(np.float32)
    scores.data = np.random.default_rng(1).integers(-2, 2, scores.nnz).astype(np.float32)
    expected = TopK.from_csr(scores, k)
    labels, values = topk_of_scores(csr_arrays(scores), k)
    np.testing.assert_array_equal(labels, expected.labels)
    np.testing.assert_array_equal(values, expected.scores)


def test_the_tail_classifiers_are_those_of_the_same_points():
    X, Y = noisy()
    model = fitted(PfastreXMLClassifier, X, Y, center="likelihood", gamma=3)
    alone = TailClassifier(center="likelihood", gamma=3, propensity="estimate").fit(X, Y)
    np.testing.assert_array_equal(model.tail_.centers_data_, alone.centers_data_)
    means = fitted(PfastreXMLClassifier, X, Y, gamma=3)
    assert not np.allclose(model.predict_topk(X).scores, means.predict_topk(X).scores)


def test_it_ranks_as_a_reranked_forest_does():
    X, Y = noisy()
    trees = PfastXMLClassifier(n_trees=4, random_state=0)
    model = fitted(PfastreXMLClassifier, X, Y)
    other = RerankedClassifier(trees, n_candidates=12).fit(X, Y).predict_topk(X, 12)
    np.testing.assert_allclose(model.predict_topk(X, 12).scores, other.scores, atol=1e-5)


def test_trees_alone_rank_when_they_have_all_the_weight():
    X, Y = noisy()
    trees = fitted(PfastXMLClassifier, X, Y).predict_topk(X)
    both = fitted(PfastreXMLClassifier, X, Y, alpha=1).predict_topk(X)
    np.testing.assert_allclose(both.scores, np.log(trees.scores), rtol=1e-5, atol=1e-6)


def test_predict_gives_what_the_trees_alone_predict():
    X, Y = noisy()
    alone = fitted(PfastXMLClassifier, X, Y).predict(X)
    predicted = fitted(PfastreXMLClassifier, X, Y, alpha=0.1).predict(X)
    assert predicted.nnz > 0
    np.testing.assert_array_equal(predicted.toarray(), alone.toarray())


@pytest.mark.parametrize("n_classes", [2, 5])
def test_one_class_a_point_is_the_best_after_ranking_again(n_classes):
    X, _ = noisy(150)
    names = [f"class {c}" for c in np.arange(150) % n_classes]
    model = fitted(PfastreXMLClassifier, X, names, n_trees=1, max_leaf_samples=1, alpha=0.5)
    scores = model.decision_function(X)
    assert scores.shape == ((150,) if n_classes == 2 else (150, 5))
    assert model.predict(X).tolist() == [name for (name,) in model.predict_topk(X, 1).names()]
    if n_classes == 5:  # leaves of one point propose one class
        assert np.median((scores == np.finfo(np.float32).min).sum(axis=1)) == 4


@BOTH
def test_a_label_without_points_is_told_of_once_and_never_predicted(kind):
    X, Y = separable(60, 4)
    Y = sp.csr_array(sp.hstack([Y, sp.csr_array((60, 2))]))
    with pytest.warns(LabelwoodWarning, match="2 of 6 labels have no sample") as told:
        model = fitted(kind, X, Y)
    assert len(told) == 1
    assert model.predict_topk(X, k=6).labels.max() == 3
    assert len(model.propensity_) == 6


@BOTH
def test_points_that_nothing_separates_share_one_leaf(kind):
    Y = random_labels(40, 5)
    model = fitted(kind, sp.csr_array((40, 6), dtype=np.float32), Y, propensity=np.full(5, 0.25))
    assert model.n_leaves_.tolist() == [1, 1, 1, 1]
    np.testing.assert_allclose(
        np.sort(model.averages_[: model.leaf_indptr_[1]]), np.sort(4 * Y.toarray().mean(axis=0))
    )
    assert model.predict_topk(sp.csr_array((3, 6), dtype=np.float32)).labels.shape == (3, 5)


@BOTH
def test_threads_do_not_change_a_single_byte(kind):
    X, Y = noisy(700)
    one, two = (fitted(kind, X, Y, n_trees=9, n_jobs=n) for n in (1, 2))
    assert same_trees(one, two)
    assert one.predict_topk(X).scores.tobytes() == two.predict_topk(X).scores.tobytes()


def test_a_row_scores_alone_as_it_does_among_others():
    X, Y = noisy(600)
    model = fitted(PfastreXMLClassifier, X, Y)
    together = model.predict_topk(X, 4)
    for i in (0, 17, 599):
        alone = model.predict_topk(X[[i]], 4)
        np.testing.assert_array_equal(alone.labels[0], together.labels[i])
        np.testing.assert_array_equal(alone.scores[0], together.scores[i])


@BOTH
@pytest.mark.parametrize(
    "propensities",
    [
        lambda Y: None,
        lambda Y: chances_of_labels(12),
        lambda Y: metrics.propensity(Y),
        lambda Y: as_entries(chances_of_labels(12), Y),
    ],
    ids=["none", "array", "object", "entries"],
)
def test_a_saved_model_predicts_and_grows_as_before(kind, propensities, tmp_path):
    X, Y = noisy()
    model = fitted(kind, X, Y, propensity=propensities(Y))
    labelwood.save(model, tmp_path / "model")
    loaded = labelwood.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_topk(X).scores, model.predict_topk(X).scores)
    assert loaded.model_size == model.model_size
    assert same_trees(loaded.add_trees(X, Y, 2), model.add_trees(X, Y, 2))


@BOTH
@pytest.mark.parametrize("by_points", [False, True])
def test_added_trees_are_those_of_a_larger_fit(kind, by_points):
    X, Y = noisy()
    given = as_entries(chances_of_labels(12), Y) if by_points else None
    grown = fitted(kind, X, Y, n_trees=2, propensity=given).add_trees(X, Y, 3)
    whole = fitted(kind, X, Y, n_trees=5, propensity=given)
    assert same_trees(grown, whole)
    assert grown.predict_topk(X).scores.tobytes() == whole.predict_topk(X).scores.tobytes()


def test_added_trees_use_the_propensity_of_the_fit():
    X, Y = noisy()
    model = fitted(PfastXMLClassifier, X, Y)
    before = np.asarray(model.propensity_).tolist()
    same = fitted(PfastXMLClassifier, X, Y, propensity=np.asarray(model.propensity_))
    assert same_trees(model.add_trees(X[:90], Y[:90], 2), same.add_trees(X[:90], Y[:90], 2))
    assert np.asarray(model.propensity_).tolist() == before


def test_propensity_of_points_must_fit_the_points_of_added_trees():
    X, Y = noisy()
    entries = as_entries(chances_of_labels(12), Y)
    model = fitted(PfastXMLClassifier, X, Y, propensity=entries)
    with pytest.raises(DataError, match=r"must have the shape of Y, \(90, 12\). Got \(200, 12\)"):
        model.add_trees(X[:90], Y[:90], 1)
    model.set_params(propensity=entries[:90]).add_trees(X[:90], Y[:90], 1)
    assert model.roots_.size == 5
    with pytest.raises(DataError, match="propensities for each sample and label: give such again"):
        model.set_params(propensity=None).add_trees(X, Y, 1)


def test_trees_cannot_bring_labels_that_have_no_center():
    X, Y = noisy()
    some = np.flatnonzero(Y[:, [11]].toarray().ravel() == 0)
    with pytest.warns(LabelwoodWarning, match="1 of 12 labels has no sample"):
        model = fitted(PfastreXMLClassifier, X[some], Y[some])
    with pytest.raises(DataError, match="Label 11 had no sample in fit: fit again"):
        model.add_trees(X, Y, 1)
    assert model.roots_.size == 4


@BOTH
def test_calibrated_scores_are_chances(kind):
    X, Y = separable(300, 6)
    model = fitted(kind, X, Y, calibrate=True)
    chances = model.predict_proba(X)
    assert chances.shape == Y.shape
    assert 0 <= chances.data.min() < chances.data.max() <= 1
    order, scored = model.predict_topk(X, proba=True), model.predict_topk(X)
    np.testing.assert_array_equal(order.labels, scored.labels)


@pytest.mark.parametrize(
    "change",
    [
        lambda model: setattr(model, "propensity_", np.ones(3)),
        lambda model: setattr(model, "propensity_", np.zeros(12)),
        lambda model: delattr(model, "propensity_"),
    ],
)
def test_damaged_propensity_are_refused(change):
    model = fitted(PfastXMLClassifier, *noisy())
    model._check_fitted()
    change(model)
    with pytest.raises(DataError, match="Propensities must"):
        model._check_fitted()


def test_damaged_tail_classifiers_are_refused():
    X, Y = noisy()
    model = fitted(PfastreXMLClassifier, X, Y)
    model._check_fitted()
    model.tail_ = TailClassifier().fit(X, Y[:, :11])
    with pytest.raises(DataError, match="tail_ must know the features and labels of the trees"):
        model._check_fitted()
    model.tail_ = None
    with pytest.raises(DataError, match="tail_ must be of type TailClassifier"):
        model._check_fitted()


def test_leaf_averages_estimate_the_labels_that_points_really_have():
    """Where all points share a leaf, over many drops the mean average is the true share."""
    complete = random_labels(500, 6, per_point=2)
    chances = np.array([0.9, 0.7, 0.5, 0.4, 0.3, 0.2])
    rng = np.random.default_rng(0)
    X = sp.csr_array((500, 1), dtype=np.float32)
    sums = np.zeros(6)
    for _ in range(200):
        kept = rng.random(complete.nnz) < chances[complete.indices]
        Y = complete.copy()
        Y.data = kept.astype(np.float32)
        model = PfastXMLClassifier(n_trees=1, propensity=chances).fit(X, Y)
        sums += model.decision_function(X[:1]).toarray()[0]
    # Standard errors are below √(share (1/p − 1)/500/200) < 0.005.
    np.testing.assert_allclose(sums / 200, complete.toarray().mean(axis=0), atol=0.02)


def complete_figures(kind, made, **options):
    model = kind(n_trees=20, random_state=0, n_jobs=2, **options).fit(made.train.X, made.train.Y)
    top = model.predict_topk(made.test.X, 5)
    measures = (metrics.precision_at_k, metrics.ndcg_at_k)
    return [measure(made.test_complete, top, k) for measure in measures for k in (1, 3, 5)]


def test_with_labels_missing_the_complete_truth_is_found_better_than_by_fastxml():
    gains = []
    for seed in range(3):
        made = synthetic(3000, 1000, 150, drop_labels=True, random_state=seed)
        weighted = complete_figures(PfastXMLClassifier, made, propensity=made.propensity)
        gains.append(np.subtract(weighted, complete_figures(FastXMLClassifier, made)))
    assert np.all(np.mean(gains, axis=0) > 0.005)


@pytest.mark.shared
def test_rare_labels_of_bibtex_are_found_sooner_than_by_fastxml(shared_data):
    folder = shared_data / "bibtex"
    train, test = (load_dataset(folder / f"{part}.txt.xz") for part in ("train", "test"))
    chances = metrics.propensity(train.Y)
    figures = []
    for kind in (FastXMLClassifier, PfastreXMLClassifier):
        model = kind(n_trees=20, random_state=0, n_jobs=2).fit(train.X, train.Y)
        top = model.predict_topk(test.X, 5)
        figures.append([metrics.psp_at_k(test.Y, top, k, chances) for k in (1, 3, 5)])
    assert np.all(np.subtract(figures[1], figures[0]) > 0.01)


def test_likeliest_centers_want_propensity_of_labels():
    X, Y = noisy()
    chances = as_entries(chances_of_labels(12), Y)
    with pytest.raises(
        ParameterError, match=r"'center' parameter .* must be 'mean' with propensities"
    ):
        fitted(PfastreXMLClassifier, X, Y, center="likelihood", propensity=chances)


@pytest.mark.parametrize("alpha", [-0.1, 1.5, np.nan])
def test_a_weight_out_of_range_is_refused_after_the_fit_too(alpha):
    X, Y = noisy()
    model = fitted(PfastreXMLClassifier, X, Y).set_params(alpha=alpha)
    with pytest.raises(ParameterError, match="The 'alpha' parameter of PfastreXMLClassifier"):
        model.predict_topk(X)


def test_rows_are_scored_in_blocks_as_they_are_all_at_once(monkeypatch):
    X, Y = noisy(600)
    model = fitted(PfastreXMLClassifier, X, Y)
    whole, scores = model.predict_topk(X, 4), model.decision_function(X)
    monkeypatch.setattr(pfastrexml, "_PAIRS", 1)  # blocks of 256 rows
    parts = model.predict_topk(X, 4)
    np.testing.assert_array_equal(parts.labels, whole.labels)
    np.testing.assert_array_equal(parts.scores, whole.scores)
    assert np.array_equal(model.decision_function(X).toarray(), scores.toarray())


@pytest.mark.filterwarnings("ignore:1 of 13 labels has no sample")
def test_estimated_propensity_too_small_to_divide_by_are_refused_at_once():
    X, Y = noisy()
    Y = sp.csr_array(sp.hstack([Y, sp.csr_array((200, 1))]))
    with pytest.raises(DataError, match="Propensities must be at least 1e-09"):
        fitted(PfastXMLClassifier, X, Y, propensity=metrics.propensity(Y, a=9.0, b=1e-6))


@pytest.mark.parametrize("params", [{}, {"alpha": 0.0}, {"alpha": 1.0}, {"max_candidates": 2}])
def test_a_single_row_gets_the_labels_of_many_rows_to_the_bit(params):
    X, Y = noisy()
    model = fitted(PfastreXMLClassifier, X, Y, n_trees=3, max_leaf_samples=5).set_params(**params)
    together = model.predict_topk(X, 2)
    for row in range(X.shape[0]):
        alone = model.predict_topk(X[[row]], 2)
        np.testing.assert_array_equal(alone.labels[0], together.labels[row])
        np.testing.assert_array_equal(alone.scores[0], together.scores[row])
