"""What a row alone reads instead of the weights of the nodes near the roots of a forest."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelwood.core.memory import available_memory
from labelwood.core.second_request import BuiltOnSecondRequest, same_arrays
from labelwood.core.types import FloatArray, IndexArray, PointerArray

if TYPE_CHECKING:
    from labelwood.trees.fastxml.arrays import Forest

FEW_ROWS = 16  # that are followed alone; more share the scattered weights of a node


class TopNodes(NamedTuple):
    """The weights of nodes that many rows meet, in the order of the features.

    Node v is number `numbers[v]` of `n_tops`, or none of them if that is −1. The entries
    `indptr[f]:indptr[f + 1]` of `tops` and `weights` are the numbers of the nodes that read feature
    f, and their weights. A row without them is expected to read `reads` weights of these nodes.
    """

    numbers: NDArray[np.int32]
    indptr: PointerArray
    tops: IndexArray
    weights: FloatArray
    n_tops: int
    reads: float


NO_TOP_NODES = TopNodes(
    np.empty(0, dtype=np.int32),
    np.zeros(1, dtype=np.int64),
    np.empty(0, dtype=np.uint32),
    np.empty(0, dtype=np.float32),
    0,
    0.0,
)


class TopNodesOf:
    """The top nodes of a forest, made when few rows come for a second time.

    They hold a part of the weights once more, on EURLEX57K an eighth of the model (27 MB).
    """

    def __init__(self, forest: "Forest", n_features: int) -> None:
        self._forest = forest
        self._tops = BuiltOnSecondRequest(_make_top_nodes, forest, n_features)

    def is_of(self, forest: "Forest") -> bool:
        """Whether it was made for these very arrays."""
        return same_arrays(self._forest, forest)

    def for_rows(self, n: int) -> TopNodes:
        """What a prediction of `n` rows takes; empty arrays where they do not pay."""
        tops = self._tops.get() if n <= FEW_ROWS else None
        return NO_TOP_NODES if tops is None else tops


def _make_top_nodes(forest: "Forest", n_features: int) -> TopNodes | None:
    """None where they do not fit into memory: answers come without them too."""
    from labelwood.trees.fastxml.top_nodes._kernels import transpose_tops

    # At most all weights and their nodes, two pointers a feature, and numbers of the nodes.
    if 2 * forest.weights.nbytes + 16 * n_features + 8 * forest.right.size > available_memory():
        return None
    return TopNodes(*transpose_tops(forest, n_features))
