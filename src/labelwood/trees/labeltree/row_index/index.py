"""How rows that come in small numbers find the weights of their features in label trees."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelwood.core.memory import available_memory
from labelwood.core.second_request import BuiltOnSecondRequest, same_arrays
from labelwood.core.types import FloatArray, IndexArray, PointerArray
from labelwood.trees.labeltree.row_index._lookup_kernels import feature_directory
from labelwood.trees.labeltree.row_index._posting_kernels import BLOCKS_OF_WORD, transpose_blocks

if TYPE_CHECKING:
    from labelwood.trees.labeltree.arrays import LabelForest

_FEW_ROWS = 64  # rows for which postings are made, if they come twice
# Rows that postings serve once they are there; on EURLEX57K blocks are quicker from 1,000 on.
_MOST_ROWS = 512
_MOST_BLOCKS = 4096  # of which sixteen weights each can be counted in the 16 bits of a head
_SMALL = 2**20  # bytes of words that are no matter, whatever the weights take


class Directory(NamedTuple):
    """Where the features of a block are found by their leading bits.

    Feature f of block b, if there, is among the places from `starts[indptr[b] + (f >> shifts[b])]`
    to the next start, counted from the first of the block.
    """

    indptr: PointerArray
    shifts: NDArray[np.uint8]
    starts: IndexArray


class Postings(NamedTuple):
    """For each feature the blocks in which it has weights, and the weights, packed.

    Each feature has as many `words` as there are times 32 blocks. The lower half of a word has a
    bit for each block that has the feature; the upper half is the number of the first of their
    postings, which are numbered in the order of features and blocks. The lower half of a posting's
    head has a bit for each lane with a weight; the upper half is the place of its first weight,
    counted from `starts[f]`.
    """

    words: NDArray[np.uint64]
    starts: PointerArray
    heads: IndexArray
    weights: FloatArray


NO_DIRECTORY = Directory(
    np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.uint8), np.empty(0, dtype=np.uint32)
)
NO_POSTINGS = Postings(
    np.empty(0, dtype=np.uint64),
    np.zeros(1, dtype=np.int64),
    np.empty(0, dtype=np.uint32),
    np.empty(0, dtype=np.float32),
)


class RowIndex:
    """A directory of the blocks' features, and postings for rows in small numbers.

    Postings hold the weights a second time, in another order: about 1.4 times the bytes of
    `weights`, a fraction of a second to make. So they are made only when rows in small numbers
    come for a second time and memory suffices, and a program that asks once, or for many rows, has
    none. Neither is stored with a model.
    """

    def __init__(self, forest: "LabelForest", n_features: int) -> None:
        self.width = forest.width
        self._forest = forest
        self._n_features = n_features
        self._directory: Directory | None = None
        self._postings = BuiltOnSecondRequest(_make_postings, forest, n_features)

    def is_of(self, forest: "LabelForest") -> bool:
        """Whether it was made for these very arrays."""
        return same_arrays(self._forest, forest)

    def for_rows(self, n: int) -> tuple[Directory, Postings]:
        """What a search with `n` rows takes: one of the two, and an empty one of the other."""
        postings = self._postings.made
        if postings is None and n <= _FEW_ROWS and self._fits():
            postings = self._postings.get()
        if postings is not None and n <= _MOST_ROWS:
            return NO_DIRECTORY, postings
        if self._directory is None:
            forest = self._forest
            self._directory = Directory(
                *feature_directory(forest.block_indptr, forest.features, self._n_features)
            )
        return self._directory, NO_POSTINGS

    def _fits(self) -> bool:
        """Whether postings can be made, and their words take no more than their weights."""
        n_blocks = self._forest.block_indptr.size - 1
        n_bytes = _n_bytes_of_words(self._forest, self._n_features)
        return n_blocks <= _MOST_BLOCKS and n_bytes <= max(self._forest.weights.nbytes, _SMALL)


def _n_bytes_of_words(forest: "LabelForest", n_features: int) -> int:
    n_blocks = forest.block_indptr.size - 1
    return 8 * n_features * (n_blocks // BLOCKS_OF_WORD + 1)


def _make_postings(forest: "LabelForest", n_features: int) -> Postings | None:
    """None where they do not fit into memory: answers come without them too."""
    needed = _n_bytes_of_words(forest, n_features) + 16 * n_features
    if needed + forest.features.nbytes + forest.weights.nbytes > available_memory():
        return None
    return Postings(*transpose_blocks(forest, n_features))
