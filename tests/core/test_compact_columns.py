import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from builders import random_csr
from labelwood.core.sparse import compact_columns


@given(st.integers(0, 1_000), st.sampled_from([5, 40, 2_000]), st.booleans())
def test_the_columns_that_occur_are_left_with_their_values(seed, width, commonest_first):
    X = random_csr(6, width, density=0.2 if width < 100 else 0.002, seed=seed)
    (indptr, indices, data), columns = compact_columns(X, commonest_first=commonest_first)
    compact = sp.csr_array((data, indices.astype(np.int32), indptr), shape=(6, columns.size))
    np.testing.assert_array_equal(compact.toarray(), X.toarray()[:, columns])
    assert set(columns.tolist()) == set(X.indices.tolist())
    assert (indices.dtype, columns.dtype) == (np.uint32, np.uint32)


@pytest.mark.parametrize("width", [40, 2_000])
def test_columns_are_in_order_or_the_commonest_first(width):
    X = random_csr(6, width, density=0.3 if width < 100 else 0.003)
    counts = np.bincount(X.indices, minlength=width)
    assert compact_columns(X)[1].tolist() == np.flatnonzero(counts).tolist()
    columns = compact_columns(X, commonest_first=True)[1].astype(np.int64)
    expected = sorted(np.flatnonzero(counts).tolist(), key=lambda one: (-counts[one], one))
    assert columns.tolist() == expected


def test_a_matrix_without_entries_has_no_columns_left():
    arrays, columns = compact_columns(sp.csr_array((3, 4), dtype=np.float32))
    assert (arrays.indices.size, columns.size) == (0, 0)
