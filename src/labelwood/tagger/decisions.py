"""From scores to probabilities to label sets: what a Tagger learns on held-out samples."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from labelwood.core.calibration import (
    MIN_SAMPLES,
    RANKED,
    apply_calibration,
    best_threshold,
    fit_calibration,
    held_out_scores,
)
from labelwood.core.sparse import make_csr
from labelwood.core.topk import TopK
from labelwood.core.types import CSR, AnyArray, DoubleArray
from labelwood.trees.rules.label_rules import Verdict


class Calibration(NamedTuple):
    """Knots of the map from scores to probabilities, and the threshold of predicted labels."""

    scores: DoubleArray
    probabilities: DoubleArray
    threshold: float


def learn_calibration(
    estimator: Any, X: CSR, Y: CSR, weights: dict[str, DoubleArray]
) -> Calibration:
    """The calibration of an estimator that has no parameter `calibrate` of its own."""
    seed = getattr(estimator, "random_state", 0)
    held_out = held_out_scores(clone(estimator), X, Y, seed, **weights)
    knots = fit_calibration(held_out.scores, held_out.hits)
    probabilities = apply_calibration(held_out.scores, *knots)
    return Calibration(*knots, best_threshold(probabilities, held_out.hits, held_out.n_true))


def can_hold_out(Y: CSR) -> bool:
    """Whether there are samples enough to hold some out."""
    return Y.shape[0] >= MIN_SAMPLES


def calibrated_topk(top: TopK, calibration: tuple[DoubleArray, DoubleArray]) -> TopK:
    """The same labels with probabilities in place of scores."""
    scored = top.labels >= 0
    scores = np.full(scored.shape, -np.inf, dtype=np.float32)
    scores[scored] = apply_calibration(top.scores[scored], *calibration)
    return TopK(top.labels, scores, top.classes)


def cut(top: TopK, threshold: float, *, at_least_one: bool = False) -> TopK:
    """The ranking without the labels below `threshold`, or with the best of them alone."""
    kept = top.scores >= threshold
    if at_least_one and top.k:
        kept[:, 0] = True
    kept &= top.labels >= 0
    labels = np.where(kept, top.labels, -1)
    return TopK(labels, np.where(kept, top.scores, -np.inf), top.classes)


def only(top: TopK, sets: CSR) -> TopK:
    """The ranking without the labels that are not in `sets`."""
    kept = top.hits(sets)
    order = np.argsort(~kept, axis=1, kind="stable")  # −1 may only end a row
    labels, scores = np.where(kept, top.labels, -1), np.where(kept, top.scores, -np.inf)
    return TopK(
        np.take_along_axis(labels, order, axis=1),
        np.take_along_axis(scores, order, axis=1),
        top.classes,
    )


def as_sets(top: TopK, n_labels: int) -> CSR:
    """The labels of a ranking as an indicator."""
    sets = top.to_csr(n_labels)
    sets.data[:] = 1
    return sets


def with_one(sets: CSR, best: TopK) -> CSR:
    """Label sets of which the empty ones get the best label."""
    empty = np.diff(sets.indptr) == 0
    labels = np.where(empty[:, None], best.labels[:, :1], -1)
    more = as_sets(TopK(labels, np.zeros(labels.shape, dtype=np.float32)), sets.shape[1])
    return sp.csr_array(sets + more)


def changed(sets: CSR, verdicts: Sequence[Verdict]) -> CSR:
    """Label sets with what rules add, and without what they remove."""
    rows = np.split(sets.indices, sets.indptr[1:-1])
    kept = [
        sorted({*row.tolist(), *verdict.added} - verdict.removed.keys())
        for row, verdict in zip(rows, verdicts, strict=True)
    ]
    indptr = np.concatenate([[0], np.cumsum([len(one) for one in kept])])
    indices = np.array([label for one in kept for label in one], dtype=np.int64)
    return make_csr(indptr, indices, np.ones(indices.size, dtype=np.float32), sets.shape)


def ranked_by_rules(top: TopK, verdicts: Sequence[Verdict], k: int, *, proba: bool) -> TopK:
    """The best `k` labels after the rules; added ones come first, as sure as the surest."""
    labels = np.full((len(top), k), -1, dtype=np.int32)
    scores = np.full((len(top), k), -np.inf, dtype=np.float32)
    for row, verdict in enumerate(verdicts):
        there = top.labels[row] >= 0
        own = dict(zip(top.labels[row][there].tolist(), top.scores[row][there], strict=True))
        best = 1.0 if proba else max(own.values(), default=1.0)
        kept = list(verdict.ranked(own, best).items())[:k]
        if kept:
            labels[row, : len(kept)], scores[row, : len(kept)] = zip(*kept, strict=True)
    return TopK(labels, scores, top.classes)


def count_asked(k: int | None, n_labels: int) -> int:
    """How many labels are ranked where those above a threshold are wanted."""
    return min(RANKED if k is None else k, max(n_labels, 1))


def names_of(sets: CSR, names: AnyArray) -> list[list[str]]:
    """The names of each label set."""
    if not sets.shape[0]:
        return []
    return [names[row].tolist() for row in np.split(sets.indices, sets.indptr[1:-1])]
