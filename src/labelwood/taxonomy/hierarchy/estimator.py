"""What the learners along a taxonomy share: everything but the update of a node."""

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, Self

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from labelwood.core.parallel import parallel
from labelwood.core.params import N_JOBS, Boolean, Constraints, Instance, OneOf, check_parameters
from labelwood.core.sparse import row_squares, unit_rows
from labelwood.core.types import CSR, DoubleArray
from labelwood.errors import DataError, LabelwoodWarning, ParameterError
from labelwood.taxonomy.hierarchy._inverse_kernels import POSITIVE, SEEN, SUPPORT
from labelwood.taxonomy.hierarchy.labels import (
    closed_labels,
    first_labels,
    forest_of,
    known_labels,
    parents_of,
)
from labelwood.taxonomy.hierarchy.prediction import HierarchicalPredictor
from labelwood.taxonomy.hierarchy.support import Support
from labelwood.taxonomy.hierarchy.training_sets import Examples

_FEW = 64  # rows that are not worth a thread
_SHARES = 8  # for each thread: enough to even out, few enough to hand out quickly
_UNIT = 1e-3  # by how much a row of unit length may miss it


class HierarchicalClassifier(HierarchicalPredictor):
    """Base of the learners with a linear decision at each node of a forest.

    A subclass gives `fit`, and in `_learn` the update of a node. Parameters and attributes that
    are common to all are described in `HierarchicalRLSClassifier`.
    """

    _constraints: ClassVar[Constraints] = {
        "taxonomy": (Instance("Taxonomy"), None),
        "train": OneOf("hierarchical", "independent"),
        "close_labels": Boolean(),
        "n_jobs": N_JOBS,
    }

    train: str
    close_labels: bool

    @abstractmethod
    def _learn(self, support: Support, i: int, rows: NDArray[np.int64], signs: DoubleArray) -> None:
        """Node `i` learns from the stored `rows`, which have its label (1) or not (−1)."""

    def partial_fit(self, X: object, y: object, classes: object = None) -> Self:
        """Learn from some more examples, one after the other, each once.

        How a stream is cut into batches makes no difference to the result; large ones are
        quicker. An interruption leaves the model as it was before the call.

        Parameters
        ----------
        X : features of shape (n, n_features)
        y : label sets
            An indicator, or lists of names.
        classes : array or None
            All labels, for the first call; by default those of its examples. They name the
            columns of an indicator in their order. With a taxonomy they must be its nodes,
            which the labels are without them too.
        """
        first = "support_counts_" not in vars(self)
        if "lane_labels_" in vars(self):
            warnings.warn(
                "fit keeps no examples from which partial_fit could go on: it begins anew.",
                LabelwoodWarning,
                stacklevel=2,
            )
        with self._all_or_nothing():
            matrix, Y = self._begin(X, y, classes, first=first)
            if first:
                self._set_support(Support.empty(self.classes_.size, inverse=self._keeps_inverse))
            self._learn_all(self._unit(matrix), Y)
        return self

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Whatever goes wrong in the block, the model is afterwards as it was before.

        The block may replace attributes but not change the arrays that they hold.
        """
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            for name in vars(self).keys() - before.keys():
                delattr(self, name)
            self.__dict__.update(before)
            raise

    def _learn_all(self, X: CSR, Y: CSR, n_epochs: int = 1) -> None:
        """Each node goes through its examples in their order; none waits for another."""
        at = self._support().n_rows
        support = self._support().with_rows(X)
        examples = self._examples(Y)
        tasks = [(int(node), family) for family in examples.families() for node in family.nodes]
        # The longest first, so that no thread waits for it.
        tasks.sort(key=lambda task: -task[1].rows.size * (1000 + support.counts[task[0], SUPPORT]))
        few = Y.shape[0] < _FEW
        n_jobs = 1 if few else joblib.effective_n_jobs(self.n_jobs)
        n_shares = min(_SHARES * n_jobs, len(tasks))

        def learn(share: int) -> None:
            for node, family in tasks[share::n_shares]:
                signs = examples.signs(node, family.rows)
                for _ in range(n_epochs):
                    self._learn(support, node, at + family.rows, signs)

        description = "" if few else "learning"
        parallel(learn, range(n_shares), n_jobs=n_jobs, description=description)
        self._set_support(support.swept(at))
        self.n_positive_ = support.counts[:, POSITIVE].copy()
        self.__dict__.pop("_weights", None)

    def _examples(self, Y: CSR) -> Examples:
        return Examples(Y, self.parent_, independent=self.train_ == "independent")

    def _begin(
        self, X: object, y: object, classes: object = None, *, first: bool
    ) -> tuple[CSR, CSR]:
        """Check parameters and data; a first time sets the attributes that tell of them."""
        check_parameters(self, self._constraints)
        if y is None:
            raise DataError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        if first:
            self._forget()
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
        elif not np.array_equal(parent, self.parent_):
            raise DataError("The taxonomy is not the one that learning began with.")
        elif self.train != self.train_:
            raise ParameterError(f"Learning began with train={self.train_!r}; go on with that.")
        return matrix, closed_labels(Y, forest, close=self.close_labels)

    def _forget(self) -> None:
        """Nothing is left of what was fitted."""
        for name in [name for name in vars(self) if name.endswith("_") or name == "_weights"]:
            delattr(self, name)

    def _unit(self, X: CSR) -> CSR:
        """Rows of unit length; that they had another is said once, where a taxonomy is given."""
        squares = row_squares(X)
        empty = int(np.count_nonzero(squares == 0))
        others = int(np.count_nonzero(np.abs(np.sqrt(squares) - 1) > _UNIT)) - empty
        if others + empty and not self.scaled_:
            self.scaled_ = True
            if self.taxonomy is not None:
                parts = (
                    f"{others} of {X.shape[0]} rows were scaled to unit length" if others else "",
                    f"empty rows, which teach nothing: {empty} of {X.shape[0]}" if empty else "",
                )
                warnings.warn("; ".join(filter(None, parts)) + ".", LabelwoodWarning, stacklevel=3)
        unit = unit_rows(X)
        if np.any(unit.data == 0):  # an empty row must be seen as one
            unit = unit.copy()
            unit.eliminate_zeros()
        return unit

    @property
    def n_seen_(self) -> NDArray[np.int64]:
        """Examples that each node has seen in `partial_fit`."""
        return self._counts()[:, SEEN].copy()

    @property
    def n_support_(self) -> NDArray[np.int64]:
        """Examples that each node keeps of those that it has seen in `partial_fit`."""
        return self._counts()[:, SUPPORT].copy()

    def _counts(self) -> NDArray[np.int64]:
        told = "%(name)s counts examples in partial_fit, by which it has learned nothing."
        check_is_fitted(self, "support_counts_", msg=told)
        return self.support_counts_
