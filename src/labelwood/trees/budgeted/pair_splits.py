"""A split for samples that no linear decision tells apart: pairs of features that decide together.

When the product of two (centered) features tells the classes apart, a split at the mean of one
of them leaves samples that the other separates by a line. The products of all pairs are compared
on a sample of rows; the few best are judged on all rows.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from labelwood.core.columns import column_moments, varying
from labelwood.core.sparse import compact_columns, csr_arrays, entry_rows, make_csr
from labelwood.core.types import CSR, AnyArray, DoubleArray, PointerArray

_DENSE_WORK = 5e10  # products of two values that a search may cost, where most are not zero
_SPARSE_WORK = 1e7  # and where most are; these are held in memory
_MOST_ROWS = 4_000
_LEAST_ROWS = 400  # what a sample is not reduced below; columns are left out instead
_MIN_CLASS = 25  # samples of each class, and non-zeros, that a mean can rest on
_DENSE_SHARE = 0.1
_BLOCK = 1_024
_TOP = 50
_CHANCE = 0.01  # that the best of all pairs is accepted where none matters


class PairSplit(NamedTuple):
    """Split at `mean` of `feature`; `partner` (it may be the same) then separates the classes.

    `z` is the difference of the mean products of the two classes in standard errors.
    """

    feature: int
    partner: int
    mean: float
    deviation: float
    z: float


def find_pair(X: CSR, signs: DoubleArray) -> PairSplit | None:
    """The pair of features whose product differs most between the classes, if any surely does.

    Pairs are compared by |mean product in one class − in the other| of standardized
    features, samples of each class counting alike. None is returned unless the best exceeds
    what the best of as many pairs without meaning would reach in a hundredth of all cases.

    Examples
    --------
    >>> from labelwood.core.sparse import as_csr
    >>> x = np.random.default_rng(0).standard_normal((500, 9))
    >>> found = find_pair(as_csr(x), np.sign(x[:, 2] * x[:, 7]))
    >>> sorted([found.feature, found.partner])
    [2, 7]
    """
    if min(np.count_nonzero(signs > 0), np.count_nonzero(signs < 0)) < _MIN_CLASS:
        return None
    arrays, features = compact_columns(X)
    X = make_csr(*arrays[:2], arrays.data, (X.shape[0], features.size))
    columns, means, deviations = _candidates(X)
    if columns.size == 0:
        return None
    dense = X.nnz > _DENSE_SHARE * X.shape[0] * columns.size
    X = X[:, columns]
    rows = _sample(X, signs, dense)
    # The columns with the fewest zeros, if not all can be compared.
    n_columns = _dense_limit(rows.size) if dense else _sparse_limit(X[rows])
    columns = columns[:n_columns]
    if columns.size == 0:
        return None
    X, means, deviations = X[:, : columns.size], means[columns], deviations[columns]
    compare = _dense_pairs if dense else _sparse_pairs
    pairs = compare(X[rows], _contrast(signs[rows]), means, deviations)
    best = _judge(sp.csc_array(X), signs, means, pairs)
    n_pairs = columns.size * (columns.size + 1) / 2
    if best is None or best[0] ** 2 <= 2 * np.log(n_pairs / _CHANCE):
        return None
    z, one, other = best
    feature, partner = features[columns[[one, other]]].tolist()
    return PairSplit(feature, partner, float(means[one]), float(deviations[one]), z)


def memory_of_pairs(X: CSR) -> int:
    """Bytes that a search among all rows may take, besides a few copies of them."""
    n, d = X.shape
    if X.nnz > _DENSE_SHARE * n * d:
        return 8 * min(n, _MOST_ROWS) * min(d, _dense_limit(n)) + 24 * _BLOCK**2
    products = np.sum(np.diff(X.indptr).astype(np.float64) ** 2) * min(1, _MOST_ROWS / n)
    return int(64 * min(products, _SPARSE_WORK))


def _candidates(X: CSR) -> tuple[PointerArray, DoubleArray, DoubleArray]:
    """Columns that vary, those with the fewest zeros first; means and deviations of all."""
    counts = np.bincount(X.indices, minlength=X.shape[1])
    means, deviations = column_moments(csr_arrays(X), X.shape[1], np.ones(X.shape[0]))
    varies = (counts >= _MIN_CLASS) & varying(means, deviations)
    order = np.argsort(-counts, kind="stable")
    return order[varies[order]].astype(np.int64), means, deviations


def _dense_limit(n_rows: int) -> int:
    """Columns that a dense search on so many rows can compare."""
    return int(np.sqrt(_DENSE_WORK / min(n_rows, _LEAST_ROWS)))


def _sparse_limit(X: CSR) -> int:
    """The most first columns with at most `_SPARSE_WORK` products of two values of a row."""
    row = entry_rows(X)
    low, high = 0, X.shape[1]
    while low < high:
        middle = (low + high + 1) // 2
        lengths = np.bincount(row[X.indices < middle], minlength=X.shape[0])
        if np.sum(lengths.astype(np.float64) ** 2) <= _SPARSE_WORK:
            low = middle
        else:
            high = middle - 1
    return low


def _sample(X: CSR, signs: DoubleArray, dense: bool) -> PointerArray:
    """Rows at even distances, equally many of each class where there are as many."""
    if dense:
        most = _DENSE_WORK / X.shape[1] ** 2
    else:
        lengths = np.diff(X.indptr).astype(np.float64)
        most = _SPARSE_WORK / max(float(np.mean(lengths**2)), 1.0)
    n_rows = int(min(max(most, _LEAST_ROWS), _MOST_ROWS))
    parts = []
    for members in (np.flatnonzero(signs < 0), np.flatnonzero(signs > 0)):
        size = min(members.size, n_rows // 2)
        parts.append(members[np.linspace(0, members.size - 1, size).astype(np.int64)])
    return np.sort(np.concatenate(parts))


def _contrast(signs: DoubleArray) -> DoubleArray:
    """Weights under which a sum is the mean of one class minus that of the other."""
    positive = signs > 0
    n_positive = np.count_nonzero(positive)
    return np.where(positive, 1 / n_positive, -1 / (signs.size - n_positive))


def _dense_pairs(
    X: CSR, contrast: DoubleArray, means: DoubleArray, deviations: DoubleArray
) -> list[tuple[int, int]]:
    """The best pairs, block by block of columns."""
    values = X.toarray()
    values -= means
    values /= deviations
    starts = range(0, values.shape[1], _BLOCK)
    first, second, scores = [], [], []
    for start in starts:
        left = (values[:, start : start + _BLOCK] * contrast[:, None]).astype(np.float32).T
        for other in range(start, values.shape[1], _BLOCK):
            products = np.abs(left @ values[:, other : other + _BLOCK])
            if other == start:
                products = np.triu(products)
            best = _largest(products.ravel())
            first.append(start + best // products.shape[1])
            second.append(other + best % products.shape[1])
            scores.append(products.ravel()[best])
    return _top(np.concatenate(first), np.concatenate(second), np.concatenate(scores))


def _sparse_pairs(
    X: CSR, contrast: DoubleArray, means: DoubleArray, deviations: DoubleArray
) -> list[tuple[int, int]]:
    """The best pairs among those that occur together in a row."""
    values = X.data * np.repeat(contrast, np.diff(X.indptr))
    weighted = make_csr(X.indptr, X.indices, values, X.shape)
    sums = np.asarray(weighted.sum(axis=0)).ravel()
    products = sp.coo_array(sp.triu(weighted.T @ X))
    one, other = products.coords
    # Σ c (x − m)(x' − m') = Σ c x x' − m Σ c x' − m' Σ c x, as Σ c = 0.
    centered = products.data - means[one] * sums[other] - means[other] * sums[one]
    scores = np.abs(centered) / (deviations[one] * deviations[other])
    return _top(one, other, scores)


def _largest(scores: AnyArray) -> PointerArray:
    if scores.size <= _TOP:
        return np.arange(scores.size, dtype=np.int64)
    return np.argpartition(scores, -_TOP)[-_TOP:].astype(np.int64)


def _top(first: AnyArray, second: AnyArray, scores: AnyArray) -> list[tuple[int, int]]:
    best = _largest(scores)
    return sorted(zip(first[best].tolist(), second[best].tolist(), strict=True))


def _judge(
    X: sp.csc_array, signs: DoubleArray, means: DoubleArray, pairs: list[tuple[int, int]]
) -> tuple[float, int, int] | None:
    """The pair whose mean products differ by the most standard errors, on all rows.

    The error is that of classes which do not differ: the variance of a small class of its own
    is too small as long as a rare product has not occurred in it. For the same reason the smaller
    class must be due `_MIN_CLASS` products that are not 0.

    First comes the feature whose mean is closer to the middle of the samples.
    """
    positive = signs > 0
    share = min(positive.mean(), 1 - positive.mean())
    contrast = _contrast(signs)
    best: tuple[float, DoubleArray, DoubleArray, int, int] | None = None
    for one, other in pairs:
        a, b = _column(X, one), _column(X, other)
        if np.count_nonzero(a * b) * share < _MIN_CLASS:
            continue
        a, b = a - means[one], b - means[other]
        products = a * b
        error = products.std() * np.linalg.norm(contrast)
        if error > 0:
            z = float(abs(contrast @ products) / error)
            if best is None or z > best[0]:
                best = z, a, b, one, other
    if best is None:
        return None
    z, a, b, one, other = best
    uneven = [abs(np.mean(centered > 0) - 0.5) for centered in (a, b)]
    return (z, one, other) if uneven[0] <= uneven[1] else (z, other, one)


def _column(X: sp.csc_array, column: int) -> DoubleArray:
    values = np.zeros(X.shape[0])
    part = slice(X.indptr[column], X.indptr[column + 1])
    values[X.indices[part]] = X.data[part]
    return values
