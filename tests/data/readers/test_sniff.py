"""Files of other programs."""

import pytest

from labelwood.data.load import load_dataset
from labelwood.errors import DataError


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.feather", b"ARROW1\0\0\xff\xff\xff\xff"),
        ("a.csv", b"ARROW1\0\0\xff\xff\xff\xff"),
        ("a", b"FEA1\0\0\0\0\xff\xfe"),
        ("a.arrow", b"\xff\xff\xff\xff\x80\0\0\0"),
    ],
)
@pytest.mark.parametrize("options", [{}, {"ignore_labels": True}])
def test_a_feather_or_arrow_file_is_to_be_saved_as_another(write, name, content, options):
    with pytest.raises(DataError, match="this is a Feather or Arrow file; save it as Parquet or C"):
        load_dataset(write(name, content), **options)
