"""The primal form of a node, against the dual (which a limit above all samples keeps) and dense."""

import copy
from itertools import chain

import numpy as np
import pytest
import scipy.sparse as sp

import labelwood
from labelwood import HierarchicalRLSClassifier
from labelwood.core.sparse import unit_rows
from labelwood.errors import ModelError, ParameterError
from labelwood.taxonomy.hierarchical_rls.update_rule import LeastSquaresRule
from labelwood.taxonomy.hierarchy import Node
from taxonomy.hierarchies import (
    FOREST,
    dense_weights,
    labeled_forest,
    node_examples,
    on_line,
    state,
)

N, D = 300, 21
DUAL = {"max_support": 10**6}
pytestmark = pytest.mark.filterwarnings("ignore:1 of .* rows are empty")


@pytest.fixture(scope="module")
def samples():
    X, Y = labeled_forest(N, D)
    X = X.toarray()
    X[np.random.default_rng(1).random(X.shape) < 0.5] = 0  # sparse rows, of unit length
    X[7] = 0  # an empty one
    X = sp.csr_array(X)
    for _ in range(6):  # until the model's own scaling changes no bit
        X = unit_rows(X)
    return X, Y


@pytest.fixture(scope="module")
def primal(samples):
    return HierarchicalRLSClassifier(FOREST).partial_fit(*samples)


def test_the_weights_are_those_of_the_dual_and_of_the_dense_formula(samples, primal):
    X, Y = samples
    dual = HierarchicalRLSClassifier(FOREST, **DUAL).partial_fit(X, Y)
    assert not dual.primal_.any()
    np.testing.assert_array_equal(primal.primal_, dual.n_support_ > D)
    assert primal.primal_.any()
    np.testing.assert_array_equal(
        primal.support_counts_[:, [0, 2, 3, 4]], dual.support_counts_[:, [0, 2, 3, 4]]
    )
    expected = dense_weights(X, Y, FOREST)
    for node in np.flatnonzero(primal.primal_):
        np.testing.assert_allclose(
            primal.support_alpha_[node], expected[:, node], rtol=0, atol=1e-12
        )
        S, _ = node_examples(X, Y, FOREST, node)
        inverse = primal.support_inverse_[node].reshape(D, D)
        np.testing.assert_allclose(inverse @ (np.eye(D) + S @ S.T), np.eye(D), rtol=0, atol=1e-12)
        np.testing.assert_array_equal(inverse, inverse.T)
    np.testing.assert_allclose(primal.coef_.toarray(), dual.coef_.toarray(), atol=1e-7)
    np.testing.assert_array_equal(primal.predict(X).toarray(), dual.predict(X).toarray())


def test_intervals_are_those_of_the_dual(samples, primal):
    X, Y = samples
    dual = HierarchicalRLSClassifier(FOREST, **DUAL).partial_fit(X, Y)
    found, expected = (list(chain(*model.explain(X))) for model in (primal, dual))
    assert [one.label for one in found] == [one.label for one in expected]
    for name in ("estimate", "low", "high", "bias"):
        ours, theirs = ([getattr(one, name) for one in path] for path in (found, expected))
        np.testing.assert_allclose(ours, theirs, atol=1e-7)


@pytest.mark.parametrize("n_before", [0, 1, D - 1, D, D + 1, 100])
def test_the_form_changes_where_an_example_more_than_features_comes(samples, primal, n_before):
    X, Y = samples
    model = HierarchicalRLSClassifier(FOREST, n_jobs=2)
    if n_before:
        model.partial_fit(X[:n_before], Y[:n_before])
        # Row 7 is empty and not kept.
        kept = n_before - (n_before > 7)
        assert model.primal_[[1, 2]].tolist() == [kept > D] * 2
    model.partial_fit(X[n_before:], Y[n_before:])
    assert state(model) == state(primal)


def test_batches_threads_and_files_make_no_difference(samples, primal, tmp_path):
    X, Y = samples
    assert state(on_line(HierarchicalRLSClassifier(FOREST, n_jobs=3), X, Y, 77)) == state(primal)
    half = HierarchicalRLSClassifier(FOREST).partial_fit(X[:150], Y[:150])
    labelwood.save(half, tmp_path / "model")
    resumed = labelwood.load(tmp_path / "model")
    assert resumed.primal_.tolist() == half.primal_.tolist()
    assert state(resumed.partial_fit(X[150:], Y[150:])) == state(primal)


def test_rows_are_dropped_when_no_node_keeps_them():
    X, Y = labeled_forest(3000, 4)
    model = on_line(HierarchicalRLSClassifier(FOREST), X, Y, 500)
    assert model.primal_.all()
    assert model.support_indptr_.size - 1 <= 1024
    np.testing.assert_allclose(model.coef_.toarray().T, dense_weights(X, Y, FOREST), atol=1e-6)


@pytest.mark.parametrize("seen", [15, 100])  # before and after the form changes
def test_an_update_that_fails_changes_nothing(samples, monkeypatch, seen):
    X, Y = samples
    model = HierarchicalRLSClassifier(FOREST).partial_fit(X[:seen], Y[:seen])
    before = copy.deepcopy(model)
    update, calls = LeastSquaresRule.update, []

    def update_and_stop(*arguments):
        used = update(*arguments)
        calls.append(arguments[4].is_primal)
        if sum(calls) == 3:
            raise KeyboardInterrupt
        return used

    with monkeypatch.context() as patched:
        patched.setattr(LeastSquaresRule, "update", update_and_stop)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(X[seen:], Y[seen:])
    assert state(model) == state(before)


def test_a_choice_by_margins_goes_on_in_the_primal_form(samples):
    X, Y = samples
    options = {"store": "margin", "margin": 0.3}
    models = [HierarchicalRLSClassifier(FOREST), HierarchicalRLSClassifier(FOREST, **DUAL)]
    for model in models:
        model.partial_fit(X[:150], Y[:150]).set_params(**options).partial_fit(X[150:], Y[150:])
    np.testing.assert_array_equal(models[0].n_support_, models[1].n_support_)
    assert models[0].n_support_.sum() < models[0].n_seen_.sum()
    np.testing.assert_allclose(*(model.coef_.toarray() for model in models), atol=1e-6)
    assert all(one.low is None for path in models[0].explain(X) for one in path if one.label == 1)


def test_a_limit_on_samples_that_are_not_kept_is_refused(samples, primal):
    model = copy.deepcopy(primal).set_params(max_support=1000)
    with pytest.raises(ParameterError, match=r"\d nodes have the primal form and keep no samples"):
        model.partial_fit(*samples)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("alpha", lambda alpha: alpha[:-1]),
        ("alpha", lambda alpha: alpha * np.nan),
        ("inverse", lambda inverse: inverse[:-1]),
        ("inverse", lambda inverse: inverse.reshape(D, D)),
        ("pending", lambda pending: pending[:1]),
        ("factors", lambda factors: factors[:1]),
    ],
)
def test_a_spoiled_primal_form_is_refused_on_loading(primal, tmp_path, part, value):
    model = copy.deepcopy(primal)
    parts = getattr(model, f"support_{part}_")
    parts[1] = value(parts[1])
    labelwood.save(model, tmp_path / "model")
    with pytest.raises(ModelError, match="not a valid labelwood model"):
        labelwood.load(tmp_path / "model")


@pytest.mark.parametrize(("count", "value"), [(0, 0), (1, 1), (2, 0)])
def test_counts_that_no_primal_form_has_are_refused_on_loading(primal, tmp_path, count, value):
    model = copy.deepcopy(primal)
    model.support_counts_[1, count] = value
    labelwood.save(model, tmp_path / "model")
    with pytest.raises(ModelError, match="not a valid labelwood model"):
        labelwood.load(tmp_path / "model")


def test_features_that_do_not_fit_into_memory_are_refused(monkeypatch):
    monkeypatch.setattr("labelwood.core.memory.available_memory", lambda: 1000)
    monkeypatch.setattr("labelwood.taxonomy.hierarchy.nodes._MEMORY_CHECK_BYTES", 1000)
    with pytest.raises(MemoryError, match=r"A node with 30 features needs .* store='margin'"):
        Node.primal(30)
