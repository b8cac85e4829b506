"""Every public regressor goes through the same checks."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import RegressorMixin, clone
from sklearn.utils.estimator_checks import check_estimator

import labelwood
from builders import random_csr
from labelwood.errors import DataError
from test_contract import PUBLIC, fitted_bytes, with_jobs

REGRESSORS = [one for one in PUBLIC if isinstance(one, type) and issubclass(one, RegressorMixin)]


@pytest.fixture(params=REGRESSORS, ids=lambda one: one.__name__)
def regressor(request):
    """A small instance of every regressor, seeded where it takes a seed."""
    model = request.param()
    seed = {"random_state": 0} if "random_state" in model.get_params() else {}
    return model.set_params(**seed)


def problem(n=80, d=6):
    X = random_csr(n, d, density=0.6)
    noise = 0.1 * np.random.default_rng(1).normal(size=n)
    return X, np.sin(3 * X.toarray()[:, 0]) + X.toarray()[:, 1] + noise


def test_the_regressors_are_found():
    assert "KernelRidgeRegressor" in {one.__name__ for one in REGRESSORS}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_it_keeps_scikit_learns_contract(regressor):
    check_estimator(regressor, on_skip=None)


def test_it_is_the_same_for_every_number_of_threads(regressor):
    X, y = problem()
    one, two = (with_jobs(clone(regressor), n).fit(X, y) for n in (1, 2))
    assert fitted_bytes(one) == fitted_bytes(two)
    assert one.predict(X).tobytes() == two.predict(X).tobytes()


@pytest.mark.parametrize(
    "form",
    [lambda X: sp.csc_matrix(X), lambda X: X.toarray(), lambda X: sp.coo_array(X)],
    ids=["matrix", "dense", "coordinates"],
)
def test_every_form_of_the_features_gives_the_same_model(regressor, form):
    X, y = problem()
    reference = clone(regressor).fit(X, y).predict(X)
    np.testing.assert_allclose(
        clone(regressor).fit(form(X), y).predict(form(X)), reference, rtol=1e-12
    )
    assert np.corrcoef(reference, y)[0, 1] > 0.8


def test_sparse_targets_are_dense_targets(regressor):
    X, y = problem()
    Y = np.column_stack([y, np.where(y > 0.5, y, 0)])
    dense = clone(regressor).fit(X, Y).predict(X)
    np.testing.assert_array_equal(clone(regressor).fit(X, sp.csr_array(Y)).predict(X), dense)
    assert dense.shape == Y.shape


def test_bad_input_gets_one_clear_line(regressor):
    X, y = problem(30)
    model = clone(regressor).fit(X, y)
    with pytest.raises(ValueError, match=r"features, but .* is expecting"):
        model.predict(X[:, :2])
    with pytest.raises(DataError, match="X has 30 rows and y has 29"):
        clone(regressor).fit(X, y[:-1])
    with pytest.raises(DataError, match="minimum of 1 is required"):
        model.predict(X[:0])
    broken = X.copy()
    broken.data[0] = np.nan
    with pytest.raises(DataError, match=r"X contains NaN \(row 0"):
        clone(regressor).fit(broken, y)


def test_a_fit_that_fails_leaves_the_model_as_it_was(regressor):
    X, y = problem()
    model = clone(regressor).fit(X, y)
    before = fitted_bytes(model)
    with pytest.raises(DataError, match="y has 79"):
        model.fit(X, y[:-1])
    assert fitted_bytes(model) == before


def test_a_saved_model_predicts_the_same_in_another_process(regressor, other_process, tmp_path):
    X, y = problem()
    model = clone(regressor).fit(X, y)
    labelwood.save(model, tmp_path / "model")
    sp.save_npz(tmp_path / "X.npz", X)
    there = other_process("predict(X)", tmp_path / "model", tmp_path / "X.npz")
    np.testing.assert_allclose(there, model.predict(X), rtol=1e-12)
    loaded = labelwood.load(tmp_path / "model")
    assert with_jobs(loaded, 1).get_params() == with_jobs(model, 1).get_params()
    assert fitted_bytes(loaded) == fitted_bytes(model)
