"""Fitted trees as flat arrays, and the rows that walk down them."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelwood.core.parallel import parallel
from labelwood.core.sparse import csr_arrays, cuts, row_blocks, some_rows
from labelwood.core.types import CSR, DoubleArray, IndexArray, PointerArray
from labelwood.errors import DataError
from labelwood.trees.preorder import is_preorder
from labelwood.trees.rules.decision_tree._walk_kernels import Walkable, walk

if TYPE_CHECKING:
    from labelwood.trees.rules.growth import Node

_BLOCK = 4_096


class RuleTrees(NamedTuple):
    """The nodes of all trees in preorder: a node, its left branch, its right branch.

    Names are those of the estimators' attributes, without the underscore.
    """

    roots: PointerArray
    right: PointerArray
    features: PointerArray
    thresholds: DoubleArray
    missing_left: NDArray[np.bool_]
    larger_left: NDArray[np.bool_]
    mask_indptr: PointerArray
    masks: IndexArray
    n_samples: PointerArray
    weights: DoubleArray
    losses: DoubleArray
    values: DoubleArray

    def apply(self, X: CSR, n_jobs: int | None = None) -> PointerArray:
        """The leaf of each row in each tree, of shape (n, n_trees)."""
        matrix = csr_arrays(X)
        # Kernels are compiled for arrays that can be written to, which loaded ones are not.
        parts = (np.require(getattr(self, name), requirements="W") for name in Walkable._fields)
        trees = Walkable(*parts)

        def some(rows: slice) -> PointerArray:
            return walk(some_rows(matrix, rows), trees)

        return np.concatenate(parallel(some, row_blocks(X, _BLOCK), n_jobs=n_jobs))

    def depths(self) -> PointerArray:
        """The depth of each node."""
        result = np.zeros(self.right.size, dtype=np.int64)
        for node in np.flatnonzero(self.right >= 0):  # parents come before their children
            result[node + 1] = result[self.right[node]] = result[node] + 1
        return result

    def tree(self, number: int) -> "RuleTrees":
        """One of the trees alone."""
        ends = np.append(self.roots, self.right.size)
        part = slice(int(ends[number]), int(ends[number + 1]))
        keep = np.zeros(self.right.size, dtype=bool)
        keep[part] = True
        return self._kept(keep, np.array([part.start]))

    def collapsed(self, nodes: PointerArray) -> "RuleTrees":
        """The trees with these nodes as leaves."""
        leaf = np.zeros(self.right.size, dtype=bool)
        leaf[nodes] = True
        keep = np.ones(self.right.size, dtype=bool)
        end = _subtree_ends(self.right)
        for node in np.flatnonzero(leaf):
            keep[node + 1 : end[node]] = False
        right = np.where(leaf, -1, self.right)
        features = np.where(leaf, -1, self.features)
        return self._replace(right=right, features=features)._kept(keep, self.roots)

    def _kept(self, keep: NDArray[np.bool_], roots: PointerArray) -> "RuleTrees":
        place = np.cumsum(keep) - 1
        right = self.right[keep]
        lengths = np.where(self.features >= 0, np.diff(self.mask_indptr), 0)[keep]
        words = np.repeat(keep & (self.features >= 0), np.diff(self.mask_indptr))
        return RuleTrees(
            roots=place[roots].astype(np.int64),
            right=np.where(right >= 0, place[right], -1).astype(np.int64),
            features=self.features[keep],
            thresholds=np.where(self.features >= 0, self.thresholds, np.nan)[keep],
            missing_left=self.missing_left[keep],
            larger_left=self.larger_left[keep],
            mask_indptr=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            masks=self.masks[words],
            n_samples=self.n_samples[keep],
            weights=self.weights[keep],
            losses=self.losses[keep],
            values=self.values[keep],
        )

    def check(self, n_features: int) -> None:
        """Refuse arrays that would send a kernel out of bounds, or round in circles."""
        n = self.right.size
        inner = self.right >= 0
        if not cuts(self.mask_indptr, n, self.masks.size):
            raise DataError("the nodes of the trees and their categories do not fit together")
        if n == 0 or np.any((self.right != -1) & ((self.right < 1) | (self.right >= n))):
            raise DataError("a node has a child that does not exist")
        if not is_preorder(self.right, self.roots):
            raise DataError("the nodes are not trees in which a path leads to each of them")
        if np.any(inner != (self.features >= 0)) or np.any(self.features >= n_features):
            raise DataError("a split reads a feature that does not exist")
        if not np.isfinite(self.values).all():
            raise DataError("a leaf holds a number that is not finite")
        numeric = inner & (np.diff(self.mask_indptr) == 0)
        if np.isnan(self.thresholds[numeric]).any():
            raise DataError("a split has no threshold")


def _subtree_ends(right: PointerArray) -> PointerArray:
    """Where the nodes below each node end in preorder."""
    ends = np.arange(1, right.size + 1)
    for node in np.flatnonzero(right >= 0)[::-1]:
        ends[node] = ends[right[node]]
    return ends


def flatten(roots: "list[Node]") -> tuple[RuleTrees, list[str]]:
    """All nodes in preorder, and the reason of each leaf."""
    nodes: list[Node] = []
    starts = []
    for root in roots:
        starts.append(len(nodes))
        stack = [root]
        while stack:
            node = stack.pop()
            nodes.append(node)
            if node.left is not None and node.right is not None:
                stack += [node.right, node.left]
    place = {id(node): i for i, node in enumerate(nodes)}
    splits = [node.split if node.left is not None else None for node in nodes]
    lengths = [0 if split is None else split.mask.size for split in splits]
    masks = [split.mask for split in splits if split is not None and split.mask.size]
    weights = np.array([node.node.weight for node in nodes], dtype=np.float64)
    trees = RuleTrees(
        roots=np.array(starts, dtype=np.int64),
        right=np.array(
            [-1 if node.right is None else place[id(node.right)] for node in nodes], dtype=np.int64
        ),
        features=np.array(
            [-1 if split is None else split.feature for split in splits], dtype=np.int64
        ),
        thresholds=np.array(
            [np.nan if split is None else split.threshold for split in splits], dtype=np.float64
        ),
        missing_left=np.array([split is not None and split.missing_left for split in splits]),
        larger_left=np.array([node.larger_left for node in nodes]),
        mask_indptr=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        masks=np.concatenate([np.empty(0, dtype=np.uint32), *masks]).astype(np.uint32),
        n_samples=np.array([node.node.n for node in nodes], dtype=np.int64),
        weights=weights,
        losses=np.array([max(node.loss, 0.0) for node in nodes], dtype=np.float64),
        values=np.array([node.node.sums for node in nodes], dtype=np.float64).reshape(
            len(nodes), -1
        )
        / weights[:, None],
    )
    return trees, [node.reason for node in nodes if node.left is None]


def join(parts: list[RuleTrees]) -> RuleTrees:
    """Trees one after the other; children and categories are counted on."""
    sizes = np.array([part.right.size for part in parts], dtype=np.int64)
    starts = np.cumsum(sizes) - sizes
    words = np.array([part.masks.size for part in parts], dtype=np.int64)
    word_starts = np.cumsum(words) - words
    joined = {
        name: np.concatenate([getattr(part, name) for part in parts]) for name in RuleTrees._fields
    }
    joined["roots"] = np.concatenate(
        [part.roots + start for part, start in zip(parts, starts, strict=True)]
    )
    joined["right"] = np.concatenate(
        [
            np.where(part.right >= 0, part.right + start, -1)
            for part, start in zip(parts, starts, strict=True)
        ]
    )
    joined["mask_indptr"] = np.concatenate(
        [
            [0],
            *(part.mask_indptr[1:] + start for part, start in zip(parts, word_starts, strict=True)),
        ]
    ).astype(np.int64)
    return RuleTrees(**joined)
