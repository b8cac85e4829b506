"""One linear decision for each label, against all other points."""

import warnings
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from labelwood.core.estimator import FittedAttributes, LabelEstimator
from labelwood.core.memory import require_memory
from labelwood.core.parallel import blocks, parallel
from labelwood.core.params import N_JOBS, RANDOM_STATE, Boolean, Constraints, Integer, Real
from labelwood.core.random import seed_sequence
from labelwood.core.sparse import csr_arrays, make_csr, row_arrays, row_blocks, unit_rows
from labelwood.core.topk import TopK
from labelwood.core.types import CSR, AnyArray, FloatArray, IndexArray
from labelwood.errors import DataError, LabelwoodWarning
from labelwood.linear import _l2svm_kernels, _onevsrest_kernels

_LABELS_A_BLOCK = 16
_PILOT_FROM = 64
_NO_THRESHOLD = -1e30


class OneVsRestSVM(LabelEstimator):
    """A support vector machine (squared hinge) for each label.

    Parameters
    ----------
    C : float
        Cost of an error. With unit rows the default suits TF-IDF and binary words.
    tol : float
        Largest difference of projected gradients at which a label is solved.
    bias : float
        Value of the constant feature whose weight is the intercept; 0 for none.
    normalize : bool
        Scale every row to unit length first, in `fit` and in prediction.
    prune_below : float
        Weights of at most this size are dropped: smaller and faster models.
    max_iter : int
        Limit of passes over the rows for a label.
    random_state : int, SeedSequence, Generator or None
        Seed of the order in which rows are visited.
    n_jobs : int or None
        Threads over blocks of labels and of rows; results do not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_labels,)
        Label names, or 0…n_labels−1.
    coef_ : csr_array of shape (n_features, n_labels)
        Weights, feature-major: scoring a row touches only the postings of its features.
    intercept_ : array of shape (n_labels,)
    trained_labels_ : array
        Labels that had a positive point; the others are never predicted.
    n_iter_ : array of shape (n_labels,)
        Passes made for each label, 0 where it was not trained.
    stop_reason_ : str
        Whether all labels met the tolerance, or how many met the limit of passes.

    Examples
    --------
    >>> from labelwood import OneVsRestSVM
    >>> X = [[1, 0, 0], [0, 1, 0], [0, 1, 1], [1, 0, 1]]
    >>> model = OneVsRestSVM(random_state=0).fit(X, [["cat"], ["dog"], ["dog", "owl"], ["cat"]])
    >>> model.predict_topk([[1, 0, 0]], k=1).names()
    [['cat']]
    """

    _constraints: ClassVar[Constraints] = {
        "C": Real(above=0),
        "tol": Real(above=0),
        "bias": Real(low=0),
        "normalize": Boolean(),
        "prune_below": Real(low=0),
        "max_iter": Integer(low=1),
        "random_state": RANDOM_STATE,
        "n_jobs": N_JOBS,
    }
    _fitted: ClassVar[FittedAttributes] = {
        "coef_": (np.float32, ("features", "labels")),
        "intercept_": (np.float32, ("labels",)),
        "trained_labels_": (np.uint32, (None,)),
        "n_iter_": (np.int64, ("labels",)),
        "stop_reason_": str,
    }

    coef_: CSR
    intercept_: FloatArray
    trained_labels_: IndexArray

    def __init__(
        self,
        *,
        C: float = 0.5,
        tol: float = 0.1,
        bias: float = 1.0,
        normalize: bool = True,
        prune_below: float = 0.0,
        max_iter: int = 1000,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.tol = tol
        self.bias = bias
        self.normalize = normalize
        self.prune_below = prune_below
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: object, y: object) -> Self:
        """Train one decision a label on the rows of `X`."""
        matrix, Y = self._begin_fit(X, y)
        by_label = sp.csc_array(Y)
        n_labels = Y.shape[1]
        self.trained_labels_ = np.flatnonzero(np.diff(by_label.indptr)).astype(np.uint32)
        if self.trained_labels_.size < n_labels:
            warnings.warn(
                f"{n_labels - self.trained_labels_.size} of {n_labels} labels have no point; "
                "they are never predicted.",
                LabelwoodWarning,
                stacklevel=2,
            )
        solved = self._train(self._scaled(matrix), by_label)
        self._assemble(solved, n_labels)
        unsolved = sum(int(np.count_nonzero(~block.converged)) for block in solved)
        self.stop_reason_ = "tolerance met for every label"
        if unsolved:
            self.stop_reason_ = f"iteration limit for {unsolved} of {n_labels} labels"
            warnings.warn(
                f"{self.stop_reason_}; raise max_iter (now {self.max_iter}) or tol.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _train(self, matrix: CSR, by_label: Any) -> "list[_Solved]":
        arrays = csr_arrays(matrix)
        norms = _l2svm_kernels.row_norms(arrays, self.bias)
        members = csr_arrays(by_label)
        streams = seed_sequence(self.random_state).spawn(by_label.shape[1])

        def train(labels: IndexArray) -> _Solved:
            states = np.stack([streams[label].generate_state(4, np.uint64) for label in labels])
            return _Solved(
                *_onevsrest_kernels.train_block(
                    arrays,
                    norms,
                    members,
                    labels,
                    states,
                    self.C,
                    self.bias,
                    self.tol,
                    self.max_iter,
                    self.prune_below,
                    np.zeros(matrix.shape[1] + 1, dtype=np.float32),
                )
            )

        labels = self.trained_labels_
        if labels.size > _PILOT_FROM:
            _require_memory(train(labels[:: labels.size // 4]), labels.size)
        todo = [labels[block.start : block.stop] for block in blocks(labels.size, _LABELS_A_BLOCK)]
        return parallel(
            train,
            todo,
            n_jobs=self.n_jobs,
            description="training labels",
            weights=[len(block) for block in todo],
        )

    def _assemble(self, solved: "list[_Solved]", n_labels: int) -> None:
        """Put the blocks' columns together, feature-major."""
        counts = np.zeros(n_labels, dtype=np.int64)
        self.intercept_ = np.zeros(n_labels, dtype=np.float32)
        self.n_iter_ = np.zeros(n_labels, dtype=np.int64)
        trained = self.trained_labels_
        counts[trained] = _joined([np.diff(block.indptr) for block in solved])
        self.intercept_[trained] = _joined([block.intercepts for block in solved])
        self.n_iter_[trained] = _joined([block.passes for block in solved])
        by_label = make_csr(
            np.concatenate([[0], np.cumsum(counts)]),
            _joined([block.features for block in solved]),
            _joined([block.weights for block in solved]).astype(np.float32),
            (n_labels, self.n_features_in_),
        )
        self.coef_ = sp.csr_array(by_label.T)

    def _scaled(self, X: CSR) -> CSR:
        return unit_rows(X) if self.normalize else X

    def _check_fitted(self) -> None:
        super()._check_fitted()
        if np.any(self.trained_labels_ >= self.classes_.size):
            raise DataError("trained_labels_ names a label that does not exist")

    def _score_topk(self, X: CSR, k: int) -> TopK:
        X, W = self._scaled(X), csr_arrays(self.coef_)
        labels = np.full((X.shape[0], k), -1, dtype=np.int32)
        scores = np.full((X.shape[0], k), -np.inf, dtype=np.float32)

        def fill(rows: slice) -> None:
            _onevsrest_kernels.topk_rows(
                row_arrays(X, rows),
                W,
                self.intercept_,
                self.trained_labels_,
                labels[rows],
                scores[rows],
            )

        parallel(fill, row_blocks(X), n_jobs=self.n_jobs)
        return TopK(labels, scores)

    def _score(self, X: CSR, above: float | None = None) -> CSR:
        X, W = self._scaled(X), csr_arrays(self.coef_)
        if above is None:
            cells = X.shape[0] * self.trained_labels_.size
            require_memory(
                16 * cells, f"scores of {cells:,} pairs", "score fewer rows, or use predict_topk"
            )
        threshold = _NO_THRESHOLD if above is None else above

        def score(rows: slice) -> CSR:
            indptr, labels, values = _onevsrest_kernels.above_rows(
                row_arrays(X, rows), W, self.intercept_, self.trained_labels_, threshold
            )
            return make_csr(indptr, labels, values, (indptr.size - 1, self.classes_.size))

        return sp.vstack(parallel(score, row_blocks(X), n_jobs=self.n_jobs), format="csr")


class _Solved(NamedTuple):
    """The decisions of a block of labels, in compressed columns."""

    indptr: AnyArray
    features: AnyArray
    weights: AnyArray
    intercepts: AnyArray
    passes: AnyArray
    converged: AnyArray


def _joined(arrays: list[AnyArray]) -> AnyArray:
    return np.concatenate(arrays) if arrays else np.empty(0)


def _require_memory(pilot: _Solved, n_labels: int) -> None:
    """Extrapolate the model's size from a few labels; it is held twice while being assembled."""
    needed = int(2 * 8 * pilot.weights.size / pilot.passes.size * n_labels)
    require_memory(needed, f"training {n_labels:,} labels", "raise prune_below")
