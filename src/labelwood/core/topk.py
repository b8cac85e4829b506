"""The best labels of each sample, best first."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labelwood.core.labels import indicator
from labelwood.core.names import count
from labelwood.core.params import Integer, check_parameter
from labelwood.core.sparse import checked_csr, entry_rows, make_csr
from labelwood.core.types import CSR, AnyArray, FloatArray
from labelwood.errors import DataError


def empty_ranking(n: int, k: int) -> tuple[NDArray[np.int32], FloatArray]:
    """Labels and scores of `n` rows that have no label yet, for kernels to fill."""
    labels = np.full((n, k), -1, dtype=np.int32)
    return labels, np.full((n, k), -np.inf, dtype=np.float32)


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
        check_parameter("TopK.head", "k", k, Integer(low=0))
        return TopK(self.labels[:, :k], self.scores[:, :k], self.classes)

    def names(self, label_names: Sequence[object] | AnyArray | None = None) -> list[list[object]]:
        """Labels by name, a list for each sample, without the filling."""
        names = self.classes if label_names is None else label_names
        if names is None:
            return [[int(label) for label in row if label >= 0] for row in self.labels]
        return [[_plain(names[label]) for label in row if label >= 0] for row in self.labels]

    def hits(self, Y: object) -> NDArray[np.bool_]:
        """Which of the labels, at their ranks, are in an indicator of shape (n, n_labels).

        `Y` is any sparse matrix or array of zeros and ones; stored zeros are no labels.
        """
        matrix = indicator(Y)
        n, n_labels = matrix.shape
        self.check_labels(n, n_labels)
        pairs = entry_rows(matrix) * n_labels + matrix.indices
        wanted = np.arange(n, dtype=np.int64)[:, None] * n_labels + self.labels
        # Pairs are sorted as the indices of each row are, so one search finds them all.
        at = np.minimum(np.searchsorted(pairs, wanted), max(pairs.size - 1, 0))
        return (self.labels >= 0) & (np.append(pairs, -1)[at] == wanted)

    def check_labels(self, n: int, n_labels: int, label_names: Sequence[str] | None = None) -> None:
        """Refuse label sets of `n` samples over other labels than those of this ranking.

        A model may know fewer labels than there are, if those it knows come first.
        """
        classes = self.classes
        known = n_labels if classes is None else len(classes)
        if len(self) != n or known > n_labels:
            raise DataError(
                f"The ranking is of {count(len(self), 'sample')} and {count(known, 'label')}, "
                f"Y_true of {count(n, 'sample')} and {count(n_labels, 'label')}."
            )
        if classes is not None and label_names is not None and classes.dtype.kind in "UO":
            wrong = np.flatnonzero(np.asarray(label_names[:known]) != classes.astype(np.str_))
            if wrong.size:
                raise DataError(
                    f"Column {wrong[0]} is {label_names[wrong[0]]!r} in label_names and "
                    f"{str(classes[wrong[0]])!r} in the ranking: bring the columns of the label "
                    "matrix into the order of the ranking's classes."
                )
        elif known < n_labels and np.any(classes != np.arange(known)):
            raise DataError(
                f"The ranking knows {known} labels by name and Y has {n_labels} columns: "
                "give an indicator over the same labels, or label_names."
            )
        outside = (self.labels < -1) | (self.labels >= n_labels)
        if outside.any():
            row, rank = np.argwhere(outside)[0]
            raise DataError(
                f"The ranking of sample {row} holds label {self.labels[row, rank]}, "
                f"outside 0…{n_labels - 1}."
            )

    def to_csr(self, n_labels: int) -> CSR:
        """Scores as a CSR matrix of shape (n, n_labels); a score of zero is kept as an entry."""
        check_parameter("TopK.to_csr", "n_labels", n_labels, Integer(low=0))
        if self.labels.size and not -1 <= self.labels.min() <= self.labels.max() < n_labels:
            raise DataError(
                f"The ranking holds labels from {self.labels.min()} to {self.labels.max()} "
                f"and the matrix is to have {n_labels} columns."
            )
        there = self.labels >= 0
        indptr = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
        shape = (len(self), n_labels)
        matrix = make_csr(indptr, self.labels[there], self.scores[there], shape)
        matrix.sort_indices()
        return matrix

    @classmethod
    def from_csr(cls, scores: CSR, k: int, classes: AnyArray | None = None) -> "TopK":
        """The `k` best stored entries of each row; equal scores go to the smaller label first."""
        check_parameter("TopK.from_csr", "k", k, Integer(low=0))
        scores = checked_csr(scores, "scores")
        if scores.dtype.kind != "f":
            scores = scores.astype(np.float64)
        n = scores.shape[0]
        labels = np.full((n, k), -1, dtype=np.int32)
        values = np.full((n, k), -np.inf, dtype=np.float32)
        rows = entry_rows(scores)
        order = np.lexsort((scores.indices, -scores.data, rows))
        rank = np.arange(order.size) - scores.indptr[rows]
        kept = rank < k
        labels[rows[kept], rank[kept]] = scores.indices[order][kept]
        values[rows[kept], rank[kept]] = scores.data[order][kept]
        return cls(labels, values, classes)


def _plain(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else value
