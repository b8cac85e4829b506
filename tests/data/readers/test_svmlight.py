"""svmlight."""

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from labelwood.data.load import load_dataset
from labelwood.errors import DataError

points = st.tuples(
    st.lists(st.integers(-3, 12), min_size=1, max_size=3, unique=True),
    st.lists(
        st.tuples(st.integers(1, 9), st.integers(-99, 99)), max_size=5, unique_by=lambda f: f[0]
    ),
)


@settings(deadline=None)
@given(st.lists(points, min_size=1, max_size=6))
def test_labels_and_features_agree_with_scikit_learn(tmp_path_factory, rows):
    lines = [
        ",".join(map(str, labels)) + "".join(f" {i}:{v / 4}" for i, v in sorted(features))
        for labels, features in [*rows, ([0], [(9, 1)])]
    ]
    path = tmp_path_factory.mktemp("svm") / "a.svm"
    path.write_text("\n".join(lines))
    X, labels = load_svmlight_file(
        io.BytesIO(path.read_bytes()), multilabel=True, zero_based=False, n_features=9
    )

    data = load_dataset(path)

    np.testing.assert_array_equal(data.X.toarray(), X.toarray())
    assert [set(map(float, row)) for row in data.label_lists()] == [set(row) for row in labels]
    assert list(data.label_names) == sorted(data.label_names, key=int)


@pytest.mark.parametrize(
    ("content", "names", "lists"),
    [
        ("+1 1:1\n-1 1:1\n1 1:1\n", ("-1", "1"), [["1"], ["-1"], ["1"]]),
        ("10,9 1:1\n", ("9", "10"), [["9", "10"]]),
        ("owl,cat 1:1\n7 1:1\n", ("7", "cat", "owl"), [["cat", "owl"], ["7"]]),
        ("1.5 1:1\n007,7,é 1:1\n", ("7", "007", "1.5", "é"), [["1.5"], ["7", "007", "é"]]),
        ("99999999999 1:1\n", ("99999999999",), [["99999999999"]]),
        ("cat,cat 1:1\n", ("cat",), [["cat"]]),
        (" 1:1\n1:1\n", (), [[], []]),
        ("cat\n", ("cat",), [["cat"]]),
    ],
)
def test_labels_are_names_numbers_first(write, content, names, lists):
    data = load_dataset(write("a.svm", content))
    assert (data.label_names, data.label_lists()) == (names, lists)


@pytest.mark.parametrize(
    ("content", "features"),
    [
        pytest.param("1 1:2 3:4\n", [[2, 0, 4]], id="from one"),
        pytest.param("1 3:1 1:2 3:1\n", [[2, 0, 2]], id="unsorted, summed"),
        pytest.param("# head\n\n1 1:1 # tail 9:9\n  \t\n# end", [[1]], id="comments, blank lines"),
        pytest.param("1 1:1#tail\r\n\r\n1 qid:3 1:2\r\n", [[1], [2]], id="CR LF, qid"),
        pytest.param("  +1\t1:1\n", [[1]], id="leading blanks"),
        pytest.param("\ufeff1 1:1", [[1]], id="byte order mark"),
    ],
)
def test_legal_lines(write, content, features):
    assert load_dataset(write("a.svm", content)).X.toarray().tolist() == features


@pytest.mark.parametrize(
    ("one_based", "features", "first"),
    [(True, [[0, 1]], 1), (False, [[0, 0, 1]], 0), (None, [[0, 1]], 1)],
)
def test_features_count_from_one_unless_told_otherwise(write, one_based, features, first):
    data = load_dataset(write("a.svm", "1 2:1\n"), one_based=one_based)
    assert data.X.toarray().tolist() == features
    assert data.description == f"a.svm (svmlight, features from {first})"


def test_a_feature_zero_is_an_error_that_names_the_remedy(write):
    path = write("a.svm", "1 1:1\n1 0:2 3:4\n")
    with pytest.raises(
        DataError, match=r"line 2: found '0:2', but features count from 1; .* one_based=False$"
    ):
        load_dataset(path)
    assert load_dataset(path, one_based=False).X.toarray().tolist() == [[0, 1, 0, 0], [2, 0, 0, 4]]


def test_the_number_of_features_can_be_given(write):
    path = write("a.svm", "1 2:1\n")
    assert load_dataset(path, n_features=5).X.shape == (1, 5)
    assert load_dataset(path, feature_names=["a", "b"]).feature_names == ("a", "b")


def test_given_label_names_set_the_columns(write):
    data = load_dataset(write("a.svm", "b 1:1\n"), label_names=["c", "b", "a"])
    assert data.Y.toarray().tolist() == [[0, 1, 0]]


def test_only_comments_give_no_points(write):
    assert len(load_dataset(write("a.svm", "# nothing\n"))) == 0


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("1 0:1\n", {"one_based": True}, r"line 1: found '0:1', but features count from 1"),
        ("1 1:1\n\n1 9:1\n", {"n_features": 3}, r"line 3: feature column 8 \(from 0\) is outside"),
        (
            "1 1:1\n#\nx 1:1\n",
            {"label_names": ["1"]},
            r"line 3: found label 'x', which is not among",
        ),
        ("1 1:1\n1 x:1\n", {}, r"line 2: found 'x:1' where a pair feature:value"),
        ("1 1:1\n1 2147483648:1\n", {}, r"line 2: found '2147483648:1', .* 1 to 2147483647$"),
        (f"1 {'9' * 30}:1\n", {}, r"line 1: found '9{30}:1', but .* 1 to 2147483647$"),
        ("1 2147483647:1\n", {"one_based": False}, r"line 1: .* 0 to 2147483646$"),
        ("1 1:1\n1 -2:1\n", {}, r"line 2: found '-2:1' where a pair"),
        ("1 1:1 2\n", {}, r"line 1: found '2' where a pair"),
        ("1, 1:1\n", {}, r"line 1: found nothing where labels separated by commas are expected"),
        ("a:b 1:1\n", {}, r"line 1: found 'a:b' where a pair"),
        ("a,b:1\n", {}, r"line 1: found 'b:1' where labels"),
        ("1 1:nan\n", {}, r"line 1: found 'nan', which is not a finite"),
        ("1 1:infinity\n", {}, r"line 1: found 'infinity', which is not a finite"),
        ("1 1:1\r2 1:1\n", {}, r"line 1: found a carriage return inside the line"),
        (b"ok 1:1\n\xe9t\xe9 1:1\n", {}, r"line 2: byte 0xe9 at position 1 is not UTF-8"),
        (b"ok 1:1\na\0b 1:1\n", {}, r"line 2: found 'a\\x00b' where labels"),
        ("\n1 1:3e38 1:3e38\n", {}, r"line 2: the value of feature 0 is too large"),
    ],
)
def test_bad_lines_are_errors_that_say_what_and_where(write, content, options, message):
    with pytest.raises(DataError, match=message) as error:
        load_dataset(write("a.svm", content), **options)
    assert "a.svm, line " in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.shared
def test_real_data_agree_with_scikit_learn(shared_data):
    from labelwood.core.io import read_source

    path = shared_data / "binary" / "a9a.test.svm.xz"
    X, y = load_svmlight_file(io.BytesIO(bytes(read_source(path).data)), n_features=123)
    data = load_dataset(path, n_features=123)
    assert (data.X != X).nnz == 0
    assert data.label_names == ("-1", "1")
    np.testing.assert_array_equal(data.Y.toarray().argmax(axis=1), y > 0)
