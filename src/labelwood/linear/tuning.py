"""`C="auto"`: the inverse regularization strength chosen on held-out training samples.

Multiples of the default `C` are tried, in steps of a factor of two: the default itself, its
neighbors, and on in the direction that improves. Another value than the default must be better by
half a standard error of the paired difference, because on few samples the best of several values is
often best by luck. The best one's neighbors are always tried too, so that a parabola through the
three refines the choice within its step. Small data are cross-validated, because one small held-out
part is noisy; of large data a part is taken, so that all trials together cost less than half of the
fit. Fewer samples need a larger `C`, so that a trial of a part takes more than the value it is for.
"""

import warnings
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from labelwood.core.lanes import WIDTH
from labelwood.core.random import seed_sequence
from labelwood.core.types import CSR, AnyArray, DoubleArray
from labelwood.errors import LabelwoodWarning

_STEPS = (-5, 5)  # the least and the greatest power of two by which C is multiplied
_STANDARD_ERRORS = 0.5  # by which another value must be better than the default
_KS = (1, 3, 5)
_N_FOLDS = 5
_MAX_HELD_OUT = 4000  # over all folds: more would hardly change what is chosen
_MIN_HELD_OUT = 30  # fewer have nothing to tell
_N_TRIALS = 4  # that a search usually takes
_BUDGET = 0.2  # of the fit, for all trials of a learner
_SMALL_BUDGET = 1.5  # seconds that trials may always take
# A fit on a share s of the samples costs about s^1.25 of the whole: labels become fewer too.
_GROWTH = 1.25
# The best C of one-vs-rest falls by about this power of the number of samples: from a tenth of the
# training parts of Reuters-21578, goemotions, pydocs, RCV1, makupalat, Bibtex, Delicious and
# EURLEX57K to all of them by powers from -0.4 to 0.95, 0.38 in the mean.
_FALL_OF_C = 0.4


class Part(NamedTuple):
    """Training samples to fit on, which share of all of them that is, and those held out."""

    X: CSR
    Y: CSR
    X_held_out: CSR
    Y_held_out: CSR
    share: float

    def C_for(self, C: float) -> float:
        """The value to fit a part with in order to judge `C` for all samples."""
        return C * self.share**-_FALL_OF_C


class Quality(NamedTuple):
    """P@1, P@3, P@5 on held-out samples, and the figure that is to be maximized.

    `per_sample` are the values of which the score is the mean, where it is one.
    """

    precisions: tuple[float, ...]
    score: float
    per_sample: DoubleArray | None = None


class Trial(NamedTuple):
    """One value that was tried."""

    C: float
    precisions: tuple[float, ...]
    score: float


class Tuning(NamedTuple):
    """The chosen value, all trials in the order of C, and why the value was taken."""

    C: float
    trials: tuple[Trial, ...]
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values: what was tried, and why the value was taken."""
        names = [f"P@{k}" for k in _KS]
        return {
            "reason": self.reason,
            "trials": [
                {"C": one.C, **dict(zip(names, one.precisions, strict=True)), "score": one.score}
                for one in self.trials
            ],
        }


class TunedC:
    """What estimators with `C="auto"` share: fitted attributes that `_choose_C` sets in `fit`.

    `frequency_power_` is by which power of its samples the C of a label is smaller than `C_`,
    which is that of a label with `typical_count_` samples.
    """

    C: float | str | DoubleArray
    C_: float | str | DoubleArray
    frequency_power: float | str
    frequency_power_: float
    typical_count_: float
    tuning_: dict[str, Any]

    _tuned_power: ClassVar[float]  # where C is tuned

    def _choose_C(self, X: CSR, Y: CSR, default: float) -> None:
        """Set `C_`, and `tuning_` where it was chosen by trial."""
        self.__dict__.pop("tuning_", None)
        self.C_ = self.C
        self.frequency_power_ = power_of(self)
        self.typical_count_ = _typical_count(Y)
        if isinstance(self.C, str):
            tuning = tune_C(self, X, Y, default)
            self.C_, self.tuning_ = tuning.C, tuning.to_dict()

    def _used_C(self, Y: CSR) -> Any:
        """The C of each column of Y, or one for all.

        It comes from `C_`, or from the parameter where an array for other labels was set since.
        """
        C: Any = vars(self).get("C_", self.C) if isinstance(self.C, str) else self.C
        power = vars(self).get("frequency_power_", 0.0)  # models of before have none
        if power == 0:
            return C
        counts = np.bincount(Y.indices, minlength=Y.shape[1])
        return C * (self.typical_count_ / np.maximum(counts, 1)) ** power


def power_of(estimator: TunedC) -> float:
    """`frequency_power` as a number: that of `C="auto"`, or 0 where C is given."""
    power = estimator.frequency_power
    if not isinstance(power, str):
        return float(power)
    return estimator._tuned_power if isinstance(estimator.C, str) else 0.0


def with_C(estimator: Any, C: float) -> Any:
    """A copy with a number for `C`, which else does what `estimator` does; nothing calibrated."""
    copy = clone(estimator).set_params(C=C, calibrate=False)
    if isinstance(estimator, TunedC):
        copy.set_params(frequency_power=power_of(estimator))
    return copy


def _typical_count(Y: CSR) -> float:
    """The samples of a label, as the geometric mean over all pairs of a sample and its label."""
    counts = np.bincount(Y.indices)
    counts = counts[counts > 0]
    return float(np.exp(np.average(np.log(counts), weights=counts))) if counts.size else 1.0


def tune_C(estimator: Any, X: CSR, Y: CSR, default: float) -> Tuning:
    """The multiple of `default` with the best mean of P@1, 3 and 5 on held-out samples.

    Copies of `estimator`, a multi-label estimator with a parameter `C`, are fitted, one for each
    trial and fold.
    """
    parts = held_out_parts(X, Y, estimator.random_state)
    if not parts:
        return Tuning(default, (), too_few(Y))

    def of_part(C: float, part: Part) -> Quality:
        trial = with_C(estimator, part.C_for(C))
        return mean_precision(fit_quietly(trial, part), part.X_held_out, part.Y_held_out)

    return search_C(lambda C: mean_quality([of_part(C, part) for part in parts]), default)


def too_few(Y: CSR) -> str:
    """Why there are no held-out parts."""
    n_labeled = int(np.count_nonzero(np.diff(Y.indptr)))
    return f"{n_labeled} labeled samples are too few to hold any out"


def held_out_parts(
    X: CSR, Y: CSR, random_state: object, *, n_wanted: int = 0, whole: bool = False
) -> tuple[Part, ...]:
    """Folds of small data, or a part of large ones; none where there are too few samples.

    Only sizes decide, never the clock, so that the parts are the same on every machine. There are
    more folds than trials may cost where fewer than `n_wanted` samples would be held out. With
    `whole` all others are there to fit on, whatever that costs.
    """
    labeled = np.flatnonzero(np.diff(Y.indptr) > 0)
    n_held_out = min(labeled.size // _N_FOLDS, _MAX_HELD_OUT)
    if n_held_out < _MIN_HELD_OUT:
        return ()
    order = np.random.default_rng(seed_sequence(random_state)).permutation(labeled)
    share = 1.0 if whole else _affordable_share(X, Y)
    affordable = min(share, _MAX_HELD_OUT / n_held_out)
    n_folds = int(np.clip(max(affordable, -(-n_wanted // n_held_out)), 1, _N_FOLDS))
    size = int(min(share, 1.0) * labeled.size)
    parts = []
    for fold in range(n_folds):
        first = fold * n_held_out
        held_out = order[first : first + n_held_out]
        rest = np.concatenate([order[:first], order[first + n_held_out :]])
        parts.append(_part(X, Y, np.sort(rest[:size]), held_out))
    return tuple(parts)


def _part(X: CSR, Y: CSR, rows: AnyArray, held_out: AnyArray) -> Part:
    share = rows.size / np.count_nonzero(np.diff(Y.indptr))
    return Part(X[rows], Y[rows], X[held_out], Y[held_out], float(share))


def _affordable_share(X: CSR, Y: CSR) -> float:
    """How large a share of the samples a trial may be fitted on.

    A value f > 1 means that f folds are affordable.
    """
    fit = nominal_seconds(X, Y)
    trial = max(_BUDGET * fit, _SMALL_BUDGET) / _N_TRIALS
    return float((trial / max(fit, 1e-9)) ** (1 if trial > fit else 1 / _GROWTH))


def nominal_seconds(X: CSR, Y: CSR) -> float:
    """About how long one-vs-rest takes in one thread of the machine it was measured on.

    Every sixteen labels score all rows a few times, and visit each row with one of them often;
    a visit takes longer where the weights of all features do not fit into the cache. Within a
    factor of two on Bibtex, enron_corr, CAL500, imclef07a and EURLEX57K.
    """
    n, per_row = X.shape[0], X.nnz / max(X.shape[0], 1)
    n_blocks = -(-np.unique(Y.indices).size // WIDTH)
    cells = max(n * n_blocks, 1)
    visited = -cells * np.expm1(-Y.nnz / cells)
    visit = 2e-7 * (1 + 2.5 * min(X.shape[1] / 50_000, 1))
    scans = 3.5e-9 * n_blocks * (X.nnz + 30 * n)
    return float(scans + (visit * visited + 5e-5 * n_blocks) * per_row)


def search_C(
    quality: Callable[[float], Quality],
    default: float,
    start: int = 0,
    reach: int | None = None,
) -> Tuning:
    """Climb by factors of two from `default`, or from `start` such steps beyond it.

    Half of it is tried first, since smaller values are cheaper; where that is clearly better, twice
    as much is not tried. A parabola through the best value and its neighbors refines the choice.
    With `reach` no value more than so many steps from the first one is tried.
    """
    tried: dict[int, Quality] = {}
    start = int(np.clip(start, _STEPS[0] + 1, _STEPS[1] - 1))
    least, most = _STEPS if reach is None else (start - reach, start + reach)

    def score(step: int) -> float:
        if step not in tried:
            tried[step] = quality(default * 2.0**step)
        return tried[step].score

    first, half = score(start), score(start - 1)
    falls = half - first > _required_gain(tried, start - 1, start)
    near = (start, start - 1) if falls else (start, start + 1, start - 1)
    best = max(near, key=score)  # the first among equals: the start
    direction = best - start
    while direction and least < best < most and score(best + direction) > score(best):
        best += direction
    near_first = sorted(tried, key=lambda step: abs(step - start))
    best = max(near_first, key=lambda step: score(step) - _required_gain(tried, step, start))
    trials = tuple(Trial(default * 2.0**step, *one[:2]) for step, one in sorted(tried.items()))
    C = float(f"{default * 2.0 ** (best + _vertex(tried, best)):.3g}")
    gain = 100 * (tried[best].score - tried[start].score)
    value = f"the {'first value' if start else 'default'} of {default * 2.0**start:g}"
    if best == start:
        return Tuning(C, trials, f"about {value} is best")
    return Tuning(C, trials, f"better than {value} by {gain:.2f} points")


def _required_gain(tried: dict[int, Quality], step: int, start: int) -> float:
    """What a step must gain on the first one, from the paired differences of the samples."""
    one, other = tried[step].per_sample, tried[start].per_sample
    if step == start or one is None or other is None:
        return 0.0
    return float(_STANDARD_ERRORS * (one - other).std() / np.sqrt(max(one.size, 1)))


def _vertex(tried: dict[int, Quality], best: int) -> float:
    """Where, between −1/2 and 1/2 of a step from the best one, the parabola is highest."""
    if best - 1 not in tried or best + 1 not in tried:
        return 0.0
    low, middle, high = (tried[best + step].score for step in (-1, 0, 1))
    bend = low - 2 * middle + high
    return 0.0 if bend >= 0 else float(np.clip((low - high) / (2 * bend), -0.5, 0.5))


def mean_quality(found: list[Quality]) -> Quality:
    """The mean over folds."""
    precisions = np.mean([one.precisions for one in found], axis=0)
    samples = [one.per_sample for one in found if one.per_sample is not None]
    return Quality(
        tuple(map(float, precisions)),
        float(np.mean([one.score for one in found])),
        np.concatenate(samples) if samples else None,
    )


def mean_precision(model: Any, X: CSR, Y: CSR) -> Quality:
    """P@1, P@3 and P@5, and their mean."""
    return quality_of_hits(model.predict_topk(X, max(_KS)).hits(Y))


def quality_of_hits(hits: AnyArray) -> Quality:
    """P@1, P@3 and P@5 of hits by rank, and their mean; ranks that are missing are no hits."""
    per_sample = np.stack([hits[:, :k].sum(axis=1) / k for k in _KS], axis=1)
    precisions = tuple(map(float, per_sample.mean(axis=0)))
    return Quality(precisions, float(np.mean(precisions)), per_sample.mean(axis=1))


def fit_quietly(estimator: Any, part: Part) -> Any:
    """Fit without warnings of labels that a part of the samples lacks: the fit itself warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelwoodWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        return estimator.fit(part.X, part.Y)
