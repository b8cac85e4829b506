"""How often a score is right: a rising map from scores to probabilities, learned from outcomes.

The map is an isotonic regression. Each run of scores that it pools becomes one knot, at their
mean score, and probabilities between two knots lie on a line (centered isotonic regression, Oron
and Flournoy 2017): a step function would call labels of different scores equally sure.
"""

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression
from sklearn.exceptions import ConvergenceWarning

from labelwood.core.random import seed_sequence
from labelwood.core.topk import TopK
from labelwood.core.types import CSR, AnyArray, DoubleArray, FloatArray
from labelwood.errors import DataError, LabelwoodWarning

MIN_SAMPLES = 10
RANKED = 50  # labels of a sample whose scores and outcomes are looked at
_IN_TURNS = 1000  # samples up to which all are held out once; a fifth of them would be too few
_TRACE = 1e-6
"""Least distance of a probability from 0 and 1, and weight of what keeps the scores' order."""


class HeldOut(NamedTuple):
    """Scores of held-out samples, whether each was that of a right label, and all right labels.

    `n_true` also counts the labels that were not among the best of their sample.
    """

    scores: FloatArray
    hits: NDArray[np.bool_]
    n_true: int


def held_out_scores(
    model: Any, X: CSR, Y: CSR, random_state: object, sample_weight: DoubleArray | None = None
) -> HeldOut:
    """Train `model` on four fifths of the samples; how it scores the others, and what was right.

    Few samples are held out in turns, so that each of them has a say.
    """
    n = X.shape[0]
    parts = []
    for held_out in calibration_folds(n, random_state):
        others = np.setdiff1d(np.arange(n), held_out)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight[others]}
        with warnings.catch_warnings():  # the real fit warns
            warnings.simplefilter("ignore", LabelwoodWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X[others], Y[others], **weights)
            top = model.predict_topk(X[held_out], RANKED)
        parts.append(outcomes(top, Y[held_out]))
    scores, hits, n_true = zip(*parts, strict=True)
    return HeldOut(np.concatenate(scores), np.concatenate(hits), sum(n_true))


def calibration_folds(n: int, random_state: object) -> list[AnyArray]:
    """The rows to hold out, a fifth of `n`; of few samples all of them, in turns."""
    if n < MIN_SAMPLES:
        raise DataError(
            f"Calibration takes at least {MIN_SAMPLES} samples of any class. Got n_samples = {n}; "
            "use calibrate=False."
        )
    order = np.random.default_rng(seed_sequence(random_state)).permutation(n)
    return [np.sort(fold) for fold in np.array_split(order, 5)[: n_calibration_folds(n)]]


def n_calibration_folds(n: int) -> int:
    """How many fits on four fifths of `n` samples a calibration takes."""
    return 5 if n <= _IN_TURNS else 1


def outcomes(top: TopK, Y: CSR) -> HeldOut:
    """The scores of the best labels of samples with labels `Y`, and what was right."""
    scored = top.labels >= 0
    return HeldOut(top.scores[scored], top.hits(Y)[scored], int(Y.nnz))


def best_threshold(probabilities: AnyArray, hits: AnyArray, n_true: int) -> float:
    """The probability from which on labels are to be predicted for the largest micro-F1.

    Of the thresholds between two probabilities that occur, the one with the largest
    2 · right / (predicted + true); of several that are as good, the highest.

    Parameters
    ----------
    probabilities, hits : arrays of shape (n,)
        Probabilities of (sample, label) pairs, and whether each label was right.
    n_true : int
        All right labels, those without a probability included.

    Examples
    --------
    >>> best_threshold([0.9, 0.6, 0.4, 0.1], [True, True, False, False], 3)
    0.5
    """
    order = np.argsort(-np.asarray(probabilities, dtype=np.float64), kind="stable")
    falling = np.asarray(probabilities, dtype=np.float64)[order]
    if falling.size == 0 or not np.any(hits):
        return 0.5  # nothing was right: no threshold is better than another
    right = np.cumsum(np.asarray(hits)[order])
    f1 = 2 * right / (np.arange(1, falling.size + 1) + n_true)
    below = np.append(falling[1:], 0.0)
    f1[falling == below] = -1  # pairs of equal probability cannot be divided
    best = int(np.argmax(f1))
    return float((falling[best] + below[best]) / 2)


def fit_calibration(scores: AnyArray, hits: AnyArray) -> tuple[DoubleArray, DoubleArray]:
    """Scores and probabilities of the knots, both rising.

    Parameters
    ----------
    scores : array of shape (n,)
        Finite numbers, in any order.
    hits : array of shape (n,)
        Whether each score was that of a right label.

    Examples
    --------
    >>> knots = fit_calibration([0, 1, 2, 3, 4, 5], [0, 0, 1, 0, 1, 1])
    >>> [[float(round(number, 2)) for number in part] for part in knots]
    [[0.33, 2.5, 4.67], [0.33, 0.5, 0.67]]
    """
    if np.size(scores) == 0:
        raise DataError("There is no score from which to learn how often scores are right.")
    values, place = np.unique(np.asarray(scores, dtype=np.float64), return_inverse=True)
    counts = np.bincount(place).astype(np.float64)
    right = np.bincount(place, weights=hits)
    # An imagined hit of the lowest score and a miss of the highest: a thousand scores that
    # were all right are no proof that the next one is.
    right[0] += 1
    counts[0] += 1
    counts[-1] += 1
    pooled = isotonic_regression(right / counts, weights=counts)
    starts = pooled.blocks[:-1]
    knots = np.add.reduceat(values * counts, starts) / np.add.reduceat(counts, starts)
    return knots, np.clip(pooled.x[starts], _TRACE, 1 - _TRACE)


def apply_calibration(
    scores: AnyArray, knot_scores: DoubleArray, knot_probabilities: DoubleArray
) -> DoubleArray:
    """Probabilities of scores: between 0 and 1, neither of them included, and rising.

    Beyond the knots the evidence ends, and the probability stays that of the last one but for a
    trace that keeps the order.

    Examples
    --------
    >>> apply_calibration([-9, 1, 9], np.array([0.0, 2.0]), np.array([0.2, 0.6])).round(3).tolist()
    [0.2, 0.4, 0.6]
    """
    numbers = np.asarray(scores, dtype=np.float64)
    order = 0.5 + 0.5 * numbers / (1 + np.abs(numbers))
    return (1 - _TRACE) * np.interp(numbers, knot_scores, knot_probabilities) + _TRACE * order


def check_calibration(knot_scores: object, knot_probabilities: object) -> None:
    """Refuse what `fit_calibration` cannot have made (after loading)."""
    parts = (knot_scores, knot_probabilities)
    if not all(isinstance(one, np.ndarray) and one.dtype == np.float64 for one in parts):
        raise DataError("the knots of the calibration must be arrays of float64")
    scores, probabilities = np.asarray(knot_scores), np.asarray(knot_probabilities)
    if (
        scores.ndim != 1
        or scores.size == 0
        or scores.shape != probabilities.shape
        or not np.all(np.isfinite(scores))
        or not np.all(np.diff(scores) > 0)
        or not np.all(np.diff(probabilities) >= 0)
        or not np.all((probabilities > 0) & (probabilities < 1))
    ):
        raise DataError("the knots of the calibration do not rise from 0 to 1")


def check_threshold(value: object) -> None:
    """Refuse what is no probability (after loading)."""
    if not isinstance(value, float) or not 0 <= value <= 1:
        raise DataError("the threshold of predicted labels must be a probability")
