"""The best of the labels that were ranked again."""

import numpy as np
from numpy.typing import NDArray

from labelwood.core._kernels import insert_label
from labelwood.core.kernel import kernel
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import FloatArray


@kernel
def topk_of_scores(scores: CSRArrays, k: int) -> tuple[NDArray[np.int32], FloatArray]:
    """The best `k` entries of each row, best first, −1 and −∞ where none is left.

    Equal scores go to the smaller label first.
    """
    n = scores.indptr.size - 1
    top_labels = np.full((n, k), np.int32(-1))
    top_scores = np.full((n, k), np.float32(-np.inf))
    for i in range(n):
        size = 0
        for p in range(np.uint64(scores.indptr[i]), np.uint64(scores.indptr[i + 1])):
            if size < k or scores.data[p] >= top_scores[i, k - 1]:
                label = np.int32(scores.indices[p])
                size = insert_label(label, scores.data[p], top_labels[i], top_scores[i], size)
    return top_labels, top_scores
