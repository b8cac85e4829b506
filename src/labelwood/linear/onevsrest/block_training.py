"""Training the classifiers of at most sixteen labels by a working set."""

from typing import Any, NamedTuple, Self

import numpy as np

from labelwood.core.lanes import WIDTH
from labelwood.core.settings import settings_of
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import DoubleArray, FloatArray, IndexArray
from labelwood.linear.l2svm import rebuild_weights, scan_block, solve_block
from labelwood.linear.onevsrest import _training_kernels as kernels


class Settings(NamedTuple):
    """Parameters of `OneVsRestSVM`; `bias` is the value of the constant feature, 0 for none."""

    bias: float
    tol: float
    max_iter: int
    n_negatives: int
    slack: float
    violators: float
    max_rounds: int
    prune_below: float

    @classmethod
    def of(cls, owner: Any) -> Self:
        """The settings of an estimator."""
        bias = owner.intercept_scaling if owner.fit_intercept else 0.0
        return settings_of(cls, owner, bias=bias)


class Block(NamedTuple):
    """The classifiers of at most sixteen labels, and their diagnostics.

    `weights` holds sixteen numbers for each of `features`; `values` holds objective and
    duality gap of each label.
    """

    labels: IndexArray
    features: IndexArray
    weights: FloatArray
    intercepts: FloatArray
    values: DoubleArray
    n_iter: int
    n_rounds: int
    n_working: int
    solved: bool
    enough: bool


class Problem(NamedTuple):
    """What all blocks share; `features` are the original columns of X.

    `columns` holds the rows of each feature, or no row at all where rows are so long that looking
    rows up by their features never pays. No row has Σ|x_f| above `largest_sum`, and some x_f are
    negative where `has_negative`.
    """

    X: CSRArrays
    columns: CSRArrays
    largest_sum: float
    has_negative: bool
    features: IndexArray
    norms: FloatArray
    members: CSRArrays
    cost_positive: DoubleArray
    cost_negative: DoubleArray


class _Lanes(NamedTuple):
    """Which lanes have a label, and 1/(2C) of positive and negative samples in each."""

    live: FloatArray
    positive: FloatArray
    negative: FloatArray

    @classmethod
    def of(cls, problem: Problem, labels: IndexArray) -> Self:
        lanes = np.ones((3, WIDTH), dtype=np.float32)
        lanes[0, labels.size :] = 0
        lanes[1, : labels.size] = 0.5 / problem.cost_positive[labels]
        lanes[2, : labels.size] = 0.5 / problem.cost_negative[labels]
        return cls(*lanes)


def train_block(
    problem: Problem, labels: IndexArray, settings: Settings, state: np.ndarray
) -> Block:
    """Train at most sixteen `labels`.

    The working set starts with all positives and `n_negatives` random rows. After each solution
    the rows above −1 + `slack` join, until at most the share `violators` of the working set does.
    """
    X, norms = problem.X, problem.norms
    n, n_features = norms.size, problem.features.size
    bias, border = np.float32(settings.bias), np.float32(settings.slack - 1)
    lanes = _Lanes.of(problem, labels)
    state = state.copy()
    W = np.zeros((n_features + 1) * WIDTH, dtype=np.float32)
    exact, is_touched = np.zeros(W.size), np.zeros(n_features + 1, dtype=np.bool_)
    touched = np.empty(n_features + 1, dtype=np.uint32)
    rows, active, found = (np.empty(n, dtype=np.uint32) for _ in range(3))
    place = np.full(n, -1, dtype=np.int32)
    m = kernels.first_rows(problem.members, labels, settings.n_negatives, state, place, rows)
    signs = np.full(m * WIDTH, -1, dtype=np.float32)
    kernels.mark_positives(problem.members, labels, place, signs)
    alpha = np.zeros(m * WIDTH, dtype=np.float32)
    loss, report = np.zeros(WIDTH), np.zeros((WIDTH, 2))
    n_iter, n_rounds, enough = 0, 0, False
    while True:
        passes, solved = solve_block(
            X, norms, rows[:m], signs, lanes.positive, lanes.negative, lanes.live,
            bias, settings.tol, settings.max_iter, state, active, alpha, W,
        )  # fmt: skip
        rebuild_weights(X, rows[:m], signs, bias, alpha, W, exact, is_touched, touched)
        n_iter += passes
        n_rounds += 1
        n_found = kernels.find_by_postings(
            X, problem.columns, problem.largest_sum, problem.has_negative, lanes.live,
            bias, border, W, place, found,
        )  # fmt: skip
        has_loss = n_found < 0
        if has_loss:
            n_found = _scan(problem, signs, lanes, bias, border, W, place, found, loss)
        enough = n_found <= settings.violators * m
        if enough or n_rounds == settings.max_rounds:
            break
        place[found[:n_found]] = np.arange(m, m + n_found)
        rows[m : m + n_found] = found[:n_found]
        m += n_found
        signs = _extended(signs, m * WIDTH, -1)
        alpha = _extended(alpha, m * WIDTH, 0)
    if not has_loss:
        _scan(problem, signs, lanes, bias, border, W, place, found, loss)
    kernels.full_gap(loss, alpha, signs, lanes.positive, lanes.negative, W, report)
    kept, weights = kernels.prune_block(W, labels.size, settings.prune_below)
    intercepts = W[-WIDTH:][: labels.size] * bias
    features, values = problem.features[kept], report[: labels.size]
    return Block(labels, features, weights, intercepts, values, n_iter, n_rounds, m, solved, enough)


def _scan(
    problem: Problem,
    signs: FloatArray,
    lanes: _Lanes,
    bias: np.float32,
    border: np.float32,
    W: FloatArray,
    place: np.ndarray,
    found: IndexArray,
    loss: DoubleArray,
) -> int:
    """A pass over all rows: those that should join, and the loss of each label."""
    return scan_block(
        problem.X, signs, lanes.positive, lanes.negative, lanes.live, bias, border, W, place,
        found, loss,
    )  # fmt: skip


def _extended(values: FloatArray, size: int, fill: float) -> FloatArray:
    longer = np.full(size, fill, dtype=np.float32)
    longer[: values.size] = values
    return longer
