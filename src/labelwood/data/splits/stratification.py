"""Stratified splits of sparse multi-label data.

Iterative stratification (Sechidis, Tsoumakas and Vlahavas 2011, "On the
stratification of multi-label data"): the rarest label is spread over the folds
first, because a frequent one can still be balanced later. Two things are added:
the rows and labels are shuffled by the seed first, and fold sizes are exact.
"""

import numpy as np
from numpy.typing import NDArray

from labelwood.core.labels import encode_labels
from labelwood.core.params import RANDOM_STATE, Integer, Real, check_parameter
from labelwood.core.random import RandomState, seed_sequence
from labelwood.core.sparse import csr_arrays
from labelwood.core.types import CSR, DoubleArray, PointerArray
from labelwood.data.dataset import Dataset
from labelwood.errors import DataError


def stratified_folds(
    Y: object, n_folds: int, random_state: RandomState = None
) -> NDArray[np.int32]:
    """Assign every row to one of `n_folds` folds with like shares of every label.

    Parameters
    ----------
    Y : labels of n samples
        A CSR indicator, a list of label lists, or one class for each sample.
    n_folds : int
        The number of folds, 2…n; their sizes differ by at most one.
    random_state : int, generator or None
        The seed. The same seed gives the same folds.

    Returns
    -------
    int32 array of shape (n,)
        The fold of each row, 0…n_folds−1.

    Examples
    --------
    >>> folds = stratified_folds([["a"], ["a"], ["a", "b"], ["a", "b"], [], []], 2, random_state=0)
    >>> folds[:2].tolist() in ([0, 1], [1, 0]), folds[2:4].tolist() in ([0, 1], [1, 0])
    (True, True)
    """
    check_parameter("stratified_folds", "n_folds", n_folds, Integer(low=2))
    indicator = encode_labels(Y).Y
    n = indicator.shape[0]
    if n < n_folds:
        raise DataError(f"{n} samples cannot be split into {n_folds} folds.")
    sizes = np.full(n_folds, n // n_folds, dtype=np.int64)
    sizes[: n % n_folds] += 1
    return _assign(indicator, np.full(n_folds, 1 / n_folds), sizes, random_state)


def stratified_split(
    Y: object, test_size: float = 0.2, random_state: RandomState = None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Split rows in two with like shares of every label.

    Labels too rare to be in both parts tend to stay in the training part.

    Parameters
    ----------
    Y : labels of n samples
        As for `stratified_folds`.
    test_size : float
        The share of the samples in the test part, rounded to at least one sample and at
        most all but one.
    random_state : int, generator or None
        The seed.

    Returns
    -------
    tuple of int arrays
        Increasing row numbers; every row is in one of them.

    Examples
    --------
    >>> train, test = stratified_split([["a"], ["b"]] * 5, test_size=0.4, random_state=0)
    >>> train.size, test.size, int((test % 2).sum())
    (6, 4, 2)
    """
    indicator = encode_labels(Y).Y
    n = indicator.shape[0]
    n_test = _n_test(n, test_size, "stratified_split")
    sizes = np.array([n - n_test, n_test], dtype=np.int64)
    in_test = _assign(indicator, sizes / n, sizes, random_state) == 1
    return np.flatnonzero(~in_test), np.flatnonzero(in_test)


def random_split(
    n_samples: int, test_size: float = 0.2, random_state: RandomState = None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Split row numbers in two at random, whatever their labels; else as `stratified_split`.

    Examples
    --------
    >>> train, test = random_split(10, test_size=0.4, random_state=0)
    >>> train.size, test.size, sorted([*train.tolist(), *test.tolist()]) == list(range(10))
    (6, 4, True)
    """
    n_test = _n_test(n_samples, test_size, "random_split")
    check_parameter("random_split", "random_state", random_state, RANDOM_STATE)
    rows = np.random.default_rng(seed_sequence(random_state)).permutation(n_samples)
    return np.sort(rows[n_test:]), np.sort(rows[:n_test])


def _n_test(n: int, test_size: float, owner: str) -> int:
    check_parameter(owner, "test_size", test_size, Real(above=0, below=1))
    if n < 2:
        raise DataError(f"At least 2 samples are needed for a split. Got {n}.")
    return min(max(round(n * test_size), 1), n - 1)


def split(
    dataset: Dataset, test_size: float = 0.2, random_state: RandomState = None
) -> tuple[Dataset, Dataset]:
    """Split a data set in a training and a test part, as `stratified_split` does."""
    train, test = stratified_split(dataset.Y, test_size, random_state)
    return dataset.select(train), dataset.select(test)


def _assign(
    Y: CSR, shares: DoubleArray, sizes: PointerArray, random_state: object
) -> NDArray[np.int32]:
    """Stratify after a shuffle: the kernel's ties go by position, so the seed decides them."""
    check_parameter("stratification", "random_state", random_state, RANDOM_STATE)
    rng = np.random.default_rng(seed_sequence(random_state))
    rows, labels = rng.permutation(Y.shape[0]), rng.permutation(Y.shape[1])
    fold = np.empty(Y.shape[0], dtype=np.int32)
    fold[rows] = _stratify(Y[rows][:, labels], shares, sizes)
    return fold


def _stratify(Y: CSR, shares: DoubleArray, sizes: PointerArray) -> NDArray[np.int32]:
    from labelwood.data.splits._kernels import stratify

    by_row, by_label = csr_arrays(Y), csr_arrays(Y.T.tocsr())
    return stratify(by_row.indptr, by_row.indices, by_label.indptr, by_label.indices, shares, sizes)
