"""Nodes of trees of budgeted decisions: while they grow, and as flat arrays."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import expit

from labelwood.core.parallel import parallel
from labelwood.core.sparse import csr_arrays, cuts, row_blocks, some_rows
from labelwood.core.types import CSR, AnyArray, DoubleArray, IndexArray, PointerArray
from labelwood.errors import DataError
from labelwood.trees.preorder import depths_agree, is_preorder

if TYPE_CHECKING:
    from labelwood.trees.budgeted.decisions import Decision, Samples

_BLOCK = 2_048
_LEAST_LOGIT = 0.01  # of a leaf at its mean distance: its class stays its class


class FlatTrees(NamedTuple):
    """The nodes of all trees, each followed by its positive branch, then by its negative one.

    Names are those of the attributes of `BudgetedTreeClassifier`, without the underscore.
    """

    roots: PointerArray
    right: PointerArray
    depths: PointerArray
    indptr: PointerArray
    features: IndexArray
    weights: DoubleArray
    intercepts: DoubleArray
    n_samples: PointerArray
    totals: DoubleArray
    cv_errors: DoubleArray
    subtree_errors: DoubleArray
    slopes: DoubleArray
    kinds: AnyArray

    def walk(self, X: CSR, n_jobs: int | None) -> tuple[PointerArray, DoubleArray]:
        """The leaf of each row in each tree, and its distance from the last decision."""
        from labelwood.linear.budgeted import feature_table, restrict
        from labelwood.trees.budgeted._kernels import Decisions, walk

        selected, places = np.unique(self.features, return_inverse=True)
        parts: list[Any] = [self.right, self.indptr, places.astype(np.uint32), self.weights]
        parts += [self.intercepts, self.roots]
        # Kernels are compiled for arrays that can be written to, which loaded ones are not.
        *decisions, roots = (np.require(part, requirements="W") for part in parts)
        trees = Decisions(*decisions)
        matrix, table = csr_arrays(X), feature_table(selected)

        def some(rows: slice) -> tuple[PointerArray, DoubleArray]:
            return walk(restrict(some_rows(matrix, rows), table), selected.size, trees, roots)

        found = parallel(some, row_blocks(X, _BLOCK), n_jobs=n_jobs)
        leaves, distances = zip(*found, strict=True)
        return np.concatenate(leaves), np.concatenate(distances)

    def check(self, n_features: int) -> None:
        """Refuse arrays that would send a kernel out of bounds, or round in circles."""
        n = self.right.size
        if (
            not cuts(self.indptr, n, self.features.size)
            or self.weights.shape[0] == 0
            or self.weights.shape[0] != self.intercepts.shape[0]
        ):
            raise DataError("the nodes of the trees and their decisions do not fit together")
        ends = np.append(self.roots, n)
        if ends[0] != 0 or np.any(ends[1:] <= ends[:-1]):
            raise DataError("the trees do not start one after the other")
        if np.any((self.right != -1) & ((self.right <= np.arange(n) + 1) | (self.right >= n))):
            raise DataError("a node has a child that is not further on")
        if not is_preorder(self.right, self.roots):
            raise DataError("the nodes are not trees in which a path leads to each of them")
        if not depths_agree(self.right, self.roots, self.depths):
            raise DataError("the depths of the nodes are not those of the trees")
        if self.features.size and self.features.max() >= n_features:
            raise DataError("a decision looks at a feature that does not exist")
        if not all(np.isfinite(part).all() for part in (self.weights, self.intercepts)):
            raise DataError("a decision has a weight that is not finite")
        if not (np.isfinite(self.slopes).all() and np.isfinite(self.totals).all()):
            raise DataError("a leaf holds a number that is not finite")
        if not isinstance(self.kinds, np.ndarray) or self.kinds.shape != (n,):
            raise DataError("kinds_ must hold a word for each node")


@dataclass(eq=False)
class Node:
    """A node while trees grow.

    Attributes
    ----------
    tree, depth : where it stands
    rows : its samples
    margins : distance of each from the parent's decision (1 at the root), positive if most
        of them are, as a leaf predicts what most of its samples are
    totals : weight of the negative and of the positive ones
    leaf_errors : weight of the wrong ones if it is a leaf, and if the parent's `held_out`
        sent them to it or to its sibling
    decision : None for a leaf, and `reason` says why
    cv_error : weight of the samples whose `held_out` is wrong, NaN without a linear decision
    subtree_errors : as `leaf_errors`, in the leaves below after pruning
    n_leaves : leaves below after pruning, 1 for a leaf
    positive, negative : the children
    """

    tree: int
    depth: int
    rows: PointerArray
    margins: DoubleArray
    totals: DoubleArray
    leaf_errors: DoubleArray
    decision: "Decision | None" = None
    reason: str = ""
    cv_error: float = np.nan
    subtree_errors: DoubleArray = field(default_factory=lambda: np.zeros(2))
    n_leaves: int = 1
    positive: "Node | None" = None
    negative: "Node | None" = None

    def prune(self, reason: str) -> None:
        """Make it a leaf."""
        self.decision = self.positive = self.negative = None
        self.reason = reason


def in_order(root: Node) -> list[Node]:
    """The nodes of a tree in the order in which they are walked: the positive branch first."""
    nodes, stack = [], [root]
    while stack:
        nodes.append(stack.pop())
        children = (nodes[-1].negative, nodes[-1].positive)
        stack += [child for child in children if child is not None]
    return nodes


def flatten(roots: list[Node], trees: "list[Samples]", *, slopes: bool = True) -> FlatTrees:
    """All nodes in the order in which they are walked; to walk them alone takes no `slopes`."""
    nodes: list[Node] = []
    starts = []
    for root in roots:
        starts.append(len(nodes))
        nodes += in_order(root)
    places = {id(node): place for place, node in enumerate(nodes)}
    right = [-1 if node.negative is None else places[id(node.negative)] for node in nodes]
    n_folds = trees[0].n_folds
    decisions = [node.decision for node in nodes]
    coefs = [np.zeros((n_folds, 0)) if d is None else d.coef for d in decisions]
    features = [np.zeros(0, dtype=np.uint32) if d is None else d.features for d in decisions]
    intercepts = [np.zeros(n_folds) if d is None else d.intercepts for d in decisions]
    return FlatTrees(
        roots=np.array(starts, dtype=np.int64),
        right=np.array(right, dtype=np.int64),
        depths=np.array([node.depth for node in nodes], dtype=np.int64),
        indptr=np.cumsum([0, *(one.size for one in features)], dtype=np.int64),
        features=np.concatenate(features),
        weights=np.ascontiguousarray(np.concatenate(coefs, axis=1)),
        intercepts=np.ascontiguousarray(np.array(intercepts).T),
        n_samples=np.array([node.rows.size for node in nodes], dtype=np.int64),
        totals=np.array([node.totals for node in nodes]),
        cv_errors=np.array([node.cv_error for node in nodes]),
        subtree_errors=np.array([node.subtree_errors for node in nodes]),
        slopes=np.array([slopes and _slope(node, trees[node.tree]) for node in nodes], dtype=float),
        kinds=np.array(
            [node.reason if d is None else d.kind for node, d in zip(nodes, decisions, strict=True)]
        ),
    )


def join(parts: list[FlatTrees]) -> FlatTrees:
    """The trees of all parts, one after the other."""
    if len(parts) == 1:
        return parts[0]
    nodes = np.cumsum([0, *(part.right.size for part in parts)])
    entries = np.cumsum([0, *(part.features.size for part in parts)])
    moved = [
        part._replace(
            roots=part.roots + node,
            right=np.where(part.right < 0, -1, part.right + node),
            indptr=part.indptr[:-1] + entry,
        )
        for part, node, entry in zip(parts, nodes[:-1], entries[:-1], strict=True)
    ]
    arrays = {
        name: np.concatenate(
            [getattr(part, name) for part in moved],
            axis=1 if name in ("weights", "intercepts") else 0,
        )
        for name in FlatTrees._fields
    }
    arrays["indptr"] = np.append(arrays["indptr"], entries[-1])
    return FlatTrees(**arrays)


def _slope(node: Node, samples: "Samples") -> float:
    """Slope a of a leaf, in which a sample at distance z is positive with the probability σ(a z).

    Fitted to the distances of its samples, which their own fold's classifier measured, with
    a right and a wrong sample of weight 1 added at the mean distance.
    """
    if node.decision is not None:
        return 0.0
    weights = samples.weights[node.rows]
    side = 1.0 if node.totals[1] > node.totals[0] else -1.0
    mean = float(np.average(np.abs(node.margins), weights=weights)) or 1.0
    z = np.append(samples.signs[node.rows] * node.margins, [mean, -mean]) / mean
    weights = np.append(weights, [1.0, 1.0])
    low, high = _LEAST_LOGIT, 30.0  # of a; the sum below falls with it
    for _ in range(40):
        middle = (low + high) / 2
        if np.sum(weights * z * expit(-middle * z)) > 0:
            low = middle
        else:
            high = middle
    return side * low / mean
