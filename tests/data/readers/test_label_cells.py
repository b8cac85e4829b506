"""The separator of labels in cells: what cells hold, and what a model remembers of its own."""

import copy

import pytest

from labelwood.core.io import Source
from labelwood.data.load import load_dataset
from labelwood.data.readers.label_cells import split_cells
from labelwood.errors import DataError


def split(cells, separator=None, known=None):
    numbered = list(enumerate(cells, start=2))
    return split_cells(Source("a.csv", bytearray()), numbered, separator, known)


def table(cells):
    return "text,labels\n" + "".join(f't{i},"{cell}"\n' for i, cell in enumerate(cells))


@pytest.mark.parametrize(
    ("cells", "given", "separator"),
    [
        (["a", "b", "a"], None, None),
        (["a", "b", "a"], "|", "|"),  # a user knows it, whatever the cells hold
        (["a;b", "b"], None, ";"),
        (["a|b", "b"], None, "|"),
        (["Smith, J", "x", "y"], None, None),
    ],
)
def test_a_separator_is_recorded_where_cells_hold_it_or_where_it_was_given(cells, given, separator):
    assert split(cells, given).separator == separator


def test_a_known_separator_that_no_cell_holds_yields_to_the_one_that_cells_hold():
    found = split(["a;b", "b", "c;a"], known="|")
    assert found.labels == [["a", "b"], ["b"], ["c", "a"]]
    assert found.separator == ";"
    assert "cells are split at ';', where training had '|' between labels" in found.doubt
    assert "label_separator='|'" in found.doubt


def test_a_known_separator_that_cells_hold_stays_unless_another_alone_explains_them():
    assert split(["a, b"], known=",").labels == [["a", "b"]]
    paths = ["Sport|Tennis, News|World", "News|World", "Sport|Tennis"]
    assert split(paths, known=",").labels[0] == ["Sport|Tennis", "News|World"]
    places = ["Rome, IT; Oslo", "Oslo; Bonn", "Bonn", "Oslo", "Bonn; Oslo"]
    assert split(places, known=",").labels[0] == ["Rome, IT", "Oslo"]


def test_a_known_separator_is_not_remarked_where_no_cell_holds_it():
    found = split(["a", "b"], known="|")
    assert (found.remark, found.separator) == ("", None)


def test_commas_are_remarked_with_a_known_separator_too():
    for known in (None, "|", ";"):
        assert "2 cells of labels hold ','" in split(["a, b", "c, d", "e", "f"], known=known).doubt
    assert split(["Smith, J|Doe, A", "Doe, A"], known="|").doubt == ""


def test_a_known_separator_settles_commas_but_not_two_other_marks():
    found = split(["Smith, J", "Doe, A"], known="|")
    assert found.labels == [["Smith, J"], ["Doe, A"]]
    assert "2 cells of labels hold ','" in found.doubt
    with pytest.raises(DataError, match="if both do label_separator="):
        split(["a;b", "a|b"], known=",")


def test_a_doubt_is_an_error_like_others():
    with pytest.raises(DataError, match=r"a\.csv, line 2: .*give label_separator=','") as caught:
        split(["a,b", "c,d"])
    error = caught.value
    assert str(copy.copy(error)) == str(type(error)(str(error))) == str(error)


def test_files_with_single_labels_say_nothing_about_the_separator(write):
    single, bars = write("f1.csv", table(["a", "b"])), write("f2.csv", table(["a|b", "b|c"]))
    assert load_dataset([single, bars]).label_separator == "|"
    semicolons = write("f3.csv", table(["a;b", "b;c"]))
    assert load_dataset([single, bars, semicolons]).label_separator is None


def test_several_columns_of_labels_have_the_separator_that_their_cells_hold(write):
    file = write("a.csv", "text,x,y\nt,a,c|d\nu,b,d\n")
    assert load_dataset(file, label_column="x,y").label_separator == "|"
    mixed = write("b.csv", "text,x,y\nt,a;b,c|d\nu,b,d\n")
    assert load_dataset(mixed, label_column="x,y").label_separator is None
