"""A binary tree of sparse linear decisions with a label set in each leaf, as flat arrays."""

from copy import copy
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from labelwood.core.parallel import parallel
from labelwood.core.sparse import csr_arrays, cuts, make_csr, row_blocks, some_rows
from labelwood.core.types import CSR, FloatArray, IndexArray, PointerArray
from labelwood.errors import DataError
from labelwood.trees.preorder import is_preorder

_MAX_ROWS = 4096  # rows of a task that descend together
_SHORT = 256  # weights of the root up to which a row alone is hashed
_MAX_BEAM_ENTRIES = 40_960  # rows times beam of a task of the search for scores


class CodingTree(NamedTuple):
    """The nodes in preorder.

    A row goes from node v to v + 1 when its score is positive, and to `right[v]` otherwise; −1
    marks a leaf. The score is `intercepts[v]` plus the product of the row with the weights of v,
    which are the entries `weight_indptr[v]:weight_indptr[v + 1]` of `features` and `weights`.
    The label set of a leaf v are the entries `leaf_indptr[v]:leaf_indptr[v + 1]` of `labels`.
    """

    right: PointerArray
    intercepts: FloatArray
    weight_indptr: PointerArray
    features: IndexArray
    weights: FloatArray
    leaf_indptr: PointerArray
    labels: IndexArray

    def leaves(self, X: CSR, unit: bool, n_jobs: int | None) -> PointerArray:
        """The leaf that each row reaches; with `unit`, rows are scaled to length one."""
        from labelwood.trees.coding._walk_kernels import find_leaves

        arrays = csr_arrays(X)

        def find(rows: slice) -> PointerArray:
            dense = np.zeros(X.shape[1], dtype=np.float32)
            slots = np.zeros(X.shape[1], dtype=np.uint32)
            return find_leaves(some_rows(arrays, rows), unit, self, dense, slots)

        return np.concatenate(parallel(find, _blocks(X, _MAX_ROWS), n_jobs=n_jobs))

    def leaf_of_row(self, X: CSR, unit: bool, n_features: int) -> int | None:
        """The leaf of a row alone, in a tree of short decisions and a form that needs no change.

        The kernel checks the row as it reads it, which takes a tenth of the time of `as_csr`.
        None leaves the row, right or wrong, to the ordinary way.
        """
        from labelwood.trees.coding._walk_kernels import leaf_of_row

        # The root stands for all decisions: under a budget none reads more features than that.
        if self.weight_indptr[1] > _SHORT or X.shape != (1, n_features):
            return None
        if X.indices.dtype != np.int32 or X.data.dtype != np.float32:
            return None
        leaf = leaf_of_row(csr_arrays(X), n_features, unit, self)
        return int(leaf) if leaf >= 0 else None

    def scores(
        self, X: CSR, unit: bool, sharpness: float, beam: int, n_labels: int, n_jobs: int | None
    ) -> CSR:
        """Sum over the likely leaves of the probabilities of their labels, as CSR."""
        from labelwood.trees.coding._decision_kernels import likely_leaves

        arrays = csr_arrays(X)
        # No path of one node leads through another of the same beam, so that it never holds more
        # nodes than there are leaves.
        beam = min(beam, int(np.count_nonzero(self.right < 0)))

        def score(rows: slice) -> CSR:
            dense = np.zeros(X.shape[1], dtype=np.float32)
            leaves, logs = likely_leaves(
                some_rows(arrays, rows), unit, self, sharpness, beam, dense
            )
            there = leaves >= 0
            found, probabilities = leaves[there], np.exp(logs[there], dtype=np.float32)
            indptr = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
            shape = (there.shape[0], found.size)
            of_leaves = make_csr(indptr, np.arange(found.size), probabilities, shape)
            return sp.csr_array(of_leaves @ self.label_sets(found, n_labels))

        blocks = _blocks(X, _MAX_BEAM_ENTRIES // beam + 1)
        scores = sp.vstack(parallel(score, blocks, n_jobs=n_jobs), format="csr")
        scores.sort_indices()
        return scores

    def label_sets(self, leaves: PointerArray, n_labels: int) -> CSR:
        """The label sets of `leaves`, as an indicator with a row for each."""
        starts = self.leaf_indptr[leaves]
        sizes = self.leaf_indptr[leaves + 1] - starts
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        labels = self.labels[np.arange(indptr[-1]) + np.repeat(starts - indptr[:-1], sizes)]
        ones = np.ones(labels.size, dtype=np.float32)
        return make_csr(indptr, labels, ones, (leaves.size, n_labels))

    def label_set(self, leaf: int, n_labels: int) -> CSR:
        """The label set of one leaf, as an indicator of one row."""
        labels = self.labels[self.leaf_indptr[leaf] : self.leaf_indptr[leaf + 1]]
        # SciPy would check and convert the arrays, which takes longer than the walk of the row.
        row = copy(_no_label(n_labels))
        row.indptr = np.array([0, labels.size], dtype=row.indptr.dtype)
        row.indices = labels.astype(row.indices.dtype)
        row.data = np.ones(labels.size, dtype=np.float32)
        return row

    def depths(self) -> PointerArray:
        """How many decisions lead to each node."""
        from labelwood.trees.coding._shape_kernels import node_depths

        return node_depths(self.right)

    def check(self, n_features: int, n_labels: int) -> None:
        """Refuse arrays that would send a kernel out of bounds or into an endless loop."""
        n = self.right.size
        if self.intercepts.size != n or not (
            self.features.size == self.weights.size
            and cuts(self.weight_indptr, n, self.features.size)
            and cuts(self.leaf_indptr, n, self.labels.size)
        ):
            raise DataError("the nodes of the tree and their entries do not fit together")
        inside = (self.right > np.arange(n) + 1) & (self.right < n)
        if n == 0 or not np.all(inside | (self.right == -1)):
            raise DataError("a node of the tree has a child that is not further on")
        if not is_preorder(self.right, np.zeros(1, dtype=np.int64)):
            raise DataError("the nodes are not a tree in which a path leads to each of them")
        if self.features.size and self.features.max() >= n_features:
            raise DataError("a decision reads a feature that does not exist")
        if self.labels.size and self.labels.max() >= n_labels:
            raise DataError("a leaf holds a label that does not exist")
        if not (np.isfinite(self.weights).all() and np.isfinite(self.intercepts).all()):
            raise DataError("a decision holds a number that is not finite")


def _blocks(X: CSR, most: int) -> list[slice]:
    """A few blocks of rows for threads; the larger they are, the longer rows stay together."""
    return row_blocks(X, min(max(X.shape[0] // 2 + 1, 256), most))


@lru_cache(maxsize=8)
def _no_label(n_labels: int) -> CSR:
    """An empty row, to be copied."""
    return make_csr(np.zeros(2), np.zeros(0), np.zeros(0, dtype=np.float32), (1, n_labels))
