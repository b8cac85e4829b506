"""Weights of many labels, feature-major, in blocks of sixteen labels side by side."""

from typing import NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labelwood.core.lanes import WIDTH
from labelwood.core.parallel import parallel
from labelwood.core.sparse import csr_arrays, cuts, make_csr, row_blocks, some_rows
from labelwood.core.topk import TopK, empty_ranking
from labelwood.core.types import CSR, AnyArray, FloatArray, IndexArray, PointerArray
from labelwood.errors import DataError
from labelwood.linear.onevsrest import _kernels as kernels


class Postings(NamedTuple):
    """For each feature the blocks in which it has a weight.

    Posting q, one of `indptr[f]:indptr[f + 1]` of feature f, belongs to block `blocks[q]`
    and holds the sixteen weights `weights[16 * q : 16 * q + 16]`. Lane j of block b is the
    label `lane_labels[16 * b + j]`, or empty when that is −1.
    """

    indptr: PointerArray
    blocks: IndexArray
    weights: FloatArray
    lane_labels: NDArray[np.int32]

    @classmethod
    def of(cls, parts: list[tuple[IndexArray, IndexArray, FloatArray]], n_features: int) -> Self:
        """From the labels, features and weights of each block."""
        lane_labels = np.full((len(parts), WIDTH), -1, dtype=np.int32)
        for block, (labels, _, _) in enumerate(parts):
            lane_labels[block, : labels.size] = labels
        features = np.concatenate([part[1] for part in parts] or [np.empty(0, dtype=np.uint32)])
        sizes = [part[1].size for part in parts]
        blocks = np.repeat(np.arange(len(parts), dtype=np.uint32), sizes)
        order = np.argsort(features, kind="stable")
        counts = np.bincount(features, minlength=n_features)
        weights = np.empty((features.size, WIDTH), dtype=np.float32)
        position = np.empty_like(order)
        position[order] = np.arange(order.size)
        start = 0
        for size, (_, _, block_weights) in zip(sizes, parts, strict=True):
            weights[position[start : start + size]] = block_weights.reshape(-1, WIDTH)
            start += size
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return cls(indptr, blocks[order], weights.ravel(), lane_labels.ravel())

    def joined(self, other: Self) -> Self:
        """These postings and those of `other`, whose blocks come after."""
        n_features = self.indptr.size - 1
        features = np.concatenate(
            [np.repeat(np.arange(n_features), np.diff(one.indptr)) for one in (self, other)]
        )
        n_blocks = np.uint32(self.lane_labels.size // WIDTH)
        order = np.argsort(features, kind="stable")
        weights = np.concatenate([self.weights, other.weights]).reshape(-1, WIDTH)
        return type(self)(
            self.indptr + other.indptr,
            np.concatenate([self.blocks, other.blocks + n_blocks])[order],
            weights[order].ravel(),
            np.concatenate([self.lane_labels, other.lane_labels]),
        )

    def without(self, labels: IndexArray) -> Self:
        """The same without the weights of `labels`; blocks that are empty then are removed."""
        gone = np.isin(self.lane_labels, labels).reshape(-1, WIDTH)
        lanes = np.where(gone, np.int32(-1), self.lane_labels.reshape(-1, WIDTH))
        weights = self.weights.reshape(-1, WIDTH).copy()
        weights[gone[self.blocks]] = 0
        kept = weights.any(axis=1)
        filled = (lanes >= 0).any(axis=1)
        number = (np.cumsum(filled) - 1).astype(np.uint32)
        return type(self)(
            np.concatenate([[0], np.cumsum(kept)])[self.indptr],
            number[self.blocks[kept]],
            weights[kept].ravel(),
            lanes[filled].ravel(),
        )

    def topk(
        self, X: CSR, intercepts: FloatArray, k: int, n_jobs: int | None, *, unit: bool = False
    ) -> TopK:
        """The best `k` labels of each row; with `unit`, of rows scaled to length one."""
        arrays = csr_arrays(X)

        def best(rows: slice) -> tuple[AnyArray, AnyArray]:
            part = some_rows(arrays, rows)
            labels, scores = empty_ranking(part.indptr.size - 1, k)
            kernels.topk_rows(part, unit, *self, intercepts, labels, scores)
            return labels, scores

        parts = parallel(best, row_blocks(X), n_jobs=n_jobs)
        if len(parts) == 1:
            return TopK(*parts[0])
        labels, scores = zip(*parts, strict=True)
        return TopK(np.concatenate(labels), np.concatenate(scores))

    def above(
        self,
        X: CSR,
        intercepts: FloatArray,
        threshold: float,
        n_jobs: int | None,
        *,
        unit: bool = False,
    ) -> CSR:
        """The scores above `threshold`, for as many labels as there are intercepts."""
        arrays = csr_arrays(X)

        def score(rows: slice) -> CSR:
            indptr, labels, values = kernels.above_rows(
                some_rows(arrays, rows), unit, *self, intercepts, threshold
            )
            return make_csr(indptr, labels, values, (indptr.size - 1, intercepts.size))

        scores = sp.vstack(parallel(score, row_blocks(X), n_jobs=n_jobs), format="csr")
        scores.sort_indices()
        return scores

    def to_csr(self, n_labels: int) -> CSR:
        """The same weights as a matrix of shape (n_features, n_labels)."""
        features = np.repeat(np.arange(self.indptr.size - 1), np.diff(self.indptr))
        lanes = self.lane_labels.reshape(-1, WIDTH)[self.blocks]
        weights = self.weights.reshape(-1, WIDTH)
        kept = weights != 0
        rows = np.broadcast_to(features[:, None], kept.shape)[kept]
        matrix = sp.coo_array(
            (weights[kept], (rows, lanes[kept])), shape=(self.indptr.size - 1, n_labels)
        )
        return sp.csr_array(matrix)

    def check(self, n_features: int, n_labels: int) -> None:
        """Refuse arrays that would send a kernel out of bounds."""
        n_blocks, rest = divmod(self.lane_labels.size, WIDTH)
        if (
            rest
            or not cuts(self.indptr, n_features, self.blocks.size)
            or self.weights.size != WIDTH * self.blocks.size
            or np.any(self.blocks >= n_blocks)
        ):
            raise DataError("the postings of the features are inconsistent")
        if np.any((self.lane_labels < -1) | (self.lane_labels >= n_labels)):
            raise DataError("lane_labels_ names a label that does not exist")
