import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwood.data.taxonomy.taxonomy import Taxonomy
from labelwood.errors import DataError, ParameterError
from labelwood.taxonomy import simulator as module
from labelwood.taxonomy.simulator import TaxonomyModel, balanced, chain, star


@st.composite
def small_models(draw):
    """Forests of up to six nodes in any order, with random vectors, and some points."""
    n = draw(st.integers(1, 6))
    above = [draw(st.integers(-1, i - 1)) for i in range(n)]
    order = draw(st.permutations(range(n)))
    parent = np.full(n, -1)
    for i, j in enumerate(above):
        parent[order[i]] = order[j] if j >= 0 else -1
    taxonomy = Taxonomy(tuple("abcdef"[:n]), parent)
    seed = draw(st.integers(0, 2**32))
    model = TaxonomyModel.draw(taxonomy, draw(st.integers(1, 4)), random_state=seed)
    return model, model.instances(5, random_state=seed + 1)


def label_sets(taxonomy):
    """All label sets without a label that lacks its parent."""
    for labels in itertools.product((0, 1), repeat=len(taxonomy)):
        if all(j < 0 or labels[j] or not labels[i] for i, j in enumerate(taxonomy.parent)):
            yield labels


def by_definition(model, labels, x):
    """The probability of a label set: the product over the nodes."""
    p = 1.0
    for i, j in enumerate(model.taxonomy.parent):
        positive = (1 + model.vectors[i] @ x) / 2 if j < 0 or labels[j] else 0.0
        p *= positive if labels[i] else 1 - positive
    return p


def repeated(labels, n):
    return np.tile(np.asarray(labels, dtype=float), (n, 1))


# Taxonomies


def test_a_chain_has_one_node_below_the_other():
    assert chain(4).depth.tolist() == [0, 1, 2, 3]
    assert len(chain(1)) == 1


def test_a_star_has_a_root_and_its_children():
    assert star(5).depth.tolist() == [0, 1, 1, 1, 1]
    assert star(1) == chain(1)


def test_a_balanced_tree_has_equally_many_children_everywhere():
    tree = balanced(3, 2)
    assert len(tree) == 1 + 3 + 9
    assert [tree.children(i).size for i in range(13)] == [3] * 4 + [0] * 9
    assert balanced(1, 3) == chain(4)
    assert balanced(5, 0) == chain(1)


@pytest.mark.parametrize("make", [lambda: chain(0), lambda: star(0), lambda: balanced(0, 1)])
def test_a_taxonomy_without_nodes_is_refused(make):
    with pytest.raises(ParameterError, match="must be an int ≥ 1"):
        make()


# Points and labels


def test_points_have_length_one_and_the_margins_asked_for():
    margin = np.array([0.3, 0.0, 0.1])
    model = TaxonomyModel.draw(chain(3), 4, margin=margin, random_state=1)
    X = model.instances(5_000, random_state=2)
    assert X.shape == (5_000, 4)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1)
    smallest = np.abs(X @ model.vectors.T).min(axis=0)
    assert (smallest >= margin).all()
    np.testing.assert_allclose(smallest, margin, atol=0.01)


def test_without_margins_points_are_uniform_on_the_sphere():
    X = TaxonomyModel.draw(chain(1), 3).instances(20_000, random_state=0)
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=0.02)
    np.testing.assert_allclose(X.T @ X / 20_000, np.eye(3) / 3, atol=0.02)
    heights = np.sort(X[:, 0])  # uniform on (−1, 1), by Archimedes
    np.testing.assert_allclose(heights, np.linspace(-1, 1, 20_000), atol=0.03)


def test_labels_are_drawn_with_the_probability_of_the_model_given_the_parent():
    model = TaxonomyModel(star(3), np.array([[1, 0], [0, 1], [-0.6, 0.8]]))
    x = np.array([0.8, 0.6])
    Y = model.labels(np.tile(x, (40_000, 1)), random_state=0).toarray()
    assert model.taxonomy.is_closed(Y)
    assert Y[:, 0].mean() == pytest.approx(0.9, abs=0.01)
    given_root = Y[Y[:, 0] == 1]
    assert given_root[:, 1].mean() == pytest.approx(0.8, abs=0.01)
    assert given_root[:, 2].mean() == pytest.approx(0.5, abs=0.01)
    # the children of a node are independent of each other
    assert (given_root[:, 1] * given_root[:, 2]).mean() == pytest.approx(0.4, abs=0.01)


def test_the_same_seed_gives_the_same_sample_and_another_one_another():
    model = TaxonomyModel.draw(balanced(2, 2), 3, margin=0.05)
    a, b, c = (model.sample(50, random_state=seed) for seed in (1, 1, 2))
    assert np.array_equal(a.X, b.X)
    assert (a.Y != b.Y).nnz == 0
    assert not np.array_equal(a.X, c.X)
    again = TaxonomyModel.draw(balanced(2, 2), 3, margin=0.05)
    assert np.array_equal(model.vectors, again.vectors)


def test_labels_are_not_tied_to_points_of_the_same_seed():
    model = TaxonomyModel(chain(1), [[1.0, 0.0]])
    X, Y = model.sample(20_000, random_state=0)
    apart = model.labels(X, random_state=1)
    for labels in (Y, apart):
        hits = labels.toarray()[:, 0] - (1 + X[:, 0]) / 2
        assert abs(np.mean(hits * np.sign(X[:, 1]))) < 0.02
        assert abs(np.mean(hits * X[:, 0])) < 0.02


def test_no_points_are_no_special_case():
    model = TaxonomyModel.draw(chain(2), 3)
    X, Y = model.sample(0, random_state=0)
    assert X.shape == (0, 3)
    for labels in (Y, model.predict(X), model.predict_likeliest(X)):
        assert labels.shape == (0, 2)
    assert model.probability(X, Y).shape == (0,)


# Predictors and probabilities


@given(small_models())
def test_the_true_predictor_takes_positive_margins_below_predicted_parents(made):
    model, X = made
    predicted = model.predict(X).toarray()
    for x, y in zip(X, predicted, strict=True):
        for i, j in enumerate(model.taxonomy.parent):
            assert y[i] == (model.vectors[i] @ x >= 0 and (j < 0 or y[j] == 1))


def test_a_margin_of_zero_counts_as_positive():
    model = TaxonomyModel(chain(2), [[1.0, 0.0], [0.0, 1.0]])
    assert model.predict([[0.0, 1.0], [1.0, 0.0]]).toarray().tolist() == [[1, 1], [1, 1]]


@given(small_models())
def test_probabilities_are_products_over_the_nodes_and_sum_to_one(made):
    model, X = made
    total = np.zeros(len(X))
    for labels in label_sets(model.taxonomy):
        p = model.probability(X, repeated(labels, len(X)))
        np.testing.assert_allclose(p, [by_definition(model, labels, x) for x in X], atol=1e-12)
        total += p
    np.testing.assert_allclose(total, 1)


def test_a_label_without_its_parent_has_no_probability():
    model = TaxonomyModel.draw(chain(2), 3)
    assert model.probability(model.instances(4, random_state=0), repeated([0, 1], 4)).max() == 0


@given(small_models())
def test_no_label_set_is_more_probable_than_the_likeliest(made):
    model, X = made
    found = model.predict_likeliest(X)
    assert model.taxonomy.is_closed(found)
    best = [max(by_definition(model, one, x) for one in label_sets(model.taxonomy)) for x in X]
    np.testing.assert_allclose(model.probability(X, found), best, rtol=1e-12)


def test_the_likeliest_labels_are_found_where_probabilities_are_zero_or_one():
    model = TaxonomyModel(chain(3), [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])
    X = [[1.0, 0.0], [-1.0, 0.0]]
    assert model.predict_likeliest(X).toarray().tolist() == [[1, 0, 0], [0, 0, 0]]


def test_the_likeliest_labels_do_not_depend_on_how_points_are_cut_into_blocks(monkeypatch):
    model = TaxonomyModel.draw(balanced(2, 2), 3)
    X = model.instances(30, random_state=0)
    whole = model.predict_likeliest(X)
    monkeypatch.setattr(module, "_FLOATS_AT_ONCE", 28)
    assert (whole != model.predict_likeliest(X)).nnz == 0


def test_the_true_predictor_is_not_the_best_one():
    model = TaxonomyModel.draw(chain(5), 3, random_state=0)
    X = model.instances(5_000, random_state=1)
    gained = -model.regret(X, model.predict_likeliest(X))
    assert gained.min() >= 0
    assert gained.mean() > 0.01


def test_regret_is_the_difference_of_how_often_both_are_wrong():
    model = TaxonomyModel.draw(star(3), 2, random_state=3)
    X = model.instances(50_000, random_state=0)
    Y, mine, other = model.labels(X, random_state=1), model.predict(X), repeated([1, 1, 1], 50_000)
    wrong = [np.any(Y.toarray() != labels, axis=1) for labels in (other, mine.toarray())]
    measured = wrong[0].mean() - wrong[1].mean()
    assert model.regret(X, other).mean() == pytest.approx(measured, abs=0.01)
    assert not model.regret(X, mine).any()


# What the bounds ask for


def test_the_process_is_that_of_the_examples_a_node_learns_from(monkeypatch):
    monkeypatch.setattr(module, "_FLOATS_AT_ONCE", 2**16)  # several blocks
    model = TaxonomyModel.draw(balanced(2, 2), 3, margin=0.05, random_state=1)
    process = model.process(60_000, random_state=0)
    X, Y = model.sample(60_000, random_state=5)
    labels, predicted = Y.toarray(), model.predict(X).toarray()
    for i, j in enumerate(model.taxonomy.parent):
        positive = labels[:, j] == 1 if j >= 0 else np.ones(len(X), dtype=bool)
        above = predicted[:, j].mean() if j >= 0 else 1.0
        own = X[positive]
        smallest = np.linalg.eigvalsh(own.T @ own / len(own))[0]
        assert process.observed[i] == pytest.approx(positive.mean(), abs=0.01)
        assert process.predicted[i] == pytest.approx(above, abs=0.01)
        assert process.eigenvalue[i] == pytest.approx(smallest, abs=0.01)
    assert process.n_features == 3
    assert process.depth.tolist() == [0, 1, 1, 2, 2, 2, 2]
    assert process.margin.tolist() == [0.05] * 7


def test_a_node_can_lose_a_direction_though_no_vector_is_an_eigenvector():
    # Against remark 3: points −u and v alone, which are not orthogonal; below u only v is left.
    u, v = np.array([1.0, 0.0]), np.array([0.6, 0.8])
    model = TaxonomyModel(chain(2), [u, [0.0, 1.0]])
    of_root = (np.outer(u, u) + np.outer(v, v)) / 2
    assert np.linalg.eigvalsh(of_root)[0] > 0.1
    assert abs(np.cross(np.append(of_root @ u, 0), np.append(u, 0))[2]) > 0.1
    drawn = model.labels(np.tile([-u, v], (500, 1)), random_state=0).toarray()[:, 0]
    assert set(np.flatnonzero(drawn) % 2) == {1}


# What is refused


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"vectors": [[1.0, 0.0]]}, "a vector for each node. Got 1 for Taxonomy"),
        ({"vectors": [[1.0, 0.0], [1.0, 1.0]]}, "must have length one. Got 1.41421 in row 1"),
        ({"vectors": [[1.0, 0.0], [np.nan, 0.0]]}, "must have length one. Got nan in row 1"),
        ({"vectors": [1.0, 0.0]}, "vectors must have two dimensions. Got 1"),
        ({"vectors": [["a", "b"]]}, "vectors must be a dense array of numbers"),
        ({"margin": 1.0}, r"margin must be a number in \[0, 1\), or 2 of them. Got 1.0"),
        ({"margin": [0.1, -0.1]}, r"margin must be a number in \[0, 1\)"),
        ({"margin": [0.1, 0.1, 0.1]}, "or 2 of them"),
        ({"margin": np.nan}, "Got nan"),
    ],
)
def test_an_impossible_model_is_refused(arguments, message):
    with pytest.raises(DataError, match=message):
        TaxonomyModel(**{"taxonomy": chain(2), "vectors": np.eye(2), **arguments})


def test_a_model_without_a_taxonomy_is_refused():
    with pytest.raises(ParameterError, match="'taxonomy' parameter of TaxonomyModel must be"):
        TaxonomyModel([-1, 0], np.eye(2))


def test_margins_that_no_point_has_are_an_error_with_a_remedy():
    model = TaxonomyModel(chain(2), np.eye(2), margin=0.8)
    with pytest.raises(DataError, match=r"0 of .* instances drawn .* 0.8…0.8; lower `margin`"):
        model.instances(1, random_state=0)


def test_points_and_labels_must_fit_the_model():
    model = TaxonomyModel.draw(chain(2), 3)
    X = model.instances(2, random_state=0)
    with pytest.raises(DataError, match="X has 4 columns where 3 are expected"):
        model.predict(np.eye(4))
    with pytest.raises(DataError, match=r"Every row of X must have length one. Got 2 in row 0"):
        model.labels(2 * np.eye(3), random_state=0)
    with pytest.raises(DataError, match="Y has 3 columns for Taxonomy"):
        model.probability(X, np.zeros((2, 3)))
    with pytest.raises(DataError, match="X has 2 rows and Y 1"):
        model.probability(X, np.zeros((1, 2)))
    with pytest.raises(ParameterError, match="'random_state' parameter"):
        model.sample(3, random_state=-1)
    with pytest.raises(ParameterError, match="'n' parameter of TaxonomyModel"):
        model.instances(-1, random_state=0)
    with pytest.raises(ParameterError, match="'n_features' parameter of TaxonomyModel"):
        TaxonomyModel.draw(chain(2), 0)


def test_a_node_that_is_never_met_has_the_eigenvalue_zero():
    process = TaxonomyModel(chain(3), [[1.0], [-1.0], [1.0]]).process(100)
    assert process.observed[1] > 0
    assert process.observed[2] == 0
    assert process.eigenvalue[2] == 0
