"""One linear decision for each label, against all other points (see `workingsets`)."""

import warnings
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from labelwood.core.estimator import FittedAttributes, LabelEstimator
from labelwood.core.memory import require_memory
from labelwood.core.parallel import parallel
from labelwood.core.params import N_JOBS, RANDOM_STATE, Boolean, Constraints, Integer, Real
from labelwood.core.sparse import (
    csr_arrays,
    make_csr,
    row_blocks,
    some_rows,
    unit_rows,
)
from labelwood.core.topk import TopK
from labelwood.core.types import CSR, AnyArray, FloatArray
from labelwood.errors import LabelwoodWarning
from labelwood.linear import _onevsrest_kernels
from labelwood.linear.postings import Postings
from labelwood.linear.workingsets import Block, Settings, train_labels

_NO_THRESHOLD = -1e30


class OneVsRestSVM(LabelEstimator):
    """A support vector machine (squared hinge) for each label.

    Parameters
    ----------
    C : float
        Cost of an error. With unit rows the default suits TF-IDF and binary words.
    tol : float
        Largest difference of projected gradients at which a block of labels is solved.
    bias : float
        Value of the constant feature whose weight is the intercept; 0 for none.
    normalize : bool
        Scale every row to unit length first, in `fit` and in prediction. Right for words;
        for a table of measurements standardise the columns and turn it off.
    slack : float
        A negative row joins the working set when it scores above −1 + `slack`. With 0 the
        full problem is solved to its tolerance; more is faster, and rankings hardly change.
    violators : float
        Rows that join may be this share of the working set when a block is done.
    n_negatives : int
        Random rows in the first working set of a block.
    max_rounds : int
        Limit of the times that a block takes rows in.
    max_iter : int
        Limit of passes over the working set in a round.
    prune_below : float
        Weights of at most this size are dropped: smaller and faster models.
    random_state : int, SeedSequence, Generator or None
        Seed of the random rows and of the order in which rows are visited.
    n_jobs : int or None
        Threads over blocks of labels and of rows; results do not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_labels,)
        Label names, or 0…n_labels−1.
    intercept_ : array of shape (n_labels,)
        NaN for labels without a point; they are never predicted.
    postings_indptr_, postings_blocks_, postings_weights_, lane_labels_ :
        The weights, feature-major in blocks of sixteen labels (see `coef_`).
    objective_, duality_gap_ : arrays of shape (n_labels,)
        Value of the full problem (all rows), and how far above its optimum that is at most.
    n_iter_, n_rounds_, n_working_ : arrays of shape (n_labels,)
        Passes and rounds made, and rows in the working set at the end.
    stop_reason_ : str
        Whether every block met its tolerances, or how many met a limit.

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
        "slack": Real(low=0, high=2),
        "violators": Real(low=0, high=1),
        "n_negatives": Integer(low=0),
        "max_rounds": Integer(low=1),
        "max_iter": Integer(low=1),
        "prune_below": Real(low=0),
        "random_state": RANDOM_STATE,
        "n_jobs": N_JOBS,
    }
    _fitted: ClassVar[FittedAttributes] = {
        "intercept_": (np.float32, ("labels",)),
        "lane_labels_": (np.int32, (None,)),
        "postings_indptr_": (np.int64, (None,)),
        "postings_blocks_": (np.uint32, (None,)),
        "postings_weights_": (np.float32, (None,)),
        "objective_": (np.float64, ("labels",)),
        "duality_gap_": (np.float64, ("labels",)),
        "n_iter_": (np.int64, ("labels",)),
        "n_rounds_": (np.int64, ("labels",)),
        "n_working_": (np.int64, ("labels",)),
        "stop_reason_": str,
    }

    intercept_: FloatArray

    def __init__(
        self,
        *,
        C: float = 0.6,
        tol: float = 0.1,
        bias: float = 1.0,
        normalize: bool = True,
        slack: float = 0.3,
        violators: float = 0.01,
        n_negatives: int = 500,
        max_rounds: int = 10,
        max_iter: int = 1000,
        prune_below: float = 0.01,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.tol = tol
        self.bias = bias
        self.normalize = normalize
        self.slack = slack
        self.violators = violators
        self.n_negatives = n_negatives
        self.max_rounds = max_rounds
        self.max_iter = max_iter
        self.prune_below = prune_below
        self.random_state = random_state
        self.n_jobs = n_jobs

    @property
    def coef_(self) -> CSR:
        """Weights as CSR of shape (n_features, n_labels), put together at each call."""
        return self._postings().to_csr(self.classes_.size)

    def fit(self, X: object, y: object) -> Self:
        """Train one decision a label on the rows of `X`."""
        matrix, Y = self._begin_fit(X, y)
        n_labels = Y.shape[1]
        trained = np.unique(Y.indices).astype(np.uint32)
        if trained.size < n_labels:
            warnings.warn(
                f"{n_labels - trained.size} of {n_labels} labels have no point; "
                "they are never predicted.",
                LabelwoodWarning,
                stacklevel=2,
            )
        blocks = train_labels(
            self._scaled(matrix),
            Y,
            trained,
            np.full(n_labels, float(self.C)),
            Settings(*(getattr(self, name) for name in Settings._fields)),
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        self._assemble(blocks, n_labels)
        self._say_why_it_stopped(blocks)
        return self

    def _assemble(self, blocks: list[Block], n_labels: int) -> None:
        """Put the blocks together, feature-major, and what is told of each label."""
        postings = Postings.of(
            [(block.labels, block.features, block.weights) for block in blocks],
            self.n_features_in_,
        )
        self.lane_labels_ = postings.lane_labels
        self.postings_indptr_ = postings.indptr
        self.postings_blocks_ = postings.blocks
        self.postings_weights_ = postings.weights
        self.intercept_ = np.full(n_labels, np.nan, dtype=np.float32)
        self.objective_, self.duality_gap_ = np.zeros(n_labels), np.zeros(n_labels)
        self.n_iter_ = np.zeros(n_labels, dtype=np.int64)
        self.n_rounds_, self.n_working_ = np.zeros_like(self.n_iter_), np.zeros_like(self.n_iter_)
        for block in blocks:
            self.intercept_[block.labels] = block.intercepts
            self.objective_[block.labels] = block.values[:, 0]
            self.duality_gap_[block.labels] = block.values[:, 1]
            self.n_iter_[block.labels] = block.n_iter
            self.n_rounds_[block.labels] = block.n_rounds
            self.n_working_[block.labels] = block.n_working

    def _say_why_it_stopped(self, blocks: list[Block]) -> None:
        unsolved = sum(block.labels.size for block in blocks if not block.solved)
        unfinished = sum(block.labels.size for block in blocks if not block.enough)
        self.stop_reason_ = "tolerance met for every label"
        if unsolved:
            self.stop_reason_ = (
                f"iteration limit for {unsolved} labels; "
                f"raise max_iter (now {self.max_iter}) or tol"
            )
        elif unfinished:
            self.stop_reason_ = (
                f"round limit for {unfinished} labels; "
                f"raise max_rounds (now {self.max_rounds}) or violators"
            )
        if unsolved or unfinished:
            warnings.warn(self.stop_reason_, ConvergenceWarning, stacklevel=3)

    def _scaled(self, X: CSR) -> CSR:
        return unit_rows(X) if self.normalize else X

    def _postings(self) -> Postings:
        return Postings(
            self.postings_indptr_,
            self.postings_blocks_,
            self.postings_weights_,
            self.lane_labels_,
        )

    def _check_fitted(self) -> None:
        super()._check_fitted()
        self._postings().check(self.n_features_in_, self.classes_.size)

    def _score_topk(self, X: CSR, k: int) -> TopK:
        X, postings = self._scaled(X), self._postings()
        offsets = postings.offsets(self.intercept_)
        arrays = csr_arrays(X)

        def best(rows: slice) -> tuple[AnyArray, AnyArray]:
            return _onevsrest_kernels.topk_rows(some_rows(arrays, rows), *postings, offsets, k)

        labels, scores = zip(*parallel(best, row_blocks(X), n_jobs=self.n_jobs), strict=True)
        return TopK(np.concatenate(labels), np.concatenate(scores))

    def _score(self, X: CSR, above: float | None = None) -> CSR:
        X, postings = self._scaled(X), self._postings()
        offsets = postings.offsets(self.intercept_)
        if above is None:
            cells = X.shape[0] * postings.lane_labels.size
            require_memory(
                16 * cells, f"scores of {cells:,} pairs", "score fewer rows, or use predict_topk"
            )
        threshold = _NO_THRESHOLD if above is None else above
        arrays = csr_arrays(X)

        def score(rows: slice) -> CSR:
            indptr, labels, values = _onevsrest_kernels.above_rows(
                some_rows(arrays, rows), *postings, offsets, threshold
            )
            return make_csr(indptr, labels, values, (indptr.size - 1, self.classes_.size))

        scores = sp.vstack(parallel(score, row_blocks(X), n_jobs=self.n_jobs), format="csr")
        scores.sort_indices()
        return scores
