"""Fitting label trees, and adding labels to fitted ones."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from labelwood.core.lanes import WIDTH
from labelwood.core.memory import require_memory
from labelwood.core.random import seed_sequence
from labelwood.core.sparse import csr_arrays
from labelwood.core.types import CSR, AnyArray, DoubleArray, IndexArray
from labelwood.trees.labeltree.arrays import LabelForest, Search
from labelwood.trees.labeltree.assembly import assembled, grown, in_lanes
from labelwood.trees.labeltree.clustering import LabelClusters, cluster_labels
from labelwood.trees.labeltree.training import (
    Level,
    NodeProblem,
    Settings,
    Trained,
    node_states,
    train_levels,
    tree_levels,
)


class Outcome(NamedTuple):
    """The forest, the most passes of a block of classifiers, and how many did not converge."""

    forest: LabelForest
    n_iter: int
    n_unsolved: int


def fit_trees(
    X: CSR,
    Y: CSR,
    labels: IndexArray,
    costs: tuple[DoubleArray, DoubleArray],
    settings: Settings,
    *,
    random_state: object,
    n_jobs: int | None,
) -> Outcome:
    """Trees over the columns `labels` of Y; `costs` are the C of positive and negative samples.

    The nodes above the leaves are trained first. The leaves are then also trained on the rows
    that these nodes would send to them in prediction, as hard negatives.
    """
    problem = NodeProblem.of(X, labels.size, settings, n_jobs, settings.n_trees)
    members = csr_arrays(sp.csr_array(Y.T))
    trees: list[LabelClusters] = []
    levels: list[list[Level]] = []
    for seed in seed_sequence(random_state).spawn(settings.n_trees if labels.size else 0):
        of_clusters, of_nodes = seed.spawn(2)
        tree = cluster_labels(
            problem.X,
            members,
            problem.features.size,
            labels,
            max_leaf=settings.max_leaf_labels,
            branching=settings.branching,
            seed=of_clusters,
            n_jobs=n_jobs,
        )
        trees.append(tree)
        levels.append(tree_levels(tree, Y, members, *costs, of_nodes))
    above = [level for tree in levels for level in tree[:-1]]
    trained = iter(train_levels(problem, above, settings, n_jobs))
    inner = [[part for _ in tree[:-1] for part in next(trained)] for tree in levels]
    leaves = [tree[-1] for tree in levels]
    if settings.hard_negatives:
        for number, tree in enumerate(trees):
            reached = _sent_rows(X, tree, list(inner[number]), settings, n_jobs)
            leaves[number] = leaves[number].with_rows(reached)
    outer = train_levels(problem, leaves, settings, n_jobs)
    parts = [part for pair in zip(inner, outer, strict=True) for half in pair for part in half]
    inner.clear()
    outer.clear()
    passes, unsolved = _effort(parts)
    return Outcome(assembled(trees, parts), passes, unsolved)


def _sent_rows(
    X: CSR, tree: LabelClusters, inner: list[Trained], settings: Settings, n_jobs: int | None
) -> CSR:
    """Which leaves a row is sent to by the nodes above them, as CSR (leaves, rows)."""
    n_leaves = tree.firsts[-1].size - 1
    if len(tree.firsts) == 1:
        return sp.csr_array((1, X.shape[0]), dtype=np.float32)
    above = LabelClusters(np.arange(n_leaves, dtype=np.uint32), tree.firsts[:-1])
    return _reached(assembled([above], inner), X, n_leaves, settings, n_jobs)


def _reached(
    forest: LabelForest, X: CSR, n_targets: int, settings: Settings, n_jobs: int | None
) -> CSR:
    """The targets that the beam finds for each row and their scores, as CSR (targets, rows)."""
    search = Search(settings.beam, settings.logistic)
    top = forest.topk(X, n_targets, min(settings.beam, n_targets), search, n_jobs)
    return sp.csr_array(top.to_csr(n_targets).T)


def _effort(parts: list[Trained]) -> tuple[int, int]:
    passes = max((int(part.passes.max()) for part in parts), default=0)
    return passes, sum(int((~part.solved).sum()) for part in parts)


def add_labels(
    forest: LabelForest,
    X: CSR,
    Y: CSR,
    columns: IndexArray,
    labels: IndexArray,
    costs: tuple[DoubleArray, DoubleArray],
    settings: Settings,
    *,
    random_state: object,
    n_jobs: int | None,
) -> Outcome:
    """Classifiers for the columns `columns` of Y, which become the labels `labels`.

    In each tree a label goes to the leaf that its samples reach best, and is trained there
    against the other rows of X that reach it.
    """
    size = sum(array.nbytes for array in forest)
    require_memory(size, "a copy of the model", "fit it again with these labels")
    problem = NodeProblem.of(X, 0, settings, n_jobs)
    members = sp.csr_array(Y.T)
    n_iter, n_unsolved = 0, 0
    for root, seed in zip(
        forest.roots, seed_sequence(random_state).spawn(forest.roots.size), strict=True
    ):
        visits = _leaf_visits(forest, int(root), X, settings, n_jobs)
        homes = np.asarray(sp.csr_array(members[columns] @ visits.T).argmax(axis=1)).ravel()
        order = np.argsort(homes, kind="stable")
        leaves, counts = np.unique(homes, return_counts=True)
        firsts = np.append(0, np.cumsum(counts)).astype(np.int64)
        chosen = columns[order]
        level = Level(
            csr_arrays(sp.csr_array(_sums(members[chosen], firsts) + visits[leaves])),
            firsts,
            csr_arrays(members),
            chosen,
            costs[0][chosen],
            costs[1][chosen],
            node_states(seed, leaves.size),
        )
        (parts,) = train_levels(problem, [level], settings, n_jobs)
        passes, unsolved = _effort(parts)
        n_iter, n_unsolved = max(n_iter, passes), n_unsolved + unsolved
        owners = np.repeat(leaves, -(-counts // WIDTH))
        forest = grown(forest, owners, in_lanes(labels[order], firsts), parts)
    return Outcome(forest, n_iter, n_unsolved)


def _leaf_visits(
    forest: LabelForest, root: int, X: CSR, settings: Settings, n_jobs: int | None
) -> CSR:
    """How well each row reaches each leaf of one tree, as CSR (nodes, rows)."""
    n_nodes = forest.is_leaf.size
    if forest.is_leaf[root]:
        indptr = np.zeros(n_nodes + 1, dtype=np.int64)
        indptr[root + 1 :] = X.shape[0]
        ones = np.ones(X.shape[0], dtype=np.float32)
        return sp.csr_array((ones, np.arange(X.shape[0]), indptr), shape=(n_nodes, X.shape[0]))
    search = forest._replace(roots=np.array([root]), is_leaf=forest.above_leaves())
    return _reached(search, X, n_nodes, settings, n_jobs)


def _sums(rows: CSR, firsts: AnyArray) -> CSR:
    """Sums of runs of rows."""
    n = int(firsts[-1])
    runs = sp.csr_array(
        (np.ones(n, dtype=np.float32), np.arange(n), firsts), shape=(firsts.size - 1, n)
    )
    return sp.csr_array(runs @ rows)
