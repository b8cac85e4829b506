"""Weights of nodes side by side, for prediction."""

from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

import numpy as np

from labelwood.core.lanes import WIDTH
from labelwood.core.types import DoubleArray, FloatArray, IndexArray
from labelwood.linear.onevsrest import Postings


class NodeWeights(NamedTuple):
    """The weights of one node that are not zero."""

    node: int
    features: IndexArray
    values: FloatArray

    @classmethod
    def of(
        cls, node: int, weights: DoubleArray, features: IndexArray | None = None
    ) -> "NodeWeights":
        """From a weight for each of `features`, or of all."""
        places = np.flatnonzero(weights)
        named = places.astype(np.uint32) if features is None else features[places]
        return cls(node, named, weights[places].astype(np.float32))


def side_by_side(weights: Iterable[NodeWeights], n_features: int) -> Postings:
    """Blocks of sixteen nodes, in the order in which they come."""
    parts = []
    coming = iter(weights)
    while block := list(islice(coming, WIDTH)):
        labels = np.array([one.node for one in block], dtype=np.uint32)
        features = np.unique(np.concatenate([one.features for one in block]))
        lanes = np.zeros((features.size, WIDTH), dtype=np.float32)
        for lane, one in enumerate(block):
            lanes[np.searchsorted(features, one.features), lane] = one.values
        parts.append((labels, features, lanes.ravel()))
    return Postings.of(parts, n_features)
