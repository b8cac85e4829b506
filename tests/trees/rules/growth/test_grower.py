"""Growth: the same trees as scikit-learn's where the settings coincide, and beyond them."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from labelwood import RuleTreeClassifier, RuleTreeRegressor
from labelwood.errors import DataError, ParameterError
from trees.rules.trees import table, text


def weighted_loss(model):
    """The loss of all leaves of one of our trees."""
    trees = model._trees()
    return trees.losses[trees.right < 0].sum()


def sklearn_loss(model, factor=1.0):
    tree = model.tree_
    leaves = tree.children_left < 0
    return factor * (tree.impurity * tree.weighted_n_node_samples)[leaves].sum()


def first_difference(ours, theirs):
    """Nodes at which two trees first differ: pairs of our node and theirs."""
    trees, tree = ours._trees(), theirs.tree_
    stack, found = [(0, 0)], []
    while stack:
        a, b = stack.pop()
        leaf_a, leaf_b = trees.right[a] < 0, tree.children_left[b] < 0
        if leaf_a and leaf_b:
            continue
        same = not leaf_a and not leaf_b and trees.features[a] == tree.feature[b]
        if same and trees.thresholds[a] == pytest.approx(tree.threshold[b], rel=1e-12):
            stack += [(a + 1, tree.children_left[b]), (trees.right[a], tree.children_right[b])]
        else:
            found.append((a, b))
    return found


@settings(max_examples=30)
@given(
    st.integers(0, 10_000),
    st.sampled_from(["gini", "log_loss"]),
    st.integers(2, 4),
    st.sampled_from([{"max_depth": 3}, {"max_leaves": 6}, {"min_samples_leaf": 7}]),
)
def test_classification_trees_are_those_of_scikit_learn(seed, criterion, n_classes, limits):
    X, y = table(n_classes=n_classes, seed=seed)
    ours = RuleTreeClassifier(criterion=criterion, **limits).fit(X, y)
    theirs = DecisionTreeClassifier(
        criterion=criterion,
        random_state=0,
        **{"max_leaf_nodes" if name == "max_leaves" else name: n for name, n in limits.items()},
    ).fit(X, y)
    # Our Gini index of two classes is p(1 − p), half of theirs; entropies are in nats and bits.
    factor = (0.5 if n_classes == 2 else 1.0) if criterion == "gini" else np.log(2)
    differences = first_difference(ours, theirs)
    for a, b in differences:  # only splits that are equally good may differ
        trees, tree = ours._trees(), theirs.tree_
        children = [tree.children_left[b], tree.children_right[b]]
        after = factor * (tree.impurity * tree.weighted_n_node_samples)[children].sum()
        assert trees.losses[[a + 1, trees.right[a]]].sum() == pytest.approx(after, rel=1e-9)
    fresh = table(seed=seed + 1)[0]
    if not differences:
        assert weighted_loss(ours) == pytest.approx(sklearn_loss(theirs, factor), rel=1e-9)
        np.testing.assert_allclose(ours.predict_proba(fresh), theirs.predict_proba(fresh))
        np.testing.assert_array_equal(ours.predict(fresh), theirs.predict(fresh))


def test_most_trees_have_no_ties_so_that_the_comparison_means_something():
    n_equal = 0
    for seed in range(20):
        X, y = table(seed=seed)
        ours = RuleTreeClassifier(max_depth=3).fit(X, y)
        theirs = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
        n_equal += not first_difference(ours, theirs)
    assert n_equal >= 12


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.integers(1, 3), st.booleans())
def test_regression_trees_are_those_of_scikit_learn(seed, n_targets, weighted):
    rng = np.random.default_rng(seed)
    X = table(seed=seed)[0]
    y = X[:, :n_targets] ** 2 + 0.1 * rng.standard_normal((200, n_targets)) + 100
    y = y[:, 0] if n_targets == 1 else y
    weights = rng.random(200) + 0.1 if weighted else None
    limits = {"max_depth": 3, "min_samples_leaf": 20}  # leaves of single samples tie
    ours = RuleTreeRegressor(**limits).fit(X, y, weights)
    theirs = DecisionTreeRegressor(random_state=0, **limits).fit(X, y, weights)
    fresh = table(seed=seed + 1)[0]
    np.testing.assert_allclose(ours.predict(fresh), theirs.predict(fresh), rtol=1e-9)
    assert weighted_loss(ours) == pytest.approx(sklearn_loss(theirs, n_targets), rel=1e-6)


@pytest.mark.parametrize("criterion", ["gini", "log_loss"])
def test_sparse_and_dense_features_give_the_same_tree(criterion):
    X, y = text()
    X.data -= 0.5  # negative values too
    sparse = RuleTreeClassifier(criterion=criterion, max_leaves=8).fit(X, y)
    theirs = DecisionTreeClassifier(criterion=criterion, max_leaf_nodes=8, random_state=0)
    theirs.fit(X.toarray(), y)
    factor = 0.5 if criterion == "gini" else np.log(2)
    assert weighted_loss(sparse) == pytest.approx(sklearn_loss(theirs, factor))
    dense = RuleTreeClassifier(criterion=criterion, max_leaves=8).fit(X.toarray(), y)
    np.testing.assert_array_equal(sparse.thresholds_, dense.thresholds_)


def test_a_bound_never_hides_the_best_split():
    for seed in range(20):
        X, y = text(seed=seed)
        classes = np.where(y == 1, 2, 0)
        classes[0] = 1  # a third class: the kernel of many outputs scans every feature
        two = RuleTreeClassifier(max_depth=1).fit(X, y)
        theirs = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y)
        assert weighted_loss(two) == pytest.approx(sklearn_loss(theirs, 0.5))


def test_weights_count_as_repeated_samples():
    X, y = table(seed=3)
    weights = np.random.default_rng(0).integers(0, 4, 200)
    by_weight = RuleTreeClassifier(max_leaves=7).fit(X, y, weights)
    repeated = RuleTreeClassifier(max_leaves=7).fit(
        np.repeat(X, weights, axis=0), y.repeat(weights)
    )
    np.testing.assert_array_equal(by_weight.thresholds_, repeated.thresholds_)
    np.testing.assert_array_equal(by_weight.values_, repeated.values_)


def test_best_first_takes_the_largest_gain_and_stops_at_the_limit():
    X, y = table(500, seed=1)
    losses = [weighted_loss(RuleTreeClassifier(max_leaves=n).fit(X, y)) for n in range(2, 9)]
    gains = -np.diff(losses)
    assert np.all(gains > 0)
    model = RuleTreeClassifier(max_leaves=5).fit(X, y)
    assert model.n_leaves_ == 5
    assert "max_leaves" in model.stop_reason_
    assert RuleTreeClassifier(max_leaves=5, max_depth=2).fit(X, y).n_leaves_ == 4


def test_presence_features_ask_only_whether_a_word_occurs():
    X, y = text()
    model = RuleTreeClassifier(presence_features="all", max_leaves=6).fit(X, y)
    assert set(model.thresholds_[model.features_ >= 0]) == {0.0}
    binary = sp.csr_array((np.ones_like(X.data), X.indices, X.indptr), shape=X.shape)
    same = RuleTreeClassifier(max_leaves=6).fit(binary, y)
    np.testing.assert_array_equal(model.features_, same.features_)
    np.testing.assert_array_equal(model.predict(X), same.predict(binary))


def test_presence_of_features_with_negative_values_means_above_zero():
    X = np.array([[-1.0], [-2.0], [0.0], [3.0], [4.0]] * 4)
    model = RuleTreeClassifier(presence_features=[0], max_depth=1).fit(X, X[:, 0] > 0)
    assert model.thresholds_[0] == 0
    assert model.predict(X).tolist() == (X[:, 0] > 0).tolist()


def test_one_shared_tree_sums_the_purity_of_all_labels():
    X, y = table(300, 4, n_classes=3, seed=2)
    Y = np.column_stack([y == 0, y >= 1, X[:, 1] > 0]).astype(int)
    shared = RuleTreeClassifier(shared_tree=True, max_depth=1).fit(X, Y)
    losses = {}
    for feature in range(4):
        for cut in np.unique(X[:, feature])[:-1]:
            left = X[:, feature] <= cut
            parts = [Y[side].mean(axis=0) for side in (left, ~left)]
            sizes = left.sum(), (~left).sum()
            losses[feature, cut] = sum(
                n * (p * (1 - p)).sum() for n, p in zip(sizes, parts, strict=True)
            )
    assert weighted_loss(shared) == pytest.approx(min(losses.values()))
    assert shared.roots_.size == 1
    each = RuleTreeClassifier(max_depth=1).fit(X, Y)
    assert each.roots_.size == 3
    assert weighted_loss(each) <= weighted_loss(shared)


def test_log_loss_of_a_shared_tree_sums_over_labels():
    X, y = table(200, 3, n_classes=3, seed=5)
    Y = np.column_stack([y == 0, y >= 1]).astype(int)
    shared = RuleTreeClassifier(criterion="log_loss", shared_tree=True, max_depth=1).fit(X, Y)

    def loss(rows):
        p = np.clip(Y[rows].mean(axis=0), 1e-300, 1 - 1e-16)
        return -rows.sum() * (p * np.log(p) + (1 - p) * np.log1p(-p)).sum()

    best = min(
        loss(X[:, j] <= cut) + loss(X[:, j] > cut)
        for j in range(3)
        for cut in np.unique(X[:, j])[:-1]
    )
    assert weighted_loss(shared) == pytest.approx(best)


def test_a_zero_gain_does_not_stop_growth_so_that_xor_is_learned():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 3)
    y = X[:, 0] ^ X[:, 1]
    assert RuleTreeClassifier().fit(X, y).predict(X).tolist() == y.tolist()


def test_constant_features_give_one_leaf_that_says_why():
    model = RuleTreeClassifier().fit(np.ones((6, 3)), [0, 1, 1, 0, 1, 1])
    assert model.n_leaves_ == 1
    assert model.stop_reason_ == "leaves: 1 no split"
    np.testing.assert_allclose(model.predict_proba(np.ones((1, 3))), [[1 / 3, 2 / 3]])
    regressor = RuleTreeRegressor().fit(np.ones((4, 2)), [1.0, 2, 3, 6])
    assert regressor.predict(np.ones((1, 2))).tolist() == [3.0]


def test_columns_that_do_not_exist_are_refused():
    X, y = table()
    with pytest.raises(ParameterError, match=r"must name columns in 0…4. Got \[7\]"):
        RuleTreeClassifier(categorical_features=[7]).fit(X, y)
    with pytest.raises(ParameterError, match="must be None, 'all', a mask"):
        RuleTreeClassifier(presence_features="some").fit(X, y)
    with pytest.raises(ParameterError, match="is in both"):
        RuleTreeClassifier(presence_features=[1], categorical_features=[1]).fit(X, y)
    with pytest.raises(DataError, match="whole numbers"):
        RuleTreeClassifier(categorical_features=[1]).fit(X, y)
