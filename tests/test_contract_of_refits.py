"""A fit that fails leaves every public estimator as it was: attributes and predictions."""

import contextlib
import copy
import functools
import itertools
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import labelwood
from builders import answers, problem_for, public_estimators, small, state
from labelwood.core.contract import FittedEstimator
from labelwood.core.estimator import LabelEstimator
from labelwood.errors import DataError, LabelwoodError

ESTIMATORS = public_estimators()
WITH_FEATURES = [
    one for one in ESTIMATORS if one not in (labelwood.Tagger, labelwood.TextVectorizer)
]


@functools.cache
def _fitted_once(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return small(kind).fit(*problem_for(kind))


def fitted(kind):
    """A fitted estimator of the test's own; each kind is fitted once and copied."""
    return copy.deepcopy(_fitted_once(kind))


@contextlib.contextmanager
def failing_assignment(kind, n_allowed, error):
    """Raise `error` in place of the assignment of the fitted attribute after `n_allowed`."""
    count = itertools.count()

    def assign(self, name, value):
        if type(self) is kind and name.endswith("_") and next(count) >= n_allowed:
            raise error
        object.__setattr__(self, name, value)

    kind.__setattr__ = assign
    try:
        yield
    finally:
        del kind.__setattr__


def wrong(kind, **changes):
    """The arguments of `fit` for another problem, with features or targets replaced."""
    X, *y = problem_for(kind, n=50, d=20, seed=3)
    X = changes.get("X", lambda one: one)(X)
    if "y" in changes:
        y = [changes["y"](one) for one in y] or [None]
    return [X, *y]


def with_nan(X):
    X = X.copy()
    (X.data if sp.issparse(X) else X[0])[:1] = np.nan
    return X


def out_of_bounds(X):
    X = sp.csr_array(X)
    X.indices[0] = 10**6
    return X


# Each makes the second fit of an estimator fail, with other features than the first had.
BAD_DATA = {
    "a row too few": {"y": lambda y: y[:-1]},
    "y is None": {"y": lambda _: None},
    "y of an invalid kind": {"y": lambda y: [{"a": 1}] * y.shape[0]},
    "NaN": {"X": with_nan},
    "no samples": {"X": lambda X: X[:0], "y": lambda y: y[:0]},
    "three dimensions": {"X": lambda _: np.zeros((3, 3, 3))},
    "text": {"X": lambda _: [["some", "words"]]},
    "indices out of bounds": {"X": out_of_bounds},
}


@pytest.mark.parametrize("way", BAD_DATA)
@pytest.mark.parametrize("kind", WITH_FEATURES, ids=lambda one: one.__name__)
def test_a_refit_on_bad_data_changes_nothing(kind, way):
    needs_y = "y" in BAD_DATA[way] and "X" not in BAD_DATA[way]
    if needs_y and len(problem_for(kind)) == 1:
        pytest.skip("it has no targets")
    sequences = "sequences" in kind.__module__
    if way == "NaN" and sequences:
        pytest.skip("NaN is a missing observation")
    if way == "indices out of bounds" and sequences:
        pytest.skip("it takes dense observations")
    model = fitted(kind)
    said, before = answers(model, problem_for(kind)[0]), state(model)
    with pytest.raises((ValueError, TypeError, LabelwoodError)):
        model.fit(*wrong(kind, **BAD_DATA[way]))
    assert state(model) == before
    assert answers(model, problem_for(kind)[0]) == said


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError("no memory left")], ids=repr)
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda one: one.__name__)
def test_a_refit_that_is_interrupted_changes_nothing(kind, share, error):
    model = fitted(kind)
    said, before = answers(model, problem_for(kind)[0]), state(model)
    n_fitted = sum(name.endswith("_") for name in vars(model))
    allowed = round(share * (n_fitted - 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with failing_assignment(kind, allowed, error), pytest.raises(type(error)):
            model.fit(*problem_for(kind, n=50, d=20, seed=3))
    assert state(model) == before
    assert answers(model, problem_for(kind)[0]) == said


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda one: one.__name__)
def test_a_refit_with_a_bad_parameter_changes_nothing(kind):
    model = fitted(kind)
    said = answers(model, problem_for(kind)[0])
    name = next(iter(kind._constraints or model.get_params(deep=False)), None)
    if name is None:
        pytest.skip("it has no parameter")
    good = model.get_params()[name]
    model.set_params(**{name: object()})
    before = state(model)
    with pytest.raises((ValueError, TypeError, AttributeError)):
        model.fit(*problem_for(kind, n=50, d=20, seed=3))
    assert state(model) == before
    assert answers(model.set_params(**{name: good}), problem_for(kind)[0]) == said


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda one: one.__name__)
def test_a_refit_that_succeeds_writes_into_no_array_of_the_first(kind):
    model = fitted(kind)
    first = dict(vars(model))
    before = state(first)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(*problem_for(kind, n=50, d=20, seed=3))
    assert state(first) == before


ONLINE = [one for one in ESTIMATORS if hasattr(one, "partial_fit")]


@pytest.mark.parametrize("kind", ONLINE, ids=lambda one: one.__name__)
def test_an_update_that_is_interrupted_changes_nothing_and_can_be_made_again(kind):
    first, second = problem_for(kind, seed=1), problem_for(kind, seed=2)
    model, calm = (small(kind) for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for one in (model, calm):
            one.partial_fit(*first)
        said, before = answers(model, first[0]), state(model)
        for allowed in range(3):
            with (
                failing_assignment(kind, allowed, KeyboardInterrupt()),
                contextlib.suppress(KeyboardInterrupt),
            ):
                model.partial_fit(*second)
                pytest.fail("it was not interrupted")
            assert state(model) == before
            assert answers(model, first[0]) == said
        assert state(model.partial_fit(*second)) == state(calm.partial_fit(*second))


# A Tagger is given texts and names, and has tests of its own.
GROWING = [one for one in ESTIMATORS if hasattr(one, "add_labels") and one is not labelwood.Tagger]


@pytest.mark.parametrize("kind", GROWING, ids=lambda one: one.__name__)
def test_labels_that_cannot_be_added_change_nothing(kind):
    model = fitted(kind)
    X, Y = problem_for(kind)
    said, before = answers(model, X), state(model)
    with pytest.raises(DataError, match="a column for each of 2 labels"):
        model.add_labels(X, Y[:, :1], [100, 101])
    for allowed in range(3):
        with (
            failing_assignment(kind, allowed, KeyboardInterrupt()),
            pytest.raises(KeyboardInterrupt),
        ):
            model.add_labels(X, Y[:, :1], [100])
        assert state(model) == before
        assert answers(model, X) == said


@pytest.mark.parametrize(
    "kind", [one for one in ESTIMATORS if issubclass(one, LabelEstimator)], ids=lambda o: o.__name__
)
def test_prediction_asks_the_arrays_and_not_an_attribute_for_their_width(kind):
    model = fitted(kind)
    X, _ = problem_for(kind)
    narrow, wide = X[:, :2], sp.csr_array(sp.hstack([X, sp.csr_array((X.shape[0], 5000))]))
    reads_features = kind is not labelwood.PopularityClassifier
    expected = model.predict_topk(X, 3).scores
    for other in (narrow, wide):
        broken = clone(model)
        vars(broken).update(vars(model))
        broken.n_features_in_ = other.shape[1]
        with contextlib.suppress(ValueError):
            top = broken.predict_topk(other, 3)
            # Only arrays that reach no further than X may be read.
            assert other is wide or not reads_features, kind.__name__
            np.testing.assert_array_equal(top.scores, expected)


def test_containers_and_nested_estimators_are_restored_too():
    class Inner(FittedEstimator):
        pass

    class Outer(FittedEstimator):
        _updated_in_place = ("counts_",)

        def fit(self, fails):
            if not fails:
                self.lists_, self.counts_ = [[1], {"a": {2}}], np.zeros(3)
                self.inner_ = Inner()
                self.inner_.width_ = 3
                return self
            self.lists_[0].append(7)
            self.lists_[1]["a"].add(8)
            self.counts_ += 1
            self.inner_.width_ = 4
            self.inner_.more_ = 5
            raise DataError("half way")

    model = Outer().fit(False)
    with pytest.raises(DataError, match="half way"):
        model.fit(True)
    assert model.lists_ == [[1], {"a": {2}}]
    assert model.counts_.tolist() == [0, 0, 0]
    assert vars(model.inner_) == {"width_": 3}
