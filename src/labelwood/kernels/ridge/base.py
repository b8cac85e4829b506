"""What the regressor and the classifier of kernel ridge regression share."""

import warnings
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from labelwood.core.caller import user_stacklevel
from labelwood.core.contract import FittedAttributes, FittedEstimator
from labelwood.core.params import Constraints, Integer, OneOf, Real
from labelwood.core.types import DoubleArray
from labelwood.errors import DataError
from labelwood.kernels.functions import (
    KERNEL_CONSTRAINTS,
    KernelFunction,
    Samples,
    require_matrix,
    row_slices,
)
from labelwood.kernels.ridge.leave_one_out import (
    alpha_grid,
    loo_errors_of_features,
    loo_errors_of_kernel,
)
from labelwood.kernels.ridge.representations import (
    REPRESENTATIONS,
    RidgeProblem,
    RidgeSolution,
    choose_representation,
    eigenpairs,
    expected_iterations,
    solve,
)
from labelwood.kernels.samples import Targets, check_samples, check_unlabeled

_REMEDY = "use representation='features' with kernel='linear', or KernelBoosting with n_landmarks"


class KernelRidge(FittedEstimator):
    """Parameters, solution and values of kernel ridge regression."""

    _constraints: ClassVar[Constraints] = {
        "alpha": (Real(above=0), OneOf("auto")),
        **KERNEL_CONSTRAINTS,
        "representation": OneOf("auto", *REPRESENTATIONS),
        "tol": Real(above=0, below=1),
        "max_iter": (Integer(low=1), None),
    }
    _fitted: ClassVar[FittedAttributes] = {
        "alpha_": float,
        "gamma_": float,
        "representation_": str,
        "duality_gap_": (np.float64, (None,)),
        "norm_": (np.float64, (None,)),
        "n_iter_": int,
        "stop_reason_": str,
    }

    X_fit_: Samples | None
    coef_: DoubleArray | None
    dual_coef_: DoubleArray | None
    transduction_: DoubleArray | None

    def __init__(
        self,
        *,
        alpha: float | str = "auto",
        kernel: str = "gaussian",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        representation: str = "auto",
        tol: float = 1e-10,
        max_iter: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.representation = representation
        self.tol = tol
        self.max_iter = max_iter

    def _check_X(self, X: object, *, reset: bool = False) -> Any:
        return check_samples(self, X, reset=reset)

    def _solve(self, X: Samples, targets: Targets, X_unlabeled: object) -> None:
        """Fit all outputs with one factorization, and set the fitted attributes."""
        unlabeled = None if X_unlabeled is None else check_unlabeled(self, X_unlabeled, X)
        function = KernelFunction.of(self, X)
        n, p, n_outputs = X.shape[0], X.shape[1], targets.shape[1]
        m = n + (0 if unlabeled is None else unlabeled.shape[0])
        mean_diagonal = float(function.diagonal(X).mean())
        representation = str(self.representation)
        if representation == "auto":
            iterations = None
            if self.alpha != "auto":
                iterations = expected_iterations(
                    n * mean_diagonal, n, float(self.alpha), float(self.tol)
                )
            representation, _ = choose_representation(
                n, p, m, n_outputs, linear=self.kernel == "linear", iterations=iterations
            )
        by_features = representation == "features" and self.kernel == "linear"
        rows = m if representation == "gaussian_process" else n
        size = p if by_features else rows
        require_matrix(size, size, 3, f"a {size:,} × {size:,} kernel matrix", _REMEDY)
        require_matrix(size, n_outputs, 2, f"coefficients of {n_outputs:,} outputs", _REMEDY)
        if unlabeled is not None:
            what = f"values of {n_outputs:,} outputs at {m:,} samples"
            require_matrix(m, n_outputs, 2, what, "fit without X_unlabeled, and predict in parts")
        K = None if by_features else function(X, X)
        alpha = self._choose_alpha(X, K, targets, mean_diagonal)
        max_iter = 10 * n if self.max_iter is None else int(self.max_iter)
        problem = RidgeProblem(function, X, unlabeled, targets, alpha, float(self.tol), max_iter)
        self._set_solution(solve(problem, representation, K), function, alpha, representation)

    def _choose_alpha(
        self, X: Samples, K: DoubleArray | None, targets: Targets, mean_diagonal: float
    ) -> float:
        if self.alpha != "auto":
            self.alphas_ = np.array([float(self.alpha)])
            self.loo_errors_ = np.array([np.nan])
            return float(self.alpha)
        self.alphas_ = alpha_grid(mean_diagonal)
        if K is None:
            self.loo_errors_ = loo_errors_of_features(X, targets, self.alphas_)
        else:
            self.loo_errors_ = loo_errors_of_kernel(*eigenpairs(K), targets, self.alphas_)
        return float(self.alphas_[int(self.loo_errors_.argmin())])

    def _set_solution(
        self, solution: RidgeSolution, function: KernelFunction, alpha: float, representation: str
    ) -> None:
        self.alpha_ = alpha
        self.gamma_ = function.gamma
        self.representation_ = representation
        self.coef_, self.dual_coef_ = solution.coef, solution.dual_coef
        keeps_samples = solution.coef is None and self.kernel != "precomputed"
        self.X_fit_ = solution.X_fit if keeps_samples else None
        self.transduction_ = solution.transduction
        self.duality_gap_ = solution.duality_gap
        self.norm_ = np.sqrt(np.maximum(solution.squared_norm, 0))
        self.n_iter_ = solution.n_iter
        self.stop_reason_ = "solved directly"
        if representation == "dual":
            self.stop_reason_ = f"residual below {self.tol:g} of the targets"
            if not solution.converged:
                self.stop_reason_ = (
                    f"iteration limit ({solution.n_iter}); raise max_iter, tol or alpha"
                )
                warnings.warn(self.stop_reason_, ConvergenceWarning, stacklevel=user_stacklevel())

    def _function(self) -> KernelFunction:
        return KernelFunction(self.kernel, self.gamma_, int(self.degree), float(self.coef0))

    def _values(self, X: Samples) -> DoubleArray:
        """f(x) of all outputs for each row of `X`."""
        if self.coef_ is not None:
            return np.asarray(X @ self.coef_)
        function, known = self._function(), self.X_fit_
        dual = np.asarray(self.dual_coef_)
        parts = [
            function(X[rows], X if known is None else known) @ dual
            for rows in row_slices(X.shape[0], dual.shape[0])
        ]
        return np.vstack(parts) if len(parts) > 1 else parts[0]

    def _check_fitted(self) -> None:
        super()._check_fitted()
        weights = self.dual_coef_ if self.coef_ is None else self.coef_
        if not isinstance(weights, np.ndarray) or weights.ndim != 2:
            raise DataError("coef_ or dual_coef_ must be a matrix")
        rows = self.n_features_in_
        if self.coef_ is None and self.kernel != "precomputed":
            known = self.X_fit_
            if known is None or known.shape[1] != rows:
                raise DataError("X_fit_ must hold samples of as many features")
            rows = known.shape[0]
        if weights.shape[0] != rows or weights.shape[1] != self.duality_gap_.size:
            raise DataError("the coefficients do not fit the samples")
        if sp.issparse(weights) or not np.isfinite(weights).all():
            raise DataError("the coefficients hold a number that is not finite")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
