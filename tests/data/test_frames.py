"""Labels in lists and columns of tables."""

import re

import numpy as np
import pytest

from labelwood.data.frames import label_matrix
from labelwood.errors import DataError


def test_the_remedy_for_cells_in_doubt_gives_labels_without_blanks():
    remedy = "[[name.strip() for name in one.split(',')] for one in labels] if it separates"
    with pytest.raises(DataError, match=re.escape(remedy)):
        label_matrix(["a, b", "c, d"])


@pytest.mark.parametrize(
    "labels",
    [
        [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]],
        [np.array([1.0, 0.0]), np.array([0.0, 1.0])],
        [np.array([1, 0], dtype=np.float32), np.array([0, 1], dtype=np.float32)],
        [[1, 0.0], [0.0, 1]],
        ["[1.0, 0.0]", "[0.0, 1.0]"],
    ],
)
def test_nested_zeros_and_ones_are_refused_as_decimals_too(labels):
    with pytest.raises(DataError, match=r"an indicator in nested lists|2 zeros and ones"):
        label_matrix(labels)
    assert label_matrix([[1.0, 2.0], [0.0, 1.0]]).names == ["0", "1", "2"]
