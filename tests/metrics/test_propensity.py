import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from builders import random_labels
from labelwood import OneVsRestSVM, metrics
from labelwood.errors import DataError, ParameterError
from labelwood.metrics import Propensity


def test_the_formula_by_hand() -> None:
    Y = sp.csr_array(np.array([[1, 0]] * 6 + [[0, 0]] * 14, dtype=np.float32))
    C = (np.log(20) - 1) * 2.5**0.55
    expected = [1 / (1 + C * 7.5**-0.55), 1 / (1 + C * 1.5**-0.55)]
    np.testing.assert_allclose(metrics.propensity(Y), expected)


def test_parameters_of_the_model_are_used() -> None:
    C = (np.log(1000) - 1) * 1.4**0.5
    expected = 1 / (1 + C * (30 + 0.4) ** -0.5)
    p = metrics.propensity([30], a=0.5, b=0.4, n_samples=1000)
    assert p.values == pytest.approx([expected])


def test_counts_give_the_same_as_the_labels_they_were_taken_of() -> None:
    Y = random_labels(200, 12)
    counts = np.bincount(Y.indices, minlength=12)
    assert metrics.propensity(Y) == metrics.propensity(counts, n_samples=200)


def test_two_samples_or_fewer_give_one_where_the_formula_would_exceed_it() -> None:
    assert metrics.propensity([[1, 0], [0, 0]]).values.tolist() == [1, 1]


@given(st.lists(st.integers(0, 10**6), min_size=1), st.floats(0, 2), st.floats(0.01, 100))
def test_propensities_lie_in_the_unit_interval_and_rise_with_the_count(
    counts: list[int], a: float, b: float
) -> None:
    p = metrics.propensity(np.sort(counts), a, b, n_samples=10**6)
    assert metrics.check_propensity(p, len(counts)) is p.values
    assert np.all(np.diff(p.values) >= 0)


def test_it_stands_where_an_array_does() -> None:
    p = metrics.propensity([90, 10, 0], n_samples=100)
    np.testing.assert_array_equal(np.asarray(p), p.values)
    assert np.asarray(p, dtype=np.float32).dtype == np.float32
    assert np.array(p).flags.writeable
    assert len(p) == 3
    assert metrics.psp_at_k([[1, 0, 1]], sp.csr_array([[2.0, 1.0, 0.0]]), 1, p) == pytest.approx(
        p.values[2] / p.values[0]
    )


def test_other_constants_keep_the_counts() -> None:
    Y = random_labels(200, 12)
    assert metrics.propensity(Y).with_constants(0.6, 2.6) == metrics.propensity(Y, a=0.6, b=2.6)


def test_propensities_are_equal_when_all_they_were_computed_from_is() -> None:
    p = Propensity(np.array([5, 3]), 10, 0.5, 0.4)
    assert p == Propensity(np.array([5, 3], dtype=np.uint8), 10, 0.5, 0.4)
    others = [([5, 2], 10, 0.5, 0.4), ([5, 3, 0], 10, 0.5, 0.4), ([5, 3], 11, 0.5, 0.4)]
    others += [([5, 3], 10, 0.6, 0.4), ([5, 3], 10, 0.5, 0.5)]
    for counts, *rest in others:
        assert p != Propensity(np.array(counts), *rest)
    assert p != "estimate"


def test_it_cannot_be_changed_and_does_not_follow_the_counts_it_was_made_of() -> None:
    counts = np.array([5, 3])
    p = Propensity(counts, 10)
    counts[0] = 1
    assert p.counts.tolist() == [5, 3]
    for array in (p.counts, p.values):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(AttributeError, match="cannot assign to field 'a'"):
        p.a = 0.5  # type: ignore[misc]


def test_a_copy_of_an_estimator_has_an_equal_one() -> None:
    p = metrics.propensity([5, 3], n_samples=10)
    model = clone(OneVsRestSVM(propensity=p))
    assert model.propensity == p
    assert repr(model) == "OneVsRestSVM(propensity=Propensity(2 labels, 10 samples, a=0.55, b=1.5))"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"Y": np.zeros((0, 3))}, "at least one sample"),
        ({"Y": [[0, 3]]}, "must hold zeros and ones"),
        ({"Y": [[1, 0]], "n_samples": 5}, r"one whole number per label.*shape \(1, 2\) instead"),
        ({"Y": [0.5], "n_samples": 5}, "one whole number per label.*Got an array of float64"),
        ({"Y": [2, -1], "n_samples": 5}, r"Label 1 has the count -1, outside 0…5"),
        ({"Y": [6], "n_samples": 5}, r"Label 0 has the count 6, outside 0…5"),
    ],
)
def test_labels_that_cannot_be_counted_are_refused(
    arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        metrics.propensity(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "value"), [("a", -0.1), ("b", 0), ("b", np.nan), ("n_samples", 0), ("n_samples", 2.5)]
)
def test_parameters_outside_their_range_are_refused(name: str, value: float) -> None:
    with pytest.raises(ParameterError, match=f"'{name}' parameter of Propensity"):
        metrics.propensity(**{"Y": [1], "n_samples": 5} | {name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("p", "message"),
    [
        ([0.5], r"one for each of 2 labels. Got an array of shape \(1,\)"),
        ([[0.5, 0.5]], r"Got an array of shape \(1, 2\)"),
        ([0.5, 0.0], r"must lie in \(0, 1\], from 1e-150 on. Got 0 for label 1"),
        ([0.5, 1e-308], "Got 1e-308 for label 1"),
        ([1.5, 0.5], "Got 1.5 for label 0"),
        ([np.nan, 0.5], "Got nan for label 0"),
        (["a", "b"], "must be numbers. Got list"),
    ],
)
def test_propensities_that_are_none_are_refused(p: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        metrics.check_propensity(p, 2)
