"""Label trees put together from their trained parts, and grown by further labels."""

from typing import Any

import numpy as np

from labelwood.core.lanes import WIDTH
from labelwood.core.types import AnyArray, IndexArray, PointerArray
from labelwood.trees.labeltree.arrays import LabelForest
from labelwood.trees.labeltree.clustering import LabelClusters
from labelwood.trees.labeltree.training import Trained


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

    `leaves` rise; `children` and `parts` are those of the new blocks.
    """
    new = _weights(parts)
    block_cuts = forest.node_blocks[leaves + 1]
    row_cuts = forest.block_indptr[block_cuts]
    entry_cuts = forest.entry_indptr[row_cuts]
    blocks, rows = np.arange(leaves.size + 1), new["block_indptr"]
    entries = new["entry_indptr"][rows]
    block_sizes = _inserted(np.diff(forest.block_indptr), np.diff(rows), block_cuts, blocks)
    old_sizes, new_sizes = np.diff(forest.entry_indptr), np.diff(new["entry_indptr"])
    lane_cuts, lanes = block_cuts * WIDTH, blocks * WIDTH
    counts = np.bincount(leaves, minlength=forest.is_leaf.size)
    return forest._replace(
        node_blocks=_pointers(np.diff(forest.node_blocks) + counts),
        children=_inserted(forest.children, children, lane_cuts, lanes),
        intercepts=_inserted(forest.intercepts, new["intercepts"], lane_cuts, lanes),
        block_indptr=_pointers(block_sizes),
        features=_inserted(forest.features, new["features"], row_cuts, rows),
        entry_indptr=_pointers(_inserted(old_sizes, new_sizes, row_cuts, rows)),
        lanes=_inserted(forest.lanes, new["lanes"], entry_cuts, entries),
        weights=_inserted(forest.weights, new["weights"], entry_cuts, entries),
    )


def _inserted(old: AnyArray, new: AnyArray, cuts: AnyArray, pieces: AnyArray) -> AnyArray:
    """`old` with the piece `new[pieces[i]:pieces[i + 1]]` put in at each of `cuts`."""
    borders = np.append(cuts, old.size)
    parts, start = [], 0
    for i, end in enumerate(borders):
        parts.append(old[start:end])
        if i < cuts.size:
            parts.append(new[pieces[i] : pieces[i + 1]])
        start = end
    return np.concatenate(parts)


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
