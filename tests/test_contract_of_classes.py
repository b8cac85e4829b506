"""Every public classifier of one class for each point goes through the same checks."""

import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import ClassifierMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

import labelwood
from builders import random_csr
from labelwood.core.classes import BinaryEstimator, ClassEstimator
from labelwood.core.estimator import LabelEstimator
from labelwood.errors import DataError, LabelwoodWarning
from test_contract import PUBLIC, assert_shared_out, counted_tasks, fitted_bytes, with_jobs

CLASSIFIERS = [
    one
    for one in PUBLIC
    if isinstance(one, type)
    and issubclass(one, ClassifierMixin)
    and not issubclass(one, LabelEstimator)
]

# Checks of scikit-learn that a classifier here does not pass, each with its reason.
_FOLDS = "folds are drawn of rows: one of weight 2 is in one fold, two equal rows may be in two"
_WEIGHTS = "class_weight is balanced or None: weights of single classes are given as sample_weight"
EXCEPTIONS = {
    "BudgetedClassifier": {"check_class_weight_classifiers": _WEIGHTS},
    "BudgetedTreeClassifier": {
        "check_class_weight_classifiers": _WEIGHTS,
        "check_sample_weight_equivalence_on_dense_data": _FOLDS,
        "check_sample_weight_equivalence_on_sparse_data": _FOLDS,
    },
}


@pytest.fixture(params=CLASSIFIERS, ids=lambda one: one.__name__)
def classifier(request):
    """A small instance of every classifier, seeded where it takes a seed."""
    model = request.param()
    if "budget" in model.get_params():
        model.set_params(budget=3)
    seed = {"random_state": 0} if "random_state" in model.get_params() else {}
    return model.set_params(**seed)


def needs_a_budget(classifier):
    if "budget" not in classifier.get_params():
        pytest.skip("has no budget of features")


def problem(n=150, d=8):
    X = random_csr(n, d, density=0.5)
    y = np.where(X[:, [0]].toarray().ravel() > X[:, [1]].toarray().ravel(), "yes", "no")
    return X, y


def test_the_budgeted_ones_are_found():
    assert "BudgetedClassifier" in {one.__name__ for one in CLASSIFIERS}


def test_it_keeps_scikit_learns_contract(classifier):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "budget=3 is above", LabelwoodWarning)
        expected = EXCEPTIONS.get(type(classifier).__name__, {})
        results = check_estimator(classifier, expected_failed_checks=expected, on_skip=None)
    needless = {r["check_name"] for r in results if r["status"] == "passed"} & set(expected)
    assert not needless, "these exceptions can go"


def test_it_says_how_many_classes_it_can_tell_apart(classifier):
    assert isinstance(classifier, ClassEstimator)
    two_only = isinstance(classifier, BinaryEstimator)
    assert get_tags(classifier).classifier_tags.multi_class is not two_only
    X, y = problem()
    y = np.where(X[:, [2]].toarray().ravel() > 0.5, "perhaps", y.astype("U7"))
    if two_only:
        with pytest.raises(DataError, match="Only binary classification is supported"):
            classifier.fit(X, y)
    else:
        assert classifier.fit(X, y).classes_.tolist() == ["no", "perhaps", "yes"]


def test_a_budget_above_the_number_of_features_is_said_once_where_it_is_fitted(classifier):
    needs_a_budget(classifier)
    X, y = problem()
    with pytest.warns(LabelwoodWarning, match=r"budget=9 .* features \(8\)") as told:
        classifier.set_params(budget=9).fit(X, y)
    assert [Path(one.filename).name for one in told] == [Path(__file__).name]


def test_selected_features_have_names(classifier):
    needs_a_budget(classifier)
    pa = pytest.importorskip("pyarrow")
    X, y = problem()
    table = pa.table(dict(zip("abcdefgh", X.toarray().T, strict=True)))
    names = clone(classifier).fit(table, y).selected_names_.tolist()
    assert {"a", "b"} <= set(names) <= set("abcdefgh")
    plain = clone(classifier).fit(X, y)
    assert plain.selected_names_.tolist() == [f"x{one}" for one in plain.selected_features_]


# Classifiers whose prediction is not shared out, each with its reason.
IN_ONE_PIECE = {"BudgetedClassifier": "one product of a sparse and a dense matrix"}


def test_it_is_the_same_for_every_number_of_threads(classifier, monkeypatch):
    X, y = problem()
    one, two = (with_jobs(clone(classifier), n).fit(X, y) for n in (1, 2))
    assert fitted_bytes(one) == fitted_bytes(two)
    many = sp.vstack([X] * 40, format="csr")
    with counted_tasks(monkeypatch) as counts:
        scores = [model.decision_function(many) for model in (one, two)]
    if type(one).__name__ not in IN_ONE_PIECE:
        assert_shared_out(two, counts)
    assert scores[0].tobytes() == scores[1].tobytes()


@pytest.mark.parametrize(
    "form",
    [
        lambda X: X.astype(np.float64),
        lambda X: sp.csc_matrix(X),
        lambda X: X.toarray(),
        lambda X: sp.csr_array(
            (X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape
        ),
    ],
    ids=["float64", "matrix", "dense", "int64 indices"],
)
def test_every_form_of_the_features_gives_the_same_model(classifier, form):
    X, y = problem()
    reference = clone(classifier).fit(X, y).predict(X)
    assert np.array_equal(clone(classifier).fit(form(X), y).predict(form(X)), reference)
    assert np.mean(reference == y) > 0.8 or get_tags(classifier).classifier_tags.poor_score


def test_read_only_input_is_enough(classifier):
    X, y = problem()
    for part in (X.data, X.indices, X.indptr, y):
        part.setflags(write=False)
    assert clone(classifier).fit(X, y).predict(X).shape == y.shape


def test_bad_input_gets_one_clear_line(classifier):
    X, y = problem(30)
    model = clone(classifier).fit(X, y)
    with pytest.raises(ValueError, match=r"features, but .* is expecting"):
        model.predict(X[:, :2])
    with pytest.raises(DataError, match="X has 30 rows and y has 29"):
        clone(classifier).fit(X, y[:-1])
    with pytest.raises(DataError, match="minimum of 1 is required"):
        model.predict(X[:0])
    broken = X.copy()
    broken.data[0] = np.nan
    with pytest.raises(DataError, match=r"X contains NaN \(row 0"):
        clone(classifier).fit(broken, y)


def test_a_saved_model_predicts_the_same_in_another_process(classifier, other_process, tmp_path):
    X, y = problem()
    model = clone(classifier).fit(X, y)
    labelwood.save(model, tmp_path / "model")
    sp.save_npz(tmp_path / "X.npz", X)
    there = other_process("predict(X)", tmp_path / "model", tmp_path / "X.npz")
    assert there == model.predict(X).tolist()
    loaded = labelwood.load(tmp_path / "model")
    assert loaded.get_params() == model.get_params()
    assert fitted_bytes(loaded) == fitted_bytes(model)
