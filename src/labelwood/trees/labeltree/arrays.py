"""Trained label trees in flat arrays: search, joining, checks."""

from typing import NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labelwood.core.lanes import WIDTH
from labelwood.core.parallel import parallel
from labelwood.core.sparse import csr_arrays, cuts, make_csr, row_blocks, some_rows
from labelwood.core.topk import TopK
from labelwood.core.types import CSR, AnyArray, FloatArray, IndexArray, PointerArray
from labelwood.errors import DataError
from labelwood.trees.labeltree import _beam_kernels as kernels
from labelwood.trees.labeltree.row_index import Directory, Postings, RowIndex

_MOST_ROWS = 2048
_MOST_CELLS = 2**21  # scores held at once by a thread, in a tree


class Search(NamedTuple):
    """How to go down: nodes kept at a level, kind of loss, and the say of the way in a score."""

    beam: int
    logistic: bool
    path_weight: float = 1.0

    def within(self, n_nodes: int) -> Self:
        """The same with a beam that is no wider than there are nodes."""
        return self._replace(beam=min(self.beam, max(n_nodes, 1)))

    def block_size(self, width: int) -> int:
        """Rows that a thread takes at a time."""
        return int(np.clip(_MOST_CELLS // (self.beam * width), 1, _MOST_ROWS))


class LabelForest(NamedTuple):
    """The nodes of all trees, and the decisions of their children in blocks of sixteen.

    Node j has the blocks `node_blocks[j]:node_blocks[j + 1]`; lane i of block b decides on
    `children[16 * b + i]`: a node, a label when j is a leaf, or none when that is −1. The
    features of block b are `features[block_indptr[b]:block_indptr[b + 1]]`, in order; the
    weights of feature r are `weights[entry_indptr[r]:entry_indptr[r + 1]]`, for the `lanes`
    at the same places.
    """

    roots: PointerArray
    node_blocks: PointerArray
    is_leaf: NDArray[np.bool_]
    children: NDArray[np.int32]
    intercepts: FloatArray
    block_indptr: PointerArray
    features: IndexArray
    entry_indptr: PointerArray
    lanes: NDArray[np.uint8]
    weights: FloatArray

    @property
    def width(self) -> int:
        """Lanes of the widest node."""
        return WIDTH * int(np.diff(self.node_blocks).max(initial=1))

    def topk(
        self,
        X: CSR,
        n_labels: int,
        k: int,
        search: Search,
        n_jobs: int | None,
        index: RowIndex | None = None,
        *,
        unit: bool = False,
    ) -> TopK:
        """The best `k` labels of each row; with `unit`, of rows scaled to length one."""
        index = index or RowIndex(self, X.shape[1])
        rest = self._searched(X, search, index)
        arrays = csr_arrays(X)

        def best(rows: slice) -> tuple[AnyArray, AnyArray]:
            return kernels.topk_rows(some_rows(arrays, rows), unit, *rest, n_labels, k)

        parts = parallel(best, row_blocks(X, rest[-1].block_size(index.width)), n_jobs=n_jobs)
        if len(parts) == 1:
            return TopK(*parts[0])
        labels, scores = zip(*parts, strict=True)
        return TopK(np.concatenate(labels), np.concatenate(scores))

    def above(
        self,
        X: CSR,
        n_labels: int,
        threshold: float,
        search: Search,
        n_jobs: int | None,
        index: RowIndex | None = None,
        *,
        unit: bool = False,
    ) -> CSR:
        """The scores above `threshold` of the labels that were reached."""
        index = index or RowIndex(self, X.shape[1])
        rest = self._searched(X, search, index)
        arrays = csr_arrays(X)

        def score(rows: slice) -> CSR:
            reached = kernels.search_trees(some_rows(arrays, rows), unit, *rest)
            indptr, labels, values = kernels.above_of_trees(*reached, n_labels, threshold)
            return make_csr(indptr, labels, values, (indptr.size - 1, n_labels))

        blocks = row_blocks(X, rest[-1].block_size(index.width))
        scores = sp.vstack(parallel(score, blocks, n_jobs=n_jobs), format="csr")
        scores.sort_indices()
        return scores

    def _searched(
        self, X: CSR, search: Search, index: RowIndex
    ) -> tuple[int, Self, Directory, Postings, int, Search]:
        """What kernels take for a search, after the rows."""
        places = index.for_rows(X.shape[0])
        return X.shape[1], self, *places, index.width, search.within(self.is_leaf.size)

    def above_leaves(self) -> NDArray[np.bool_]:
        """Which nodes have leaves as children."""
        first_child = self.children[self.node_blocks[:-1] * WIDTH]
        return ~self.is_leaf & self.is_leaf[np.where(self.is_leaf, 0, first_child)]

    def check(self, n_features: int, n_labels: int) -> None:
        """Refuse arrays that would send a kernel out of bounds or round in circles."""
        n_nodes = self.is_leaf.size
        n_blocks = self.intercepts.size // WIDTH
        if not (
            cuts(self.node_blocks, n_nodes, n_blocks)
            and self.children.size == self.intercepts.size == n_blocks * WIDTH
            and cuts(self.block_indptr, n_blocks, self.features.size)
            and cuts(self.entry_indptr, self.features.size, self.lanes.size)
            and self.lanes.size == self.weights.size
            and np.all(self.lanes < WIDTH)
            and np.all(self.features < n_features)
            and _rise(self.features, self.block_indptr)
            and np.all((self.roots >= 0) & (self.roots < n_nodes))
            and np.isfinite(self.weights).all()
            and np.isfinite(self.intercepts).all()
        ):
            raise DataError("the arrays of the label trees are inconsistent")
        self._check_children(n_labels)

    def _check_children(self, n_labels: int) -> None:
        """Every node has a child; children are labels, or later nodes, once each and all alike."""
        n_nodes = self.is_leaf.size
        counts = np.diff(self.node_blocks)
        owner = np.repeat(np.repeat(np.arange(n_nodes), counts), WIDTH)
        leaf, there = self.is_leaf[owner], self.children >= 0
        limit = np.where(leaf, n_labels, n_nodes)
        # A child comes after its parent, so every way down ends.
        wrong = there & ((self.children >= limit) | ~(leaf | (self.children > owner)))
        if np.any(self.children < -1) or np.any(wrong):
            raise DataError("children_ names a node or a label that does not exist")
        if np.any(counts == 0) or np.any(self.children[self.node_blocks[:-1] * WIDTH] < 0):
            raise DataError("a node of the label trees has no child")
        inner = there & ~leaf
        if np.any(self.is_leaf[self.children[inner]] != self.above_leaves()[owner[inner]]):
            raise DataError("a node of the label trees has children of two kinds")
        if np.bincount(self.children[inner], minlength=1).max() > 1:
            raise DataError("a node of the label trees is a child twice")


def _rise(values: IndexArray, pointers: PointerArray) -> bool:
    """Whether the values rise within each part."""
    starts = np.zeros(values.size + 1, dtype=np.bool_)
    starts[pointers] = True
    return bool(np.all((values[1:] > values[:-1]) | starts[1 : values.size]))
