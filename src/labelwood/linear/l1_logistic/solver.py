"""One sparse linear decision: logistic regression with an L1 penalty."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from labelwood.core.random import kernel_states
from labelwood.core.sparse import csr_arrays, row_numbers
from labelwood.core.types import CSR, DoubleArray, FloatArray
from labelwood.errors import DataError
from labelwood.linear.l1_logistic._column_kernels import gather_columns
from labelwood.linear.l1_logistic._kernels import solve

# LIBLINEAR's rule ends within some per cent of the optimum, anywhere; a quarter of it is safe
# to come no higher.
_STRICTER = 0.25
_MAX_SWEEPS = 1000
_LARGEST = 1e15  # whose square, many times over, is a single-precision number


@dataclass(frozen=True)
class L1Logistic:
    """A solved decision: `x·coef + intercept` is positive for the positive side.

    Attributes
    ----------
    coef, intercept :
        The weights; the intercept is `bias` times the weight of the constant feature.
    n_iter, converged :
        Newton steps made, and whether the tolerance (not the limit of steps) ended them.
    """

    coef: FloatArray
    intercept: float
    n_iter: int
    converged: bool


def l1_logistic(
    X: CSR,
    signs: ArrayLike,
    *,
    rows: ArrayLike | None = None,
    C: float | ArrayLike = 1.0,
    bias: float = 1.0,
    tol: float = 0.01,
    max_iter: int = 100,
    random_state: object = 0,
) -> L1Logistic:
    """Minimize ‖w‖₁ + Σ C_i log(1 + exp(−s_i w·x_i)) over the rows given.

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
        Violation of optimality at the end, as LIBLINEAR's `-e`: a share of that at w = 0, times
        the share of the smaller side.

    Examples
    --------
    >>> from labelwood.core.sparse import as_csr
    >>> decision = l1_logistic(as_csr([[1, 0], [0, 1]]), [1, -1], C=4, bias=0, tol=1e-6)
    >>> decision.coef.astype(float).round(3).tolist()
    [1.099, -1.099]
    """
    chosen = row_numbers(rows, X.shape[0])
    sign = np.asarray(signs, dtype=np.float32)
    if sign.shape != chosen.shape or not np.all(np.abs(sign) == 1):
        raise DataError(f"signs must be +1 or −1 for each of the {chosen.size} rows.")
    cost = np.broadcast_to(np.asarray(C, dtype=np.float32), chosen.shape)
    if not np.all((cost > 0) & np.isfinite(cost)):
        raise DataError("C must be positive and finite for each row.")
    matrix = X if rows is None else X[chosen]
    if matrix.nnz and np.abs(matrix.data).max() > _LARGEST:
        raise DataError(f"X holds a value above {_LARGEST:g}; scale the features down.")
    n_features = X.shape[1]
    features, columns = gather_columns(
        csr_arrays(matrix),
        0,
        sign,
        cost.copy(),
        float(bias),
        -1.0,
        np.zeros(2 * n_features, dtype=np.uint32),
        np.empty(matrix.nnz + sign.size + 1, dtype=np.uint32),
        np.empty(matrix.nnz + sign.size + 1, dtype=np.float32),
    )
    n_positive = int(np.count_nonzero(sign > 0))
    n_smaller = min(n_positive, sign.size - n_positive)
    w = np.zeros(columns.indptr.size - 1)
    n_iter, converged = solve(
        columns,
        sign,
        cost.copy(),
        _STRICTER * tol * max(n_smaller, 1) / max(sign.size, 1),
        max_iter,
        _MAX_SWEEPS,
        kernel_states(random_state, 1)[0],
        w,
    )
    coef = np.zeros(n_features, dtype=np.float32)
    coef[features] = w[: features.size]
    return L1Logistic(coef, float(w[-1] * bias) if bias else 0.0, n_iter, converged)


def objective(
    X: CSR,
    signs: ArrayLike,
    coef: ArrayLike,
    intercept: float,
    *,
    C: float | ArrayLike,
    bias: float = 1.0,
) -> float:
    """The value that `l1_logistic` minimizes, in double precision (for checks and reports)."""
    w: DoubleArray = np.asarray(coef, dtype=np.float64)
    margins = np.asarray(signs) * (X.astype(np.float64) @ w + intercept)
    b = intercept / bias if bias else 0.0
    return float(np.abs(w).sum() + abs(b) + np.sum(np.asarray(C) * np.logaddexp(0, -margins)))
