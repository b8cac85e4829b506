import numpy as np
import pytest
import scipy.sparse as sp

import labelwood
from labelwood import HierarchicalRLSClassifier, Taxonomy
from labelwood.core.sparse import unit_rows
from labelwood.errors import DataError, ParameterError
from taxonomy.hierarchies import (
    FOREST,
    consistent,
    labeled_forest,
    node_examples,
)

NAMES = FOREST.names


def test_intervals_are_those_of_the_lemmas_and_hold_after_fit_too():
    X, Y = labeled_forest(90, 8)
    X, asked = X[:60], X[60:]
    level = 0.8
    stream = HierarchicalRLSClassifier(FOREST, confidence=level).partial_fit(X, Y[:60])
    whole = HierarchicalRLSClassifier(FOREST, confidence=level, tol=1e-9).fit(X, Y[:60])
    told = 0
    for row, (path, other) in enumerate(
        zip(stream.explain(asked), whole.explain(asked), strict=True)
    ):
        x = asked[[row]].toarray().ravel().astype(np.float64)
        assert [one.label for one in path] == [one.label for one in other]
        for one, same in zip(path, other, strict=True):
            S, v = node_examples(X, Y[:60], FOREST, one.label)
            Z = S.T @ np.linalg.solve(np.eye(8) + S @ S.T + np.outer(x, x), x)
            wide = np.linalg.norm(Z) * np.sqrt(2 * np.log(2 / (1 - level)))
            assert one.estimate == pytest.approx(v @ Z, abs=1e-6)
            assert (one.low, one.high) == pytest.approx((v @ Z - wide, v @ Z + wide), abs=1e-6)
            A = np.eye(8) + S @ S.T
            away, r = np.linalg.solve(A, x), x @ np.linalg.solve(A, x)
            assert one.bias == pytest.approx((np.linalg.norm(away) + r) / (1 + r), abs=1e-6)
            assert one[3:] == pytest.approx(same[3:], abs=2e-3)
            assert one.predicted == (one.low > 0)
            told += 1
    assert told > 20


def test_intervals_after_fit_are_not_narrower_where_rows_are_nearly_alike():
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(840, 100)) * np.logspace(0, -2.5, 100) + 3 * np.eye(1, 100)
    X = unit_rows(sp.csr_array(dense.astype(np.float32)))
    Y, root = sp.csr_array((dense[:, 1:2] > 0).astype(np.float32)), Taxonomy(("r",), [-1])
    models = [HierarchicalRLSClassifier(root, confidence=0.5) for _ in range(2)]
    whole, stream = models[0].fit(X[:800], Y[:800]), models[1].partial_fit(X[:800], Y[:800])
    compared = 0
    for one, other in zip(whole.explain(X[800:]), stream.explain(X[800:]), strict=True):
        for mine, exact in zip(one, other, strict=True):
            width = (mine.high - mine.low) / (exact.high - exact.low)
            assert 1 - 1e-6 < width < 1.01
            compared += 1
    assert compared > 10


def test_confidence_backs_off_to_coarser_labels():
    X, Y = labeled_forest(400, 8)
    model = HierarchicalRLSClassifier(FOREST).partial_fit(X[:300], Y[:300])
    sure, surer = (model.set_params(confidence=c).predict(X[300:]) for c in (0.3, 0.9))
    bold = model.set_params(confidence=None).predict(X[300:])
    assert bold.nnz > sure.nnz > surer.nnz > 0
    assert (sure - bold).max() <= 0
    assert consistent(sure, FOREST)
    assert consistent(surer, FOREST)
    wrong = [(one - Y[300:] > 0).sum() / one.nnz for one in (bold, surer)]
    assert wrong[1] < wrong[0]


def test_confidence_needs_samples_for_intervals():
    X, Y = labeled_forest(60, 8)
    model = HierarchicalRLSClassifier(FOREST).fit(X, Y)
    assert all(one.low is None for path in model.explain(X) for one in path)
    with pytest.raises(DataError, match="kept no samples for intervals of margins; set confidence"):
        model.set_params(confidence=0.9).predict(X)


def test_an_explanation_shows_where_a_prediction_stopped():
    X, Y = labeled_forest(400, 8)
    names = [[NAMES[i] for i in row.nonzero()[0]] for row in Y.toarray()]
    model = HierarchicalRLSClassifier(FOREST, confidence=0.9).fit(X, names)
    predicted = model.predict(X)
    stopped = 0
    for row, path in enumerate(model.explain(X)):
        given = [NAMES.index(one.label) for one in path if one.predicted]
        assert sorted(given) == predicted[[row]].indices.tolist()
        for one in path:
            up = FOREST.parent[NAMES.index(one.label)]
            assert up < 0 or up in given
            stopped += not one.predicted
            assert one.predicted or one.margin > 0 >= one.low
    assert stopped > 0


def test_a_model_with_intervals_is_loaded_as_it_was(tmp_path):
    X, Y = labeled_forest(60, 8)
    model = HierarchicalRLSClassifier(FOREST, confidence=0.5).fit(X, Y)
    labelwood.save(model, tmp_path / "model")
    assert labelwood.load(tmp_path / "model").explain(X) == model.explain(X)


def test_intervals_are_of_the_training_that_was():
    X, Y = labeled_forest(60, 8)
    model = HierarchicalRLSClassifier(FOREST, confidence=0.5).fit(X, Y)
    before = model.explain(X)
    assert model.set_params(train="independent").explain(X) == before


SELECTING = {
    "margin": {"store": "margin"},
    "wide margin": {"store": "margin", "margin": 10.0},  # keeps all of them here
    "max_support": {"max_support": 20},
    "both": {"store": "margin", "max_support": 20},
}


@pytest.mark.parametrize("train", ["hierarchical", "independent"])
@pytest.mark.parametrize("mode", SELECTING)
def test_samples_that_are_kept_by_their_labels_allow_no_interval(mode, train):
    X, Y = labeled_forest(200, 8)
    model = HierarchicalRLSClassifier(FOREST, train=train, **SELECTING[mode]).partial_fit(X, Y)
    found = [one for path in model.explain(X) for one in path if one.label in (1, 2)]  # the roots
    assert len(found) > 50
    for one in found:
        assert (one.low, one.high, one.bias, one.margin_interval) == (None,) * 4
        assert one.estimate is not None
    why = "No interval holds for the margins of label .* set confidence=None, or learn with store"
    with pytest.raises(DataError, match=why):
        model.set_params(confidence=0.9).predict(X)


def test_learning_with_both_a_confidence_and_a_choice_by_labels_is_refused():
    X, Y = labeled_forest(60, 8)
    model = HierarchicalRLSClassifier(FOREST, store="margin", confidence=0.9)
    with pytest.raises(ParameterError, match="confidence needs intervals, which do not hold"):
        model.partial_fit(X, Y)
    assert "classes_" not in vars(model)


def test_a_limit_that_was_not_reached_leaves_intervals_as_they_are():
    X, Y = labeled_forest(90, 100)  # more features than samples, so that no node turns primal
    models = [HierarchicalRLSClassifier(FOREST, max_support=n) for n in (None, 90, 89)]
    free, limited, full = (model.partial_fit(X, Y).explain(X) for model in models)
    assert limited == free
    roots = {one.low for path in full for one in path if one.label in (1, 2)}
    assert roots == {None}
    deeper = [one.low for path in full for one in path if one.label not in (1, 2)]
    assert None not in deeper  # these nodes have seen fewer samples than the limit


def test_one_call_with_a_choice_by_labels_ends_the_intervals_for_good():
    X, Y = labeled_forest(90, 8)
    model = HierarchicalRLSClassifier(FOREST).partial_fit(X[:40], Y[:40])
    assert all(one.low is not None for path in model.explain(X) for one in path)
    model.set_params(store="margin").partial_fit(X[40:60], Y[40:60])
    model.set_params(store="all").partial_fit(X[60:], Y[60:])
    assert all(one.low is None for path in model.explain(X) for one in path if one.label in (1, 2))


@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
def test_nothing_is_said_of_the_bias_below_the_roots_of_independent_nodes(learn):
    X, Y = labeled_forest(200, 8)
    model = HierarchicalRLSClassifier(FOREST, train="independent", confidence=0.2)
    for path in getattr(model, learn)(X, Y).explain(X):
        for one in path:
            root = FOREST.parent[one.label] < 0
            assert one.low is not None
            assert (one.bias is not None) == root
            assert (one.margin_interval is not None) == root


def test_the_interval_of_the_true_margin_is_wider_by_the_bias():
    X, Y = labeled_forest(90, 8)
    for path in HierarchicalRLSClassifier(FOREST).partial_fit(X, Y).explain(X[:20]):
        for one in path:
            assert one.margin_interval == (one.low - one.bias, one.high + one.bias)


def test_a_support_of_format_1_is_loaded_without_intervals(tmp_path):
    X, Y = labeled_forest(90, 8)
    model = HierarchicalRLSClassifier(FOREST).partial_fit(X, Y)
    model.support_counts_ = model.support_counts_[:, :4].copy()
    labelwood.save(model, tmp_path / "model")
    loaded = labelwood.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X).toarray(), model.predict(X).toarray())
    assert {one.low for path in loaded.explain(X) for one in path} == {None}


def test_iterations_of_format_1_are_loaded(tmp_path):
    X, Y = labeled_forest(90, 8)
    model = HierarchicalRLSClassifier(FOREST).fit(X, Y)
    per_label, most = model.n_iter_labels_, model.n_iter_
    del model.n_iter_
    labelwood.save(model, tmp_path / "model")
    loaded = labelwood.load(tmp_path / "model")
    assert (loaded.n_iter_, loaded.n_iter_labels_.tolist()) == (most, per_label.tolist())
