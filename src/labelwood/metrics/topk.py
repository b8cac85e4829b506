"""Metrics of a ranking: how much of the truth stands among the first k labels.

Every one is a figure between 0 and 1, computed over all samples; a sample without
labels counts as 0. Equal scores of a sparse matrix are ranked by label index,
the smaller first; a `TopK` is taken in the order in which it stands.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labelwood.core.propensity import check_propensity
from labelwood.core.topk import TopK
from labelwood.core.types import CSR, AnyArray, DoubleArray
from labelwood.errors import DataError
from labelwood.metrics._inputs import check_truth, ranked_labels, require_labels
from labelwood.metrics.intervals import PerSample


@dataclass(frozen=True)
class RankedHits:
    """Which ranks hold a true label; all top-k metrics are read from it.

    Attributes
    ----------
    labels : int32 array of shape (n, k)
        The ranking, −1 where it has fewer than k labels.
    found : bool array of shape (n, k)
        Whether the label at that rank is true.
    relevant : int64 array of shape (n,)
        How many true labels each sample has.
    weights : float64 array of shape (n_labels,), or None
        Inverse propensities.
    best : float64 array of shape (n, k), or None
        The largest inverse propensities of each sample's true labels, in falling order.
    """

    labels: NDArray[np.int32]
    found: NDArray[np.bool_]
    relevant: NDArray[np.int64]
    weights: DoubleArray | None = None
    best: DoubleArray | None = None

    def precision(self, k: int) -> PerSample:
        """Hits among the first k, divided by k."""
        return PerSample.mean(self._hits(k) / k)

    def recall(self, k: int) -> PerSample:
        """Hits among the first k, divided by the number of true labels."""
        return PerSample.mean(self._hits(k) / np.maximum(self.relevant, 1))

    def f1(self, k: int) -> PerSample:
        """The harmonic mean of precision and recall of each sample."""
        return PerSample.mean(2 * self._hits(k) / (k + self.relevant))

    def ndcg(self, k: int) -> PerSample:
        """Discounted hits, divided by those of the best ranking."""
        values = self._first(self.found, k) @ _discount(k) / self._ideal(k)
        return PerSample.mean(np.minimum(values, 1))

    def psp(self, k: int, *, normalise: bool = True) -> PerSample:
        """Hits by inverse propensity, over those of the best ranking (or over k)."""
        weights, best = self._weighted()
        gain = self._gain(k, weights).sum(axis=1)
        largest = float(np.sort(weights)[-k:].sum())
        if not normalise:
            return PerSample.mean(gain / k, largest / k, (0.0, np.inf))
        return _ratio(gain, best[:, :k].sum(axis=1), largest)

    def psndcg(self, k: int) -> PerSample:
        """Discounted hits by inverse propensity, over those of the best ranking."""
        weights, best = self._weighted()
        discount, ideal = _discount(k), self._ideal(k)
        top = self._gain(k, weights) @ discount / ideal
        # The denominator is an average of inverse propensities, so the largest bounds it.
        return _ratio(top, best[:, :k] @ discount / ideal, float(weights.max()))

    def _hits(self, k: int) -> NDArray[np.int64]:
        return np.count_nonzero(self._first(self.found, k), axis=1)

    def _ideal(self, k: int) -> DoubleArray:
        return np.cumsum(_discount(k))[np.clip(self.relevant, 1, k) - 1]

    def _gain(self, k: int, weights: DoubleArray) -> DoubleArray:
        gain = np.where(self.found, weights[self.labels], 0.0)
        return self._first(gain, k)

    def _first(self, ranks: AnyArray, k: int) -> AnyArray:
        if not 1 <= k <= self.labels.shape[1]:
            raise DataError(f"k must lie in 1…{self.labels.shape[1]}, the ranks matched. Got {k}.")
        return ranks[:, :k]

    def _weighted(self) -> tuple[DoubleArray, DoubleArray]:
        if self.weights is None or self.best is None:
            raise DataError("Propensity-scored metrics need propensities; pass propensity=….")
        return self.weights, self.best


def ranked_hits(
    Y_true: object,
    pred: TopK | CSR,
    k: int,
    propensity: object = None,
    *,
    label_names: Sequence[str] | None = None,
) -> RankedHits:
    """Match a ranking against the truth once, for all metrics up to rank `k`.

    `label_names` name the columns of the truth; a ranking of named classes must agree with them.

    Examples
    --------
    >>> hits = ranked_hits([[1, 0, 1]], TopK([[2, 1]], [[0.9, 0.2]]), 2)
    >>> hits.precision(1).value, hits.precision(2).value
    (1.0, 0.5)
    """
    Y = check_truth(Y_true)
    require_labels(Y)
    labels = ranked_labels(pred, Y, k, label_names)
    relevant = np.diff(Y.indptr).astype(np.int64)
    found = TopK(labels, np.zeros(labels.shape, dtype=np.float32)).hits(Y)
    hits = RankedHits(labels, found, relevant)
    return hits if propensity is None else weighted_hits(hits, Y, propensity)


def weighted_hits(hits: RankedHits, Y: CSR, propensity: object) -> RankedHits:
    """The same hits in the same truth, under other propensities."""
    weights = 1 / check_propensity(propensity, Y.shape[1])
    return replace(hits, weights=weights, best=_best(Y, weights, hits.labels.shape[1]))


def precision_at_k(Y_true: object, pred: TopK | CSR, k: int) -> float:
    """P@k: the share of true labels among the first k, a sample's hits divided by k.

    Examples
    --------
    >>> precision_at_k([[1, 0, 1]], TopK([[2, 1]], [[0.9, 0.2]]), 2)
    0.5
    """
    return ranked_hits(Y_true, pred, k).precision(k).value


def recall_at_k(Y_true: object, pred: TopK | CSR, k: int) -> float:
    """R@k: the share of a sample's true labels that are among the first k.

    Examples
    --------
    >>> recall_at_k([[1, 0, 1]], TopK([[2, 1]], [[0.9, 0.2]]), 1)
    0.5
    """
    return ranked_hits(Y_true, pred, k).recall(k).value


def f1_at_k(Y_true: object, pred: TopK | CSR, k: int) -> float:
    """F1@k: the mean over samples of 2 · hits / (k + number of true labels).

    Examples
    --------
    >>> round(f1_at_k([[1, 0, 1]], TopK([[2, 1]], [[0.9, 0.2]]), 1), 4)
    0.6667
    """
    return ranked_hits(Y_true, pred, k).f1(k).value


def ndcg_at_k(Y_true: object, pred: TopK | CSR, k: int) -> float:
    """nDCG@k: hits discounted by 1/log2(rank + 1), over the best that the sample allows.

    Examples
    --------
    >>> round(ndcg_at_k([[1, 0, 1]], TopK([[2, 1]], [[0.9, 0.2]]), 2), 4)
    0.6131
    """
    return ranked_hits(Y_true, pred, k).ndcg(k).value


def psp_at_k(
    Y_true: object, pred: TopK | CSR, k: int, propensity: object, *, normalise: bool = True
) -> float:
    """PSP@k: hits weighted by inverse propensity, over the best that the labels allow.

    With `normalise=False` the sum is divided by k alone. That figure is the unbiased
    estimate of P@k on the complete truth (Jain, Prabhu and Varma, KDD 2016, th. 4.1),
    and can exceed 1.

    Examples
    --------
    >>> psp_at_k([[1, 0, 1]], TopK([[2, 1]], [[0.9, 0.2]]), 1, [0.25, 1, 0.5])
    0.5
    >>> psp_at_k([[1, 0, 1]], TopK([[2, 1]], [[0.9, 0.2]]), 1, [0.25, 1, 0.5], normalise=False)
    2.0
    """
    return ranked_hits(Y_true, pred, k, propensity).psp(k, normalise=normalise).value


def psndcg_at_k(Y_true: object, pred: TopK | CSR, k: int, propensity: object) -> float:
    """PSnDCG@k: nDCG@k with hits weighted by inverse propensity, over the best possible.

    Examples
    --------
    >>> psndcg_at_k([[1, 0, 1]], TopK([[2, 1]], [[0.9, 0.2]]), 1, [0.25, 1, 0.5])
    0.5
    """
    return ranked_hits(Y_true, pred, k, propensity).psndcg(k).value


def _discount(k: int) -> DoubleArray:
    return 1 / np.log2(np.arange(2, k + 2))


def _ratio(top: DoubleArray, bottom: DoubleArray, largest: float) -> PerSample:
    """Σ top / Σ bottom with 0 ≤ top ≤ bottom ≤ largest at every sample.

    For t in [0, 1] top − t·bottom lies between −t·largest and (1 − t)·largest.
    """
    return PerSample(np.minimum(top, bottom), bottom, largest)


def _best(Y: CSR, weights: DoubleArray, k: int) -> DoubleArray:
    scored = sp.csr_array((weights[Y.indices], Y.indices, Y.indptr), shape=Y.shape)
    labels = TopK.from_csr(scored, k).labels
    return np.where(labels >= 0, weights[labels], 0.0)
