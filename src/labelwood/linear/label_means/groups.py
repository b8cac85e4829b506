"""Labels in groups of equal size whose samples are alike.

Balanced spherical 2-means, again and again, on the labels' mean feature vectors
(as in Parabel, Prabhu et al. 2018). Decisions that are trained together want to
look at the same rows.
"""

import numpy as np

from labelwood.core.random import kernel_states
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import IndexArray
from labelwood.linear.label_means import _kernels as kernels

_TERMS = 64
_ROUNDS = 6


def group_labels(
    X: CSRArrays, members: CSRArrays, n_features: int, labels: IndexArray, size: int
) -> list[IndexArray]:
    """`labels` in groups of at most `size`, alike in frequency first and in content second.

    Row l of `members` lists the rows of X that have label l. Frequencies are alike when
    they are in the same power of four: a common label would make all labels of its group
    look at its many rows.
    """
    counts = np.diff(members.indptr)[labels]
    bands = np.log2(np.maximum(counts, 1)).astype(np.int64) // 2
    groups: list[IndexArray] = []
    for band in np.unique(bands)[::-1]:
        chosen = labels[bands == band]
        vectors = CSRArrays(*kernels.mean_vectors(X, members, chosen, n_features, _TERMS))
        order = np.arange(chosen.size)
        borders = np.append(np.arange(0, chosen.size, size), chosen.size)
        # The groups are part of the method, not of its randomness: always the same seed.
        kernels.bisect_labels(vectors, n_features, borders, _ROUNDS, kernel_states(0, 1)[0], order)
        ordered = chosen[order]
        groups += [ordered[start : start + size] for start in range(0, chosen.size, size)]
    return groups
