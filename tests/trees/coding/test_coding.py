"""What holds for the powerset tree and for the annotation tree alike."""

import warnings
from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from builders import random_csr, random_labels, separable
from labelwood import load_dataset, metrics
from labelwood.core import memory
from labelwood.core.sparse import unit_rows
from labelwood.errors import DataError, LabelwoodWarning, ParameterError
from labelwood.linear.l2svm.solver import primal_objective
from labelwood.trees.coding.estimator import AnnotationTreeClassifier, PowersetTreeClassifier
from labelwood.trees.coding.label_sets import label_sets, merge_rare
from trees.coding.codingtrees import (
    code_lengths,
    entropy,
    label_set,
    leaf_probabilities,
    sets_of,
    shape,
    walk,
)

TREES = [PowersetTreeClassifier, AnnotationTreeClassifier]


@pytest.fixture(params=TREES, ids=lambda one: one.__name__)
def kind(request):
    return request.param


def noisy(n=80, n_labels=8, seed=0):
    """Features that tell little of the labels, so that ways differ from codes."""
    return random_csr(n, 30, 0.3, seed), random_labels(n, n_labels, seed=seed + 1)


def test_every_label_set_seen_is_one_leaf(kind):
    X, Y = noisy()
    model = kind(random_state=0).fit(X, Y)
    leaves = [label_set(model, leaf) for leaf in np.flatnonzero(model.right_ < 0)]
    assert len(leaves) == len(set(leaves)) == model.n_leaves_
    assert set(leaves) == set(sets_of(Y))


def test_training_points_take_the_decisions_of_their_own_code(kind):
    X, Y = noisy()
    model = kind(random_state=0).fit(X, Y)
    lengths = code_lengths(shape(model))
    own = [lengths[one] for one in sets_of(Y)]
    assert model.mean_decisions_ == pytest.approx(np.mean(own))
    assert model.depth_ == max(own)
    assert model.entropy_ == pytest.approx(entropy(list(Counter(sets_of(Y)).values())))


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("n", [2, 300, 1500])
def test_prediction_is_the_walk_by_dense_arithmetic(kind, normalize, n):
    X, Y = noisy(200)
    model = kind(random_state=0, normalize=normalize, n_jobs=2).fit(X, Y)
    new = random_csr(n, 30, 0.3, seed=9)
    leaves, lengths = walk(model, new)
    predicted = model.predict(new)
    assert predicted.dtype == np.float32
    assert sets_of(predicted) == [label_set(model, leaf) for leaf in leaves]
    assert model.mean_decisions(new) == pytest.approx(lengths.mean())


def test_a_row_is_predicted_alone_as_among_others(kind):
    X, Y = noisy(400, 12)
    model = kind(random_state=0).fit(X, Y)
    together = model.predict(X).toarray()
    alone = np.vstack([model.predict(X[[i]]).toarray() for i in range(60)])
    np.testing.assert_array_equal(alone, together[:60])


def test_a_beam_of_any_width_holds_all_leaves_and_scores_are_the_labels_probabilities(kind):
    X, Y = noisy()
    model = kind(random_state=0, beam=10**15).fit(X, Y)  # no wider than the tree, whatever is asked
    new = random_csr(25, 30, 0.3, seed=9)
    probabilities = leaf_probabilities(model, new)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    held = np.zeros((model.right_.size, 8))
    for leaf in np.flatnonzero(model.right_ < 0):
        held[leaf, list(label_set(model, leaf))] = 1
    np.testing.assert_allclose(
        model.decision_function(new).toarray(), probabilities @ held, rtol=1e-4, atol=1e-6
    )


def test_a_narrow_beam_follows_the_walk(kind):
    X, Y = noisy()
    model = kind(random_state=0, beam=1).fit(X, Y)
    scores = model.decision_function(X)
    assert sets_of(scores > 0) == sets_of(model.predict(X))


def test_a_wider_beam_never_finds_less(kind):
    X, Y = noisy(300, 15)
    model = kind(random_state=0).fit(X, Y)
    found = [
        model.set_params(beam=beam).decision_function(X).sum(axis=1).mean() for beam in (1, 5, 50)
    ]
    assert found[0] < found[1] < found[2]


def test_each_decision_minimises_the_squared_hinge_on_the_points_of_its_sets(kind):
    X, Y = noisy(60, 5)
    options = {"balance": 0.5, "C": 2.0, "tol": 1e-4, "prune_below": 0.0}
    model = kind(random_state=0, **options).fit(X, Y)
    matrix, own = unit_rows(X), sets_of(Y)
    for node in np.flatnonzero(model.right_ >= 0)[:6]:
        sides = [code_lengths(shape(model, child)) for child in (node + 1, model.right_[node])]
        signs = np.array([1 if one in sides[0] else -1 if one in sides[1] else 0 for one in own])
        rows = np.flatnonzero(signs)
        n_positive = np.count_nonzero(signs > 0)
        coef = np.zeros(30)
        entries = slice(*model.weight_indptr_[node : node + 2])
        coef[model.features_[entries]] = model.weights_[entries]
        intercept = model.intercepts_[node]
        costs = 2.0 * np.sqrt(rows.size / (2 * np.array([n_positive, rows.size - n_positive])))

        def value(step, rows=rows, signs=signs, coef=coef, intercept=intercept, costs=costs):
            moved, b = coef + step[:-1], intercept + step[-1]
            there = matrix[rows], signs[rows]
            plain = primal_objective(*there, moved, b, C=1.0)
            slack = np.maximum(0, 1 - there[1] * (there[0] @ moved + b)) ** 2
            cost = np.where(there[1] > 0, *costs)
            return plain + ((cost - 1) * slack).sum()

        rng = np.random.default_rng(int(node))
        steps = rng.normal(size=(30, 31)) * np.exp(rng.uniform(-7, -2, size=(30, 1)))
        assert value(np.zeros(31)) <= min(value(step) for step in steps) + 1e-4


def test_pruning_drops_small_weights_only(kind):
    X, Y = noisy()
    whole = kind(random_state=0, prune_below=0.0).fit(X, Y)
    pruned = kind(random_state=0, prune_below=0.1).fit(X, Y)
    np.testing.assert_array_equal(pruned.weights_, whole.weights_[np.abs(whole.weights_) > 0.1])


def test_what_can_be_told_is_told(kind):
    Y = random_labels(300, 6)
    X = sp.csr_array(np.eye(300, dtype=np.float32)[label_sets(Y).of_sample])
    model = kind(random_state=0, C=10.0).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X).toarray(), Y.toarray())
    assert model.mean_decisions(X) == pytest.approx(model.mean_decisions_)
    assert model.predict_topk(X, 1).hits(Y)[np.diff(Y.indptr) > 0].all()


# Rare label sets.


def brute_force_merge(counts, min_count):
    """Where each set goes: `counts` is a dictionary of label sets in their order."""
    order = list(counts)
    frequent = [one for one in order if counts[one] >= min_count]
    target = {}
    for one in order:
        near = [other for other in frequent if one & other]
        if counts[one] >= min_count or not near:
            target[one] = one
        else:
            rank = {
                other: (-len(one & other) / len(one | other), -counts[other], order.index(other))
                for other in near
            }
            target[one] = min(near, key=rank.get)
    return target


@given(st.integers(0, 10_000), st.integers(1, 6))
def test_rare_sets_go_to_the_nearest_frequent_one(seed, min_count):
    Y = random_labels(60, 6, seed=seed)
    found = label_sets(Y)
    counts = dict(zip(sets_of(found.sets), found.counts.tolist(), strict=True))
    assert counts == Counter(sets_of(Y))
    target = brute_force_merge(counts, min_count)
    merged = merge_rare(found, min_count)
    kept = sets_of(merged.sets)
    assert [kept[number] for number in merged.of_sample] == [target[one] for one in sets_of(Y)]
    assert merged.counts.tolist() == [
        sum(counts[one] for one in counts if target[one] == other) for other in kept
    ]


def test_min_count_makes_a_smaller_tree_on_the_same_samples(kind):
    X, Y = noisy(300, 10)
    whole = kind(random_state=0).fit(X, Y)
    merged = kind(random_state=0, min_count=5).fit(X, Y)
    assert merged.n_leaves_ < whole.n_leaves_
    assert merged.entropy_ < whole.entropy_
    assert merged.mean_decisions_ < whole.mean_decisions_


def test_sets_that_share_no_label_with_a_frequent_one_stay(kind):
    Y = sp.csr_array(
        np.array([[1, 0, 0]] * 6 + [[1, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=np.float32)
    )
    model = kind(random_state=0, min_count=3).fit(np.eye(9, dtype=np.float32), Y)
    leaves = {label_set(model, leaf) for leaf in np.flatnonzero(model.right_ < 0)}
    assert leaves == {frozenset({0}), frozenset({2}), frozenset()}


def test_when_no_set_is_frequent_all_stay(kind):
    X, Y = noisy()
    models = [kind(random_state=0, min_count=count).fit(X, Y) for count in (1, 1000)]
    assert models[0].n_leaves_ == models[1].n_leaves_


# Odd inputs.


def test_all_label_sets_may_be_seen_once(kind):
    X = np.eye(16, dtype=np.float32)
    Y = np.array([[i >> b & 1 for b in range(4)] for i in range(16)])
    model = kind(random_state=0, C=10.0).fit(X, Y)
    assert model.n_leaves_ == 16
    assert model.entropy_ == model.mean_decisions_ == 4
    np.testing.assert_array_equal(model.predict(X).toarray(), Y)


def test_points_without_labels_are_a_label_set_like_any_other(kind):
    X = sp.csr_array(np.array([[1, 0], [0, 1]] * 10, dtype=np.float32))
    model = kind(random_state=0, C=10.0).fit(X, [["cat"], []] * 10)
    assert model.n_leaves_ == 2
    assert model.predict(X).toarray().tolist() == [[1], [0]] * 10
    assert model.predict_topk(X[:1], 3).names() == [["cat"]]


def test_no_label_at_all_predicts_none(kind):
    X = random_csr(10, 4, 0.5)
    with pytest.warns(LabelwoodWarning, match="3 of 3 labels have no sample"):
        model = kind(random_state=0).fit(X, sp.csr_array((10, 3), dtype=np.float32))
    assert (model.n_leaves_, model.entropy_, model.mean_decisions_) == (1, 0, 0)
    assert model.predict(X).nnz == 0
    assert model.predict_topk(X, 2).labels.max() == -1


def test_when_all_points_have_the_same_labels_nothing_is_decided(kind):
    X = random_csr(10, 4, 0.5)
    model = kind(random_state=0).fit(X, [["cat", "owl"]] * 10)
    assert model.mean_decisions(X) == model.mean_decisions_ == model.depth_ == 0
    assert model.predict(X).toarray().tolist() == [[1, 1]] * 10
    assert model.predict_topk(X, 2).scores.min() == 1


def test_equal_points_of_different_labels_get_the_larger_set(kind):
    X = np.ones((10, 2), dtype=np.float32)
    model = kind(random_state=0, balance=0.0).fit(X, [["cat"]] * 7 + [["dog", "owl"]] * 3)
    assert model.predict(X[:1]).toarray().tolist() == [[1, 0, 0]]


def test_points_without_features_train_and_are_predicted(kind):
    X = sp.csr_array((12, 5), dtype=np.float32)
    model = kind(random_state=0, balance=0.0).fit(X, [["cat"]] * 8 + [["dog"]] * 3 + [[]])
    assert model.features_.size == 0
    assert model.predict(X[:1]).toarray().tolist() == [[1, 0]]


def test_one_point_is_enough(kind):
    model = kind(random_state=0).fit([[1.0, 0.0]], [["cat"]])
    assert model.predict([[0.0, 1.0]]).toarray().tolist() == [[1]]


def test_one_class_a_point_is_ordinary_classification(kind):
    X = np.repeat(np.eye(3, dtype=np.float32), 10, axis=0)
    y = np.repeat(["ant", "bee", "cow"], 10)
    model = kind(random_state=0, C=10.0).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), y)
    np.testing.assert_allclose(model.decision_function(X).sum(axis=1), 1, rtol=1e-5)


def test_an_iteration_limit_is_told(kind):
    X, Y = noisy(200, 10)
    with pytest.warns(
        ConvergenceWarning, match=r"iteration limit for \d+ decisions; raise max_iter"
    ):
        model = kind(random_state=0, max_iter=1, tol=1e-6).fit(X, Y)
    assert model.n_iter_ == 1
    assert model.stop_reason_.startswith("iteration limit")


def test_values_too_large_to_be_squared_are_refused(kind):
    with pytest.raises(DataError, match="row 1 are too large to be squared"):
        kind(normalize=False).fit([[1.0], [1e30]], [["cat"], ["dog"]])


def test_a_model_that_cannot_fit_is_refused_with_a_remedy(kind, monkeypatch):
    X, Y = noisy()
    monkeypatch.setattr(memory, "available_memory", lambda: 1000)
    with pytest.raises(MemoryError, match="lower n_jobs"):
        kind(random_state=0).fit(X, Y)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("min_count", 0, "an int ≥ 1"),
        ("beam", 0, "an int ≥ 1"),
        ("balance", 1.5, "a number ≥ 0 and ≤ 1"),
        ("C", 0.0, "a number > 0"),
        ("sharpness", 0.0, "a number > 0"),
    ],
)
def test_parameters_out_of_range_are_named(kind, name, value, message):
    with pytest.raises(
        ParameterError, match=f"The '{name}' parameter of {kind.__name__} must be {message}"
    ):
        kind(**{name: value}).fit([[1.0]], [["cat"]])


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("right_", lambda a: np.where(np.arange(a.size) == 0, 0, a), "not further on"),
        (
            "right_",
            lambda a: np.where(np.arange(a.size) == a.size - 1, a.size, a),
            "not further on",
        ),
        ("right_", lambda a: np.where(a == a[0], a[0] - 1, a), "a path leads to each"),
        ("features_", lambda a: a + np.uint32(1000), "feature that does not exist"),
        ("labels_", lambda a: a + np.uint32(1000), "label that does not exist"),
        ("weights_", lambda a: a[1:], "do not fit together"),
        ("leaf_indptr_", lambda a: a[1:], "do not fit together"),
        ("intercepts_", lambda a: a[1:], "do not fit together"),
    ],
)
def test_damaged_arrays_are_refused(kind, name, change, message):
    X, Y = noisy()
    model = kind(random_state=0).fit(X, Y)
    model._check_fitted()
    setattr(model, name, change(getattr(model, name)))
    with pytest.raises(DataError, match=message):
        model._check_fitted()


def test_a_leaf_that_no_path_leads_to_is_refused(kind):
    X, Y = noisy()
    model = kind(random_state=0).fit(X, Y)
    for name in ("right_", "intercepts_", "weight_indptr_", "leaf_indptr_"):
        array = getattr(model, name)
        setattr(model, name, np.append(array, array[-1:]))
    with pytest.raises(DataError, match="a path leads to each"):
        model._check_fitted()


def test_it_is_the_same_for_every_number_of_threads(kind):
    X, Y = noisy(300, 20)
    one, two = (kind(random_state=0, n_jobs=jobs).fit(X, Y) for jobs in (1, 2))
    assert one.weights_.tobytes() == two.weights_.tobytes()
    assert one.decision_function(X).data.tobytes() == two.decision_function(X).data.tobytes()


def test_calibrated_it_gives_probabilities(kind):
    X, Y = separable(200, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelwoodWarning)
        model = kind(random_state=0, calibrate=True).fit(X, Y)
    probabilities = model.predict_proba(X).data
    assert 0 < probabilities.min() < probabilities.max() < 1


PUBLISHED = {
    ("corel5k", PowersetTreeClassifier): 0.123,
    ("corel5k", AnnotationTreeClassifier): 0.141,
    ("cal500", PowersetTreeClassifier): 0.324,
    ("cal500", AnnotationTreeClassifier): 0.362,
}


@pytest.mark.shared
@pytest.mark.filterwarnings("ignore:.*no sample")
@pytest.mark.parametrize("name", ["cal500", "corel5k"])
def test_ten_fold_f1_is_at_least_the_published_one(kind, name, shared_data):
    parts = [load_dataset(file) for file in sorted((shared_data / name).glob("*.txt.xz"))]
    X = sp.csr_array(sp.vstack([part.X for part in parts]))
    Y = sp.csr_array(sp.vstack([part.Y for part in parts]))
    order = np.random.default_rng(0).permutation(X.shape[0])
    f1 = []
    for fold in np.array_split(order, 10):
        others = np.setdiff1d(order, fold)
        model = kind(random_state=0).fit(X[others], Y[others])
        f1.append(metrics.f1_score(Y[fold], model.predict(X[fold])))
    assert np.mean(f1) > PUBLISHED[name, kind]
