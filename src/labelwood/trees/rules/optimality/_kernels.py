"""Counts of samples that satisfy two tests at once, by bit sets."""

import numpy as np
from numpy.typing import NDArray

from labelwood.core.allocation import zeros
from labelwood.core.kernel import kernel
from labelwood.core.types import PointerArray


@kernel
def _popcount(word: np.uint64) -> int:
    """The number of set bits of a word, by adding up neighboring fields in parallel."""
    # Neighboring bits are summed by twos, fours and eights; the product adds the eight bytes up in
    # the highest one. Numba has no popcount of its own.
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel
def pair_counts(
    tests: NDArray[np.uint64], target: NDArray[np.uint64]
) -> tuple[PointerArray, PointerArray]:
    """For every pair of tests the samples that satisfy both, and those of them with target 1."""
    m, n_words = tests.shape
    counts = zeros((m, m), np.int64)
    positives = zeros((m, m), np.int64)
    for i in range(m):
        for j in range(i, m):
            n, t = 0, 0
            for k in range(n_words):
                # Sixty-four samples at a time: a bit is set where a sample satisfies both tests.
                both = tests[i, k] & tests[j, k]
                n += _popcount(both)
                t += _popcount(both & target[k])
            counts[i, j] = counts[j, i] = n
            positives[i, j] = positives[j, i] = t
    return counts, positives
