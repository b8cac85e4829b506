import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from labelwood import Dataset
from labelwood.core.labels import encode_labels, indicator, lists_to_indicator
from labelwood.errors import DataError


@given(st.lists(st.sets(st.sampled_from(["cat", "dog", "owl", "ü"])), min_size=1))
def test_label_lists_survive_encoding(lists):
    Y, classes, multilabel = encode_labels(lists)
    again = [{str(name) for name in classes[np.flatnonzero(row)]} for row in Y.toarray()]
    assert multilabel
    assert again == lists


def test_numbers_in_lists_are_names_not_columns():
    Y, classes, _ = encode_labels([[7], [3, 7]])
    assert classes.tolist() == [3, 7]
    assert Y.toarray().tolist() == [[0, 1], [1, 1]]


def test_a_plain_sequence_is_one_class_a_point():
    Y, classes, multilabel = encode_labels(["b", "a", "b"])
    assert (classes.tolist(), multilabel) == (["a", "b"], False)
    assert Y.toarray().tolist() == [[0, 1], [1, 0], [0, 1]]


@pytest.mark.parametrize("form", [np.array, sp.csr_matrix, sp.csc_array, sp.coo_matrix])
def test_an_indicator_keeps_its_columns(form):
    dense = np.array([[0, 1, 0], [1, 1, 0]])
    Y, classes, multilabel = encode_labels(form(dense))
    np.testing.assert_array_equal(Y.toarray(), dense)
    assert (classes.tolist(), multilabel) == ([0, 1, 2], True)


def test_a_float32_indicator_is_not_copied():
    Y = sp.csr_array(np.eye(3, dtype=np.float32))
    assert np.shares_memory(indicator(Y).data, Y.data)


def test_repeated_labels_count_once_and_stored_zeros_are_no_labels():
    Y = sp.csr_array(([1, 1, 0], [1, 1, 2], [0, 3]), shape=(1, 3))
    assert indicator(Y).toarray().tolist() == [[0, 1, 0]]
    assert Y.nnz == 3


def test_a_value_other_than_zero_and_one_is_named():
    with pytest.raises(DataError, match=r"zeros and ones. Got .*2.* in row 1, label 0"):
        indicator(np.array([[0, 1], [2, 0]]))


def test_mixed_kinds_of_names_are_refused():
    with pytest.raises(DataError, match=r"all names or all numbers. Got int, str"):
        encode_labels([["a"], [1]])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["a", "b", None], "all names .* or all numbers. Got None for sample 2"),
        ([None, "a"], "Got None for sample 0"),
        ([1, 2, None], "Got None for sample 2"),
        ([b"a", b"b"], "Got b'a' for sample 0"),
        (np.array(["a", 1], dtype=object), "Got 1 for sample 1"),
        ([0.5, 1.5], "Unknown label type: continuous"),
        ([1.0, np.nan], "y contains NaN"),
        (np.zeros((2, 1, 2)), "array with dim 3"),
    ],
)
def test_classes_that_cannot_be_sorted_or_counted_are_refused(y, message):
    with pytest.raises(DataError, match=message):
        encode_labels(y)


def test_an_unknown_name_is_named_with_its_point():
    with pytest.raises(DataError, match="Sample 1 has the unknown label 'emu'"):
        lists_to_indicator([["cat"], ["emu"]], ["cat"])


def test_no_labels_at_all_are_legal():
    Y, classes, multilabel = encode_labels([[], []])
    assert Y.shape == (2, 0)
    assert classes.size == 0
    assert multilabel


def test_a_bare_name_among_lists_is_named_with_its_point():
    with pytest.raises(DataError, match="Got 'ab' for sample 1"):
        encode_labels([["owl"], "ab", ["owl", "cat"]])


@pytest.mark.parametrize("Y", [[[1, 0, 1], [0, 1, 0]], [[True, False, False], [False, True, True]]])
def test_an_indicator_in_nested_lists_is_not_taken_for_labels(Y):
    with pytest.raises(DataError, match=r"looks like an indicator in nested lists.*numpy\.asarray"):
        encode_labels(Y)
    assert encode_labels(np.array(Y)).Y.shape == (2, 3)


@pytest.mark.parametrize(
    "Y", [[[0, 1], [1, 0]], [[0], [1]], [[0, 1, 2], [0, 1, 1]], [[0, 1, 0], [1]]]
)
def test_lists_that_can_be_labels_are_labels(Y):
    assert encode_labels(Y).multilabel


@pytest.mark.parametrize("Y", [[["a"], ["b"]], [[0], [1, 2]]])
def test_an_indicator_is_not_made_of_lists_without_a_word(Y):
    with pytest.raises(DataError, match="of lists of labels a Dataset makes one"):
        indicator(Y)


class Series:
    """What a column of pandas or polars offers."""

    def __init__(self, values):
        self.values = values
        self.shape = (len(values),)

    def __len__(self):
        return len(self.values)

    def to_numpy(self):
        array = np.empty(len(self.values), dtype=object)
        array[:] = self.values
        return array

    def __array__(self, dtype=None, copy=None):
        return self.to_numpy()


LISTS = [["owl", "cat"], [], ["cat"]]


@pytest.mark.parametrize(
    "form",
    [
        Series,
        lambda lists: Series(lists).to_numpy(),
        lambda lists: Series([np.array(one, dtype=object) for one in lists]),
        lambda lists: Series([tuple(one) for one in lists]),
        lambda lists: [set(one) for one in lists],
    ],
    ids=["Series", "object array", "arrays", "tuples", "sets"],
)
def test_columns_of_lists_are_label_lists(form):
    Y, classes, multilabel = encode_labels(form(LISTS))
    assert classes.tolist() == ["cat", "owl"]
    assert multilabel
    assert Y.toarray().tolist() == [[1, 1], [0, 0], [1, 0]]
    texts = np.array(["a cat and an owl", "", "a cat"], dtype=object)
    assert Dataset.from_lists(texts, form(LISTS)).label_lists() == [["cat", "owl"], [], ["cat"]]


@pytest.mark.parametrize("column", [Series(["a", "b"]), np.array(["a", "b"], dtype=object)])
def test_a_column_of_names_is_one_class_for_each_sample(column):
    assert not encode_labels(column).multilabel
    with pytest.raises(DataError, match="a list of labels for each"):
        Dataset.from_lists(["x", "y"], column)


def test_labels_that_are_no_names_are_refused():
    with pytest.raises(DataError, match="Sample 1 has the label None, which is no name"):
        Dataset.from_lists(["x", "y"], [["a"], [None]])


def test_mappings_are_no_label_lists():
    with pytest.raises(DataError, match="Unknown label type"):
        encode_labels([{"a": 1}, {"b": 2}])


@pytest.mark.parametrize(
    "y",
    [
        [["x\0"], ["x"]],
        ["x\0", "x"],
        np.array(["x\0", "x"], dtype=object),
        np.array(["a\tb", "x"]),
        (("x",), ("a\nb", "x")),
    ],
)
def test_names_with_control_characters_are_refused_before_two_become_one(y):
    with pytest.raises(DataError, match="a name with a control character; remove it"):
        encode_labels(y)
