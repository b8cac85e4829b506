"""Least squares of a node in the primal: the inverse of A = I + Σ xxᵀ, and the weights."""

import numpy as np

from labelwood.core.kernel import kernel
from labelwood.core.types import DoubleArray, IndexArray


@kernel
def add_example(
    inverse: DoubleArray,
    indices: IndexArray,
    values: "np.ndarray[tuple[int], np.dtype[np.float32]]",
    residual: float,
    decay: float,
    weights: DoubleArray,
    solved: DoubleArray,
) -> None:
    """Sherman–Morrison: with z = A⁻¹x, A⁻¹ loses zzᵀ/(λ + xᵀz) and w gains z (v − wᵀx)/(λ + xᵀz).

    The rest is divided by the decay λ, so that examples of long ago count λ^age. `residual` is
    v − wᵀx, and `solved` a workspace for z.
    """
    d = solved.size
    solved[:] = 0
    for j in range(indices.size):
        # A⁻¹ is symmetric, so its rows, which are contiguous, are read in place of columns.
        value, one = values[j], inverse[indices[j]]
        for i in range(d):
            solved[i] += value * one[i]
    r = decay
    for j in range(indices.size):
        r += values[j] * solved[indices[j]]
    step, root, shrink = residual / r, np.sqrt(r), 1 / decay
    for i in range(d):
        weights[i] += step * solved[i]
        # With z/√r each entry is a product of two numbers of one vector, which is the same on
        # both sides of the diagonal: A⁻¹ stays symmetric to the last bit. Rounding that differed
        # between its halves would grow by 1/λ with every example.
        solved[i] /= root
    for i in range(d):
        factor, row = solved[i], inverse[i]
        if factor != 0 or decay != 1:  # without decay nothing else of row i changes
            for j in range(d):
                row[j] = (row[j] - factor * solved[j]) * shrink
