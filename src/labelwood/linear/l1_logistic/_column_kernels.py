"""Some rows of a CSR matrix by column, for solvers that go from feature to feature."""

import numpy as np

from labelwood.core.allocation import empty
from labelwood.core.kernel import kernel
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import FloatArray, IndexArray, PointerArray

_ONE, _TWO = np.uint64(1), np.uint64(2)


@kernel
def gather_columns(
    X: CSRArrays,
    first_row: int,
    signs: FloatArray,
    costs: FloatArray,
    bias: float,
    least: float,
    cells: IndexArray,
    indices: IndexArray,
    data: FloatArray,
) -> tuple[IndexArray, CSRArrays]:
    """The columns of as many rows as there are signs, from `first_row` on.

    Those whose gradient at w = 0 is at most `least` in size are left out; where there is a
    bias, a constant column comes last. The other answer is which features the columns are.

    `cells` holds two zeros for each feature, and is left so. `indices` and `data` are filled;
    they need space for one entry more than the rows have, and for the constant column.
    """
    n = signs.size
    n_entries = X.indptr[first_row + n] - X.indptr[first_row]
    features = empty(min(n_entries, cells.size // 2) + 1, np.uint32)
    n_features = _tally(X, first_row, signs, costs, cells, features)
    indptr = empty(n_features + 2, np.int64)
    n_features = _choose_columns(features[:n_features], least, cells, indptr)
    _fill_columns(X, first_row, n, cells, indices, data)
    for t in range(n_features):
        cells[np.uint64(features[t]) * _TWO] = 0
    n_columns, end = n_features, indptr[n_features]
    if bias != 0:
        for k in range(n):
            indices[end + k], data[end + k] = k, bias
        n_columns += 1
        indptr[n_columns] = end + n
    return features[:n_features], CSRArrays(indptr[: n_columns + 1], indices, data)


@kernel
def _tally(
    X: CSRArrays,
    first_row: int,
    signs: FloatArray,
    costs: FloatArray,
    cells: IndexArray,
    features: IndexArray,
) -> int:
    """List the features of the rows; their cells get the count and the gradient at w = 0."""
    # Count and gradient of a feature are neighbors in memory, so that both cost one cache miss; the
    # second cell holds the gradient as the bits of a float32.
    gradients = cells.view(np.float32)
    n_features = np.uint64(0)
    for k in range(signs.size):
        i = np.uint64(first_row + k)
        slope = np.float32(-0.5) * signs[k] * costs[k]
        for p in range(np.uint64(X.indptr[i]), np.uint64(X.indptr[i + _ONE])):
            cell = np.uint64(X.indices[p]) * _TWO
            count = cells[cell]
            # A branch on whether the feature is new would be unpredictable: it is always written,
            # and the length grows only if it is new.
            features[n_features] = X.indices[p]
            n_features += np.uint64(count == 0)
            cells[cell] = count + np.uint32(1)
            gradients[cell + _ONE] += slope * X.data[p]
    return int(n_features)


@kernel
def _choose_columns(
    features: IndexArray, least: float, cells: IndexArray, indptr: PointerArray
) -> int:
    """Keep the features with a gradient above `least`; their cells tell where they start.

    All other cells become zero, a place where no column starts. Returns how many are kept.
    """
    gradients = cells.view(np.float32)
    kept, end = 0, 1
    for t in range(features.size):
        cell = np.uint64(features[t]) * _TWO
        count = cells[cell]
        cells[cell] = 0
        if abs(gradients[cell + _ONE]) > least:
            indptr[kept] = end
            features[kept] = features[t]
            kept += 1
            cells[cell] = end
            end += count
        gradients[cell + _ONE] = 0
    indptr[kept] = end
    return kept


@kernel
def _fill_columns(
    X: CSRArrays, first_row: int, n: int, cells: IndexArray, indices: IndexArray, data: FloatArray
) -> None:
    """Write each entry where its cell points to; those of no column all go to place 0."""
    for k in range(n):
        i = np.uint64(first_row + k)
        for p in range(np.uint64(X.indptr[i]), np.uint64(X.indptr[i + _ONE])):
            cell = np.uint64(X.indices[p]) * _TWO
            to = np.uint64(cells[cell])
            indices[to] = k
            data[to] = X.data[p]
            # Cell 0 never moves, so that the entries of columns left out overwrite each other there
            # and no branch is needed.
            cells[cell] = to + np.uint64(to > 0)
