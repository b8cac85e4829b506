"""Products of points and centres, and centres of maximum likelihood."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelwood.core.kernel import kernel
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import DoubleArray, FloatArray, IndexArray, PointerArray

_NEGLIGIBLE = 0.01  # share of the tolerance by which all left-out points may bend a gradient
_ENOUGH = 1e-4  # share of the slope's promise that a step must keep
_HALVINGS = 50


@kernel
def pair_products(
    X: CSRArrays,
    rows: PointerArray,
    labels: NDArray[np.int32],
    centres: CSRArrays,
    dense: FloatArray,
) -> DoubleArray:
    """x_i · μ_l of each pair (i, l); pairs of a label stand together, and `dense` holds zeros."""
    products = np.empty(rows.size)
    present = np.int32(-1)
    first, end = np.uint64(0), np.uint64(0)
    for k in range(rows.size):
        if labels[k] != present:
            for p in range(first, end):
                dense[centres.indices[p]] = 0
            present = labels[k]
            first = np.uint64(centres.indptr[present])
            end = np.uint64(centres.indptr[present + 1])
            for p in range(first, end):
                dense[centres.indices[p]] = centres.data[p]
        total = 0.0
        for p in range(np.uint64(X.indptr[rows[k]]), np.uint64(X.indptr[rows[k] + 1])):
            total += np.float64(X.data[p]) * dense[X.indices[p]]
        products[k] = total
    return products


class Points(NamedTuple):
    """The training points by rows and by columns, and their squared lengths."""

    rows: CSRArrays
    columns: CSRArrays
    squares: DoubleArray


class Room(NamedTuple):
    """Where one label at a time is worked on; all zeros (False) before and after.

    The first four have a place for each feature, and only the features that are listed in
    `support` (and marked in `seen`) are not zero; the others have a place for each point.
    """

    centre: DoubleArray
    gradient: DoubleArray
    fresh: DoubleArray
    direction: DoubleArray
    support: IndexArray
    seen: NDArray[np.bool_]
    positive: NDArray[np.bool_]
    products: DoubleArray
    along: DoubleArray
    residuals: DoubleArray
    bends: DoubleArray


@kernel
def _empty_room(n_features: int, n_points: int) -> Room:
    return Room(
        np.zeros(n_features),
        np.zeros(n_features),
        np.zeros(n_features),
        np.zeros(n_features),
        np.zeros(n_features, dtype=np.uint32),
        np.zeros(n_features, dtype=np.bool_),
        np.zeros(n_points, dtype=np.bool_),
        np.zeros(n_points),
        np.zeros(n_points),
        np.zeros(n_points),
        np.zeros(n_points),
    )


@kernel
def _project(
    columns: CSRArrays, support: IndexArray, vector: DoubleArray, out: DoubleArray
) -> None:
    """x_i · vector of every point; only the postings of the vector's features are touched."""
    out[:] = 0
    for feature in support:
        value = vector[feature]
        if value != 0:
            for p in range(columns.indptr[feature], columns.indptr[feature + 1]):
                out[columns.indices[p]] += value * columns.data[p]


@kernel
def _likelihood(
    squares: DoubleArray, room: Room, half_gamma: float, missed: float, step: float, square: float
) -> float:
    """Eq. (43) with β = 1 and 1 − p = `missed`, but for the constant Σ y log p.

    It is that of centre + step · direction, whose squared length is `square`.
    """
    total = 0.0
    for i in range(squares.size):
        product = room.products[i] + step * room.along[i]
        q = max(half_gamma * (squares[i] - 2 * product + square), 0.0)
        near = np.exp(-q)
        total -= np.log1p(near) + (q if room.positive[i] else -np.log1p(missed * near))
    return total


@kernel
def _residuals(
    squares: DoubleArray, room: Room, half_gamma: float, missed: float, square: float
) -> float:
    """The weights −u of eq. (45), which are y_i − P(x_i) for p = 1, and their sum.

    `bends` gets their derivatives by the exponent γ/2 ‖x_i − μ‖².
    """
    total = 0.0
    for i in range(squares.size):
        q = max(half_gamma * (squares[i] - 2 * room.products[i] + square), 0.0)
        near = np.exp(-q)
        far = 1 / (1 + near)
        room.residuals[i] = far
        room.bends[i] = far * (1 - far)
        if not room.positive[i]:
            unsaid = 1 / (1 + missed * near)
            room.residuals[i] -= unsaid
            room.bends[i] -= unsaid * (1 - unsaid)
        total += room.residuals[i]
    return total


@kernel
def _gradient(points: Points, room: Room, size: int, total: float, least: float) -> int:
    """−Σ u_i (x_i − μ), eq. (44) over γ, into `fresh`; the support may grow.

    Points that add at most `least` are left out, or every feature would join the support.
    """
    X = points.rows
    for feature in room.support[:size]:
        room.fresh[feature] = -total * room.centre[feature]
    for i in range(X.indptr.size - 1):
        weight = room.residuals[i]
        if weight * weight * points.squares[i] <= least * least:
            continue
        for p in range(X.indptr[i], X.indptr[i + 1]):
            feature = X.indices[p]
            if not room.seen[feature]:
                room.seen[feature] = True
                room.support[size] = feature
                size += 1
            room.fresh[feature] += weight * X.data[p]
    return size


@kernel
def _turn(room: Room, size: int) -> tuple[float, float, float]:
    """Turn to the next direction; its slope, its product with the centre and its square.

    Conjugate gradients after Polak and Ribière; steepest ascent where these do not climb.
    """
    change, before = 0.0, 0.0
    for feature in room.support[:size]:
        new, old = room.fresh[feature], room.gradient[feature]
        change += new * (new - old)
        before += old * old
        room.gradient[feature] = new
    keep = max(change / before, 0.0) if before > 0 else 0.0
    while True:
        slope, centre, square = 0.0, 0.0, 0.0
        for feature in room.support[:size]:
            value = room.gradient[feature] + keep * room.direction[feature]
            room.direction[feature] = value
            slope += value * room.gradient[feature]
            centre += value * room.centre[feature]
            square += value * value
        if slope > 0 or keep == 0:
            return slope, centre, square
        keep = 0.0


@kernel
def _climb(
    points: Points,
    room: Room,
    n_positive: int,
    size: int,
    gamma: float,
    missed: float,
    tol: float,
    max_iter: int,
) -> tuple[int, int, int]:
    """Move the centre uphill until the gradient is short.

    Returns the size of the support, the gradients computed, and 0 for a gradient that is short,
    1 for the limit, 2 where no step raises the likelihood any more (it is at its rounding).
    """
    half = gamma / 2
    least = _NEGLIGIBLE * tol * n_positive / points.squares.size
    _project(points.columns, room.support[:size], room.centre, room.products)
    square = _square(room.centre, room.support[:size])
    value = _likelihood(points.squares, room, half, missed, 0.0, square)
    for n_iter in range(1, max_iter + 1):
        total = _residuals(points.squares, room, half, missed, square)
        size = _gradient(points, room, size, total, least)
        if np.sqrt(_square(room.fresh, room.support[:size])) <= tol * n_positive:
            return size, n_iter, 0
        slope, centre, turned = _turn(room, size)
        _project(points.columns, room.support[:size], room.direction, room.along)
        # Newton's step along the direction; without the second term it is that of eq. (46).
        bend = total * turned
        for i in range(points.squares.size):
            bend += gamma * room.bends[i] * (room.along[i] - centre) ** 2
        step = slope / (bend if bend > 0 else n_positive * turned)
        for _ in range(_HALVINGS):
            reached = square + step * (2 * centre + step * turned)
            climbed = _likelihood(points.squares, room, half, missed, step, reached)
            if climbed > value + _ENOUGH * gamma * step * slope:
                break
            step /= 2
        else:
            return size, n_iter, 2
        value = climbed
        room.products[:] += step * room.along
        for feature in room.support[:size]:
            room.centre[feature] += step * room.direction[feature]
        square = _square(room.centre, room.support[:size])
    return size, max_iter, 1


@kernel
def _square(vector: DoubleArray, support: IndexArray) -> float:
    total = 0.0
    for feature in support:
        total += vector[feature] ** 2
    return total


@kernel
def likeliest_centres(
    points: Points,
    members: CSRArrays,
    means: CSRArrays,
    n_features: int,
    gamma: float,
    missed: DoubleArray,
    tol: float,
    max_iter: int,
) -> tuple[PointerArray, IndexArray, DoubleArray, PointerArray, NDArray[np.int64]]:
    """The centres of some labels in CSR arrays (features in no order), and how each ended.

    Row l of `members` lists the points that have label l, row l of `means` is where it starts,
    and a true label l goes unrecorded with the chance `missed[l]`.
    """
    room = _empty_room(n_features, points.squares.size)
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
            room.support[size] = means.indices[p]
            room.seen[means.indices[p]] = True
            room.centre[means.indices[p]] = means.data[p]
            size += 1
        for row in rows:
            room.positive[row] = True
        if rows.size > 0:
            size, n_iter[label], outcomes[label] = _climb(
                points, room, rows.size, size, gamma, missed[label], tol, max_iter
            )
        for row in rows:
            room.positive[row] = False
        end = pointers[label] + size
        while end > features.size:
            features = np.concatenate((features, np.empty_like(features)))
            values = np.concatenate((values, np.empty_like(values)))
        features[pointers[label] : end] = room.support[:size]
        values[pointers[label] : end] = room.centre[room.support[:size]]
        pointers[label + 1] = end
        for feature in room.support[:size]:
            room.seen[feature] = False
            room.centre[feature] = 0
            room.gradient[feature] = 0
            room.fresh[feature] = 0
            room.direction[feature] = 0
    end = pointers[n_labels]
    return pointers, features[:end].copy(), values[:end].copy(), n_iter, outcomes
