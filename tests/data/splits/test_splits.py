from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import random_csr, random_labels
from labelwood.data.dataset import Dataset
from labelwood.data.splits import split, stratified_folds, stratified_split
from labelwood.data.splits.stratification import _stratify
from labelwood.errors import DataError, ParameterError


def plain_stratification(Y: np.ndarray, shares: list[float], sizes: list[int]) -> list[int]:
    """Iterative stratification as published, with full folds closed, on a dense matrix."""
    n, n_labels = Y.shape
    wanted = [[float(Y[:, i].sum()) * share for share in shares] for i in range(n_labels)]
    room = list(sizes)
    fold = [-1] * n

    def put(row, best):
        fold[row] = best
        room[best] -= 1
        for i in np.flatnonzero(Y[row]):
            wanted[i][best] -= 1

    while True:
        left = [sum(1 for r in range(n) if Y[r, i] and fold[r] < 0) for i in range(n_labels)]
        waiting = [(count, i) for i, count in enumerate(left) if count]
        if not waiting:
            break
        label = min(waiting)[1]
        for row in range(n):
            if Y[row, label] and fold[row] < 0:
                open_folds = [j for j in range(len(sizes)) if room[j] > 0]
                put(row, max(open_folds, key=lambda j: (wanted[label][j], room[j], -j)))
    for row in range(n):
        if fold[row] < 0:
            put(row, max(range(len(sizes)), key=lambda j: (room[j], -j)))
    return fold


def label_shares(Y: sp.csr_array, rows: np.ndarray) -> np.ndarray:
    return Y[rows].sum(axis=0) / np.maximum(Y.sum(axis=0), 1)


@st.composite
def label_matrices(draw: st.DrawFn) -> np.ndarray:
    n, n_labels = draw(st.integers(2, 15)), draw(st.integers(1, 6))
    bits = draw(st.lists(st.booleans(), min_size=n * n_labels, max_size=n * n_labels))
    return np.array(bits, dtype=np.float32).reshape(n, n_labels)


@settings(deadline=None)
@given(label_matrices(), st.data())
def test_the_kernel_agrees_with_plain_iterative_stratification(Y, data):
    n = Y.shape[0]
    cuts = sorted(data.draw(st.lists(st.integers(0, n), min_size=1, max_size=3)))
    sizes = np.diff([0, *cuts, n])
    shares = data.draw(st.sampled_from([sizes / n, np.full(sizes.size, 1 / sizes.size)]))

    folds = _stratify(sp.csr_array(Y), shares, sizes)

    assert folds.tolist() == plain_stratification(Y, shares.tolist(), sizes.tolist())


@settings(deadline=None)
@given(label_matrices(), st.integers(2, 15), st.integers(0, 5))
def test_folds_cover_all_rows_with_sizes_that_differ_by_at_most_one(Y, n_folds, seed):
    n_folds = min(n_folds, Y.shape[0])

    folds = stratified_folds(Y if Y.shape[1] > 1 else sp.csr_array(Y), n_folds, random_state=seed)

    sizes = np.bincount(folds, minlength=n_folds)
    assert sizes.size == n_folds
    assert sizes.sum() == Y.shape[0]
    assert sizes.max() - sizes.min() <= 1


@settings(deadline=None)
@given(label_matrices(), st.floats(0.001, 0.999), st.integers(0, 5))
def test_a_split_is_a_partition_of_the_wanted_size(Y, test_size, seed):
    n = Y.shape[0]

    train, test = stratified_split(sp.csr_array(Y), test_size, random_state=seed)

    assert sorted([*train, *test]) == list(range(n))
    assert test.size == min(max(round(test_size * n), 1), n - 1)
    assert np.all(np.diff(train) > 0)
    assert np.all(np.diff(test) > 0)


@settings(deadline=None)
@given(st.lists(st.integers(0, 4), min_size=4, max_size=60), st.integers(2, 4))
def test_one_class_a_sample_is_stratified_exactly(classes, n_folds):
    folds = stratified_folds(classes, n_folds, random_state=0)

    for one in set(classes):
        counts = np.bincount(folds[np.array(classes) == one], minlength=n_folds)
        assert counts.max() - counts.min() <= 1


def test_frequent_labels_have_their_share_in_every_fold():
    Y = random_labels(4_000, 60, per_point=2.0)
    counts = np.asarray(Y.sum(axis=0))

    folds = stratified_folds(Y, 5, random_state=0)

    for fold in range(5):
        there = np.asarray(Y[folds == fold].sum(axis=0))
        assert np.abs(there - counts / 5).max() <= 3


def test_labels_are_balanced_far_better_than_by_a_random_split():
    Y = random_labels(3_000, 200, per_point=3.0)
    random_test = np.random.default_rng(0).permutation(3_000)[:600]
    frequent = np.asarray(Y.sum(axis=0)) >= 20

    _, test = stratified_split(Y, 0.2, random_state=0)

    error = np.abs(label_shares(Y, test) - 0.2)[frequent].mean()
    random_error = np.abs(label_shares(Y, random_test) - 0.2)[frequent].mean()
    assert error < random_error / 4


def test_samples_without_labels_are_spread_evenly():
    Y = sp.vstack([random_labels(100, 5), sp.csr_array((40, 5))], format="csr")

    folds = stratified_folds(Y, 4, random_state=0)

    unlabeled = np.diff(Y.indptr) == 0
    assert np.bincount(folds[unlabeled]).min() >= np.count_nonzero(unlabeled) // 4 - 3


def test_labels_that_occur_once_leave_no_part_empty():
    train, test = stratified_split(sp.eye_array(50, format="csr"), 0.2, random_state=0)

    assert (train.size, test.size) == (40, 10)


def test_a_matrix_without_labels_is_still_split():
    train, test = stratified_split(sp.csr_array((10, 0)), 0.3, random_state=0)

    assert (train.size, test.size) == (7, 3)


def test_the_seed_decides_the_split():
    Y = random_labels(200, 20)

    folds = [stratified_folds(Y, 4, random_state=seed) for seed in (0, 0, 1)]

    np.testing.assert_array_equal(folds[0], folds[1])
    assert (folds[0] != folds[2]).any()


def test_every_row_can_get_into_the_test_part():
    Y = random_labels(20, 4)

    seen = {row for seed in range(60) for row in stratified_split(Y, 0.2, random_state=seed)[1]}

    assert seen == set(range(20))


def test_a_dataset_is_split_with_all_that_belongs_to_its_samples():
    n = 30
    data = Dataset(
        X=random_csr(n, 8, density=0.5),
        Y=random_labels(n, 5),
        ids=[f"id {i}" for i in range(n)],
        description="made up",
    )

    train, test = split(data, 0.3, random_state=0)

    assert (len(train), len(test)) == (21, 9)
    assert train.description == "made up"
    for part in (train, test):
        rows = [int(name.split()[1]) for name in part.ids]
        np.testing.assert_array_equal(part.X.toarray(), data.X[rows].toarray())
        np.testing.assert_array_equal(part.Y.toarray(), data.Y[rows].toarray())


@pytest.mark.parametrize("test_size", [0, 1, 1.0, -0.1, float("nan"), "half", None])
def test_a_test_size_outside_zero_and_one_is_refused(test_size):
    with pytest.raises(ParameterError, match="'test_size' parameter of stratified_split must be"):
        stratified_split(random_labels(10, 2), test_size)


@pytest.mark.parametrize("n_folds", [1, 0, 2.0, None])
def test_a_number_of_folds_below_two_is_refused(n_folds):
    with pytest.raises(ParameterError, match="'n_folds' parameter of stratified_folds must be"):
        stratified_folds(random_labels(10, 2), n_folds)


def test_more_parts_than_samples_are_refused():
    with pytest.raises(DataError, match="3 samples cannot be split into 4 folds"):
        stratified_folds(random_labels(3, 2), 4)
    with pytest.raises(DataError, match=r"At least 2 samples are needed for a split\. Got 1"):
        stratified_split(random_labels(1, 2))


def test_a_bad_seed_is_refused():
    with pytest.raises(ParameterError, match="'random_state'"):
        stratified_split(random_labels(10, 2), random_state=-1)


def test_labels_that_are_no_indicator_are_refused():
    with pytest.raises(DataError, match="Y must hold zeros and ones"):
        stratified_split(sp.csr_array([[2.0, 0.0], [0.0, 1.0]]))


@pytest.mark.shared
def test_folds_of_real_bookmarks_have_the_shares_of_their_tags(shared_data: Path):
    import lzma

    with lzma.open(shared_data / "bibtex" / "train.txt.xz", "rt") as file:
        next(file)
        tags = [line.split(" ", 1)[0].split(",") for line in file]

    folds = stratified_folds(tags, 3, random_state=0)

    names = sorted({tag for one in tags for tag in one})
    counts = np.array(
        [
            [
                sum(tag in one for one, j in zip(tags, folds, strict=True) if j == f)
                for f in range(3)
            ]
            for tag in names[:20]
        ]
    )
    assert np.abs(counts - counts.mean(axis=1, keepdims=True)).max() <= 6
