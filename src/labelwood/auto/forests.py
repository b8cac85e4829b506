"""Trials of a forest over the features, grown tree by tree until it is clear how good it is."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from labelwood.auto.choice import Candidate, Cost, price, worth
from labelwood.auto.costs import WARM_UP_ROWS, Pilot, Size, expected_cost, head, timed_fit, warm_up
from labelwood.auto.quality import quality_on
from labelwood.errors import LabelwoodWarning
from labelwood.linear.tuning import Part, Quality, mean_quality

_NAME = "FastXML forest"
# Trees after which a forest is looked at. From these two sizes its final score is extrapolated.
_FIRST_TREES = 5
_FEW_TREES = 10
# Points by which a forest may become better than extrapolated: the scores of fifty trees were 0.8
# points above to 0.0 below on the training parts of CAL500, Corel5k, imclef07a, Bibtex, enron_corr
# and Delicious.
_DOUBT = 1.0


class _Forests:
    """The same forest on each of the parts, and its quality by the number of trees."""

    def __init__(self, estimator: Any, parts: tuple[Part, ...], objective: str) -> None:
        n_first = min(_FIRST_TREES, estimator.n_trees)
        self.parts, self.objective, self.n_trees = parts, objective, n_first
        self.first = clone(estimator).set_params(n_trees=n_first, calibrate=False)
        self.models = [clone(self.first) for _ in parts]
        pairs = zip(self.models, parts, strict=True)
        self.pilots: list[Pilot] = [timed_fit(model, part) for model, part in pairs]
        self.qualities = {n_first: self._quality()}

    def grow(self, n_trees: int) -> Quality:
        """The quality with `n_trees` trees; those that there are stay."""
        if n_trees > self.n_trees:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LabelwoodWarning)
                for model, part in zip(self.models, self.parts, strict=True):
                    model.add_trees(part.X, part.Y, n_trees - self.n_trees)
            self.n_trees = n_trees
            self.qualities[n_trees] = self._quality()
        return self.qualities[n_trees]

    def _quality(self) -> Quality:
        pairs = zip(self.parts, self.models, strict=True)
        return mean_quality([quality_on(part, model, self.objective) for part, model in pairs])

    def expected_score(self, n_trees: int) -> float:
        """The score of a larger forest, assuming the gap to the limit shrinks as 1/n_trees."""
        sizes = sorted(self.qualities)[-2:]
        few, many = sizes[0], sizes[-1]
        if few == many:
            return self.qualities[many].score
        gain = max(self.qualities[many].score - self.qualities[few].score, 0.0)
        share = (1 / many - 1 / n_trees) / (1 / few - 1 / many)
        return self.qualities[many].score + gain * max(share, 0.0)


@dataclass
class ForestTrial:
    """A forest over the features, of which `n_few` trees are there, or all `n_trees`."""

    candidate: Candidate
    forests: _Forests
    n_few: int
    n_trees: int

    def against(self, others: Sequence[Candidate]) -> Candidate:
        """The forest with a score that is good enough to choose between it and the others.

        All trees are grown only where the few leave the question open: where they are ahead
        already, or will not catch up, more of them would not change the choice. With more others
        than in an earlier call the question may be open again.
        """
        best = max((worth(one) for one in others if one.score is not None), default=0.0)
        target = best + price(self.candidate)
        if self.forests.expected_score(self.n_trees) >= target - _DOUBT / 100:
            is_ahead = self.forests.grow(self.n_few).score > target
            quality = self.forests.grow(self.n_few if is_ahead else self.n_trees)
            self.candidate = self.candidate._replace(
                precisions=quality.precisions, score=quality.score
            )
        return self.candidate


def try_forest(estimator: Any, parts: tuple[Part, ...], objective: str, size: Size) -> ForestTrial:
    """A few trees of a forest, which is best on few dense measurements and seldom on words.

    Its rows are as they come or of unit length, whichever suits these trees better.
    """
    smallest = clone(estimator).set_params(n_trees=1, calibrate=False)
    warm_up(smallest, parts[0])
    overhead = timed_fit(smallest, head(parts[0], WARM_UP_ROWS)).seconds
    n_few = min(_FEW_TREES, estimator.n_trees)
    found = {
        unit: _Forests(clone(estimator).set_params(normalize=unit), parts, objective)
        for unit in dict.fromkeys((estimator.normalize, gains_by_unit_rows(estimator, parts)))
    }
    # The first among equals: rows as they came.
    unit = max(found, key=lambda one: found[one].grow(n_few).score)
    cost = _cost(estimator, found[unit], size, overhead)
    candidate = Candidate(_NAME, type(estimator).__name__, {"normalize": unit}, cost)
    return ForestTrial(candidate, found[unit], n_few, estimator.n_trees)


def _cost(estimator: Any, forests: _Forests, size: Size, overhead: float) -> Cost:
    """Time and memory in proportion to the trees, but for the seconds of a fit without any."""
    first, part = forests.first, forests.parts[0]
    scratch = size.forest_peak(0) + size.calibration_of(estimator)
    counted = clone(first).set_params(calibrate=estimator.calibrate)
    cost = expected_cost(counted, estimator.C, part, forests.pilots, size, size.forest_peak)
    times = estimator.n_trees / first.n_trees
    fixed = min(overhead / max(np.median([one.seconds for one in forests.pilots]), 1e-9), 1.0)
    seconds = (fixed + (1 - fixed) * times) * cost.seconds
    return Cost(float(seconds), int(scratch + times * (cost.bytes - scratch)))


def gains_by_unit_rows(estimator: Any, parts: tuple[Part, ...]) -> bool:
    """Whether rows of unit length are worth a trial: not where they have that length already."""
    X = parts[0].X
    squares = np.add.reduceat(np.append(X.data, 0.0) ** 2, X.indptr[:-1])
    squares[np.diff(X.indptr) == 0] = 1  # reduceat gives an empty row the entry that follows
    return bool(estimator.normalize or not np.allclose(squares, 1, atol=1e-3))
