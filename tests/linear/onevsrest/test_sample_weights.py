import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC

from builders import random_csr, random_labels
from labelwood import OneVsRestSVM
from labelwood.errors import DataError, ParameterError

EXACT = {"tol": 1e-4, "slack": 0, "violators": 0, "prune_below": 0, "random_state": 0}


@pytest.fixture(scope="module")
def data():
    X, Y = random_csr(60, 12, 0.4), random_labels(60, 6, seed=1)
    return X, Y, np.random.default_rng(0).integers(0, 4, 60)


def weights_of(model):
    return np.hstack([model.coef_.toarray(), model.intercept_[:, None]])


def test_a_weight_of_two_is_a_row_that_stands_twice(data):
    X, Y, counts = data
    rows = np.repeat(np.arange(60), counts)
    repeated = OneVsRestSVM(**EXACT).fit(X[rows], Y[rows])
    weighted = OneVsRestSVM(**EXACT).fit(X, Y, sample_weight=counts)
    np.testing.assert_allclose(weights_of(weighted), weights_of(repeated), atol=2e-3)
    np.testing.assert_allclose(weighted.objective_, repeated.objective_, rtol=1e-4)
    assert np.all(weighted.duality_gap_ < 1e-3 * weighted.objective_)
    unweighted = OneVsRestSVM(**EXACT).fit(X, Y)
    assert np.abs(weights_of(unweighted) - weights_of(repeated)).max() > 0.05


def test_weights_of_one_change_nothing(data):
    X, Y, _ = data
    plain = OneVsRestSVM(random_state=0).fit(X, Y)
    ones = OneVsRestSVM(random_state=0).fit(X, Y, sample_weight=np.ones(60))
    np.testing.assert_array_equal(weights_of(plain), weights_of(ones))


@pytest.mark.parametrize("class_weight", ["balanced", {0: 3.0}])
def test_class_weights_are_those_of_scikit_learn_label_by_label(data, class_weight):
    X, Y, _ = data
    model = OneVsRestSVM(class_weight=class_weight, C=1.0, normalize=False, **EXACT).fit(X, Y)
    own = class_weight if class_weight == "balanced" else {1: 3.0, 0: 1.0}
    theirs = LinearSVC(C=1.0, class_weight=own, tol=1e-6, max_iter=100_000)
    theirs.fit(X.toarray(), Y.toarray()[:, 0])
    found = weights_of(model)[0]
    np.testing.assert_allclose(found, np.append(theirs.coef_, theirs.intercept_), atol=2e-3)


def test_class_weights_of_one_class_a_sample_are_those_of_scikit_learn(data):
    X, _, counts = data
    y = np.array(["a", "b", "c", "c"])[counts]
    weight = {"a": 5.0, "b": 0.5}
    model = OneVsRestSVM(class_weight=weight, C=1.0, normalize=False, **EXACT).fit(X, y)
    theirs = LinearSVC(C=1.0, class_weight={**weight, "c": 1.0}, tol=1e-6, max_iter=100_000)
    theirs.fit(X.toarray(), y)
    np.testing.assert_allclose(model.coef_.toarray(), theirs.coef_, atol=2e-3)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(59), r"sample_weight.shape == \(59,\), expected \(60,\)"),
        (-np.ones(60), "must hold numbers ≥ 0. Got -1 for sample 0"),
        (np.full(60, np.nan), "must hold numbers ≥ 0. Got nan for sample 0"),
        (np.zeros(60), "All sample weights are zero"),
        (["a"] * 60, "must hold a number for each sample"),
        (np.ones((60, 2)), "must be 1D array or scalar"),
    ],
)
def test_weights_that_are_none_are_refused(data, weights, message):
    X, Y, _ = data
    with pytest.raises(DataError, match=message):
        OneVsRestSVM().fit(X, Y, sample_weight=weights)


def test_a_class_weight_that_is_none_is_refused(data):
    X, Y, _ = data
    with pytest.raises(ParameterError, match=r"must hold numbers > 0\. Got -1 for 0"):
        OneVsRestSVM(class_weight={0: -1}).fit(X, Y)


@pytest.mark.parametrize("weight", [1e308, 1e151, 1e-320, np.inf])
def test_class_weights_whose_sums_would_overflow_are_refused(data, weight):
    X, Y, _ = data
    with pytest.raises(ParameterError, match=r"class_weight.* lie in 1e-150…1e\+150.* for 0"):
        OneVsRestSVM(class_weight={0: weight}).fit(X, Y)


def test_weights_whose_products_would_overflow_are_refused(data):
    X, Y, _ = data
    weights = np.ones(60)
    weights[7] = 1e120
    with pytest.raises(DataError, match=r"sample_weight × class_weight × C .* for sample 7"):
        OneVsRestSVM(class_weight={0: 1e120}).fit(X, Y, sample_weight=weights)


def test_probabilities_are_learned_with_the_weights(data):
    X, Y, counts = data
    rare = sp.csr_array(Y)
    model = OneVsRestSVM(calibrate=True, random_state=0).fit(X, rare, sample_weight=counts)
    assert 0 < model.f1_threshold_ < 1
