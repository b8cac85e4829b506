"""Binary trees as flat arrays: each node is followed by its positive branch, then its negative."""

import numpy as np

from labelwood.core.types import PointerArray


def is_preorder(right: PointerArray, roots: PointerArray) -> bool:
    """Whether the nodes are whole binary trees in preorder, one after the other from `roots`.

    `right` holds the negative child of each node, −1 for a leaf. In preorder, going up by one at a
    node with children and down by one at a leaf, a tree ends where the level first falls below
    that of its start, and the negative child of a node is the next one on its own level.

    Examples
    --------
    >>> is_preorder(np.array([4, 3, -1, -1, -1]), np.array([0]))
    True
    >>> is_preorder(np.array([3, -1, -1, -1]), np.array([0]))  # no path leads to node 2
    False
    """
    inner = np.flatnonzero(right >= 0)
    steps = np.full(right.size, -1)
    steps[inner] = 1
    level = np.concatenate([[0], np.cumsum(steps)])
    lowest = np.minimum.accumulate(level)
    starts = np.flatnonzero(np.diff(lowest, prepend=1))
    if not np.array_equal(starts, np.append(roots, right.size)):
        return False
    order = np.argsort(level, kind="stable")
    next_on_level = np.empty(level.size, dtype=np.int64)
    next_on_level[order] = np.roll(order, -1)
    return np.array_equal(right[inner], next_on_level[inner])


def depths_agree(right: PointerArray, roots: PointerArray, depths: PointerArray) -> bool:
    """Whether the roots of such trees have depth 0, and every child one more than its parent."""
    inner = np.flatnonzero(right >= 0)
    below = depths[inner] + 1
    return not (
        np.any(depths[roots])
        or np.any(depths[inner + 1] != below)
        or np.any(depths[right[inner]] != below)
    )
