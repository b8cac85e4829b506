"""Trees grown in threads, each from its own random stream."""

import math
from typing import NamedTuple

import joblib
import numpy as np
from numpy.typing import NDArray

from labelwood.core.memory import require_memory
from labelwood.core.parallel import blocks, parallel
from labelwood.core.sparse import CSRArrays, csr_arrays, row_squares
from labelwood.core.types import CSR, DoubleArray, FloatArray, IndexArray, PointerArray
from labelwood.errors import DataError
from labelwood.trees.fastxml import _growth_kernels as kernels
from labelwood.trees.fastxml.arrays import Forest

_MAX_EXPONENT = 100  # 2**100 and 2**-100 are float32 numbers


class GrownTrees(NamedTuple):
    """Trees, their heights, and the mean number of decisions of a training sample in each."""

    forest: Forest
    heights: PointerArray
    path_lengths: DoubleArray


class _Features(NamedTuple):
    """The matrix that trees are grown on: columns renumbered, values divided by `scale`."""

    X: CSRArrays
    columns: IndexArray
    scale: float
    length: float


def grow_trees(
    X: CSR,
    Y: CSR,
    weights: FloatArray,
    settings: kernels.Settings,
    states: list[NDArray[np.uint64]],
    n_jobs: int | None,
    *,
    gain: str = "ndcg",
) -> GrownTrees:
    """One tree for each of `states`; `weights` (> 0) belong to the entries of Y.

    A label gains a sample its weight, with `gain` "ndcg" over the best DCG of the sample's labels.

    `C` and `bias` are those for rows of unit length; rows of another median length behave as if
    all of them had been divided by it.
    """
    features = _prepare(X)
    length = features.length
    settings = settings._replace(C=settings.C / length, bias=settings.bias * length)
    samples = _samples(features.X, Y, weights, normalize=gain == "ndcg")
    n_threads = min(joblib.effective_n_jobs(n_jobs), len(states))
    _require_work_memory(samples, n_threads)

    def grow(some: list[NDArray[np.uint64]]) -> list[kernels.Tree]:
        workspace = _allocate_workspace(samples, features.columns.size)
        return [kernels.grow_tree(samples, settings, workspace, one.copy()) for one in some]

    first = parallel(grow, [[state] for state in states[:n_threads]], n_jobs=n_jobs)
    _require_model_memory(first, len(states))
    others = states[n_threads:]
    # Several trees for each task, so that a workspace serves more than one.
    size = max(1, len(others) // (4 * n_threads))
    groups = [others[part.start : part.stop] for part in blocks(len(others), size)]
    sizes = [len(group) for group in groups]
    rest = parallel(grow, groups, n_jobs=n_jobs, description="growing trees", weights=sizes)
    trees = [tree for group in first + rest for tree in group]
    return GrownTrees(
        Forest.joined([_original(tree, features) for tree in trees]),
        np.array([tree.height for tree in trees], dtype=np.int64),
        np.array([tree.path for tree in trees], dtype=np.float64),
    )


def _prepare(X: CSR) -> _Features:
    """The most frequent columns first, for cache locality, and row lengths near one."""
    counts = np.bincount(X.indices, minlength=X.shape[1])
    columns = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)].astype(np.uint32)
    position = np.zeros(X.shape[1], dtype=np.int32)
    position[columns] = np.arange(columns.size, dtype=np.int32)
    lengths = np.sqrt(row_squares(X))
    # The median is robust: one long row must not make all others short.
    length = float(np.median(lengths[lengths > 0])) if X.nnz else 1.0
    # Dividing by a power of two is exact, so that rows score in prediction as in training.
    scale = 2.0 ** min(max(round(math.log2(length)), -_MAX_EXPONENT), _MAX_EXPONENT)
    matrix = type(X)((X.data / np.float32(scale), position[X.indices], X.indptr), shape=X.shape)
    matrix.sort_indices()
    return _Features(csr_arrays(matrix), columns, scale, length / scale)


def _samples(X: CSRArrays, Y: CSR, weights: FloatArray, *, normalize: bool) -> kernels.Samples:
    discounts = 1 / np.log2(2 + np.arange(Y.shape[1] + 1))
    counts = np.diff(Y.indptr)
    best_dcg = np.ones(discounts.size + 1)  # of a sample with so many labels
    if normalize:
        best_dcg[1:] = np.cumsum(discounts)
    indptr, labels, _ = csr_arrays(Y)
    # Kernels are compiled for arrays that can be written to, whatever was given.
    return kernels.Samples(
        X,
        np.require(indptr, requirements="W"),
        np.require(labels, requirements="W"),
        np.array(weights, dtype=np.float32),
        (weights / np.repeat(best_dcg[counts], counts)).astype(np.float32),
        discounts.astype(np.float32),
    )


def _allocate_workspace(samples: kernels.Samples, n_features: int) -> kernels.Workspace:
    n = samples.X.indptr.size - 1
    size = samples.X.indices.size + n + 1
    return kernels.Workspace(
        _empty_like(samples.X),
        _empty_like(samples.X),
        np.empty(size, dtype=np.uint32),
        np.empty(size, dtype=np.float32),
        np.zeros(2 * n_features, dtype=np.uint32),
        np.zeros(samples.discounts.size, dtype=np.uint32),
    )


def _empty_like(X: CSRArrays) -> CSRArrays:
    return CSRArrays(np.empty_like(X.indptr), np.empty_like(X.indices), np.empty_like(X.data))


def _require_work_memory(samples: kernels.Samples, n_threads: int) -> None:
    # Each thread holds the rows twice, the columns and labels of one node, and a few numbers
    # for each row.
    entries, n, n_labels = samples.X.indices.size, samples.X.indptr.size, samples.labels.size
    if entries + n >= 2**32:
        raise DataError(f"X has {entries:,} non-zeros; trees are grown on fewer than 2³².")
    needed = n_threads * (24 * entries + 16 * n_labels + 120 * n)
    require_memory(needed, f"growing trees on {n_threads} threads", "lower n_jobs")


def _require_model_memory(some: list[list[kernels.Tree]], n_trees: int) -> None:
    """Estimate the model from the trees grown first."""
    sizes = [sum(array.nbytes for array in tree[:8]) for group in some for tree in group]
    # All trees are held twice while they are concatenated.
    needed = int(2.2 * sum(sizes) / len(sizes) * n_trees)
    require_memory(needed, f"a forest of {n_trees} trees", "lower n_trees or C")


def _original(tree: kernels.Tree, features: _Features) -> Forest:
    """The tree with the columns and the scale of the matrix as it was given."""
    return Forest(
        np.zeros(1, dtype=np.int64),
        tree.right,
        tree.intercepts,
        tree.weight_indptr,
        features.columns[tree.features],
        tree.weights / np.float32(features.scale),
        tree.leaf_indptr,
        tree.labels,
        tree.averages,
    )
