"""Columns of tables."""

import pytest

from labelwood import Tagger
from labelwood.data.frames import frame_dataset, guess_columns, label_matrix
from labelwood.errors import DataError

pa = pytest.importorskip("pyarrow")


def wide(spam, ham):
    return pa.table({"text": [f"a text {i}" for i in range(len(spam))], "spam": spam, "ham": ham})


@pytest.mark.parametrize(
    ("spam", "ham"),
    [
        (["yes", "no", "no"], ["no", "yes", "no"]),
        (["1", "0", "0"], [0, 1, 0]),
        (["Y", "N", "N"], ["N", "Y", "N"]),
        (["x", "", ""], ["", "x", ""]),
        ([True, False, False], [0.0, 1.0, 0.0]),
    ],
)
def test_columns_of_yes_and_no_are_read_as_the_command_line_reads_them(spam, ham):
    frame = wide(spam, ham)
    named = frame_dataset(frame, text="text", labels=["spam", "ham"])
    assert named.label_lists() == [["spam"], ["ham"], []]
    assert guess_columns(frame, None, None) == (["text"], ["spam", "ham"])
    found = label_matrix(frame.select(["spam", "ham"]))
    assert (found.Y != named.Y).nnz == 0


@pytest.mark.parametrize(
    ("spam", "match"),
    [
        (["yes", None, "no"], "Row 1 has no value in column 'spam'; fill it or drop it"),
        (["yes", "NA", "no"], "Row 1 of column 'spam' holds 'NA' where 0 or 1, or yes or no, is e"),
        (["a", "b", "c"], "Row 0 of column 'spam' holds 'a' where 0 or 1, .* write 1 for a label"),
    ],
)
def test_what_is_neither_yes_nor_no_is_refused(spam, match):
    with pytest.raises(DataError, match=match):
        frame_dataset(wide(spam, ["no"] * 3), text="text", labels=["spam", "ham"])


def test_a_tagger_is_trained_from_columns_of_yes_and_no():
    frame = wide(["yes", "no"] * 10, ["no", "yes"] * 10)
    assert Tagger.from_frame(frame).label_names_.tolist() == ["spam", "ham"]
