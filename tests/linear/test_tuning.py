"""`C="auto"`: chosen on held-out training samples, reported, and the same for every thread."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

import labelwood
from builders import separable
from labelwood import LabelTreeClassifier, OneVsRestSVM, synthetic
from labelwood.errors import ParameterError
from labelwood.linear.tuning import Quality, held_out_parts, search_C, tune_C

BOTH = pytest.mark.parametrize("kind", [OneVsRestSVM, LabelTreeClassifier])


def noisy(n=1000, noise=1.0, seed=0):
    """Each sample has the label of its largest of six features, among many features of noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 150)).astype(np.float32)
    best = (X[:, :6] + noise * rng.standard_normal((n, 6))).argmax(axis=1)
    return sp.csr_array(X), sp.csr_array(np.eye(6, dtype=np.float32)[best])


@BOTH
def test_noise_wants_a_smaller_C_and_gets_it(kind):
    X, Y = noisy()
    model = kind(C="auto", random_state=0).fit(0.1 * X, Y)
    default = kind().C
    assert default > model.C_
    tried = {trial["C"]: trial["score"] for trial in model.tuning_["trials"]}
    best = max(tried, key=tried.get)
    assert best / 2**0.5 <= model.C_ <= best * 2**0.5 + 0.01
    assert set(model.tuning_["trials"][0]) == {"C", "P@1", "P@3", "P@5", "score"}


@BOTH
def test_the_model_is_that_of_the_chosen_value(kind):
    X, Y = noisy()
    model = kind(C="auto", random_state=0).fit(X, Y)
    power = model.frequency_power_
    same = kind(C=model.C_, frequency_power=power, random_state=0).fit(X, Y)
    a, b = model.predict_topk(X, 2), same.predict_topk(X, 2)
    np.testing.assert_array_equal(a.scores, b.scores)


def unequal(n=400, n_labels=6):
    """Labels of 1/2, 1/4, … of the samples, which features tell but for noise."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n, 20)).astype(np.float32)
    borders = np.quantile(X[:, :n_labels], 0.5 ** np.arange(1, n_labels + 1), axis=0).diagonal()
    Y = X[:, :n_labels] + 0.3 * rng.standard_normal((n, n_labels)) < borders
    return sp.csr_array(X), sp.csr_array(Y.astype(np.float32))


def label_C(model, Y, power):
    """The C of each label as the documentation has it, in plain Python."""
    counts = Y.toarray().sum(axis=0).astype(int).tolist()
    logs = [math.log(n) for n in counts for _ in range(n)]  # one for each pair
    typical = math.exp(sum(logs) / len(logs))
    assert model.typical_count_ == pytest.approx(typical)
    return np.array([model.C_ * (typical / n) ** power for n in counts])


@BOTH
def test_rarer_labels_have_a_larger_C(kind):
    X, Y = unequal()
    model = kind(C="auto", random_state=0).fit(X, Y)
    power = {OneVsRestSVM: 0.2, LabelTreeClassifier: 0.4}[kind]
    assert model.frequency_power_ == power
    same = kind(C=label_C(model, Y, power), random_state=0).fit(X, Y)
    equal = kind(C=model.C_, random_state=0).fit(X, Y)
    scores = [one.predict_topk(X, 6).to_csr(6).toarray() for one in (model, same, equal)]
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-4, atol=1e-4)
    assert np.abs(scores[0] - scores[2]).max() > 0.01
    assert equal.frequency_power_ == 0


@BOTH
def test_trials_give_rarer_labels_a_larger_C_too(kind):
    X, Y = unequal()
    model = kind(C="auto", random_state=0)
    plain = kind(C="auto", frequency_power=0, random_state=0)
    default = kind().C
    scores = [[t.score for t in tune_C(one, X, Y, default).trials] for one in (model, plain)]
    assert scores[0] != scores[1]


def test_labels_that_are_added_have_the_C_of_their_number_of_samples():
    X, Y = unequal()
    model = OneVsRestSVM(C="auto", n_negatives=400, tol=1e-4, random_state=0).fit(X, Y)
    costs = label_C(model, Y, 0.2)
    model.add_labels(X, Y[:, [4]], [4])
    own = OneVsRestSVM(C=costs[[4]], n_negatives=400, tol=1e-4, random_state=0).fit(X, Y[:, [4]])
    one, other = (each.decision_function(X).toarray() for each in (model, own))
    np.testing.assert_allclose(one[:, 4], other[:, 0], atol=2e-3)


@BOTH
def test_a_power_that_is_given_holds_for_a_given_C_too(kind, tmp_path):
    X, Y = unequal()
    model = kind(C=0.5, frequency_power=0.5, random_state=0).fit(X, Y)
    same = kind(C=label_C(model, Y, 0.5), random_state=0).fit(X, Y)
    np.testing.assert_allclose(
        model.predict_topk(X, 3).scores, same.predict_topk(X, 3).scores, rtol=1e-4, atol=1e-4
    )
    labelwood.save(model, tmp_path / "model")
    loaded = labelwood.load(tmp_path / "model")
    assert (loaded.frequency_power_, loaded.typical_count_) == (0.5, model.typical_count_)


@BOTH
@pytest.mark.parametrize("power", [-0.1, 1.5, "some"])
def test_a_power_outside_its_range_is_refused(kind, power):
    X, Y = unequal(50)
    with pytest.raises(ParameterError, match="'frequency_power' parameter"):
        kind(frequency_power=power).fit(X, Y)


@BOTH
def test_the_choice_is_the_same_for_every_number_of_threads(kind):
    X, Y = separable(300, 20)
    one, two = (kind(C="auto", random_state=3, n_jobs=n).fit(X, Y) for n in (1, 2))
    assert one.C_ == two.C_
    assert one.tuning_ == two.tuning_


@BOTH
def test_too_few_samples_take_the_default_and_say_so(kind):
    X, Y = separable(40, 3)
    model = kind(C="auto", random_state=0).fit(X, Y)
    assert model.C_ == kind().C
    assert "too few to hold any out" in model.tuning_["reason"]


def test_the_default_stays_where_all_values_are_alike():
    X, Y = separable(400, 4)
    tuning = tune_C(OneVsRestSVM(C="auto", random_state=0), X, Y, 0.55)
    assert tuning.C == 0.55
    assert tuning.reason == "about the default of 0.55 is best"


@BOTH
def test_labels_of_one_sample_each_keep_the_default(kind):
    identity = sp.eye_array(200, format="csr")
    model = kind(C="auto", random_state=0).fit(identity, identity)
    assert model.C_ == kind().C


@pytest.mark.parametrize("peak", [-2.3, 0.0, 0.4, 3.2])
def test_the_search_finds_the_top_of_a_parabola(peak):
    tuning = search_C(lambda C: Quality((), -((np.log2(C / 0.5) - peak) ** 2)), 0.5)
    assert np.log2(tuning.C / 0.5) == pytest.approx(peak, abs=0.01)
    assert len(tuning.trials) == 3 + abs(round(peak)) - (peak < -0.5)  # twice as much is left out


@pytest.mark.parametrize(("start", "n_trials"), [(-4, 5), (-2, 3), (-1, 3), (9, 8)])
def test_the_search_begins_where_it_is_put(start, n_trials):
    tuning = search_C(lambda C: Quality((), -((np.log2(C) + 2.1) ** 2)), 1.0, start)
    assert np.log2(tuning.C) == pytest.approx(-2.1, abs=0.01)
    assert len(tuning.trials) == n_trials
    assert "the first value" in tuning.reason


def test_twice_as_much_is_tried_where_half_is_not_clearly_better():
    differences = np.tile([1.0, -0.94], 50)  # 0.03 in the mean, and 0.097 its standard error

    def quality(C):
        values = differences * (C == 0.5)
        return Quality((), float(values.mean()), values)

    assert [one.C for one in search_C(quality, 1.0).trials] == [0.25, 0.5, 1.0, 2.0]


@pytest.mark.parametrize(("spread", "chosen"), [(0.1, 2.0), (2.0, 1.0)])
def test_a_gain_within_its_standard_error_is_no_gain(spread, chosen):
    rng = np.random.default_rng(0)
    noise = rng.standard_normal(100)
    noise -= noise.mean()

    def quality(C):
        gain = {1.0: 0.0, 2.0: 0.05}.get(C, -1.0)
        values = gain + spread * noise * (C == 2.0)
        return Quality((), float(values.mean()), values)

    C = search_C(quality, 1.0).C
    assert chosen / 2**0.5 <= C <= chosen * 2**0.5


def test_the_search_ends_at_a_limit():
    near = search_C(lambda C: Quality((), C), 1.0, start=2, reach=1)
    assert [one.C for one in near.trials] == [2.0, 4.0, 8.0]
    tuning = search_C(lambda C: Quality((), C), 1.0)
    assert tuning.C == 32


def test_small_data_are_cross_validated_and_of_large_data_a_part_is_taken():
    X, Y = noisy(400)
    folds = held_out_parts(X, Y, 0)
    assert len(folds) == 5
    assert [part.X_held_out.shape[0] for part in folds] == [80] * 5
    assert all(part.X.shape[0] == 320 for part in folds)
    held_out = sp.vstack([part.X_held_out for part in folds]).toarray()
    assert sorted(map(tuple, held_out)) == sorted(map(tuple, X.toarray()))
    large = synthetic(30_000, 2000, 3000, random_state=0).train
    (part,) = held_out_parts(large.X, large.Y, 0)
    assert 1000 < part.X.shape[0] < 10_000
    assert part.X_held_out.shape[0] == 4000


def test_a_part_is_fitted_with_a_larger_C_than_the_one_it_is_tried_for():
    X, Y = noisy()
    tried = []

    class Recorded(OneVsRestSVM):
        def fit(self, X, Y):
            tried.append(self.C)
            return super().fit(X, Y)

    tuning = tune_C(Recorded(C="auto", random_state=0), X, Y, 0.5)
    assert tried[0] == pytest.approx(0.5 * 1.25**0.4)  # four fifths of the samples
    assert min(tried) == pytest.approx(tuning.trials[0].C * 1.25**0.4)


@pytest.mark.parametrize("n_labels", [0, 1])
def test_one_label_or_none_is_legal(n_labels):
    X, Y = separable(300, 3)
    model = OneVsRestSVM(C="auto", random_state=0).fit(X, sp.csr_array(Y[:, :n_labels]))
    assert model.C_ > 0


def test_a_tuned_model_is_saved_calibrated_and_extended(tmp_path):
    X, Y = noisy()
    model = OneVsRestSVM(C="auto", calibrate=True, random_state=0).fit(X, Y)
    labelwood.save(model, tmp_path / "model")
    loaded = labelwood.load(tmp_path / "model")
    assert loaded.C_ == model.C_
    assert loaded.tuning_ == model.tuning_
    loaded.add_labels(X, Y[:, [0]], [6])
    assert loaded.classes_.size == 7
