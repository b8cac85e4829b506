"""Which columns hold ids, and which are left to be labels of 0 and 1."""

import pandas as pd
import pyarrow
import pytest
from pyarrow import parquet

from labelwood.data.frames import guess_columns
from labelwood.data.load import load_dataset
from labelwood.data.readers.usual_names import Columns

NUMBERED = {"text": ["a", "b"], "nr": [0, 1], "a": [1, 0], "b": [0, 1]}


@pytest.fixture
def stored(tmp_path):
    """The columns as CSV and as Parquet."""

    def store(columns):
        csv, binary = tmp_path / "a.csv", tmp_path / "a.parquet"
        pd.DataFrame(columns).to_csv(csv, index=False)
        parquet.write_table(pyarrow.table(columns), binary)
        return [csv, binary]

    return store


@pytest.mark.parametrize("n_rows", [1, 2])
def test_a_column_that_counts_the_samples_is_no_label_in_a_small_table(stored, n_rows):
    columns = {name: values[:n_rows] for name, values in NUMBERED.items()}
    for file in stored(columns):
        data = load_dataset(file)
        assert (data.label_columns, data.ids) == (["a", "b"], ["0", "1"][:n_rows])
    assert guess_columns(pd.DataFrame(columns), None, None) == (["text"], ["a", "b"])


def test_a_column_that_counts_is_no_sign_of_labels_in_others(stored):
    for file in stored({"text": ["a"], "nr": [1], "a": [0], "b": [0]}):
        assert load_dataset(file).label_columns is None


def test_zeros_and_ones_that_repeat_are_no_ids(stored):
    columns = {"text": ["a", "b", "c"], "no": [1, 0, 0], "maybe": [0, 1, 1]}
    for file in stored(columns):
        data = load_dataset(file)
        assert (data.label_columns, data.ids) == (["no", "maybe"], None)
    assert guess_columns(pd.DataFrame(columns), None, None) == (["text"], ["no", "maybe"])


def test_the_answer_no_is_a_label_beside_yes_and_where_it_is_no_number(stored):
    for columns in (
        {"text": ["a", "b"], "yes": [1, 0], "no": [0, 1]},
        {"text": ["a", "b"], "no": [True, False], "maybe": [False, True]},
    ):
        names = list(columns)[1:]
        for file in stored(columns):
            assert load_dataset(file).label_columns == names
        assert guess_columns(pd.DataFrame(columns), None, None) == (["text"], names)


def test_a_column_called_none_may_be_a_label(stored):
    columns = {"text": ["a", "b"], "some": [1, 0], "None": [0, 1]}
    for file in stored(columns):
        assert load_dataset(file).label_columns == ["some", "None"]
    assert guess_columns(pd.DataFrame(columns), None, None) == (["text"], ["some", "None"])


def test_guessed_ids_that_are_dropped_are_remarked(stored):
    for file in stored({"text": ["a", "b"], "nr": [5, 5]}):
        data = load_dataset(file, ignore_labels=True)
        assert data.ids is None
        assert "no ids from 'nr', as values repeat" in data.description


@pytest.mark.parametrize(
    ("columns", "ids", "kept"),
    [
        (Columns(("text",), id="nr", id_remark="ids"), ["5", "5"], "values repeat"),
        (Columns(("text",), id="uid", id_remark="ids"), ["5", None], "1 sample has none"),
        (Columns(("text",), id="uid", id_remark="ids"), [None, "5", None], "2 samples have none"),
        (Columns(("text",), id="no", id_remark="ids"), ["yes", "-"], "values are no numbers"),
    ],
)
def test_a_remark_says_why_guessed_ids_are_none(columns, ids, kept):
    remedy = "(rows are numbered from 0; name one by id_column)"
    assert columns.kept_ids(ids) == (None, f"no ids from {columns.id!r}, as {kept} {remedy}")
    assert columns.kept_ids(ids, [columns.id]) == (None, "")
