import copy
import os
import signal
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import labelwood
from labelwood import HierarchicalRLSClassifier, Taxonomy
from labelwood.errors import LabelwoodWarning, ModelError, ParameterError
from labelwood.taxonomy.hierarchy import Nodes
from taxonomy.hierarchies import (
    FOREST,
    dense_weights,
    labeled_forest,
    node_examples,
    on_line,
    seed_margin,
    state,
)


def test_a_node_that_cannot_fit_into_memory_is_refused(monkeypatch):
    monkeypatch.setattr("labelwood.core.memory.available_memory", lambda: 1000)
    monkeypatch.setattr("labelwood.taxonomy.hierarchy.nodes._MEMORY_CHECK_BYTES", 1000)
    X, Y = labeled_forest(80, 40)
    with pytest.raises(MemoryError, match=r"A node with 32 examples needs .* set max_support"):
        HierarchicalRLSClassifier(FOREST).partial_fit(X, Y)


@pytest.mark.parametrize("train", ["hierarchical", "independent"])
def test_on_line_margins_are_those_of_figure_2_after_every_example(train):
    X, Y = labeled_forest(50, 8)
    model = HierarchicalRLSClassifier(FOREST, train=train)
    compared = 0
    for t in range(1, 50):
        model.partial_fit(X[t - 1 : t], Y[t - 1 : t])
        told = {one.label: one for one in model.explain(X[[t]])[0]}
        x = X[[t]].toarray().ravel().astype(np.float64)
        for node, one in told.items():
            S, v = node_examples(X[:t], Y[:t], FOREST, node, train == "independent")
            assert one.estimate == pytest.approx(seed_margin(S, v, x), abs=1e-6)
            compared += 1
        seen = dense_weights(X[:t], Y[:t], FOREST, train == "independent")
        np.testing.assert_allclose(model.coef_.toarray().T, seen, atol=1e-6)
    assert compared > 50


def test_on_line_learning_ends_where_fit_does():
    X, Y = labeled_forest(300, 20)  # enough that pending terms are settled
    whole = HierarchicalRLSClassifier(FOREST, tol=1e-9).fit(X, Y)
    stream = HierarchicalRLSClassifier(FOREST).partial_fit(X, Y)
    np.testing.assert_allclose(stream.coef_.toarray(), whole.coef_.toarray(), atol=1e-6)
    assert stream.n_support_.tolist() == stream.n_seen_.tolist()


@settings(max_examples=10)
@given(st.integers(1, 70), st.integers(1, 2), st.sampled_from([None, 9]))
def test_batches_and_threads_make_no_difference(size, n_jobs, max_support):
    X, Y = labeled_forest(140, 6)
    options = {"store": "margin", "margin": 0.4, "max_support": max_support}
    whole = HierarchicalRLSClassifier(FOREST, **options).partial_fit(X, Y)
    parts = on_line(HierarchicalRLSClassifier(FOREST, n_jobs=n_jobs, **options), X, Y, size)
    assert state(parts) == state(whole)


def test_the_support_is_what_was_mistaken_or_had_a_small_margin():
    X, Y = labeled_forest(120, 6)
    model = HierarchicalRLSClassifier(FOREST, store="margin", margin=0.3).partial_fit(X, Y)
    for node in range(len(FOREST)):
        parent = FOREST.parent[node]
        seen = range(120) if parent < 0 else np.flatnonzero(Y.toarray()[:, parent])
        S, signs, kept = np.zeros((6, 0)), np.zeros(0), []
        for t in seen:
            x, v = X[[t]].toarray().ravel(), 2 * Y[t, node] - 1
            margin = np.linalg.solve(np.eye(6) + S @ S.T, S @ signs) @ x
            if margin * v <= 0 or abs(margin) <= 0.3:
                S, signs = np.column_stack([S, x]), np.append(signs, v)
                kept.append(int(t))
        assert model.support_rows_[node][: model.n_support_[node]].tolist() == kept
    assert 0 < model.n_support_.sum() < model.n_seen_.sum()


def test_a_full_support_loses_the_example_that_the_weights_need_least():
    X, Y = labeled_forest(200, 6)
    model = HierarchicalRLSClassifier(Taxonomy(("a",), [-1]), max_support=7)
    kept = []
    for t in range(200):
        model.partial_fit(X[[t]], Y[[t]][:, [1]])
        if len(kept) == 7:
            S = X[kept].toarray().astype(np.float64)
            signs = 2 * Y[kept][:, [1]].toarray().ravel() - 1
            alpha = np.linalg.solve(np.eye(7) + S @ S.T, signs)
            kept[np.argmin(np.abs(alpha))] = t
        else:
            kept.append(t)
        assert model.support_rows_[0][: len(kept)].tolist() == kept
    S = X[kept].toarray().astype(np.float64)
    alpha = np.linalg.solve(np.eye(7) + S @ S.T, 2 * Y[kept][:, [1]].toarray().ravel() - 1)
    np.testing.assert_allclose(model.support_alpha_[0][:7], alpha, atol=1e-9)


def test_the_inverse_stays_exact_over_thousands_of_examples_that_come_and_go():
    X, Y = labeled_forest(6000, 30)
    model = HierarchicalRLSClassifier(FOREST, max_support=50).partial_fit(X, Y)
    store = sp.csr_array(
        (model.support_data_, model.support_indices_.astype(np.int32), model.support_indptr_)
    ).toarray()
    for node in range(len(FOREST)):
        S = store[model.support_rows_[node][:50]].astype(np.float64)
        signs = model.support_alpha_[node][:50] + S @ (S.T @ model.support_alpha_[node][:50])
        np.testing.assert_allclose(np.abs(signs), 1, atol=1e-9)
        inverse = np.zeros((50, 50))
        inverse[np.tril_indices(50)] = model.support_inverse_[node][: 50 * 51 // 2]
        inverse += np.tril(inverse, -1).T
        n_pending = model.support_counts_[node, 1]
        pending = model.support_pending_[node][:n_pending, :50]
        inverse += pending.T * model.support_factors_[node][:n_pending] @ pending
        np.testing.assert_allclose(inverse @ (np.eye(50) + S @ S.T), np.eye(50), atol=1e-9)


def test_rows_that_no_node_keeps_are_dropped():
    X, Y = labeled_forest(5000, 6)
    model = HierarchicalRLSClassifier(FOREST, store="margin", margin=0.0, max_support=20)
    sizes = []
    for start in range(0, 5000, 100):
        model.partial_fit(X[start : start + 100], Y[start : start + 100])
        sizes.append(model.support_indptr_.size - 1)
    assert max(sizes) <= 2 * 7 * 20 + 1024 + 100
    assert model.model_size < 10**6


@pytest.mark.parametrize("stop", [1, 37, 100])
def test_learning_that_was_interrupted_goes_on_bit_by_bit(tmp_path, stop):
    X, Y = labeled_forest(160, 8)
    options = {"store": "margin", "margin": 0.5, "max_support": 25}
    straight = HierarchicalRLSClassifier(FOREST, **options).partial_fit(X[:stop], Y[:stop])
    labelwood.save(straight, tmp_path / "model")
    resumed = labelwood.load(tmp_path / "model")
    straight.partial_fit(X[stop:], Y[stop:])
    resumed.partial_fit(X[stop:], Y[stop:])
    assert state(resumed) == state(straight)
    scores = [one.decision_function(X) for one in (straight, resumed)]
    assert scores[0].data.tobytes() == scores[1].data.tobytes()
    assert scores[0].indices.tolist() == scores[1].indices.tolist()


def _spoiled(part, value):
    def spoil(model):
        target = getattr(model, f"support_{part}_")
        if isinstance(target, list):
            target[1] = value(target[1])
        else:
            setattr(model, f"support_{part}_", value(target))

    return spoil


@pytest.mark.parametrize(
    "spoil",
    [
        _spoiled("rows", lambda rows: rows + 10**6),
        _spoiled("rows", lambda rows: rows.astype(np.float64)),
        _spoiled("inverse", lambda inverse: inverse[:-1]),
        _spoiled("pending", lambda pending: pending[:, :1]),
        _spoiled("alpha", lambda alpha: alpha[:1]),
        _spoiled("counts", lambda counts: counts + 1000),
        _spoiled("counts", lambda counts: -counts - 1),
        _spoiled("indices", lambda indices: indices + np.uint32(80)),
        _spoiled("indptr", lambda indptr: indptr[::-1].copy()),
        _spoiled("data", lambda data: data[:-1]),
        _spoiled("data", lambda data: data * np.float32(np.nan)),
        _spoiled("alpha", lambda alpha: alpha * np.nan),
        _spoiled("alpha", lambda alpha: alpha + 1e300),
        _spoiled("inverse", lambda inverse: inverse + np.inf),
        _spoiled("rows", lambda rows: rows * 0),
        _spoiled("counts", lambda counts: counts * np.array([1, 1, -1, -1, 1])),
        _spoiled("counts", lambda counts: counts + np.array([0, 0, 0, 0, 1000])),
        _spoiled("counts", lambda counts: counts[:, :3].copy()),
        lambda model: setattr(model, "n_positive_", model.n_positive_ * 0),
        lambda model: setattr(model, "train_", "else"),
    ],
)
def test_a_spoiled_support_is_refused_on_loading(tmp_path, spoil):
    X, Y = labeled_forest(60, 80)  # more features than samples, so that nodes keep them
    model = HierarchicalRLSClassifier(FOREST).partial_fit(X, Y)
    spoil(model)
    labelwood.save(model, tmp_path / "model")
    with pytest.raises(ModelError, match="not a valid labelwood model"):
        labelwood.load(tmp_path / "model")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_positive_", lambda counts: counts * np.array([1, 0, 1, 1, 1, 1, 1])),
        ("n_positive_", lambda counts: -counts),
        ("lane_labels_", lambda lanes: np.where(lanes >= 0, 0, lanes)),
        ("postings_weights_", lambda weights: weights * np.float32(np.nan)),
        ("example_labels_", lambda labels: labels[:, ::-1]),
    ],
)
def test_spoiled_weights_are_refused_on_loading(tmp_path, name, value):
    X, Y = labeled_forest(60, 8)
    model = HierarchicalRLSClassifier(FOREST, confidence=0.5).fit(X, Y)
    setattr(model, name, value(getattr(model, name)))
    labelwood.save(model, tmp_path / "model")
    with pytest.raises(ModelError, match="not a valid labelwood model"):
        labelwood.load(tmp_path / "model")


def test_on_line_learning_after_a_fit_starts_from_scratch_with_a_warning():
    X, Y = labeled_forest(60, 8)
    model = HierarchicalRLSClassifier(FOREST).fit(X[:30], Y[:30])
    with pytest.warns(LabelwoodWarning, match=r"fit keeps no samples .* starts from scratch"):
        model.partial_fit(X[30:], Y[30:])
    assert state(model) == state(HierarchicalRLSClassifier(FOREST).partial_fit(X[30:], Y[30:]))
    model.fit(X[:30], Y[:30])
    assert state(model) == state(HierarchicalRLSClassifier(FOREST).fit(X[:30], Y[:30]))


def test_a_fit_that_is_interrupted_leaves_what_was_learned_on_line(monkeypatch):
    X, Y = labeled_forest(60, 8)
    model = HierarchicalRLSClassifier(FOREST).partial_fit(X[:30], Y[:30])
    before = state(model)
    monkeypatch.setattr(
        "labelwood.taxonomy.hierarchical_rls.estimator.solve_nodes", lambda *_, **__: 1 / 0
    )
    with pytest.raises(ZeroDivisionError, match="division"):
        model.fit(X, Y)
    assert state(model) == before
    model.partial_fit(X[30:], Y[30:])
    assert model.n_seen_.max() == 60


def test_another_way_of_training_is_refused_midway():
    X, Y = labeled_forest(60, 8)
    model = HierarchicalRLSClassifier(FOREST).partial_fit(X, Y).set_params(train="independent")
    with pytest.raises(ParameterError, match="Learning began with train='hierarchical'"):
        model.partial_fit(X, Y)


def test_a_cap_below_what_is_kept_is_refused():
    X, Y = labeled_forest(60, 80)
    model = HierarchicalRLSClassifier(FOREST).partial_fit(X, Y)
    with pytest.raises(ParameterError, match="keeps 60 samples already, more than max_support=10"):
        model.set_params(max_support=10).partial_fit(X, Y)


@pytest.mark.parametrize("seen", [5, 60, 150])  # pending terms are flushed, or are not
def test_an_interruption_leaves_the_model_as_it_was(monkeypatch, seen):
    X, Y = labeled_forest(300, 8)
    options = {"store": "margin", "margin": 0.5, "max_support": 40}
    model = HierarchicalRLSClassifier(FOREST, **options).partial_fit(X[:seen], Y[:seen])
    before = copy.deepcopy(model)
    learn = Nodes.learn

    def learn_and_stop(nodes, i, *rest):
        learn(nodes, i, *rest)
        if i == 0:  # the last of all: it has the fewest examples
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Nodes, "learn", learn_and_stop)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(X[seen:], Y[seen:])
    assert state(model) == state(before)
    model.partial_fit(X[seen:], Y[seen:])
    assert state(model) == state(before.partial_fit(X[seen:], Y[seen:]))


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("share", [0.02, 0.2, 0.5, 0.9])
def test_a_keyboard_interrupt_at_any_time_leaves_the_model_as_it_was(n_jobs, share):
    X, Y = labeled_forest(1500, 8)
    model = HierarchicalRLSClassifier(FOREST, n_jobs=n_jobs, max_support=150)
    model.partial_fit(X[:400], Y[:400])
    start = time.perf_counter()
    copy.deepcopy(model).partial_fit(X[400:], Y[400:])
    seconds = time.perf_counter() - start
    before = [copy.deepcopy(model)]
    with pytest.raises(KeyboardInterrupt), interrupted_after(share * seconds):
        learn_for_ever(model, X[400:], Y[400:], before)
    # The signal may also come between two calls.
    done = copy.deepcopy(before[-1]).partial_fit(X[400:], Y[400:])
    assert state(model) in (state(before[-1]), state(done))


def learn_for_ever(model, X, Y, before):
    """The same samples over and over, with a copy of the model before each call."""
    while True:
        model.partial_fit(X, Y)
        before.append(copy.deepcopy(model))


@contextmanager
def interrupted_after(seconds):
    """A SIGINT, as Ctrl-C sends it, in the middle of the block."""
    timer = threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGINT))
    # A process that was started in the background ignores the signal until it says otherwise.
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        signal.signal(signal.SIGINT, usual)


def test_a_first_call_that_is_interrupted_leaves_no_model(monkeypatch):
    X, Y = labeled_forest(60, 8)
    model = HierarchicalRLSClassifier(FOREST)
    learn = Nodes.learn
    monkeypatch.setattr(Nodes, "learn", lambda s, i, *rest: learn(s, i, *rest) if i else 1 / 0)
    with pytest.raises(ZeroDivisionError, match="division"):
        model.partial_fit(X, Y)
    with pytest.raises(ValueError, match="is not fitted yet"):
        model.predict(X)


@pytest.mark.shared
@pytest.mark.slow
def test_learning_from_newswire_goes_on_bit_by_bit_after_thousands(shared_data, tmp_path):
    folder = shared_data / "rcv1-15k-hier"
    data = labelwood.load_dataset(folder / "train.txt.xz")
    tree = Taxonomy.from_file(folder / "hierarchy.txt", columns="parent child")
    model = HierarchicalRLSClassifier(
        tree.align([str(label) for label in range(data.n_labels)]),
        store="margin",
        max_support=500,
        n_jobs=2,
    )
    model.partial_fit(data.X[:5000], data.Y[:5000])
    labelwood.save(model, tmp_path / "model")
    resumed = labelwood.load(tmp_path / "model").partial_fit(data.X[5000:7000], data.Y[5000:7000])
    assert state(resumed) == state(model.partial_fit(data.X[5000:7000], data.Y[5000:7000]))
