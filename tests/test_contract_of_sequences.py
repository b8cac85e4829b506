"""Every public model of sequences goes through the same checks."""

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning, SkipTestWarning
from sklearn.utils.estimator_checks import check_estimator

import labelwood
from labelwood.errors import LabelwoodWarning
from test_contract import fitted_bytes, with_jobs

SEQUENCES = [
    getattr(labelwood, name) for name, home in labelwood._HOME.items() if ".sequences." in home
]
MODELS = [one for one in SEQUENCES if issubclass(one, BaseEstimator)]

# Checks of scikit-learn that no model of sequences passes, each with its reason.
_ORDER = "rows are steps of a sequence: the state of a row depends on its neighbors"
EXCEPTIONS = {
    "check_methods_sample_order_invariance": _ORDER,
    "check_methods_subset_invariance": _ORDER,
}


@pytest.fixture(params=MODELS, ids=lambda one: one.__name__)
def model(request):
    return request.param(random_state=0)


def rows(model, n=80):
    """Data of the kind that the model takes."""
    rng = np.random.default_rng(0)
    z = np.repeat([1, -1, 1, -1], n // 4)
    if type(model).__name__ == "CategoricalHMM":
        return (rng.integers(0, 3, n) * (z > 0) + rng.integers(2, 5, n) * (z < 0))[:, None] * 1.0
    if type(model).__name__ == "PoissonHMM":
        return rng.poisson(np.where(z > 0, 3.0, 12.0)[:, None] * [1.0, 0.5]) * 1.0
    return z[:, None] * [1.5, 1.0] + rng.normal(size=(n, 2))


def test_they_are_found():
    assert "GaussianHMM" in {one.__name__ for one in MODELS}


def test_it_keeps_scikit_learns_contract(model):
    with warnings.catch_warnings():
        # The checks fit data without structure, on which states may collapse.
        warnings.simplefilter("ignore", LabelwoodWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        # Of models of symbols and counts it makes only the checks that need no data.
        warnings.simplefilter("ignore", SkipTestWarning)
        results = check_estimator(model, expected_failed_checks=EXCEPTIONS, on_skip=None)
    if not model.__sklearn_tags__().input_tags.two_d_array:
        return
    needless = {r["check_name"] for r in results if r["status"] == "passed"} & set(EXCEPTIONS)
    assert not needless, "these exceptions can go"


def test_it_is_the_same_for_every_number_of_threads(model):
    one, two = (with_jobs(clone(model), n).fit(rows(model)) for n in (1, 2))
    assert fitted_bytes(one) == fitted_bytes(two)


def test_a_saved_model_is_the_same(model, tmp_path):
    X = rows(model)
    model.fit(X)
    labelwood.save(model, tmp_path / "model")
    loaded = labelwood.load(tmp_path / "model")
    assert loaded.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    assert loaded.stop_reason_ == model.stop_reason_


def test_a_fit_that_fails_leaves_the_model_as_it_was(model):
    model.fit(rows(model))
    before = dict(vars(model))
    with pytest.raises(labelwood.errors.DataError, match="lengths sum to 7"):
        model.fit(rows(model), lengths=[3, 4])
    assert vars(model) == before


def test_read_only_input_is_enough(model):
    X = rows(model)
    X.setflags(write=False)
    assert model.fit(X).predict(X).shape == (80,)
