"""Features picked from wide sparse rows: scores of all, and the compact copy of a few.

Every kernel costs a pass or two over non-zeros, whatever the number of columns.
"""

from typing import NamedTuple

import numpy as np

from labelwood.core.allocation import empty, zeros
from labelwood.core.kernel import exact_kernel
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import DoubleArray, IndexArray

_FREE = np.uint32(2**32 - 1)  # no column has this number: `csr_arrays` refuses so many
_ONE = np.uint64(1)
_NEGLIGIBLE = 1e-9  # a sum that is nothing but rounding, as a share of its terms


class FeatureTable(NamedTuple):
    """A hash table from features to 0…m−1 (Liu & Tsang 2017, §7), free slots marked."""

    keys: IndexArray
    positions: IndexArray


@exact_kernel
def column_scores(X: CSRArrays, residuals: DoubleArray, scores: DoubleArray) -> None:
    """Add (Σ_i r_i x_ij)² to the score of every column, for every row of `residuals`."""
    sums = empty(scores.size, np.float64)
    for v in range(residuals.shape[0]):
        _column_sums(X, residuals[v], sums)
        for j in range(scores.size):
            scores[j] += sums[j] * sums[j]


@exact_kernel
def _column_sums(X: CSRArrays, residuals: DoubleArray, sums: DoubleArray) -> None:
    """Σ_i r_i x_ij of every column; those that are nothing but rounding of their terms are 0."""
    sizes = zeros(sums.size, np.float64)
    for j in range(sums.size):
        sums[j] = 0.0
    for i in range(residuals.size):
        r = residuals[i]
        if r != 0:
            for p in range(np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])):
                sums[X.indices[p]] += r * X.data[p]
                sizes[X.indices[p]] += abs(r * X.data[p])
    for j in range(sums.size):
        # Terms that cancel leave rounding errors, by which no feature should be chosen.
        if abs(sums[j]) <= _NEGLIGIBLE * sizes[j]:
            sums[j] = 0.0


@exact_kernel
def feature_table(features: IndexArray) -> FeatureTable:
    """Hash the features, at most a quarter of the slots being taken."""
    size = 4
    # Nearly all features of a wide row are not in the table: at a quarter full, most of these
    # misses end at their first slot.
    while size < 4 * features.size:
        size *= 2
    keys, positions = empty(size, np.uint32), zeros(size, np.uint32)
    for k in range(size):
        keys[k] = _FREE
    mask = np.uint64(size - 1)
    for k in range(features.size):
        slot = _first_slot(features[k], mask)
        while keys[slot] != _FREE:
            slot = (slot + _ONE) & mask
        keys[slot] = features[k]
        positions[slot] = k
    return FeatureTable(keys, positions)


@exact_kernel
def _first_slot(feature: np.uint32, mask: np.uint64) -> np.uint64:
    # Fibonacci hashing: the middle bits of the product depend on all bits of the feature.
    return ((np.uint64(feature) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)) & mask


@exact_kernel
def _find(table: FeatureTable, feature: np.uint32, mask: np.uint64) -> np.uint64:
    """The slot of a feature, or a free one when it is not in the table."""
    slot = _first_slot(feature, mask)
    while table.keys[slot] != feature and table.keys[slot] != _FREE:
        slot = (slot + _ONE) & mask
    return slot


@exact_kernel
def restrict(X: CSRArrays, table: FeatureTable) -> CSRArrays:
    """The columns in the table only, renumbered by it."""
    n = X.indptr.size - 1
    mask = np.uint64(table.keys.size - 1)
    indptr = zeros(n + 1, np.int64)
    for i in range(n):
        count = 0
        for p in range(np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])):
            if table.keys[_find(table, X.indices[p], mask)] != _FREE:
                count += 1
        indptr[i + 1] = indptr[i] + count
    indices = empty(indptr[n], np.uint32)
    data = empty(indptr[n], np.float32)
    q = 0
    for i in range(n):
        for p in range(np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])):
            slot = _find(table, X.indices[p], mask)
            if table.keys[slot] != _FREE:
                indices[q] = table.positions[slot]
                data[q] = X.data[p]
                q += 1
    return CSRArrays(indptr, indices, data)


@exact_kernel
def decide(
    X: CSRArrays, table: FeatureTable, coef: DoubleArray, intercepts: DoubleArray
) -> DoubleArray:
    """Scores of rows under decisions (n_decisions, m) on the m features of the table."""
    n = X.indptr.size - 1
    mask = np.uint64(table.keys.size - 1)
    scores = empty((coef.shape[0], n), np.float64)
    for i in range(n):
        for v in range(coef.shape[0]):
            scores[v, i] = intercepts[v]
        for p in range(np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])):
            slot = _find(table, X.indices[p], mask)
            if table.keys[slot] != _FREE:
                for v in range(coef.shape[0]):
                    scores[v, i] += coef[v, table.positions[slot]] * X.data[p]
    return scores


@exact_kernel
def margins(X: CSRArrays, w: DoubleArray, out: DoubleArray) -> None:
    """Every row's product with every row of `w`, in `out` of shape (n_problems, n)."""
    for v in range(w.shape[0]):
        for i in range(out.shape[1]):
            total = 0.0
            for p in range(np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])):
                total += w[v, X.indices[p]] * X.data[p]
            out[v, i] = total


@exact_kernel
def combine(X: CSRArrays, residuals: DoubleArray, out: DoubleArray) -> None:
    """Σ_i r_i x_i for every row of `residuals`, in `out` of shape (n_problems, n_columns)."""
    for v in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[v, j] = 0.0
        for i in range(residuals.shape[1]):
            r = residuals[v, i]
            if r != 0:
                for p in range(np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])):
                    out[v, X.indices[p]] += r * X.data[p]


@exact_kernel
def saliency(
    X: CSRArrays, residuals: DoubleArray, costs: DoubleArray, fit_intercept: bool, w: DoubleArray
) -> DoubleArray:
    """Twice the rise of the objective when a weight goes to zero, by its curvature h: Σ_v w² h."""
    total, curvature = zeros(w.shape[1], np.float64), empty(w.shape[1], np.float64)
    for v in range(w.shape[0]):
        _curvature(X, residuals[v], costs[v], fit_intercept, curvature)
        for j in range(w.shape[1]):
            total[j] += w[v, j] * w[v, j] * curvature[j]
    return total


@exact_kernel
def expected_gains(
    X: CSRArrays, residuals: DoubleArray, costs: DoubleArray, fit_intercept: bool, n_columns: int
) -> DoubleArray:
    """Half the fall of the objective when a weight leaves zero, by Newton's step: Σ_v (Σ r x)²/h.

    The slope at zero is −2 Σ_i r_i x_ij, and h the curvature.
    """
    total = zeros(n_columns, np.float64)
    sums, curvature = empty(n_columns, np.float64), empty(n_columns, np.float64)
    for v in range(residuals.shape[0]):
        _column_sums(X, residuals[v], sums)
        _curvature(X, residuals[v], costs[v], fit_intercept, curvature)
        for j in range(n_columns):
            total[j] += sums[j] * sums[j] / curvature[j]
    return total


@exact_kernel
def _curvature(
    X: CSRArrays, residuals: DoubleArray, costs: DoubleArray, fit_intercept: bool, out: DoubleArray
) -> None:
    """1 + 2 Σ_i c_i x_ij² of every column, over rows of positive slack.

    Where the intercept follows the weight, x is counted from its mean over these rows.
    """
    sums, mass = zeros(out.size, np.float64), 0.0
    for j in range(out.size):
        out[j] = 0.0
    for i in range(residuals.size):
        if residuals[i] != 0:
            mass += costs[i]
            for p in range(np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])):
                x = np.float64(X.data[p])
                out[X.indices[p]] += costs[i] * x * x
                sums[X.indices[p]] += costs[i] * x
    for j in range(out.size):
        variation = out[j]
        if fit_intercept and mass > 0:
            # Rounding may leave less than nothing of the variation of a nearly constant column.
            variation = max(variation - sums[j] * sums[j] / mass, _NEGLIGIBLE * variation)
        out[j] = 1.0 + 2.0 * variation
