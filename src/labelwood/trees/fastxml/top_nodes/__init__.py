"""What a row alone reads instead of the weights of the nodes near the roots of a forest."""

from labelwood.trees.fastxml.top_nodes.record import (
    FEW_ROWS,
    NO_TOP_NODES,
    TopNodes,
    TopNodesOf,
)

__all__ = ["FEW_ROWS", "NO_TOP_NODES", "TopNodes", "TopNodesOf"]
