"""Labels as columns of their own."""

import pytest

from labelwood.data.load import load_dataset
from labelwood.errors import DataError


def wide(*rows, header="id,text,Rechnung,Lob"):
    return "\n".join([header, *(f"{i},t{i},{row}" for i, row in enumerate(rows)), ""])


@pytest.mark.parametrize(
    ("yes", "no"),
    [("Y", "N"), ("y", "n"), ("T", "F"), ("on", "off"), ("✓", "✗"), ("J", "N"), ("Ja", "nein")],
)
@pytest.mark.parametrize("options", [{}, {"label_column": "Rechnung..Lob"}])
def test_all_usual_words_for_yes_and_no_are_known(write, yes, no, options):
    file = write("a.csv", wide(f"{yes},{no}", f"{no},{yes}", f"{no},{no}"))
    data = load_dataset(file, **options)
    assert data.label_lists() == [["Rechnung"], ["Lob"], []]


@pytest.mark.parametrize("options", [{}, {"label_column": ["Rechnung", "Lob"]}])
def test_missing_cells_among_zeros_and_ones_count_as_0_with_a_remark(write, options):
    data = load_dataset(write("a.csv", wide("1,0", "NA,1", "0,", "#N/A,NaN")), **options)
    assert data.label_lists() == [["Rechnung"], ["Lob"], [], []]
    assert "4 missing cells count as 0" in data.description
    one = load_dataset(write("b.csv", wide("1.0,0.0", ",1.0")), **options)
    assert "1 missing cell counts as 0" in one.description


@pytest.mark.parametrize("options", [{}, {"label_column": ["Rechnung", "Lob"]}])
def test_empty_cells_beside_marks_are_the_usual_no(write, options):
    data = load_dataset(write("a.csv", wide("x,", ",x", ",")), **options)
    assert data.label_lists() == [["Rechnung"], ["Lob"], []]
    assert "missing" not in data.description


def test_a_column_without_a_value_is_no_label_by_guess(write):
    data = load_dataset(write("a.csv", wide("1,0,NA", "0,1,", header="id,text,a,b,c")))
    assert data.label_names == ["a", "b"]
    assert "missing" not in data.description


@pytest.mark.parametrize(
    ("rows", "match"),
    [
        (
            ["0.9,0.1", "0.2,0.7"],
            "line 2: found '0.9' in 'Rechnung', a number other than 0 and 1; write 1 for",
        ),
        (["1,0", "0,0.5"], "line 3: found '0.5' in 'Lob', a number other than 0 and 1; write 1"),
        (["stimmt,falsch!", "falsch!,falsch!", "falsch!,stimmt"], "found only 'falsch!', 'stimmt'"),
        (["hoch,tief", "tief,hoch"], "found only 'hoch', 'tief' in the 2 label columns; write 1"),
        (["a,a", "b,c", ",b"], "found only 'a', 'b', 'c' in the 2 label columns; write 1 for"),
        (["wohl,", ",wohl"], "found only 'wohl' in the 2 label columns; write 1 for the label"),
        (["Y,N", "N,vielleicht"], "line 3: found 'vielleicht' in 'Lob', but only 'N', 'Y' in 'Re"),
    ],
)
def test_several_columns_that_are_flags_and_no_names_are_refused(write, rows, match):
    file = write("a.csv", wide(*rows))
    with pytest.raises(DataError, match=match):
        load_dataset(file, label_column="Rechnung,Lob")


def test_decimal_commas_are_numbers_too(write):
    rows = "".join(f"t{i};0,9;0,1\n" for i in range(3))
    with pytest.raises(DataError, match="found '0,9' in 'a', a number other than 0 and 1"):
        load_dataset(write("a.csv", "text;a;b\n" + rows), label_column="a,b")


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        (["sport,politics", "arts,", "politics,arts", ",sport"], {"sport", "arts", "politics"}),
        (["512.3,004.6", "330,512.3"], {"512.3", "004.6", "330"}),
        (["12,7", "7,"], {"12", "7"}),
        (["owl,cat"], {"owl", "cat"}),
    ],
)
def test_several_columns_of_names_are_put_together(write, rows, names):
    separator = {"label_separator": ";"} if "512.3" in names else {}
    file = write("a.csv", wide(*rows))
    data = load_dataset(file, label_column="Rechnung,Lob", **separator)
    assert set(data.label_names) == names


def test_with_a_separator_the_same_few_values_are_names(write):
    file = write("a.csv", wide("a,a", "b,a"))
    data = load_dataset(file, label_column="Rechnung,Lob", label_separator=";")
    assert data.label_lists() == [["a"], ["a", "b"]]


@pytest.mark.parametrize(
    ("cells", "remark"),
    [
        (["1", "0", ""], "'0', '1' are names of labels; if 'spam' is the label, write 'spam' for"),
        (["Y", "N", "Y"], "'N', 'Y' are names of labels; if 'spam' is the label, write 'spam' for"),
        (["x", "", "x"], "'x' is the name of a label; if 'spam' is the label, write 'spam' fo"),
        (["yes", "maybe", "no"], None),
        (["0", "1", "2"], None),
    ],
)
def test_one_column_of_zeros_and_ones_is_remarked(write, cells, remark):
    file = write("a.csv", "text,spam\n" + "".join(f"t,{one}\n" for one in cells))
    data = load_dataset(file, label_column="spam")
    assert data.label_lists() == [[one] if one else [] for one in cells]
    assert remark in data.description if remark else "of a label" not in data.description
