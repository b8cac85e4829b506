"""The association of terms with labels."""

import numpy as np

from labelwood.core.allocation import empty, zeros
from labelwood.core.kernel import kernel
from labelwood.core.types import DoubleArray, IndexArray, PointerArray


@kernel
def chi_squared(
    ptr: PointerArray,
    documents: IndexArray,
    label_ptr: PointerArray,
    labels: IndexArray,
    label_counts: PointerArray,
) -> DoubleArray:
    """The largest χ² statistic of each term's presence with a label that it occurs with.

    `documents[ptr[i]:ptr[i + 1]]` are those with term i. With a documents that have both, b
    the term alone, c the label alone and d neither, χ² = n (ad − bc)² / ((a + b)(c + d)(a +
    c)(b + d)).
    """
    n = np.float64(label_ptr.size - 1)
    together = zeros(label_counts.size, np.int64)
    touched = empty(label_counts.size, np.int64)
    scores = zeros(ptr.size - 1, np.float64)
    for term in range(ptr.size - 1):
        n_touched = 0
        for p in range(ptr[term], ptr[term + 1]):
            document = documents[p]
            for k in range(label_ptr[document], label_ptr[document + np.uint32(1)]):
                label = labels[k]
                # Labels met with this term are listed, so that their counters can be cleared at the
                # cost of the labels met and not of all labels.
                if together[label] == 0:
                    touched[n_touched] = label
                    n_touched += 1
                together[label] += 1
        with_term = np.float64(ptr[term + 1] - ptr[term])
        for t in range(n_touched):
            label = touched[t]
            a = np.float64(together[label])
            together[label] = 0
            with_label = np.float64(label_counts[label])
            b, c = with_term - a, with_label - a
            d = n - a - b - c
            below = with_term * (c + d) * with_label * (b + d)
            # A term or label that all documents have, or none, carries no information: its χ² is 0
            # / 0.
            if below > 0:
                scores[term] = max(scores[term], n * (a * d - b * c) ** 2 / below)
    return scores
