"""Weights of the nodes, collected into blocks for prediction."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelwood.core.lanes import WIDTH
from labelwood.core.types import DoubleArray, FloatArray, IndexArray
from labelwood.linear.onevsrest import Postings
from labelwood.taxonomy.hierarchy._row_kernels import SUPPORT, add_all
from labelwood.taxonomy.hierarchy.nodes import Nodes


class NodeWeights(NamedTuple):
    """The non-zero weights of one node."""

    node: int
    features: IndexArray
    values: FloatArray

    @classmethod
    def of(
        cls, node: int, weights: DoubleArray, features: IndexArray | None = None
    ) -> "NodeWeights":
        """From a weight for each of `features`, or of all."""
        found = np.flatnonzero(weights)
        named = found.astype(np.uint32) if features is None else features[found]
        return cls(node, named, weights[found].astype(np.float32))


def weights_of_support(
    nodes: Nodes, trained: NDArray[np.bool_], n_features: int
) -> Iterator[NodeWeights]:
    """The weights of the trained nodes, summed over their support in its order."""
    for node in np.flatnonzero(trained).tolist():
        if nodes.node(node).is_primal:
            yield NodeWeights.of(node, nodes.alpha[node])
            continue
        dense = np.zeros(n_features)
        n = nodes.counts[node, SUPPORT]
        add_all(nodes.store, nodes.rows[node], nodes.alpha[node], n, dense)
        yield NodeWeights.of(node, dense)


def as_postings(weights: Iterable[NodeWeights], n_features: int) -> Postings:
    """Blocks of sixteen nodes, in the order in which they come."""
    parts = []
    remaining = iter(weights)
    while block := list(islice(remaining, WIDTH)):
        labels = np.array([one.node for one in block], dtype=np.uint32)
        features = np.unique(np.concatenate([one.features for one in block]))
        lanes = np.zeros((features.size, WIDTH), dtype=np.float32)
        for lane, one in enumerate(block):
            lanes[np.searchsorted(features, one.features), lane] = one.values
        parts.append((labels, features, lanes.ravel()))
    return Postings.of(parts, n_features)
