"""Least squares with the penalty λ‖f‖² in four representations.

*Topics in Learning Theory*, lecture 8, "Four representations of kernel learning": labeled samples
x_1 … x_n, unlabeled ones up to x_m, and the minimizer of (1/n) Σ (f(x_i) − y_i)² + λ‖f‖² by

- features: weights of explicit features;
- kernel: coefficients α = (K_n + λnI)⁻¹Y by a Cholesky factor;
- dual: the same coefficients as the maximum of the dual, by conjugate gradient until the gap
  ‖(K_n + λnI)α − Y‖²/n is small (the slides lack the n in both places);
- gaussian_process: the values f at all m samples, with the penalty fᵀK_m⁻¹f.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg

from labelwood.core.types import AnyArray, DoubleArray
from labelwood.errors import DataError
from labelwood.kernels.functions import KernelFunction, Samples, row_slices, stack
from labelwood.kernels.samples import Targets

REPRESENTATIONS = ("features", "kernel", "dual", "gaussian_process")
_RANK_TOLERANCE = 1e-12  # eigenvalues below this share of the largest are rounding


class RidgeProblem(NamedTuple):
    """What is to be solved; `X_unlabeled` is None when only new samples will be predicted."""

    function: KernelFunction
    X: Samples
    X_unlabeled: Samples | None
    targets: Targets
    alpha: float
    tol: float
    max_iter: int

    @property
    def ridge(self) -> float:
        """λn, which is added to the eigenvalues of K_n."""
        return self.alpha * self.X.shape[0]


class RidgeSolution(NamedTuple):
    """Weights of features or coefficients of kernel values, and what is reported of them."""

    coef: DoubleArray | None
    dual_coef: DoubleArray | None
    duality_gap: DoubleArray
    squared_norm: DoubleArray
    transduction: DoubleArray | None
    n_iter: int = 1
    converged: bool = True
    X_fit: Samples | None = None


def solve(problem: RidgeProblem, representation: str, K: DoubleArray | None) -> RidgeSolution:
    """The minimizer in one representation; `K` is the kernel matrix of the labeled samples."""
    if representation == "features" and problem.function.name == "linear":
        return _linear_features(problem)
    if representation == "gaussian_process":
        return _gaussian_process(problem, K)
    if K is None:
        K = problem.function(problem.X, problem.X)
    if representation == "features":
        return _finish(problem, K, _feature_map_coefficients(problem, K))
    if representation == "kernel":
        return _finish(problem, K, _cholesky_coefficients(problem, K))
    dual_coef, n_iter, converged = _dual_coefficients(problem, K)
    return _finish(problem, K, dual_coef)._replace(n_iter=n_iter, converged=converged)


def _linear_features(problem: RidgeProblem) -> RidgeSolution:
    """ψ(x) = x: weights w = (XᵀX + λnI)⁻¹XᵀY."""
    X, targets = problem.X, problem.targets
    gram = X.T @ X
    A = gram.toarray() if hasattr(gram, "toarray") else gram
    A[np.diag_indices_from(A)] += problem.ridge
    factor = _factor(A, problem.alpha)
    n_outputs = targets.shape[1]
    coef = np.empty((X.shape[1], n_outputs))
    gap = np.empty(n_outputs)
    for columns in targets.slices():
        Y = targets.block(columns)
        coef[:, columns] = scipy.linalg.cho_solve(factor, X.T @ Y, check_finite=False)
        dual = (Y - X @ coef[:, columns]) / problem.ridge
        residual = X @ (X.T @ dual) + problem.ridge * dual - Y
        gap[columns] = np.square(residual).mean(axis=0)
    transduction = None
    if problem.X_unlabeled is not None:
        transduction = np.vstack([X @ coef, problem.X_unlabeled @ coef])
    return RidgeSolution(coef, None, gap, np.square(coef).sum(axis=0), transduction)


def _feature_map_coefficients(problem: RidgeProblem, K: DoubleArray) -> DoubleArray:
    """Explicit features of any kernel on the span of the samples: ψ(x) = Λ^(−1/2) Uᵀ k(x, X).

    The matrix of features is U Λ^(1/2), so that the normal equations are diagonal. Eigenvalues
    of zero (repeated samples) have no feature.
    """
    values, U = eigenpairs(K)
    return _by_blocks(
        problem.targets, U.shape[0], lambda Y: U @ ((U.T @ Y) / (values + problem.ridge)[:, None])
    )


def _cholesky_coefficients(problem: RidgeProblem, K: DoubleArray) -> DoubleArray:
    A = K.copy()
    A[np.diag_indices_from(A)] += problem.ridge
    factor = _factor(A, problem.alpha)
    return _by_blocks(
        problem.targets,
        K.shape[0],
        lambda Y: scipy.linalg.cho_solve(factor, Y, check_finite=False),
    )


def _dual_coefficients(problem: RidgeProblem, K: DoubleArray) -> tuple[DoubleArray, int, bool]:
    """Maximize −λαᵀKα + 2λαᵀY − λ²nαᵀα for all outputs together by conjugate gradient."""
    dual_coef = np.empty((K.shape[0], problem.targets.shape[1]))
    n_iter, converged = 0, True
    for columns in problem.targets.slices():
        Y = problem.targets.block(columns)
        dual_coef[:, columns], steps, done = _conjugate_gradient(
            K, problem.ridge, Y, problem.tol, problem.max_iter
        )
        n_iter, converged = max(n_iter, steps), converged and done
    return dual_coef, n_iter, converged


def _conjugate_gradient(
    K: DoubleArray, ridge: float, Y: DoubleArray, tol: float, max_iter: int
) -> tuple[DoubleArray, int, bool]:
    """Solve (K + ridge I) x = Y, each column with its own step, Jacobi-preconditioned."""
    diagonal = (np.diagonal(K) + ridge)[:, None]
    enough = np.square(tol) * np.square(Y).sum(axis=0)
    x = np.zeros_like(Y)
    r = Y.copy()
    z = r / diagonal
    p = z.copy()
    rz = (r * z).sum(axis=0)
    for step in range(max_iter):
        active = np.square(r).sum(axis=0) > enough
        if not active.any():
            return x, step, True
        Ap = K @ p + ridge * p
        pAp = (p * Ap).sum(axis=0)
        moving = active & (pAp > 0)
        size = np.where(moving, rz / np.where(moving, pAp, 1), 0)
        x += size * p
        r -= size * Ap
        z = r / diagonal
        rz, rz_old = (r * z).sum(axis=0), rz
        p = z + np.where(moving, rz / np.where(rz_old > 0, rz_old, 1), 0) * p
    return x, max_iter, bool((np.square(r).sum(axis=0) <= enough).all())


def _gaussian_process(problem: RidgeProblem, K: DoubleArray | None) -> RidgeSolution:
    """Minimize (1/n) Σ (f_i − y_i)² + λ fᵀK_m⁻¹f over the values f at all m samples.

    With repeated samples K_m has no inverse, and values that differ on equal samples have an
    infinite penalty. So f = U Λ^(1/2) z is kept in the range of K_m, where the penalty is ‖z‖²:
    repeated samples get equal values, and the other representations' answer.
    """
    n, targets = problem.X.shape[0], problem.targets
    X_all = problem.X if problem.X_unlabeled is None else stack(problem.X, problem.X_unlabeled)
    if problem.X_unlabeled is None:
        K_all = problem.function(problem.X, problem.X) if K is None else K
    else:
        K_all = _whole_kernel(problem, X_all)
    values, U = eigenpairs(K_all)
    B = U * np.sqrt(values)
    A = B[:n].T @ B[:n]
    A[np.diag_indices_from(A)] += problem.ridge
    factor = _factor(A, problem.alpha)
    z = _by_blocks(
        targets,
        B.shape[1],
        lambda Y: scipy.linalg.cho_solve(factor, B[:n].T @ Y, check_finite=False),
    )
    # f = K_all c extends to new samples as f(x) = k(x, X_all) c.
    dual_coef = U @ (z / np.sqrt(values)[:, None])
    f = B @ z
    gap = np.empty(targets.shape[1])
    for columns in targets.slices():
        Y = targets.block(columns)
        alpha = (Y - f[:n, columns]) / problem.ridge
        residual = K_all[:n, :n] @ alpha + problem.ridge * alpha - Y
        gap[columns] = np.square(residual).mean(axis=0)
    transduction = None if problem.X_unlabeled is None else f
    return RidgeSolution(None, dual_coef, gap, np.square(z).sum(axis=0), transduction, X_fit=X_all)


def _whole_kernel(problem: RidgeProblem, X_all: Samples) -> DoubleArray:
    if problem.function.name != "precomputed":
        return problem.function(X_all, X_all)
    raise DataError(
        "representation='gaussian_process' needs the kernel of all samples with each other; with "
        "kernel='precomputed' and X_unlabeled use 'kernel', which gives the same values."
    )


def _finish(problem: RidgeProblem, K: DoubleArray, dual_coef: DoubleArray) -> RidgeSolution:
    """Gap and norm of f = Σ α_i k(x_i, ·), and its values at all samples."""
    f = K @ dual_coef
    gap = np.empty(problem.targets.shape[1])
    for columns in problem.targets.slices():
        Y = problem.targets.block(columns)
        residual = f[:, columns] + problem.ridge * dual_coef[:, columns] - Y
        gap[columns] = np.square(residual).mean(axis=0)
    norm = (dual_coef * f).sum(axis=0)
    transduction = None
    if problem.X_unlabeled is not None:
        more = problem.X_unlabeled
        # In blocks: of many unlabeled samples not all kernel values are in memory at once.
        blocks = [
            problem.function(more[rows], problem.X) @ dual_coef
            for rows in row_slices(more.shape[0], problem.X.shape[0])
        ]
        transduction = np.vstack([f, *blocks])
    return RidgeSolution(None, dual_coef, gap, norm, transduction, X_fit=problem.X)


def eigenpairs(K: DoubleArray) -> tuple[DoubleArray, DoubleArray]:
    """Eigenvalues of K, falling, and eigenvectors, without those that are zero but for rounding."""
    values, vectors = scipy.linalg.eigh(K, check_finite=False)
    kept = values > _RANK_TOLERANCE * max(float(values[-1]), 0)
    return values[kept][::-1], vectors[:, kept][:, ::-1]


def _factor(A: DoubleArray, alpha: float) -> tuple[AnyArray, bool]:
    try:
        factor: tuple[AnyArray, bool] = scipy.linalg.cho_factor(
            A, lower=True, overwrite_a=True, check_finite=False
        )
        return factor
    except np.linalg.LinAlgError:
        raise DataError(
            f"alpha={alpha:g} is too small for this kernel in double precision: the system is "
            "singular (repeated samples?); raise alpha."
        ) from None


def _by_blocks(
    targets: Targets, n_rows: int, solver: Callable[[DoubleArray], DoubleArray]
) -> DoubleArray:
    out = np.empty((n_rows, targets.shape[1]))
    for columns in targets.slices():
        out[:, columns] = solver(targets.block(columns))
    return out


def choose_representation(
    n: int, p: int, m: int, n_outputs: int, *, linear: bool, iterations: float | None
) -> tuple[str, dict[str, float]]:
    """The cheapest representation by counts of multiplications, and all counts.

    `m` counts labeled and unlabeled samples. `iterations` of conjugate gradient are None when
    `alpha` is to be chosen, for which a decomposition is needed anyway.

    Examples
    --------
    >>> choose_representation(5_000, 20, 5_000, 1, linear=True, iterations=100)[0]
    'features'
    >>> choose_representation(5_000, 20, 5_000, 1, linear=False, iterations=100)[0]
    'dual'
    """
    decomposition = 9.0 if iterations is None else 1 / 3  # eigenvectors or a Cholesky factor
    gram = float(n) * n * p
    costs = {
        "kernel": gram + decomposition * n**3 + 2.0 * n * n * n_outputs,
        "gaussian_process": float(m) * m * p + 9.0 * m**3 + 2.0 * m * m * n_outputs,
    }
    if iterations is not None:
        costs["dual"] = gram + 2.0 * iterations * n * n * n_outputs
    if linear:
        costs["features"] = float(n) * p * p + decomposition * p**3 + 2.0 * n * p * n_outputs
    return min(costs, key=lambda name: costs[name]), costs


def expected_iterations(trace: float, n: int, alpha: float, tol: float) -> float:
    """Conjugate gradient's bound √κ ln(2/tol)/2, with κ ≤ 1 + tr(K)/(λn)."""
    return min(float(n), math.sqrt(1 + trace / (n * alpha)) * math.log(2 / tol) / 2)
