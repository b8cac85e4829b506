"""Learners side by side on held-out training samples: along the taxonomy, or flat."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from labelwood.core.calibration import RANKED, best_threshold
from labelwood.core.random import seed_sequence
from labelwood.core.types import CSR
from labelwood.errors import LabelwoodWarning
from labelwood.metrics.label_sets import matched_sets
from labelwood.metrics.topk import ranked_hits
from labelwood.tagger.decisions import as_sets, cut

_HELD_OUT = 0.2
_MAX_HELD_OUT, _MAX_TRAINING = 4000, 20_000  # samples; enough for a difference of a per cent
_KS = (1, 3, 5)


def compare(learners: Mapping[str, Any], X: CSR, Y: CSR) -> list[dict[str, Any]]:
    """Held-out figures of each learner, the best micro-F1 first.

    Each is trained on the same part of the samples; its labels are those above the threshold that
    is best for it. "any wrong" is the share of samples whose label set is wrong anywhere.
    """
    n = X.shape[0]
    order = np.random.default_rng(seed_sequence(0)).permutation(n)
    n_held_out = min(int(_HELD_OUT * n), _MAX_HELD_OUT)
    held_out = np.sort(order[:n_held_out])
    rest = np.sort(order[n_held_out:][:_MAX_TRAINING])
    rows = []
    for name, learner in learners.items():
        with warnings.catch_warnings():  # the real fit warns
            warnings.simplefilter("ignore", LabelwoodWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)
            trial = _plain(learner).fit(X[rest], Y[rest])
            figures = _figures(trial, X[held_out], Y[held_out])
        rows.append({"learner": name, **figures})
    return sorted(rows, key=lambda row: -float(row["micro-F1"]))


def _plain(learner: Any) -> Any:
    """A copy without calibration and with the default of a parameter that is found by trial."""
    copy = clone(learner)
    known = copy.get_params(deep=False)
    if "calibrate" in known:
        copy.set_params(calibrate=False)
    if isinstance(known.get("C"), str):
        copy.set_params(C=type(copy)().C)
    return copy


def _figures(trial: Any, X: CSR, Y: CSR) -> dict[str, float]:
    n_labels = Y.shape[1]
    top = trial.predict_topk(X, min(RANKED, n_labels))
    scored = top.labels >= 0
    # Scores order labels as probabilities do, so that the threshold may be a score.
    low, high = float(top.scores[scored].min()), float(top.scores[scored].max())
    shares = (top.scores[scored] - low) / max(high - low, 1e-12)
    at = low + best_threshold(shares, top.hits(Y)[scored], Y.nnz) * (high - low)
    sets = matched_sets(Y, as_sets(cut(top, at), n_labels))
    hits = ranked_hits(Y, top, min(max(_KS), n_labels))
    found = {f"P@{k}": hits.precision(min(k, n_labels)).value for k in _KS}
    found |= {"micro-F1": sets.f1_micro().value, "any wrong": sets.subset_loss().value}
    return {name: float(value) for name, value in found.items()}


def comparison_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The figures in per cent, with a mark at the learner that was taken.

    Examples
    --------
    >>> print(comparison_table([{"learner": "OneVsRestSVM", "P@1": 0.5, "any wrong": 0.25}]))
    learner         P@1  any wrong
    OneVsRestSVM   50.0       25.0  <- selected: best micro-F1 on held-out samples
    """
    names = [name for name in rows[0] if name != "learner"]
    width = max(len("learner"), *(len(str(row["learner"])) for row in rows))
    lines = [f"{'learner':{width}}  " + "  ".join(f"{name:>5}" for name in names)]
    for place, row in enumerate(rows):
        cells = "  ".join(f"{100 * row[name]:{max(len(name), 5)}.1f}" for name in names)
        mark = "  <- selected: best micro-F1 on held-out samples" if place == 0 else ""
        lines.append(f"{row['learner']:{width}}  {cells}{mark}")
    return "\n".join(lines)
