import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from builders import random_csr, random_labels, separable
from labelwood import OneVsRestSVM, PopularityClassifier, load_dataset, metrics
from labelwood.core import memory
from labelwood.errors import DataError, LabelwoodWarning, ParameterError
from labelwood.linear.l2svm.solver import l2svm, primal_objective

# The full problem, to a tight tolerance and without pruning.
EXACT = {"tol": 1e-5, "slack": 0, "violators": 0, "prune_below": 0, "max_iter": 100_000}


def dense_scores(model, X):
    """What the model's arrays say, without its kernels."""
    rows = X.toarray().astype(np.float64)
    if model.normalize:
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        rows = rows / np.where(lengths > 0, lengths, 1)
    return rows @ model.coef_.toarray().T + model.intercept_


def test_the_decisions_are_liblinears_one_label_at_a_time():
    X, Y = separable(200, 6)
    theirs = OneVsRestClassifier(LinearSVC(C=0.7, tol=1e-6, max_iter=100_000, random_state=0))
    theirs.fit(X, Y.toarray())
    ours = OneVsRestSVM(C=0.7, normalize=False, **EXACT).fit(X, Y)
    np.testing.assert_allclose(
        ours.decision_function(X).toarray(), theirs.decision_function(X), atol=2e-3
    )


@pytest.mark.parametrize("normalize", [True, False])
def test_scores_rankings_and_predictions_follow_from_the_weights(normalize):
    X, Y = separable(150, 9, seed=3)
    model = OneVsRestSVM(normalize=normalize, random_state=0).fit(X, Y)
    scores = dense_scores(model, X)
    np.testing.assert_allclose(model.decision_function(X).toarray(), scores, atol=1e-5)
    top = model.predict_topk(X, k=4)
    np.testing.assert_allclose(top.scores, -np.sort(-scores, axis=1)[:, :4], atol=1e-5)
    taken = np.take_along_axis(scores, top.labels.astype(int), axis=1)
    np.testing.assert_allclose(taken, top.scores, atol=1e-5)
    clear = np.abs(scores) > 1e-4
    assert np.array_equal(model.predict(X).toarray()[clear], (scores > 0)[clear])


def test_equal_scores_go_to_the_smaller_label_first():
    X, Y = separable(400, 20)
    model = OneVsRestSVM().fit(X, Y)
    model.postings_weights_[:] = 0
    model.intercept_[:] = 0
    assert model.predict_topk(X, k=5).labels.tolist() == [[0, 1, 2, 3, 4]] * 400


@pytest.mark.parametrize("slack", [0.0, 0.3])
def test_the_objective_is_that_of_all_rows_and_the_gap_bounds_the_optimum(slack):
    X, Y = random_csr(800, 60, seed=2), random_labels(800, 20, seed=2)
    options = {**EXACT, "slack": slack, "n_negatives": 50}
    model = OneVsRestSVM(C=0.5, normalize=False, random_state=0, **options).fit(X, Y)
    weights = model.coef_.toarray().T
    for label in np.unique(Y.indices):
        signs = np.where(Y[:, [label]].toarray().ravel() > 0, 1, -1)
        value = primal_objective(X, signs, weights[:, label], model.intercept_[label], C=0.5)
        assert model.objective_[label] == pytest.approx(value, rel=1e-4)
        solved = l2svm(X, signs, C=0.5, tol=1e-5, max_iter=100_000)
        best = primal_objective(X, signs, solved.coef, solved.intercept, C=0.5)
        excess = model.objective_[label] - best
        assert -1e-4 * best <= excess <= model.duality_gap_[label] + 1e-4 * best
        if slack == 0:
            assert excess <= 1e-3 * best


def test_working_sets_grow_until_no_row_outside_comes_close():
    X, Y = random_csr(2000, 80, seed=4), random_labels(2000, 30, per_point=1, seed=4)
    model = OneVsRestSVM(random_state=0, n_negatives=20, slack=0.3, violators=0).fit(X, Y)
    counts = np.bincount(Y.indices, minlength=30)
    assert np.all(model.n_working_ >= counts)
    assert model.n_working_[counts > 0].min() < 2000
    assert model.n_rounds_.max() > 1
    assert model.stop_reason_ == "tolerance met for every label"


def test_a_limit_of_rounds_that_is_met_is_said():
    X, Y = random_csr(2000, 80, seed=4), random_labels(2000, 30, per_point=1, seed=4)
    model = OneVsRestSVM(random_state=0, n_negatives=1, violators=0, max_rounds=1)
    with pytest.warns(ConvergenceWarning, match="round limit for .* labels; raise max_rounds"):
        model.fit(X, Y)


def test_threads_do_not_change_a_single_byte():
    X, Y = separable(300, 40, seed=1)
    one, two = (OneVsRestSVM(random_state=5, n_jobs=n).fit(X, Y) for n in (1, 2))
    for name in ("postings_weights_", "postings_blocks_", "intercept_", "n_passes_"):
        assert getattr(one, name).tobytes() == getattr(two, name).tobytes()
    tops = [model.predict_topk(X, 5) for model in (one, two)]
    assert tops[0].scores.tobytes() == tops[1].scores.tobytes()


def test_other_seeds_visit_rows_in_another_order():
    X, Y = random_csr(100, 30), random_labels(100, 5)
    weights = [OneVsRestSVM(random_state=seed).fit(X, Y).coef_.toarray().T for seed in (0, 1)]
    assert not np.array_equal(*weights)
    np.testing.assert_allclose(*weights, atol=0.2)


def test_small_weights_are_dropped_on_request():
    X, Y = random_csr(200, 50), random_labels(200, 8)
    full = OneVsRestSVM(random_state=0, prune_below=0).fit(X, Y)
    pruned = OneVsRestSVM(random_state=0, prune_below=0.1).fit(X, Y)
    kept = np.where(np.abs(full.coef_.toarray().T) > 0.1, full.coef_.toarray().T, 0)
    np.testing.assert_array_equal(pruned.coef_.toarray().T, kept)


def test_a_label_without_points_is_kept_counted_and_never_predicted():
    X, Y = separable(60, 4)
    Y = sp.csr_array(sp.hstack([Y, sp.csr_array((60, 2))]))
    with pytest.warns(LabelwoodWarning, match="2 of 6 labels have no sample"):
        model = OneVsRestSVM().fit(X, Y)
    top = model.predict_topk(X, k=6)
    assert top.labels.max() == 3
    assert np.all(top.labels[:, 4:] == -1)
    assert model.predict(X).shape == (60, 6)


def test_points_without_labels_or_features_are_legal():
    X, Y = separable(50, 3)
    X, Y = (sp.csr_array(sp.vstack([M, sp.csr_array((2, M.shape[1]))])) for M in (X, Y))
    model = OneVsRestSVM(random_state=0).fit(X, Y)
    empty = sp.csr_array((1, X.shape[1]), dtype=np.float32)
    expected = -np.sort(-model.intercept_)
    np.testing.assert_allclose(model.predict_topk(empty, 3).scores[0], expected, rtol=1e-6)


def test_running_out_of_passes_is_said():
    X, Y = random_csr(100, 30), random_labels(100, 3)
    with pytest.warns(ConvergenceWarning, match="iteration limit for 3 labels; raise max_iter"):
        model = OneVsRestSVM(C=100, tol=1e-6, max_iter=1).fit(X, Y)
    assert model.stop_reason_.startswith("iteration limit for 3 labels")


def test_a_model_that_cannot_fit_into_memory_is_refused_before_training(monkeypatch):
    X, Y = random_csr(300, 20), sp.csr_array(np.eye(300, 80, dtype=np.float32))
    free = iter([2**30, 1000])  # enough for the work, not for the model
    monkeypatch.setattr(memory, "available_memory", lambda: next(free))
    with pytest.raises(MemoryError, match=r"a model of 5 blocks .* raise prune_below"):
        OneVsRestSVM().fit(X, Y)


def test_propensities_make_errors_on_positives_cost_more():
    X, Y = random_csr(400, 40, seed=1), random_labels(400, 5, per_point=1, seed=1)
    p = np.array([0.9, 0.7, 0.5, 0.3, 0.2])
    model = OneVsRestSVM(C=0.5, propensity=p, normalize=False, random_state=0, **EXACT).fit(X, Y)
    weights = model.coef_.toarray().T
    for label in range(5):
        signs = np.where(Y[:, [label]].toarray().ravel() > 0, 1, -1)
        cost = np.where(signs > 0, 0.5 / p[label], 0.5)
        alone = l2svm(X, signs, C=cost, tol=1e-5, max_iter=100_000)
        np.testing.assert_allclose(weights[:, label], alone.coef, atol=5e-3)
    estimated = OneVsRestSVM(C=0.5, propensity="estimate", random_state=0).fit(X, Y)
    given = OneVsRestSVM(C=0.5, propensity=metrics.propensity(Y), random_state=0).fit(X, Y)
    np.testing.assert_array_equal(estimated.postings_weights_, given.postings_weights_)


def test_every_label_can_have_its_own_cost():
    X, Y = random_csr(300, 30, seed=1), random_labels(300, 4, per_point=1, seed=1)
    costs = np.array([0.1, 1.0, 5.0, 0.5])
    together = OneVsRestSVM(C=costs, random_state=0, **EXACT).fit(X, Y).coef_.toarray().T
    for label, cost in enumerate(costs):
        alone = OneVsRestSVM(C=cost, random_state=0, **EXACT).fit(X, Y[:, [label]])
        np.testing.assert_allclose(together[:, [label]], alone.coef_.toarray().T, atol=2e-2)


def test_new_labels_join_and_the_others_stay_to_the_bit():
    X, Y = separable(300, 12)
    names = [f"label {i}" for i in range(10)]
    model = OneVsRestSVM(random_state=0).fit(X, Y[:, :9])
    before = model.coef_.toarray().T
    model.classes_ = np.array(names[:9])
    model.add_labels(X, Y[:, [9, 3]], ["label 9", "label 3"])
    after = model.coef_.toarray().T
    assert model.classes_.tolist() == names
    untouched = [0, 1, 2, 4, 5, 6, 7, 8]
    np.testing.assert_array_equal(after[:, untouched], before[:, untouched])
    np.testing.assert_allclose(after[:, 3], before[:, 3], atol=0.2)
    assert after[:, 9].any()
    right = model.predict(X).toarray()[:, [3, 9]] == Y[:, [3, 9]].toarray()
    assert right.mean() > 0.95
    model._check_fitted()


def test_a_label_trained_again_on_other_points_forgets_the_old_ones():
    X, Y = separable(300, 4)
    model = OneVsRestSVM(random_state=0).fit(X, Y)
    model.add_labels(X, Y[:, [1]], [0])
    fresh = OneVsRestSVM(random_state=0).fit(X, Y[:, [1]])
    np.testing.assert_allclose(
        model.coef_.toarray().T[:, 0], fresh.coef_.toarray().T[:, 0], atol=1e-6
    )


@pytest.mark.parametrize(
    ("Y", "labels", "message"),
    [
        (np.ones((30, 2)), [0], "Y must have 30 rows and a column for each of 1 labels"),
        (np.ones((29, 1)), [0], "Y must have 30 rows and a column for each of 1 labels"),
        (np.ones((30, 2)), [0, 0], "list of different labels"),
        (np.ones((30, 2)), "ab", "list of different labels"),
        (np.ones((30, 1)), ["new"], r"of the kind of the labels known, such as \[0\]"),
        (np.ones((30, 1)), [7.5], "of the kind of the labels known"),
        (np.ones((30, 1)), [(1, 2)], "of the kind of the labels known"),
    ],
)
def test_add_labels_that_do_not_fit_are_refused(Y, labels, message):
    X, Y_train = separable(30, 2)
    model = OneVsRestSVM().fit(X, Y_train)
    with pytest.raises(DataError, match=message):
        model.add_labels(X, Y, labels)
    assert model.classes_.tolist() == [0, 1]


def test_a_model_of_one_class_a_point_takes_no_new_labels():
    model = OneVsRestSVM(random_state=0).fit(random_csr(30, 4), ["a", "b"] * 15)
    with pytest.raises(DataError, match="New labels need a model of label sets"):
        model.add_labels(random_csr(30, 4), np.ones((30, 1)), ["c"])


def test_a_label_trained_again_without_points_is_never_predicted():
    X, Y = separable(100, 3)
    model = OneVsRestSVM(random_state=0).fit(X, Y)
    with pytest.warns(LabelwoodWarning, match="1 of 1 label has no sample"):
        model.add_labels(X, np.zeros((100, 1)), [1])
    assert np.isnan(model.intercept_[1])
    assert model.objective_[1] == 0
    assert set(model.predict_topk(X, 3).labels.ravel()) == {0, 2, -1}


def test_training_a_label_again_and_again_does_not_grow_the_model():
    X, Y = separable(100, 3)
    model = OneVsRestSVM(random_state=0).fit(X, Y)
    sizes = []
    for _ in range(4):
        model.add_labels(X, Y[:, [1]], [1])
        sizes.append((model.postings_weights_.size, model.lane_labels_.size))
    assert len(set(sizes)) == 1


def test_the_gap_is_a_bound_on_many_rows():
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.choice([-1.0, 1.0], (20_000, 3)).astype(np.float32))
    Y = (X[:, [0]].toarray() + 0.5 * rng.standard_normal((20_000, 1)) > 1).astype(np.float32)
    model = OneVsRestSVM(C=0.6, normalize=False, random_state=0, **EXACT).fit(X, sp.csr_array(Y))
    signs = np.where(Y.ravel() > 0, 1, -1)
    value = primal_objective(X, signs, model.coef_.toarray().T[:, 0], model.intercept_[0], C=0.6)
    assert model.objective_[0] == pytest.approx(value, rel=1e-5)
    assert 0 <= model.duality_gap_[0] < 1e-3 * value


@pytest.mark.parametrize(
    "options",
    [
        {"C": np.array([1.0])},
        {"C": np.array([1.0, -1.0])},
        {"C": np.array(-1.0)},
        {"C": np.array(["a", "b"])},
        {"C": np.array([1e-39, 1.0])},
        {"propensity": np.array([0.5, np.nan])},
        {"propensity": np.array([0.5, 1.5])},
        {"propensity": np.array([0.5, 0.0])},
        {"propensity": "guess"},
    ],
)
def test_costs_and_propensities_are_checked(options):
    X, Y = separable(30, 2)
    name = next(iter(options))
    with pytest.raises(ParameterError, match=f"The '{name}' parameter of OneVsRestSVM must"):
        OneVsRestSVM(**options).fit(X, Y)


def test_work_that_cannot_fit_into_memory_is_refused_at_once(monkeypatch):
    X, Y = separable(60, 4)
    monkeypatch.setattr(memory, "available_memory", lambda: 1000)
    with pytest.raises(MemoryError, match=r"training on 1 threads needs .* lower n_jobs"):
        OneVsRestSVM().fit(X, Y)


def test_the_size_of_a_model_is_that_of_its_arrays():
    X, Y = separable(60, 4)
    model = OneVsRestSVM(random_state=0)
    with pytest.raises(ValueError, match="not fitted yet"):
        _ = model.model_size
    model.fit(X, Y)
    arrays = [value for value in vars(model).values() if isinstance(value, np.ndarray)]
    assert model.model_size == sum(len(array.tobytes()) for array in arrays)
    model.parts_ = [sp.csr_array(X), PopularityClassifier().fit(X, Y)]
    sparse = 4 * (2 * X.nnz + X.shape[0] + 1)
    grown = sum(len(array.tobytes()) for array in arrays) + sparse + 4 * 4 + 4 * 8
    assert model.model_size == grown


def test_log_scores_are_the_squared_hinge_and_for_others_the_logarithm():
    scores = np.array([-1.0, 0.5, 1.0, 3.0], dtype=np.float32)
    logs = OneVsRestSVM()._log_score(scores)
    assert logs.tolist() == [-4.0, -0.25, 0.0, 0.0]
    assert logs.dtype == np.float32
    shares = np.array([0.0, 0.25, 1.0], dtype=np.float32)
    tiny = np.log(np.finfo(np.float32).tiny)
    np.testing.assert_allclose(
        PopularityClassifier()._log_score(shares), [tiny, np.log(0.25), 0], rtol=1e-6
    )


@pytest.mark.parametrize("parameter", ["C", "tol", "max_iter"])
def test_parameters_are_checked_by_name(parameter):
    X, Y = separable(20, 2)
    with pytest.raises(ParameterError, match=f"The '{parameter}' parameter of OneVsRestSVM"):
        OneVsRestSVM(**{parameter: 0}).fit(X, Y)


@pytest.mark.shared
def test_bibtex_is_tagged_as_well_as_by_the_peers(shared_data):
    folder = shared_data / "bibtex"
    train, test = (load_dataset(folder / f"{part}.txt.xz") for part in ("train", "test"))
    model = OneVsRestSVM(random_state=0, n_jobs=2).fit(train.X, train.Y)
    top = model.predict_topk(test.X, 5)
    at_1, at_3, at_5 = (metrics.precision_at_k(test.Y, top, k) for k in (1, 3, 5))
    assert at_1 >= 0.625
    assert at_3 >= 0.385
    assert at_5 >= 0.28


def test_new_labels_may_come_as_lists_of_names():
    X, names = [[1, 0], [0, 1], [1, 1]], [["cat"], ["dog"], ["cat"]]
    as_lists = OneVsRestSVM(random_state=0).fit(X, names)
    as_lists.add_labels(X, [["owl"], [], ["owl"]], ["owl"])
    as_columns = OneVsRestSVM(random_state=0).fit(X, names)
    as_columns.add_labels(X, [[1], [0], [1]], ["owl"])
    assert (as_lists.coef_ != as_columns.coef_).nnz == 0
    with pytest.raises(DataError, match="Sample 1 has the unknown label 'cow'"):
        as_lists.add_labels(X, [["owl"], ["cow"], []], ["owl"])
