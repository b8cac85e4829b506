"""Parquet."""

import sys

import pytest

from labelwood.data.dataset import Dataset
from labelwood.data.load import load_dataset, save_dataset
from labelwood.errors import DataError, MissingExtraError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ROWS = {
    "id": [3, 4, 5],
    "text": ["An owl.", "", "é"],
    "labels": [["owl", "bird"], [], None],
    "size": [1.0, 2.0, 3.0],
}


@pytest.fixture
def write_table(tmp_path):
    def write(**columns):
        path = tmp_path / "a.parquet"
        pq.write_table(pa.table(columns), path)
        return path

    return write


def test_texts_labels_and_ids_are_read(write_table):
    data = load_dataset(write_table(**ROWS))
    assert data.texts == ["An owl.", "", "é"]
    assert data.ids == ["3", "4", "5"]
    assert data.label_lists() == [["bird", "owl"], [], []]


def test_columns_can_be_named(write_table):
    path = write_table(title=["T"], body=["B"], tags=[["x"]], key=["k"])
    data = load_dataset(path, text_column="title,body", label_column="tags", id_column="key")
    assert (data.texts, data.label_names, data.ids) == (["T\nB"], ["x"], ["k"])


def test_labels_and_ids_may_be_missing(write_table):
    data = load_dataset(write_table(text=["a"]))
    assert (data.texts, data.ids, data.Y.shape) == (["a"], None, (1, 0))


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"name": ["a"]}, {}, r": found the columns 'name', but no 'text'; name the right ones by"),
        ({"text": ["a"]}, {"label_column": "tags"}, r": found the columns 'text', but no 'tags'"),
        ({"text": ["a", None]}, {}, r", row 2: column 'text' must hold text .*Got None instead"),
        ({"text": [1]}, {}, r", row 1: column 'text' must hold text. Got 1 instead"),
        (
            {"text": ["a"], "labels": [3.5]},
            {},
            r", row 1: column 'labels' must hold lists of strings. Got",
        ),
        (
            {"text": ["a"], "labels": [["x", None]]},
            {},
            r", row 1: column 'labels' must hold lists of strings",
        ),
        ({"text": ["a"], "labels": [[""]]}, {}, r", row 1: found a label with an empty name"),
    ],
)
def test_bad_columns_are_errors_that_say_what_and_where(write_table, columns, options, message):
    with pytest.raises(DataError, match=rf"a\.parquet{message}"):
        load_dataset(write_table(**columns), **options)


@pytest.mark.parametrize("twice", ["text", "labels", "size"])
def test_a_column_name_that_comes_twice_is_an_error(tmp_path, twice):
    names = ["text", "labels", "size", twice]
    columns = [["a"], [["x"]], [1.0], ["b"]]
    pq.write_table(pa.table(list(map(pa.array, columns)), names=names), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=rf"a\.parquet: the column '{twice}' comes twice$"):
        load_dataset(tmp_path / "a.parquet")


def test_a_damaged_file_is_an_error(write_table):
    path = write_table(**ROWS)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match=r"a\.parquet: not a valid Parquet file \("):
        load_dataset(path)


def test_text_that_is_not_utf8_is_an_error(write_table):
    column = pa.array([b"\xff"]).cast(pa.binary()).view(pa.string())
    with pytest.raises(DataError, match=r"a\.parquet: not a valid Parquet file \("):
        load_dataset(write_table(text=column))


def test_without_the_extra_the_error_names_it(write_table, monkeypatch):
    path = write_table(**ROWS)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'labelwood\[parquet\]'"):
        load_dataset(path)


def test_a_file_that_asks_for_more_memory_than_there_is_is_refused(write_table, monkeypatch):
    def read(*_args, **_options):
        raise pa.ArrowMemoryError("malloc of size 17179869184 failed")

    path = write_table(**ROWS)
    monkeypatch.setattr(pq.ParquetFile, "read", read)
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", read)
    with pytest.raises(DataError, match=r"not a valid Parquet file.*malloc of size 17179869184"):
        load_dataset(path)


def test_labels_may_be_strings_or_columns_of_zeros_and_ones(write_table):
    data = load_dataset(write_table(body=["a", "b"], tags=["x|y", None]))
    assert data.label_lists() == [["x", "y"], []]
    assert "text from 'body', labels from 'tags', labels separated by '|'" in data.description
    path = write_table(text=["a", "b"], owl=[1, 0], cat=[True, False], size=[2.5, 1.0])
    assert load_dataset(path).label_lists() == [["cat", "owl"], []]
    with pytest.raises(DataError, match=r"row 1: found '2\.5' in 'size', where 0 or 1 is expected"):
        load_dataset(path, label_column="owl,size")


def test_what_is_written_is_read_back(tmp_path):
    data = Dataset.from_lists(["An owl.", "é"], [["owl", "bird"], []], ids=["3", "x"])
    save_dataset(data, tmp_path / "b.parquet")
    again = load_dataset(tmp_path / "b.parquet")
    assert (again.texts, again.ids) == (data.texts, data.ids)
    assert again.label_lists() == data.label_lists()


def test_a_guessed_column_that_holds_no_ids_is_left_alone(write_table):
    path = write_table(text=["a", "b"], labels=[["x"], ["y"]], number=[1.5, 2.5])
    assert load_dataset(path).ids is None
    with pytest.raises(DataError, match=r"column 'number' must hold text. Got 1.5 instead"):
        load_dataset(path, id_column="number")


def test_a_column_of_0_and_1_that_is_called_as_ids_are_is_a_label(write_table):
    path = write_table(text=["a", "b"], yes=[1, 0], no=[0, 1])
    data = load_dataset(path)
    assert (data.ids, data.label_names) == (None, ["no", "yes"])


def test_the_number_of_a_class_is_a_label(write_table):
    whole = load_dataset(write_table(text=["a", "b"], label=[0, 12]))
    assert whole.label_lists() == [["0"], ["12"]]
    decimal = load_dataset(write_table(text=["a", "b", "c"], label=[0.0, 12.0, None]))
    assert decimal.label_lists() == [["0"], ["12"], []]


@pytest.mark.parametrize("options", [{}, {"label_column": "owl,cat"}])
def test_missing_values_of_columns_of_0_and_1_are_remarked(write_table, options):
    path = write_table(text=["a", "b", "c"], owl=[1.0, float("nan"), 0.0], cat=[0, None, 1])
    data = load_dataset(path, **options)
    assert data.label_lists() == [["owl"], [], ["cat"]]
    assert "2 missing cells count as 0" in data.description


def test_columns_of_other_numbers_are_refused_with_a_remedy(write_table):
    path = write_table(text=["a", "b"], owl=[0.9, 0.1], cat=[0.1, 0.9])
    with pytest.raises(DataError, match=r"row 1: found '0\.9' in 'owl', where .*; write 1 for the"):
        load_dataset(path, label_column="owl..cat")


def test_one_column_of_0_and_1_is_remarked(write_table):
    data = load_dataset(write_table(text=["a", "b"], spam=[0, 1]), label_column="spam")
    assert data.label_names == ["0", "1"]
    assert "'0', '1' are names of labels; if 'spam' is the label" in data.description
