"""Labels in a tree of clusters whose samples are alike.

Balanced spherical k-means on the labels' mean feature vectors, from the root down: a node
is halved again and again at the borders of its children. All leaves have the same depth
and, but for one label, the same size.
"""

from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labelwood.core.parallel import parallel
from labelwood.core.sparse import CSRArrays, csr_arrays
from labelwood.core.types import CSR, AnyArray, IndexArray, PointerArray
from labelwood.linear.label_means import _kernels as kernels

TERMS = 256  # of a label's mean vector: more cost time and change little
_ROUNDS = 8


class LabelClusters(NamedTuple):
    """Levels of nodes, the root's first and that of the leaves last.

    The children of node j of level h are `firsts[h][j]:firsts[h][j + 1]` of the next level;
    those of a leaf are places in `order`, which lists the labels.
    """

    order: IndexArray
    firsts: list[PointerArray]

    @property
    def starts(self) -> list[PointerArray]:
        """Where the labels of each node begin in `order`, a level at a time."""
        starts = [self.firsts[-1]]
        for firsts in self.firsts[-2::-1]:
            starts.insert(0, starts[0][firsts])
        return starts


def cluster_labels(
    X: CSRArrays,
    members: CSRArrays,
    n_features: int,
    labels: IndexArray,
    *,
    max_leaf: int,
    branching: int,
    seed: np.random.SeedSequence,
    n_jobs: int | None,
) -> LabelClusters:
    """Leaves of at most `max_leaf` labels under nodes of at most `branching` children.

    Row l of `members` lists the rows of X that have label l.
    """
    vectors = CSRArrays(*kernels.mean_vectors(X, members, labels, n_features, TERMS))
    places = np.arange(labels.size)
    tree = LabelClusters(labels, _even_levels(labels.size, max_leaf, branching))
    starts = tree.starts
    for depth, firsts in enumerate(tree.firsts[:-1]):
        streams = seed.spawn(firsts.size - 1)
        tasks = [
            (
                places[starts[depth][node] : starts[depth][node + 1]],
                starts[depth + 1][firsts[node] : firsts[node + 1] + 1] - starts[depth][node],
                streams[node].generate_state(4, np.uint64),
            )
            for node in range(firsts.size - 1)
        ]
        divided = parallel(
            partial(_divided, vectors, n_features),
            tasks,
            n_jobs=n_jobs,
            description="clustering labels",
            weights=[task[0].size for task in tasks],
        )
        places = np.concatenate(divided)
    return tree._replace(order=labels[places])


def _divided(
    vectors: CSRArrays,
    n_features: int,
    task: tuple[NDArray[np.int64], NDArray[np.int64], AnyArray],
) -> NDArray[np.int64]:
    """The labels of a node, in the order of its children."""
    places, borders, state = task
    order = places.copy()
    kernels.bisect_labels(vectors, n_features, borders, _ROUNDS, state, order)
    return order


def _even_levels(n_labels: int, max_leaf: int, branching: int) -> list[PointerArray]:
    """As few nodes as possible on each level, the children shared out evenly."""
    sizes = [n_labels, -(-n_labels // max_leaf)]
    while sizes[-1] > 1:
        sizes.append(-(-sizes[-1] // branching))
    sizes.reverse()
    return [
        np.arange(above + 1, dtype=np.int64) * below // above for above, below in pairwise(sizes)
    ]


def rows_of_nodes(Y: CSR, tree: LabelClusters) -> list[CSRArrays]:
    """For each level the rows that have a label under each node, in order.

    The root has all rows: those without any label are examples of what no child has.
    """
    n, n_labels = Y.shape
    group = np.zeros(n_labels, dtype=np.int32)
    levels: list[CSRArrays] = []
    indices, indptr = Y.indices, Y.indptr
    for level, firsts in reversed(list(enumerate(tree.firsts))):
        numbers = np.repeat(np.arange(firsts.size - 1, dtype=np.int32), np.diff(firsts))
        if level == len(tree.firsts) - 1:
            group[tree.order] = numbers
        else:
            group = numbers
        shape = (n, firsts.size - 1)
        data = np.ones(indices.size, dtype=np.float32)
        assigned = sp.csr_array((data, group[indices], indptr), shape=shape, copy=True)
        assigned.sum_duplicates()
        indices, indptr = assigned.indices, assigned.indptr
        levels.insert(0, csr_arrays(sp.csr_array(assigned.T)))
    everything = np.arange(n, dtype=np.uint32)
    levels[0] = CSRArrays(np.array([0, n]), everything, np.ones(n, dtype=np.float32))
    return levels
