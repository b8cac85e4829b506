"""Lists of names."""

import pytest

from labelwood.data.load import load_dataset
from labelwood.data.readers.names import read_names
from labelwood.errors import DataError


def test_a_sequence_is_taken_as_it_is():
    assert read_names(["b", "a"], "label_names").names == ("b", "a")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_file_holds_a_name_a_line(write, end):
    listed = read_names(write("names.txt", end.join(["b c", "a", "é"])), "label_names")
    assert listed.names == listed.keys == ("b c", "a", "é")


def test_a_file_may_hold_an_id_a_tab_and_a_name(write):
    listed = read_names(write("names.txt", "7\tan owl\n9\ta cat\n"), "label_names")
    assert (listed.keys, listed.names) == (("7", "9"), ("an owl", "a cat"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a\n\nb\n", r"names\.txt, line 2: found '\\n' where one name, or an id, a tab and a name"),
        ("a\tb\tc\n", r"names\.txt, line 1: found 'a\\tb\\tc\\n' where one name"),
        ("1\ta\n2\t\n", r"names\.txt, line 2: found '2\\t\\n' where one name"),
        ("1\ta\nb\n", r"names\.txt, line 2: only some of the lines have a tab"),
        ("a\nb\na\n", r"names\.txt, line 3: 'a' stands on an earlier line too"),
        ("1\ta\n2\ta\n", r"names\.txt, line 2: 'a' stands on an earlier line too"),
    ],
)
def test_bad_files_are_errors_that_say_what_and_where(write, content, message):
    with pytest.raises(DataError, match=message):
        read_names(write("names.txt", content), "label_names")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a", 1], "label_names must hold text. Got 1 instead"),
        (["a", "b", "a"], "label_names holds 'a' twice"),
    ],
)
def test_bad_sequences_are_errors(names, message):
    with pytest.raises(DataError, match=message):
        read_names(names, "label_names")


def test_xml_nested_very_deeply_is_read_or_refused_in_one_line(write):
    def nested(tag):
        return (
            "<labels>"
            + "".join(f'<{tag} name="{i}">' for i in range(3000))
            + (f"</{tag}>" * 3000 + "</labels>")
        )

    assert len(read_names(write("a.xml", nested("label")), "label_names").names) == 3000
    with pytest.raises(DataError, match='found \'<tag name="0" />\' where <label name="…">'):
        read_names(write("a.xml", nested("tag")), "label_names")


def test_uris_of_a_vocabulary_lose_their_brackets(write):
    path = write("vocabulary.tsv", "<http://example.org/owl>\towl\n<http://example.org/cat>\tcat\n")
    data = load_dataset(write("a.tsv", "An owl\t<http://example.org/owl>\n"), label_names=path)
    assert data.label_lists() == [["owl"]]
