"""Scoring single rows by the postings of their features.

A row alone reads the weights of its features in a few blocks. In the order of the blocks each of
them lies on a page of its own; in the order of the features those of one feature lie together, and
a word of bits says where among them a block's are.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from labelwood.core.kernel import kernel
from labelwood.core.lanes import WIDTH, count_bits, load, load_packed, splat, store
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import FloatArray, IndexArray, PointerArray

if TYPE_CHECKING:
    from labelwood.trees.labeltree.arrays import LabelForest
    from labelwood.trees.labeltree.row_index.index import Postings

BLOCKS_OF_WORD = 32  # bits of a word below the number of its first posting
_LANES = np.uint64(WIDTH)
_ONE = np.uint64(1)
_BLOCK_BITS = np.uint64(5)
_LAST_BLOCK = np.uint64(BLOCKS_OF_WORD - 1)
_NUMBER = np.uint64(BLOCKS_OF_WORD)  # where in a word the number of a posting begins
_PRESENT = np.uint64(2**BLOCKS_OF_WORD - 1)
_HEAD = np.uint32(WIDTH)  # where in a head the place of the weights begins


@kernel
def _lane_mask(forest: "LabelForest", row: int) -> np.uint64:
    """The lanes that have a weight, as bits."""
    mask = np.uint64(0)
    for p in range(forest.entry_indptr[row], forest.entry_indptr[row + 1]):
        mask |= _ONE << np.uint64(forest.lanes[p])
    return mask


@kernel
def _mark_postings(
    forest: "LabelForest", n_words: int, words: NDArray[np.uint64], starts: PointerArray
) -> None:
    """Set the bits of the blocks that have a feature, and count the weights of each feature."""
    for block in range(forest.block_indptr.size - 1):
        bit = _ONE << (np.uint64(block) & _LAST_BLOCK)
        for row in range(forest.block_indptr[block], forest.block_indptr[block + 1]):
            feature = int(forest.features[row])
            words[feature * n_words + block // BLOCKS_OF_WORD] |= bit
            starts[feature + 1] += np.int64(count_bits(_lane_mask(forest, row)))
    # Words are in the order of features and blocks, so the postings are numbered as they are met.
    number = np.uint64(0)
    for w in range(words.size):
        size = count_bits(words[w])
        words[w] |= number << _NUMBER
        number += size
    for feature in range(starts.size - 1):
        starts[feature + 1] += starts[feature]


@kernel
def transpose_blocks(
    forest: "LabelForest", n_features: int
) -> tuple[NDArray[np.uint64], PointerArray, IndexArray, FloatArray]:
    """The arrays of `Postings`: the weights of the forest in the order of the features."""
    n_words = (forest.block_indptr.size - 2) // BLOCKS_OF_WORD + 1
    words = np.zeros(n_features * n_words, dtype=np.uint64)
    starts = np.zeros(n_features + 1, dtype=np.int64)
    _mark_postings(forest, n_words, words, starts)
    heads = np.empty(forest.features.size, dtype=np.uint32)
    weights = np.empty(starts[n_features], dtype=np.float32)
    ends, one_row = starts.copy(), np.empty(WIDTH, dtype=np.float32)
    for block in range(forest.block_indptr.size - 1):
        bit = np.uint64(block) & _LAST_BLOCK
        for row in range(forest.block_indptr[block], forest.block_indptr[block + 1]):
            feature, mask = int(forest.features[row]), _lane_mask(forest, row)
            q = _posting(words[feature * n_words + block // BLOCKS_OF_WORD], bit)
            # Blocks come in order, so the weights of a feature are appended in theirs.
            heads[q] = np.uint32(ends[feature] - starts[feature]) << _HEAD | np.uint32(mask)
            # Lanes need not be in order in a block, and must be where they are unpacked.
            for p in range(forest.entry_indptr[row], forest.entry_indptr[row + 1]):
                one_row[forest.lanes[p]] = forest.weights[p]
            for lane in range(WIDTH):
                if mask >> np.uint64(lane) & _ONE:
                    weights[ends[feature]] = one_row[lane]
                    ends[feature] += 1
    return words, starts, heads, weights


@kernel
def _posting(word: np.uint64, bit: np.uint64) -> np.uint64:
    """The number of the posting of a block: that of the word's first one, and the bits between."""
    return (word >> _NUMBER) + count_bits(word & ((_ONE << bit) - _ONE))


@kernel
def score_blocks(
    X: CSRArrays,
    i: int,
    postings: "Postings",
    blocks: NDArray[np.uint64],
    places: NDArray[np.uint64],
    scores: FloatArray,
) -> None:
    """Products of row i with the sixteen decisions of each of `blocks`, to its place in `scores`.

    The features of the row are added in their order, as where many rows are scored together.
    """
    n_words = np.uint64(postings.words.size // (postings.starts.size - 1))
    for k in range(blocks.size):
        store(scores, places[k], splat(np.float32(0)))
    for p in range(np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])):
        feature, x = np.uint64(X.indices[p]), splat(X.data[p])
        first, start = feature * n_words, np.uint64(postings.starts[feature])
        for k in range(blocks.size):
            word = postings.words[first + (blocks[k] >> _BLOCK_BITS)]
            bit = blocks[k] & _LAST_BLOCK
            # Nine of ten bits are set, so the branch is predicted, and the cache misses of many
            # blocks overlap.
            if word >> bit & _ONE:
                head = postings.heads[_posting(word, bit)]
                offset = start + np.uint64(head >> _HEAD)
                weights = load_packed(postings.weights, offset, np.uint16(head))
                store(scores, places[k], load(scores, places[k]) + x * weights)
