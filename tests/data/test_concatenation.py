"""Several data sets as one."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from labelwood.data.concatenation import concatenate
from labelwood.data.dataset import Dataset
from labelwood.errors import DataError


def features(names, labels, value):
    X = sp.csr_array(np.array([[value, 0.0]], dtype=np.float32))
    Y = sp.csr_array(np.array([[1.0] + [0.0] * (len(labels) - 1)], dtype=np.float32))
    return Dataset(X, Y, label_names=labels, feature_names=names)


def test_labels_and_features_are_matched_by_name():
    both = concatenate([features(["b", "a"], ["owl"], 1.0), features(["a", "c"], ["cat"], 2.0)])
    assert both.feature_names == ["a", "b", "c"]
    assert both.X.toarray().tolist() == [[0.0, 1.0, 0.0], [2.0, 0.0, 0.0]]
    assert both.label_lists() == [["owl"], ["cat"]]


def test_numbers_are_matched_by_position_and_must_be_as_many():
    X, Y = sp.csr_array(np.eye(2, dtype=np.float32)), sp.csr_array(np.ones((2, 3)))
    assert concatenate([Dataset(X, Y), Dataset(X, Y)]).Y.shape == (4, 3)
    with pytest.raises(DataError, match=r"The files have 2 and 3 labels; give n_labels=3"):
        concatenate([Dataset(X, Y), Dataset(X, Y[:, :2])])
    with pytest.raises(DataError, match="Only some of the files name their labels"):
        concatenate([Dataset(X, Y), Dataset(X, Y, label_names=["a", "b", "c"])])


def test_columns_are_those_of_the_first_part_that_has_any():
    plain = Dataset.from_lists(["a"], [["x"]])
    named = replace(plain, text_columns=("body",), label_columns=("tags",))
    both = concatenate([plain, named])
    assert (both.text_columns, both.label_columns) == (("body",), ("tags",))


def test_ids_are_kept_where_all_have_them():
    first = Dataset.from_lists(["a"], [["x"]], ids=["1"])
    assert concatenate([first, first]).ids == ["1", "1"]
    assert concatenate([first, Dataset.from_lists(["b"], [[]])]).ids is None
