"""Binary trees of sparse linear decisions with label averages in their leaves, as flat arrays."""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from labelwood.core.parallel import parallel
from labelwood.core.sparse import csr_arrays, cuts, make_csr, row_blocks, some_rows
from labelwood.core.topk import TopK
from labelwood.core.types import CSR, AnyArray, FloatArray, IndexArray, PointerArray
from labelwood.errors import DataError
from labelwood.trees.fastxml.top_nodes import NO_TOP_NODES, TopNodes

_BLOCK = 512  # rows of a task: enough that rows meet at nodes, few enough for two threads


class Forest(NamedTuple):
    """The nodes of all trees, one tree after the other.

    A row goes from node v to v + 1 when its score is positive, and to `right[v]` otherwise; −1
    marks a leaf. The score is `intercepts[v]` plus the product of the row with the weights of v,
    which are the entries `weight_indptr[v]:weight_indptr[v + 1]` of `features` and `weights`.
    A leaf v holds the entries `leaf_indptr[v]:leaf_indptr[v + 1]` of `labels` and `averages`.
    Tree t starts at node `roots[t]`.
    """

    roots: PointerArray
    right: PointerArray
    intercepts: FloatArray
    weight_indptr: PointerArray
    features: IndexArray
    weights: FloatArray
    leaf_indptr: PointerArray
    labels: IndexArray
    averages: FloatArray

    @classmethod
    def joined(cls, forests: Sequence[Self]) -> Self:
        """The trees of all `forests`, in their order."""
        starts = np.cumsum([0, *(one.right.size for one in forests[:-1])])
        rights = [one.right + start for one, start in zip(forests, starts, strict=True)]
        for one, right in zip(forests, rights, strict=True):
            right[one.right < 0] = -1
        return cls(
            np.concatenate([one.roots + start for one, start in zip(forests, starts, strict=True)]),
            np.concatenate(rights),
            np.concatenate([one.intercepts for one in forests]),
            _joined_pointers([one.weight_indptr for one in forests]),
            np.concatenate([one.features for one in forests]),
            np.concatenate([one.weights for one in forests]),
            _joined_pointers([one.leaf_indptr for one in forests]),
            np.concatenate([one.labels for one in forests]),
            np.concatenate([one.averages for one in forests]),
        )

    def leaves(self) -> PointerArray:
        """How many leaves each tree has."""
        return np.add.reduceat(self.right < 0, self.roots, dtype=np.int64)

    def topk(
        self,
        X: CSR,
        n_labels: int,
        k: int,
        n_jobs: int | None,
        tops: TopNodes = NO_TOP_NODES,
    ) -> TopK:
        """The best `k` labels of each row."""
        from labelwood.trees.fastxml import _prediction_kernels as kernels

        arrays, n_features = csr_arrays(X), X.shape[1]

        def best(rows: slice) -> tuple[AnyArray, AnyArray]:
            return kernels.topk_rows(some_rows(arrays, rows), self, tops, n_features, n_labels, k)

        found = parallel(best, row_blocks(X, _BLOCK), n_jobs=n_jobs)
        labels, scores = zip(*found, strict=True)
        return TopK(np.concatenate(labels), np.concatenate(scores))

    def candidates(
        self, X: CSR, n_labels: int, tops: TopNodes = NO_TOP_NODES
    ) -> tuple[IndexArray, FloatArray]:
        """The labels that the trees propose for the only row of `X`, and their scores."""
        from labelwood.trees.fastxml import _prediction_kernels as kernels

        _, labels, scores = kernels.above_rows(csr_arrays(X), self, tops, X.shape[1], n_labels, 0.0)
        return labels, scores

    def above(
        self,
        X: CSR,
        n_labels: int,
        threshold: float,
        n_jobs: int | None,
        tops: TopNodes = NO_TOP_NODES,
    ) -> CSR:
        """The scores above `threshold`, as CSR."""
        from labelwood.trees.fastxml import _prediction_kernels as kernels

        arrays, n_features = csr_arrays(X), X.shape[1]

        def score(rows: slice) -> CSR:
            indptr, labels, values = kernels.above_rows(
                some_rows(arrays, rows), self, tops, n_features, n_labels, threshold
            )
            return make_csr(indptr, labels, values, (indptr.size - 1, n_labels))

        scores = sp.vstack(parallel(score, row_blocks(X, _BLOCK), n_jobs=n_jobs), format="csr")
        scores.sort_indices()
        return scores

    def check(self, n_features: int, n_labels: int) -> None:
        """Refuse arrays that would send a kernel out of bounds or into an endless loop."""
        n = self.right.size
        if self.intercepts.size != n or not (
            self.features.size == self.weights.size
            and self.labels.size == self.averages.size
            and cuts(self.weight_indptr, n, self.features.size)
            and cuts(self.leaf_indptr, n, self.labels.size)
        ):
            raise DataError("the nodes of the trees and their entries do not fit together")
        ends = np.append(self.roots, n)
        if self.roots.size == 0 or ends[0] != 0 or np.any(ends[1:] <= ends[:-1]):
            raise DataError("the trees do not start one after the other")
        number = np.arange(n)
        last = np.repeat(ends[1:], np.diff(ends))
        inside = (self.right > number + 1) & (self.right < last)
        if not np.all(inside | (self.right == -1)):
            raise DataError("a node has a child that is not further on in its tree")
        if self.features.size and self.features.max() >= n_features:
            raise DataError("a decision reads a feature that does not exist")
        if self.labels.size and self.labels.max() >= n_labels:
            raise DataError("a leaf holds a label that does not exist")
        # NaN compares false with both limits, so it is refused as well.
        if not (self.averages.min(initial=1) > 0 and self.averages.max(initial=1) < np.inf):
            raise DataError("a leaf holds an average that is not positive")
        if not (np.isfinite(self.weights).all() and np.isfinite(self.intercepts).all()):
            raise DataError("a decision holds a number that is not finite")


def _joined_pointers(parts: list[PointerArray]) -> PointerArray:
    starts = np.cumsum([0, *(part[-1] for part in parts[:-1])])
    moved = [part[1:] + start for part, start in zip(parts, starts, strict=True)]
    return np.concatenate([np.zeros(1, dtype=np.int64), *moved])
