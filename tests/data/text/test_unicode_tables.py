import unicodedata

import numpy as np
import pytest

from labelwood.data.text.unicode_tables import generate, unicode_tables, unicode_version


@pytest.mark.skipif(
    unicodedata.unidata_version != unicode_version(),
    reason="this Python knows another version of Unicode",
)
def test_the_stored_tables_are_those_that_python_gives():
    for stored, made in zip(unicode_tables(), generate(), strict=True):
        assert stored.dtype == made.dtype
        np.testing.assert_array_equal(stored, made)


def test_no_index_of_the_tables_leads_outside():
    tables = unicode_tables()
    assert tables.stage1.size == tables.fold1.size == 0x110000 // 256
    assert 256 * (int(tables.stage1.max()) + 1) == tables.stage2.size
    assert 256 * (int(tables.fold1.max()) + 1) == tables.fold2.size
    assert tables.stage2.max() < tables.flags.size == tables.lower.size
    assert int(tables.fold2.max()) + 1 < tables.fold_ptr.size
    assert tables.fold_ptr[-1] == tables.fold_data.size
