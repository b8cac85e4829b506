"""XMC repository text."""

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from builders import random_csr, random_labels
from labelwood.data.dataset import Dataset
from labelwood.data.load import load_dataset, save_dataset
from labelwood.errors import DataError

points = st.tuples(
    st.lists(st.integers(0, 4), max_size=5),
    st.lists(st.tuples(st.integers(0, 6), st.integers(-99, 99)), max_size=6),
)


def as_line(labels, features):
    pairs = "".join(f" {index}:{value / 8}" for index, value in features)
    return ",".join(map(str, labels)) + pairs


@settings(deadline=None)
@given(st.lists(points, min_size=1, max_size=6), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_every_line_is_a_point_with_its_labels_and_summed_features(
    tmp_path_factory, rows, end, ends_last_line
):
    X, Y = np.zeros((len(rows), 7)), np.zeros((len(rows), 5))
    for row, (labels, features) in enumerate(rows):
        Y[row, labels] = 1
        for index, value in features:
            X[row, index] += value / 8
    lines = [f"{len(rows)} 7 5", *(as_line(*row) for row in rows)]
    last = end if ends_last_line or lines[-1] == "" else ""
    path = tmp_path_factory.mktemp("xmc") / "a.txt"
    path.write_bytes((end.join(lines) + last).encode())

    data = load_dataset(path)

    np.testing.assert_array_equal(data.X.toarray(), X)
    np.testing.assert_array_equal(data.Y.toarray(), Y)
    assert data.X.has_canonical_format
    for matrix in (data.X, data.Y):
        assert (matrix.dtype, matrix.indices.dtype) == (np.float32, np.int32)


@pytest.mark.parametrize(
    ("content", "labels", "features"),
    [
        pytest.param("1 3 2\n 1:2\n", [[]], [[0, 2, 0]], id="no labels"),
        pytest.param("1 3 2\n1:2\n", [[]], [[0, 2, 0]], id="no labels and no blank"),
        pytest.param("2 3 2\n\n1 0:1\n", [[], [1]], [[0, 0, 0], [1, 0, 0]], id="blank line"),
        pytest.param("1 3 2\n1\n", [[1]], [[0, 0, 0]], id="no features"),
        pytest.param("1 3 2\n1,0,1 0:1\n", [[0, 1]], [[1, 0, 0]], id="label twice"),
        pytest.param("1 3 2\n0 2:1 0:1 2:3\n", [[0]], [[1, 0, 4]], id="unsorted, summed"),
        pytest.param("1 3 2\r\n0 2:1\r\n", [[0]], [[0, 0, 1]], id="CR LF"),
        pytest.param("\ufeff1 3 2\n0 2:1\n", [[0]], [[0, 0, 1]], id="byte order mark"),
        pytest.param("1 3 2\n0 2:1", [[0]], [[0, 0, 1]], id="no last line feed"),
        pytest.param("1 3 2\n0\t1:1   2:1  \t\n", [[0]], [[0, 1, 1]], id="tabs, blanks"),
        pytest.param("1 3 2\n0 1:+1e1 02:.5\n", [[0]], [[0, 10, 0.5]], id="spellings"),
    ],
)
def test_legal_lines(write, content, labels, features):
    data = load_dataset(write("a.txt", content))
    assert data.label_lists() == [[str(label) for label in row] for row in labels]
    assert data.X.toarray().tolist() == features


@pytest.mark.parametrize("content", ["0 3 2\n", "0 3 2", "0 3 2\r\n"])
def test_a_header_of_no_points_gives_no_points(write, content):
    data = load_dataset(write("a.txt", content))
    assert (data.X.shape, data.Y.shape) == ((0, 3), (0, 2))
    assert repr(data).startswith("Dataset('a.txt (XMC text)': 0 samples, 3 features")


@pytest.mark.parametrize("content", ["1 3 2\n", "1 3 2"])
def test_a_header_without_its_points_is_an_error(write, content):
    with pytest.raises(DataError, match="line 1: the header says 1 points, but 0 lines follow it"):
        load_dataset(write("a.txt", content))


def test_a_stored_zero_stays_an_entry(write):
    assert load_dataset(write("a.txt", "1 3 2\n0 1:0\n")).X.nnz == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x\n", r"line 1: found 'x' where the header 'points features labels' is expected"),
        ("1 3\n0 1:1\n", r"line 1: found '1 3' where the header"),
        ("-1 3 2\n0 1:1\n", r"line 1: found '-1 3 2' where the header"),
        ("3 3 2\n0 1:1\n1 1:1\n", r"line 1: the header says 3 points, but 2 lines follow it"),
        ("1 3 2\n0 1:1\n1 1:1\n", r"line 1: the header says 1 points, but 2 lines follow it"),
        ("1 3 2\n0 1:1\n\n", r"line 1: the header says 1 points, but 2 lines follow it"),
        (f"{10**12} 3 2\n0 1:1\n", r"the header says 1000000000000 points, but 1 lines follow"),
        (f"{10**30} 3 2\n0 1:1\n", r"line 1: found '10+ 3 2' where the header"),
        (f"1 {10**12} 2\n0 1:1\n", r"line 1: the header asks for more than 2147483647 features"),
        (
            "2 3 2\n0 0:1\n0 1:1 7:1\n",
            r"line 3: found '7:1', but the header allows features 0 to 2",
        ),
        ("1 3 2\n0,5 0:1\n", r"line 2: found '5', but the header allows labels 0 to 1"),
        ("1 0 2\n0 0:1\n", r"line 2: found '0:1', but the header says that there are no features"),
        ("1 3 0\n0 0:1\n", r"line 2: found '0', but the header says that there are no labels"),
        ("1 3 2\n0 -1:1\n", r"found '-1:1' where a pair feature:value \(feature ≥ 0\) is expected"),
        ("1 3 2\n-1 1:1\n", r"line 2: found '-1' where label numbers ≥ 0 separated by commas"),
        ("1 3 2\ncat 1:1\n", r"line 2: found 'cat' where label numbers ≥ 0 separated by commas"),
        ("1 3 2\n0, 1:1\n", r"line 2: found nothing where label numbers"),
        ("1 3 2\n0 1\n", r"line 2: found '1' where a pair feature:value"),
        ("1 3 2\n0 1:\n", r"line 2: found nothing where a number is expected"),
        ("1 3 2\n0 1:one\n", r"line 2: found 'one' where a number is expected"),
        ("1 3 2\n0 1:1 # note\n", r"line 2: found '#' where a pair"),
        ("1 3 2\n0 1:nan\n", r"line 2: found 'nan', which is not a finite 32-bit number; remove"),
        ("1 3 2\n0 1:-Inf\n", r"line 2: found '-Inf', which is not a finite 32-bit number"),
        ("1 3 2\n0 1:1e39\n", r"line 2: found '1e39', which is not a finite 32-bit number"),
        ("1 3 2\n0 1:1e999\n", r"line 2: found '1e999', which is not a finite 32-bit number"),
        ("1 3 2\n0 1:3e38 1:3e38\n", r"line 2: the value of feature 1 is too large"),
        ("1 3 2\n0 2147483648:1\n", r"line 2: found '2147483648:1', but the header allows"),
        (f"1 3 2\n0 {'9' * 50}:1\n", r"line 2: found '9{40}…', but the header allows"),
        (f"1 3 2\n{'9' * 50} 1:1\n", r"line 2: found '9{40}…', but the header allows labels"),
        ("1 3 2\n0 1:1\r0 2:1\n", r"line 2: found a carriage return inside the line"),
        (b"1 3 2\n0 1:1\xe9\n", r"line 2: found '1\\\\xe9' where a number is expected"),
        (b"1 3 2\n0 1:1\0 2:1\n", r"line 2: found '1\\x00' where a number is expected"),
    ],
)
def test_bad_lines_are_errors_that_say_what_and_where(write, content, message):
    with pytest.raises(DataError, match=message) as error:
        load_dataset(write("a.txt", content), format="xmc")
    assert "a.txt, line " in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("line", ["0 3:1 1:1", "2 1:1", "1,2 3:1 2:4"])
def test_a_file_counted_from_one_is_an_error_with_the_remedy(write, line):
    path = write("a.txt", f"1 3 2\n{line}\n")
    if line.startswith("0"):
        with pytest.raises(DataError, match=r"allows features 0 to 2$"):
            load_dataset(path)
    else:
        with pytest.raises(DataError, match="would be in range: try one_based=True"):
            load_dataset(path)


def test_a_file_counted_from_one_is_read_with_one_based(write):
    data = load_dataset(write("a.txt", "1 3 2\n1,2 3:1 1:4\n"), one_based=True)
    assert data.X.toarray().tolist() == [[4, 0, 1]]
    assert data.Y.toarray().tolist() == [[1, 1]]


@pytest.mark.parametrize("line", ["0 1:1", "1 0:1"])
def test_a_zero_is_out_of_range_when_counted_from_one(write, line):
    with pytest.raises(DataError, match=r"found '0(:1)?', but the header allows \w+ 1 to"):
        load_dataset(write("a.txt", f"1 3 2\n{line}\n"), one_based=True)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"label_names": ["a"]}, "the header says 2 labels, but 1 label_names are given"),
        ({"feature_names": list("abcd")}, "the header says 3 features, but 4 feature_names are"),
    ],
)
def test_names_must_be_as_many_as_the_header_says(write, option, message):
    with pytest.raises(DataError, match=message):
        load_dataset(write("a.txt", "1 3 2\n0 1:1\n"), **option)


def test_writing_and_reading_gives_the_same_arrays(tmp_path):
    X = random_csr(200, 50)
    X.data[:] = np.random.default_rng(0).integers(0, 0x7F7FFFFF, X.nnz, np.uint32).view(np.float32)
    data = Dataset(X, random_labels(200, 20))
    save_dataset(data, tmp_path / "a.txt")
    again = load_dataset(tmp_path / "a.txt")
    for one, other in ((again.X, data.X), (again.Y, data.Y)):
        assert one.shape == other.shape
        np.testing.assert_array_equal(one.indptr, other.indptr)
        np.testing.assert_array_equal(one.indices, other.indices)
        assert one.data.tobytes() == other.data.tobytes()


def test_names_are_written_beside_the_file(tmp_path):
    data = Dataset(
        random_csr(4, 2), random_labels(4, 2), label_names=["a b", "é"], feature_names=["x", "y"]
    )
    save_dataset(data, tmp_path / "a.txt.xz")
    again = load_dataset(
        tmp_path / "a.txt.xz",
        label_names=tmp_path / "a.labels.txt",
        feature_names=tmp_path / "a.features.txt",
    )
    assert (again.label_names, again.feature_names) == (("a b", "é"), ("x", "y"))


def test_a_name_of_blanks_is_not_written(tmp_path):
    data = Dataset(random_csr(4, 2), random_labels(4, 1), label_names=[" "])
    with pytest.raises(DataError, match="does not fit on a line of its own"):
        save_dataset(data, tmp_path / "a.txt")


def test_texts_alone_cannot_be_written(tmp_path):
    data = Dataset(None, random_labels(1, 1), texts=["a"])
    with pytest.raises(DataError, match="vectorize them first, or write JSONL"):
        save_dataset(data, tmp_path / "a.txt")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.shared
def test_real_data_agree_with_scikit_learn(shared_data):
    from labelwood.core.io import read_source

    path = shared_data / "reuters21578" / "train.txt.xz"
    data = load_dataset(path, label_names=shared_data / "reuters21578" / "labels.txt")
    body = bytes(read_source(path).data).partition(b"\n")[2]
    X, labels = load_svmlight_file(
        io.BytesIO(body), multilabel=True, zero_based=True, n_features=13898, dtype=np.float32
    )
    assert (data.X != X).nnz == 0
    names = [[data.label_names[int(label)] for label in row] for row in labels]
    assert [sorted(row) for row in data.label_lists()] == [sorted(row) for row in names]


def test_claims_of_labels_that_are_never_used_are_refused(write):
    with pytest.raises(DataError, match="line 1: there are said to be 2,147,483,647 labels, but"):
        load_dataset(write("a.txt", "1 3 2147483647\n0 1:1\n"))


def names_beside(tmp_path):
    data = Dataset(random_csr(4, 2), random_labels(4, 1), label_names=["owl"])
    return data, tmp_path / "a.txt", tmp_path / "a.labels.txt"


def test_names_of_others_beside_the_file_are_not_replaced(tmp_path):
    data, path, names = names_beside(tmp_path)
    names.write_text("years of work\n")
    with pytest.raises(DataError, match=r"a\.labels\.txt is there already and holds other names"):
        save_dataset(data, path)
    assert [one.name for one in tmp_path.iterdir()] == ["a.labels.txt"]
    save_dataset(data, path, overwrite=True)
    save_dataset(data, path)  # with the same names
    assert names.read_text() == "owl\n"


def test_a_failed_write_leaves_no_names(tmp_path, monkeypatch):
    data, path, _ = names_beside(tmp_path)

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("labelwood.data.readers.xmc.write", fail)
    with pytest.raises(DataError, match="cannot be written: No space left on device"):
        save_dataset(data, path)
    assert list(tmp_path.iterdir()) == []
