"""Predictions that agree with the taxonomy, from a linear decision at each node."""

from collections.abc import Iterator
from typing import ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labelwood.core.contract import FittedAttributes, check_fitted_attributes
from labelwood.core.estimator import LabelEstimator
from labelwood.core.topk import TopK
from labelwood.core.types import CSR, AnyArray, DoubleArray, FloatArray
from labelwood.data.taxonomy import Taxonomy
from labelwood.errors import DataError
from labelwood.linear.onevsrest import Postings
from labelwood.taxonomy.hierarchy._inverse_kernels import POSITIVE, SUPPORT
from labelwood.taxonomy.hierarchy._row_kernels import add_all
from labelwood.taxonomy.hierarchy.labels import forest_of, parents_of
from labelwood.taxonomy.hierarchy.support import Support, moderate
from labelwood.taxonomy.hierarchy.walk import Forest, some_entries
from labelwood.taxonomy.hierarchy.weights import NodeWeights, side_by_side

_NO_THRESHOLD = -3.4e38  # the least float32, nearly
_CELLS = 2**22  # margins that are held at once
_LEVEL = 0.95  # of intervals, where none is asked for

_WEIGHTS: FittedAttributes = {
    "postings_indptr_": (np.int64, (None,)),
    "postings_blocks_": (np.uint32, (None,)),
    "postings_weights_": (np.float32, (None,)),
    "lane_labels_": (np.int32, (None,)),
}
_SUPPORT: FittedAttributes = {
    "support_indptr_": (np.int64, (None,)),
    "support_indices_": (np.uint32, (None,)),
    "support_data_": (np.float32, (None,)),
    "support_counts_": (np.int64, ("labels", 4)),
    "support_rows_": list,
    "support_alpha_": list,
    "support_inverse_": list,
    "support_pending_": list,
    "support_factors_": list,
}


class NodeMargin(NamedTuple):
    """Why a label was given, or where a prediction stopped.

    Attributes
    ----------
    label : str or int
    margin : float
        wᵀx. A label is given when it is positive (and, with `confidence`, `low` too).
    predicted : bool
    estimate : float or None
        wᵀx/(1 + r), r = xᵀ(I + SSᵀ)⁻¹x: the margin with the point itself among the examples.
    low, high : float or None
        Between them the mean of the estimate lies, at the level `confidence` (0.95 without
        one), if labels are drawn as the theory has it.
    bias : float or None
        How far that mean can be from the true margin.
    """

    label: object
    margin: float
    predicted: bool
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    bias: float | None = None


class Estimates(NamedTuple):
    """Margins with the point itself among the examples, their deviations, and their biases."""

    estimate: DoubleArray
    deviation: DoubleArray
    bias: DoubleArray

    def half_width(self, confidence: float) -> DoubleArray:
        """Of the interval that holds the mean of the estimate (Hoeffding)."""
        width: DoubleArray = self.deviation * np.sqrt(2 * np.log(2 / (1 - confidence)))
        return width

    def told(self, confidence: float) -> list[tuple[float, ...]]:
        """Of each point what `NodeMargin` tells: estimate, low, high and bias."""
        half = self.half_width(confidence)
        parts = (self.estimate, self.estimate - half, self.estimate + half, self.bias)
        return list(zip(*(part.tolist() for part in parts), strict=True))


class HierarchicalPredictor(LabelEstimator):
    """The half of the learners along a taxonomy that predicts.

    Weights are there after `fit`; after `partial_fit` they are put together from the support
    when they are first asked for.
    """

    _feature_pointers: ClassVar[tuple[str, ...]] = ("postings_indptr_",)
    _feature_indices: ClassVar[tuple[str, ...]] = ("support_indices_",)
    _fitted: ClassVar[FittedAttributes] = {
        "parent_": (np.int32, ("labels",)),
        "n_positive_": (np.int64, ("labels",)),
        "train_": str,
        "scaled_": bool,
    }
    _keeps_inverse: ClassVar[bool] = False

    taxonomy: Taxonomy | None
    confidence: float | None = None  # of a learner that can tell how sure it is
    n_jobs: int | None
    parent_: NDArray[np.int32]
    n_positive_: NDArray[np.int64]
    train_: str
    scaled_: bool
    support_counts_: NDArray[np.int64]
    _weights: Postings

    @property
    def untrained_(self) -> AnyArray:
        """The labels that no example had: they are never predicted."""
        return self.classes_[self.n_positive_ == 0]

    @property
    def coef_(self) -> CSR:
        """Weights as CSR of shape (n_features, n_labels), put together at each call."""
        return self._postings().to_csr(self.classes_.size)

    def explain(self, X: object) -> list[list[NodeMargin]]:
        """For each point the labels on its paths, from the top, with their margins.

        These are the labels that are predicted, and below them those at which a prediction
        stopped because the interval of a positive margin was not clear.
        """
        matrix = self._check_X(X)
        return [path for rows in self._blocks(matrix) for path in self._paths(matrix[rows])]

    def _paths(self, X: CSR) -> list[list[NodeMargin]]:
        forest = Forest(self.parent_)
        margins, predicted = self._decide(X, forest)
        shown = forest.reached(predicted) & (margins > 0)
        level = self.confidence or _LEVEL
        told: list[tuple[float, ...]]
        paths: list[list[NodeMargin]] = [[] for _ in range(X.shape[0])]
        for node in forest.order[shown[:, forest.order].any(axis=0)].tolist():
            rows = np.flatnonzero(shown[:, node])
            found = self._estimates(node, X[rows], margins[rows, node])
            told = [()] * rows.size if found is None else found.told(level)
            label = self.classes_[node].item()
            for row, more in zip(rows.tolist(), told, strict=True):
                given = bool(predicted[row, node])
                paths[row].append(NodeMargin(label, float(margins[row, node]), given, *more))
        return paths

    def _estimates(self, node: int, X: CSR, margins: FloatArray) -> Estimates | None:
        """How sure the margins of `node` are, if the learner can tell; X is not scaled yet."""
        return None

    def _decide(self, X: CSR, forest: Forest) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Margins of all nodes (−∞ for the untrained), and which labels are predicted."""
        margins = self._margins(X)
        confidence = self.confidence
        if confidence is None:
            return margins, forest.predicted(margins)

        def clear(node: int, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
            found = self._estimates(node, X[rows], margins[rows, node])
            if found is None:
                raise DataError(
                    "This fit kept no examples to judge margins by; "
                    "set confidence before fit, or learn by partial_fit."
                )
            return found.estimate > found.half_width(confidence)

        return margins, forest.predicted(margins, clear)

    def _score(self, X: CSR, above: float | None = None) -> CSR:
        """Margins of the labels whose parent is predicted; with `above`, of those predicted."""
        forest = Forest(self.parent_)
        parts = []
        for rows in self._blocks(X):
            margins, chosen = self._decide(X[rows], forest)
            if above is None:
                chosen = forest.reached(chosen) & np.isfinite(margins)
            parts.append(some_entries(margins, chosen))
        return sp.csr_array(sp.vstack(parts, format="csr"))

    def _score_topk(self, X: CSR, k: int) -> TopK:
        forest = Forest(self.parent_)
        scored = self.n_positive_ > 0
        parts = [
            forest.best(forest.chances(self._margins(X[rows])), scored, k)
            for rows in self._blocks(X)
        ]
        labels = np.concatenate([part.labels for part in parts])
        return TopK(labels, np.concatenate([part.scores for part in parts]))

    def _blocks(self, X: CSR) -> Iterator[slice]:
        size = max(1, _CELLS // max(self.classes_.size, 1))
        return (slice(start, start + size) for start in range(0, X.shape[0], size))

    def _margins(self, X: CSR) -> FloatArray:
        """Margins of all nodes on rows of unit length; −∞ for the untrained."""
        trained = self.n_positive_ > 0
        intercepts = np.where(trained, np.float32(0), np.float32(np.nan))
        scores = self._postings().above(X, intercepts, _NO_THRESHOLD, self.n_jobs, unit=True)
        margins = np.full((X.shape[0], trained.size), -np.inf, dtype=np.float32)
        margins[:, trained] = scores.data.reshape(X.shape[0], -1)
        return margins

    def _postings(self) -> Postings:
        if "lane_labels_" in vars(self):
            return Postings(*(getattr(self, name) for name in _WEIGHTS))
        if "_weights" not in vars(self):
            self._weights = side_by_side(self._node_weights(), self.n_features_in_)
        return self._weights

    def _set_postings(self, weights: Postings) -> None:
        for name, part in zip(_WEIGHTS, weights, strict=True):
            setattr(self, name, part)

    def _node_weights(self) -> Iterator[NodeWeights]:
        """The weights of the nodes from their support, as learning has them."""
        support = self._support()
        for node in np.flatnonzero(self.n_positive_ > 0).tolist():
            dense = np.zeros(self.n_features_in_)
            n = support.counts[node, SUPPORT]
            add_all(*support.store, support.rows[node], support.alpha[node], n, dense)
            yield NodeWeights.of(node, dense)

    def _support(self) -> Support:
        return Support(*(getattr(self, name) for name in _SUPPORT))

    def _set_support(self, support: Support) -> None:
        for name, part in zip(_SUPPORT, support, strict=True):
            setattr(self, name, part)

    def _drop_support(self) -> None:
        for name in _SUPPORT:
            delattr(self, name)

    def _check_fitted(self) -> None:
        super()._check_fitted()
        sizes = {"labels": self.classes_.size}
        forest = forest_of(self.taxonomy, self.classes_, self.multilabel_)
        if not np.array_equal(self.parent_, parents_of(forest, self.classes_.size)):
            raise DataError("the taxonomy is not the one of the fitted model")
        if self.train_ not in ("hierarchical", "independent"):
            raise DataError("train_ must be 'hierarchical' or 'independent'")
        if "support_counts_" in vars(self):
            check_fitted_attributes(self, _SUPPORT, sizes)
            n_labels = self.classes_.size
            self._support().check(self.n_features_in_, n_labels, inverse=self._keeps_inverse)
            if not np.array_equal(self.n_positive_, self.support_counts_[:, POSITIVE]):
                raise DataError("n_positive_ must be what the support counts")
        else:
            check_fitted_attributes(self, _WEIGHTS, sizes)
            self._check_weights()

    def _check_weights(self) -> None:
        weights = self._postings()
        weights.check(self.n_features_in_, self.classes_.size)
        lanes = np.sort(weights.lane_labels[weights.lane_labels >= 0])
        if np.any(self.n_positive_ < 0) or not np.array_equal(
            lanes, np.flatnonzero(self.n_positive_)
        ):
            raise DataError("there must be weights of each label that had an example, once")
        if not moderate(weights.weights):
            raise DataError("the weights must be finite and not huge")
