"""How rows that come in small numbers find the weights of their features in label trees.

`index` decides which of two ways a search takes: `_lookup_kernels` look features up in single
blocks, `_posting_kernels` read the weights of a feature in the order of the features.
"""

from labelwood.trees.labeltree.row_index.index import (
    NO_DIRECTORY,
    NO_POSTINGS,
    Directory,
    Postings,
    RowIndex,
)

__all__ = ["NO_DIRECTORY", "NO_POSTINGS", "Directory", "Postings", "RowIndex"]
