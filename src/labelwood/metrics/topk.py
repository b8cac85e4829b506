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

from labelwood.core.entry_propensity import check_entries, propensities_of
from labelwood.core.propensity import check_propensity
from labelwood.core.sparse import entry_rows
from labelwood.core.topk import TopK
from labelwood.core.types import CSR, AnyArray, DoubleArray
from labelwood.errors import DataError, ParameterError
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
    gains : float64 array of shape (n, k), or None
        Inverse propensities of the labels that were found, 0 at the other ranks.
    best : float64 array of shape (n, k), or None
        The largest inverse propensities of each sample's true labels, in falling order.
    largest : float64 array of shape (k,), or None
        The largest inverse propensities that k labels of a sample can have, in falling order;
        infinite where propensities are not known of every sample and label.
    """

    labels: NDArray[np.int32]
    found: NDArray[np.bool_]
    relevant: NDArray[np.int64]
    gains: DoubleArray | None = None
    best: DoubleArray | None = None
    largest: DoubleArray | None = None

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

    def psp(self, k: int, *, normalize: bool = True) -> PerSample:
        """Hits by inverse propensity, over those of the best ranking (or over k)."""
        gains, best, largest = self._weighted(k)
        gain, span = gains.sum(axis=1), float(largest.sum())
        if not normalize:
            return PerSample.mean(gain / k, span / k, (0.0, np.inf))
        return _ratio(gain, best.sum(axis=1), span)

    def psndcg(self, k: int, *, normalize: bool = True, n_relevant: object = None) -> PerSample:
        """Discounted hits by inverse propensity, over those of the best ranking.

        With `normalize=False` they are divided by the best DCG of `n_relevant` labels alone, or
        of the recorded ones where it is None.
        """
        gains, best, largest = self._weighted(k)
        discount = _discount(k)
        if normalize:
            if n_relevant is not None:
                raise ParameterError("n_relevant is the normalizer of normalize=False alone.")
            # The denominator is an average of inverse propensities, so the largest bounds it.
            ideal = self._ideal(k)
            return _ratio(gains @ discount / ideal, best @ discount / ideal, float(largest[0]))
        ideal = self._ideal(k) if n_relevant is None else best_dcg(self._complete(n_relevant), k)
        # No more labels are found than are true, so this too is at most an average of gains.
        return PerSample.mean(gains @ discount / ideal, float(largest[0]), (0.0, np.inf))

    def psrecall(self, k: int, n_relevant: object) -> PerSample:
        """Hits by inverse propensity, divided by the number of labels of the complete truth."""
        gains, _, largest = self._weighted(k)
        complete = np.maximum(self._complete(n_relevant), 1)
        return PerSample.mean(gains.sum(axis=1) / complete, float(largest[0]), (0.0, np.inf))

    def _hits(self, k: int) -> NDArray[np.int64]:
        return np.count_nonzero(self._first(self.found, k), axis=1)

    def _ideal(self, k: int) -> DoubleArray:
        return np.cumsum(_discount(k))[np.clip(self.relevant, 1, k) - 1]

    def _complete(self, n_relevant: object) -> DoubleArray:
        """`n_relevant`, one finite number for each sample, none below what was recorded."""
        try:
            values = np.asarray(n_relevant, dtype=np.float64)
        except (TypeError, ValueError):
            raise DataError("n_relevant must be a number for each sample.") from None
        if values.shape != self.relevant.shape:
            raise DataError(
                f"n_relevant must be one number for each of {self.relevant.size} samples. "
                f"Got an array of shape {values.shape}."
            )
        bad = np.flatnonzero(~((values >= self.relevant) & np.isfinite(values)))
        if bad.size:
            raise DataError(
                f"n_relevant is {values[bad[0]]:g} for sample {bad[0]}, which has "
                f"{self.relevant[bad[0]]} recorded labels: a complete truth has no fewer."
            )
        return values

    def _first(self, ranks: AnyArray, k: int) -> AnyArray:
        if not 1 <= k <= self.labels.shape[1]:
            raise DataError(f"k must lie in 1…{self.labels.shape[1]}, the ranks matched. Got {k}.")
        return ranks[:, :k]

    def _weighted(self, k: int) -> tuple[DoubleArray, DoubleArray, DoubleArray]:
        if self.gains is None or self.best is None or self.largest is None:
            raise DataError("Propensity-scored metrics need propensities; pass propensity=….")
        return self._first(self.gains, k), self.best[:, :k], self.largest[:k]


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
    k = hits.labels.shape[1]
    if sp.issparse(propensity):
        matrix = check_entries(propensity, Y.shape)
        entries = 1 / propensities_of(matrix, Y)
        # Unless every pair has a propensity, one that is not given may be as small as you like.
        complete = matrix.nnz == Y.shape[0] * Y.shape[1]
        largest = np.full(k, 1 / matrix.data.min() if complete else np.inf)
    else:
        weights = 1 / check_propensity(propensity, Y.shape[1])
        entries = weights[Y.indices]
        largest = np.zeros(k)
        largest[: weights.size] = np.sort(weights)[::-1][:k]
    gains = _found_gains(hits, Y, entries)
    return replace(hits, gains=gains, best=_best(Y, entries, k), largest=largest)


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
    Y_true: object, pred: TopK | CSR, k: int, propensity: object, *, normalize: bool = True
) -> float:
    """PSP@k: hits weighted by inverse propensity, over the best that the labels allow.

    With `normalize=False` the sum is divided by k alone. That figure is the unbiased
    estimate of P@k on the complete truth (Jain, Prabhu and Varma, KDD 2016, th. 4.1),
    and can exceed 1.

    Examples
    --------
    >>> psp_at_k([[1, 0, 1]], TopK([[2, 1]], [[0.9, 0.2]]), 1, [0.25, 1, 0.5])
    0.5
    >>> psp_at_k([[1, 0, 1]], TopK([[2, 1]], [[0.9, 0.2]]), 1, [0.25, 1, 0.5], normalize=False)
    2.0
    """
    return ranked_hits(Y_true, pred, k, propensity).psp(k, normalize=normalize).value


def psndcg_at_k(
    Y_true: object,
    pred: TopK | CSR,
    k: int,
    propensity: object,
    *,
    normalize: bool = True,
    n_relevant: object = None,
) -> float:
    """PSnDCG@k: nDCG@k with hits weighted by inverse propensity, over the best possible.

    With `normalize=False` each sample's sum is divided by the best DCG of its recorded labels,
    or of `n_relevant` labels: how many its complete truth has, known or modeled. Given the
    true numbers it is the unbiased estimate of nDCG@k on the complete truth (Jain, Prabhu and
    Varma, KDD 2016, th. 4.2), and can exceed 1.

    Examples
    --------
    >>> psndcg_at_k([[1, 0, 1]], TopK([[2, 1]], [[0.9, 0.2]]), 1, [0.25, 1, 0.5])
    0.5
    >>> top, p = TopK([[2, 1]], [[0.9, 0.2]]), [0.25, 1, 0.5]
    >>> round(psndcg_at_k([[1, 0, 1]], top, 2, p, normalize=False, n_relevant=[3]), 4)
    1.2263
    """
    hits = ranked_hits(Y_true, pred, k, propensity)
    return hits.psndcg(k, normalize=normalize, n_relevant=n_relevant).value


def psrecall_at_k(
    Y_true: object, pred: TopK | CSR, k: int, propensity: object, n_relevant: object
) -> float:
    """PSR@k: hits weighted by inverse propensity, over the size of the complete truth.

    The unbiased estimate of R@k on the complete truth where `n_relevant`, the number of labels
    of each sample's complete truth, is known (Jain, Prabhu and Varma, KDD 2016, th. 4.2).

    Examples
    --------
    >>> psrecall_at_k([[1, 0, 1]], TopK([[2, 1]], [[0.9, 0.2]]), 1, [0.25, 1, 0.5], [4])
    0.5
    """
    return ranked_hits(Y_true, pred, k, propensity).psrecall(k, n_relevant).value


def psgain_at_k(
    Y_true: object, pred: TopK | CSR, k: int, g: object, *, discounted: bool = False
) -> float:
    """Σ 1/g_l over the labels found among the first k, the mean over samples.

    Corollary 4.2.1 of Jain, Prabhu and Varma (KDD 2016): where label l of sample i is recorded
    with probability g_l/g*_i, g*_i being the normalizer of its complete truth (its number of
    labels for R@k, its best DCG for nDCG@k, which takes `discounted=True`), this is the
    unbiased estimate of that metric on the complete truth, and g* need not be known.

    Parameters
    ----------
    Y_true, pred, k :
        As for the other metrics of rankings.
    g : array of shape (n_labels,)
        Positive numbers.
    discounted : bool
        Whether a hit at rank r counts 1/log2(r + 1).

    Examples
    --------
    >>> psgain_at_k([[1, 0, 1]], TopK([[2, 1]], [[0.9, 0.2]]), 2, [1, 1, 4])
    0.25
    """
    hits = ranked_hits(Y_true, pred, k)
    values = np.asarray(g, dtype=np.float64)
    n_labels = check_truth(Y_true).shape[1]
    if values.shape != (n_labels,) or not (np.isfinite(values) & (values > 0)).all():
        raise DataError(f"g must be a positive number for each of {n_labels} labels.")
    gains = np.where(hits.found, 1 / values[hits.labels], 0.0)
    return float((gains @ (_discount(k) if discounted else np.ones(k))).mean())


def _discount(k: int) -> DoubleArray:
    return 1 / np.log2(np.arange(2, k + 2))


def _ratio(top: DoubleArray, bottom: DoubleArray, largest: float) -> PerSample:
    """Σ top / Σ bottom with 0 ≤ top ≤ bottom ≤ largest at every sample.

    For t in [0, 1] top − t·bottom lies between −t·largest and (1 − t)·largest.
    """
    return PerSample(np.minimum(top, bottom), bottom, largest)


def best_dcg(n_relevant: DoubleArray, k: int) -> DoubleArray:
    """The DCG of the best ranking of k labels, where `n_relevant` are true.

    A modeled number need not be whole: the value is then interpolated between the two whole
    numbers next to it, and never below that of one label.

    Examples
    --------
    >>> best_dcg(np.array([0.3, 1, 1.5, 9]), 2).round(3).tolist()
    [1.0, 1.0, 1.315, 1.631]
    """
    sizes = np.arange(1, k + 1)
    return np.interp(n_relevant, sizes, np.cumsum(_discount(k)))


def _found_gains(hits: RankedHits, Y: CSR, entries: DoubleArray) -> DoubleArray:
    """The value of the entry of `Y` that each found rank has, 0 at other ranks."""
    gains = np.zeros(hits.found.shape)
    rows, ranks = np.nonzero(hits.found)
    width = Y.shape[1]
    places = entry_rows(Y) * width + Y.indices
    order = np.argsort(places)
    wanted = rows * width + hits.labels[rows, ranks]
    gains[rows, ranks] = entries[order[np.searchsorted(places, wanted, sorter=order)]]
    return gains


def _best(Y: CSR, entries: DoubleArray, k: int) -> DoubleArray:
    """The `k` largest entries of each row, in falling order, then zeros."""
    rows = entry_rows(Y)
    order = np.lexsort((-entries, rows))
    ranks = np.arange(rows.size) - np.repeat(Y.indptr[:-1], np.diff(Y.indptr))
    best = np.zeros((Y.shape[0], k))
    kept = ranks < k
    best[rows[kept], ranks[kept]] = entries[order][kept]
    return best
