import datetime

import numpy as np
import pytest

from labelwood import CategoricalHMM, GaussianHMM
from labelwood.errors import DataError

pd = pytest.importorskip("pandas")

VALUES = np.random.default_rng(0).normal(size=30)
DAYS = pd.date_range("2020-01-01", periods=30)


@pytest.mark.parametrize(
    ("days", "first"),
    [
        (DAYS, "2020-01-01T00"),
        (DAYS.tz_localize("UTC"), "2020-01-01 00"),
        (DAYS.to_period("D"), "2020-01-01"),
        ([one.date() for one in DAYS], "2020-01-01"),
        (DAYS - DAYS[0], "0"),
        (DAYS - DAYS[0] + datetime.timedelta(1), r"8640000*|1 days"),
    ],
)
@pytest.mark.parametrize("alone", [True, False])
def test_a_column_of_times_is_refused_by_its_name(days, first, alone):
    frame = pd.DataFrame({"day": days} if alone else {"x": VALUES, "day": days})
    message = rf"column 'day' of X holds times \(the first is ({first}).*\): drop the column, or nu"
    with pytest.raises(DataError, match=message):
        GaussianHMM(2).fit(frame)


@pytest.mark.parametrize("table", ["polars", "pyarrow"])
def test_times_of_other_tables_are_no_numbers(table):
    library = pytest.importorskip(table)
    columns = {"day": DAYS.to_pydatetime().tolist(), "x": VALUES}
    frame = library.DataFrame(columns) if table == "polars" else library.table(columns)
    with pytest.raises(DataError, match="column 'day' of X holds times"):
        GaussianHMM(2).fit(frame)


def test_an_array_of_times_is_refused():
    with pytest.raises(DataError, match=r"^X holds times \(the first is 2020-01-01T00"):
        GaussianHMM(2).fit(DAYS.to_numpy().reshape(-1, 1))


def test_other_values_that_are_no_numbers_are_refused():
    frame = pd.DataFrame({"x": VALUES, "y": [{"a": 1}] * 30})
    with pytest.raises(DataError, match=r"must be a string or a real number, not 'dict'.*must h"):
        GaussianHMM(2).fit(frame)


@pytest.mark.parametrize("names", [[0, 1], [("a", 1), ("a", 2)]])
def test_tables_with_any_names_are_fitted(names):
    frame = pd.DataFrame(np.column_stack([VALUES, VALUES[::-1]]), columns=names)
    assert GaussianHMM(2, random_state=0).fit(frame).means_.shape == (2, 2)


@pytest.mark.parametrize(
    "X",
    [
        [VALUES[:10].reshape(-1, 1), VALUES[10:].reshape(-1, 1)],
        [VALUES[:15].reshape(-1, 1), VALUES[15:].reshape(-1, 1)],
        VALUES.reshape(2, 15, 1),
        [[[0.5], [1.5]], [[0.1], [2.5], [3.5]]],
        [pd.DataFrame({"x": VALUES[:10]}), pd.DataFrame({"x": VALUES[10:]})],
    ],
)
def test_a_list_of_sequences_is_refused_with_the_way_to_give_them(X):
    message = (
        r"X holds 2 sequences; put them one below the other: give numpy\.concatenate\(X\) with "
        r"lengths=\[len\(one\) for one in X\]$"
    )
    with pytest.raises(DataError, match=message):
        GaussianHMM(2).fit(X)
    lengths = [len(one) for one in X]
    GaussianHMM(2, random_state=0).fit(np.concatenate(X), lengths=lengths)


@pytest.mark.parametrize("X", [[[1.0, 2.0], 3.0], [[[1.0], [2.0, 3.0]], [[1.0]]]])
def test_lists_of_other_shapes_are_refused(X):
    with pytest.raises(DataError, match=r"inhomogeneous|holds 2 sequences"):
        GaussianHMM(2).fit(X)


def test_sequences_of_one_feature_are_reshaped_too():
    message = (
        r"X holds 2 rows of 3 and 2 values; if they are sequences of one feature, give "
        r"numpy\.concatenate\(X\)\.reshape\(-1, 1\) with lengths=\[len\(one\) for one in X\]$"
    )
    for X in ([[0, 1, 0], [1, 0]], [np.array([0, 1, 0]), np.array([1, 0])]):
        with pytest.raises(DataError, match=message):
            CategoricalHMM(2).fit(X)
