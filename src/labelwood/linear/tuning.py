"""`C="auto"`: the inverse regularization strength chosen on held-out training samples.

Multiples of the default `C` are tried on a part of the training samples: the default itself, then
its neighbors, and on in the direction that improves. Another value than the default is taken only
where it is better by more than a standard error of the paired difference, because the default was
chosen over many data sets and a small held-out part is noisy.
"""

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from labelwood.core.estimator import LabelEstimator
from labelwood.core.random import seed_sequence
from labelwood.core.topk import TopK
from labelwood.core.types import CSR, DoubleArray
from labelwood.errors import LabelwoodWarning

_FACTORS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
_KS = (1, 3, 5)
_HELD_OUT = 0.2  # of the samples, but at most _MAX_HELD_OUT
_MAX_HELD_OUT = 4000
_MIN_HELD_OUT = 30  # fewer say nothing
# A trial trains on at most this share of the samples, so that four of them cost about half of the
# fit; on small data, where a trial takes a fraction of a second, on all that is not held out.
_TRIAL_SHARE = 1 / 8
_SMALL = 8000


class Trial(NamedTuple):
    """One value that was tried: P@1, P@3, P@5 on held-out samples, and their mean."""

    C: float
    precisions: tuple[float, ...]
    score: float


class Tuning(NamedTuple):
    """The chosen value, all trials, and why the value was taken."""

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


def tune_C(estimator: Any, X: CSR, Y: CSR, default: float) -> Tuning:
    """The multiple of `default` with the best mean of P@1, 3 and 5 on held-out samples.

    Copies of `estimator`, a multi-label estimator with a parameter `C`, are fitted, one for each
    trial.
    """
    random_state = estimator.random_state
    labelled = np.flatnonzero(np.diff(Y.indptr) > 0)
    n_held_out = min(int(_HELD_OUT * labelled.size), _MAX_HELD_OUT)
    if n_held_out < _MIN_HELD_OUT:
        return Tuning(default, (), f"{labelled.size} labelled samples are too few to hold any out")
    order = np.random.default_rng(seed_sequence(random_state)).permutation(labelled)
    held_out, rest = order[:n_held_out], order[n_held_out:]
    rest = np.sort(rest[: max(int(_TRIAL_SHARE * X.shape[0]), _SMALL)])
    X_train, Y_train, X_test, Y_test = X[rest], Y[rest], X[held_out], Y[held_out]
    per_sample: dict[int, DoubleArray] = {}

    def score(place: int) -> float:
        if place not in per_sample:
            trial = clone(estimator).set_params(C=default * _FACTORS[place], calibrate=False)
            top = _fit_quietly(trial, X_train, Y_train).predict_topk(X_test, max(_KS))
            per_sample[place] = _precisions(top, Y_test)
        return float(per_sample[place].mean())

    start = _FACTORS.index(1.0)
    best = max((start, start + 1, start - 1), key=score)
    while 0 < best < len(_FACTORS) - 1 and score(best + np.sign(best - start)) > score(best):
        best += int(np.sign(best - start))
    trials = tuple(
        Trial(default * _FACTORS[place], tuple(map(float, found.mean(axis=0))), score(place))
        for place, found in sorted(per_sample.items())
    )
    gain = (per_sample[best] - per_sample[start]).mean(axis=1)
    if best == start or gain.mean() <= gain.std() / np.sqrt(gain.size):
        return Tuning(default, trials, "no other value is better by more than a standard error")
    reason = f"better than {default:g} by {100 * gain.mean():.2f} points of mean P@1, 3, 5"
    return Tuning(default * _FACTORS[best], trials, reason)


def _fit_quietly(trial: LabelEstimator, X: CSR, Y: CSR) -> Any:
    """Fit without warnings of labels that a part of the samples lacks: the fit itself warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelwoodWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        return trial.fit(X, Y)  # type: ignore[attr-defined]


def _precisions(top: TopK, Y: CSR) -> DoubleArray:
    """P@k of each sample, a column for each of `_KS`."""
    hits = np.zeros((len(top), max(_KS)))
    found = top.hits(Y)
    hits[:, : found.shape[1]] = found
    return np.stack([hits[:, :k].sum(axis=1) / k for k in _KS], axis=1)
