"""One sparse linear decision: the support vector machine with squared hinge."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from labelwood.core.random import kernel_states
from labelwood.core.sparse import CSRArrays, csr_arrays, row_numbers
from labelwood.core.types import CSR, DoubleArray, FloatArray
from labelwood.errors import DataError
from labelwood.linear.l2svm import _kernels as kernels


@dataclass(frozen=True)
class L2SVM:
    """A solved decision: `x·coef + intercept` is positive for the positive side.

    Attributes
    ----------
    coef, intercept :
        The weights; the intercept is `bias` times the weight of the constant feature.
    alpha :
        The dual variables of the rows; those above zero belong to the support.
    n_iter, converged :
        Passes made, and whether the tolerance (not the limit of passes) ended them.
    """

    coef: FloatArray
    intercept: float
    alpha: FloatArray
    n_iter: int
    converged: bool


def l2svm(
    X: CSR,
    signs: ArrayLike,
    *,
    rows: ArrayLike | None = None,
    C: float | ArrayLike = 1.0,
    bias: float = 1.0,
    tol: float = 0.1,
    max_iter: int = 1000,
    random_state: object = 0,
) -> L2SVM:
    """Minimize ½‖w‖² + Σ C_i max(0, 1 − s_i w·x_i)² over the rows given.

    Parameters
    ----------
    X : csr_array
        As `as_csr` makes it.
    signs : array of ±1
        One for each of `rows`.
    rows : array or None
        Row numbers, all when None; cost follows their non-zeros.
    C : float or array
        The cost of an error, one number or one for each of `rows`.
    bias : float
        Value of the constant feature whose (regularized) weight is the intercept; 0 for none.
    tol : float
        Largest difference of projected gradients at the end, as LIBLINEAR's `-e`.

    Examples
    --------
    >>> from labelwood.core.sparse import as_csr
    >>> decision = l2svm(as_csr([[1, 0], [0, 1]]), [1, -1], bias=0, tol=1e-6)
    >>> decision.coef.astype(float).round(3).tolist()
    [0.667, -0.667]
    """
    n_rows, n_features = X.shape
    chosen = row_numbers(rows, n_rows)
    sign = np.asarray(signs, dtype=np.float32)
    if sign.shape != chosen.shape or not np.all(np.abs(sign) == 1):
        raise DataError(f"signs must be +1 or −1 for each of the {chosen.size} rows.")
    cost = np.broadcast_to(np.asarray(C, dtype=np.float64), chosen.shape)
    if not np.all((cost > 0) & np.isfinite(cost)):
        raise DataError("C must be positive and finite for each row.")
    arrays = csr_arrays(X)
    alpha = np.zeros(chosen.size, dtype=np.float32)
    w = np.zeros(n_features + 1, dtype=np.float32)
    n_iter, converged = kernels.solve(
        arrays,
        row_norms(arrays, bias),
        chosen,
        sign,
        (0.5 / cost).astype(np.float32),
        bias,
        tol,
        max_iter,
        kernel_states(random_state, 1)[0],
        np.empty(chosen.size, dtype=np.uint32),
        alpha,
        w,
    )
    return L2SVM(w[:-1], float(w[-1] * bias), alpha, n_iter, converged)


def primal_objective(
    X: CSR, signs: ArrayLike, coef: ArrayLike, intercept: float, *, C: float, bias: float = 1.0
) -> float:
    """The value that `l2svm` minimizes, in double precision (for checks and reports)."""
    w: DoubleArray = np.asarray(coef, dtype=np.float64)
    margins = np.asarray(signs) * (X.astype(np.float64) @ w + intercept)
    b = intercept / bias if bias else 0.0
    return float(0.5 * (w @ w + b * b) + C * np.sum(np.maximum(0, 1 - margins) ** 2))


def row_norms(X: CSRArrays, bias: float) -> FloatArray:
    """Squared lengths of the rows with their constant feature; refuses what overflows."""
    norms = kernels.row_norms(X, bias)
    if not np.all(np.isfinite(norms)):
        row = int(np.flatnonzero(~np.isfinite(norms))[0])
        raise DataError(f"The values of row {row} are too large to be squared; scale them down.")
    return norms
