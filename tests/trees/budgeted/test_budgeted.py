import importlib
import lzma
import re
from concurrent.futures import ThreadPoolExecutor
from threading import Event, local

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_svmlight_file
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import balanced_accuracy_score, recall_score
from sklearn.svm import LinearSVC
from sklearn.utils.class_weight import compute_sample_weight
from threadpoolctl import threadpool_info

import labelwood
from builders import random_csr
from labelwood.core import memory
from labelwood.core.parallel import parallel
from labelwood.core.sparse import as_csr, unit_rows
from labelwood.data.text import TextVectorizer
from labelwood.errors import (
    DataError,
    LabelwoodWarning,
    MissingExtraError,
    ModelError,
    ParameterError,
)
from labelwood.linear.budgeted.cutting_planes import solve_budgeted
from labelwood.trees.budgeted import decisions as budgeted_decisions
from labelwood.trees.budgeted import growth as budgeted_growth
from labelwood.trees.budgeted import pair_splits as budgeted_pairs
from labelwood.trees.budgeted._kernels import votes
from labelwood.trees.budgeted.decisions import draw_folds
from labelwood.trees.budgeted.estimator import BudgetedTreeClassifier, _probabilities
from labelwood.trees.budgeted.export import _number
from labelwood.trees.budgeted.pair_splits import find_pair, memory_of_pairs
from labelwood.trees.budgeted.pruning import _gains
from test_contract import fitted_bytes

FORMS = {
    "as in the paper": lambda pair, noise: (pair, noise),
    "centered": lambda pair, noise: (pair, noise - 0.5),
    "of equal variance": lambda pair, noise: (pair, (noise - 0.5) * np.sqrt(12)),
    "a tenth of the scale": lambda pair, noise: (0.1 * pair, noise - 0.5),
    "shifted": lambda pair, noise: (0.3 * pair + 5, noise),
}


def xor(n, n_noise, form="as in the paper", seed=0):
    """Two features whose signs agree in one class and differ in the other, and noise (§8.1.1)."""
    rng = np.random.default_rng(seed)
    pair = rng.standard_normal((n, 2)).astype(np.float32)
    y = np.where(pair[:, 0] * pair[:, 1] > 0, 1, -1)
    noise = rng.random((n, n_noise), dtype=np.float32)
    return np.hstack(FORMS[form](pair, noise)), y


def error_of_xor(n_train, n_noise, form, **parameters):
    X, y = xor(n_train + 2_000, n_noise, form)
    model = BudgetedTreeClassifier(random_state=0, **parameters).fit(X[:n_train], y[:n_train])
    most_used = model.selected_features_[np.argsort(-model.feature_usage_)[:2]]
    return np.mean(model.predict(X[n_train:]) != y[n_train:]), sorted(most_used.tolist())


def linear_classes(n=200, d=8, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)).astype(np.float32)
    centers = 2 * rng.standard_normal((n_classes, d))
    y = rng.integers(n_classes, size=n)
    return (X + centers[y]).astype(np.float32), y


def walk_by_hand(model, x):
    """The leaf of one dense row in the first tree, and the distance: the definition, in Python."""
    node, distance = int(model.roots_[0]), 1.0
    while model.right_[node] >= 0:
        part = slice(model.indptr_[node], model.indptr_[node + 1])
        scores = model.weights_[:, part] @ x[model.features_[part]] + model.intercepts_[:, node]
        positive = np.sum(scores > 0)
        tie = 2 * positive == scores.size
        node_is_positive = scores.sum() > 0 if tie else 2 * positive > scores.size
        distance = abs(scores.mean())
        node = node + 1 if node_is_positive else int(model.right_[node])
    return node, distance


@pytest.mark.parametrize("form", FORMS)
def test_xor_is_solved_by_its_two_features_in_every_form(form):
    error, most_used = error_of_xor(1_500, 50, form, budget=2)
    assert error < 0.06
    assert most_used == [0, 1]


@pytest.mark.slow
@pytest.mark.parametrize("n_noise", [200, 1_000, 5_000])
@pytest.mark.parametrize("form", FORMS)
def test_xor_is_solved_among_thousands_of_noise_features(n_noise, form):
    error, most_used = error_of_xor(10_000, n_noise, form, budget=3, n_jobs=2)
    assert error < 0.06
    assert most_used == [0, 1]


def test_neither_a_line_nor_linear_splits_alone_solve_centered_xor():
    X, y = xor(2_000, 60, "of equal variance")
    svm = LinearSVC().fit(X[:1_000], y[:1_000])
    model = BudgetedTreeClassifier(2, second_order=False, max_depth=3, random_state=0)
    model.fit(X[:1_000], y[:1_000])
    assert abs(svm.score(X[1_000:], y[1_000:]) - 0.5) < 0.06
    assert abs(model.score(X[1_000:], y[1_000:]) - 0.5) < 0.06


@pytest.mark.slow
@pytest.mark.parametrize("n_noise", [200, 1_000, 5_000])
def test_a_linear_machine_guesses_on_xor(n_noise):
    X, y = xor(12_000, n_noise)
    svm = LinearSVC(dual=False, tol=1e-2).fit(X[:10_000], y[:10_000])
    assert abs(svm.score(X[10_000:], y[10_000:]) - 0.5) < 0.04


def test_a_class_between_two_others_of_the_same_feature_is_found():
    X = np.random.default_rng(0).standard_normal((2_000, 30))
    y = np.abs(X[:, 4]) < 0.7
    model = BudgetedTreeClassifier(1, random_state=0).fit(X[:1_500], y[:1_500])
    assert model.score(X[1_500:], y[1_500:]) > 0.95
    assert model.kinds_[0] == "second order"


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 6))]
)
def test_labels_without_meaning_give_one_leaf_or_two(seed):
    rng = np.random.default_rng(seed)
    n = 600 if seed == 0 else 2_000
    X, y = rng.standard_normal((n, 20)), rng.random(n) < 0.5
    assert BudgetedTreeClassifier(3, max_depth=6, random_state=0).fit(X, y).n_leaves_ <= 2


def test_a_pair_is_that_of_the_largest_difference_of_mean_products():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((400, 7))
    signs = np.where(X[:, 1] * X[:, 5] + 0.5 * rng.standard_normal(400) > 0, 1.0, -1.0)
    Z = X.astype(np.float32) - X.astype(np.float32).mean(axis=0, dtype=np.float64)

    def z(j, k):
        one, other = (Z[signs == s, j] * Z[signs == s, k] for s in (1, -1))
        variance = np.concatenate([one, other]).var()  # as if the classes were the same
        return abs(one.mean() - other.mean()) / np.sqrt(variance / one.size + variance / other.size)

    best = max((z(j, k), j, k) for j in range(7) for k in range(j, 7))
    found = find_pair(as_csr(X), signs)
    assert {found.feature, found.partner} == set(best[1:])
    assert found.z == pytest.approx(best[0], rel=1e-6)


def test_dense_and_sparse_searches_agree():
    X = random_csr(300, 20, density=0.4)
    contrast = budgeted_pairs._contrast(np.where(np.arange(300) % 3, 1.0, -1.0))
    _, means, deviations = budgeted_pairs._candidates(X)
    dense = budgeted_pairs._dense_pairs(X, contrast, means, deviations)
    sparse = budgeted_pairs._sparse_pairs(X, contrast, means, deviations)
    assert dense == sparse


def test_words_that_exclude_each_other_are_found_in_sparse_rows():
    rng = np.random.default_rng(0)
    noise = sp.random_array((3_000, 2_000), density=0.01, format="csr", rng=rng)
    words = rng.random((3_000, 2)) < 0.5
    X = as_csr(sp.hstack([noise, sp.csr_array(words.astype(float))]))
    found = find_pair(X, np.where(words[:, 0] ^ words[:, 1], 1.0, -1.0))
    assert {found.feature, found.partner} == {2_000, 2_001}


@pytest.mark.parametrize(
    ("n", "d", "density", "share"),
    [
        (300, 15, 1.0, 0.5),
        (1_000, 60, 0.1, 0.1),  # one product in a hundred is not 0, and few are in the class
        (3_000, 60, 0.09, 0.5),
        (1_500, 25, 0.5, 0.1),
    ],
)
def test_features_without_meaning_hardly_ever_pass_for_a_pair(n, d, density, share):
    n_found = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        X = as_csr(sp.random_array((n, d), density=density, format="csr", rng=rng))
        signs = np.where(rng.random(n) < share, 1.0, -1.0)
        n_found += find_pair(X, signs) is not None
    assert n_found <= 5


def test_a_pair_of_a_small_class_is_found_in_sparse_rows():
    rng = np.random.default_rng(0)
    words = rng.random((6_000, 200)) < 0.1
    words[:, :2] = rng.random((6_000, 2)) < 0.3
    probability = np.where(words[:, 0] & words[:, 1], 0.4, 0.1)
    found = find_pair(
        as_csr(words.astype(float)), np.where(rng.random(6_000) < probability, 1.0, -1.0)
    )
    assert {found.feature, found.partner} == {0, 1}


@pytest.mark.parametrize("work", [10, 2_000, 50_000])
def test_a_sparse_search_holds_no_more_products_than_it_may(work, monkeypatch):
    held = []

    def compare(X, *others):
        held.append((np.diff(X.indptr).astype(float) ** 2).sum())
        return pairs(X, *others)

    pairs = budgeted_pairs._sparse_pairs
    monkeypatch.setattr(budgeted_pairs, "_sparse_pairs", compare)
    monkeypatch.setattr(budgeted_pairs, "_SPARSE_WORK", work)
    X = random_csr(1_000, 400, density=0.08)
    find_pair(X, np.where(np.arange(1_000) % 2, 1.0, -1.0))
    assert all(work / 2 < n_products <= work for n_products in held)
    assert held or work == 10  # where not even one column is left


def test_columns_that_a_sparse_search_leaves_out_are_the_rarest(monkeypatch):
    rng = np.random.default_rng(0)
    words = rng.random((2_000, 300)) < 0.05
    words[:, [120, 250]] = rng.random((2_000, 2)) < 0.5
    monkeypatch.setattr(budgeted_pairs, "_SPARSE_WORK", 5_000)
    X = as_csr(words.astype(float))
    found = find_pair(X, np.where(words[:, 120] ^ words[:, 250], 1.0, -1.0))
    assert {found.feature, found.partner} == {120, 250}


def test_few_points_of_a_class_or_constant_features_give_no_pair():
    X, y = xor(300, 3)
    assert find_pair(as_csr(X[:40]), y[:40].astype(float)) is None
    assert find_pair(as_csr(np.ones((300, 3))), y.astype(float)) is None
    assert find_pair(sp.csr_array((300, 3), dtype=np.float32), y.astype(float)) is None


def test_most_folds_decide_and_of_equally_many_the_mean():
    scores = np.array([[1.0, 1.0, -1.0], [1.0, -3.0, 3.0], [-9.0, -1.0, 0.0], [1.0, 1.0, 0.0]])
    sides, means = np.empty(3), np.empty(3)
    votes(scores[:3].copy(), sides, means)
    assert sides.tolist() == [1, -1, -1]
    votes(scores, sides, means)
    assert sides.tolist() == [1, -1, -1]
    np.testing.assert_allclose(means, scores.mean(axis=0))


@pytest.mark.parametrize("n_folds", [2, 5])
def test_prediction_is_a_walk_by_votes(n_folds):
    X, y = xor(500, 5)
    model = BudgetedTreeClassifier(2, n_folds=n_folds, random_state=0).fit(X, y)
    assert model.depth_ >= 2
    by_hand = [walk_by_hand(model, row) for row in X[:100]]
    assert model.apply(X[:100])[:, 0].tolist() == [leaf for leaf, _ in by_hand]
    expected = [model.slopes_[leaf] * distance for leaf, distance in by_hand]
    np.testing.assert_allclose(model.decision_function(X[:100]), expected, rtol=1e-6)


def test_nodes_hold_the_points_of_their_children():
    X, y = xor(1_000, 20)
    model = BudgetedTreeClassifier(2, prune=False, random_state=0).fit(X, y)
    for node in np.flatnonzero(model.right_ >= 0):
        children = [node + 1, model.right_[node]]
        assert model.n_samples_[node] == model.n_samples_[children].sum()
        np.testing.assert_allclose(model.totals_[node], model.totals_[children].sum(axis=0))
        below = model.subtree_errors_[children].sum(axis=0)
        np.testing.assert_allclose(model.subtree_errors_[node], below)
        assert model.depths_[children].tolist() == [model.depths_[node] + 1] * 2
    assert model.n_leaves_ == np.count_nonzero(model.right_ >= 0) + 1


@pytest.mark.parametrize("prune", [True, False])
def test_the_errors_of_a_leaf_are_those_of_the_label_it_predicts(prune):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((400, 6)), rng.random(400) < 0.45
    weights = rng.uniform(0.5, 2, 400)
    model = BudgetedTreeClassifier(2, min_gain=0, prune=prune, random_state=0)
    rules = model.fit(X, y, sample_weight=weights).rules()
    assert len(rules) > 4
    for rule in rules:
        totals = model.totals_[rule.node]
        assert rule.label == str(totals[1] > totals[0])
        assert model.subtree_errors_[rule.node, 0] == pytest.approx(totals.min())


def test_rules_tell_the_stricter_errors():
    X, y = linear_classes(150, 30)
    y[:30] = 1 - y[:30]
    model = BudgetedTreeClassifier(6, max_depth=1, random_state=0).fit(X, y)
    rules = model.rules()
    assert {rule.label for rule in rules} == {"0", "1"}
    wrong = sum(rule.error * model.totals_[rule.node].sum() for rule in rules)
    assert wrong == pytest.approx(model.cv_errors_[0])
    assert wrong > sum(model.totals_[rule.node].min() for rule in rules)
    assert all(f"{rule.support} samples, {rule.error:.1%} wrong" in str(rule) for rule in rules)
    assert all(f"{rule.error:.1%} wrong" in model.export_text() for rule in rules)


def test_a_decision_whose_sides_predict_the_same_gains_nothing():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((400, 6)), rng.random(400) < 0.45
    model = BudgetedTreeClassifier(2, prune=False, random_state=0).fit(X, y)
    inner = np.flatnonzero(model.right_ >= 0)
    children = np.column_stack([inner + 1, model.right_[inner]])
    same = (model.right_[children] < 0).all(axis=1) & (model.slopes_[children].prod(axis=1) > 0)
    assert same.any()
    alone = model.totals_[inner[same]].min(axis=1)
    np.testing.assert_array_equal(model.subtree_errors_[inner[same]], np.column_stack([alone] * 2))


def test_pruning_keeps_what_lowers_errors():
    X, y = xor(600, 10)
    y[:180] *= -1
    whole = BudgetedTreeClassifier(2, prune=False, random_state=0).fit(X, y)
    model = clone(whole).set_params(prune=True).fit(X, y)
    assert 4 <= model.n_leaves_ < whole.n_leaves_
    inner = np.flatnonzero(model.right_ >= 0)
    assert (model.subtree_errors_[inner].min(axis=1) < model.totals_[inner].min(axis=1)).all()


@pytest.mark.parametrize(
    ("below", "n_leaves", "min_gain", "kept"),
    [
        ([99, 89], 2, 1, True),  # held-out errors fall by more than √100
        ([99, 91], 2, 1, False),
        ([99, 91], 2, 0, True),
        ([100, 100], 2, 0, False),
        ([100, 50], 2, 1, False),  # what is predicted is no better
        ([99, 79], 8, 1, True),  # labels of eight leaves explain √(100 × 4)
        ([99, 81], 8, 1, False),
        ([69, 100], 2, 1, True),  # a choice explains √(100 × 9)
        ([71, 100], 2, 1, False),
    ],
)
def test_a_gain_is_more_than_chance_or_choice_explains(below, n_leaves, min_gain, kept):
    least = min_gain * np.sqrt(100 * np.array([9.0, n_leaves / 2]))
    assert _gains(np.array([100.0, 100.0]), np.array(below, dtype=float), least) is kept


def rare(n, seed=0):
    """A class of 3 % of the samples, which is the rarer one everywhere but common on one side."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 12))
    return X, rng.random(n) < np.where(X[:, 4] > 1.5, 0.4, 0.004)


def test_a_class_that_is_nowhere_the_commoner_one_needs_balanced_weights():
    X, y = rare(6_000)
    plain = BudgetedTreeClassifier(1, min_gain=1, random_state=0).fit(X[:3_000], y[:3_000])
    model = clone(plain).set_params(class_weight="balanced").fit(X[:3_000], y[:3_000])
    assert plain.n_leaves_ == 1
    assert model.selected_features_.tolist() == [4]
    assert balanced_accuracy_score(y[3_000:], model.predict(X[3_000:])) > 0.85


def test_a_rare_class_that_can_be_told_apart_needs_no_weights():
    X = np.random.default_rng(0).standard_normal((4_000, 12))
    y = X[:, 4] + X[:, 7] > 2.7
    model = BudgetedTreeClassifier(2, random_state=0).fit(X[:2_000], y[:2_000])
    assert y.mean() < 0.03
    assert recall_score(y[2_000:], model.predict(X[2_000:])) > 0.85


def test_balanced_weights_are_sample_weights_in_the_tree_of_each_class():
    X, y = linear_classes(300, 6, 3)
    y[::4] = 0
    model = BudgetedTreeClassifier(2, class_weight="balanced", random_state=0).fit(X, y)
    np.testing.assert_allclose(model.totals_[model.roots_], 150)
    two = y == 0
    weights = compute_sample_weight("balanced", two)
    one = clone(model).set_params(class_weight=None).fit(X, two, sample_weight=weights)
    other = clone(model).fit(X, two)
    np.testing.assert_array_equal(other.features_, one.features_)
    np.testing.assert_allclose(other.weights_, one.weights_, rtol=1e-6, atol=1e-9)


def test_a_class_whose_points_weigh_nothing_has_a_leaf_of_the_others():
    X, y = linear_classes(120, 4, 3)
    weights = (y != 1).astype(float)
    model = BudgetedTreeClassifier(2, class_weight="balanced", random_state=0)
    model.fit(X, y, sample_weight=weights)
    assert np.isfinite(model.totals_).all()
    assert 1 not in model.predict(X)
    root = model.roots_[1]
    assert (model.kinds_[root], model.totals_[root, 1]) == ("one class", 0)


@pytest.mark.slow
def test_heavy_points_without_meaning_give_small_trees():
    n_leaves = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((1_000, 20)), rng.random(1_000) < 0.06
        model = BudgetedTreeClassifier(3, class_weight="balanced", max_depth=4, random_state=0)
        n_leaves.append(model.fit(X, y).n_leaves_)
    assert np.mean(n_leaves) < 5  # 7 if weights were taken for counts, 16 without pruning


def test_held_out_errors_of_a_root_are_those_of_its_folds():
    from labelwood.linear.budgeted.estimator import BudgetedClassifier

    X, y = linear_classes(150, 6)
    y[:20] = 1 - y[:20]
    model = BudgetedTreeClassifier(2, max_depth=1, random_state=0).fit(X, y)
    folds = draw_folds(y, 5, 0)
    wrong = 0
    for fold in range(5):
        one = BudgetedClassifier(2).fit(X[folds != fold], y[folds != fold])
        wrong += np.sum(one.predict(X[folds == fold]) != y[folds == fold])
    assert model.cv_errors_[0] == wrong


@given(
    sizes=st.lists(st.integers(0, 30), min_size=1, max_size=4).filter(sum),
    n_folds=st.integers(2, 6),
)
def test_folds_share_every_class_evenly(sizes, n_folds):
    codes = np.repeat(np.arange(len(sizes)), sizes)
    folds = draw_folds(codes, n_folds, 0)
    for label in range(len(sizes)):
        counts = np.bincount(folds[codes == label], minlength=n_folds)
        assert counts.max() - counts.min() <= 1


def test_several_classes_have_a_tree_each():
    X, y = linear_classes(600, 6, 4)
    names = np.array(["ash", "birch", "cedar", "date"])[y]
    model = BudgetedTreeClassifier(6, random_state=0).fit(X[:400], names[:400])
    assert model.roots_.size == 4
    probabilities = model.predict_proba(X[400:])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert model.score(X[400:], names[400:]) > 0.85
    assert {rule.tree for rule in model.rules()} == {0, 1, 2, 3}
    assert "tree of cedar" in model.export_text()


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_likeliest_class_is_the_predicted_one_however_far_a_point_is(n_classes):
    X, y = linear_classes(400, 6, n_classes)
    model = BudgetedTreeClassifier(3, random_state=0).fit(X, y)
    for scale in (0.0, 1e-12, 1e3, 1e5, 1e30):
        far = (scale * X).astype(np.float32)
        probabilities = model.predict_proba(far)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1)
        likeliest = model.classes_[probabilities.argmax(axis=1)]
        np.testing.assert_array_equal(likeliest, model.predict(far))


def test_chances_are_those_of_the_trees_over_their_sum():
    logits = np.array([[0.5, -1.0, 2.0], [-800.0, -790.0, -2_000.0], [50.0, 60.0, 55.0]])
    probabilities = _probabilities(logits)
    each = 1 / (1 + np.exp(-logits[0]))
    np.testing.assert_allclose(probabilities[0], each / each.sum())
    np.testing.assert_allclose(probabilities[1], [1 / (1 + np.exp(10)), 1 / (1 + np.exp(-10)), 0])
    np.testing.assert_allclose(probabilities[2], 1 / 3)
    assert probabilities.argmax(axis=1).tolist() == [2, 1, 1]


def test_chances_are_close_to_frequencies():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4_000, 5))
    y = rng.random(4_000) < 1 / (1 + np.exp(-2 * X[:, 0]))
    probabilities = (
        BudgetedTreeClassifier(1, random_state=0).fit(X[:2000], y[:2000]).predict_proba(X)
    )
    for low in (0.0, 0.2, 0.5, 0.8):
        there = (probabilities[2000:, 1] >= low) & (probabilities[2000:, 1] < low + 0.2)
        assert abs(probabilities[2000:, 1][there].mean() - y[2000:][there].mean()) < 0.1


def test_usage_counts_the_points_that_pass():
    X, y = xor(1_000, 10)
    model = BudgetedTreeClassifier(2, random_state=0).fit(X, y)
    counts, usage = dict.fromkeys(range(12), 0), dict.fromkeys(range(12), 0.0)
    for node in range(model.right_.size):
        for feature in model.features_[model.indptr_[node] : model.indptr_[node + 1]]:
            counts[int(feature)] += 1
            usage[int(feature)] += model.n_samples_[node] / 1_000
    used = [feature for feature in range(12) if counts[feature]]
    assert model.selected_features_.tolist() == used
    assert model.feature_counts_.tolist() == [counts[feature] for feature in used]
    np.testing.assert_allclose(model.feature_usage_, [usage[feature] for feature in used])


def test_no_decision_uses_more_features_than_the_budget():
    X, y = linear_classes(200, 30)
    model = BudgetedTreeClassifier(3, prune=False, random_state=0).fit(X, y)
    assert np.diff(model.indptr_).max() <= 3


def test_a_budget_above_the_number_of_features_is_said_once_and_means_all_of_them():
    X, y = linear_classes(80, 4)
    with pytest.warns(LabelwoodWarning, match=r"budget=9 .* features \(4\)") as told:
        model = BudgetedTreeClassifier(9, max_depth=2, random_state=0).fit(X, y)
    assert len(told) == 1
    all_of_them = BudgetedTreeClassifier(4, max_depth=2, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.features_, all_of_them.features_)
    np.testing.assert_array_equal(model.weights_, all_of_them.weights_)


def test_decisions_of_small_planes_keep_to_the_budget_and_use_all_features_of_planes():
    X, y = linear_classes(300, 30)
    model = BudgetedTreeClassifier(8, plane_size=2, C=10, max_depth=1, random_state=0).fit(X, y)
    folds = draw_folds(y, 5, 0)
    costs = np.where(folds == np.arange(5)[:, None], 0.0, 10.0)
    signs = np.where(y == 1, 1.0, -1.0)
    root = solve_budgeted(as_csr(X), signs, costs, budget=8, plane_size=2)
    assert 2 < root.features.size <= 8
    np.testing.assert_array_equal(model.features_, root.features)
    np.testing.assert_allclose(model.weights_, root.coef)
    with pytest.raises(ParameterError, match=r"'plane_size' .* at most budget \(8\). Got 9"):
        BudgetedTreeClassifier(8, plane_size=9).fit(X, y)


def test_large_units_cost_no_more_steps_and_give_the_same_tree():
    rng = np.random.default_rng(0)
    X = rng.random((200, 8)).astype(np.float32)
    y = X[:, 0] + X[:, 1] + 0.1 * rng.normal(size=200) > 1
    ordinary = BudgetedTreeClassifier(3, random_state=0).fit(X, y)
    large = BudgetedTreeClassifier(3, random_state=0).fit(1024 * X, y)
    # Values of 0…1 have a root mean square of 0.58, and 1,024 times as large ones are divided by
    # 512: twice the ordinary ones, for which C counts four times.
    doubled = BudgetedTreeClassifier(3, C=4.0, random_state=0).fit(X, y)
    assert large.n_iter_ < 3 * ordinary.n_iter_
    assert large.n_iter_ == doubled.n_iter_
    np.testing.assert_array_equal(large.predict(1024 * X), doubled.predict(X))
    assert set(large.units_.tolist()) == {512.0}


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scaled_columns_give_the_same_tree_whatever_their_units(n_classes):
    X, y = linear_classes(300, 12, n_classes)
    units = 2.0 ** np.random.default_rng(0).integers(-15, 15, 12)  # exact in single precision
    model = BudgetedTreeClassifier(3, scale=True, random_state=0)
    one, other = clone(model).fit(X, y), clone(model).fit(X * units, y)
    np.testing.assert_array_equal(one.features_, other.features_)
    np.testing.assert_allclose(one.weights_, other.weights_ * units[other.features_])
    np.testing.assert_array_equal(one.apply(X), other.apply(X * units))
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X * units))


def test_scaled_columns_are_as_if_they_came_so():
    X, y = linear_classes(300, 12)
    X = np.asarray(X * np.arange(1, 13), dtype=np.float64)
    weights = np.random.default_rng(0).integers(0, 3, 300).astype(float)
    rows = np.repeat(np.arange(300), weights.astype(int))
    deviations = X[rows].std(axis=0) * np.sqrt(3)
    model = BudgetedTreeClassifier(3, scale=True, random_state=0).fit(X, y, weights)
    by_hand = BudgetedTreeClassifier(3, random_state=0).fit(X / deviations, y, weights)
    np.testing.assert_array_equal(model.features_, by_hand.features_)
    np.testing.assert_allclose(
        model.weights_ * deviations[model.features_], by_hand.weights_, rtol=1e-3, atol=1e-5
    )
    np.testing.assert_allclose(model.units_, deviations[model.features_])
    assert model.n_leaves_ == by_hand.n_leaves_


def test_terms_are_in_the_order_of_what_they_weigh_for_scaled_columns(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3)) * [1e4, 1, 1e-3]
    y = np.where(X[:, 0] / 1e4 + 0.5 * X[:, 1] + 100 * X[:, 2] > 0, "yes", "no")
    model = BudgetedTreeClassifier(3, scale=True, max_depth=1, random_state=0).fit(X, y)
    first = model.export_text(["income", "age", "rate"]).splitlines()[0]
    assert first.index("income") < first.index("age") < first.index("rate")
    assert "[1 smaller term]" in model.export_text(["income", "age", "rate"], max_features=2)
    labelwood.save(model, tmp_path / "model")
    assert labelwood.load(tmp_path / "model").export_text() == model.export_text()


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_the_number_of_threads_changes_nothing_for_scaled_planes(n_jobs):
    X, y = linear_classes(300, 30, 3)
    model = BudgetedTreeClassifier(8, plane_size=2, scale=True, random_state=0, n_jobs=1)
    one, other = model.fit(X, y), clone(model).set_params(n_jobs=n_jobs).fit(X, y)
    assert fitted_bytes(one) == fitted_bytes(other)


def test_the_tree_of_a_text_model_prints_words():
    texts = ["a red rose in bloom", "a red car", "a blue rose in bloom", "a blue car"] * 10
    vectorizer = TextVectorizer(min_df=1)
    X = vectorizer.fit_transform(texts)
    model = BudgetedTreeClassifier(1, random_state=0).fit(X, ["plant", "thing"] * 20)
    names = vectorizer.get_feature_names_out()
    text = model.export_text(names)
    assert any(word in text for word in ("rose", "bloom", "car"))
    assert "plant (20 samples, 0.0% wrong)" in text
    assert text.splitlines()[2] == "else"
    first, second = model.rules(names)
    assert {first.label, second.label} == {"plant", "thing"}
    assert first.conditions[0].split()[1] in ("<", ">")
    assert str(second) == f"{second.conditions[0]} → {second.label} (20 samples, 0.0% wrong)"


def test_a_decision_on_one_feature_is_printed_as_a_threshold():
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(0)
    income = rng.normal(60_000, 15_000, 400)
    X = np.column_stack([income, rng.standard_normal(400)])
    names = ["income", "noise"]
    y = np.where(income > 60_010, "rich", "poor")
    model = BudgetedTreeClassifier(1, random_state=0).fit(X, y)
    text = model.export_text(names)
    limit = float(text.splitlines()[0].removeprefix("if income > ").replace(",", ""))
    assert limit == pytest.approx(60_010, abs=300)
    assert [rule.conditions for rule in model.rules(names)] == [
        (f"income > {limit:,.0f}",),
        (f"income ≤ {limit:,.0f}",),
    ]
    drawn = [text.get_text().strip() for text in model.plot(feature_names=names).texts]
    assert {"income", f"> {limit:,.0f}", f"≤ {limit:,.0f}"} < set(drawn)
    other = BudgetedTreeClassifier(1, random_state=0).fit(-X, y)
    assert other.export_text(names).startswith("if income < −")
    assert "income ≥ −" in other.rules(names)[1].conditions[0]


@pytest.mark.parametrize("n_folds", [4, 5])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_threshold_is_where_the_votes_change(n_folds, sign):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((300, 1))
    y = sign * x[:, 0] + 0.5 * rng.standard_normal(300) > 0.2
    model = BudgetedTreeClassifier(1, n_folds=n_folds, max_depth=1, random_state=0).fit(x, y)
    condition = model.rules(digits=17)[0].conditions[0]
    limit = float(condition.split()[-1].replace("−", "-"))
    assert condition.split()[1] == (">" if sign > 0 else "<")
    near = limit + 1e-5 * np.array([[-1.0], [1.0]])
    leaves = model.apply(near)[:, 0]
    assert leaves.tolist() == ([2, 1] if sign > 0 else [1, 2])


def test_numbers_keep_their_significant_digits():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 2))
    y = X[:, 0] + X[:, 1] > 0
    model = BudgetedTreeClassifier(2, max_depth=1, random_state=0).fit(1e5 * X, y)
    first = model.export_text(digits=2).splitlines()[0]
    weights = [float(word) for word in first.split() if word[0].isdigit()]
    expected = np.sort(np.abs(model.weights_[:, :2].mean(axis=0)))[::-1]
    assert expected.max() < 0.005  # two decimals would say nothing
    np.testing.assert_allclose(weights[:2], expected, rtol=0.05)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (-0.00123456, "0.00123"), (999.6, "1,000"), (60_010.4, "60,010"), (1e20, "1e+20")],
)
def test_all_digits_before_the_point_are_printed(value, text):
    assert _number(value, 3) == text


def test_long_decisions_are_cut_short():
    X, y = linear_classes(200, 30)
    model = BudgetedTreeClassifier(9, max_depth=1, random_state=0).fit(X, y)
    first = model.export_text(max_features=2).splitlines()[0]
    assert first.count(" x") == 2
    assert re.search(r" x\d+ \+ \[7 smaller terms\] [+−] [\d.]+ > 0$", first)
    assert "[1 smaller term]" in model.export_text(max_features=8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_features": 0}, "'max_features' parameter of export_text must be an int ≥ 1"),
        ({"digits": 0}, "'digits' parameter of export_text must be an int ≥ 1"),
        ({"digits": 2.5}, "'digits'"),
    ],
)
def test_numbers_of_features_and_digits_are_checked(options, message):
    model = BudgetedTreeClassifier(1, random_state=0).fit(*linear_classes(50, 3))
    with pytest.raises(ParameterError, match=message):
        model.export_text(**options)


class Index:
    """Names that know how to become an array, as those of data frames do."""

    def __array__(self, dtype=None, copy=None):
        return np.array(["a", "b", "c"], dtype=object)


def test_names_may_have_any_form_that_is_a_list():
    model = BudgetedTreeClassifier(1, random_state=0).fit(*linear_classes(50, 3))
    text = model.export_text(["a", "b", "c"])
    assert model.export_text(("a", "b", "c")) == model.export_text(Index()) == text


@pytest.mark.parametrize("names", ["abc", {"a", "b", "c"}, 3, [["a"], ["b", "c"], []]])
def test_names_that_are_no_list_are_refused(names):
    model = BudgetedTreeClassifier(1, random_state=0).fit(*linear_classes(50, 3))
    with pytest.raises(DataError, match="feature_names must be a list of names"):
        model.rules(names)
    with pytest.raises(DataError, match="feature_names must hold 3 names"):
        model.export_text(["a", "b"])


def test_rules_say_where_points_go():
    X, y = xor(600, 3)
    model = BudgetedTreeClassifier(1, random_state=0).fit(X, y)
    rules = model.rules()
    assert [rule.node for rule in rules] == np.flatnonzero(model.right_ < 0).tolist()
    assert sum(rule.support for rule in rules) == 600
    leaves = model.apply(X)[:, 0]
    for rule in rules:
        there = leaves == rule.node
        assert set(model.predict(X[there]).astype(str)) == {rule.label}


def test_a_drawing_has_a_box_for_each_node_and_a_line_for_each_branch():
    pytest.importorskip("matplotlib")
    X, y = xor(600, 3)
    model = BudgetedTreeClassifier(1, random_state=0).fit(X, y)
    ax = model.plot(feature_names=list("abcde"))
    boxes = [text.get_text() for text in ax.texts if text.get_bbox_patch() is not None]
    assert len(boxes) == model.right_.size
    assert len(ax.lines) == model.right_.size - 1
    assert any("\n" in text and "wrong" in text for text in boxes)
    assert model.plot(ax) is ax
    with pytest.raises(ParameterError, match=r"tree must be in 0…0. Got 1"):
        model.plot(tree=1)


def test_a_drawing_has_one_term_a_line_whatever_the_names_are(tmp_path):
    pytest.importorskip("matplotlib")
    X, y = linear_classes(200, 2)
    model = BudgetedTreeClassifier(2, max_depth=1, random_state=0).fit(X, y)
    ax = model.plot(feature_names=["rise + fall", "height − [cm]"])
    lines = ax.texts[-1].get_text().splitlines()
    assert len(lines) == 3
    assert {line.split(maxsplit=1 if k == 0 else 2)[-1] for k, line in enumerate(lines[:2])} == {
        "rise + fall",
        "height − [cm]",
    }
    ax.figure.savefig(tmp_path / "tree.png")
    assert (tmp_path / "tree.png").stat().st_size > 0


def test_a_drawing_says_what_is_missing(monkeypatch):
    X, y = linear_classes(50, 3)
    model = BudgetedTreeClassifier(2, random_state=0).fit(X, y)

    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(MissingExtraError, match=r"needs the 'report' extra"):
        model.plot()


def test_the_number_of_threads_changes_nothing_for_several_trees():
    X, y = linear_classes(200, 12, 3)
    y[::7] = 0
    one, two = (
        BudgetedTreeClassifier(3, prune=False, random_state=0, n_jobs=jobs).fit(X, y)
        for jobs in (1, 2)
    )
    for name in ("right_", "features_", "weights_", "intercepts_", "slopes_", "cv_errors_"):
        assert getattr(one, name).tobytes() == getattr(two, name).tobytes()
    assert one.decision_function(X).tobytes() == two.decision_function(X).tobytes()


def test_the_number_of_threads_changes_nothing_where_pairs_are_compared():
    X, y = xor(600, 300, "of equal variance")
    one, two = (BudgetedTreeClassifier(2, random_state=0, n_jobs=n).fit(X, y) for n in (1, 2))
    assert one.kinds_[0] == "second order"
    assert fitted_bytes(one) == fitted_bytes(two)


def test_products_of_pairs_are_summed_by_one_thread(monkeypatch):
    n_threads = []

    def spy(*arguments):
        n_threads.extend(one["num_threads"] for one in threadpool_info() if "blas" in one.values())
        return find_pair(*arguments)

    monkeypatch.setattr(budgeted_decisions, "find_pair", spy)
    BudgetedTreeClassifier(2, random_state=0).fit(*xor(300, 3, "of equal variance"))
    assert set(n_threads) == {1}


def test_fits_on_several_threads_leave_the_threads_of_matrix_products_alone(monkeypatch):
    first_is_in, second_is_in, first_is_out = Event(), Event(), Event()
    here = local()

    def spy(*arguments):
        if here.is_first:
            first_is_in.set()
            second_is_in.wait(0.5)  # in vain if fits take turns
        else:
            second_is_in.set()
            assert first_is_out.wait(60)
        return find_pair(*arguments)

    def fit(is_first):
        here.is_first = is_first
        assert is_first or first_is_in.wait(60)
        model = BudgetedTreeClassifier(2, max_depth=1, min_gain=1, random_state=0)
        model.fit(*xor(300, 3, "of equal variance"))
        if is_first:
            first_is_out.set()

    monkeypatch.setattr(budgeted_decisions, "find_pair", spy)
    before = threadpool_info()
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(fit, [True, False])) == [None, None]
        assert threadpool_info() == before


def test_the_folds_of_a_root_are_independent_work(monkeypatch):
    n_items = []

    def spy(function, items, **options):
        n_items.append(len(items))
        return parallel(function, items, **options)

    monkeypatch.setattr(budgeted_decisions, "parallel", spy)
    X, y = linear_classes(100, 4)
    BudgetedTreeClassifier(2, n_folds=4, random_state=0).fit(X, y)
    assert n_items[0] == 5


@pytest.mark.parametrize("at_once", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_many_trees_grow_some_at_a_time(at_once, monkeypatch):
    X, y = linear_classes(150, 6, 5)
    y[::9] = 0
    together = BudgetedTreeClassifier(3, random_state=0).fit(X, y)
    monkeypatch.setattr(budgeted_growth, "_AT_ONCE", at_once)
    apart = clone(together).fit(X, y)
    assert together.n_leaves_ > 5
    assert fitted_bytes(apart) == fitted_bytes(together)
    apart._check_fitted()


def test_a_fit_that_cannot_fit_into_memory_is_refused(monkeypatch):
    X, y = linear_classes(400, 4, 6)
    monkeypatch.setattr(memory, "available_memory", lambda: 10**5)
    with pytest.raises(MemoryError, match=r"6 trees on 1 threads needs .* lower n_jobs"):
        BudgetedTreeClassifier(2).fit(X, y)


def test_the_search_for_pairs_counts_in_the_memory_of_a_fit(monkeypatch):
    X, y = xor(300, 400)
    monkeypatch.setattr(memory, "available_memory", lambda: 5 * 10**6 + 50 * X.size)
    BudgetedTreeClassifier(2, second_order=False, max_depth=0).fit(X, y)
    with pytest.raises(MemoryError, match="1 trees on 1 threads needs"):
        BudgetedTreeClassifier(2, max_depth=0).fit(X, y)
    sparse = random_csr(500, 1_000, density=0.02)
    products = np.sum(np.diff(sparse.indptr).astype(float) ** 2)
    assert memory_of_pairs(sparse) == 64 * products


def test_numbers_of_numpy_are_as_good_as_pythons():
    X, y = xor(300, 3)
    plain = BudgetedTreeClassifier(2, C=0.5, max_depth=3, min_gain=0.5, tol=2**-10, random_state=0)
    other = BudgetedTreeClassifier(
        np.int64(2),
        C=np.float32(0.5),
        max_planes=np.int32(10),
        max_depth=np.uint8(3),
        min_samples_split=np.int16(10),
        n_folds=np.int64(5),
        min_gain=np.float16(0.5),
        tol=np.float32(2**-10),
        max_iter=np.uint32(10_000),
        random_state=np.int64(0),
    )
    assert fitted_bytes(other.fit(X, y)) == fitted_bytes(plain.fit(X, y))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("right_", lambda a: np.where(a >= 0, 0, a), "not further on"),
        ("features_", lambda a: a + np.uint32(99), "feature that does not exist"),
        ("right_", lambda a: np.where(a == a[0], a[0] + 1, a), "a path leads to each"),
        ("depths_", lambda a: np.where(a == 2, 10**9, a), "depths of the nodes"),
        ("depths_", lambda a: a + 1, "depths of the nodes"),
        ("roots_", lambda a: a + 1, "one after the other"),
        ("indptr_", lambda a: a[::-1].copy(), "do not fit together"),
        ("weights_", lambda a: a * np.nan, "not finite"),
        ("slopes_", lambda a: a[1:], "slopes_ must be an array"),
        ("kinds_", lambda a: a[1:], "kinds_ must hold a word"),
        ("classes_", lambda a: a[:1], "classes_ must be a list"),
    ],
)
def test_a_changed_model_is_refused(name, change, message, tmp_path):
    X, y = xor(300, 3)
    model = BudgetedTreeClassifier(1, random_state=0).fit(X, y)
    assert model.n_leaves_ == 4
    setattr(model, name, change(getattr(model, name)))
    labelwood.save(model, tmp_path / "model")
    with pytest.raises(ModelError, match=message):
        labelwood.load(tmp_path / "model")


def test_a_leaf_that_no_path_leads_to_is_refused():
    model = BudgetedTreeClassifier(1, random_state=0).fit(*xor(300, 3))
    n_nodes = model.right_.size
    for name, array in vars(model).items():
        if name == "indptr_" or np.shape(array)[:1] == (n_nodes,):
            setattr(model, name, np.concatenate([array, array[-1:]]))
    model.intercepts_ = np.column_stack([model.intercepts_, model.intercepts_[:, -1]])
    with pytest.raises(DataError, match="a path leads to each"):
        model._check_fitted()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"budget": 0}, "'budget' .* must be an int ≥ 1. Got 0"),
        ({"C": 0.0}, "'C' .* must be"),
        ({"n_folds": 0}, "'n_folds' .* must be an int ≥ 1"),
        ({"min_samples_split": 1}, "'min_samples_split'"),
        ({"max_depth": -1}, "'max_depth'"),
    ],
)
def test_a_parameter_out_of_its_range_is_refused(parameters, message):
    X, y = linear_classes(20, 3)
    with pytest.raises(ParameterError, match=message):
        BudgetedTreeClassifier(**parameters).fit(X, y)


def test_data_that_cannot_be_used_is_refused():
    X, y = linear_classes(20, 3)
    model = BudgetedTreeClassifier(2)
    with pytest.raises(DataError, match="y holds one class"):
        model.fit(X, np.zeros(20))
    with pytest.raises(DataError, match="y holds one class"):
        model.fit(X, y, sample_weight=(y == 1).astype(float))
    with pytest.raises(DataError, match="Got label sets"):
        model.fit(X, [["a"], ["b", "c"]] * 10)


def test_features_that_tell_nothing_give_one_leaf_of_the_larger_class():
    X, y = np.ones((30, 3)), np.repeat(["few", "many"], [10, 20])
    model = BudgetedTreeClassifier(2, random_state=0).fit(X, y)
    assert (model.n_leaves_, model.depth_, model.selected_features_.size) == (1, 0, 0)
    assert model.predict(np.zeros((2, 3))).tolist() == ["many", "many"]
    assert model.predict_proba(np.zeros((1, 3)))[0, 1] == pytest.approx(21 / 32, abs=1e-3)
    assert str(model.rules()[0]) == "always → many (30 samples, 33.3% wrong)"
    none = BudgetedTreeClassifier(2, random_state=0).fit(sp.csr_array((30, 3)), y)
    assert none.n_leaves_ == 1


def test_rows_without_features_follow_the_intercepts():
    X, y = linear_classes(100, 4)
    model = BudgetedTreeClassifier(2, random_state=0).fit(X, y)
    leaf, _ = walk_by_hand(model, np.zeros(4))
    assert model.apply(np.zeros((1, 4)))[0, 0] == leaf


def test_a_class_of_one_point_does_no_harm():
    X, y = linear_classes(60, 4)
    y[0] = 2
    model = BudgetedTreeClassifier(3, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.8


def test_points_of_no_weight_do_not_count():
    X, y = linear_classes(120, 5)
    weights = np.ones(120)
    weights[:60] = 0
    y[:60] = 1 - y[:60]
    model = BudgetedTreeClassifier(3, random_state=0).fit(X, y, sample_weight=weights)
    assert model.n_samples_[0] == 60
    assert model.score(X[60:], y[60:]) > 0.9


def test_the_unit_of_weights_is_no_matter_if_the_cost_is_in_the_same():
    X, y = xor(400, 4)
    y[:80] *= -1
    weights = np.random.default_rng(1).uniform(0.5, 2, 400)
    weights[::50] = 0
    model = BudgetedTreeClassifier(2, random_state=0).fit(X, y, sample_weight=weights)
    assert model.n_leaves_ > 2
    for k in (1e-3, 1e3):
        other = clone(model).set_params(C=1 / k).fit(X, y, sample_weight=k * weights)
        for name in ("right_", "features_", "kinds_", "n_samples_"):
            assert getattr(other, name).tolist() == getattr(model, name).tolist()
        for name in ("weights_", "slopes_", "totals_", "subtree_errors_"):
            np.testing.assert_allclose(getattr(other, name), getattr(model, name), rtol=1e-4)
    assert model.totals_[0].sum() == pytest.approx(model.n_samples_[0])


def test_a_decision_that_is_not_solved_is_said():
    X, y = linear_classes(60, 5)
    model = BudgetedTreeClassifier(3, max_iter=1, tol=1e-6, random_state=0)
    with pytest.warns(
        ConvergenceWarning,
        match=r"met the iteration limit; .* like scales \(scale=True\) around 0, or raise max_iter",
    ):
        model.fit(X, y)
    assert "met the iteration limit" in model.stop_reason_


def test_it_is_said_why_the_leaves_ended():
    X, y = xor(600, 3)
    model = BudgetedTreeClassifier(1, max_depth=1, random_state=0).fit(X, y)
    alone = BudgetedTreeClassifier(1, max_depth=0, random_state=0).fit(X, y)
    clear = BudgetedTreeClassifier(1, random_state=0).fit(np.sign(X), np.sign(X[:, 0]))
    assert model.stop_reason_ in ("leaves: 1 pruned", "leaves: 2 limit of depth")
    assert alone.stop_reason_ == "leaves: 1 limit of depth"
    assert clear.stop_reason_ == "leaves: 2 one class"


def test_values_too_small_for_the_cost_are_said():
    X, y = linear_classes(300, 5)
    small = BudgetedTreeClassifier(2, random_state=0).fit(1e-4 * X, y)
    assert small.n_leaves_ == 1
    assert small.stop_reason_.startswith(
        "leaves: 1 no decision divides the samples; raise C, scale"
    )
    larger = clone(small).set_params(C=1e8).fit(1e-4 * X, y)
    assert larger.score(1e-4 * X, y) > 0.9
    assert "raise C" not in larger.stop_reason_
    constant = clone(small).fit(np.ones((300, 2)), y)
    assert constant.stop_reason_ == "leaves: 1 no feature separates the classes"


def test_halves_that_no_decision_divides_are_said_for_the_whole():
    X, y = xor(1_000, 3, "of equal variance")
    model = BudgetedTreeClassifier(2, random_state=0).fit(1e-4 * X, y)
    assert model.stop_reason_.startswith("leaves: 1 no decision divides the samples; raise C")


def test_a_split_of_second_order_has_no_errors_of_its_own():
    X, y = xor(600, 3, "of equal variance")
    model = BudgetedTreeClassifier(1, random_state=0).fit(X, y)
    assert model.kinds_[0] == "second order"
    assert np.isnan(model.cv_errors_[0])
    assert np.isfinite(model.cv_errors_[model.kinds_ == "linear"]).all()


@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.parametrize("name", ["pcmac", "basehock"])
def test_real_text_needs_few_words(shared_data, name):
    with lzma.open(shared_data / "binary" / f"{name}.svm.xz") as file:
        X, y = load_svmlight_file(file)
    X = unit_rows(as_csr(X))
    order = np.random.default_rng(0).permutation(y.size)
    train, test = np.split(order, [int(0.8 * y.size)])
    model = BudgetedTreeClassifier(50, C=5, random_state=0).fit(X[train], y[train])
    assert model.score(X[test], y[test]) > 0.85
    assert model.selected_features_.size < 0.1 * X.shape[1]
