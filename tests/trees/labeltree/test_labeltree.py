import inspect
import os
import re
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_estimator

from builders import random_csr, random_labels, separable
from labelwood import LabelTreeClassifier, load_dataset, metrics, synthetic
from labelwood.core import memory
from labelwood.core.lanes import WIDTH
from labelwood.core.sparse import unit_rows
from labelwood.errors import DataError, LabelwoodWarning, ParameterError
from labelwood.linear.l2svm.solver import l2svm
from labelwood.trees.labeltree.arrays import Search
from trees.labeltree.forests import dense_weights, label_decisions, mean_scores, slots

DEEP = {"max_leaf_labels": 8, "branching": 4, "random_state": 0}
EXACT = {"tol": 1e-5, "prune_below": 0, "max_iter": 100_000}

# As in the contract that every estimator keeps.
EXCEPTIONS = {
    "check_classifiers_multilabel_representation_invariance": "a list of lists holds label names",
    "check_classifiers_multilabel_output_format_predict": "labels are never densified: CSR",
    "check_classifiers_multilabel_output_format_decision_function": "scores are CSR as well",
}
PROBA = {"check_classifiers_multilabel_output_format_predict_proba": "and so are probabilities"}


@pytest.fixture(scope="module")
def data():
    return synthetic(1500, 800, 300, n_test=1000, signal=0.5, random_state=1)


@pytest.fixture(scope="module")
def model(data):
    return LabelTreeClassifier(**DEEP, n_trees=2).fit(data.train.X, data.train.Y)


def precision(model, X, Y, k):
    return metrics.precision_at_k(Y, model.predict_topk(X, k), k)


def test_every_parameter_is_documented():
    described = inspect.getdoc(LabelTreeClassifier)
    section = described.split("Parameters\n")[1].split("Attributes\n")[0]
    names = re.findall(r"^(\w+) : ", section, flags=re.MULTILINE)
    assert sorted(names) == sorted(LabelTreeClassifier().get_params())
    assert sorted(names) == sorted(LabelTreeClassifier._constraints)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_labels_that_can_be_told_are_told_on_new_points(loss):
    X, Y = separable(600, 40)
    new_X, new_Y = separable(200, 40, seed=9)
    labeled = np.diff(new_Y.indptr) > 0
    model = LabelTreeClassifier(**DEEP, loss=loss, C=10.0 if loss == "logistic" else 1.0)
    model.fit(X, Y)
    assert precision(model, new_X[labeled], new_Y[labeled], 1) > 0.97


def test_one_class_a_point_is_learned_as_well():
    rng = np.random.default_rng(0)
    codes = rng.integers(3, size=200)
    X, classes = np.eye(3)[codes] + 0.1 * rng.standard_normal((200, 3)), np.array(["a", "b", "c"])
    model = LabelTreeClassifier(max_leaf_labels=1, branching=2, random_state=0).fit(
        X, classes[codes]
    )
    assert model.score(X, classes[codes]) > 0.97
    assert model.decision_function(X).shape == (200, 3)


def test_scores_rankings_and_predictions_follow_from_the_arrays(model, data):
    X = data.test.X[:40]
    scores = mean_scores(model._forest(), unit_rows(X), 300, Search(10, False, 0.25))
    found = model.decision_function(X)
    np.testing.assert_allclose(found.toarray(), scores, rtol=1e-3, atol=1e-6)
    top = model.predict_topk(X, 5)
    np.testing.assert_allclose(top.scores, -np.sort(-scores, axis=1)[:, :5], rtol=1e-3, atol=1e-6)
    taken = np.take_along_axis(scores, top.labels.astype(int), axis=1)
    np.testing.assert_allclose(taken, top.scores, rtol=1e-3, atol=1e-6)
    threshold = np.exp(-1 - 0.01)  # of a label in doubt in one decision, and certain in others
    clear = np.abs(scores - threshold) > 1e-4
    predicted = model.predict(X).toarray()
    np.testing.assert_array_equal(predicted[clear], (scores > threshold)[clear])
    assert predicted.any()


def test_a_logistic_label_is_predicted_from_an_even_chance_on():
    X, Y = separable(200, 10)
    model = LabelTreeClassifier(loss="logistic", C=10, random_state=0).fit(X, Y)
    scores = model.decision_function(X).toarray()
    np.testing.assert_array_equal(model.predict(X).toarray(), scores > 0.5)
    assert 0 < model.predict(X).nnz < scores.size


def test_the_length_of_a_row_does_not_matter_unless_asked(data):
    X, Y = data.train.X, data.train.Y
    longer = sp.csr_array(data.test.X[:20] * np.float32(4))
    for normalize in (True, False):
        model = LabelTreeClassifier(**DEEP, normalize=normalize).fit(X, Y)
        tops = [model.predict_topk(one, 5).scores for one in (data.test.X[:20], longer)]
        assert np.allclose(*tops, atol=1e-5) == normalize


def test_the_trees_keep_to_max_leaf_branching_and_n_trees(model):
    forest = model._forest()
    assert forest.roots.size == 2
    for node, leaf in enumerate(forest.is_leaf):
        assert 1 <= len(slots(forest, node)) <= (8 if leaf else 4)


def test_every_label_is_scored_when_the_beam_is_wide(model, data):
    forest, X = model._forest(), unit_rows(data.test.X[:5])
    wide = forest.above(X, 300, -1.0, model._search()._replace(beam=300), None)
    narrow = model.decision_function(data.test.X[:5])
    assert wide.nnz == 5 * np.unique(data.train.Y.indices).size
    assert 0 < narrow.nnz < wide.nnz


def test_a_budget_limits_every_decision(data):
    model = LabelTreeClassifier(**DEEP, max_weights=5).fit(data.train.X, data.train.Y)
    used = np.count_nonzero(dense_weights(model._forest(), 800), axis=1)
    assert used.max() == 5
    assert precision(model, data.test.X, data.test.Y, 1) > 0.8


def test_small_weights_are_dropped_on_request(data):
    options = {**DEEP, "hard_negatives": False}  # these would follow from the weights above
    full, pruned = (
        LabelTreeClassifier(**options, prune_below=limit).fit(data.train.X, data.train.Y)
        for limit in (0, 0.1)
    )
    weights, left = (dense_weights(one._forest(), 800) for one in (full, pruned))
    np.testing.assert_array_equal(left, np.where(np.abs(weights) > np.float32(0.1), weights, 0))
    assert pruned.model_size < full.model_size


def test_hard_negatives_make_rankings_better(data):
    with_them, without = (
        LabelTreeClassifier(**DEEP, hard_negatives=hard).fit(data.train.X, data.train.Y)
        for hard in (True, False)
    )
    better, worse = (precision(one, data.test.X, data.test.Y, 3) for one in (with_them, without))
    assert better > worse + 0.01


def test_propensities_raise_the_propensity_scored_precision():
    made = synthetic(3000, 2000, 300, n_test=2000, drop_labels=True)
    p = metrics.propensity(made.train.Y)
    options = {**DEEP, "C": 0.3, "max_leaf_labels": 16, "branching": 8}
    with pytest.warns(LabelwoodWarning, match="have no sample"):
        plain, weighted = (
            LabelTreeClassifier(**options, propensity=how).fit(made.train.X, made.train.Y)
            for how in (None, "estimate")
        )
    for k in (1, 3, 5):
        before, after = (
            metrics.psp_at_k(made.test.Y, one.predict_topk(made.test.X, 5), k, p)
            for one in (plain, weighted)
        )
        assert after > before + 0.01


def fitted_bytes(model):
    return [array.tobytes() for array in model._forest()]


def test_costs_and_propensities_of_single_labels_are_used():
    X, Y = random_csr(300, 30, seed=1), random_labels(300, 6, per_point=1.5, seed=1)
    C, p = np.array([0.1, 1.0, 5.0, 0.5, 2.0, 1.0]), np.array([0.9, 0.7, 0.5, 0.3, 0.2, 1.0])
    model = LabelTreeClassifier(C=C, propensity=p, random_state=0, normalize=False, **EXACT)
    decisions = label_decisions(model.fit(X, Y)._forest(), X.shape[1])
    assert sorted(decisions) == list(range(6))
    for label, (weights, intercept) in decisions.items():
        signs = np.where(Y[:, [label]].toarray().ravel() > 0, 1, -1)
        cost = np.where(signs > 0, C[label] / p[label], C[label])
        alone = l2svm(X, signs, C=cost, tol=1e-5, max_iter=100_000)
        np.testing.assert_allclose(weights, alone.coef, atol=5e-3)
        assert intercept == pytest.approx(alone.intercept, abs=5e-3)


def test_costs_can_be_one_number_or_one_for_each_label():
    X, Y = separable(100, 20)
    one, many = (LabelTreeClassifier(**DEEP, C=C).fit(X, Y) for C in (0.5, np.full(20, 0.5)))
    assert fitted_bytes(one) == fitted_bytes(many)
    p = metrics.propensity(Y)
    given, estimated = (
        LabelTreeClassifier(**DEEP, propensity=how).fit(X, Y) for how in (p, "estimate")
    )
    assert fitted_bytes(given) == fitted_bytes(estimated)
    assert fitted_bytes(given) != fitted_bytes(LabelTreeClassifier(**DEEP).fit(X, Y))


@pytest.mark.parametrize(
    "options",
    [
        {"C": np.array([1.0])},
        {"C": np.array([1.0, -1.0])},
        {"C": np.array(["a", "b"])},
        {"C": 0.0},
        {"propensity": np.array([0.5, 1.5])},
        {"propensity": np.array([0.5, np.nan])},
        {"propensity": "guess"},
        {"n_trees": 0},
        {"branching": 1},
        {"branching": 33},
        {"max_leaf_labels": 0},
        {"loss": "hinge"},
        {"n_negatives": -1},
        {"hard_negatives": "no"},
        {"tol": 0.0},
        {"max_iter": 0},
        {"prune_below": -0.1},
        {"max_weights": 0},
        {"beam": 0},
        {"path_weight": -1.0},
    ],
    ids=lambda options: "-".join(f"{name}={value}" for name, value in options.items()),
)
def test_parameters_are_checked_by_name(options):
    X, Y = separable(30, 2)
    name = next(iter(options))
    with pytest.raises(ParameterError, match=f"The '{name}' parameter of LabelTreeClassifier must"):
        LabelTreeClassifier(**options).fit(X, Y)


def test_threads_do_not_change_a_single_byte(data):
    X, Y = data.train.X, data.train.Y
    one, two = (LabelTreeClassifier(**DEEP, n_trees=3, n_jobs=n).fit(X, Y) for n in (1, 2))
    assert fitted_bytes(one) == fitted_bytes(two)
    tops = [model.predict_topk(data.test.X, 5) for model in (one, two)]
    assert tops[0].scores.tobytes() == tops[1].scores.tobytes()
    assert tops[0].labels.tobytes() == tops[1].labels.tobytes()


def test_a_row_alone_has_the_scores_that_it_has_among_others(model, data):
    together = model.predict_topk(data.test.X, 5)
    for row in (0, 17, 999):
        alone = model.predict_topk(data.test.X[[row]], 5)
        assert alone.labels.tobytes() == together.labels[[row]].tobytes()
        assert alone.scores.tobytes() == together.scores[[row]].tobytes()


def test_other_seeds_make_other_trees(data):
    X, Y = data.train.X, data.train.Y
    models = [LabelTreeClassifier(**{**DEEP, "random_state": seed}).fit(X, Y) for seed in (0, 1)]
    assert not np.array_equal(*(one.children_ for one in models))


def test_running_out_of_passes_is_said():
    X, Y = separable(100, 12)
    limited = LabelTreeClassifier(**DEEP, tol=1e-6, max_iter=1)
    with pytest.warns(ConvergenceWarning, match=r"blocks of classifiers; raise max_iter \(now 1\)"):
        limited.fit(X, Y)
    n_blocks = limited.intercepts_.size // WIDTH
    assert limited.stop_reason_.startswith(f"iteration limit for {n_blocks} blocks of classifiers")
    assert limited.n_iter_ == 1
    enough = LabelTreeClassifier(**DEEP).fit(X, Y)
    assert enough.stop_reason_ == "tolerance met for every block of classifiers"
    assert 1 < enough.n_iter_ <= 200


def test_labels_without_points_are_counted_and_never_predicted():
    X, Y = separable(60, 4)
    Y = sp.csr_array(sp.hstack([Y, sp.csr_array((60, 2))]))
    with pytest.warns(LabelwoodWarning, match="2 of 6 labels have no sample"):
        model = LabelTreeClassifier(random_state=0).fit(X, Y)
    top = model.predict_topk(X, k=6)
    assert top.labels.max() == 3
    assert np.all(top.labels[:, 4:] == -1)
    assert model.predict(X).shape == (60, 6)


def test_work_that_cannot_fit_into_memory_is_refused_at_once(monkeypatch):
    X, Y = separable(60, 4)
    monkeypatch.setattr(memory, "available_memory", lambda: 1000)
    with pytest.raises(MemoryError, match=r"training on 1 threads needs .* lower n_jobs"):
        LabelTreeClassifier().fit(X, Y)


def test_a_model_that_cannot_fit_into_memory_is_refused_before_training(monkeypatch, data):
    free = iter([2**30, 1000])  # enough for the work, not for the model
    monkeypatch.setattr(memory, "available_memory", lambda: next(free))
    with pytest.raises(MemoryError, match=r"a model of so many labels .* set max_weights"):
        LabelTreeClassifier(**DEEP).fit(data.train.X, data.train.Y)


@pytest.mark.parametrize(
    "options",
    [{"loss": "logistic"}, {"n_trees": 2}, {"max_weights": 5}, {"calibrate": True}],
    ids=lambda options: next(iter(options)),
)
def test_its_variants_keep_scikit_learns_contract(options):
    exceptions = EXCEPTIONS | PROBA if "calibrate" in options else EXCEPTIONS
    model = LabelTreeClassifier(random_state=0, **options)
    results = check_estimator(model, expected_failed_checks=exceptions, on_skip=None)
    passed = {one["check_name"] for one in results if one["status"] == "passed"}
    assert not passed & set(exceptions), "these exceptions can go"


def test_calibrated_scores_come_true(data):
    model = LabelTreeClassifier(**DEEP, calibrate=True).fit(data.train.X, data.train.Y)
    top = model.predict_topk(data.test.X, 5, proba=True)
    there = top.labels >= 0
    chances, hits = top.scores[there], top.hits(data.test.Y)[there]
    assert np.all((chances > 0) & (chances < 1))
    for low, high in ((0, 0.3), (0.3, 0.7), (0.7, 1)):
        inside = (chances > low) & (chances <= high)
        assert chances[inside].mean() == pytest.approx(hits[inside].mean(), abs=0.08)
    plain = model.predict_topk(data.test.X, 5)
    np.testing.assert_array_equal(top.labels, plain.labels)
    assert model.predict_proba(data.test.X[:3]).shape == (3, 300)


def test_a_model_fitted_without_calibration_gives_no_probabilities(model, data):
    with pytest.raises(DataError, match="fitted without calibrate=True"):
        model.predict_topk(data.test.X, 5, proba=True)
    assert not hasattr(model, "predict_proba")


def test_attributes_of_another_kind_are_refused(model):
    broken = LabelTreeClassifier()
    broken.__dict__.update(vars(model))
    broken._check_fitted()
    broken.lanes_ = model.lanes_.astype(np.int32)
    with pytest.raises(DataError, match="lanes_ must be an array of uint8"):
        broken._check_fitted()
    broken.lanes_ = np.full_like(model.lanes_, WIDTH)
    with pytest.raises(DataError, match="the arrays of the label trees are inconsistent"):
        broken._check_fitted()


@pytest.mark.shared
def test_bibtex_is_tagged_as_well_as_by_the_peers(shared_data):
    folder = shared_data / "bibtex"
    train, test = (load_dataset(folder / f"{part}.txt.xz") for part in ("train", "test"))
    model = LabelTreeClassifier(random_state=0, n_jobs=2).fit(train.X, train.Y)
    top = model.predict_topk(test.X, 5)
    at_1, at_3, at_5 = (metrics.precision_at_k(test.Y, top, k) for k in (1, 3, 5))
    assert at_1 >= 0.635
    assert at_3 >= 0.385
    assert at_5 >= 0.279


@pytest.mark.slow
def test_its_kernels_compile_without_a_warning(tmp_path):
    code = (
        "from labelwood import LabelTreeClassifier\n"
        "for loss in ('squared_hinge', 'logistic'):\n"
        "    model = LabelTreeClassifier(loss=loss).fit([[1, 0], [0, 1]], [['cat'], ['dog']])\n"
        "    print(model.predict_topk([[1, 0]], 1).names())\n"
    )
    answer = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.stderr.splitlines() == ["compiling kernels, first run only (up to a minute)"]
    assert answer.stdout == "[['cat']]\n[['cat']]\n"


@pytest.mark.shared
@pytest.mark.slow
def test_one_tree_tags_european_law_better_than_the_peers(shared_data):
    folder = shared_data / "eurlex57k"
    train, test = (load_dataset(folder / f"{part}.txt.xz") for part in ("train", "test"))
    with pytest.warns(LabelwoodWarning, match="163 of 4,271 labels have no sample"):
        model = LabelTreeClassifier(random_state=0, n_jobs=2).fit(train.X, train.Y)
    top = model.predict_topk(test.X, 5)
    at_1, at_3, at_5 = (metrics.precision_at_k(test.Y, top, k) for k in (1, 3, 5))
    assert at_1 >= 0.910
    assert at_3 >= 0.814
    assert at_5 >= 0.682
