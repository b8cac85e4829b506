"""Training the classifiers of at most sixteen labels by a working set."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from labelwood.core.lanes import WIDTH
from labelwood.core.settings import settings_of
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import DoubleArray, FloatArray, IndexArray
from labelwood.linear.l2svm import rebuild_weights, scan_block, solve_block
from labelwood.linear.onevsrest import _training_kernels as kernels

# Rows that are looked at after the first solution, where there are at least twice as many, and how
# much looser than the others that solution is. On the training part of EURLEX57K working sets are
# half as large by it, and training takes a tenth less time.
_SAMPLE = 5000
_FIRST_TOL = 3.0
# The loss of all rows, which only the diagnostics need, takes a pass over them. Above this many
# short rows the pass would take a third of the training time, so the diagnostics are NaN unless
# `slack` is 0.
_FEW_ROWS = 20_000


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
    duality gap of each label. `reduced` are the classifiers that have not seen the held-out rows,
    where there are such rows.
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
    reduced: "Block | None" = None


class _Workspace(NamedTuple):
    """Weights of a block in single and in double precision, and marks of features.

    All but `touched` hold zeros between two blocks.
    """

    W: FloatArray
    exact: DoubleArray
    is_touched: NDArray[np.bool_]
    touched: IndexArray

    @classmethod
    def allocate(cls, n_features: int) -> Self:
        size = n_features + 1
        return cls(
            np.zeros(size * WIDTH, dtype=np.float32),
            np.zeros(size * WIDTH),
            np.zeros(size, dtype=np.bool_),
            np.empty(size, dtype=np.uint32),
        )


class Problem(NamedTuple):
    """What all blocks share; `features` are the original columns of X.

    `columns` holds the rows of each feature with `use_postings`, or no row at all where rows are
    so long that looking rows up by their features never pays. Then no row has Σ|x_f| above
    `max_row_l1`, and some x_f are negative where `has_negative`. `held_out` marks rows that
    `Block.reduced` must not have seen, and has no element where there are none.
    """

    X: CSRArrays
    columns: CSRArrays
    use_postings: bool
    max_row_l1: float
    has_negative: bool
    features: IndexArray
    norms: FloatArray
    members: CSRArrays
    cost_positive: DoubleArray
    cost_negative: DoubleArray
    held_out: NDArray[np.bool_]
    workspaces: list[_Workspace]

    @contextmanager
    def workspace(self) -> Iterator[_Workspace]:
        """Arrays of one block; the next block of any thread uses them again.

        Fresh ones would cost a page fault for every 64 features, which in the trials of `C` took
        as long as a third of the solver.
        """
        try:
            space = self.workspaces.pop()
        except IndexError:
            space = _Workspace.allocate(self.features.size)
        yield space
        space.W.fill(0)
        self.workspaces.append(space)


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


class _WorkingSet:
    """The rows that a block is solved on, with signs and dual variables in sixteen lanes."""

    def __init__(
        self, problem: Problem, labels: IndexArray, n_negatives: int, state: np.ndarray
    ) -> None:
        n = problem.norms.size
        self._rows, self.active, self.found = (np.empty(n, dtype=np.uint32) for _ in range(3))
        self.place = np.full(n, -1, dtype=np.int32)
        self.size = kernels.first_rows(
            problem.members, labels, n_negatives, state, self.place, self._rows
        )
        self.signs = np.full(self.size * WIDTH, -1, dtype=np.float32)
        kernels.mark_positives(problem.members, labels, self.place, self.signs)
        self.alpha = np.zeros(self.size * WIDTH, dtype=np.float32)

    @property
    def rows(self) -> IndexArray:
        return self._rows[: self.size]

    def add_found(self, n_found: int) -> None:
        """The first rows of `found` join, as negatives of all labels."""
        end = self.size + n_found
        self.place[self.found[:n_found]] = np.arange(self.size, end)
        self._rows[self.size : end] = self.found[:n_found]
        self.signs = _extended(self.signs, end * WIDTH, -1)
        self.alpha = _extended(self.alpha, end * WIDTH, 0)
        self.size = end

    def remove(self, is_removed: NDArray[np.bool_]) -> None:
        """The rows leave, with their dual variables; places of rows are not kept up."""
        kept = ~is_removed[self.rows]
        remaining = self.rows[kept]
        self._rows[: remaining.size] = remaining
        self.size = remaining.size
        self.signs = self.signs.reshape(-1, WIDTH)[kept].ravel()
        self.alpha = self.alpha.reshape(-1, WIDTH)[kept].ravel()


def train_block(
    problem: Problem, labels: IndexArray, settings: Settings, state: np.ndarray
) -> Block:
    """Train at most sixteen `labels`.

    The working set starts with all positives and `n_negatives` random rows. After each solution
    the rows above −1 + `slack` join, until at most the share `violators` of the working set does.
    """
    state = state.copy()
    with problem.workspace() as space:
        working = _WorkingSet(problem, labels, settings.n_negatives, state)
        lanes = _Lanes.of(problem, labels)
        n_iter, n_rounds, solved, enough, loss = _grow(
            problem, settings, state, lanes, working, space
        )
        _rebuild(problem, settings, working, space)
        report = np.full((WIDTH, 2), np.nan)
        if not np.isnan(loss[0]):
            kernels.full_gap(
                loss, working.alpha, working.signs, lanes.positive, lanes.negative, space.W, report
            )
        block = Block(
            labels, *_pruned(problem, labels, settings, space), report[: labels.size],
            n_iter, n_rounds, working.size, solved, enough,
        )  # fmt: skip
        if not problem.held_out.size:
            return block
        return block._replace(reduced=_reduced(problem, block, settings, state, working, space))


def _grow(
    problem: Problem,
    settings: Settings,
    state: np.ndarray,
    lanes: _Lanes,
    working: _WorkingSet,
    space: _Workspace,
) -> tuple[int, int, bool, bool, DoubleArray]:
    """Solve, and add rows to the working set, in turns.

    Returns the passes, the rounds, whether both ended well, and the loss of all rows.
    """
    X, n, W, loss = problem.X, problem.norms.size, space.W, np.zeros(WIDTH)
    bias, border = np.float32(settings.bias), np.float32(settings.slack - 1)
    n_iter, n_rounds = 0, 0
    while True:
        # A few hundred random negatives leave the first weights far too large, so that a look at
        # all rows would add most of them. A sample of the rows mends that at little cost.
        is_first_look = n_rounds == 0 and n - working.size > 2 * _SAMPLE
        tol = _FIRST_TOL * settings.tol if is_first_look else settings.tol
        passes, solved = _solve(problem, settings, tol, state, lanes, working, W)
        n_iter, n_rounds = n_iter + passes, n_rounds + 1
        is_last = n_rounds == settings.max_rounds
        if is_first_look and not is_last:
            n_found = kernels.find_in_sample(
                X, _SAMPLE, state, lanes.live, bias, border, W, working.place, working.found
            )
            working.add_found(n_found)
            continue
        n_found = _look(problem, lanes, bias, border, W, working, loss)
        enough = n_found <= settings.violators * working.size
        if enough or is_last:
            break
        working.add_found(n_found)
    if problem.use_postings:
        if n <= _FEW_ROWS or settings.slack == 0:
            _scan(problem, lanes, bias, border, W, working, loss)
        else:
            loss.fill(np.nan)
    return n_iter, n_rounds, solved, enough, loss


def _look(
    problem: Problem,
    lanes: _Lanes,
    bias: np.float32,
    border: np.float32,
    W: FloatArray,
    working: _WorkingSet,
    loss: DoubleArray,
) -> int:
    """The rows that should join; also the loss of each label where rows are long."""
    if not problem.use_postings:
        return _scan(problem, lanes, bias, border, W, working, loss)
    n_found = kernels.find_by_postings(
        problem.X, problem.columns, problem.max_row_l1, problem.has_negative, lanes.live,
        bias, border, W, working.place, working.found,
    )  # fmt: skip
    if n_found >= 0:  # −1: postings would not pay
        return n_found
    return kernels.find_by_bounds(
        problem.X,
        problem.max_row_l1,
        problem.has_negative,
        lanes.live,
        bias,
        border,
        W,
        working.place,
        working.found,
    )


def _reduced(
    problem: Problem,
    block: Block,
    settings: Settings,
    state: np.ndarray,
    working: _WorkingSet,
    space: _Workspace,
) -> Block:
    """The same classifiers without the held-out rows, from where the solver stands.

    The solution is unique, so that it forgets those rows but for the tolerance; it is found in a
    few passes. The working set is not grown again: it was large enough for all rows.
    """
    working.remove(problem.held_out)
    space.W.fill(0)
    _rebuild(problem, settings, working, space)
    lanes = _Lanes.of(problem, block.labels)
    passes, solved = _solve(problem, settings, settings.tol, state, lanes, working, space.W)
    features, weights, intercepts = _pruned(problem, block.labels, settings, space)
    return block._replace(
        features=features, weights=weights, intercepts=intercepts, n_iter=passes, solved=solved
    )


def _solve(
    problem: Problem,
    settings: Settings,
    tol: float,
    state: np.ndarray,
    lanes: _Lanes,
    working: _WorkingSet,
    W: FloatArray,
) -> tuple[int, bool]:
    return solve_block(
        problem.X, problem.norms, working.rows, working.signs, lanes.positive, lanes.negative,
        lanes.live, np.float32(settings.bias), tol, settings.max_iter, state, working.active,
        working.alpha, W,
    )  # fmt: skip


def _rebuild(problem: Problem, settings: Settings, working: _WorkingSet, space: _Workspace) -> None:
    rebuild_weights(
        problem.X, working.rows, working.signs, np.float32(settings.bias), working.alpha, *space
    )


def _pruned(
    problem: Problem, labels: IndexArray, settings: Settings, space: _Workspace
) -> tuple[IndexArray, FloatArray, FloatArray]:
    """Features with a weight above the limit, their weights, and the intercepts."""
    kept, weights = kernels.prune_block(space.W, labels.size, settings.prune_below)
    intercepts = space.W[-WIDTH:][: labels.size] * np.float32(settings.bias)
    return problem.features[kept], weights, intercepts


def _scan(
    problem: Problem,
    lanes: _Lanes,
    bias: np.float32,
    border: np.float32,
    W: FloatArray,
    working: _WorkingSet,
    loss: DoubleArray,
) -> int:
    """A pass over all rows: those that should join, and the loss of each label."""
    return scan_block(
        problem.X, working.signs, lanes.positive, lanes.negative, lanes.live, bias, border, W,
        working.place, working.found, loss,
    )  # fmt: skip


def _extended(values: FloatArray, size: int, fill: float) -> FloatArray:
    longer = np.full(size, fill, dtype=np.float32)
    longer[: values.size] = values
    return longer
