"""Boosted stumps: a sum of trees with one split, by the same split search."""

from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from scipy.special import expit

from labelwood.core.contract import FittedAttributes
from labelwood.core.estimator import LabelEstimator
from labelwood.core.parallel import parallel
from labelwood.core.params import N_JOBS, Constraints, Integer, Real
from labelwood.core.sparse import cuts, row_blocks
from labelwood.core.topk import TopK
from labelwood.core.types import CSR, DoubleArray, PointerArray
from labelwood.errors import DataError
from labelwood.trees.rules.decision_tree import Columns, scores_as_csr
from labelwood.trees.rules.features import check_weights, feature_kinds, sort_matrix
from labelwood.trees.rules.growth import (
    END,
    FEATURE,
    SCORE,
    SQUARED,
    START,
    THRESHOLD,
    Entries,
    best_split_of_one,
    sort_all,
)

_ROWS_AT_ONCE = 512
# Second derivatives of samples that are all but certain are kept away from 0.
_LEAST_HESSIAN = 1e-6


class BoostedStumps(LabelEstimator):
    """A sum of decision stumps by Newton boosting of the log-loss, for each label.

    The greedy answer to L1 regularization over all stumps, of which there are infinitely many
    (*Topics in Learning Theory*, lecture 8): each round adds a small multiple of the stump that
    fits the gradient best. `n_rounds` × `learning_rate` limits the L1 norm.

    Parameters
    ----------
    n_rounds : int
        Stumps for each label.
    learning_rate : float
        Share of the Newton step that is taken.
    min_samples_leaf : int
        Samples on each side of a stump.
    presence_features : None, "all", mask, or list of columns or names
        Features that are only split into present and absent.
    n_jobs : int or None
        Threads, over labels.

    Attributes
    ----------
    classes_ : array
    intercepts_ : array of shape (n_models,)
        Log-odds of each label (of the second class, if there are two).
    stump_indptr_, features_, thresholds_, left_values_, right_values_ : arrays
        Stumps of model m are `stump_indptr_[m]:stump_indptr_[m + 1]`: values of the feature up
        to the threshold add the left value, others the right one.
    n_iter_ : int
        Rounds of the longest model.
    stop_reason_ : str

    Examples
    --------
    >>> import numpy as np
    >>> from labelwood import BoostedStumps
    >>> X = np.random.default_rng(0).standard_normal((300, 5))
    >>> y = X[:, 0] + (X[:, 3] > 0) > 0.5
    >>> model = BoostedStumps(n_rounds=50).fit(X, y)
    >>> bool(model.score(X, y) > 0.95), np.unique(model.features_[:10]).tolist()
    (True, [0, 3])
    """

    _constraints: ClassVar[Constraints] = {
        "n_rounds": Integer(low=1),
        "learning_rate": Real(above=0, high=1),
        "min_samples_leaf": Integer(low=1),
        "presence_features": Columns(),
        "n_jobs": N_JOBS,
    }
    _feature_indices: ClassVar[tuple[str, ...]] = ("features_",)
    _fitted: ClassVar[FittedAttributes] = {
        "intercepts_": (np.float64, ("models",)),
        "stump_indptr_": (np.int64, (None,)),
        "features_": (np.int64, ("stumps",)),
        "thresholds_": (np.float64, ("stumps",)),
        "left_values_": (np.float64, ("stumps",)),
        "right_values_": (np.float64, ("stumps",)),
        "n_iter_": int,
        "stop_reason_": str,
    }
    missing: ClassVar[Literal["error"]] = "error"
    categorical_features: ClassVar[None] = None

    intercepts_: DoubleArray
    stump_indptr_: PointerArray
    features_: PointerArray
    thresholds_: DoubleArray
    left_values_: DoubleArray
    right_values_: DoubleArray
    n_iter_: int
    stop_reason_: str

    def __init__(
        self,
        *,
        n_rounds: int = 100,
        learning_rate: float = 0.3,
        min_samples_leaf: int = 1,
        presence_features: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_rounds = n_rounds
        self.learning_rate = learning_rate
        self.min_samples_leaf = min_samples_leaf
        self.presence_features = presence_features
        self.n_jobs = n_jobs

    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Boost stumps for each label."""
        matrix, Y = self._begin_fit(X, y)
        weights = check_weights(sample_weight, matrix)
        kinds = feature_kinds(self)
        entries, positive = sort_matrix(matrix, weights > 0)
        # After this sort every search only reads.
        sort_all(entries)
        columns = Y.tocsc()
        if not self.multilabel_ and self.classes_.size == 2:
            labels = range(1, 2)
        else:
            labels = range(self.classes_.size)

        def boost(label: int) -> "_Boosted":
            target = np.zeros(matrix.shape[0])
            target[columns.indices[columns.indptr[label] : columns.indptr[label + 1]]] = 1
            return _boost(self, entries, kinds, positive, matrix.shape[0], target, weights)

        models = parallel(boost, labels, n_jobs=self.n_jobs, description="boosting stumps")
        sizes = [len(one.stumps) for one in models]
        stumps = np.array([s for one in models for s in one.stumps]).reshape(-1, 4)
        self.intercepts_ = np.array([one.intercept for one in models], dtype=np.float64)
        self.stump_indptr_ = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.features_ = stumps[:, 0].astype(np.int64)
        self.thresholds_, self.left_values_, self.right_values_ = np.ascontiguousarray(
            stumps[:, 1:].T
        )
        self.n_iter_ = max(sizes, default=0)
        ended = sum(size < self.n_rounds for size in sizes)
        self.stop_reason_ = (
            f"n_rounds reached by {len(sizes) - ended} models; no stump helps in {ended}"
        )
        return self

    def _margins(self, X: CSR) -> DoubleArray:
        """The log-odds of each model, of shape (n, n_models)."""
        margins = np.tile(self.intercepts_, (X.shape[0], 1))
        if not self.features_.size:
            return margins
        selected, places = np.unique(self.features_, return_inverse=True)
        values = X[:, selected].toarray()[:, places]
        steps = np.where(values <= self.thresholds_, self.left_values_, self.right_values_)
        there = np.flatnonzero(np.diff(self.stump_indptr_))
        margins[:, there] += np.add.reduceat(steps, self.stump_indptr_[there], axis=1)
        return margins

    def _all_scores(self, X: CSR) -> DoubleArray:
        """A score for each class: log-odds, of two classes those of the second halved in two."""
        margins = self._margins(X)
        if not self.multilabel_ and self.classes_.size == 2:
            return np.column_stack([-margins[:, 0] / 2, margins[:, 0] / 2])
        return margins

    def _score(self, X: CSR, above: float | None = None) -> CSR:
        parts = [
            scores_as_csr(self._all_scores(X[rows]), above) for rows in row_blocks(X, _ROWS_AT_ONCE)
        ]
        return sp.csr_array(sp.vstack(parts, format="csr"))

    def _score_topk(self, X: CSR, k: int) -> TopK:
        parts = [
            TopK.from_csr(scores_as_csr(self._all_scores(X[rows]), None), k)
            for rows in row_blocks(X, _ROWS_AT_ONCE)
        ]
        labels = np.concatenate([part.labels for part in parts])
        return TopK(labels, np.concatenate([part.scores for part in parts]))

    def _sizes(self) -> dict[str, int]:
        two = not self.multilabel_ and self.classes_.size == 2
        return {
            "models": 1 if two else self.classes_.size,
            "stumps": np.size(getattr(self, "features_", ())),
        }

    def _check_fitted(self) -> None:
        super()._check_fitted()
        if not cuts(self.stump_indptr_, self.intercepts_.size, self.features_.size):
            raise DataError("the stumps and the labels do not fit together")
        if np.any((self.features_ < 0) | (self.features_ >= self.n_features_in_)):
            raise DataError("a stump reads a feature that does not exist")


class _Boosted:
    """A model while it grows: its intercept and stumps (feature, threshold, left, right)."""

    def __init__(self, intercept: float) -> None:
        self.intercept = intercept
        self.stumps: list[tuple[float, float, float, float]] = []


def _boost(
    owner: BoostedStumps,
    entries: Entries,
    kinds: Any,
    positive: Any,
    n: int,
    target: DoubleArray,
    weights: DoubleArray,
) -> _Boosted:
    """Newton steps: a stump fits gradient / second derivative, weighted by the latter."""
    total = weights.sum()
    share = float(np.clip(weights @ target / total, 1e-6, 1 - 1e-6))
    model = _Boosted(float(np.log(share / (1 - share))))
    margins = np.full(n, model.intercept)
    n_rows = int(np.count_nonzero(weights))
    none: Any = np.empty(0, dtype=np.bool_)
    end = entries.rows.size
    for _ in range(int(owner.n_rounds)):
        p = expit(margins)
        stats = np.column_stack([np.maximum(p * (1 - p), _LEAST_HESSIAN), target - p])
        stats *= weights[:, None]
        sums = stats.sum(axis=0)
        best = best_split_of_one(
            entries,
            0,
            end,
            stats,
            n_rows,
            sums,
            kinds,
            positive,
            SQUARED,
            int(owner.min_samples_leaf),
            False,
            none,
        )
        if not best[SCORE] - sums[1] ** 2 / sums[0] > 1e-12 * total:
            break
        threshold = float(best[THRESHOLD])
        left = np.full(n, threshold >= 0)
        part = slice(int(best[START]), int(best[END]))
        left[entries.rows[part]] = entries.values[part] <= threshold
        sides = [stats[left].sum(axis=0), stats[~left].sum(axis=0)]
        steps = [float(owner.learning_rate * side[1] / side[0]) for side in sides]
        model.stumps.append((best[FEATURE], threshold, steps[0], steps[1]))
        margins += np.where(left, steps[0], steps[1])
    return model
