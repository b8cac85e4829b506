import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from builders import random_csr, random_labels, separable
from labelwood.errors import DataError, ParameterError
from labelwood.trees.bounds.formulas import (
    Leaf,
    counted_tree_terms,
    gaussian_complexity,
    path_terms,
    perceptron_tree_terms,
)
from labelwood.trees.bounds.guarantees import (
    Bound,
    annotation_error_bound,
    annotation_length_bound,
    budgeted_tree_bound,
    perceptron_tree_bound,
    powerset_error_bound,
    powerset_length_bound,
)
from labelwood.trees.budgeted.estimator import BudgetedTreeClassifier
from labelwood.trees.coding.estimator import AnnotationTreeClassifier, PowersetTreeClassifier
from trees.coding.codingtrees import code_lengths, label_set, margins, rows_of, sets_of, shape

deltas = st.floats(1e-6, 0.99)


def test_a_bound_prints_its_terms_and_when_it_is_vacuous():
    bound = Bound("error", {"a": 0.25, "b": 0.5}, 1.0, "much", "a book", {"samples": 7}, "hm")
    lines = str(bound).splitlines()
    assert lines[0] == "error ≤ 0.75 (a book)"
    assert [line.split() for line in lines[1:]] == [
        ["a", "0.25"], ["b", "0.5"], ["samples", "7"], ["hm"], ["assumes", "much"]
    ]  # fmt: skip
    assert "vacuous: 0.75 or less" in str(Bound("error", bound.terms, 0.75, "much", "a book"))
    assert Bound("error", {"a": math.inf}, 1.0, "", "").vacuous


# Theorem 5.


def test_theorem_5_is_what_the_paper_writes():
    rng = np.random.default_rng(0)
    n, depth, delta, c, complexity = 30, 2, 0.1, 1.5, 0.2
    leaves, total = [], 0.0
    for n_l, d_l in ((10, 2), (15, 2), (5, 1), (0, 1)):
        x, w = rng.standard_normal((n_l, 4)), rng.standard_normal((d_l, 4))
        answers = rng.choice([-1.0, 1.0], size=(d_l, n_l))
        kernel = x @ x.T
        for i in range(d_l):
            gamma = 1 / np.linalg.norm(w[i])
            g = x @ w[i] * gamma  # of unit length
            xi = [max(0.0, gamma - answers[i, j] * g[j]) for j in range(n_l)]
            if n_l:
                total += sum(xi) / (n_l * gamma) + 4 / (n_l * gamma) * np.trace(kernel) ** 0.5
        leaves.append(
            Leaf(answers * (w @ x.T), np.linalg.norm(w, axis=1), np.full(d_l, np.trace(kernel)))
        )
    total += 5 * c * depth * 4 * complexity / 2
    total += ((3 * depth + 1) * n**0.5 * 4 + 1) * (math.log(6 / delta) / (2 * n)) ** 0.5
    terms = perceptron_tree_terms(leaves, n, depth, complexity, delta, c)
    assert sum(terms.values()) == pytest.approx(total)


@given(st.integers(1, 10**12), st.integers(1, 50), st.integers(2, 1000), deltas)
def test_theorem_5_is_vacuous_for_every_tree_with_a_decision(n, depth, n_leaves, delta):
    empty = Leaf(np.zeros((1, 0)), np.zeros(1), 0.0)
    terms = perceptron_tree_terms([empty] * n_leaves, n, depth, 0.0, delta, 1.0)
    assert terms["confidence"] > 7


def test_the_gaussian_complexity_of_thresholds_is_below_its_limit():
    rng = np.random.default_rng(0)
    n, n_features = 200, 3
    order = np.argsort(rng.standard_normal((n_features, n)), axis=1)
    suprema = []
    for _ in range(200):
        g = rng.standard_normal(n)
        sums = 2 * np.cumsum(g[order], axis=1) - g.sum()  # of all signs of x_j ≤ θ
        suprema.append(2 / n * max(np.abs(sums).max(), abs(g.sum())))
    assert 0.2 < np.mean(suprema) < gaussian_complexity(n, n_features, 1)


def test_the_gaussian_complexity_is_that_of_its_derivation():
    n, n_features, budget = 500, 12, 3
    ways = 13 * math.comb(12, 3) * (math.e * n / 4) ** 4
    expected = 2 * math.sqrt(2 * math.log(2 * ways) / n)
    assert gaussian_complexity(n, n_features, budget) == pytest.approx(expected)


def dense_walk(model, x):
    """The nodes on the way of one row down the first tree, each with the side taken."""
    node, taken = 0, []
    while model.right_[node] >= 0:
        entries = slice(*model.indptr_[node : node + 2])
        scores = model.weights_[:, entries] @ x[model.features_[entries]]
        scores += model.intercepts_[:, node]
        n_positive = np.count_nonzero(scores > 0)
        positive = n_positive * 2 > scores.size
        if n_positive * 2 == scores.size:
            positive = scores.mean() > 0
        taken.append((node, 1 if positive else -1))
        node = node + 1 if positive else model.right_[node]
    return node, taken


def corner_sample(n, seed):
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.standard_normal((n, 2)), rng.random((n, 3))]).astype(np.float32)
    inside = x[:, :2].min(axis=1) + 0.2 * rng.standard_normal(n) > 0
    return x, np.where(inside, "yes", "no")


def corner_tree(n=400, seed=0, **parameters):
    x, y = corner_sample(n, seed)
    settings = {"n_folds": 3, "max_depth": 2, "prune": False, "random_state": 0, **parameters}
    return BudgetedTreeClassifier(2, **settings).fit(x, y), x, y


def test_columns_that_no_decision_reads_do_not_change_theorem_5s_capacity():
    model, x, y = corner_tree()
    noise = np.hstack([x, np.zeros_like(x)])
    wide = clone(model).fit(noise, y)
    bound = perceptron_tree_bound(wide, noise, y)
    noise[:, x.shape[1] :] = 1000.0
    louder = perceptron_tree_bound(wide, noise, y)
    assert louder.terms["capacity"] == pytest.approx(bound.terms["capacity"])


def test_theorem_5_of_a_fitted_tree_is_that_of_a_dense_walk():
    model, x, y = corner_tree()
    ways = [dense_walk(model, row) for row in x.astype(np.float64)]
    total = 0.0
    for leaf in np.flatnonzero(model.right_ < 0):
        samples = [i for i, (end, _) in enumerate(ways) if end == leaf]
        if not samples:
            continue
        wrong = {i for i in samples if (model.slopes_[leaf] > 0) != (y[i] == "yes")}
        taken = ways[samples[0]][1]
        for place, (node, side) in enumerate(taken):
            entries = slice(*model.indptr_[node : node + 2])
            w, b = model.weights_[:, entries].mean(axis=0), model.intercepts_[:, node].mean()
            gamma = 1 / math.sqrt(w @ w + b * b)
            for i in samples:
                answer = -side if i in wrong and place == len(taken) - 1 else side
                g = gamma * (x[i, model.features_[entries]] @ w + b)
                total += max(0.0, gamma - answer * g) / (len(samples) * gamma)
            own = x[samples][:, model.features_[entries]].astype(float)
            trace = (own**2).sum() + len(samples)
            total += 4 / (len(samples) * gamma) * math.sqrt(trace)
    bound = perceptron_tree_bound(model, x, y, 0.1, c=2)
    assert bound.terms["slack"] + bound.terms["capacity"] == pytest.approx(total, rel=1e-5)
    limit = gaussian_complexity(400, 5, int(np.diff(model.indptr_).max()))
    assert bound.terms["complexity"] == pytest.approx(5 * model.depth_ * model.n_leaves_ * limit)
    assert bound.vacuous


def test_the_bounds_of_a_budgeted_tree_fail_in_one_of_twenty_cases_unless_told_otherwise():
    model, x, y = corner_tree()
    bound = perceptron_tree_bound(model, x, y)
    assert bound.terms == perceptron_tree_bound(model, x, y, 0.05, 1.0).terms
    assert bound.trivial == budgeted_tree_bound(model, x, y).trivial == 1
    assert "holds with probability 0.95" in bound.assumes
    assert "holds with probability 0.95" in budgeted_tree_bound(model, x, y).assumes


# What stands in for theorem 5.


def test_the_bound_by_counting_is_that_of_its_derivation():
    n, n_features, delta = 1000, 30, 0.1
    budgets, functions = np.array([1, 4]), np.array([3, 1])
    log_ways = 3 * 2 * math.log(math.e * n / 2) + 5 * math.log(math.e * n / 5)
    # Two trees of one decision each: three nodes and two leaves in each, and one decision.
    n_choices = 2 ** (2 * 3 + 2 * 2 + 2) * 31 * math.comb(30, 1) * 31 * math.comb(30, 4)
    terms = counted_tree_terms(n, 50, budgets, functions, n_features, 2, delta)
    expected = [
        0.05,
        math.sqrt(2 * log_ways / n),
        math.sqrt(math.log(n_choices / delta) / (2 * n)),
    ]
    assert list(terms.values()) == pytest.approx(expected)


@given(st.integers(2, 10**6), st.integers(1, 9), st.integers(1, 9), deltas)
def test_the_bound_by_counting_falls_with_points_and_delta(n, n_decisions, budget, delta):
    budgets, functions = np.full(n_decisions, budget), np.full(n_decisions, 5)
    value = sum(counted_tree_terms(n, 0, budgets, functions, 20, 1, delta).values())
    more = counted_tree_terms(2 * n, 0, budgets, functions, 20, 1, delta)
    surer = counted_tree_terms(n, 0, budgets, functions, 20, 1, delta / 2)
    assert sum(more.values()) <= value < sum(surer.values())


def test_the_best_of_many_thresholds_on_noise_stays_below_the_bound_by_counting():
    # Labels are tossed, so that every threshold errs on half of all new samples.
    rng = np.random.default_rng(0)
    n, n_features, one = 200, 50, np.array([1])
    gaps, bounds = [], []
    for _ in range(200):
        signs = rng.choice([-1.0, 1.0], size=n)
        order = np.argsort(rng.random((n_features, n)), axis=1)
        sums = 2 * np.cumsum(signs[order], axis=1) - signs.sum()
        n_wrong = int((n - np.abs(sums).max()) // 2)
        gaps.append(0.5 - n_wrong / n)
        bounds.append(sum(counted_tree_terms(n, n_wrong, one, one, n_features, 1, 0.05).values()))
    assert min(bounds) > 0.5
    assert np.mean(gaps) > math.sqrt(math.log(1 / 0.05) / (2 * n))  # confidence is not enough


@pytest.mark.parametrize("n_folds", [2, 3, 4])
def test_the_bound_of_a_budgeted_tree_counts_its_errors_and_its_functions(n_folds):
    model, x, y = corner_tree(n_folds=n_folds)
    inner = np.flatnonzero(model.right_ >= 0)
    functions = []
    for node in inner:
        entries = slice(*model.indptr_[node : node + 2])
        folds = np.column_stack([model.weights_[:, entries], model.intercepts_[:, node]])
        same = np.unique(folds, axis=0).shape[0] == 1
        functions.append(1 if same else n_folds if n_folds % 2 else n_folds + 1)
    budgets = [int(model.indptr_[node + 1] - model.indptr_[node]) for node in inner]
    n_wrong = np.count_nonzero(model.predict(x) != y)
    expected = counted_tree_terms(
        400, n_wrong, np.array(budgets), np.array(functions), 5, 1, 0.05
    )  # fmt: skip
    bound = budgeted_tree_bound(model, x, y)
    assert bound.terms == pytest.approx(expected)
    assert inner.size >= 2
    assert 0 < n_wrong < 100


def test_more_than_two_classes_need_all_trees_to_be_right():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((600, 4)).astype(np.float32)
    y = np.argmax(x[:, :3] + 0.3 * rng.standard_normal((600, 3)), axis=1)
    model = BudgetedTreeClassifier(3, n_folds=3, max_depth=2, random_state=0).fit(x, y)
    wrong = (model.decision_function(x) > 0) != (y[:, None] == np.arange(3))
    bound = budgeted_tree_bound(model, x, y)
    assert bound.terms["training error"] == wrong.any(axis=1).mean()
    assert bound.terms["training error"] >= np.mean(model.predict(x) != y) > 0
    with pytest.raises(DataError, match=r"about two classes\. The model has 3"):
        perceptron_tree_bound(model, x, y)


def test_the_error_of_budgeted_trees_on_new_points_is_below_the_bound():
    new, truth = corner_sample(20_000, 99)
    for seed in range(8):
        model, x, y = corner_tree(3000, seed)
        bound = budgeted_tree_bound(model, x, y)
        assert np.mean(model.predict(new) != truth) < bound.value < 0.7
        assert not bound.vacuous


def test_a_tree_without_a_decision_has_a_bound():
    x, y = corner_sample(100, 0)
    model = BudgetedTreeClassifier(2, max_depth=0, random_state=0).fit(x, y)
    bound = budgeted_tree_bound(model, x, y)
    assert bound.terms["decisions"] == 0
    rare = min(np.mean(y == "yes"), np.mean(y == "no"))
    assert bound.terms["training error"] == pytest.approx(rare)
    assert perceptron_tree_bound(model, x, y).terms["slack"] == 0


# Theorems 12 and 13.


@pytest.mark.parametrize("seed", range(5))
def test_a_powerset_tree_keeps_to_theorem_12(seed):
    X, Y = random_csr(120, 10, 0.3, seed), random_labels(120, 6, seed=seed)
    model = PowersetTreeClassifier(random_state=0).fit(X, Y)
    sets = sets_of(Y)
    lengths = code_lengths(shape(model))
    bound = powerset_length_bound(model)
    shares = [sets.count(one) / 120 for one in lengths]
    entropy = -sum(p * math.log2(p) for p in shares)
    mean = sum(lengths[one] for one in sets) / 120
    assert bound.value == pytest.approx(entropy + 1)
    assert entropy <= mean < bound.value
    assert bound.facts["mean decisions"] == pytest.approx(mean)
    assert bound.trivial == math.ceil(math.log2(len(lengths)))


def test_theorem_12_is_vacuous_where_all_sets_are_equally_frequent_only():
    X = np.eye(40, dtype=np.float32)
    even = PowersetTreeClassifier(random_state=0).fit(X, [i % 8 for i in range(40)])
    assert powerset_length_bound(even).vacuous
    uneven = PowersetTreeClassifier(random_state=0).fit(X, [0] * 32 + list(range(1, 9)))
    assert not powerset_length_bound(uneven).vacuous
    alone = PowersetTreeClassifier(random_state=0).fit(X, [["a"]] * 40)
    assert powerset_length_bound(alone).facts["mean decisions"] == 0


def annotation_tree(sets):
    names = [[f"l{label}" for label in one] for one in sets]
    X = np.eye(len(sets), dtype=np.float32)
    return AnnotationTreeClassifier(random_state=0).fit(X, names)


@pytest.mark.parametrize(
    ("sets", "mean", "claimed"),
    [
        ([[]] * 9 + [[0], [1]], 1.909, 1.866),
        ([[]] * 5 + [[0], [1], [2]], 2.625, 2.549),
        ([[i] for i in range(7)], 3.857, 3.807),
        (
            [list(range(6))] * 500 + [[j for j in range(6) if j != i] for i in range(6)],
            5.970,
            1.123,
        ),
    ],
)
def test_theorem_13_fails_and_the_bound_says_so(sets, mean, claimed):
    bound = annotation_length_bound(annotation_tree(sets))
    assert bound.facts["mean decisions"] == pytest.approx(mean, abs=1e-3)
    assert bound.facts["claimed limit"] == pytest.approx(claimed, abs=1e-3)
    assert "fails" in bound.remark
    assert mean <= bound.value


def test_the_limit_of_labels_is_met_by_a_tree_that_has_to_ask_for_all():
    sets = [one for r in range(4) for one in itertools.combinations(range(3), r)]
    bound = annotation_length_bound(annotation_tree([list(one) for one in sets]))
    assert bound.value == bound.facts["mean decisions"] == 3
    assert bound.facts["bits a decision"] == 1
    assert "holds" in bound.remark
    assert not bound.vacuous


def test_labels_that_all_leaves_have_are_not_asked_for():
    bound = annotation_length_bound(annotation_tree([[0, 1], [0], [0, 1], [0, 1, 2], [0, 2]]))
    assert bound.value == 2
    assert bound.trivial == 3  # of four different label sets
    alone = annotation_length_bound(annotation_tree([[0]] * 3))
    assert alone.value == alone.facts["bits a decision"] == 0


# Theorems 17 and 18.


def test_the_bound_of_a_path_is_what_the_seed_writes():
    n, radius, delta, gammas = 5000, 1.5, 0.01, [0.3, 0.7, 1.1]
    d = sum(1 / gamma**2 for gamma in gammas)
    inside = d * math.log2(4 * math.e * n) * math.log2(4 * n) + 3 * math.log2(2 * n)
    expected = 130 * radius**2 / n * (inside + math.log2(2 / delta))
    terms = path_terms(np.array(gammas), radius, n, delta)
    assert sum(terms.values()) == pytest.approx(expected)
    assert sum(path_terms(np.array([0.0]), 1.0, n, delta).values()) == math.inf


@given(st.lists(st.floats(0.01, 1), max_size=6), st.integers(2, 10**7), deltas)
def test_the_bound_of_a_path_falls_with_points_margins_and_delta(gammas, n, delta):
    value = sum(path_terms(np.array(gammas), 1.0, n, delta).values())
    assert sum(path_terms(np.array(gammas), 1.0, 2 * n, delta).values()) < value
    assert sum(path_terms(np.array(gammas) * 1.1, 1.0, n, delta).values()) <= value
    assert sum(path_terms(np.array(gammas), 1.0, n, delta / 2).values()) > value


@given(
    st.lists(st.floats(0.001, 1), min_size=1, max_size=50),
    st.floats(1, 1e3),
    st.integers(10, 10**12),
    st.floats(1e-9, 0.5),
)
def test_the_constants_of_theorems_17_and_18_leave_room_for_the_shape(ratios, radius, n, delta):
    # From covering numbers (the factor 32n and 8en of margin γ/2 at fat(γ/8) ≤ 64R²/γ²), a
    # ghost sample, a union over the fat dimensions, and one over the labels (a million) that an
    # annotation tree asks for on the path, the answers, and how many there are.
    k = 64 / np.square(ratios)
    N = len(ratios)
    assume(np.all(k <= 4 * n))  # or the bound is vacuous
    bits = np.sum(k * np.log2(8 * math.e * n / k)) * math.log2(32 * n)
    bits += N + N * math.log2(2 * n) + math.log2(2 / delta)
    bits += N * math.log2(2e6) + 2 * math.log2(N + 1)
    stated = path_terms(radius * np.array(ratios), radius, n, delta)
    assert 2 / n * bits <= sum(stated.values())


@pytest.mark.parametrize(
    ("kind", "bound_of"),
    [
        (PowersetTreeClassifier, powerset_error_bound),
        (AnnotationTreeClassifier, annotation_error_bound),
    ],
)
@pytest.mark.parametrize("normalize", [True, False])
def test_margins_of_a_path_are_those_of_all_points_below_it(kind, bound_of, normalize):
    Y = random_labels(150, 5)
    one_hot = np.unique(Y.toarray(), axis=0, return_inverse=True)[1][:, None] == np.arange(32)
    X = sp.csr_array(sp.hstack([one_hot.astype(np.float32), random_csr(150, 9)]))
    model = kind(C=10, normalize=normalize, prune_below=0, random_state=0).fit(X, Y)
    scores, sets = margins(model, X), sets_of(Y)
    leaf_of = {label_set(model, leaf): leaf for leaf in np.flatnonzero(model.right_ < 0)}
    own = np.array([leaf_of[one] for one in sets])
    R = math.sqrt(1 + (rows_of(X, normalize) ** 2).sum(axis=1).max())
    for wanted in list(leaf_of)[:6]:
        gammas, node = [], 0
        while model.right_[node] >= 0:
            here = np.array([is_below(model, node, leaf) for leaf in own])
            positive = np.array([is_below(model, node + 1, leaf) for leaf in own])
            entries = slice(*model.weight_indptr_[node : node + 2])
            w = np.append(model.weights_[entries], model.intercepts_[node]).astype(float)
            signed = np.where(positive, 1, -1) * scores[:, node]
            gammas.append(signed[here].min() / np.linalg.norm(w))
            goes_positive = is_below(model, node + 1, leaf_of[wanted])
            node = node + 1 if goes_positive else model.right_[node]
        bound = bound_of(model, X, Y, sorted(wanted), 0.1)
        assert min(gammas) > 0
        expected = path_terms(np.array(gammas), R, 150, 0.1)
        assert bound.terms == pytest.approx(expected, rel=1e-3)
        assert bound.facts["wrong decisions"] == 0
        assert bound.vacuous


def is_below(model, node, leaf):
    """Whether a leaf is a node, or below it."""
    if model.right_[node] < 0:
        return node == leaf
    return is_below(model, node + 1, leaf) or is_below(model, model.right_[node], leaf)


def test_a_path_with_mistakes_has_no_bound():
    X, Y = random_csr(200, 5, 0.5), random_labels(200, 4)
    model = PowersetTreeClassifier(random_state=0).fit(X, Y)
    bound = powerset_error_bound(model, X, Y, [])
    assert bound.value == math.inf
    assert bound.vacuous
    assert bound.facts["wrong decisions"] > 0
    assert "does not apply" in str(bound)


@pytest.mark.parametrize(
    ("kind", "bound_of"),
    [
        (PowersetTreeClassifier, powerset_error_bound),
        (AnnotationTreeClassifier, annotation_error_bound),
    ],
)
def test_a_path_fails_in_one_of_twenty_cases_unless_told_otherwise(kind, bound_of):
    X, Y = np.tile(np.eye(2), (20, 1)), [["a"], ["b"]] * 20
    model = kind(random_state=0).fit(X, Y)
    bound = bound_of(model, X, Y, ["a"])
    assert bound.terms == bound_of(model, X, Y, ["a"], 0.05).terms
    assert bound.trivial == 1
    assert "holds with probability 0.95" in bound.assumes


def test_the_leaf_of_a_tree_without_a_decision_is_a_leaf():
    X, Y = np.eye(3), [["a"]] * 3
    model = AnnotationTreeClassifier(random_state=0).fit(X, Y)
    bound = annotation_error_bound(model, X, Y, ["a"])
    assert bound.facts["samples without a leaf"] == 0
    assert bound.terms["margins"] == 0


def test_points_whose_label_set_has_no_leaf_do_not_count():
    X, Y = separable(100, 6)
    model = AnnotationTreeClassifier(random_state=0, min_count=10).fit(X, Y)
    known = [label_set(model, leaf) for leaf in np.flatnonzero(model.right_ < 0)]
    outside = sum(one not in known for one in sets_of(Y))
    bound = annotation_error_bound(model, X, Y, [0])
    assert bound.facts["samples without a leaf"] == outside > 0
    assert "shape of the tree" in bound.assumes
    inside = np.array([one in known for one in sets_of(Y)])
    assert (
        "shape of the tree" not in annotation_error_bound(model, X[inside], Y[inside], [0]).assumes
    )


def test_the_radius_may_be_given_but_not_be_exceeded():
    X, Y = separable(100, 3)
    model = PowersetTreeClassifier(C=100, normalize=False, random_state=0).fit(X, Y)
    near = powerset_error_bound(model, X, Y, [0], radius=10.0)
    far = powerset_error_bound(model, X, Y, [0], radius=20.0)
    assert far.value == pytest.approx(near.value * 401 / 101)
    with pytest.raises(DataError, match=r"beyond radius=0\.5; give the radius of a ball"):
        powerset_error_bound(model, X, Y, [0], radius=0.5)
    with pytest.raises(ParameterError, match="'radius'"):
        powerset_error_bound(model, X, Y, [0], radius=-1.0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_theorem_17_holds_where_there_are_enough_points_for_it(seed):
    rng = np.random.default_rng(seed)
    n = 600_000

    def draw():
        y = rng.integers(0, 2, n)
        noise = 0.2 * rng.standard_normal(n)
        return np.column_stack([2.0 * y - 1, noise]).astype(np.float32), y

    X, y = draw()
    model = PowersetTreeClassifier(random_state=0).fit(X, y)
    bound = powerset_error_bound(model, X, y, 1)
    assert not bound.vacuous
    new, truth = draw()
    assert np.mean(model.predict(new) != truth) < bound.value


# Input that does not fit.


def test_a_model_must_be_of_the_right_kind_and_fitted():
    with pytest.raises(ParameterError, match="an instance of PowersetTreeClassifier"):
        powerset_length_bound(AnnotationTreeClassifier())
    with pytest.raises(ParameterError, match="an instance of BudgetedTreeClassifier"):
        budgeted_tree_bound(PowersetTreeClassifier(), [[1]], [1])
    for function in (powerset_length_bound, powerset_error_bound):
        more = ([[1.0]], [0], 0) if function is powerset_error_bound else ()
        with pytest.raises(NotFittedError, match="not fitted"):
            function(PowersetTreeClassifier(), *more)
    with pytest.raises(NotFittedError, match="not fitted"):
        budgeted_tree_bound(BudgetedTreeClassifier(), [[1]], [1])


@pytest.mark.parametrize("delta", [0, 1, -0.1, 1.5, math.nan, "0.1"])
def test_delta_is_a_probability(delta):
    with pytest.raises(ParameterError, match="'delta' parameter of budgeted_tree_bound"):
        budgeted_tree_bound(BudgetedTreeClassifier(), [[1]], [1], delta)
    with pytest.raises(ParameterError, match="'delta' parameter of powerset_error_bound"):
        powerset_error_bound(PowersetTreeClassifier(), [[1]], [1], 1, delta)


def test_points_must_fit_the_budgeted_tree():
    model, x, y = corner_tree(100)
    with pytest.raises(DataError, match="4 features"):
        budgeted_tree_bound(model, x[:, :4], y)
    with pytest.raises(DataError, match="X has 100 rows and y has 99"):
        budgeted_tree_bound(model, x, y[:99])
    with pytest.raises(DataError, match="the class other, which the model does not know"):
        budgeted_tree_bound(model, x, ["other", *y[1:]])
    with pytest.raises(DataError, match="Got label sets"):
        budgeted_tree_bound(model, x, [["no"]] * 100)
    with pytest.raises(ParameterError, match="'c'"):
        perceptron_tree_bound(model, x, y, c=0)


def test_points_must_fit_the_coding_tree():
    X, Y = separable(60, 3)
    model = PowersetTreeClassifier(random_state=0).fit(X, Y)
    with pytest.raises(DataError, match="5 features"):
        powerset_error_bound(model, X[:, :5], Y, [0])
    with pytest.raises(DataError, match=r"y must have 60 rows and 3 labels.*Got \(59, 3\)"):
        powerset_error_bound(model, X, Y[:59], [0])
    with pytest.raises(DataError, match=r"Got \(60, 2\)"):
        powerset_error_bound(model, X, Y[:, :2], [0])
    with pytest.raises(DataError, match=r"label_set must be labels .* does not know 7"):
        powerset_error_bound(model, X, Y, [7])
    present = {label_set(model, leaf) for leaf in np.flatnonzero(model.right_ < 0)}
    absent = next(
        list(one)
        for r in range(4)
        for one in itertools.combinations(range(3), r)
        if frozenset(one) not in present
    )
    with pytest.raises(DataError, match="No leaf of the tree has the label set"):
        powerset_error_bound(model, X, Y, absent)


def test_labels_in_any_form_give_the_same_bound():
    X, Y = separable(60, 3)
    model = PowersetTreeClassifier(C=100, random_state=0).fit(X, Y)
    lists = [sorted(one) for one in sets_of(Y)]
    dense = Y.toarray()
    value = powerset_error_bound(model, X, Y, [0]).value
    assert powerset_error_bound(model, X, lists, [0]).value == value
    assert powerset_error_bound(model, X, dense, [0]).value == value
    assert powerset_error_bound(model, sp.coo_array(X), Y, [0]).value == value
    np.testing.assert_array_equal(Y.toarray(), dense)


NAMED = [["owl", "cat"], ["cat"], ["dog"]] * 20


def named_tree():
    """A tree over names of labels, and its samples."""
    X = np.tile(np.eye(3), (20, 1))
    return PowersetTreeClassifier(random_state=0).fit(X, NAMED), X


@pytest.mark.parametrize(
    "form",
    [("cat", "owl"), {"cat", "owl"}, np.array(["owl", "cat"]), np.array(["owl", "cat"], "O")],
)
def test_a_label_set_may_have_any_form_of_names(form):
    model, X = named_tree()
    expected = powerset_error_bound(model, X, NAMED, ["owl", "cat"])
    assert powerset_error_bound(model, X, NAMED, form).terms == expected.terms


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ("cat", r"label_set must be a list of labels. Give \['cat'\]"),
        (7, "label_set must be a list of labels. Got 7"),
        (np.array([["cat"]]), "label_set must be a list of labels. Got array"),
        (["cat", "cow"], "label_set must be labels of the model, which does not know 'cow'"),
        ([["cat"]], r"does not know \['cat'\]"),
        ([1, 0, 0], r"looks like a row of an indicator. .*numpy.flatnonzero\(row\)"),
        (np.array([True, False, True]), "looks like a row of an indicator"),
    ],
)
def test_a_label_set_that_cannot_be_read_is_refused_by_its_name(form, message):
    model, X = named_tree()
    with pytest.raises(DataError, match=message):
        powerset_error_bound(model, X, NAMED, form)


def test_zero_and_one_as_the_only_labels_are_given_as_a_set():
    X, Y = np.tile(np.eye(3), (20, 1)), np.tile([[0, 1], [1, 1], [1, 0]], (20, 1))
    model = PowersetTreeClassifier(random_state=0).fit(X, Y)
    with pytest.raises(DataError, match="if 0 and 1 are meant as labels, a set"):
        powerset_error_bound(model, X, Y, [0, 1])
    assert powerset_error_bound(model, X, Y, {0, 1}).facts["samples"] == 60


def test_a_class_is_given_as_it_is():
    X, y = np.tile(np.eye(2), (20, 1)), ["a", "b"] * 20
    model = PowersetTreeClassifier(random_state=0).fit(X, y)
    assert powerset_error_bound(model, X, y, "a").facts["samples"] == 40
    with pytest.raises(DataError, match=r"label_set must be one class .* not know \['a'\]"):
        powerset_error_bound(model, X, y, ["a"])
