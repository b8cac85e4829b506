"""Eigenvalues of the normalized kernel matrix K = k(x_i, x_j)/n, exact or bounded.

All that the theory of early stopping needs of a kernel is S(t) = Σ_j min(t, μ_j) (Yang 2018,
eq. (3.20)). Where only some eigenvalues are known, the trace, which is cheap, bounds what is
missing, and so S from below and above.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
import scipy.sparse.linalg

from labelwood.core.types import DoubleArray
from labelwood.errors import DataError


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Known eigenvalues of K, and bounds for the sums over all of them.

    Attributes
    ----------
    eigenvalues : array
        Falling; all of them, the largest exactly ("top"), or lower bounds of the largest
        ("nystrom": those of an approximation that is nowhere above K).
    n : int
        Number of samples, hence of all eigenvalues.
    tail : float
        What the trace of K has beyond their sum.
    kind : {"exact", "top", "nystrom"}

    Examples
    --------
    >>> Spectrum(np.array([0.5, 0.2]), 10, tail=0.1, kind="top").sum_of_minima(0.3)
    (0.6, 0.6, 0.6)
    """

    eigenvalues: DoubleArray
    n: int
    tail: float = 0.0
    kind: str = "exact"

    @classmethod
    def of(cls, eigenvalues: Any, n: int) -> "Spectrum":
        """Exact eigenvalues in any order; those that rounding left below zero are zero."""
        if isinstance(eigenvalues, Spectrum):
            return eigenvalues
        values = np.asarray(eigenvalues, dtype=np.float64)
        if values.ndim != 1 or not np.isfinite(values).all():
            raise DataError("eigenvalues must be a list of finite numbers.")
        largest = float(values.max(initial=0.0))
        if values.size and values.min() < -1e-8 * max(largest, 1e-300):
            raise DataError(
                f"Eigenvalues of a kernel matrix are not negative. Got {values.min():.6g}."
            )
        if values.size > n:
            raise DataError(f"{values.size} eigenvalues are more than n = {n} samples have.")
        return cls(np.sort(np.maximum(values, 0))[::-1], n)

    @property
    def exact(self) -> bool:
        """Whether the sums are known and not only bounded."""
        return self.kind == "exact" or self.tail <= 1e-12 * float(self.eigenvalues.sum())

    def sum_of_minima(self, t: float) -> tuple[float, float, float]:
        """Σ_j min(t, μ_j): an estimate, and what it is at least and at most."""
        known = float(np.minimum(t, self.eigenvalues).sum())
        if self.exact:
            return known, known, known
        n_rest = max(self.n - self.eigenvalues.size, 1)
        # min(t, ·) is concave: the sum over the rest is largest if all of them are equal.
        spread = n_rest * min(t, self.tail / n_rest)
        if self.kind == "top":
            # It is smallest if as many as possible equal the last one known.
            last = float(self.eigenvalues[-1])
            low = self.tail * min(1.0, t / last) if last > 0 else 0.0
            low = min(low, spread)
            return known + (low + spread) / 2, known + low, known + spread
        # Each eigenvalue may be larger than that of the approximation, by `tail` in all.
        return known + spread, known, min(known + self.tail, self.n * t)


def exact_spectrum(K: DoubleArray) -> Spectrum:
    """All eigenvalues of k(x_i, x_j)/n from the kernel matrix k(x_i, x_j)."""
    n = K.shape[0]
    return Spectrum.of(scipy.linalg.eigvalsh(K, check_finite=False) / n, n)


def top_spectrum(K: Any, trace: float, rank: int, n: int) -> Spectrum:
    """The `rank` largest eigenvalues of k(x_i, x_j)/n by Lanczos; the trace bounds the others.

    `K` is a symmetric matrix or linear operator whose non-zero eigenvalues are those of the
    kernel matrix of `n` samples (XᵀX will do for XXᵀ), and `trace` the trace of both.

    Examples
    --------
    >>> K = np.diag([3.0, 2.0, 1.0, 0.5, 0.5])
    >>> spectrum = top_spectrum(K, 7.0, 2, 5)
    >>> spectrum.eigenvalues.round(6).tolist(), round(spectrum.tail, 6)
    ([0.6, 0.4], 0.4)
    """
    # A fixed start vector, so that the same matrix gives the same eigenvalues.
    start = np.random.default_rng(0).normal(size=K.shape[0])
    values = scipy.sparse.linalg.eigsh(
        K, k=rank, which="LA", v0=start, return_eigenvectors=False, tol=1e-10
    )
    values = np.sort(np.maximum(values, 0))[::-1] / n
    return Spectrum(values, n, max(trace / n - float(values.sum()), 0.0), "top")


def linear_spectrum(X: Any, scale: float, max_exact: int = 2000, rank: int = 200) -> Spectrum:
    """Eigenvalues of the linear kernel x·x'/scale from the rows, dense or sparse."""
    n, p = X.shape
    by_rows = n <= p
    small = min(n, p)
    squares = X.multiply(X).sum() if sp.issparse(X) else np.square(X).sum()
    trace = float(squares) / scale
    if small <= max_exact:
        gram = (X @ X.T if by_rows else X.T @ X) / scale
        dense = gram.toarray() if sp.issparse(gram) else gram
        return Spectrum.of(scipy.linalg.eigvalsh(dense) / n, n)
    operator = scipy.sparse.linalg.LinearOperator(
        (small, small),
        matvec=(lambda v: X @ (X.T @ v) / scale) if by_rows else (lambda v: X.T @ (X @ v) / scale),
        dtype=np.float64,
    )
    return top_spectrum(operator, trace, rank, n)
