import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import check_estimator

import labelwood
from builders import random_csr, random_labels, separable
from labelwood import OneVsRestSVM, PopularityClassifier, load_dataset
from labelwood.core.calibration import apply_calibration, check_calibration, fit_calibration
from labelwood.errors import DataError, ParameterError

EXCEPTIONS = {
    "check_classifiers_multilabel_representation_invariance": "a list of lists holds label names",
    "check_classifiers_multilabel_output_format_predict": "labels are never densified: CSR",
    "check_classifiers_multilabel_output_format_decision_function": "scores are CSR as well",
    "check_sample_weight_equivalence_on_dense_data": "equal within the tolerance of the solver",
    "check_sample_weight_equivalence_on_sparse_data": "equal within the tolerance of the solver",
    "check_classifiers_multilabel_output_format_predict_proba": "and so are probabilities",
}

outcomes = st.lists(st.tuples(st.integers(-4, 4), st.booleans()), min_size=1, max_size=25)


def pooled_by_hand(scores, hits):
    """The min-max formula of isotonic regression, with the imagined hit and miss at the ends."""
    values = sorted(set(scores))
    groups = [[hit for score, hit in zip(scores, hits, strict=True) if score == v] for v in values]
    groups[0].append(True)
    groups[-1].append(False)
    size = len(groups)

    def mean(first, last):
        return np.mean([hit for group in groups[first : last + 1] for hit in group])

    chances = [
        max(min(mean(a, b) for b in range(i, size)) for a in range(i + 1)) for i in range(size)
    ]
    return np.array(values, dtype=float), np.array(chances), [len(group) for group in groups]


@given(outcomes)
def test_knots_are_the_pools_of_an_isotonic_regression(pairs):
    scores, hits = zip(*pairs, strict=True)
    values, chances, sizes = pooled_by_hand(scores, hits)
    knot_scores, knot_probabilities = fit_calibration(np.array(scores), np.array(hits))
    distinct = np.unique(chances.round(12))
    np.testing.assert_allclose(knot_probabilities, distinct, atol=1e-10)
    for score, chance in zip(knot_scores, distinct, strict=True):
        pool = np.isclose(chances, chance)
        assert score == pytest.approx(np.average(values[pool], weights=np.array(sizes)[pool]))


@given(outcomes, st.lists(st.floats(-1e6, 1e6, width=32), min_size=2, max_size=20))
def test_chances_rise_with_the_score_and_are_never_0_or_1(pairs, asked):
    scores, hits = zip(*pairs, strict=True)
    knots = fit_calibration(np.array(scores), np.array(hits))
    check_calibration(*knots)
    asked = np.unique(asked)
    chances = apply_calibration(asked, *knots)
    assert np.all((chances > 0) & (chances < 1))
    assert np.all(np.diff(chances) >= 0)
    apart = np.diff(asked) > 1e-3 * (1 + np.abs(asked[1:]))
    assert np.all(np.diff(chances)[apart] > 0)


def test_the_order_of_scores_outlives_the_end_of_the_evidence():
    knots = fit_calibration(np.array([0.0, 1.0]), np.array([False, True]))
    assert np.all(np.diff(apply_calibration(np.array([-3.0, -2.0, 5.0, 6.0]), *knots)) > 0)


def test_a_million_hits_are_still_no_certainty():
    _, chances = fit_calibration(np.arange(2_000_000.0), np.ones(2_000_000))
    assert chances.tolist() == [1 - 1e-6]


def test_the_truth_is_found_from_many_outcomes():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=50_000)
    truth = 1 / (1 + np.exp(1 - 2 * scores))
    knots = fit_calibration(scores, rng.random(50_000) < truth)
    asked = np.linspace(-2, 2, 41)
    found = apply_calibration(asked, *knots)
    assert np.abs(found - 1 / (1 + np.exp(1 - 2 * asked))).max() < 0.05
    assert knots[0].size < 500


def test_nothing_is_learned_from_nothing():
    with pytest.raises(DataError, match="no score from which to learn"):
        fit_calibration(np.empty(0), np.empty(0))


@pytest.mark.parametrize(
    ("scores", "chances", "message"),
    [
        ([0.0, 1.0], None, "must be arrays of float64"),
        (np.arange(2.0, dtype=np.float32), np.array([0.1, 0.2]), "must be arrays of float64"),
        (np.arange(2.0), np.array([0.1]), "do not rise"),
        (np.empty(0), np.empty(0), "do not rise"),
        (np.eye(2), np.eye(2), "do not rise"),
        (np.array([1.0, 0.0]), np.array([0.1, 0.2]), "do not rise"),
        (np.array([0.0, np.inf]), np.array([0.1, 0.2]), "do not rise"),
        (np.array([0.0, 1.0]), np.array([0.2, 0.1]), "do not rise"),
        (np.array([0.0, 1.0]), np.array([0.0, 0.1]), "do not rise"),
        (np.array([0.0, 1.0]), np.array([0.1, 1.0]), "do not rise"),
        (np.array([0.0, 1.0]), np.array([0.1, np.nan]), "do not rise"),
    ],
)
def test_knots_that_no_fit_can_have_made_are_refused(scores, chances, message):
    with pytest.raises(DataError, match=message):
        check_calibration(scores, chances)


def calibrated(**options):
    X, Y = random_csr(400, 40, seed=2), random_labels(400, 12, seed=2)
    return OneVsRestSVM(calibrate=True, random_state=0, **options).fit(X, Y), X, Y


def calibration_error(chances, outcomes, n_bins=10):
    """Mean distance of the chances from what they stand for, in bins of equal width."""
    chances, outcomes = np.ravel(chances).astype(float), np.ravel(outcomes).astype(float)
    places = np.minimum((chances * n_bins).astype(int), n_bins - 1)
    sums = np.bincount(places, chances - outcomes, minlength=n_bins)
    return np.abs(sums).sum() / chances.size


def drawn(n, seed):
    """Points whose labels are drawn with known chances."""
    X = np.random.default_rng(1000 + seed).normal(size=(n, 10)).astype(np.float32)
    directions = np.random.default_rng(7).normal(size=(10, 8))
    truth = 1 / (1 + np.exp(1.5 - X @ directions))
    Y = np.random.default_rng(seed).random(truth.shape) < truth
    return X, sp.csr_array(Y.astype(np.float32)), truth


def test_probabilities_are_close_to_the_chances_labels_were_drawn_with():
    X, Y, _ = drawn(4000, seed=0)
    X_new, Y_new, truth = drawn(2000, seed=1)
    model = OneVsRestSVM(calibrate=True, normalize=False, random_state=0, n_jobs=2).fit(X, Y)
    top = model.predict_topk(X_new, 8, proba=True)
    true_chances = np.take_along_axis(truth, top.labels.astype(int), axis=1)
    assert calibration_error(top.scores, true_chances) < 0.02
    assert calibration_error(top.scores, top.hits(Y_new)) < 0.02
    raw = 1 / (1 + np.exp(-model.predict_topk(X_new, 8).scores))
    assert calibration_error(raw, true_chances) > 0.08


def test_probabilities_keep_the_labels_and_their_order():
    model, X, _ = calibrated()
    plain, sure = model.predict_topk(X, 5), model.predict_topk(X, 5, proba=True)
    np.testing.assert_array_equal(sure.labels, plain.labels)
    assert np.all(np.diff(sure.scores, axis=1) <= 0)
    assert np.all((sure.scores > 0) & (sure.scores < 1))
    assert sure.classes is model.classes_


def test_places_without_a_label_get_no_probability():
    X, Y = separable(60, 4)
    Y = sp.csr_array(sp.hstack([Y, sp.csr_array((60, 1))]))
    with pytest.warns(labelwood.errors.LabelwoodWarning, match="1 of 5 labels has no sample"):
        model = OneVsRestSVM(calibrate=True, random_state=0).fit(X, Y)
    top = model.predict_topk(X, 5, proba=True)
    assert np.all(top.labels[:, 4] == -1)
    assert np.all(top.scores[:, 4] == -np.inf)


def test_the_best_labels_of_each_sample_come_as_a_sparse_matrix():
    model, X, _ = calibrated()
    chances = model.predict_proba(X, k=3)
    assert chances.shape == (400, 12)
    assert np.all(np.diff(chances.indptr) == 3)
    expected = model.predict_topk(X, 3, proba=True).to_csr(12)
    np.testing.assert_array_equal(chances.toarray(), expected.toarray())
    assert model.predict_proba(X).nnz == 400 * 12


@pytest.mark.parametrize("n_classes", [2, 3])
def test_chances_of_one_class_a_sample_sum_to_one_and_agree_with_the_prediction(n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 5))
    y = np.array(["a", "b", "c"])[(X[:, :n_classes] + rng.normal(size=(2000, n_classes))).argmax(1)]
    model = OneVsRestSVM(calibrate=True, normalize=False, random_state=0).fit(X, y)
    chances = model.predict_proba(X)
    assert chances.shape == (2000, n_classes)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    assert np.array_equal(model.classes_[chances.argmax(axis=1)], model.predict(X))
    assert calibration_error(chances, y[:, None] == model.classes_) < 0.05


def test_calibration_leaves_the_decisions_as_they_are():
    model, X, Y = calibrated()
    plain = OneVsRestSVM(random_state=0).fit(X, Y)
    assert model.postings_weights_.tobytes() == plain.postings_weights_.tobytes()
    assert model.intercept_.tobytes() == plain.intercept_.tobytes()


def test_the_seed_decides_which_samples_are_held_out_and_threads_do_not():
    knots = [calibrated(n_jobs=n)[0].calibration_scores_.tobytes() for n in (1, 2)]
    assert knots[0] == knots[1]
    model, X, Y = calibrated()
    again = model.set_params(random_state=1).fit(X, Y)
    assert again.calibration_scores_.tobytes() != knots[0]


def test_a_saved_model_gives_the_same_probabilities(tmp_path):
    model, X, _ = calibrated()
    labelwood.save(model, tmp_path / "model")
    loaded = labelwood.load(tmp_path / "model")
    assert (loaded.predict_proba(X) != model.predict_proba(X)).nnz == 0


def test_stored_knots_are_checked():
    model, _, _ = calibrated()
    model.calibration_probabilities_ = model.calibration_probabilities_[::-1].copy()
    with pytest.raises(DataError, match="knots of the calibration do not rise"):
        model._check_fitted()
    del model.calibration_probabilities_
    with pytest.raises(DataError, match="must be arrays of float64"):
        model._check_fitted()


def test_new_labels_use_the_map_that_is_there():
    model, X, Y = calibrated()
    before = model.calibration_scores_.copy()
    model.add_labels(X, Y[:, [3]], [12])
    np.testing.assert_array_equal(model.calibration_scores_, before)
    assert model.predict_proba(X, k=13).shape == (400, 13)


def test_a_model_without_calibration_says_so():
    X, Y = separable(40, 3)
    model = OneVsRestSVM(random_state=0).fit(X, Y)
    assert not hasattr(model, "predict_proba")
    assert not hasattr(PopularityClassifier(), "predict_proba")
    with pytest.raises(DataError, match="was fitted without calibrate=True"):
        model.predict_topk(X, 2, proba=True)
    with pytest.raises(DataError, match="was fitted without calibrate=True"):
        model.set_params(calibrate=True).predict_proba(X)


def test_a_fit_without_calibration_forgets_the_old_one():
    model, X, Y = calibrated()
    model.set_params(calibrate=False).fit(X, Y)
    with pytest.raises(DataError, match="was fitted without calibrate=True"):
        model.predict_topk(X, 2, proba=True)


def test_what_cannot_be_calibrated_is_refused():
    X, Y = separable(9, 2)
    with pytest.raises(
        DataError, match=r"10 samples of any class. Got n_samples = 9; use calibrate"
    ):
        OneVsRestSVM(calibrate=True).fit(X, Y)
    X, Y = separable(30, 2)
    with pytest.raises(DataError, match="no score from which to learn"):
        OneVsRestSVM(calibrate=True).fit(X, Y[:, :0])
    with pytest.raises(ParameterError, match="The 'calibrate' parameter of OneVsRestSVM must be"):
        OneVsRestSVM(calibrate=1).fit(X, Y)


def test_a_calibrated_estimator_keeps_scikit_learns_contract():
    model = OneVsRestSVM(calibrate=True, random_state=0)
    results = check_estimator(model, expected_failed_checks=EXCEPTIONS, on_skip=None)
    passed = {one["check_name"] for one in results if one["status"] == "passed"}
    assert not passed & set(EXCEPTIONS), "these exceptions can go"


@pytest.mark.shared
def test_probabilities_on_bibtex_come_true(shared_data):
    folder = shared_data / "bibtex"
    train, test = (load_dataset(folder / f"{part}.txt.xz") for part in ("train", "test"))
    model = OneVsRestSVM(calibrate=True, random_state=0, n_jobs=2).fit(train.X, train.Y)
    for k, before, after in ((1, 0.15, 0.04), (5, 0.15, 0.03), (20, 0.2, 0.015)):
        top = model.predict_topk(test.X, k, proba=True)
        hits = top.hits(test.Y)
        sigmoid = 1 / (1 + np.exp(-model.predict_topk(test.X, k).scores))
        assert calibration_error(sigmoid, hits) > before
        assert calibration_error(top.scores, hits) < after
