"""The options of a reader."""

import pytest

from labelwood.data.readers.options import ReadOptions


def test_names_are_read_from_their_file_once(write):
    path = write("names.txt", "a\n")
    options = ReadOptions(feature_names=path)
    first = options.features
    path.unlink()
    assert options.features is first


@pytest.mark.parametrize(
    ("given", "columns"),
    [(None, ("text",)), ("title, text", ("title", "text")), (["a,b", "c"], ("a,b", "c"))],
)
def test_text_columns_are_one_or_several(given, columns):
    assert ReadOptions(text_column=given).text_columns == columns
