"""Nearest-neighbor graphs of samples: exact cosine for sparse rows, Euclidean for tables."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from labelwood.core.parallel import parallel
from labelwood.core.sparse import CSRArrays, csr_arrays, make_csr, row_blocks, some_rows, unit_rows
from labelwood.core.types import CSR, AnyArray, DoubleArray, FloatArray, IndexArray
from labelwood.kernels.functions import Samples
from labelwood.kernels.graph import _neighbor_kernels as kernels

# Shares of the rows that a feature is in, at which the search for neighbors considers to stop
# reading postings. Tuned on the training documents of EURLEX57K and Reuters.
_LEVELS = np.array([1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4])
_ROWS_IN_BLOCK = 256  # queries of one thread at a time


class CosineIndex(NamedTuple):
    """Unit rows and their postings, with features from the rarest to the most frequent.

    Attributes
    ----------
    rank : array
        New number of each feature.
    rows, postings : CSRArrays
        The matrix by rows and by features.
    levels : array
        First features of the levels up to which postings are read before bounds are compared.
    norms : float32 array of shape (n_levels, n_rows)
        Norms of the rows' parts from each level on.
    """

    rank: AnyArray
    rows: CSRArrays
    postings: CSRArrays
    levels: IndexArray
    norms: FloatArray

    @classmethod
    def of(cls, X: CSR) -> "CosineIndex":
        """Index the rows of `X`."""
        frequency = np.bincount(X.indices, minlength=X.shape[1])
        rank = np.empty(X.shape[1], dtype=np.int64)
        rank[np.argsort(frequency, kind="stable")] = np.arange(X.shape[1])
        matrix = _renumbered(X, rank)
        rows = csr_arrays(matrix)
        # The transpose in CSR form holds the postings of each feature.
        postings = csr_arrays(sp.csr_array(matrix.T))
        shares = np.sort(frequency) / X.shape[0]
        levels = np.unique(np.searchsorted(shares, _LEVELS)).astype(np.uint32)
        return cls(rank, rows, postings, levels, kernels.suffix_norms(*rows, levels))

    def topk(
        self, X: CSR, k: int, *, same: bool = False, n_jobs: int | None = None
    ) -> tuple[AnyArray, FloatArray]:
        """Rows of greatest positive cosine to each row of `X`, −1 where there are fewer.

        With `same` the rows of `X` are the indexed ones, and none is its own neighbor.
        """
        matrix = _renumbered(X, self.rank)
        arrays = csr_arrays(matrix)

        def search(rows: slice) -> tuple[AnyArray, FloatArray]:
            return kernels.cosine_topk(
                some_rows(arrays, rows),
                self.rows,
                self.norms,
                self.levels,
                self.postings,
                k,
                rows.start if same else -1,
            )

        slices = row_blocks(matrix, _ROWS_IN_BLOCK)
        parts = parallel(search, slices, n_jobs=n_jobs, description="nearest neighbors")
        neighbors, cosines = zip(*parts, strict=True)
        return np.concatenate(neighbors), np.concatenate(cosines)


def _renumbered(X: CSR, rank: AnyArray) -> CSR:
    """Unit rows with the features of new numbers, in their order."""
    unit = unit_rows(sp.csr_array(X, dtype=np.float32))
    matrix = make_csr(unit.indptr, rank[unit.indices], unit.data, unit.shape)
    matrix.sort_indices()
    return matrix


def cosine_graph(neighbors: AnyArray, cosines: FloatArray, n: int) -> CSR:
    """Directed graph with the squared cosine of each neighbor as weight.

    The square, which favors near neighbors, was chosen on unlabeled training documents of Reuters
    and RCV1.
    """
    found = neighbors >= 0
    indptr = np.concatenate([[0], np.cumsum(found.sum(axis=1))])
    weights = np.square(np.minimum(cosines[found].astype(np.float64), 1.0))
    graph = make_csr(indptr, neighbors[found], weights, (neighbors.shape[0], n))
    graph.sort_indices()
    return graph


def make_index(metric: str, X: Samples, n_jobs: int | None) -> Any:
    """Rows of `X` to be searched: a `CosineIndex`, or scikit-learn's for distances."""
    from sklearn.neighbors import NearestNeighbors

    return CosineIndex.of(X) if metric == "cosine" else NearestNeighbors(n_jobs=n_jobs).fit(X)


def euclidean_neighbors(index: Any, new: Samples | None, k: int) -> tuple[AnyArray, DoubleArray]:
    """The k nearest rows of the index to each row of `new`, and their distances.

    None stands for the rows of the index, none of which is its own neighbor.
    """
    distances, neighbors = index.kneighbors(new, n_neighbors=k)
    return neighbors, np.asarray(distances, dtype=np.float64)


def euclidean_graph(
    neighbors: AnyArray, distances: DoubleArray, own: DoubleArray, others: DoubleArray
) -> CSR:
    """Directed graph with weights exp(−d²/(s_i s_j)), s the distance of the farthest neighbor.

    Local scales, after Zelnik-Manor & Perona (2004), need no bandwidth to be chosen.
    """
    scales = np.maximum(own[:, None] * others[neighbors], 1e-300)
    weights = np.exp(-np.minimum(np.square(distances) / scales, 50.0))
    n_rows, k = neighbors.shape
    indptr = np.arange(n_rows + 1) * k
    graph = make_csr(indptr, neighbors.ravel(), weights.ravel(), (n_rows, others.size))
    graph.sort_indices()
    return graph
