"""What the learners along a taxonomy share: all of the estimator but the update of a node."""

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from typing import ClassVar, Self

import joblib
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from labelwood.core.caller import user_stacklevel
from labelwood.core.contract import FittedAttributes, check_fitted_attributes
from labelwood.core.estimator import LabelEstimator
from labelwood.core.parallel import parallel
from labelwood.core.params import N_JOBS, Boolean, Constraints, Instance, OneOf, check_parameters
from labelwood.core.sparse import row_squares, unit_rows
from labelwood.core.topk import TopK
from labelwood.core.types import CSR, AnyArray, FloatArray, PointerArray
from labelwood.data.taxonomy import ParentSets, Taxonomy
from labelwood.errors import DataError, LabelwoodWarning, ParameterError
from labelwood.linear.onevsrest import Postings
from labelwood.taxonomy.hierarchy._row_kernels import N_COUNTS, POSITIVE, SEEN, SUPPORT
from labelwood.taxonomy.hierarchy.decisions import (
    Forest,
    MarginEstimator,
    NodeMargin,
    chosen_entries,
)
from labelwood.taxonomy.hierarchy.labels import (
    closed_labels,
    first_labels,
    forest_of,
    known_labels,
    parents_of,
)
from labelwood.taxonomy.hierarchy.nodes import Examples, Nodes, UpdateRule, moderate
from labelwood.taxonomy.hierarchy.training_sets import TrainingSets
from labelwood.taxonomy.hierarchy.weights import as_postings, weights_of_support

_MIN_PARALLEL_ROWS = 64  # below, starting threads takes longer than learning
_TASKS_PER_THREAD = 8  # enough to balance the load, few enough to hand out quickly
_UNIT = 1e-3  # by how much the length of a row may differ from one without a warning
_NO_THRESHOLD = -3.4e38  # nearly the least float32
_BLOCK_CELLS = 2**22  # margins that are held at once
_LEVEL = 0.95  # of intervals in `explain` without `confidence`

_WEIGHTS: FittedAttributes = {
    "postings_indptr_": (np.int64, (None,)),
    "postings_blocks_": (np.uint32, (None,)),
    "postings_weights_": (np.float32, (None,)),
    "lane_labels_": (np.int32, (None,)),
}
_NODES: FittedAttributes = {
    "support_indptr_": (np.int64, (None,)),
    "support_indices_": (np.uint32, (None,)),
    "support_data_": (np.float32, (None,)),
    "support_counts_": (np.int64, ("labels", N_COUNTS)),
    "support_rows_": list,
    "support_alpha_": list,
    "support_inverse_": list,
    "support_pending_": list,
    "support_factors_": list,
}


class HierarchicalClassifier(LabelEstimator):
    """Base of the learners with a linear classifier at each node of a forest.

    A subclass gives `fit` and the `_update_rule` of a node. Parameters and attributes that are
    common to all are described in `HierarchicalRLSClassifier`.
    """

    _constraints: ClassVar[Constraints] = {
        "taxonomy": (Instance("Taxonomy"), None),
        "train": OneOf("hierarchical", "independent"),
        "close_labels": Boolean(),
        "assignment": OneOf("sign", "likeliest"),
        "n_jobs": N_JOBS,
    }
    _feature_pointers: ClassVar[tuple[str, ...]] = ("postings_indptr_",)
    _feature_indices: ClassVar[tuple[str, ...]] = ("support_indices_",)
    _fitted: ClassVar[FittedAttributes] = {
        "parent_": (np.int32, ("labels",)),
        "n_positive_": (np.int64, ("labels",)),
        "train_": str,
        "scaled_": bool,
    }

    taxonomy: Taxonomy | None
    train: str
    close_labels: bool
    assignment: str
    confidence: float | None = None  # of a learner that knows how sure it is
    n_jobs: int | None
    parent_: NDArray[np.int32]
    parent_sets_indptr_: PointerArray
    parent_sets_indices_: NDArray[np.int32]
    n_positive_: NDArray[np.int64]
    train_: str
    scaled_: bool
    support_counts_: NDArray[np.int64]
    _weights: Postings

    @abstractmethod
    def _update_rule(self) -> UpdateRule:
        """How a node learns, by the parameters."""

    def _check_rule(self) -> None:
        """Refuse parameters with which `partial_fit` cannot start or go on."""

    def _margin_estimator(self) -> MarginEstimator | None:
        """How sure margins are, if the learner has what it takes to know."""
        return None

    def partial_fit(self, X: object, y: object, classes: object = None) -> Self:
        """Learn from some more samples, one after the other, each once.

        How a stream is cut into batches makes no difference to the result; large ones are
        faster. An interruption leaves the model as it was before the call.

        Parameters
        ----------
        X : features of shape (n_samples, n_features)
        y : label sets
            An indicator, or lists of names.
        classes : array or None
            All labels, for the first call; by default those of its samples. They name the
            columns of an indicator in their order. With a taxonomy they must be its nodes,
            which the labels are without them too.
        """
        first = "support_counts_" not in vars(self)
        if "lane_labels_" in vars(self):
            warnings.warn(
                "fit keeps no samples from which partial_fit could continue: "
                "learning starts from scratch.",
                LabelwoodWarning,
                stacklevel=user_stacklevel(),
            )
        matrix, Y = self._begin(X, y, classes, first=first)
        self._check_rule()
        inverse = self._update_rule().keeps_inverse
        nodes = Nodes.empty(self.classes_.size, inverse=inverse) if first else self._nodes()
        self._set_nodes(self._learn(nodes, self._unit(matrix), Y))
        return self

    def _learn(self, before: Nodes, X: CSR, Y: CSR, n_epochs: int = 1) -> Nodes:
        """The nodes after the rows of `X`; each goes through its own in their order."""
        rule, training_sets = self._update_rule(), self._training_sets(Y)
        nodes, at = before.with_rows(X), before.n_rows
        tasks = [(int(i), group) for group in training_sets.siblings() for i in group.nodes]
        # The longest first, so that no thread is left with it at the end.
        tasks.sort(key=lambda task: -task[1].rows.size * (1000 + nodes.counts[task[0], SUPPORT]))
        few = Y.shape[0] < _MIN_PARALLEL_ROWS
        n_jobs = 1 if few else joblib.effective_n_jobs(self.n_jobs)
        n_shares = min(_TASKS_PER_THREAD * n_jobs, len(tasks))

        def learn(share: int) -> None:
            for i, group in tasks[share::n_shares]:
                examples = Examples(at + group.rows, training_sets.signs(i, group.rows))
                for _ in range(n_epochs):
                    nodes.learn(i, examples, rule, self.n_features_in_)

        description = "" if few else "learning"
        parallel(learn, range(n_shares), n_jobs=n_jobs, description=description)
        return nodes.swept(at)

    def _training_sets(self, Y: CSR) -> TrainingSets:
        independent = self.train_ == "independent"
        return TrainingSets(Y, self.parent_, independent=independent, sets=self._parent_sets())

    def _parent_sets(self) -> ParentSets | None:
        """All parents of each label, where some have several."""
        if "parent_sets_indptr_" not in vars(self):
            return None
        rule = getattr(self.taxonomy, "parents", None) or "all"
        return ParentSets(self.parent_sets_indptr_, self.parent_sets_indices_, rule)

    def _begin(
        self, X: object, y: object, classes: object = None, *, first: bool
    ) -> tuple[CSR, CSR]:
        """Check parameters and data; the first time, set the attributes that describe them."""
        check_parameters(self, self._constraints)
        if y is None:
            raise DataError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        if first:
            self._reset()
        matrix = self._check_X(X, reset=first)
        if first:
            Y, self.classes_, self.multilabel_ = first_labels(y, self.taxonomy, classes)
        else:
            Y = known_labels(y, self.classes_, self.multilabel_)
        if Y.shape[0] != matrix.shape[0]:
            raise DataError(f"X has {matrix.shape[0]} rows and Y has {Y.shape[0]}.")
        forest = forest_of(self.taxonomy, self.classes_, self.multilabel_)
        parent = parents_of(forest, self.classes_.size)
        if first:
            self.parent_, self.train_, self.scaled_ = parent, self.train, False
            if forest is not None and not forest.is_forest:
                self.parent_sets_indptr_, self.parent_sets_indices_, _ = forest.parent_sets
        elif not self._is_of(forest):
            raise DataError("The taxonomy is not the one that learning began with.")
        elif self.train != self.train_:
            raise ParameterError(
                f"Learning began with train={self.train_!r}; set it to that, or fit."
            )
        return matrix, closed_labels(Y, forest, close=self.close_labels)

    def _is_of(self, forest: Taxonomy | None) -> bool:
        """Whether the fitted parents are those of the taxonomy."""
        if not np.array_equal(parents_of(forest, self.classes_.size), self.parent_):
            return False
        sets = self._parent_sets()
        if forest is None or forest.is_forest:
            return sets is None
        theirs = forest.parent_sets
        return (
            sets is not None
            and np.array_equal(sets.indptr, theirs.indptr)
            and np.array_equal(sets.indices, theirs.indices)
        )

    def _reset(self) -> None:
        """Remove all fitted attributes."""
        for name in [name for name in vars(self) if name.endswith("_") or name == "_weights"]:
            delattr(self, name)

    def _unit(self, X: CSR) -> CSR:
        """Rows of unit length; with a taxonomy, a warning once when they had another."""
        squares = row_squares(X)
        empty = int(np.count_nonzero(squares == 0))
        others = int(np.count_nonzero(np.abs(np.sqrt(squares) - 1) > _UNIT)) - empty
        if others + empty and not self.scaled_:
            self.scaled_ = True
            if self.taxonomy is not None:
                parts = (
                    f"{others} of {X.shape[0]} rows were scaled to unit length" if others else "",
                    f"{empty} of {X.shape[0]} rows are empty and are skipped" if empty else "",
                )
                warnings.warn(
                    "; ".join(filter(None, parts)) + ".",
                    LabelwoodWarning,
                    stacklevel=user_stacklevel(),
                )
        unit = unit_rows(X)
        if np.any(unit.data == 0):  # a row of stored zeros must be recognized as empty
            unit = unit.copy()
            unit.eliminate_zeros()
        return unit

    @property
    def untrained_(self) -> AnyArray:
        """The labels that no sample had: they are never predicted."""
        return self.classes_[self.n_positive_ == 0]

    @property
    def n_seen_(self) -> NDArray[np.int64]:
        """Samples that each node has seen in `partial_fit`."""
        return self._counts()[:, SEEN].copy()

    @property
    def n_support_(self) -> NDArray[np.int64]:
        """Samples that the weights of each node rest on, of those seen in `partial_fit`."""
        return self._counts()[:, SUPPORT].copy()

    def _counts(self) -> NDArray[np.int64]:
        message = "%(name)s counts samples in partial_fit, which was not called."
        check_is_fitted(self, "support_counts_", msg=message)
        return self.support_counts_

    @property
    def coef_(self) -> CSR:
        """Weights as CSR of shape (n_labels, n_features), assembled at each call."""
        return sp.csr_array(self._postings().to_csr(self.classes_.size).T)

    def explain(self, X: object) -> list[list[NodeMargin]]:
        """For each sample the labels on its paths, from the top, with their margins.

        These are the labels that are predicted, and below them those at which a prediction
        stopped because the interval of a positive margin was not clear.
        """
        matrix = self._check_X(X)
        return [path for rows in self._blocks(matrix) for path in self._paths(matrix[rows])]

    def _paths(self, X: CSR) -> list[list[NodeMargin]]:
        forest, estimator = Forest(self.parent_, self._parent_sets()), self._margin_estimator()
        margins, predicted = self._decide(X, forest)
        shown = forest.reached(predicted) & (margins > 0)
        level = self.confidence or _LEVEL
        paths: list[list[NodeMargin]] = [[] for _ in range(X.shape[0])]
        for node in forest.order[shown[:, forest.order].any(axis=0)].tolist():
            rows = np.flatnonzero(shown[:, node])
            more: list[tuple[float | None, ...]] = [()] * rows.size
            if estimator is not None:
                more = estimator.estimates(node, X[rows], margins[rows, node]).rows(level)
            label = self.classes_[node].item()
            for row, fields in zip(rows.tolist(), more, strict=True):
                given = bool(predicted[row, node])
                paths[row].append(NodeMargin(label, float(margins[row, node]), given, *fields))
        return paths

    def _decide(self, X: CSR, forest: Forest) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Margins of all nodes (−∞ for the untrained), and which labels are predicted."""
        margins, confidence = self._margins(X), self.confidence
        if self.assignment == "likeliest":
            self._check_likeliest()
            return margins, forest.likeliest(margins)
        if confidence is None:
            return margins, forest.predicted(margins)
        estimator = self._margin_estimator()
        if estimator is None:
            raise DataError(
                "This fit kept no samples for intervals of margins; "
                "set confidence before fit, or learn by partial_fit."
            )

        def is_clear(node: int, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
            found = estimator.estimates(node, X[rows], margins[rows, node])
            half_width = found.half_width(confidence)
            if half_width is None:
                raise DataError(
                    f"No interval holds for the margins of label {self.classes_[node].item()!r}, "
                    "whose examples were kept by their labels; set confidence=None, or learn "
                    "with store='all' and no max_support, or by fit."
                )
            return found.estimate > half_width

        return margins, forest.predicted(margins, is_clear)

    def _check_likeliest(self) -> None:
        """Refuse what has no likeliest label set, or no interval for it."""
        if self.confidence is not None:
            raise ParameterError(
                "confidence is for single labels: set assignment='sign', or confidence=None."
            )
        if self._parent_sets() is not None:
            raise ParameterError(
                "assignment='likeliest' is for forests; this taxonomy has labels of several "
                "parents: set assignment='sign'."
            )

    def _score(self, X: CSR, above: float | None = None) -> CSR:
        """Margins of the labels whose parent is predicted; with `above`, of those predicted."""
        forest = Forest(self.parent_, self._parent_sets())
        parts = []
        for rows in self._blocks(X):
            margins, chosen = self._decide(X[rows], forest)
            if above is None:
                chosen = forest.reached(chosen) & np.isfinite(margins)
            parts.append(chosen_entries(margins, chosen))
        return sp.csr_array(sp.vstack(parts, format="csr"))

    def _score_topk(self, X: CSR, k: int) -> TopK:
        forest = Forest(self.parent_, self._parent_sets())
        scored = self.n_positive_ > 0
        parts = [
            forest.best(forest.path_scores(self._margins(X[rows])), scored, k)
            for rows in self._blocks(X)
        ]
        labels = np.concatenate([part.labels for part in parts])
        return TopK(labels, np.concatenate([part.scores for part in parts]))

    def _blocks(self, X: CSR) -> Iterator[slice]:
        size = max(1, _BLOCK_CELLS // max(self.classes_.size, 1))
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
        """The weights, which after `partial_fit` are assembled when they are first needed."""
        if "lane_labels_" in vars(self):
            return Postings(*(getattr(self, name) for name in _WEIGHTS))
        if "_weights" not in vars(self):
            weights = weights_of_support(self._nodes(), self.n_positive_ > 0, self.n_features_in_)
            self._weights = as_postings(weights, self.n_features_in_)
        return self._weights

    def _set_postings(self, weights: Postings) -> None:
        for name, part in zip(_WEIGHTS, weights, strict=True):
            setattr(self, name, part)

    def _nodes(self) -> Nodes:
        return Nodes(*(getattr(self, name) for name in _NODES))

    def _set_nodes(self, nodes: Nodes) -> None:
        for name, part in zip(_NODES, nodes, strict=True):
            setattr(self, name, part)
        self.n_positive_ = nodes.counts[:, POSITIVE].copy()
        self.__dict__.pop("_weights", None)

    def _check_fitted(self) -> None:
        super()._check_fitted()
        n_labels = self.classes_.size
        forest = forest_of(self.taxonomy, self.classes_, self.multilabel_)
        if not self._is_of(forest):
            raise DataError("the taxonomy is not the one of the fitted model")
        if self.train_ not in ("hierarchical", "independent"):
            raise DataError("train_ must be 'hierarchical' or 'independent'")
        if "support_counts_" in vars(self):
            self._complete_counts()
            check_fitted_attributes(self, _NODES, {"labels": n_labels})
            inverse = self._update_rule().keeps_inverse
            self._nodes().check(self.n_features_in_, n_labels, inverse=inverse)
            if not np.array_equal(self.n_positive_, self.support_counts_[:, POSITIVE]):
                raise DataError("n_positive_ must be what the support counts")
        else:
            check_fitted_attributes(self, _WEIGHTS, {"labels": n_labels})
            self._check_weights()

    def _complete_counts(self) -> None:
        """Add the last column, which model files of format 1 lack.

        How many examples were selected by their labels is unknown there; all of them may be.
        """
        counts = self.support_counts_
        if getattr(counts, "shape", None) == (self.classes_.size, N_COUNTS - 1):
            self.support_counts_ = np.column_stack([counts, counts[:, SEEN]])

    def _check_weights(self) -> None:
        weights = self._postings()
        weights.check(self.n_features_in_, self.classes_.size)
        lanes = np.sort(weights.lane_labels[weights.lane_labels >= 0])
        if np.any(self.n_positive_ < 0) or not np.array_equal(
            lanes, np.flatnonzero(self.n_positive_)
        ):
            raise DataError("there must be weights of each label that had a sample, once")
        if not moderate(weights.weights):
            raise DataError("the weights must be finite and not huge")
