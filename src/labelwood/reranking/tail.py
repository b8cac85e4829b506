"""Tail classifiers: a label is a center, and samples near it have the label.

After Jain, Prabhu and Varma, KDD 2016, "Extreme Multi-label Loss Functions for
Recommendation, Tagging, Ranking & Other Missing Label Applications" (PfastreXML): linear
decisions do badly on labels with a handful of samples, where a center is all there is to learn.
"""

from typing import ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labelwood.core.contract import FittedAttributes
from labelwood.core.convergence import convergence_report
from labelwood.core.estimator import LabelEstimator
from labelwood.core.labels import labels_with_samples
from labelwood.core.memory import require_memory
from labelwood.core.parallel import blocks, parallel
from labelwood.core.params import N_JOBS, Boolean, Constraints, Instance, Integer, OneOf, Real
from labelwood.core.propensity import Propensity
from labelwood.core.sparse import CSRArrays, csr_arrays, cuts, make_csr, row_squares
from labelwood.core.topk import TopK
from labelwood.core.types import (
    CSR,
    AnyArray,
    DoubleArray,
    FloatArray,
    IndexArray,
    PointerArray,
)
from labelwood.errors import DataError
from labelwood.linear.onevsrest import label_propensities
from labelwood.reranking import _kernels as kernels

_LABELS = {"mean": 1024, "likelihood": 16}  # whose centers are found together
_PILOTS = 16  # one block of so many tells how large the model will be
_PAIRS = 2**14  # scored together when labels are asked for
_CELLS = 2**20  # scored together when all labels are
_LEAST = float(np.finfo(np.float32).min) / 2  # so that weighted sums stay finite
# More than rounding can change: a score as a share of it, which is at most _LARGE, and a distance.
_ROUNDING, _LARGE = np.float32(1e-5), np.float32(1e30)
_ROUNDING_OF_SQUARES = 1e-12


class TailClassifier(LabelEstimator):
    """P_l(x) = 1/(1 + β exp(γ/2 ‖x − μ_l‖²)), with a center μ_l for each label.

    Its place is behind another estimator, as the re-ranker of `RerankedClassifier`:
    `log_scores` tells log P_l(x) of the labels that it is asked for. Alone, it ranks all labels
    by the distance of their centers. P_l never exceeds 1/(1 + β), which is ½ for β = 1, so
    `predict` gives as many labels as a training sample has on average (rounded, at least one).

    Parameters
    ----------
    gamma : float
        How fast the probability of a label falls with the distance from its center.
    beta : float
        β of Jain, Prabhu & Varma 2016, eq. (41): P_l at the center itself is 1/(1 + β). It has
        no part in the order of a sample's labels while P_l is small, which it is for β = 1.
    center : "mean" or "likelihood"
        The mean of the label's samples, or the center of greatest likelihood given all samples,
        those without the label included (a local maximum, found from the mean; slow).
    propensity : None, "estimate", Propensity or array of shape (n_labels,)
        Probability that a true label was recorded, used by the likelihood; None means that
        all are. "estimate" computes it from the training labels, as `metrics.propensity` does.
    normalize : bool
        Scale every row to unit length first, in `fit` and in prediction.
    prune_below : float
        Terms of a center of at most this size are dropped: smaller and faster models.
    tol : float
        Tolerance of the maximum likelihood: length of the gradient, divided by γ and by the
        number of the label's samples, at which the search stops.
    max_iter : int
        Limit of gradients that are computed for a label, with center="likelihood".
    n_jobs : int or None
        Threads over blocks of labels and of samples; results do not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_labels,)
        Label names, or 0…n_labels−1.
    centers_indptr_, centers_indices_, centers_data_ :
        The centers in compressed rows (see `centers_`).
    center_squares_ : array of shape (n_labels,)
        Squared lengths of the centers; infinite for labels without a sample, which are never
        predicted.
    n_predicted_ : int
        How many labels `predict` gives.
    n_iter_ : array of shape (n_labels,)
        Gradients computed; 1 for a mean, 0 for a label without a sample.
    stop_reason_ : str
        Whether every label met the tolerance, or how many met the limit.

    Examples
    --------
    >>> from labelwood import TailClassifier
    >>> X = [[1, 0, 0], [0, 1, 0], [0, 1, 1], [1, 0, 1]]
    >>> model = TailClassifier().fit(X, [["cat"], ["dog"], ["dog", "owl"], ["cat"]])
    >>> model.predict_topk([[0, 0, 1]], k=2).names()
    [['owl', 'cat']]
    >>> print(model.log_scores([[0, 0, 1]], [[2, -1]]))
    [[-8.78...      -inf]]
    """

    _constraints: ClassVar[Constraints] = {
        "gamma": Real(above=0, high=1e12),
        "beta": Real(low=1e-12, high=1e12),
        "center": OneOf("mean", "likelihood"),
        "propensity": (OneOf("estimate"), Instance("ndarray", "Propensity"), None),
        "normalize": Boolean(),
        "prune_below": Real(low=0),
        "tol": Real(above=0),
        "max_iter": Integer(low=1),
        "n_jobs": N_JOBS,
    }
    _feature_indices: ClassVar[tuple[str, ...]] = ("centers_indices_",)
    _fitted: ClassVar[FittedAttributes] = {
        "centers_indptr_": (np.int64, (None,)),
        "centers_indices_": (np.uint32, (None,)),
        "centers_data_": (np.float32, (None,)),
        "center_squares_": (np.float64, ("labels",)),
        "n_predicted_": int,
        "n_iter_": (np.int64, ("labels",)),
        "stop_reason_": str,
    }

    centers_indptr_: PointerArray
    centers_indices_: IndexArray
    centers_data_: FloatArray
    n_predicted_: int

    def __init__(
        self,
        *,
        gamma: float = 30.0,
        beta: float = 1.0,
        center: str = "mean",
        propensity: str | DoubleArray | Propensity | None = None,
        normalize: bool = True,
        prune_below: float = 0.0,
        tol: float = 1e-4,
        max_iter: int = 100,
        n_jobs: int | None = None,
    ) -> None:
        self.gamma = gamma
        self.beta = beta
        self.center = center
        self.propensity = propensity
        self.normalize = normalize
        self.prune_below = prune_below
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    @property
    def centers_(self) -> CSR:
        """The centers as CSR of shape (n_labels, n_features), put together at each call."""
        shape = (self.classes_.size, self.n_features_in_)
        return make_csr(self.centers_indptr_, self.centers_indices_, self.centers_data_, shape)

    def fit(self, X: object, y: object) -> Self:
        """Find the center of each label's samples."""
        matrix, Y = self._begin_fit(X, y)
        labels_with_samples(Y)  # warns of labels without samples
        members = sp.csr_array(Y.T)
        missed = 1 - label_propensities(self.propensity, Y, type(self).__name__)
        parts = self._find_centers(self._scaled(matrix), members, missed)
        centers = sp.vstack([part.centers for part in parts], format="csr")
        self.centers_indptr_, self.centers_indices_, self.centers_data_ = csr_arrays(centers)
        self.center_squares_ = np.where(np.diff(members.indptr) > 0, row_squares(centers), np.inf)
        self.n_predicted_ = max(1, round(Y.nnz / Y.shape[0]))
        self.n_iter_ = np.concatenate([part.n_iter for part in parts])
        self._set_stop_reason(np.concatenate([part.outcomes for part in parts]))
        return self

    def _find_centers(self, samples: CSR, members: CSR, missed: DoubleArray) -> list["_Part"]:
        """The centers in blocks of labels; row l of `members` lists the samples of label l."""
        doubles = samples.astype(np.float64)
        columns = sp.csr_array(samples.T) if self.center == "likelihood" else None

        def find(labels: range) -> _Part:
            some = members[labels.start : labels.stop]
            part = _means(some, doubles)
            if columns is not None:
                all_samples = kernels.Samples(csr_arrays(samples), csr_arrays(columns), squares)
                part = _maximize_likelihood(
                    part, some, all_samples, missed[labels.start : labels.stop], self
                )
            return part._replace(centers=_pruned(part.centers, self.prune_below))

        squares = row_squares(samples)
        parts = blocks(members.shape[0], _LABELS[self.center]) or [range(0)]
        pilots = parts[::_PILOTS]
        done = dict(zip(pilots, parallel(find, pilots, n_jobs=self.n_jobs), strict=True))
        # All centers are held twice while they are put together.
        size = 2.2 * 8 * sum(part.centers.nnz for part in done.values()) / len(pilots) * len(parts)
        require_memory(int(size), f"a model of {members.shape[0]} centers", "raise prune_below")
        todo = [part for part in parts if part not in done]
        rest = parallel(find, todo, n_jobs=self.n_jobs, description="finding centers")
        done.update(zip(todo, rest, strict=True))
        return [done[part] for part in parts]

    def _set_stop_reason(self, outcomes: AnyArray) -> None:
        _, n_limited, n_stuck = np.bincount(outcomes, minlength=3)
        if self.center == "mean":
            self.stop_reason_ = "closed form"
        elif n_stuck and not n_limited:
            self.stop_reason_ = (
                f"no step raises the likelihood of {n_stuck} labels any more, "
                "tolerance met for the others"
            )
        else:
            remedy = f"raise max_iter (now {self.max_iter}) or tol"
            self.stop_reason_ = convergence_report(n_limited, "label", remedy)

    def log_scores(self, X: object, labels: object) -> FloatArray:
        """The logarithm of P_l(x_i), for some labels of each sample.

        Parameters
        ----------
        X : features of shape (n, n_features)
        labels : integer array of shape (n, k)
            Which labels (as places in `classes_`) are asked for of each sample; −1 for none.

        Returns
        -------
        float32 array of shape (n, k)
            −inf for −1, and for labels that had no sample in training.
        """
        matrix = self._check_X(X)
        asked = self._check_asked(labels, matrix.shape[0])
        # Pairs of a label side by side: its center is laid out once for all its samples.
        order = np.argsort(asked, axis=None, kind="stable")[np.count_nonzero(asked < 0) :]
        out = np.full(asked.size, -np.inf, dtype=np.float32)
        pairs = (order // asked.shape[1], asked.ravel()[order])
        out[order] = self.log_pairs(matrix, *pairs, n_jobs=self.n_jobs)
        return out.reshape(asked.shape)

    def log_pairs(
        self, X: CSR, rows: PointerArray, labels: NDArray[np.int32], *, n_jobs: int | None
    ) -> FloatArray:
        """The logarithm of P_l(x_i) of each pair of a row and a label; nothing is checked.

        Pairs of a label stand together.
        """
        matrix = self._scaled(X)
        arrays, squares = csr_arrays(matrix), row_squares(matrix)

        def score(part: range) -> FloatArray:
            some = slice(part.start, part.stop)
            return self._log_pairs(arrays, squares, rows[some], labels[some])

        parts = blocks(rows.size, _PAIRS) or [range(0)]
        return np.concatenate(parallel(score, parts, n_jobs=n_jobs))

    def of_row(self, X: CSR) -> "RowScores":
        """Scores of different labels, for the only row of `X`; nothing is checked."""
        return RowScores(self, *kernels.scaled_row(csr_arrays(X), bool(self.normalize)))

    def _log_pairs(
        self, X: CSRArrays, squares: DoubleArray, rows: PointerArray, labels: NDArray[np.int32]
    ) -> FloatArray:
        """−log(1 + β exp(γ/2 ‖x − μ‖²)) of each pair; pairs of a label stand together."""
        centers = CSRArrays(self.centers_indptr_, self.centers_indices_, self.centers_data_)
        dense = np.zeros(self.n_features_in_, dtype=np.float32)
        products = kernels.pair_products(X, rows, labels, centers, dense)
        lengths = self.center_squares_[labels]
        return self._log_p(squares[rows] - 2 * products + lengths, lengths)

    def _log_p(self, distances: DoubleArray, lengths: DoubleArray) -> FloatArray:
        """−log(1 + β exp(γ/2 d)), where d is a squared distance; −∞ where there is no center."""
        exponents = float(self.gamma) / 2 * np.maximum(distances, 0) + np.log(float(self.beta))
        scores = -np.logaddexp(0, exponents)
        finite = np.maximum(scores, _LEAST).astype(np.float32)
        return np.where(np.isinf(lengths), np.float32(-np.inf), finite)

    def _check_asked(self, labels: object, n: int) -> NDArray[np.int32]:
        asked = np.asarray(labels)
        if asked.ndim != 2 or asked.shape[0] != n or asked.dtype.kind not in "iu":
            raise DataError(
                f"labels must be a matrix of integers with {n} rows. "
                f"Got {asked.dtype} of shape {asked.shape}."
            )
        if asked.size and (asked.min() < -1 or asked.max() >= self.classes_.size):
            bad = asked.min() if asked.min() < -1 else asked.max()
            raise DataError(
                f"labels must be −1 (for none) or in 0…{self.classes_.size - 1}. Got {bad}."
            )
        return asked.astype(np.int32, copy=False)

    def _log_score(self, scores: FloatArray) -> FloatArray:
        return scores

    def _score(self, X: CSR, above: float | None = None) -> CSR:
        n_labels = self.classes_.size
        if above is not None:
            return self._score_topk(X, self.n_predicted_).to_csr(n_labels)
        cells = X.shape[0] * n_labels
        require_memory(
            36 * cells, f"scores of {cells:,} pairs", "score fewer rows, or use predict_topk"
        )
        return self._score_topk(X, n_labels).to_csr(n_labels)

    def _score_topk(self, X: CSR, k: int) -> TopK:
        matrix, n_labels = self._scaled(X), self.classes_.size
        arrays, squares = csr_arrays(matrix), row_squares(matrix)

        def best(part: range) -> tuple[AnyArray, AnyArray]:
            rows = np.tile(np.arange(part.start, part.stop), n_labels)
            labels = np.repeat(np.arange(n_labels, dtype=np.int32), len(part))
            scores = self._log_pairs(arrays, squares, rows, labels).reshape(n_labels, len(part)).T
            order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
            return order.astype(np.int32), np.take_along_axis(scores, order, axis=1)

        size = max(_CELLS // max(n_labels, 1), 1)
        parts = parallel(best, blocks(matrix.shape[0], size), n_jobs=self.n_jobs)
        labels, scores = (np.concatenate(one) for one in zip(*parts, strict=True))
        labels[scores == -np.inf] = -1
        beyond = ((0, 0), (0, k - labels.shape[1]))
        return TopK(
            np.pad(labels, beyond, constant_values=-1),
            np.pad(scores, beyond, constant_values=-np.inf),
        )

    def _check_fitted(self) -> None:
        super()._check_fitted()
        pointers, features = self.centers_indptr_, self.centers_indices_
        if (
            not cuts(pointers, self.classes_.size, features.size)
            or features.size != self.centers_data_.size
            or np.any(features >= self.n_features_in_)
            or not np.isfinite(self.centers_data_).all()
            or not np.all(self.center_squares_ >= 0)
            or not 1 <= self.n_predicted_ <= max(self.classes_.size, 1)
        ):
            raise DataError("the centers of the labels are inconsistent")


class RowScores(NamedTuple):
    """What a tail classifier says of one row."""

    tail: TailClassifier
    X: CSRArrays
    squares: DoubleArray

    def best(
        self, labels: NDArray[np.int32], scores: FloatArray, share: np.float32, k: int
    ) -> tuple[NDArray[np.int32], FloatArray]:
        """Labels with the `k` largest of score + share · log P, and these sums, in no order.

        ‖x − μ‖ is no less than the difference of the lengths, which bounds P. Labels are looked at
        in the order of the highest sum that they can have, as long as that may be among the best.
        """
        tail = self.tail
        squares = tail.center_squares_[labels]
        nearest = (np.sqrt(self.squares) - np.sqrt(squares)) ** 2 - _ROUNDING_OF_SQUARES
        highest = scores + share * tail._log_p(nearest, squares)
        highest += _ROUNDING * np.maximum(np.minimum(-highest, _LARGE), 1)
        order = np.argsort(-highest)
        labels, scores = labels[order], scores[order]
        steepness, offset = float(tail.gamma) / 2, float(np.log(float(tail.beta)))
        bounds = kernels.Bounds(scores, highest[order], float(share), steepness, offset, k)
        centers = CSRArrays(tail.centers_indptr_, tail.centers_indices_, tail.centers_data_)
        products = kernels.row_products(
            self.X,
            float(self.squares[0]),
            labels,
            centers,
            tail.center_squares_,
            bounds,
            tail.n_features_in_,
        )
        end = products.size
        squares = squares[order[:end]]
        log_p = tail._log_p(self.squares - 2 * products + squares, squares)
        return labels[:end], scores[:end] + share * log_p


class _Part(NamedTuple):
    """The centers of a block of labels (double precision at first), and how each was found.

    An outcome is 0 where the tolerance was met, 1 at the limit of gradients, and 2 where no
    step led upwards any more.
    """

    centers: CSR
    n_iter: PointerArray
    outcomes: NDArray[np.int64]


def _means(members: CSR, samples: CSR) -> _Part:
    """The mean of each label's samples; its row of `members` lists them."""
    counts = np.diff(members.indptr)
    means = members @ samples
    means.data /= np.repeat(counts, np.diff(means.indptr))
    outcomes = np.zeros(counts.size, dtype=np.int64)
    return _Part(means, (counts > 0).astype(np.int64), outcomes)


def _maximize_likelihood(
    start: _Part, members: CSR, samples: kernels.Samples, missed: DoubleArray, owner: TailClassifier
) -> _Part:
    """The centers of maximum likelihood, searched from those of `start`."""
    means = start.centers
    indptr, indices, data, n_iter, outcomes = kernels.likelihood_centers(
        samples,
        csr_arrays(members),
        csr_arrays(means),
        means.shape[1],
        float(owner.gamma),
        float(np.log(float(owner.beta))),
        missed,
        float(owner.tol),
        int(owner.max_iter),
    )
    return _Part(make_csr(indptr, indices, data, means.shape), n_iter, outcomes)


def _pruned(centers: CSR, prune_below: float) -> CSR:
    """The terms above `prune_below`, in single precision and sorted."""
    kept = np.abs(centers.data) > prune_below
    pointers = np.concatenate([[0], np.cumsum(kept)])[centers.indptr]
    values = centers.data[kept].astype(np.float32)
    pruned = make_csr(pointers, centers.indices[kept], values, centers.shape)
    pruned.sort_indices()
    return pruned
