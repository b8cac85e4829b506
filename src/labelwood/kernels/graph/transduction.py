"""Labels spread over a graph: least squares with the graph Laplacian as penalty.

*Topics in Learning Theory*, lecture 8, "Graph Learning": minimize over the values f of a label at
all nodes

    Σ_{i labeled} (f_i − y_i)² + α Σ_{edges} w_ij (f_i − f_j)² + α ε Σ_i d_i f_i²

(the lecture's λ is α over the number of labeled samples, and ε = 0). With the normalized
Laplacian f_i stands for f_i/√d_i in the second term and d_i for 1 in the third. The decay ε makes
a label fade with the distance, without which a few labeled nodes are spread over everything
alike. The score of a label is f divided by the solution for y = 1: a weighted mean of the labels
of the labeled nodes, of which near ones weigh most.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from labelwood.core.parallel import blocks, parallel
from labelwood.core.sparse import make_csr
from labelwood.core.types import CSR, AnyArray, DoubleArray
from labelwood.errors import DataError
from labelwood.kernels.graph import _solve_kernels as kernels

_LEAST_MASS = 1e-200


class GraphSystem(NamedTuple):
    """The matrix of the least-squares problem: a diagonal, and −weights beside it."""

    indptr: AnyArray
    indices: AnyArray
    weights: DoubleArray
    diagonal: DoubleArray


class Transduction(NamedTuple):
    """Scores of all nodes, the mass that they are shares of, and how the solver ended.

    The mass of a node is the solution with y = 1 at every labeled node.
    """

    scores: CSR
    mass: DoubleArray
    n_iter: int
    converged: bool


def check_graph(graph: CSR) -> CSR:
    """A symmetric graph without negative weights and without loops, in double precision."""
    n = graph.shape[0]
    if graph.shape != (n, n):
        raise DataError(f"A graph must be a square matrix of weights. Got shape {graph.shape}.")
    W = sp.csr_array(graph, dtype=np.float64)
    if W.nnz and W.data.min() < 0:
        place = int(W.data.argmin())
        row = int(np.searchsorted(W.indptr, place, side="right")) - 1
        raise DataError(
            f"Weights of a graph must not be negative. Got {W.data[place]:g} between nodes {row} "
            f"and {W.indices[place]}."
        )
    difference = abs(W - W.T)
    if difference.nnz and difference.max() > 1e-6 * W.data.max():
        row, column = (int(one[0]) for one in np.nonzero(difference == difference.max()))
        raise DataError(
            f"A graph must be symmetric: weights between nodes {row} and {column} differ; give "
            "graph.maximum(graph.T) for a graph of nearest neighbors."
        )
    W = sp.csr_array(W - sp.diags_array(W.diagonal()))
    W.eliminate_zeros()
    return W


def unreachable_nodes(W: CSR, labeled: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Nodes without a labeled node in their component, and the component of every node."""
    _, component = connected_components(W, directed=False)
    reachable = np.isin(component, np.unique(component[labeled]))
    return np.flatnonzero(~reachable), component


def node_scales(W: CSR, normalized: bool) -> DoubleArray:
    """1/√degree of each node for the normalized Laplacian, else 1."""
    degrees = np.asarray(W.sum(axis=1), dtype=np.float64).ravel()
    if not normalized:
        return np.ones_like(degrees)
    return np.where(degrees > 0, 1 / np.sqrt(np.where(degrees > 0, degrees, 1)), 0.0)


def make_system(
    W: CSR, labeled: AnyArray, *, alpha: float, decay: float, normalized: bool
) -> GraphSystem:
    """J + α(L + εD), where J marks the labeled nodes."""
    scales = node_scales(W, normalized)
    degrees = np.asarray(W.sum(axis=1), dtype=np.float64).ravel() * np.square(scales)
    rows = np.repeat(np.arange(W.shape[0]), np.diff(W.indptr))
    weights = alpha * W.data * scales[rows] * scales[W.indices]
    diagonal = alpha * (1 + decay) * degrees
    diagonal[labeled] += 1
    return GraphSystem(W.indptr.astype(np.int64), W.indices.astype(np.uint32), weights, diagonal)


def solve_labels(
    system: GraphSystem,
    labeled: AnyArray,
    Y: CSR,
    *,
    tol: float,
    max_iter: int,
    least: float,
    n_jobs: int | None,
) -> Transduction:
    """Scores of all nodes for the labels of the labeled ones, sixteen labels at a time.

    Scores below `least` are not kept, so that nothing of the size nodes × labels is allocated.
    """
    m = system.diagonal.size
    columns = sp.csc_array(Y)

    def solve(right: DoubleArray) -> tuple[DoubleArray, int, bool]:
        b = np.zeros((m, kernels.WIDTH))
        b[labeled, : right.shape[1]] = right
        return kernels.conjugate_gradient(*system, b, tol, max_iter)

    ones, n_iter, converged = solve(np.ones((labeled.size, 1)))
    mass = np.maximum(ones[:, 0], 0)
    inverse = np.where(mass > 0, 1 / np.where(mass > 0, mass, 1), 0)

    def run(labels: range) -> tuple[CSR, int, bool]:
        part = np.asarray(columns[:, labels.start : labels.stop].toarray(), dtype=np.float64)
        x, steps, solved = solve(part)
        scores = x[:, : len(labels)] * inverse[:, None]
        kept = scores >= least
        indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
        values = np.minimum(scores[kept], 1).astype(np.float32)
        return make_csr(indptr, np.nonzero(kept)[1], values, scores.shape), steps, solved

    ranges = blocks(Y.shape[1], kernels.WIDTH)
    parts = parallel(run, ranges, n_jobs=n_jobs, description="labels on the graph")
    scores = [part for part, _, _ in parts]
    n_iter = max([n_iter, *(steps for _, steps, _ in parts)])
    converged = converged and all(solved for _, _, solved in parts)
    whole = sp.hstack(scores, format="csr") if scores else sp.csr_array((m, 0), dtype=np.float32)
    return Transduction(sp.csr_array(whole, dtype=np.float32), mass, int(n_iter), bool(converged))


def label_remote_nodes(
    system: GraphSystem, solved: Transduction, *, tol: float, least: float
) -> Transduction:
    """Label nodes beyond the solver's tolerance, so far from all labeled ones that it drops them.

    The decay makes the mass fall by a constant factor with each edge, and conjugate gradient
    never reaches nodes where it is below `tol`. They get their scores layer by layer, from the
    reached ones outwards, as new nodes would: by the mean of the neighbors nearer to a label,
    weighted by edge and mass.
    """
    known = solved.mass > tol
    W = make_csr(system.indptr, system.indices, system.weights, (known.size, known.size))

    def next_layer() -> AnyArray:
        return np.flatnonzero(~known & (W @ known.astype(np.float64) > 0))

    layer = next_layer()
    if layer.size == 0:
        return solved
    mass = np.where(known, solved.mass, 0.0)
    scores = sp.csr_array(sp.diags_array(known.astype(np.float64)) @ solved.scores)
    while layer.size:
        share = sp.csr_array(W[layer] @ sp.diags_array(mass))
        total = np.asarray(share.sum(axis=1), dtype=np.float64).ravel()
        mean = sp.coo_array(sp.diags_array(1 / total) @ share @ scores)
        kept = mean.data >= least
        rows, columns = mean.coords
        found = (mean.data[kept], (layer[rows[kept]], columns[kept]))
        scores = scores + sp.csr_array(found, shape=scores.shape)
        # Only ratios matter from here on, which a floor keeps from underflow.
        mass[layer] = np.maximum(total / system.diagonal[layer], _LEAST_MASS)
        known[layer] = True
        layer = next_layer()
    return solved._replace(scores=sp.csr_array(scores, dtype=np.float32), mass=mass)
