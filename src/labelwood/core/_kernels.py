"""Kernels that several algorithms share: random numbers, and the k best labels.

The generator is xoshiro256++ on an explicit state array (Blackman and Vigna 2021).
"""

from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

from labelwood.core.kernel import exact_kernel, kernel
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import FloatArray


@exact_kernel
def _rotate(x: np.uint64, k: int) -> np.uint64:
    return (x << np.uint64(k)) | (x >> np.uint64(64 - k))


@exact_kernel
def next_uint64(state: NDArray[np.uint64]) -> np.uint64:
    """The next 64 random bits; `state` (four words) moves on."""
    # This is the output function of xoshiro256++; the lines below are its linear state transition.
    result = _rotate(state[0] + state[3], 23) + state[0]
    t = state[1] << np.uint64(17)
    state[2] ^= state[0]
    state[3] ^= state[1]
    state[1] ^= state[2]
    state[0] ^= state[3]
    state[2] ^= t
    state[3] = _rotate(state[3], 45)
    return result


@exact_kernel
def next_below(state: NDArray[np.uint64], n: np.uint64) -> np.uint64:
    """A random integer in 0…n−1 (n < 2³²; the bias of the fixed-point product is below n/2³²)."""
    # The upper 32 bits are taken as a fraction of 2³² and multiplied by n (Lemire 2019), because a
    # modulo would be a division.
    return ((next_uint64(state) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32)


@exact_kernel
def next_double(state: NDArray[np.uint64]) -> float:
    """A random number in [0, 1)."""
    # The upper 53 bits make a multiple of 2⁻⁵³, which is the spacing of doubles just below 1.
    return (next_uint64(state) >> np.uint64(11)) * 1.1102230246251565e-16


@exact_kernel
def next_normal(state: NDArray[np.uint64]) -> float:
    """A standard normal number by the polar method (Marsaglia and Bray 1964)."""
    while True:
        x = 2 * next_double(state) - 1
        y = 2 * next_double(state) - 1
        square = x * x + y * y
        # The second number that the polar method makes is dropped, so that a stream has no memory
        # besides its state.
        if 0 < square < 1:
            return x * sqrt(-2 * log(square) / square)


@exact_kernel
def shuffle(state: NDArray[np.uint64], values: NDArray[np.uint32], n: np.uint64) -> None:
    """Fisher–Yates on the first `n` of `values`, in place."""
    for i in range(np.uint64(n) - np.uint64(1), 0, -1):
        j = next_below(state, np.uint64(i + 1))
        values[np.uint64(i)], values[j] = values[j], values[np.uint64(i)]


@kernel
def insert_label(
    label: np.int32,
    score: np.float32,
    top_labels: NDArray[np.int32],
    top_scores: FloatArray,
    size: int,
) -> int:
    """Give a label its place among the `size` best so far; returns how many there are then."""
    # The label is inserted from the end: k is small, and after the first few labels most candidates
    # stop at the first comparison.
    place = size
    while place > 0 and (
        top_scores[place - 1] < score
        or (top_scores[place - 1] == score and top_labels[place - 1] > label)
    ):
        place -= 1
    if place == top_labels.size:
        return size
    size = min(size + 1, top_labels.size)
    for j in range(size - 1, place, -1):
        top_scores[j] = top_scores[j - 1]
        top_labels[j] = top_labels[j - 1]
    top_scores[place] = score
    top_labels[place] = label
    return size


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
            # An equal score passes too, because the smaller label wins a tie.
            if size < k or scores.data[p] >= top_scores[i, k - 1]:
                label = np.int32(scores.indices[p])
                size = insert_label(label, scores.data[p], top_labels[i], top_scores[i], size)
    return top_labels, top_scores
