import gc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numba import typeof

from builders import random_csr
from labelwood.core.labels import indicator
from labelwood.core.sparse import as_csr, csr_arrays, cuts, row_blocks, some_rows, unit_rows
from labelwood.errors import DataError


def test_a_canonical_float32_matrix_is_not_copied():
    X = random_csr(20, 10)
    checked = as_csr(X)
    assert np.shares_memory(checked.data, X.data)
    assert np.shares_memory(checked.indices, X.indices)
    assert np.shares_memory(csr_arrays(checked).indices, X.indices)


def test_read_only_arrays_are_to_kernels_what_others_are():
    X = as_csr([[0, 2], [1, 0]])
    plain = [part.copy() for part in csr_arrays(X)]
    for part in (X.data, X.indices, X.indptr):
        part.setflags(write=False)
    kept = csr_arrays(X)
    for part, one in zip(kept, plain, strict=True):
        assert typeof(part) == typeof(one)
        np.testing.assert_array_equal(part, one)
    assert np.shares_memory(kept.data, X.data)
    del X  # The arrays keep the memory that they stand for.
    gc.collect()
    assert kept.data.tolist() == [2, 1]


@pytest.mark.parametrize(
    "convert",
    [
        lambda X: X.toarray(),
        lambda X: X.toarray().tolist(),
        lambda X: X.astype(np.float64),
        lambda X: sp.csc_matrix(X),
        lambda X: sp.coo_array(X),
        lambda X: sp.csr_array(
            (X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape
        ),
    ],
)
def test_every_form_gives_the_same_matrix(convert):
    X = random_csr(12, 7, density=0.3)
    checked = as_csr(convert(X))
    assert checked.dtype == np.float32
    np.testing.assert_array_equal(checked.toarray(), X.toarray())


def test_unsorted_and_duplicate_indices_are_sorted_and_summed_in_a_copy():
    X = sp.csr_array(([1.0, 2.0, 3.0], [2, 0, 2], [0, 3]), shape=(1, 3))
    checked = as_csr(X)
    assert checked.indices.tolist() == [0, 2]
    assert checked.data.tolist() == [2.0, 4.0]
    assert X.indices.tolist() == [2, 0, 2]


def test_read_only_memory_maps_are_accepted(tmp_path):
    X = random_csr(30, 9)
    np.save(tmp_path / "data.npy", X.data)
    mapped = np.load(tmp_path / "data.npy", mmap_mode="r")
    checked = as_csr(sp.csr_array((mapped, X.indices, X.indptr), shape=X.shape))
    np.testing.assert_array_equal(unit_rows(checked).toarray(), unit_rows(X).toarray())


def test_indices_are_narrow_wherever_that_suffices():
    X = random_csr(9, 5)
    wide = sp.csr_array((X.data, X.indices.astype(np.int64), X.indptr), shape=X.shape)
    assert wide.indices.dtype == np.int64
    assert as_csr(wide).indices.dtype == np.int32
    assert as_csr(wide).indptr.dtype == np.int32


@pytest.mark.parametrize(("value", "named"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_a_value_that_is_not_finite_is_named_with_its_place(value, named):
    X = np.zeros((3, 4))
    X[1, 2] = value
    with pytest.raises(DataError, match=rf"X contains {named} \(row 1, column 2\)"):
        as_csr(X)


def test_a_double_too_large_for_float32_is_refused():
    with pytest.raises(DataError, match=r"infinity \(row 0, column 1\)"):
        as_csr([[0.0, 1e300]])


def test_opposite_large_values_are_not_mistaken_for_infinity():
    X = as_csr(np.array([[3e38, 3e38, -3e38]], dtype=np.float32))
    assert X.nnz == 3


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (([1.0], [3], [0, 1]), "column index 3, outside 0…1"),
        (([1.0], [-1], [0, 1]), "column index -1, outside 0…1"),
        (([1.0], [0], [0, 2]), "row pointers are inconsistent"),
        (([1.0], [0], [1, 1]), "row pointers are inconsistent"),
    ],
)
def test_a_broken_structure_is_refused_before_a_kernel_sees_it(parts, message):
    X = sp.csr_array((1, 2), dtype=np.float32)
    X.data, X.indices, X.indptr = (np.array(part) for part in parts)
    with pytest.raises(DataError, match=message):
        as_csr(X)


@pytest.mark.parametrize("form", [sp.coo_array, sp.csc_array, sp.coo_matrix, sp.csc_matrix])
@pytest.mark.parametrize("index", [-1, 50_000_000])
def test_other_formats_are_checked_before_scipy_follows_their_indices(form, index):
    X = form(np.eye(2, dtype=np.float32))
    target = X.indices if X.format == "csc" else X.row
    target[1] = index
    with pytest.raises(DataError, match=f"index {index}, outside 0…1"):
        as_csr(X)
    with pytest.raises(DataError, match=f"index {index}, outside 0…1"):
        indicator(X)


def test_a_row_of_stored_zeros_stays_zero():
    X = sp.csr_array((np.zeros(2, dtype=np.float32), [0, 1], [0, 2, 2]), shape=(2, 2))
    assert unit_rows(as_csr(X)).toarray().tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize("size", [1e-25, 1.0, 1e25])
def test_rows_of_any_size_become_unit_rows(size):
    X = as_csr(np.array([[3, 4]], dtype=np.float32) * np.float32(size))
    np.testing.assert_allclose(unit_rows(X).toarray(), [[0.6, 0.8]], rtol=1e-6)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([1.0, 2.0], "two dimensions"),
        ([["a", "b"]], "must hold numbers"),
        ([[1 + 2j]], "Complex data not supported"),
    ],
)
def test_what_is_no_matrix_of_numbers_is_refused(X, message):
    with pytest.raises(DataError, match=message):
        as_csr(X)


def test_a_width_that_disagrees_is_refused():
    with pytest.raises(DataError, match="has 2 columns where 3 are expected"):
        as_csr([[1, 2]], n_columns=3)


@given(
    hnp.arrays(
        np.float32, hnp.array_shapes(min_dims=2, max_dims=2), elements=st.floats(-9, 9, width=16)
    )
)
def test_unit_rows_have_length_one_or_zero(dense):
    X = as_csr(dense)
    lengths = np.linalg.norm(unit_rows(X).toarray(), axis=1)
    empty = ~dense.any(axis=1)
    np.testing.assert_allclose(lengths[~empty], 1, rtol=1e-5)
    assert not lengths[empty].any()


@given(st.integers(0, 40), st.integers(1, 9))
def test_row_blocks_cover_all_rows_once(n, size):
    X = random_csr(n, 4, density=0.5) if n else sp.csr_array((0, 4), dtype=np.float32)
    parts = [some_rows(csr_arrays(X), rows) for rows in row_blocks(X, size)]
    lengths = np.concatenate([np.diff(part.indptr) for part in parts])
    np.testing.assert_array_equal(lengths, np.diff(X.indptr))


@pytest.mark.parametrize(
    ("pointers", "expected"),
    [
        ([0, 1, 1, 5], True),
        ([0, 1, 5], False),
        ([1, 1, 1, 5], False),
        ([0, 3, 2, 5], False),
        ([0, 1, 2, 4], False),
        ([0, 2**63 - 1, -(2**63), 5], False),  # differences wrap, and look positive
    ],
)
def test_pointers_cut_when_they_rise_from_zero_to_the_end(pointers, expected):
    assert cuts(np.array(pointers), 3, 5) is expected
