"""Gaussian log densities and weighted moments, in blocks of steps.

Inside a block the innermost loop runs along time over adjacent numbers, so the compiler
vectorizes all of it; a block of all features fits the first-level cache.

No loop both stores and sums: for such a loop the compiler checks at run time whether its arrays
overlap, in ranges wider than those it touches, and takes a path with another order of summation
where the allocator happened to put two arrays side by side. The same fit would then differ in its
last bits from run to run.
"""

import numpy as np

from labelwood.core.allocation import empty
from labelwood.core.kernel import kernel
from labelwood.core.types import AnyArray, DoubleArray

# A block has 256 steps, which are 2 KB of doubles: its buffers and the features that it reads stay
# in the first-level cache.
_BLOCK = 256


@kernel
def diagonal_densities(
    values: DoubleArray, means: DoubleArray, precisions: DoubleArray, constants: DoubleArray,
    out: DoubleArray,
) -> None:  # fmt: skip
    """Log densities for diagonal covariances; `constants` are the logarithms of the norms."""
    s, d = means.shape
    n = values.shape[1]
    q = empty(_BLOCK, np.float64)
    for begin in range(0, n, _BLOCK):
        size = min(_BLOCK, n - begin)
        for k in range(s):
            # Time is the inner loop, in which a feature's mean and precision are constants.
            for t in range(size):
                q[t] = constants[k]
            for c in range(d):
                mean, half = means[k, c], 0.5 * precisions[k, c]
                for t in range(size):
                    z = values[c, begin + t] - mean
                    q[t] -= half * z * z
            for t in range(size):
                out[begin + t, k] = q[t]


@kernel
def diagonal_densities_missing(
    values: DoubleArray, observed: AnyArray, means: DoubleArray, precisions: DoubleArray,
    constants: DoubleArray, out: DoubleArray,
) -> None:  # fmt: skip
    """The same over the observed values only; `constants` (s, d) are those of each feature."""
    s, d = means.shape
    n = values.shape[1]
    q = empty(_BLOCK, np.float64)
    for begin in range(0, n, _BLOCK):
        size = min(_BLOCK, n - begin)
        for k in range(s):
            for t in range(size):
                q[t] = 0.0
            for c in range(d):
                mean, half, constant = means[k, c], 0.5 * precisions[k, c], constants[k, c]
                for t in range(size):
                    z = values[c, begin + t] - mean
                    # A product with 0 or 1 replaces a branch, which would prevent vector
                    # instructions.
                    q[t] += observed[c, begin + t] * (constant - half * z * z)
            for t in range(size):
                out[begin + t, k] = q[t]


@kernel
def full_densities(
    values: DoubleArray, means: DoubleArray, factors: DoubleArray, constants: DoubleArray,
    out: DoubleArray,
) -> None:  # fmt: skip
    """Log densities for full covariances; `factors` are the inverse Cholesky factors."""
    s, d = means.shape
    n = values.shape[1]
    q, y, z = empty(_BLOCK, np.float64), empty(_BLOCK, np.float64), empty((d, _BLOCK), np.float64)
    for begin in range(0, n, _BLOCK):
        size = min(_BLOCK, n - begin)
        for k in range(s):
            for t in range(size):
                q[t] = constants[k]
            for r in range(d):
                mean = means[k, r]
                for t in range(size):
                    z[r, t] = values[r, begin + t] - mean
                    y[t] = 0.0
                # The squared norm ‖L⁻¹(x − μ)‖² is summed row by row of the triangular factor,
                # which is cheaper than a solve.
                for c in range(r + 1):
                    factor = factors[k, r, c]
                    for t in range(size):
                        y[t] += factor * z[c, t]
                for t in range(size):
                    q[t] -= 0.5 * y[t] * y[t]
            for t in range(size):
                out[begin + t, k] = q[t]


@kernel
def diagonal_moments(
    values: DoubleArray, gamma: DoubleArray, origin: DoubleArray,
    counts: DoubleArray, first: DoubleArray, second: DoubleArray,
) -> None:  # fmt: skip
    """Add Σ γ, Σ γ (x − origin) and Σ γ (x − origin)² of each state and feature."""
    s, d = origin.shape
    n = values.shape[1]
    g = empty(_BLOCK, np.float64)
    for begin in range(0, n, _BLOCK):
        size = min(_BLOCK, n - begin)
        for k in range(s):
            weight = 0.0
            for t in range(size):
                g[t] = gamma[begin + t, k]
            for t in range(size):
                weight += g[t]
            for c in range(d):
                # Moments are about an origin near the mean, because raw second moments would
                # cancel.
                mean, sum1, sum2 = origin[k, c], 0.0, 0.0
                for t in range(size):
                    z = values[c, begin + t] - mean
                    sum1 += g[t] * z
                    sum2 += g[t] * z * z
                counts[k, c] += weight
                first[k, c] += sum1
                second[k, c] += sum2


@kernel
def diagonal_moments_missing(
    values: DoubleArray, observed: AnyArray, gamma: DoubleArray, origin: DoubleArray,
    counts: DoubleArray, first: DoubleArray, second: DoubleArray,
) -> None:  # fmt: skip
    """The same over the observed values only."""
    s, d = origin.shape
    n = values.shape[1]
    g = empty(_BLOCK, np.float64)
    for begin in range(0, n, _BLOCK):
        size = min(_BLOCK, n - begin)
        for k in range(s):
            for t in range(size):
                g[t] = gamma[begin + t, k]
            for c in range(d):
                mean, weight, sum1, sum2 = origin[k, c], 0.0, 0.0, 0.0
                for t in range(size):
                    z = values[c, begin + t] - mean
                    w = g[t] * observed[c, begin + t]
                    weight += w
                    sum1 += w * z
                    sum2 += w * z * z
                counts[k, c] += weight
                first[k, c] += sum1
                second[k, c] += sum2


@kernel
def full_moments(
    values: DoubleArray, gamma: DoubleArray, origin: DoubleArray,
    counts: DoubleArray, first: DoubleArray, second: DoubleArray,
) -> None:  # fmt: skip
    """`diagonal_moments` with the lower triangles of Σ γ (x − origin)(x − origin)ᵀ."""
    s, d = origin.shape
    n = values.shape[1]
    g, z, gz = empty(_BLOCK, np.float64), empty((d, _BLOCK), np.float64), empty(_BLOCK, np.float64)
    for begin in range(0, n, _BLOCK):
        size = min(_BLOCK, n - begin)
        for k in range(s):
            weight = 0.0
            for t in range(size):
                g[t] = gamma[begin + t, k]
            for t in range(size):
                weight += g[t]
            for r in range(d):
                mean, sum1 = origin[k, r], 0.0
                for t in range(size):
                    z[r, t] = values[r, begin + t] - mean
                    gz[t] = g[t] * z[r, t]
                for t in range(size):
                    sum1 += gz[t]
                counts[k, r] += weight
                first[k, r] += sum1
                # Only the lower triangle is summed, because the matrix is symmetric.
                for c in range(r + 1):
                    sum2 = 0.0
                    for t in range(size):
                        sum2 += gz[t] * z[c, t]
                    second[k, r, c] += sum2
