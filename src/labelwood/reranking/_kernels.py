"""Dot products of samples and centers, and centers of maximum likelihood.

The likelihood and its gradient are those of Jain, Prabhu & Varma 2016, supplement, eq. (43)–(46);
it is maximized by nonlinear conjugate gradients (Polak–Ribière) with a backtracking line search.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelwood.core._order_kernels import resized
from labelwood.core._row_kernels import unit_rows
from labelwood.core.kernel import exact_kernel, kernel
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import DoubleArray, FloatArray, IndexArray, PointerArray

# Samples with tiny residuals are left out of the gradient, so that it stays sparse; all of them
# together may change its length by at most this share of the tolerance.
_NEGLIGIBLE = 0.01
_ARMIJO = 1e-4  # share of the first-order gain that a step must reach, the usual constant
_MAX_BACKTRACKS = 50


@exact_kernel
def _dot(
    data: FloatArray, indices: IndexArray, first: np.uint64, end: np.uint64, dense: FloatArray
) -> float:
    """The product of data[first:end] with the numbers of `dense` at its indices.

    Four sums take turns, as each addition waits for the one before it. Their order is fixed: a row
    scores alone as it does among others.
    """
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    p = first
    while p + np.uint64(4) <= end:
        q, r, s = p + np.uint64(1), p + np.uint64(2), p + np.uint64(3)
        a += np.float64(data[p]) * np.float64(dense[indices[p]])
        b += np.float64(data[q]) * np.float64(dense[indices[q]])
        c += np.float64(data[r]) * np.float64(dense[indices[r]])
        d += np.float64(data[s]) * np.float64(dense[indices[s]])
        p += np.uint64(4)
    while p < end:
        a += np.float64(data[p]) * np.float64(dense[indices[p]])
        p += np.uint64(1)
    return (a + b) + (c + d)


@exact_kernel
def scaled_row(X: CSRArrays, unit: bool) -> tuple[CSRArrays, DoubleArray]:
    """The only row of X, with `unit` scaled to length one, and its squared length.

    Both are to the bit what `core.sparse` gives outside of kernels.
    """
    row = unit_rows(X) if unit else X
    squares = np.zeros(1)
    for p in range(row.indptr[1]):
        squares[0] += np.float64(row.data[p]) * np.float64(row.data[p])
    return row, squares


class Bounds(NamedTuple):
    """What tells how many labels of a row must be looked at for its `k` best.

    A label's score is its entry of `scores` and `share` times log P, and at most its entry of
    `highest`, which falls from label to label. The exponent of P is `steepness` times the squared
    distance, and `offset`.
    """

    scores: FloatArray
    highest: FloatArray
    share: float
    steepness: float
    offset: float
    k: int


@exact_kernel
def row_products(
    X: CSRArrays,
    squares: float,
    labels: NDArray[np.int32],
    centers: CSRArrays,
    center_squares: DoubleArray,
    bounds: Bounds,
    n_features: int,
) -> DoubleArray:
    """Products of the only row of `X` with the centers of the first labels, as far as they matter.

    The terms of a center are written where the row has the feature, into an array as short as the
    row, and those that the row has not to its place 0: nothing as long as the features is cleared.
    """
    n = X.indptr[1]
    places = np.zeros(n_features, dtype=np.uint32)
    gathered, order = np.zeros(n + 1, dtype=np.float32), np.empty(n, dtype=np.uint32)
    for p in range(n):
        places[X.indices[p]] = p + 1
        order[p] = p + 1
    products, best = np.empty(labels.size), np.full(bounds.k, -np.inf)
    for k in range(labels.size):
        # `highest` falls from label to label, so that no later label can be among the best either.
        if k >= bounds.k and bounds.highest[k] < best[bounds.k - 1]:
            return resized(products, k)
        # A branch on whether the row has the feature would be unpredictable; a store to place 0
        # costs nothing.
        begin, stop = centers.indptr[labels[k]], centers.indptr[labels[k] + 1]
        for p in range(np.uint64(begin), np.uint64(stop)):
            gathered[places[centers.indices[p]]] = centers.data[p]
        products[k] = _dot(X.data, order, np.uint64(0), np.uint64(n), gathered)
        for p in range(n + 1):
            gathered[p] = 0
        # This score only decides where to stop; bounds leave more room than it can be wrong by.
        distance = max(squares - 2 * products[k] + center_squares[labels[k]], 0.0)
        _insert_score(best, bounds.scores[k] + bounds.share * _log_p(distance, bounds))
    return products


@exact_kernel
def _log_p(distance: float, bounds: Bounds) -> float:
    """−log(1 + exp(e)), nearly: what a caller computes in the end may differ in the last bit."""
    e = bounds.steepness * distance + bounds.offset
    return -(max(e, 0.0) + np.log1p(np.exp(-abs(e))))


@exact_kernel
def _insert_score(best: DoubleArray, score: float) -> None:
    """Give a score its place among the best, which fall."""
    place = best.size - 1
    if not score > best[place]:
        return
    while place > 0 and best[place - 1] < score:
        best[place] = best[place - 1]
        place -= 1
    best[place] = score


@kernel
def pair_products(
    X: CSRArrays,
    rows: PointerArray,
    labels: NDArray[np.int32],
    centers: CSRArrays,
    dense: FloatArray,
) -> DoubleArray:
    """x_i · μ_l of each pair (i, l).

    Pairs of the same label must be next to each other: its center is scattered into `dense`, which
    must hold zeros, once for all of them.
    """
    products = np.empty(rows.size)
    present = np.int32(-1)
    first, end = np.uint64(0), np.uint64(0)
    for k in range(rows.size):
        if labels[k] != present:
            for p in range(first, end):
                dense[centers.indices[p]] = 0
            present = labels[k]
            first = np.uint64(centers.indptr[present])
            end = np.uint64(centers.indptr[present + 1])
            for p in range(first, end):
                dense[centers.indices[p]] = centers.data[p]
        begin, stop = np.uint64(X.indptr[rows[k]]), np.uint64(X.indptr[rows[k] + 1])
        products[k] = _dot(X.data, X.indices, begin, stop, dense)
    return products


class Samples(NamedTuple):
    """The training samples by rows and by columns, and their squared norms."""

    rows: CSRArrays
    columns: CSRArrays
    squares: DoubleArray


class Workspace(NamedTuple):
    """Arrays for one label at a time; all zeros (False) before and after.

    The first four have an entry for each feature, and only features that are listed in `support`
    (and marked in `in_support`) are not zero; the arrays after `in_support` have an entry for each
    sample. `previous` is the gradient of the last iteration, `curvatures` are second derivatives
    by the exponent.
    """

    center: DoubleArray
    previous: DoubleArray
    gradient: DoubleArray
    direction: DoubleArray
    support: IndexArray
    in_support: NDArray[np.bool_]
    positive: NDArray[np.bool_]
    products: DoubleArray
    direction_products: DoubleArray
    residuals: DoubleArray
    curvatures: DoubleArray


@kernel
def _allocate_workspace(n_features: int, n_samples: int) -> Workspace:
    return Workspace(
        np.zeros(n_features),
        np.zeros(n_features),
        np.zeros(n_features),
        np.zeros(n_features),
        np.zeros(n_features, dtype=np.uint32),
        np.zeros(n_features, dtype=np.bool_),
        np.zeros(n_samples, dtype=np.bool_),
        np.zeros(n_samples),
        np.zeros(n_samples),
        np.zeros(n_samples),
        np.zeros(n_samples),
    )


@kernel
def _project(
    columns: CSRArrays, support: IndexArray, vector: DoubleArray, out: DoubleArray
) -> None:
    """x_i · vector of every sample; only the postings of the vector's features are read."""
    out[:] = 0
    for feature in support:
        value = vector[feature]
        if value != 0:
            for p in range(columns.indptr[feature], columns.indptr[feature + 1]):
                out[columns.indices[p]] += value * columns.data[p]


@kernel
def _likelihood(
    squares: DoubleArray,
    workspace: Workspace,
    half_gamma: float,
    log_beta: float,
    missed: float,
    step: float,
    square: float,
) -> float:
    """Eq. (43) with 1 − p = `missed`, but for the constant Σ y log p.

    It is evaluated at center + step · direction, whose squared norm is `square`.
    """
    total = 0.0
    for i in range(squares.size):
        product = workspace.products[i] + step * workspace.direction_products[i]
        # Rounding can make the squared distance of near points negative.
        q = max(half_gamma * (squares[i] - 2 * product + square), 0.0) + log_beta
        near = np.exp(-q)
        # A positive sample adds ln P, with P = e^−q / (1 + e^−q), and any other one ln(1 − p P).
        total -= np.log1p(near) + (q if workspace.positive[i] else -np.log1p(missed * near))
    return total


@kernel
def _residuals(
    squares: DoubleArray,
    workspace: Workspace,
    half_gamma: float,
    log_beta: float,
    missed: float,
    square: float,
) -> float:
    """The weights −u of eq. (45), which are y_i − P(x_i) for p = 1, and their sum.

    `curvatures` gets their derivatives by the exponent γ/2 ‖x_i − μ‖².
    """
    total = 0.0
    for i in range(squares.size):
        q = max(half_gamma * (squares[i] - 2 * workspace.products[i] + square), 0.0) + log_beta
        near = np.exp(-q)
        far = 1 / (1 + near)
        workspace.residuals[i] = far
        workspace.curvatures[i] = far * (1 - far)
        if not workspace.positive[i]:
            unrecorded = 1 / (1 + missed * near)
            workspace.residuals[i] -= unrecorded
            workspace.curvatures[i] -= unrecorded * (1 - unrecorded)
        total += workspace.residuals[i]
    return total


@kernel
def _gradient(samples: Samples, workspace: Workspace, size: int, total: float, least: float) -> int:
    """−Σ u_i (x_i − μ), eq. (44) over γ, into `gradient`; the support may grow.

    Samples that add at most `least` are left out, or every feature would join the support.
    """
    X = samples.rows
    for feature in workspace.support[:size]:
        # The center is the same in every term: it is subtracted once, times the sum of the weights.
        workspace.gradient[feature] = -total * workspace.center[feature]
    for i in range(X.indptr.size - 1):
        weight = workspace.residuals[i]
        if weight * weight * samples.squares[i] <= least * least:
            continue
        for p in range(X.indptr[i], X.indptr[i + 1]):
            feature = X.indices[p]
            if not workspace.in_support[feature]:
                workspace.in_support[feature] = True
                workspace.support[size] = feature
                size += 1
            workspace.gradient[feature] += weight * X.data[p]
    return size


@kernel
def _conjugate_direction(workspace: Workspace, size: int) -> tuple[float, float, float]:
    """The next search direction: its slope, its product with the center, its squared norm.

    Conjugate gradients with the coefficient β of Polak and Ribière; steepest ascent (β = 0) where
    the direction does not ascend.
    """
    numerator, denominator = 0.0, 0.0
    for feature in workspace.support[:size]:
        new, old = workspace.gradient[feature], workspace.previous[feature]
        numerator += new * (new - old)
        denominator += old * old
        workspace.previous[feature] = new
    beta = max(numerator / denominator, 0.0) if denominator > 0 else 0.0
    while True:
        slope, center_product, square = 0.0, 0.0, 0.0
        for feature in workspace.support[:size]:
            value = workspace.gradient[feature] + beta * workspace.direction[feature]
            workspace.direction[feature] = value
            slope += value * workspace.gradient[feature]
            center_product += value * workspace.center[feature]
            square += value * value
        if slope > 0 or beta == 0:
            return slope, center_product, square
        beta = 0.0


@kernel
def _maximize(
    samples: Samples,
    workspace: Workspace,
    n_positive: int,
    size: int,
    gamma: float,
    log_beta: float,
    missed: float,
    tol: float,
    max_iter: int,
) -> tuple[int, int, int]:
    """Maximize the likelihood from the present center until the gradient is short.

    Returns the size of the support, the gradients computed, and 0 for a gradient that is short,
    1 for the limit, 2 where no step raises the likelihood any more (it is within its rounding).
    """
    half = gamma / 2
    least = _NEGLIGIBLE * tol * n_positive / samples.squares.size
    _project(samples.columns, workspace.support[:size], workspace.center, workspace.products)
    square = _square(workspace.center, workspace.support[:size])
    value = _likelihood(samples.squares, workspace, half, log_beta, missed, 0.0, square)
    for n_iter in range(1, max_iter + 1):
        total = _residuals(samples.squares, workspace, half, log_beta, missed, square)
        size = _gradient(samples, workspace, size, total, least)
        if np.sqrt(_square(workspace.gradient, workspace.support[:size])) <= tol * n_positive:
            return size, n_iter, 0
        slope, center_product, direction_square = _conjugate_direction(workspace, size)
        _project(
            samples.columns,
            workspace.support[:size],
            workspace.direction,
            workspace.direction_products,
        )
        # The step is Newton's along the direction; without the second term it is that of eq. (46).
        curvature = total * direction_square
        for i in range(samples.squares.size):
            curvature += (
                gamma
                * workspace.curvatures[i]
                * (workspace.direction_products[i] - center_product) ** 2
            )
        step = slope / (curvature if curvature > 0 else n_positive * direction_square)
        for _ in range(_MAX_BACKTRACKS):
            # The norm is a quadratic and the products are linear along the step, so that a trial
            # reads no data.
            new_square = square + step * (2 * center_product + step * direction_square)
            new_value = _likelihood(
                samples.squares, workspace, half, log_beta, missed, step, new_square
            )
            # `gradient` is that of the likelihood over γ, which therefore multiplies the slope.
            if new_value > value + _ARMIJO * gamma * step * slope:
                break
            step /= 2
        else:
            return size, n_iter, 2
        value = new_value
        for i in range(workspace.products.size):
            workspace.products[i] += step * workspace.direction_products[i]
        for feature in workspace.support[:size]:
            workspace.center[feature] += step * workspace.direction[feature]
        square = _square(workspace.center, workspace.support[:size])
    return size, max_iter, 1


@kernel
def _square(vector: DoubleArray, support: IndexArray) -> float:
    total = 0.0
    for feature in support:
        total += vector[feature] ** 2
    return total


@kernel
def likelihood_centers(
    samples: Samples,
    members: CSRArrays,
    means: CSRArrays,
    n_features: int,
    gamma: float,
    log_beta: float,
    missed: DoubleArray,
    tol: float,
    max_iter: int,
) -> tuple[PointerArray, IndexArray, DoubleArray, PointerArray, NDArray[np.int64]]:
    """The centers of some labels in CSR arrays (features in no order), and how each search ended.

    Row l of `members` lists the samples of label l, row l of `means` is the start of its search,
    and a true label l is not recorded with probability `missed[l]`.
    """
    workspace = _allocate_workspace(n_features, samples.squares.size)
    n_labels = members.indptr.size - 1
    pointers = np.zeros(n_labels + 1, dtype=np.int64)
    n_iter = np.zeros(n_labels, dtype=np.int64)
    outcomes = np.zeros(n_labels, dtype=np.int64)
    features = np.empty(1024, dtype=np.uint32)
    values = np.empty(1024, dtype=np.float64)
    for label in range(n_labels):
        rows = members.indices[members.indptr[label] : members.indptr[label + 1]]
        size = 0
        for p in range(means.indptr[label], means.indptr[label + 1]):
            workspace.support[size] = means.indices[p]
            workspace.in_support[means.indices[p]] = True
            workspace.center[means.indices[p]] = means.data[p]
            size += 1
        for row in rows:
            workspace.positive[row] = True
        if rows.size > 0:
            size, n_iter[label], outcomes[label] = _maximize(
                samples, workspace, rows.size, size, gamma, log_beta, missed[label], tol, max_iter
            )
        for row in rows:
            workspace.positive[row] = False
        end = pointers[label] + size
        while end > features.size:
            capacity = 2 * features.size
            features, values = resized(features, capacity), resized(values, capacity)
        for k in range(size):
            features[pointers[label] + k] = workspace.support[k]
            values[pointers[label] + k] = workspace.center[workspace.support[k]]
        pointers[label + 1] = end
        # Only the support is cleared, so that the next label does not pay for all features.
        for feature in workspace.support[:size]:
            workspace.in_support[feature] = False
            workspace.center[feature] = 0
            workspace.previous[feature] = 0
            workspace.gradient[feature] = 0
            workspace.direction[feature] = 0
    end = pointers[n_labels]
    return pointers, resized(features, end), resized(values, end), n_iter, outcomes
