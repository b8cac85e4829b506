"""Which learner suits the data: by trial on held-out training samples, and by expected cost.

The candidates are one-vs-rest, one label tree, and three of them, the trees with a narrow and
with a wide beam. Each is fitted on a part of the training samples with a few values of `C` and
ranks the labels of samples that were held out. The same fits are the pilots from which time and
memory of the whole fit are expected: a second one on a quarter of the part shows how they grow.
"""

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import joblib
import numpy as np
from sklearn.base import clone

from labelwood.core.kernel import compile_seconds
from labelwood.core.labels import encode_labels
from labelwood.core.lanes import WIDTH
from labelwood.core.memory import available_memory
from labelwood.core.params import OneOf, Real, check_parameter
from labelwood.core.sparse import as_csr
from labelwood.core.types import CSR
from labelwood.errors import LabelwoodWarning, ParameterError
from labelwood.linear.onevsrest import OneVsRestSVM
from labelwood.linear.tuning import (
    Part,
    Quality,
    Trial,
    Tuning,
    fit_quietly,
    held_out_parts,
    mean_quality,
    nominal_seconds,
    precisions_of,
    search_C,
    too_few,
)
from labelwood.metrics.label_sets import matched_sets
from labelwood.metrics.propensity import propensity
from labelwood.metrics.topk import ranked_hits
from labelwood.trees.labeltree import LabelTreeClassifier

OBJECTIVES = ("P@k", "PSP@k", "nDCG@k", "micro-F1")
_KS = (1, 3, 5)
_WIDE_BEAM = 30
_MANY_TREES = 3
# Points of the objective that a candidate must be better by than the ones before it in the table:
# a wide beam doubles the time of a prediction, and three trees triple that of training too.
_PRICES = {"wide": 0.05, "many": 0.15}
# Three trees seldom gain more on one than this many points, so that trying them is in vain where
# one tree is so much worse than one-vs-rest.
_HOPELESS = 2.0
# One-vs-rest is not tried where it would take this many nominal seconds in one thread: its time
# grows with samples × labels, and that of a trial with it.
_MAX_NOMINAL = 7200.0
_WARM_UP = 64  # rows of a fit that loads the kernels, so that no pilot is timed while it does
_QUARTER = 4


@dataclass(frozen=True)
class Cost:
    """Seconds of training and bytes at its peak, beside the data themselves."""

    seconds: float
    bytes: int

    @property
    def time(self) -> str:
        """The seconds, rounded for people."""
        return f"~{duration(self.seconds)}"

    @property
    def memory(self) -> str:
        """The bytes, rounded for people."""
        megabytes = max(self.bytes / 2**20, 1)
        return f"{megabytes:.0f} MB" if megabytes < 1000 else f"{megabytes / 1024:.1f} GB"


class Candidate(NamedTuple):
    """A learner with its parameters, what it is expected to cost, and how well it did.

    `precisions` are P@1, 3 and 5 on held-out samples and `score` the objective there; None
    where it was not tried.
    """

    name: str
    learner: str
    params: dict[str, Any]
    cost: Cost
    precisions: tuple[float, ...] | None = None
    score: float | None = None

    @property
    def quality(self) -> str:
        """The held-out figures in percent."""
        if self.precisions is None:
            return "not tried"
        return " / ".join(f"{100 * value:.2f}" for value in self.precisions)


class Choice(NamedTuple):
    """The candidates, which of them is taken, and why; `print` shows a table."""

    taken: str
    candidates: tuple[Candidate, ...]
    objective: str
    reason: str

    @property
    def candidate(self) -> Candidate:
        """The candidate that is taken."""
        return next(one for one in self.candidates if one.name == self.taken)

    @property
    def learner(self) -> str:
        """The class of the candidate that is taken."""
        return self.candidate.learner

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        candidates = [{**one._asdict(), "cost": asdict(one.cost)} for one in self.candidates]
        return {**self._asdict(), "candidates": candidates}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "Choice":
        """The way back; a record of an earlier version has classes and costs only."""
        if "costs" in content:
            old = [(name, _cost(cost)) for name, cost in content["costs"].items()]
            candidates = [Candidate(name, name, {}, cost) for name, cost in old]
            return cls(content["learner"], tuple(candidates), OBJECTIVES[0], content["reason"])
        found = []
        for one in content["candidates"]:
            rates = None if one["precisions"] is None else tuple(map(float, one["precisions"]))
            found.append(Candidate(**{**one, "cost": _cost(one["cost"]), "precisions": rates}))
        return cls(content["taken"], tuple(found), content["objective"], content["reason"])

    def __str__(self) -> str:
        width = max(len(one.name) for one in self.candidates)
        head = f"{'learner':{width}}  {'C':>6}  {'time':>8}  {'memory':>8}  held-out P@1/3/5"
        objective = "" if self.objective == "P@k" else f"  {self.objective:>8}"
        lines = [head.ljust(len(head) + 3) + objective if objective else head]
        for one in self.candidates:
            C = one.params.get("C", "")
            shown = f"{C:.3g}" if isinstance(C, float) else ""
            line = f"{one.name:{width}}  {shown:>6}  {one.cost.time:>8}  {one.cost.memory:>8}  "
            line += f"{one.quality:<21}"
            if objective:
                line += f"{100 * one.score:>8.2f}" if one.score is not None else " " * 8
            mark = f"  <- selected: {self.reason}" if one.name == self.taken else ""
            lines.append(f"{line}{mark}".rstrip())
        return "\n".join(lines)


def choose_learner(
    X: object,
    Y: object,
    *,
    candidates: Sequence[Any] | None = None,
    objective: str = "P@k",
    time_limit: float | None = None,
    memory_limit: float | None = None,
    random_state: object = 0,
    n_jobs: int | None = None,
) -> Choice:
    """The learner that ranks held-out training samples best, of those within the limits.

    Parameters
    ----------
    X : features
    Y : labels
        As for `fit`.
    candidates : an OneVsRestSVM and a LabelTreeClassifier, or None
        With parameters of your own; where `C` is "auto" (the default) it is tuned.
    objective : "P@k", "PSP@k", "nDCG@k" or "micro-F1"
        What is maximized; the first three are means over k = 1, 3 and 5.
    time_limit : float or None
        Seconds of training. Where nothing meets the limits, the cheapest is taken, with a
        warning.
    memory_limit : float or None
        Bytes, those of the data included; None for what is free.

    Examples
    --------
    >>> from labelwood import choose_learner, synthetic
    >>> train = synthetic(1000, 500, 100).train
    >>> choose_learner(train.X, train.Y).learner
    'OneVsRestSVM'
    """
    check_parameter("choose_learner", "objective", objective, OneOf(*OBJECTIVES))
    for name, limit in (("time_limit", time_limit), ("memory_limit", memory_limit)):
        check_parameter("choose_learner", name, limit, (Real(above=0), None))
    matrix, labels = as_csr(X), encode_labels(Y).Y
    free = _free_memory(matrix, labels, memory_limit)
    found = _tried(matrix, labels, candidates, objective, random_state, n_jobs)
    return _chosen(found, labels, objective, time_limit, free)


def expected_costs(X: object, Y: object, *, n_jobs: int | None = None) -> dict[str, Cost]:
    """The cost of a fit of each candidate of `choose_learner`, from pilots on a part of the data.

    Examples
    --------
    >>> from labelwood import synthetic
    >>> train = synthetic(1000, 500, 100).train
    >>> list(expected_costs(train.X, train.Y, n_jobs=1))[:2]
    ['one-vs-rest', 'label tree']
    """
    found = _tried(as_csr(X), encode_labels(Y).Y, None, OBJECTIVES[0], 0, n_jobs)
    return {one.name: one.cost for one in found}


def _free_memory(X: CSR, Y: CSR, limit: float | None) -> float:
    """Bytes beside the data; a limit that the data themselves exceed is refused."""
    if limit is None:
        return available_memory()
    data = sum(part.nbytes for one in (X, Y) for part in (one.data, one.indices, one.indptr))
    if data > limit:
        raise MemoryError(
            f"The data themselves take {data / 2**20:.0f} MB and the memory limit is "
            f"{limit / 2**20:.0f} MB; raise it, or train on fewer samples"
        )
    return min(limit - data, available_memory())


def _chosen(
    found: list[Candidate], Y: CSR, objective: str, time_limit: float | None, free: float
) -> Choice:
    """The best of those within the limits, or else the cheapest."""
    slow = [one for one in found if time_limit is not None and one.cost.seconds > time_limit]
    large = [one for one in found if one.cost.bytes > free]
    within = [one for one in found if one not in slow and one not in large]
    if not within:
        small = [one for one in found if one not in large]
        cheapest = min(small, key=lambda one: one.cost.seconds) if small else None
        if cheapest is None:
            cheapest = min(found, key=lambda one: one.cost.bytes)
        limit = f"the time limit of {duration(time_limit or 0)}" if small else "the memory limit"
        reason = f"nothing meets {limit}, and this is the cheapest"
        warnings.warn(f"{cheapest.name}: {reason}.", LabelwoodWarning, stacklevel=3)
        return Choice(cheapest.name, tuple(found), objective, reason)
    tried = [one for one in within if one.score is not None]
    if not tried:
        return Choice(within[0].name, tuple(found), objective, f"the default, as {too_few(Y)}")
    best = max(tried, key=lambda one: (one.score or 0.0) - _price(one))
    names = ", ".join(one.name for one in found if one not in within)
    reason = f"best held-out {objective}" + (f" within the limits, unlike {names}" if names else "")
    return Choice(best.name, tuple(found), objective, reason)


def _price(one: Candidate) -> float:
    """What a candidate must gain to be worth its cost, as a share of one."""
    if one.params.get("n_trees", 1) > 1:
        return _PRICES["many"] / 100
    return _PRICES["wide"] / 100 if "beam" in one.params else 0.0


class _Pilot(NamedTuple):
    """A fit on a part of the samples: how many, how long it took, and the size of the model."""

    n: int
    seconds: float
    bytes: int


class _Trials:
    """Fits of one learner on held-out parts: qualities by `C`, and what they cost."""

    def __init__(self, estimator: Any, parts: tuple[Part, ...], objective: str) -> None:
        self.estimator = estimator
        self.parts = parts
        self.objective = objective
        self.pilots: list[_Pilot] = []
        self.wide: dict[float, Quality] = {}

    def quality(self, C: float, **params: Any) -> Quality:
        """Fit on all parts; trees are searched with a wide beam too."""
        narrow, wide = [], []
        for part in self.parts:
            model = clone(self.estimator).set_params(C=C, calibrate=False, **params)
            self.pilots.append(_timed_fit(model, part))
            narrow.append(_quality(model, part, self.objective))
            if "beam" in model.get_params() and not params:
                model.set_params(beam=_WIDE_BEAM)
                wide.append(_quality(model, part, self.objective))
        if wide:
            self.wide[C] = mean_quality(wide)
        return mean_quality(narrow)

    def tuned(self) -> Tuning:
        """The best `C`, or the one that is given."""
        default = type(self.estimator)().C
        if isinstance(self.estimator.C, str):
            return search_C(self.quality, default)
        C = self.estimator.C
        return Tuning(C, (Trial(C, *self.quality(C)),), "given")


def _tried(
    X: CSR,
    Y: CSR,
    given: Sequence[Any] | None,
    objective: str,
    random_state: object,
    n_jobs: int | None,
) -> list[Candidate]:
    """All candidates with their costs and, where samples can be held out, their quality."""
    rest, tree = _estimators(given, random_state, n_jobs)
    size = _Size.of(X, Y, rest.n_jobs)
    parts = held_out_parts(X, Y, random_state)
    if not parts or not isinstance(rest.C, (str, float, int)):
        return _untried(rest, tree, size)
    for estimator in (rest, tree):
        _timed_fit(_with_default_C(estimator), _head(parts[0], _WARM_UP))
    found = []
    if nominal_seconds(X, Y) <= _MAX_NOMINAL:
        found.append(_try_one_vs_rest(rest, parts, objective, size))
    return found + _try_trees(tree, parts, objective, size, found)


def _estimators(
    given: Sequence[Any] | None, random_state: object, n_jobs: int | None
) -> tuple[Any, Any]:
    """The one-vs-rest and the tree to try."""
    kinds = (OneVsRestSVM, LabelTreeClassifier)
    if given is None:
        return tuple(kind(C="auto", random_state=random_state, n_jobs=n_jobs) for kind in kinds)
    named = {type(one): one for one in given}
    if named.keys() != set(kinds) or len(named) != len(given):
        names = " and one ".join(kind.__name__ for kind in kinds)
        raise ParameterError(f"The candidates must be one {names}. Got {given!r} instead.")
    return named[OneVsRestSVM], named[LabelTreeClassifier]


def _try_one_vs_rest(
    estimator: Any, parts: tuple[Part, ...], objective: str, size: "_Size"
) -> Candidate:
    trials = _Trials(estimator, parts, objective)
    tuning = trials.tuned()
    cost = _expected(estimator, trials, tuning.C, size, size.one_vs_rest_scratch, 2.2)
    best = _nearest(tuning)
    params = {"C": tuning.C}
    return Candidate(
        "one-vs-rest", type(estimator).__name__, params, cost, best.precisions, best.score
    )


def _try_trees(
    estimator: Any,
    parts: tuple[Part, ...],
    objective: str,
    size: "_Size",
    others: Sequence[Candidate],
) -> list[Candidate]:
    """One tree, the same with a wide beam, and three trees unless one of them is hopeless."""
    trials = _Trials(estimator, parts, objective)
    tuning = trials.tuned()
    kind = type(estimator).__name__
    best = _nearest(tuning)
    cost = _expected(estimator, trials, tuning.C, size, size.tree_scratch, 1.1)
    found = [Candidate("label tree", kind, {"C": tuning.C}, cost, *best[1:])]
    if estimator.beam != type(estimator)().beam or estimator.n_trees > 1:
        return found  # these were chosen by the user
    wide = {"C": tuning.C, "beam": _WIDE_BEAM}
    found.append(Candidate("label tree, wide beam", kind, wide, cost, *trials.wide[best.C]))
    many = {**wide, "n_trees": _MANY_TREES}
    costs = Cost(_MANY_TREES * cost.seconds, cost.bytes + (_MANY_TREES - 1) * cost.bytes // 2)
    quality = (None, None)
    best_other = max((one.score or 0.0 for one in others), default=0.0)
    if (found[-1].score or 0.0) > best_other - _HOPELESS / 100:
        quality = trials.quality(best.C, beam=_WIDE_BEAM, n_trees=_MANY_TREES)
    found.append(Candidate(f"{_MANY_TREES} label trees", kind, many, costs, *quality))
    return found


def _nearest(tuning: Tuning) -> Trial:
    """The trial whose C is closest to the chosen one."""
    return min(tuning.trials, key=lambda one: abs(np.log(one.C / tuning.C)))


def _untried(rest: Any, tree: Any, size: "_Size") -> list[Candidate]:
    """The candidates without a trial: there is little to fit, or `C` is an array."""
    nominal = size.nominal / size.n_threads
    return [
        Candidate(
            name,
            type(one).__name__,
            {"C": type(one)().C} if isinstance(one.C, str) else {},
            Cost(nominal, int(scratch)),
        )
        for name, one, scratch in (
            ("one-vs-rest", rest, size.one_vs_rest_scratch),
            ("label tree", tree, size.tree_scratch),
        )
    ]


def _quality(model: Any, part: Part, objective: str) -> Quality:
    """P@1, 3, 5 and the objective on the held-out samples of a part."""
    X, Y = part.X_held_out, part.Y_held_out
    top = model.predict_topk(X, max(_KS))
    precisions = precisions_of(top.hits(Y))
    if objective == "P@k":
        return Quality(precisions, float(np.mean(precisions)))
    if objective == "micro-F1":
        return Quality(precisions, matched_sets(Y, model.predict(X)).f1_micro().value)
    weights = propensity(part.Y) if objective == "PSP@k" else None
    hits = ranked_hits(Y, top, top.k, weights)
    measure: Callable[[int], Any] = hits.psp if objective == "PSP@k" else hits.ndcg
    return Quality(precisions, float(np.mean([measure(min(k, top.k)).value for k in _KS])))


def _timed_fit(model: Any, part: Part) -> _Pilot:
    start = time.perf_counter() - compile_seconds()
    fit_quietly(model, part)
    seconds = time.perf_counter() - compile_seconds() - start
    return _Pilot(part.X.shape[0], seconds, model.model_size)


def _with_default_C(estimator: Any) -> Any:
    C = type(estimator)().C if isinstance(estimator.C, str) else estimator.C
    return clone(estimator).set_params(C=C, calibrate=False)


def _head(part: Part, n: int) -> Part:
    return part._replace(X=part.X[:n], Y=part.Y[:n])


class _Size(NamedTuple):
    """What scratch memory follows: rows, used features, non-zeros, labels that have a sample."""

    n: int
    d: int
    nonzeros: int
    n_labels: int
    n_pairs: int
    n_threads: int
    nominal: float

    @classmethod
    def of(cls, X: CSR, Y: CSR, n_jobs: int | None) -> "_Size":
        return cls(
            X.shape[0],
            np.unique(X.indices).size,
            X.nnz,
            np.unique(Y.indices).size,
            Y.nnz,
            joblib.effective_n_jobs(n_jobs),
            nominal_seconds(X, Y),
        )

    @property
    def one_vs_rest_scratch(self) -> float:
        """Each thread has the weights of a block twice, and a few numbers a row and label."""
        return self.n_threads * 4 * WIDTH * (3 * self.d + 4 * self.n)

    @property
    def tree_scratch(self) -> float:
        """A copy of the rows for each thread at the root, and the labels' mean vectors."""
        vectors = min(256 * self.n_labels, self.n_pairs * self.nonzeros / max(self.n, 1))
        per_thread = 8 * self.nonzeros + 4 * WIDTH * (3 * self.n + self.d)
        return 8 * self.nonzeros + 8 * vectors + self.n_threads * per_thread


def _expected(
    estimator: Any, trials: _Trials, C: float, size: _Size, scratch: float, copies: float
) -> Cost:
    """Time and memory of the whole fit: powers of the samples, through two pilots.

    `copies` is how often the model is held at the peak.
    """
    part = trials.parts[0]
    small = clone(estimator).set_params(C=C, calibrate=False)
    quarter = _timed_fit(small, _head(part, max(part.X.shape[0] // _QUARTER, 1)))
    n = part.X.shape[0]
    seconds = _grown(
        quarter.seconds, float(np.median([one.seconds for one in trials.pilots])), n, size.n
    )
    model = _grown(quarter.bytes, float(np.median([one.bytes for one in trials.pilots])), n, size.n)
    factor = 1.8 if getattr(estimator, "calibrate", False) else 1.0
    return Cost(factor * seconds, int(scratch + copies * model))


def _grown(quarter: float, part: float, n_part: int, n: int) -> float:
    """What grows like a power of the samples, from its value at a quarter of a part and there."""
    power = np.log(max(part, 1e-9) / max(quarter, 1e-9)) / np.log(_QUARTER)
    return float(part * (n / max(n_part, 1)) ** np.clip(power, 0.7, 1.6))


def _cost(content: dict[str, Any]) -> Cost:
    return Cost(float(content["seconds"]), int(content["bytes"]))


def duration(seconds: float) -> str:
    """Seconds in a unit that suits.

    Examples
    --------
    >>> duration(42), duration(600), duration(9000)
    ('42 s', '10 min', '2.5 h')
    """
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
