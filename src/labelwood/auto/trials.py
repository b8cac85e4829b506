"""Candidates fitted on a part of the training samples, and how they rank the ones held out."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from labelwood.auto.choice import Candidate, Cost, worth
from labelwood.auto.costs import (
    Pilot,
    Size,
    expected_cost,
    scaled_cost,
    timed_fit,
    to_try,
    warm_up,
    with_default_C,
)
from labelwood.auto.forests import try_forest
from labelwood.auto.quality import quality_on
from labelwood.core.calibration import n_calibration_folds
from labelwood.core.types import CSR
from labelwood.errors import ParameterError
from labelwood.linear.onevsrest import OneVsRestSVM
from labelwood.linear.tuning import (
    Part,
    Quality,
    Trial,
    Tuning,
    fit_quietly,
    held_out_parts,
    mean_quality,
    power_of,
    search_C,
)
from labelwood.trees.fastxml import FastXMLClassifier
from labelwood.trees.labeltree import LabelTreeClassifier

# Held-out samples for the choice: with the 325 of one fold of cellcycle_FUN a learner was taken
# that is two points behind in five folds.
_HELD_OUT = 1500
_WIDE_BEAM = 30
_MANY_TREES = 3
# Three trees with the best `C` seldom gain more on one tree than this many points, so that trying
# them is in vain where the first tree is so much worse than another learner. Where training takes
# more nominal seconds than `_CHEAP`, even the best `C` of a tree is not worth its trials at a
# quarter of that distance: on the training part of EURLEX57K both together gain 0.2 points.
_HOPELESS = 2.0
# Doublings between the best `C` of a tree and that of one-vs-rest, each in units of its default: at
# most one on the training folds of Bibtex, CAL500, imclef07a and enron_corr. A part of long rows
# can ask for ever larger values, which cost ever more.
_NEAR = 1
_HOPELESS_AND_DEAR = 0.5
_CHEAP = 20.0
# With more features, which are words then, no forest is tried: on the training part of
# Reuters-21578 one was two points behind.
_FOREST_FEATURES = 5000
# A forest can gain more by more samples than linear classifiers do: from 46 % to 80 % of the
# training part of Delicious, 2.0 points against 1.1. Where a trial had less than this share of
# them, a forest that is behind by no more points than these is compared on all of them, if that is
# cheap; one that is ahead stays so.
_NEARLY_ALL = 0.7
_CLOSE = 2.0
# One-vs-rest is not tried where it would take this many nominal seconds in one thread: its time
# grows with samples × labels, and that of a trial with it.
_MAX_NOMINAL = 7200.0


class _Trials:
    """Fits of one learner on held-out parts: qualities by `C`, and what they cost."""

    def __init__(
        self,
        estimator: Any,
        parts: tuple[Part, ...],
        objective: str,
        search: dict[str, Any] | None = None,
        *,
        keep: bool = False,
    ) -> None:
        self.estimator = estimator
        self.search = search or {}  # parameters of prediction, set after the fit
        self.parts = parts
        self.objective = objective
        self.pilots: dict[float, list[Pilot]] = {}
        self._models: dict[float, list[Any]] | None = {} if keep else None
        self._known: dict[float, Quality] = {}

    def quality(self, C: float) -> Quality:
        """Fit on all parts, and rank what they hold out."""
        if C not in self._known:
            models = [to_try(self.estimator, C, part) for part in self.parts]
            pairs = zip(models, self.parts, strict=True)
            self.pilots[C] = [timed_fit(model, part) for model, part in pairs]
            self._known[C] = self._ranked(models, self.search)
            if self._models is not None:
                self._models[C] = models
        return self._known[C]

    def quality_with(self, C: float, search: dict[str, Any]) -> Quality:
        """The same with other parameters of prediction, of models that were kept."""
        return self._ranked((self._models or {})[C], search)

    def tuned(self, start: int = 0, least: float = 0.0, reach: int | None = None) -> Tuning:
        """The best `C`, or the one that is given, or the first one where it is below `least`.

        `start` is how many doublings from the default the search begins, and `reach` how many it
        may go from there.
        """
        if not isinstance(self.estimator.C, str):
            C = self.estimator.C
            return Tuning(C, (Trial(C, *self.quality(C)[:2]),), "given")
        default = type(self.estimator)().C
        first = default * 2.0**start
        if self.quality(first).score < least:
            return Tuning(first, (Trial(first, *self.quality(first)[:2]),), "far behind")
        return search_C(self.quality, default, start, reach)

    def _ranked(self, models: Sequence[Any], search: dict[str, Any]) -> Quality:
        pairs = zip(models, self.parts, strict=True)
        return mean_quality(
            [quality_on(part, model.set_params(**search), self.objective) for model, part in pairs]
        )


def try_candidates(
    X: CSR,
    Y: CSR,
    given: Sequence[Any] | None,
    objective: str,
    random_state: object,
    n_jobs: int | None,
) -> list[Candidate]:
    """All candidates with their costs and, where samples can be held out, their quality."""
    rest, tree, forest = _estimators(given, random_state, n_jobs)
    size = Size.of(X, Y, rest.n_jobs)
    parts = held_out_parts(X, Y, random_state, n_wanted=_HELD_OUT)
    if not parts or isinstance(rest.C, np.ndarray) or isinstance(tree.C, np.ndarray):
        return _without_trial(rest, tree, size)
    if size.nominal > _MAX_NOMINAL:
        found = [_without_trial(rest, tree, size)[0]]
    else:
        found = [_try_one_vs_rest(rest, parts, objective, size)]
    if forest is None or size.d > _FOREST_FEATURES:
        return found + _try_trees(tree, parts, objective, size, found)
    # The forest comes first, since trees are tried no further where it is far ahead.
    grown = try_forest(forest, parts, objective, size)
    found += _try_trees(tree, parts, objective, size, [*found, grown.against(found)])
    # A few of its trees may be ahead of one-vs-rest and behind the label trees.
    found.append(grown.against(found))
    if parts[0].X.shape[0] > _NEARLY_ALL * size.n or size.nominal > _CHEAP:
        return found
    (whole, *_) = held_out_parts(X, Y, random_state, whole=True)
    return _run_off(
        found, {type(one).__name__: one for one in (rest, tree, forest)}, whole, objective
    )


def _estimators(
    given: Sequence[Any] | None, random_state: object, n_jobs: int | None
) -> tuple[Any, Any, Any]:
    """The one-vs-rest, the tree, and the forest to try, which is None where it is not given."""
    linear = (OneVsRestSVM, LabelTreeClassifier)
    if given is None:
        options: dict[str, Any] = {"random_state": random_state, "n_jobs": n_jobs}
        rest, tree = (kind(C="auto", **options) for kind in linear)
        return rest, tree, FastXMLClassifier(**options)
    named = {type(one): one for one in given}
    allowed = {*linear, FastXMLClassifier}
    if not set(linear) <= named.keys() <= allowed or len(named) != len(given):
        names = " and one ".join(kind.__name__ for kind in linear)
        raise ParameterError(
            f"The candidates must be one {names}, and may be one {FastXMLClassifier.__name__}. "
            f"Got {given!r} instead."
        )
    return named[OneVsRestSVM], named[LabelTreeClassifier], named.get(FastXMLClassifier)


def _try_one_vs_rest(
    estimator: Any, parts: tuple[Part, ...], objective: str, size: Size
) -> Candidate:
    warm_up(with_default_C(estimator), parts[0])
    trials = _Trials(estimator, parts, objective)
    tuning = trials.tuned()
    best = _nearest(tuning)
    pilots = trials.pilots[best.C]
    # A few samples are calibrated on in turns, each in a fit of its own.
    together = estimator.calibrate and n_calibration_folds(size.n) == 1
    peak = partial(size.one_vs_rest_peak, calibrated=together)
    cost = expected_cost(estimator, best.C, parts[0], pilots, size, peak)
    name = type(estimator).__name__
    params = _chosen(estimator, tuning)
    return Candidate("one-vs-rest", name, params, cost, best.precisions, best.score)


def _try_trees(
    estimator: Any,
    parts: tuple[Part, ...],
    objective: str,
    size: Size,
    others: Sequence[Candidate],
) -> list[Candidate]:
    """One tree with its best `C`, and with that what more trees and a wider beam gain."""
    is_dear = size.nominal > _CHEAP
    best_other = max((one.score or 0.0 for one in others), default=0.0)
    least = best_other - (_HOPELESS_AND_DEAR if is_dear else _HOPELESS) / 100
    warm_up(with_default_C(estimator), parts[0])
    trials = _Trials(estimator, parts, objective, keep=True)
    doublings = _doublings(others)
    reach = None if doublings is None else _NEAR
    tuning = trials.tuned(doublings or 0, least, reach)
    kind, best = type(estimator).__name__, _nearest(tuning)
    pilots = trials.pilots[best.C]
    cost = expected_cost(estimator, best.C, parts[0], pilots, size, size.tree_peak)
    params = _chosen(estimator, tuning)
    tree = Candidate("label tree", kind, params, cost, best.precisions, best.score)
    found = [tree]
    for name, own in _variants(estimator, size).items():
        varied = tree._replace(name=name, params={**params, **own})
        n_trees = own.get("n_trees", 1)
        # A wide beam is for prediction: in training it would triple the time.
        search = {name: value for name, value in own.items() if name == "beam"}
        scratch = [size.tree_peak(0, n) + size.calibration_of(estimator) for n in (1, n_trees)]
        if best.score < least:
            of_models = n_trees * (cost.bytes - scratch[0])
            costs = Cost(n_trees * cost.seconds, int(scratch[1] + of_models))
            found.append(varied._replace(cost=costs, precisions=None, score=None))
        elif n_trees == 1:
            quality = trials.quality_with(best.C, search)
            found.append(varied._replace(precisions=quality[0], score=quality[1]))
        else:
            trees = clone(estimator).set_params(n_trees=n_trees)
            many = _Trials(trees, parts, objective, search)
            quality = many.quality(best.C)
            costs = scaled_cost(cost, pilots, many.pilots[best.C], *scratch)
            found.append(varied._replace(cost=costs, precisions=quality[0], score=quality[1]))
    return found


def _doublings(others: Sequence[Candidate]) -> int | None:
    """How often the best `C` of one-vs-rest is twice its default, where trees begin to search.

    Data that want a larger `C` want it for both. None where one-vs-rest was not tuned.
    """
    tuned = [one.params.get("C") for one in others if one.name == "one-vs-rest" and one.score]
    if not tuned or not isinstance(tuned[0], float):
        return None
    default: Any = OneVsRestSVM().C
    return round(float(np.log2(tuned[0] / default)))


def _run_off(
    found: list[Candidate], estimators: dict[str, Any], part: Part, objective: str
) -> list[Candidate]:
    """The forest, which is last, against the best of the others on all samples but the held-out.

    What the best of the others gains there is taken for the gain of all of them.
    """
    forest, best = found[-1], max(found[:-1], key=worth)
    if forest.score is None or not -_CLOSE / 100 <= worth(forest) - worth(best) <= 0:
        return found
    growth = []
    for one in (best, forest):
        search = {name: value for name, value in one.params.items() if name == "beam"}
        fitted = {name: value for name, value in one.params.items() if name not in search}
        model = clone(estimators[one.learner]).set_params(**fitted, calibrate=False)
        fit_quietly(model, part).set_params(**search)
        growth.append(quality_on(part, model, objective).score - (one.score or 0.0))
    others = [one._replace(growth=growth[0]) for one in found[:-1]]
    return [*others, forest._replace(growth=growth[1])]


def _variants(estimator: Any, size: Size) -> dict[str, dict[str, Any]]:
    """Parameters of the other trees to try; none where the user has set them."""
    default = type(estimator)()
    n_leaves = -(-size.n_labels // estimator.max_leaf_labels)
    if (estimator.beam, estimator.n_trees) != (default.beam, default.n_trees) or n_leaves < 2:
        return {}
    if n_leaves <= estimator.beam:  # the beam reaches all leaves as it is
        return {f"{_MANY_TREES} label trees": {"n_trees": _MANY_TREES}}
    wide = {"beam": _WIDE_BEAM}
    return {
        "label tree, wide beam": wide,
        f"{_MANY_TREES} label trees, wide beam": {**wide, "n_trees": _MANY_TREES},
    }


def _chosen(estimator: Any, tuning: Tuning) -> dict[str, Any]:
    """Parameters with which a fit does what was tried."""
    power = {"frequency_power": power_of(estimator)} if isinstance(estimator.C, str) else {}
    return {"C": tuning.C, **power}


def _nearest(tuning: Tuning) -> Trial:
    """The trial whose C is closest to the chosen one."""
    return min(tuning.trials, key=lambda one: abs(np.log(one.C / tuning.C)))


def _without_trial(rest: Any, tree: Any, size: Size) -> list[Candidate]:
    """The candidates without a trial: there is little to fit, or `C` is an array."""
    nominal = size.nominal / size.n_threads
    return [
        Candidate(
            name,
            type(one).__name__,
            {"C": type(one)().C} if isinstance(one.C, str) else {},
            Cost(nominal, int(memory)),
        )
        for name, one, memory in (
            ("one-vs-rest", rest, size.one_vs_rest_peak(0)),
            ("label tree", tree, size.tree_peak(0)),
        )
    ]
