"""Every public estimator goes through the same checks."""

import contextlib
import pickle
import warnings

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_estimator

import labelwood
from builders import separable
from labelwood.core.estimator import LabelEstimator
from labelwood.errors import DataError, LabelwoodWarning, ParameterError

PUBLIC = [getattr(labelwood, name) for name in labelwood._HOME]
ESTIMATORS = [one for one in PUBLIC if isinstance(one, type) and issubclass(one, LabelEstimator)]

ROWS_TIMES = 20  # 4,800 rows: more than a block of every estimator

# Checks of scikit-learn that no multi-label estimator here passes, each with its reason.
EXCEPTIONS = {
    "check_classifiers_multilabel_representation_invariance": "a list of lists holds label names",
    "check_classifiers_multilabel_output_format_predict": "labels are never densified: CSR",
    "check_classifiers_multilabel_output_format_decision_function": "scores are CSR as well",
}
_SOLVER = "equal within the tolerance of the solver"
EXCEPTIONS_OF = {
    "OneVsRestSVM": {
        "check_sample_weight_equivalence_on_dense_data": _SOLVER,
        "check_sample_weight_equivalence_on_sparse_data": _SOLVER,
    }
}


@pytest.fixture(params=ESTIMATORS, ids=lambda one: one.__name__)
def estimator(request):
    """A small instance of every estimator, seeded where it takes a seed."""
    model = request.param()
    seed = {"random_state": 0} if "random_state" in model.get_params() else {}
    return model.set_params(**seed)


def with_jobs(model, n_jobs):
    return model.set_params(n_jobs=n_jobs) if "n_jobs" in model.get_params() else model


def fitted_bytes(model):
    """All fitted attributes, comparable byte by byte."""
    parts = {}
    for name, value in vars(model).items():
        if isinstance(value, BaseEstimator):
            parts[name] = fitted_bytes(value)
        elif name.endswith("_"):
            parts[name] = value_bytes(value)
    return parts


def value_bytes(value):
    if isinstance(value, dict):
        return {key: value_bytes(one) for key, one in value.items()}
    arrays = [value.indptr, value.indices, value.data] if sp.issparse(value) else [value]
    return [np.asarray(array).tobytes() for array in arrays]


def test_it_keeps_scikit_learns_contract(estimator):
    exceptions = {**EXCEPTIONS, **EXCEPTIONS_OF.get(type(estimator).__name__, {})}
    with warnings.catch_warnings():
        # Some checks fit a single class, or data without noise, of which learners warn.
        warnings.simplefilter("ignore", LabelwoodWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        results = check_estimator(estimator, expected_failed_checks=exceptions, on_skip=None)
    needless = {r["check_name"] for r in results if r["status"] == "passed"} & set(exceptions)
    assert not needless, "these exceptions can go"


@contextlib.contextmanager
def counted_tasks(monkeypatch):
    """How many tasks each call of joblib gets in the block."""
    counts = []

    class Counting(joblib.Parallel):
        def __call__(self, tasks):
            listed = list(tasks)
            counts.append(len(listed))
            return super().__call__(listed)

    with monkeypatch.context() as patch:
        patch.setattr(joblib, "Parallel", Counting)
        patch.setattr("labelwood.reranking.tail._CELLS", 2**12)  # blocks of 50,000 rows otherwise
        yield counts


# Estimators whose prediction is not shared out, each with its reason.
IN_ONE_PIECE = {
    "KernelBoostingClassifier": "a product of dense matrices, which BLAS shares out itself",
    "KernelRidgeClassifier": "a product of dense matrices, which BLAS shares out itself",
    "BoostedStumps": "dense scores of a block of rows by vectorized NumPy",
    "RuleTreeClassifier": "one walk down one tree takes less time than a thread to start",
}


def assert_shared_out(model, counts):
    """A test of threads or processes says nothing if there was one task only."""
    if "n_jobs" in model.get_params() and type(model).__name__ not in IN_ONE_PIECE:
        assert max(counts, default=0) > 1, "no work was shared out: more rows are needed"


def test_it_is_the_same_for_every_number_of_threads(estimator, monkeypatch):
    X, Y = separable(240, 20)
    one = with_jobs(clone(estimator), 1).fit(X, Y)
    two = with_jobs(clone(estimator), 2).fit(X, Y)
    assert fitted_bytes(one) == fitted_bytes(two)
    many = sp.vstack([X] * ROWS_TIMES, format="csr")
    with counted_tasks(monkeypatch) as counts:
        answers = [model.predict_topk(many) for model in (one, two)]
    assert_shared_out(two, counts)
    assert answers[0].scores.tobytes() == answers[1].scores.tobytes()
    assert answers[0].labels.tobytes() == answers[1].labels.tobytes()


@pytest.mark.parametrize(
    "form",
    [
        lambda X: X.astype(np.float64),
        lambda X: sp.csr_matrix(X),
        lambda X: X.toarray(),
        lambda X: sp.csr_array(
            (X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape
        ),
    ],
    ids=["float64", "matrix", "dense", "int64 indices"],
)
def test_every_form_of_the_features_gives_the_same_model(estimator, form):
    X, Y = separable(60, 5)
    reference = clone(estimator).fit(X, Y).predict_topk(X, 3)
    other = clone(estimator).fit(form(X), Y).predict_topk(form(X), 3)
    np.testing.assert_array_equal(other.labels, reference.labels)


def test_read_only_input_is_enough_and_stays_as_it_is(estimator):
    X, Y = separable(60, 5)
    parts = [part for matrix in (X, Y) for part in (matrix.data, matrix.indices, matrix.indptr)]
    before = [part.copy() for part in parts]
    for part in parts:
        part.setflags(write=False)
    model = clone(estimator).fit(X, Y)
    assert len(model.predict_topk(X, 2)) == 60
    for part, one in zip(parts, before, strict=True):
        np.testing.assert_array_equal(part, one)


def test_names_indices_and_lists_are_the_same_labels(estimator):
    X, Y = separable(80, 4)
    lists = [[f"label {label}" for label in row] for row in np.split(Y.indices, Y.indptr[1:-1])]
    by_index = clone(estimator).fit(X, Y)
    by_name = clone(estimator).fit(X, lists)
    assert by_name.predict_topk(X, 1).names() == [
        [f"label {label}" for label in row] for row in by_index.predict_topk(X, 1).labels
    ]


def test_k_beyond_the_number_of_labels_gives_what_there_is(estimator):
    X, Y = separable(40, 3)
    top = clone(estimator).fit(X, Y).predict_topk(X, k=50)
    assert top.k == 3


@pytest.mark.parametrize("n_labels", [0, 1])
def test_one_label_or_none_is_legal(estimator, n_labels):
    X, Y = separable(30, 3)
    Y = sp.csr_array(Y[:, :n_labels])
    top = clone(estimator).fit(X, Y).predict_topk(X, 2)
    assert top.k == 1
    assert top.labels.max() == n_labels - 1


def test_no_points_at_all_are_refused(estimator):
    X, Y = separable(30, 3)
    model = clone(estimator).fit(X, Y)
    with pytest.raises(DataError, match="minimum of 1 is required"):
        model.predict_topk(X[:0])


def test_it_gives_the_same_in_other_processes(estimator, monkeypatch):
    X, Y = separable(240, 5)
    model = with_jobs(clone(estimator), 1).fit(X, Y)
    many = sp.vstack([X] * ROWS_TIMES, format="csr")
    here = model.predict_topk(many, 2)
    with_jobs(model, 2)
    with (
        counted_tasks(monkeypatch) as counts,
        joblib.parallel_config(backend="loky", n_jobs=2),
    ):
        there = model.predict_topk(many, 2)
    assert_shared_out(model, counts)
    np.testing.assert_array_equal(there.labels, here.labels)
    np.testing.assert_array_equal(there.scores, here.scores)


def test_its_score_takes_labels_in_every_form(estimator):
    X, Y = separable(80, 4)
    lists = [[f"label {label}" for label in row] for row in np.split(Y.indices, Y.indptr[1:-1])]
    by_index, by_name = clone(estimator).fit(X, Y), clone(estimator).fit(X, lists)
    right = (by_index.predict(X).toarray() == Y.toarray()).all(axis=1).mean()
    assert by_index.score(X, Y) == pytest.approx(right)
    assert by_name.score(X, lists) == pytest.approx(right)


def test_bad_input_gets_one_clear_line(estimator):
    X, Y = separable(30, 3)
    model = clone(estimator).fit(X, Y)
    with pytest.raises(ValueError, match=r"features, but .* is expecting"):
        model.predict(X[:, :2])
    with pytest.raises(DataError, match="X has 30 rows and Y has 29"):
        clone(estimator).fit(X, Y[:-1])
    with pytest.raises(ParameterError, match=r"The 'k' parameter of .* must be an int ≥ 1"):
        model.predict_topk(X, k=0)
    broken = X.copy()
    broken.data[0] = np.nan
    with pytest.raises(DataError, match=r"X contains NaN \(row 0"):
        clone(estimator).fit(broken, Y)


def test_a_saved_model_predicts_the_same_in_another_process(estimator, other_process, tmp_path):
    X, Y = separable(60, 5)
    names = [[f"name {label}" for label in row] for row in np.split(Y.indices, Y.indptr[1:-1])]
    model = clone(estimator).fit(X, names)
    labelwood.save(model, tmp_path / "model")
    sp.save_npz(tmp_path / "X.npz", X)
    there = other_process("predict_topk(X, 3)", tmp_path / "model", tmp_path / "X.npz")
    top = model.predict_topk(X, 3)
    assert there == [top.names(), top.scores.astype(float).tolist()]
    loaded = labelwood.load(tmp_path / "model")
    assert with_jobs(loaded, 1).get_params() == with_jobs(model, 1).get_params()
    assert fitted_bytes(loaded) == fitted_bytes(model)


def arrays_in(value):
    """All arrays that a pickle of the value holds."""
    if isinstance(value, np.ndarray):
        return [value]
    if isinstance(value, (list, tuple)):
        return [array for one in value for array in arrays_in(one)]
    state = value if isinstance(value, dict) else getattr(value, "__getstate__", dict)()
    return arrays_in(list(state.values())) if isinstance(state, dict) else []


def test_a_pickle_holds_no_fitted_array_a_second_time(estimator):
    X, Y = separable(60, 5)
    model = clone(estimator).fit(X, Y)
    for _ in range(3):
        answer = model.predict_topk(X[:1], 3)
    # joblib would write an array as often as it is there.
    places: dict[bool, set[int]] = {True: set(), False: set()}
    for name, value in model.__getstate__().items():
        places[name.startswith("_")] |= {id(array) for array in arrays_in(value)}
    assert places[False]
    assert not places[True] & places[False]
    again = pickle.loads(pickle.dumps(model))
    for _ in range(3):
        assert again.predict_topk(X[:1], 3).scores.tobytes() == answer.scores.tobytes()


TEXTS = ["a cat on a mat", "a dog in a fog", "the cat and the dog", "a cat in a fog"]
OTHERS = {
    "TextVectorizer": lambda: labelwood.TextVectorizer(min_df=1).fit(TEXTS),
    "Tagger": lambda: labelwood.Tagger(labelwood.OneVsRestSVM(random_state=0)).fit(
        labelwood.Dataset.from_lists(TEXTS, [["cat"], ["dog"], ["cat", "dog"], ["cat"]])
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_no_classifier_keeps_parameters_and_survives_saving(name, tmp_path):
    fitted = OTHERS[name]()
    copy = clone(fitted)
    assert copy.get_params(deep=False).keys() == fitted.get_params(deep=False).keys()
    assert not any(attribute.endswith("_") for attribute in vars(copy))
    with pytest.raises(ValueError, match="Invalid parameter 'nonsense'"):
        copy.set_params(nonsense=1)
    labelwood.save(fitted, tmp_path / "model")
    loaded = labelwood.load(tmp_path / "model")
    answer = "transform" if name == "TextVectorizer" else "features"
    here, there = (getattr(one, answer)(["one more cat"]).toarray() for one in (fitted, loaded))
    np.testing.assert_array_equal(there, here)


def test_all_public_estimators_are_discovered():
    estimators = [one for one in PUBLIC if isinstance(one, type) and issubclass(one, BaseEstimator)]
    rest = {one for one in estimators if one not in ESTIMATORS}
    neither = [one for one in rest if not issubclass(one, (ClassifierMixin, RegressorMixin))]
    sequences = {name for name in labelwood._HOME if ".sequences." in labelwood._HOME[name]}
    assert {one.__name__ for one in neither} - sequences == set(OTHERS)
    assert {one.__name__ for one in ESTIMATORS} >= {"OneVsRestSVM", "PopularityClassifier"}
    assert all(issubclass(one, BaseEstimator) for one in ESTIMATORS)
