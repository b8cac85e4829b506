"""The scaled forward–backward recursions over concatenated sequences.

Letters as in the literature (Rabiner 1989): `alpha`, `beta`, scaling factors `c`, posteriors
`gamma` and pair posteriors `xi`. Every emission density is divided by the largest one of its
step, so all factors `c` lie in (0, 1].
"""

import math

import numpy as np

from labelwood.core.allocation import empty
from labelwood.core.kernel import exact_kernel, kernel
from labelwood.core.types import AnyArray, DoubleArray, PointerArray

# A sequence is handed to the recursions in log space when a factor falls below _SMALL or a beta
# rises above _LARGE. One step changes beta at most by a factor 1 / _SMALL, so no number leaves
# the range of a double before the test sees it, and what underflows weighs less than 1e-200.
_SMALL = 1e-100
_LARGE = 1e100
_REFRESH = 1024  # steps after which the rounding error of the length of beta is removed
_BLOCK = 512  # steps whose emissions are exponentiated together


@exact_kernel
def exponentials(values: DoubleArray, bits: PointerArray, n: int) -> None:
    """Exponentials of the first `n` values (all ≤ 0), in place, correct to about one rounding.

    The compiler vectorizes this loop, which it cannot do with calls of the C library. 2^k is put
    together from the bits of k by the addition of 1.5 · 2^52, which also rounds to an integer
    (so the arithmetic must be exact). `bits` is a workspace of the same length.
    """
    powers = bits.view(np.float64)
    for i in range(n):
        x = max(values[i], -708.0)
        shifted = x * 1.4426950408889634 + 6755399441055744.0
        k = shifted - 6755399441055744.0
        r = (x - k * 0.6931471803691238) - k * 1.9082149292705877e-10
        # This is the Taylor polynomial of degree 12 on |r| ≤ ln(2)/2, by Estrin's scheme, in which
        # few operations wait for each other.
        r2 = r * r
        r4 = r2 * r2
        low = (1.0 + r) + r2 * (0.5 + r * 0.16666666666666666)
        middle = (0.041666666666666664 + r * 0.008333333333333333) + r2 * (
            0.001388888888888889 + r * 0.0001984126984126984
        )
        high = (2.48015873015873e-05 + r * 2.7557319223985893e-06) + r2 * (
            2.755731922398589e-07 + r * 2.505210838544172e-08
        )
        powers[i] = shifted
        values[i] = low + r4 * (middle + r4 * (high + r4 * 2.08767569878681e-09))
    for i in range(n):
        # The low bits of 1.5 · 2^52 + k are those of k; 1023 is the exponent's bias.
        bits[i] = (bits[i] + 1023) << 52
    for i in range(n):
        values[i] *= powers[i]


@kernel
def scale_densities(block: DoubleArray, n_states: int) -> float:
    """Subtract the largest log density of each step; the sum of what was subtracted."""
    total = 0.0
    for t in range(block.size // n_states):
        row = t * n_states
        largest = block[row]
        for j in range(1, n_states):
            largest = max(largest, block[row + j])
        for j in range(n_states):
            block[row + j] -= largest
        total += largest
    return total


@kernel
def forward_two(
    b: DoubleArray, alpha: DoubleArray, first: int, begin: int, end: int,
    start: DoubleArray, transition: DoubleArray, carry: DoubleArray,
) -> bool:  # fmt: skip
    """Steps begin…end−1 of the forward recursion for two states, kept in registers.

    `carry` is (product of recent factors, sum of logarithms of the earlier ones). `b` becomes
    b / c, which is what the backward recursion multiplies with.
    """
    a00, a01, a10, a11 = transition[0, 0], transition[0, 1], transition[1, 0], transition[1, 1]
    product, total = carry[0], carry[1]
    alpha0, alpha1 = start[0], start[1]
    if begin > first:
        alpha0, alpha1 = alpha[begin - 1, 0], alpha[begin - 1, 1]
    for t in range(begin, end):
        if t == first:
            predicted0, predicted1 = alpha0, alpha1
        else:
            predicted0 = alpha0 * a00 + alpha1 * a10
            predicted1 = alpha0 * a01 + alpha1 * a11
        joint0, joint1 = predicted0 * b[t, 0], predicted1 * b[t, 1]
        c = joint0 + joint1
        if c < _SMALL:
            return False
        inverse = 1.0 / c
        alpha0, alpha1 = joint0 * inverse, joint1 * inverse
        alpha[t, 0], alpha[t, 1] = alpha0, alpha1
        b[t, 0] *= inverse
        b[t, 1] *= inverse
        # One logarithm serves many factors: that of their product, taken before it can underflow.
        product *= c
        if product < _SMALL:
            total += math.log(product)
            product = 1.0
    carry[0], carry[1] = product, total
    return True


@kernel
def backward_two(
    b: DoubleArray, alpha: DoubleArray, first: int, end: int,
    transition: DoubleArray, xi: DoubleArray,
) -> bool:  # fmt: skip
    """The backward recursion for two states; `alpha` becomes gamma, `xi` gets its sums."""
    a00, a01, a10, a11 = transition[0, 0], transition[0, 1], transition[1, 0], transition[1, 1]
    beta0, beta1, largest = 1.0, 1.0, 1.0
    xi00, xi01, xi10, xi11 = 0.0, 0.0, 0.0, 0.0
    for t in range(end - 1, first - 1, -1):
        if t % _REFRESH == 0:
            length = 1.0 / (alpha[t, 0] * beta0 + alpha[t, 1] * beta1)
            beta0 *= length
            beta1 *= length
        largest = max(largest, max(beta0, beta1))
        if largest > _LARGE:
            return False
        w0, w1 = b[t, 0] * beta0, b[t, 1] * beta1
        alpha[t, 0] *= beta0
        alpha[t, 1] *= beta1
        if t > first:
            alpha0, alpha1 = alpha[t - 1, 0], alpha[t - 1, 1]
            xi00 += alpha0 * w0
            xi01 += alpha0 * w1
            xi10 += alpha1 * w0
            xi11 += alpha1 * w1
        beta0 = a00 * w0 + a01 * w1
        beta1 = a10 * w0 + a11 * w1
    xi[0, 0], xi[0, 1] = xi00 * a00, xi01 * a01
    xi[1, 0], xi[1, 1] = xi10 * a10, xi11 * a11
    return True


@kernel
def forward_many(
    b: DoubleArray, alpha: DoubleArray, first: int, begin: int, end: int,
    start: DoubleArray, transition: DoubleArray, carry: DoubleArray,
) -> bool:  # fmt: skip
    """`forward_two` for any number of states."""
    s = start.size
    product, total = carry[0], carry[1]
    joint = empty(s, np.float64)
    for t in range(begin, end):
        if t == first:
            for j in range(s):
                joint[j] = start[j]
        else:
            for j in range(s):
                joint[j] = 0.0
            for i in range(s):
                alpha_i = alpha[t - 1, i]
                for j in range(s):
                    joint[j] += alpha_i * transition[i, j]
        c = 0.0
        for j in range(s):
            joint[j] *= b[t, j]
        # The sum has a loop of its own: one that stores and sums adds up in an order that depends
        # on where its arrays lie, and so would the last bits of a fit.
        for j in range(s):
            c += joint[j]
        if c < _SMALL:
            return False
        inverse = 1.0 / c
        for j in range(s):
            alpha[t, j] = joint[j] * inverse
            b[t, j] *= inverse
        product *= c
        if product < _SMALL:
            total += math.log(product)
            product = 1.0
    carry[0], carry[1] = product, total
    return True


@kernel
def backward_many(
    b: DoubleArray, alpha: DoubleArray, first: int, end: int,
    transition: DoubleArray, xi: DoubleArray,
) -> bool:  # fmt: skip
    """`backward_two` for any number of states."""
    s = transition.shape[0]
    beta, w = np.ones(s), empty(s, np.float64)
    transposed = transition.T.copy()  # so that the inner loops run over adjacent numbers
    xi[:] = 0.0
    for t in range(end - 1, first - 1, -1):
        if t % _REFRESH == 0:
            length = 0.0
            for j in range(s):
                length += alpha[t, j] * beta[j]
            for j in range(s):
                beta[j] /= length
        largest = 0.0
        for j in range(s):
            largest = max(largest, beta[j])
            w[j] = b[t, j] * beta[j]
            alpha[t, j] *= beta[j]
        if largest > _LARGE:
            return False
        if t > first:
            for i in range(s):
                alpha_i = alpha[t - 1, i]
                for j in range(s):
                    xi[i, j] += alpha_i * w[j]
        for j in range(s):
            beta[j] = 0.0
        for j in range(s):
            w_j = w[j]
            for i in range(s):
                beta[i] += transposed[j, i] * w_j
    for i in range(s):
        for j in range(s):
            xi[i, j] *= transition[i, j]
    return True


@kernel
def forward_sequence(
    b: DoubleArray, alpha: DoubleArray, first: int, end: int,
    start: DoubleArray, transition: DoubleArray, carry: DoubleArray, bits: PointerArray,
) -> bool:  # fmt: skip
    """Exponentiate the log densities in `b` block by block and run the forward recursion.

    `carry` then holds the log likelihood as `log(carry[0]) + carry[1]`.
    """
    s = start.size
    carry[0], carry[1] = 1.0, 0.0
    for begin in range(first, end, _BLOCK):
        stop = min(begin + _BLOCK, end)
        flat = b[begin:stop].reshape((stop - begin) * s)
        carry[1] += scale_densities(flat, s)
        exponentials(flat, bits, flat.size)
        if s == 2:
            if not forward_two(b, alpha, first, begin, stop, start, transition, carry):
                return False
        elif not forward_many(b, alpha, first, begin, stop, start, transition, carry):
            return False
    return True


@kernel
def posteriors(
    b: DoubleArray, alpha: DoubleArray, offsets: PointerArray,
    start: DoubleArray, transition: DoubleArray,
    starts: DoubleArray, pairs: DoubleArray, log_likelihood: DoubleArray, done: AnyArray,
    backward: bool,
) -> None:  # fmt: skip
    """Forward–backward over all sequences.

    Parameters
    ----------
    b : (n, s)
        Log emission densities; destroyed.
    alpha : (n, s)
        Receives the posteriors gamma (the filter's probabilities without `backward`).
    offsets : (n_sequences + 1,)
        Where each sequence begins.
    starts, pairs : (s,), (s, s)
        Sums of the first posteriors and of the pair posteriors are added to them.
    log_likelihood, done : (n_sequences,)
        Receive the log likelihoods, and False for a sequence that needs log space.
    """
    s = start.size
    bits = empty(_BLOCK * s, np.int64)
    carry, xi = empty(2, np.float64), empty((s, s), np.float64)
    for k in range(offsets.size - 1):
        first, end = offsets[k], offsets[k + 1]
        done[k] = forward_sequence(b, alpha, first, end, start, transition, carry, bits)
        if done[k] and backward:
            if s == 2:
                done[k] = backward_two(b, alpha, first, end, transition, xi)
            else:
                done[k] = backward_many(b, alpha, first, end, transition, xi)
            if done[k]:
                for i in range(s):
                    starts[i] += alpha[first, i]
                    for j in range(s):
                        pairs[i, j] += xi[i, j]
        log_likelihood[k] = math.log(carry[0]) + carry[1]
