"""The decisions of the nodes of a level: linear ones, and splits of second order.

Every sample belongs to one fold. At each node the folds share one set of features, and each has
a linear classifier that has not seen its own samples. As the shared features were chosen with the
help of all samples, each fold also has a classifier that chose its features without its samples.
The problem that the folds share and those of each fold alone are independent work.
"""

from threading import Lock
from typing import NamedTuple, Self

import numpy as np
from threadpoolctl import threadpool_limits

from labelwood.core.classes import balanced
from labelwood.core.parallel import parallel
from labelwood.core.random import seed_sequence
from labelwood.core.types import CSR, AnyArray, DoubleArray, IndexArray, PointerArray
from labelwood.linear.budgeted import decide, solve_budgeted
from labelwood.trees.budgeted.pair_splits import find_pair

LINEAR, SECOND_ORDER = "linear", "second order"
_ALL = -1  # in place of a fold: the problem that all share
# The limit is one of the process: of two fits at once the last would restore that of the first.
_ONE_FIT = Lock()


class Growth(NamedTuple):
    """What the growth of a tree depends on besides its samples.

    A `min_gain` of NaN is to be tried, a `plane_size` of 0 is none.
    """

    budget: int
    C: float
    class_weight: str
    max_planes: int
    plane_size: int
    max_depth: int
    min_samples_split: int
    prune: bool
    pruning: str
    min_gain: float
    second_order: bool
    tol: float
    max_iter: int


class Samples(NamedTuple):
    """The samples of one tree: a sign, a weight and a fold for each row of X."""

    X: CSR
    signs: DoubleArray
    weights: DoubleArray
    folds: PointerArray
    n_folds: int

    def of_class(self, codes: PointerArray, one: int, balance: bool) -> Self:
        """The samples of the tree of class `one`; both sides weigh the same if `balance`."""
        there = codes == one
        weights = balanced(self.weights, there) if balance else self.weights
        return self._replace(signs=np.where(there, 1.0, -1.0), weights=weights)

    def without(self, rows: AnyArray, balance: bool) -> Self:
        """The same samples with weight 0 for these rows; both classes balanced again if asked."""
        weights = np.where(rows, 0.0, self.weights)
        return self._replace(weights=balanced(weights, self.signs > 0) if balance else weights)

    def wrong(self, rows: PointerArray, scores: DoubleArray) -> float:
        """Weight of the rows whose score has the wrong sign."""
        return float(self.weights[rows][(scores > 0) != (self.signs[rows] > 0)].sum())

    def variance(self, rows: PointerArray, errors: AnyArray) -> AnyArray:
        """Variance of a total error of this weight among the rows, if errors are independent."""
        weights = self.weights[rows]
        return errors * np.square(weights).sum() / weights.sum()


class OpenNode(NamedTuple):
    """A node to be split: its samples, and the weight of those that are wrong if it is a leaf."""

    samples: Samples
    rows: PointerArray
    errors: AnyArray

    @property
    def folds(self) -> list[int]:
        """The folds that it has samples of."""
        present: list[int] = np.unique(self.samples.folds[self.rows]).tolist()
        return present


class Decision(NamedTuple):
    """A linear classifier for each fold, on the same features."""

    features: IndexArray
    coef: DoubleArray
    intercepts: DoubleArray
    kind: str


class Split(NamedTuple):
    """A decision and what it does to the samples of the node.

    `scores` are those of the samples under the classifier of their own fold. That has not seen
    them, but its features were chosen with their help; `held_out` are scores of classifiers
    that chose their features without them.
    """

    decision: Decision
    scores: DoubleArray
    held_out: DoubleArray

    @property
    def separates(self) -> bool:
        """Whether samples go both ways."""
        positive = np.count_nonzero(self.scores > 0)
        return bool(0 < positive < self.scores.size)


class Effort(NamedTuple):
    """Steps made, and problems that ended at their limit."""

    n_iter: int = 0
    n_unsolved: int = 0

    def and_of(self, other: "Effort") -> "Effort":
        """Both together."""
        return Effort(self.n_iter + other.n_iter, self.n_unsolved + other.n_unsolved)


class _Solved(NamedTuple):
    """Classifiers, and the scores of samples: all of a node's, or those of the fold left out."""

    decision: Decision
    scores: DoubleArray
    effort: Effort


def draw_folds(codes: PointerArray, n_folds: int, random_state: object) -> PointerArray:
    """A fold for each sample: at random, with equal shares of every class."""
    rng = np.random.default_rng(seed_sequence(random_state))
    order = rng.permutation(codes.size)
    order = order[np.argsort(codes[order], kind="stable")]
    folds = np.empty(codes.size, dtype=np.int64)
    folds[order] = np.arange(codes.size) % n_folds
    return folds


def find_splits(
    places: list[OpenNode], growth: Growth, n_jobs: int | None, description: str
) -> tuple[list[Split], Effort]:
    """The split of each place, which may not separate its samples, and what that took."""
    splits, effort = _linear_splits(places, growth, n_jobs, description)
    weak = [k for k, place in enumerate(places) if _weak(place, splits[k])]
    if growth.second_order and weak:
        # A sum over rows must not depend on the number of threads that a library takes for it.
        with _ONE_FIT, threadpool_limits(limits=1, user_api="blas"):
            others = parallel(lambda k: _second_order(places[k]), weak, n_jobs=n_jobs)
        for k, other in zip(weak, others, strict=True):
            splits[k] = other or splits[k]
    return splits, effort


def _linear_splits(
    places: list[OpenNode], growth: Growth, n_jobs: int | None, description: str
) -> tuple[list[Split], Effort]:
    """Each place's linear decision, with scores by the problem of all folds and by each alone."""
    work = [
        (place, fold)
        for place in places
        for fold in ((_ALL, *place.folds) if place.samples.n_folds > 1 else (_ALL,))
    ]
    results = parallel(
        lambda one: _solve(*one, growth),
        work,
        n_jobs=n_jobs,
        description=description,
        weights=[place.rows.size for place, _fold in work],
    )
    splits, effort = [], Effort()
    for (place, fold), (decision, scores, cost) in zip(work, results, strict=True):
        effort = effort.and_of(cost)
        if fold == _ALL:  # which comes first
            # With one fold nothing is held out: what is judged is what was learned from.
            held_out = np.empty(scores.size) if place.samples.n_folds > 1 else scores.copy()
            splits.append(Split(decision, scores, held_out))
        else:
            splits[-1].held_out[place.samples.folds[place.rows] == fold] = scores
    return splits, effort


def _solve(place: OpenNode, fold: int, growth: Growth) -> _Solved:
    """Classifiers of all folds on features that they share, or that of one on its own ones."""
    samples, rows = place.samples, place.rows
    folds = samples.folds[rows]
    seen = rows if fold == _ALL else rows[folds != fold]
    costs = growth.C * samples.weights[seen]
    if fold == _ALL and samples.n_folds > 1:
        costs = np.where(folds == np.arange(samples.n_folds)[:, None], 0.0, costs)
    solved = solve_budgeted(
        samples.X,
        samples.signs[seen],
        costs,
        budget=growth.budget,
        plane_size=growth.plane_size or None,
        rows=None if seen.size == samples.X.shape[0] else seen,
        tol=growth.tol,
        max_planes=growth.max_planes,
        max_iter=growth.max_iter,
    )
    decision = Decision(solved.features, solved.coef, solved.intercepts, LINEAR)
    scores = _scores(samples.X, rows if fold == _ALL else rows[folds == fold], decision)
    own = scores[folds, np.arange(rows.size)] if fold == _ALL else scores[0]
    return _Solved(decision, own, Effort(solved.n_iter, int(not solved.converged)))


def _scores(X: CSR, rows: PointerArray, decision: Decision) -> DoubleArray:
    part = X if rows.size == X.shape[0] else X[rows]
    return decide(part, decision.features, decision.coef, decision.intercepts)


def _weak(place: OpenNode, linear: Split) -> bool:
    """Whether the errors that a decision saves may be saved by probability."""
    gain = place.errors - place.samples.wrong(place.rows, linear.held_out)
    return bool(gain < 2 * np.sqrt(place.samples.variance(place.rows, place.errors)))


def _second_order(place: OpenNode) -> Split | None:
    """A split at the mean of one of two features that decide together."""
    samples, rows = place.samples, place.rows
    X = samples.X if rows.size == samples.X.shape[0] else samples.X[rows]
    found = find_pair(X, samples.signs[rows])
    if found is None:
        return None
    features = np.array([found.feature], dtype=np.uint32)
    coef = np.full((samples.n_folds, 1), 1 / found.deviation)
    intercepts = np.full(samples.n_folds, -found.mean / found.deviation)
    scores = decide(X, features, coef[:1], intercepts[:1])[0]
    split = Split(Decision(features, coef, intercepts, SECOND_ORDER), scores, scores)
    return split if split.separates else None
