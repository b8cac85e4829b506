"""`Dataset`: what it takes, what it refuses, and what it tells of itself."""

import numpy as np
import pytest
import scipy.sparse as sp

from builders import random_csr, random_labels
from labelwood.data.dataset import Dataset
from labelwood.data.taxonomy.taxonomy import Taxonomy
from labelwood.errors import DataError


def test_checked_arrays_are_taken_without_a_copy():
    X, Y = random_csr(20, 5, density=0.5), random_labels(20, 4)

    data = Dataset(X, Y)

    for taken, given in ((data.X, X), (data.Y, Y)):
        for part in ("data", "indices", "indptr"):
            assert np.shares_memory(getattr(taken, part), getattr(given, part))


def test_dense_arrays_and_lists_become_sparse():
    data = Dataset([[0, 0.5], [2, 0]], np.array([[True, False], [True, True]]))

    for matrix, expected in ((data.X, [[0, 0.5], [2, 0]]), (data.Y, [[1, 0], [1, 1]])):
        assert isinstance(matrix, sp.csr_array)
        assert matrix.dtype == np.float32
        np.testing.assert_array_equal(matrix.toarray(), expected)


def test_stored_zeros_are_no_labels_and_a_double_label_counts_once():
    Y = sp.csr_array(([0.0, 1.0, 1.0, 1.0], [0, 1, 2, 2], [0, 2, 4]), shape=(2, 3))

    data = Dataset(random_csr(2, 2), Y)

    assert data.label_lists() == [["1"], ["2"]]
    assert data.Y.nnz == 2
    assert Y.nnz == 4


def test_features_given_twice_or_unsorted_are_summed_and_sorted():
    X = sp.csr_array(([1.0, 2.0, 3.0], [2, 0, 2], [0, 3]), shape=(1, 3))

    data = Dataset(X, [[1]])

    assert data.X.has_canonical_format
    assert data.X.toarray().tolist() == [[2, 0, 4]]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X": None}, r"needs features \(X\) or texts"),
        ({"X": [[np.nan, 1.0]]}, r"X contains NaN \(row 0, column 0\)"),
        ({"X": [1.0, 2.0]}, r"X must have two dimensions"),
        ({"Y": [[2, 0, 1]]}, r"Y must hold zeros and ones\. Got .*2.* in row 0, label 0"),
        ({"X": [[1.0, 2.0]] * 2}, r"X has 2 entries where 1 are expected"),
        ({"ids": ["a", "b"]}, r"ids has 2 entries where 1 are expected"),
        ({"texts": []}, r"texts has 0 entries where 1 are expected"),
        ({"label_names": ["a"]}, r"label_names has 1 entries where 3 are expected"),
        ({"feature_names": ["a"]}, r"feature_names has 1 entries where 2 are expected"),
        ({"label_names": ["a", "b", "a"]}, r"label_names holds 'a' twice"),
        ({"feature_names": ["a", "a"]}, r"feature_names holds 'a' twice"),
        ({"label_names": ["a", "b", 3]}, r"label_names must hold text\. Got 3 instead"),
        ({"label_names": "abc"}, r"label_names must be a list of names\. Got 'abc' instead"),
    ],
)
def test_parts_that_do_not_fit_are_refused(changes, message):
    parts = {"X": [[0.5, 1.0]], "Y": [[1, 0, 1]]} | changes
    with pytest.raises(DataError, match=message):
        Dataset(**parts)


def test_a_set_without_samples_is_legal():
    data = Dataset(sp.csr_array((0, 4)), sp.csr_array((0, 3)), label_names=["a", "b", "c"], ids=[])

    assert repr(data) == (
        "Dataset(0 samples, 4 features, 0 non-zeros, 3 labels, 0.00 labels a sample, "
        "100% of the labels with < 5 examples)"
    )
    assert (len(data), data.n_labels, data.label_lists()) == (0, 3, [])
    assert len(data.select([])) == 0


def test_lists_without_samples_make_a_set_without_labels():
    data = Dataset.from_lists([], [])

    assert (len(data), data.n_labels, data.label_names) == (0, 0, [])
    assert repr(data).startswith("Dataset(0 samples, texts, not vectorized, 0 labels")


def test_the_statistics_are_told():
    Y = np.zeros((6, 2))
    Y[:5, 0] = Y[0, 1] = 1

    data = Dataset(np.eye(6), Y, description="six")

    assert repr(data) == (
        "Dataset('six': 6 samples, 6 features, 6 non-zeros, 2 labels, 1.00 labels a sample, "
        "1 without one, 50% of the labels with < 5 examples)"
    )


@pytest.mark.parametrize("rows", [[2, 0], np.array([2, 0]), [True, False, True]])
def test_selected_samples_keep_their_parts(rows):
    data = Dataset(
        np.diag([1.0, 2, 3]),
        np.eye(3),
        label_names=list("xyz"),
        ids=["a", "b", "c"],
        texts=["A", "B", "C"],
    )

    chosen = data.select(rows)

    order = [0, 2] if rows[0] is True else [2, 0]
    assert chosen.ids == ["abc"[i] for i in order]
    assert chosen.texts == ["ABC"[i] for i in order]
    assert chosen.label_lists() == [["xyz"[i]] for i in order]
    assert chosen.X.data.tolist() == [i + 1 for i in order]
    assert chosen.label_names == ["x", "y", "z"]


@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        (["a", "b"], ["cat", "dog"], "takes a list of texts, and a list of labels for each"),
        ("ab", [["x"], ["y"]], r"not one text; put it in a list"),
    ],
)
def test_one_text_or_one_name_is_not_taken_for_a_list(texts, labels, message):
    with pytest.raises(DataError, match=message):
        Dataset.from_lists(texts, labels)


def test_the_taxonomy_of_the_columns_has_their_order():
    forest = Taxonomy.from_edges([("2", "0"), ("2", "1")])
    data = Dataset(random_csr(4, 3), random_labels(4, 4), taxonomy=forest)
    found = data.label_taxonomy
    assert found.names == ("0", "1", "2", "3")
    assert found.parent.tolist() == [2, 2, -1, -1]
    assert Dataset(random_csr(4, 3), random_labels(4, 4)).label_taxonomy is None
