"""NumPy archives."""

import numpy as np
import pytest
import scipy.sparse as sp

from builders import random_csr, random_labels
from labelwood.data.dataset import Dataset
from labelwood.data.load import load_dataset, save_dataset
from labelwood.errors import DataError

GOOD = {
    "X_data": np.float64([1.5]),
    "X_indices": np.int64([1]),
    "X_indptr": np.int64([0, 1]),
    "X_shape": np.int64([1, 2]),
    "Y_indices": np.int64([0]),
    "Y_indptr": np.int64([0, 1]),
    "Y_shape": np.int64([1, 1]),
}


@pytest.fixture
def write_arrays(tmp_path):
    def write(**changes):
        arrays = {key: value for key, value in (GOOD | changes).items() if value is not None}
        np.savez(tmp_path / "a.npz", **arrays)
        return tmp_path / "a.npz"

    return write


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
@pytest.mark.parametrize("features", [True, False])
def test_writing_and_reading_gives_the_same_data(tmp_path, suffix, features):
    data = Dataset(
        X=random_csr(20, 9) if features else None,
        Y=random_labels(20, 3),
        label_names=["b", "", "é"],
        feature_names=[f"f{i}" for i in range(9)] if features else None,
        ids=[str(i) for i in range(20)],
        texts=["long " * i + "\0" for i in range(20)],
    )
    path = tmp_path / f"a.npz{suffix}"
    save_dataset(data, path)
    again = load_dataset(path)
    assert again.description == f"a.npz{suffix} (NumPy archive)"
    assert (again.Y != data.Y).nnz == 0
    assert (again.X != data.X).nnz == 0 if features else again.X is None
    for name in ("label_names", "feature_names", "ids", "texts"):
        assert getattr(again, name) == getattr(data, name)


def test_arrays_written_by_hand_are_read(write_arrays):
    data = load_dataset(
        write_arrays(label_names=np.array(["a"]), feature_names=np.array(["x", "y"]))
    )
    assert data.X.toarray().tolist() == [[0, 1.5]]
    assert (data.label_names, data.feature_names) == (["a"], ["x", "y"])


def test_given_names_replace_those_of_the_file(write_arrays):
    path = write_arrays(label_names=np.array(["a"]))
    data = load_dataset(path, label_names=["b"], feature_names=["x", "y"])
    assert (data.label_names, data.feature_names) == (("b",), ("x", "y"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X_data": None}, r"found the arrays .*, but no X_data; save_dataset writes"),
        ({"Y_indptr": None}, r"found the arrays .*, but no Y_indptr; save_dataset writes"),
        ({"X_shape": np.int64([2, 2])}, r"X is not a valid CSR matrix"),
        ({"X_shape": np.int64([1, 1])}, r"X has column index 1, outside 0…0|X is not a valid"),
        (
            {"X_shape": np.int64([1])},
            r"X_indptr, X_indices, X_shape must be vectors of whole numbers",
        ),
        ({"X_shape": np.int64([-1, 2])}, r"X is not a valid CSR matrix"),
        ({"X_indices": np.int64([-1])}, r"X has column index -1|X is not a valid"),
        (
            {"X_indices": np.float64([1])},
            r"X_indptr, X_indices, X_shape must be vectors of whole numbers",
        ),
        ({"X_indptr": np.int64([0, 5])}, r"X is not a valid CSR matrix"),
        ({"X_data": np.float64([np.nan])}, r"X contains NaN \(row 0, column 1\)"),
        ({"X_data": np.array(["a"])}, "X_data must be a vector of numbers"),
        ({"Y_data": np.float64([2])}, r"Y must hold zeros and ones"),
        ({"label_names": np.array(["a", "b"])}, r"label_names has 2 entries where 1 are expected"),
        ({"ids": np.array([1])}, r"ids must be an array of text, or UTF-8 bytes with ids_indptr"),
        (
            {"ids": np.uint8([255]), "ids_indptr": np.int64([0, 1])},
            r"ids holds bytes that are not UTF-8",
        ),
        (
            {"ids": np.uint8([65]), "ids_indptr": np.int64([0, 2])},
            r"ids_indptr does not fit the 1 bytes of ids",
        ),
    ],
)
def test_bad_arrays_are_errors_that_say_what(write_arrays, changes, message):
    with pytest.raises(DataError, match=rf"a\.npz: ({message})") as error:
        load_dataset(write_arrays(**changes))
    assert "\n" not in str(error.value)


def test_a_single_matrix_of_scipy_is_an_error_that_names_the_remedy(tmp_path):
    sp.save_npz(tmp_path / "a.npz", random_csr(2, 2))
    with pytest.raises(DataError, match=r"found the arrays .*indices.*; save_dataset writes"):
        load_dataset(tmp_path / "a.npz")


def test_objects_in_an_archive_are_not_loaded(write_arrays):
    with pytest.raises(DataError, match=r"not a valid \.npz archive \(Object arrays cannot be"):
        load_dataset(write_arrays(ids=np.array([{}], dtype=object)))


def test_an_archive_cut_anywhere_is_an_error(write_arrays):
    path = write_arrays()
    whole = path.read_bytes()
    for size in range(1, len(whole), 37):
        path.write_bytes(whole[:size])
        with pytest.raises(DataError, match=r"a\.npz: not a valid \.npz archive \("):
            load_dataset(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"label_names": np.array(3, dtype=np.uint8)}, "label_names must be an array of text"),
        (
            {"label_names": np.array([97], np.uint8), "label_names_indptr": np.array(1)},
            "label_names must be an array of text",
        ),
        (
            {"label_names": np.array([0x110000], dtype=np.uint32).view("<U1")},
            "label_names holds characters that do not exist",
        ),
        ({"label_names": np.empty(2, dtype="<U0")}, "label_names"),
        ({"X_shape": np.array([2, 2**41])}, "X is said to have 2,199,023,255,552 columns"),
        ({"Y_shape": np.array([2, 2**31 - 1])}, "there are said to be 2,147,483,647 labels"),
        ({"X_data": np.array(1.0)}, "X_data must be a vector of numbers"),
    ],
)
def test_claims_and_odd_arrays_are_refused(tmp_path, changes, message):
    arrays = {
        "X_data": np.array([0.5]),
        "X_indices": np.array([1]),
        "X_indptr": np.array([0, 1, 1]),
        "X_shape": np.array([2, 3]),
        "Y_indices": np.array([0]),
        "Y_indptr": np.array([0, 0, 1]),
        "Y_shape": np.array([2, 1]),
    }
    np.savez(tmp_path / "a.npz", **(arrays | changes))
    with pytest.raises(DataError, match=message):
        load_dataset(tmp_path / "a.npz")


def test_an_archive_that_grows_without_bound_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("LABELWOOD_MAX_DECOMPRESSED", "100000")
    np.savez_compressed(tmp_path / "a.npz", X_data=np.zeros(10**6))
    with pytest.raises(DataError, match="decompresses to over 7 MB"):
        load_dataset(tmp_path / "a.npz")
