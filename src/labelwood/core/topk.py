"""The best labels of each sample, best first."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labelwood.core.sparse import make_csr
from labelwood.core.types import CSR, AnyArray, FloatArray
from labelwood.errors import DataError


@dataclass(frozen=True)
class TopK:
    """At most k labels for each of n samples, best first.

    Attributes
    ----------
    labels : int32 array of shape (n, k)
        Label indices; −1 fills a row that has fewer than k labels, at its end.
    scores : float32 array of shape (n, k)
        Their scores, never increasing along a row; −inf where the label is −1.
    classes : array of shape (n_labels,) or None
        What the indices stand for.

    Examples
    --------
    >>> top = TopK(np.array([[2, 0]]), np.array([[0.9, 0.4]]), np.array(["cat", "dog", "owl"]))
    >>> top.names()
    [['owl', 'cat']]
    """

    labels: NDArray[np.int32]
    scores: FloatArray
    classes: AnyArray | None = None

    def __post_init__(self) -> None:
        labels = np.ascontiguousarray(self.labels, dtype=np.int32)
        scores = np.ascontiguousarray(self.scores, dtype=np.float32)
        if labels.ndim != 2 or labels.shape != scores.shape:
            raise DataError(
                f"TopK needs labels and scores of one shape (n, k). "
                f"Got {labels.shape} and {scores.shape} instead."
            )
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "scores", scores)

    def __len__(self) -> int:
        return int(self.labels.shape[0])

    @property
    def k(self) -> int:
        """How many labels a row can hold."""
        return int(self.labels.shape[1])

    def head(self, k: int) -> "TopK":
        """The best `k` labels only."""
        return TopK(self.labels[:, :k], self.scores[:, :k], self.classes)

    def names(self, label_names: Sequence[object] | AnyArray | None = None) -> list[list[object]]:
        """Labels by name, a list for each sample, without the filling."""
        names = self.classes if label_names is None else label_names
        if names is None:
            return [[int(label) for label in row if label >= 0] for row in self.labels]
        return [[_plain(names[label]) for label in row if label >= 0] for row in self.labels]

    def hits(self, Y: CSR) -> NDArray[np.bool_]:
        """Which of the labels, in their places, an indicator of shape (n, n_labels) holds."""
        n, n_labels = Y.shape
        rows = np.repeat(np.arange(n), np.diff(Y.indptr))
        places = np.arange(n)[:, None] * n_labels + self.labels
        return (self.labels >= 0) & np.isin(places, rows * n_labels + Y.indices)

    def to_csr(self, n_labels: int) -> CSR:
        """Scores as a CSR matrix of shape (n, n_labels); a score of zero is kept as an entry."""
        there = self.labels >= 0
        indptr = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
        shape = (len(self), n_labels)
        matrix = make_csr(indptr, self.labels[there], self.scores[there], shape)
        matrix.sort_indices()
        return matrix

    @classmethod
    def from_csr(cls, scores: CSR, k: int, classes: AnyArray | None = None) -> "TopK":
        """The `k` best stored entries of each row; equal scores go to the smaller label first."""
        scores = sp.csr_array(scores)
        if scores.dtype.kind != "f":
            scores = scores.astype(np.float64)
        n = scores.shape[0]
        labels = np.full((n, k), -1, dtype=np.int32)
        values = np.full((n, k), -np.inf, dtype=np.float32)
        rows = np.repeat(np.arange(n), np.diff(scores.indptr))
        order = np.lexsort((scores.indices, -scores.data, rows))
        rank = np.arange(order.size) - scores.indptr[rows]
        kept = rank < k
        labels[rows[kept], rank[kept]] = scores.indices[order][kept]
        values[rows[kept], rank[kept]] = scores.data[order][kept]
        return cls(labels, values, classes)


def _plain(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else value
