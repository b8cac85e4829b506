from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone

from labelwood.core.sparse import as_csr
from labelwood.studies._study import Options
from labelwood.studies.sbt._binary import error, read_splits
from labelwood.trees.budgeted.arrays import FlatTrees, Node
from labelwood.trees.budgeted.decisions import Samples, draw_folds
from labelwood.trees.budgeted.estimator import BudgetedTreeClassifier
from labelwood.trees.budgeted.pruning import (
    MIN_GAINS,
    N_PARTS,
    apply_gain_rule,
    apply_paper_rule,
    choose,
    parts_of,
)


@pytest.mark.parametrize("n_folds", [2, 5])
def test_every_fold_and_class_is_in_both_halves(n_folds):
    signs = np.where(np.random.default_rng(0).random(101) < 0.3, 1.0, -1.0)
    folds = draw_folds((signs > 0).astype(np.int64), n_folds, 0)
    parts = parts_of(Samples(as_csr(np.ones((101, 1))), signs, np.ones(101), folds, n_folds))
    for sign in (-1, 1):
        for fold in range(n_folds):
            counts = np.bincount(parts[(signs == sign) & (folds == fold)], minlength=N_PARTS)
            assert counts.max() - counts.min() <= 1


def strictness_by_hand(model, X, y):
    """Trees on each half, pruned with each strictness, and the errors on the other half."""
    signs = np.where(y, 1.0, -1.0)
    folds = draw_folds(y.astype(np.int64), model.n_folds, model.random_state)
    parts = parts_of(Samples(as_csr(X), signs, np.ones(y.size), folds, model.n_folds))
    wrong = np.empty((len(MIN_GAINS), y.size), dtype=bool)
    for k, min_gain in enumerate(MIN_GAINS):
        for part in range(N_PARTS):
            half = clone(model).set_params(min_gain=min_gain)
            half.fit(X, y, sample_weight=(parts != part).astype(float))
            wrong[k, parts == part] = half.predict(X[parts == part]) != y[parts == part]
    return wrong


@pytest.mark.parametrize(
    ("seed", "noise"), [(0, 0.0), (1, 0.3), pytest.param(2, 0.5, marks=pytest.mark.slow)]
)
def test_strictness_is_tried_on_trees_of_halves(seed, noise):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((400, 6)).astype(np.float32)
    y = (X[:, 0] > np.abs(X[:, 1])) ^ (rng.random(400) < noise)
    model = BudgetedTreeClassifier(2, second_order=False, random_state=0).fit(X, y)
    wrong = strictness_by_hand(model, X, y)
    errors = wrong.sum(axis=1)
    place = MIN_GAINS.index(model.min_gains_[0])
    assert model.trial_errors_[0] == pytest.approx(errors[place] / 400)
    best = errors.argmin()
    apart = (wrong != wrong[best]).sum(axis=1)
    assert place == [
        n - errors[best] <= 2 * np.sqrt(m) for n, m in zip(errors, apart, strict=True)
    ].index(True)
    same = clone(model).set_params(min_gain=MIN_GAINS[place]).fit(X, y)
    for name in FlatTrees._fields:
        np.testing.assert_array_equal(getattr(model, f"{name}_"), getattr(same, f"{name}_"))


@pytest.mark.parametrize(
    ("wrong", "weights", "chosen"),
    [
        ([4, 4, 4, 4, 4, 4], 1.0, 0),  # the usual one where all are alike
        ([9, 9, 9, 9, 9, 4], 1.0, 5),  # 5 apart: more than 2√5
        ([8, 8, 8, 8, 8, 4], 1.0, 0),  # 4 apart: not more than 2√4
        ([9, 6, 4, 9, 9, 9], 1.0, 1),  # of two that are alike the more usual
        ([9, 9, 9, 9, 9, 4], 9.0, 5),  # weights of samples count alike on both sides
    ],
)
def test_the_most_usual_strictness_within_two_standard_errors_is_chosen(wrong, weights, chosen):
    found = choose(np.arange(20) < np.array(wrong)[:, None], np.full(20, weights))
    assert found.min_gain == MIN_GAINS[chosen]
    assert found.error == pytest.approx(wrong[chosen] / 20)


def test_few_heavy_points_say_less_than_many():
    wrong = np.zeros((len(MIN_GAINS), 40), dtype=bool)
    wrong[0, :9] = wrong[1:5, 9:27] = True
    weights = np.where(np.arange(40) < 9, 2.0, 1.0)  # 18 more than the last, as the others are
    assert choose(wrong, weights).min_gain == 0  # 2√36 are less
    weights[:9] = [10.0, *[1.0] * 8]
    assert choose(wrong, weights).min_gain == MIN_GAINS[0]  # 2√108 are more


@pytest.mark.parametrize("seed", range(5))
def test_the_usual_strictness_is_chosen_where_all_are_alike_whatever_the_weights(seed):
    rng = np.random.default_rng(seed)
    wrong = np.tile(rng.random(57) < 0.3, (len(MIN_GAINS), 1))
    weights = rng.random(57) + 0.5
    found = choose(wrong, weights)
    assert found.min_gain == MIN_GAINS[0]
    assert found.error == pytest.approx(weights[wrong[0]].sum() / weights.sum())


@pytest.mark.parametrize("weights", [[0, 1, 0, 1], [1, 0, 0, 1], [1e-141, 1e99, 1e-124, 1]])
def test_points_of_no_weight_are_in_no_half(weights):
    X, y = np.arange(8.0).reshape(4, 2), np.array([0, 0, 1, 1])
    model = BudgetedTreeClassifier(1, random_state=0).fit(X, y, sample_weight=weights)
    assert 0 <= model.trial_errors_[0] <= 1
    samples = Samples(as_csr(X), 2.0 * y - 1, np.array(weights, float), np.arange(4) % 2, 2)
    assert ((parts_of(samples) < 0) == (np.array(weights) == 0)).all()


def test_classes_that_cost_the_same_do_so_in_each_half():
    signs = np.where(np.arange(31) < 5, 1.0, -1.0)
    weights = np.where(signs > 0, 3.1, 15.5 / 26)
    samples = Samples(as_csr(np.ones((31, 1))), signs, weights, np.arange(31) % 5, 5)
    for part in range(N_PARTS):
        half = samples.without(parts_of(samples) == part, balance=True)
        assert half.weights[signs > 0].sum() == pytest.approx(half.weights[signs < 0].sum())
        plain = samples.without(parts_of(samples) == part, balance=False)
        np.testing.assert_array_equal(plain.weights[plain.weights > 0], weights[half.weights > 0])


def test_strictness_is_not_tried_where_it_is_given_or_nothing_is_pruned():
    X = np.random.default_rng(0).standard_normal((300, 4))
    y = X[:, 0] > np.abs(X[:, 1])
    given = BudgetedTreeClassifier(2, min_gain=2, random_state=0).fit(X, y)
    whole = BudgetedTreeClassifier(2, prune=False, random_state=0).fit(X, y)
    assert given.min_gains_.tolist() == [2]
    assert whole.min_gains_.tolist() == [-np.inf]
    assert np.isnan([given.trial_errors_, whole.trial_errors_]).all()


@pytest.mark.slow
@pytest.mark.shared
def test_weak_decisions_that_help_together_are_kept(shared_data):
    options = Options(data=shared_data)
    gains, errors = [], {1.0: [], None: []}
    for split in read_splits("basehock", options):
        for min_gain, found in errors.items():
            model = BudgetedTreeClassifier(5, C=5, min_gain=min_gain, random_state=0)
            found.append(error(model.fit(split.X, split.y), split))
            gains += model.min_gains_.tolist()
    assert min(gains) < 1
    assert np.mean(errors[None]) < np.mean(errors[1.0]) - 1


@pytest.mark.parametrize(("margin", "stays"), [(1.001, True), (0.999, False)])
@pytest.mark.parametrize("by", ["features", "leaves"])
def test_a_decision_stays_when_it_gains_what_its_choices_explain(by, margin, stays):
    """Exactly at √(2 e k ln(d + 1)) by the first count, or √(e × leaves / 2) by the second."""
    n, d, k, min_gain = 1000, 99, 3, 0.5
    samples = Samples(as_csr(np.ones((n, d))), np.ones(n), np.ones(n), np.arange(n) % 2, 2)
    rows, ones, two = np.arange(n), np.ones(n), np.zeros(2)
    node, left, right = (Node(0, 0, rows, ones, two, two) for _ in range(3))
    e = 400.0
    least = {"features": np.sqrt(2 * e * k * np.log(d + 1)), "leaves": np.sqrt(e * 2 / 2)}[by]
    gain = margin * min_gain * least
    below = np.array([e - gain, e] if by == "features" else [e - 1e-6, e - gain])
    node.leaf_errors = np.array([e, e])
    left.leaf_errors = right.leaf_errors = below / 2
    node.decision = SimpleNamespace(features=np.arange(k))
    node.positive, node.negative = left, right
    apply_gain_rule([node, left, right], [samples], [min_gain])
    assert (node.n_leaves == 2) == stays


def _chain(errors):
    """A root with a decision, whose children have decisions, with the CV errors given."""

    def node(depth, cv_error, leaf_errors):
        rows = np.arange(4)
        return Node(
            0,
            depth,
            rows,
            np.ones(4),
            np.array([2.0, 2.0]),
            np.full(2, leaf_errors),
            decision=object(),
            cv_error=cv_error,
        )

    root, left, right = (node(depth, e, e) for depth, e in zip((0, 1, 1), errors, strict=True))
    for parent in (left, right):
        leaves = [node(2, np.nan, 0.0) for _ in range(2)]
        for leaf in leaves:
            leaf.decision = None
        parent.positive, parent.negative = leaves
    root.positive, root.negative = left, right
    below = [left.positive, left.negative, right.positive, right.negative]
    return [root, left, right, *below]


@pytest.mark.parametrize(
    ("errors", "n_leaves"),
    [
        ((5.0, 3.0, 3.0), 2),  # 3 + 3 > 5: both children go, the root stays
        ((5.0, 3.0, 2.0), 4),  # a tie stays
        ((5.0, 1.0, 1.0), 4),
        ((0.0, 0.5, 0.0), 2),  # even a root without errors keeps its decision
    ],
)
def test_the_printed_rule_removes_both_children_when_their_errors_are_larger(errors, n_leaves):
    nodes = _chain(errors)
    apply_paper_rule(nodes)
    assert nodes[0].n_leaves == n_leaves


def test_algorithm_2_as_printed_grows_without_folds_and_prunes_by_its_own_rule():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200, 4)).astype(np.float32)
    y = X[:, 0] > np.abs(X[:, 1])
    settings = {"second_order": False, "min_samples_split": 2, "random_state": 0}
    model = BudgetedTreeClassifier(2, n_folds=1, pruning="paper", **settings).fit(X, y)
    assert model.weights_.shape[0] == 1  # one classifier a decision, no votes
    assert np.isnan(model.min_gains_).all()
    assert model.n_leaves_ >= 2  # the root stays
    again = BudgetedTreeClassifier(2, n_folds=1, pruning="paper", n_jobs=2, **settings).fit(X, y)
    assert again.weights_.tobytes() == model.weights_.tobytes()
