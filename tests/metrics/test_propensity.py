import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from builders import random_labels
from labelwood import metrics
from labelwood.errors import DataError, ParameterError


def test_the_formula_by_hand() -> None:
    Y = sp.csr_array(np.array([[1, 0]] * 6 + [[0, 0]] * 14, dtype=np.float32))
    C = (np.log(20) - 1) * 2.5**0.55
    expected = [1 / (1 + C * 7.5**-0.55), 1 / (1 + C * 1.5**-0.55)]
    np.testing.assert_allclose(metrics.propensity(Y), expected)


def test_parameters_of_the_model_are_used() -> None:
    C = (np.log(1000) - 1) * 1.4**0.5
    expected = 1 / (1 + C * (30 + 0.4) ** -0.5)
    assert metrics.propensity([30], a=0.5, b=0.4, n_points=1000) == pytest.approx([expected])


def test_counts_give_the_same_as_the_labels_they_were_taken_of() -> None:
    Y = random_labels(200, 12)
    counts = np.bincount(Y.indices, minlength=12)
    np.testing.assert_array_equal(metrics.propensity(Y), metrics.propensity(counts, n_points=200))


def test_two_points_or_fewer_give_one_where_the_formula_would_exceed_it() -> None:
    assert metrics.propensity([[1, 0], [0, 0]]).tolist() == [1, 1]


@given(st.lists(st.integers(0, 10**6), min_size=1), st.floats(0, 2), st.floats(0.01, 100))
def test_propensities_lie_in_the_unit_interval_and_rise_with_the_count(
    counts: list[int], a: float, b: float
) -> None:
    p = metrics.propensity(np.sort(counts), a, b, n_points=10**6)
    assert metrics.check_propensity(p, len(counts)) is p
    assert np.all(np.diff(p) >= 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"Y": np.zeros((0, 3))}, "at least one point"),
        ({"Y": [[0, 3]]}, "must hold zeros and ones"),
        ({"Y": [[1, 0]], "n_points": 5}, "one-dimensional array of whole numbers"),
        ({"Y": [0.5], "n_points": 5}, "one-dimensional array of whole numbers"),
        ({"Y": [2, -1], "n_points": 5}, r"Label 1 has the count -1, outside 0…5"),
        ({"Y": [6], "n_points": 5}, r"Label 0 has the count 6, outside 0…5"),
    ],
)
def test_labels_that_cannot_be_counted_are_refused(
    arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        metrics.propensity(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "value"), [("a", -0.1), ("b", 0), ("b", np.nan), ("n_points", 0), ("n_points", 2.5)]
)
def test_parameters_outside_their_range_are_refused(name: str, value: float) -> None:
    with pytest.raises(ParameterError, match=f"'{name}' parameter of propensity"):
        metrics.propensity(**{"Y": [1], "n_points": 5} | {name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("p", "message"),
    [
        ([0.5], r"one for each of 2 labels. Got an array of shape \(1,\)"),
        ([[0.5, 0.5]], r"Got an array of shape \(1, 2\)"),
        ([0.5, 0.0], r"must lie in \(0, 1\]. Got 0 for label 1"),
        ([1.5, 0.5], "Got 1.5 for label 0"),
        ([np.nan, 0.5], "Got nan for label 0"),
        (["a", "b"], "must be numbers. Got list"),
    ],
)
def test_propensities_that_are_none_are_refused(p: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        metrics.check_propensity(p, 2)
