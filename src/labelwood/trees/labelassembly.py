"""Label trees put together from their trained parts, and grown by further labels."""

from typing import Any

import numpy as np

from labelwood.core.lanes import WIDTH
from labelwood.core.types import AnyArray, IndexArray, PointerArray
from labelwood.trees.labelclusters import LabelClusters
from labelwood.trees.labelforest import LabelForest
from labelwood.trees.labelnodes import Trained


def assembled(trees: list[LabelClusters], parts: list[Trained]) -> LabelForest:
    """The forest of some trees; the parts are those of all levels of each tree, in order.

    `parts` is emptied on the way, so that hardly anything is held twice.
    """
    roots, blocks, is_leaf, children = [], [], [], []
    n_nodes = 0
    for tree in trees:
        roots.append(n_nodes)
        for depth, firsts in enumerate(tree.firsts):
            leaves = depth == len(tree.firsts) - 1
            following = n_nodes + firsts.size - 1
            targets = tree.order if leaves else np.arange(firsts[-1]) + following
            blocks.append(-(-np.diff(firsts) // WIDTH))
            is_leaf.append(np.full(firsts.size - 1, leaves))
            children.append(in_lanes(targets, firsts))
            n_nodes = following
    return LabelForest(
        roots=np.array(roots, dtype=np.int64),
        node_blocks=_pointers(_drained(blocks, np.int64)),
        is_leaf=_drained(is_leaf, np.bool_),
        children=_drained(children, np.int32),
        **_weights(parts),
    )


def _weights(parts: list[Trained]) -> dict[str, AnyArray]:
    columns = {name: [getattr(part, name) for part in parts] for name in Trained._fields[:6]}
    parts.clear()
    return {
        "intercepts": _drained(columns["intercepts"], np.float32),
        "block_indptr": _pointers(_drained(columns["block_sizes"], np.int64)),
        "features": _drained(columns["features"], np.uint32),
        "entry_indptr": _pointers(_drained(columns["sizes"], np.uint8)),
        "lanes": _drained(columns["lanes"], np.uint8),
        "weights": _drained(columns["weights"], np.float32),
    }


def grown(
    forest: LabelForest, leaves: IndexArray, children: AnyArray, parts: list[Trained]
) -> LabelForest:
    """The forest with new blocks, block i at the end of the node `leaves[i]`.

    `children` and `parts` are those of the new blocks.
    """
    new = LabelForest(forest.roots, forest.node_blocks, forest.is_leaf, children, **_weights(parts))
    counts = np.diff(forest.node_blocks)
    owners = np.concatenate([np.repeat(np.arange(counts.size), counts), leaves])
    order = np.argsort(owners, kind="stable")
    rows, block_indptr = _reordered(forest.block_indptr, new.block_indptr, order)
    entries, entry_indptr = _reordered(forest.entry_indptr, new.entry_indptr, rows)

    def lanes(name: str) -> AnyArray:
        both = np.concatenate([getattr(forest, name), getattr(new, name)])
        return both.reshape(-1, WIDTH)[order].ravel()

    return forest._replace(
        node_blocks=_pointers(counts + np.bincount(leaves, minlength=counts.size)),
        children=lanes("children"),
        intercepts=lanes("intercepts"),
        block_indptr=block_indptr,
        features=np.concatenate([forest.features, new.features])[rows],
        entry_indptr=entry_indptr,
        lanes=np.concatenate([forest.lanes, new.lanes])[entries],
        weights=np.concatenate([forest.weights, new.weights])[entries],
    )


def _reordered(
    first: PointerArray, second: PointerArray, order: AnyArray
) -> tuple[AnyArray, PointerArray]:
    """Which things stand where when the parts of two lists of pointers change their order."""
    starts = np.concatenate([first[:-1], second[:-1] + first[-1]])[order]
    sizes = np.concatenate([np.diff(first), np.diff(second)])[order]
    pointers = _pointers(sizes)
    return np.arange(pointers[-1]) + np.repeat(starts - pointers[:-1], sizes), pointers


def in_lanes(targets: AnyArray, firsts: PointerArray) -> AnyArray:
    """The children of each node in blocks of sixteen, the last block filled up with −1."""
    counts = np.diff(firsts)
    starts = np.append(0, np.cumsum(-(-counts // WIDTH)))
    lanes = np.full(starts[-1] * WIDTH, -1, dtype=np.int32)
    within = np.arange(firsts[-1]) - np.repeat(firsts[:-1], counts)
    lanes[np.repeat(starts[:-1] * WIDTH, counts) + within] = targets
    return lanes


def _pointers(sizes: AnyArray) -> PointerArray:
    pointers = np.zeros(sizes.size + 1, dtype=np.int64)
    np.cumsum(sizes, out=pointers[1:])
    return pointers


def _drained(parts: list[AnyArray], dtype: Any) -> AnyArray:
    """The parts in one array; the list is emptied as it fills."""
    whole = np.empty(sum(part.size for part in parts), dtype=dtype)
    start = 0
    parts.reverse()
    while parts:
        part = parts.pop()
        whole[start : start + part.size] = part
        start += part.size
    return whole
