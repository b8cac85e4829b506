"""What the regressor and the classifier of kernel boosting share."""

import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from labelwood.core.caller import user_stacklevel
from labelwood.core.contract import FittedAttributes, FittedEstimator
from labelwood.core.parallel import blocks, parallel
from labelwood.core.params import (
    N_JOBS,
    RANDOM_STATE,
    Boolean,
    Constraints,
    Integer,
    OneOf,
    Real,
)
from labelwood.core.types import AnyArray, DoubleArray
from labelwood.errors import DataError
from labelwood.kernels.boosting.features import KernelFeatures, make_features, pilot_features
from labelwood.kernels.boosting.losses import Loss
from labelwood.kernels.boosting.path import Path, boost
from labelwood.kernels.boosting.pilot import noise_and_norm
from labelwood.kernels.boosting.stopping import (
    RULES,
    Times,
    check_step,
    cross_validated_times,
    draw_folds,
    theory_times,
)
from labelwood.kernels.critical_radius import CriticalRadius
from labelwood.kernels.functions import KERNEL_CONSTRAINTS, KernelFunction, Samples, row_slices
from labelwood.kernels.nystrom import LANDMARKS
from labelwood.kernels.samples import Targets, check_samples

_OUTPUTS_IN_BLOCK = 16  # labels boosted together by one thread


class KernelBoosting(FittedEstimator):
    """Parameters, path and values of kernel boosting."""

    _constraints: ClassVar[Constraints] = {
        **KERNEL_CONSTRAINTS,
        "stopping": (OneOf(*RULES), Integer(low=1)),
        "step": (Real(above=0), None),
        "average": Boolean(),
        "sigma": (Real(above=0), None),
        "norm": (Real(above=0), None),
        "n_landmarks": (Integer(low=1), None),
        "landmarks": OneOf(*LANDMARKS),
        "max_iter": Integer(low=1),
        "random_state": RANDOM_STATE,
        "n_jobs": N_JOBS,
    }
    _fitted: ClassVar[FittedAttributes] = {
        "gamma_": float,
        "kernel_scale_": float,
        "step_": float,
        "sigma_": (np.float64, (None,)),
        "norm_estimate_": (np.float64, (None,)),
        "critical_radius_": (np.float64, (None, 3)),
        "stopping_times_": (np.int64, (None, 4)),
        "n_iter_": (np.int64, (None,)),
        "norm_": (np.float64, (None,)),
        "risk_path_": (np.float64, (None, None)),
        "eigenvalues_": (np.float64, (None,)),
        "m_": float,
        "M_": float,
        "B_": float,
        "stop_reason_": str,
    }

    X_fit_: Samples | None
    coef_: DoubleArray | None
    dual_coef_: DoubleArray | None
    n_iter_: AnyArray
    kernel: str
    gamma: float | None
    degree: int
    coef0: float
    stopping: str | int
    step: float | None
    average: bool
    sigma: float | None
    norm: float | None
    n_landmarks: int | None
    landmarks: str
    max_iter: int
    random_state: Any
    n_jobs: int | None

    def _check_X(self, X: object, *, reset: bool = False) -> Any:
        return check_samples(self, X, reset=reset)

    def _boost(self, X: Samples, targets: Targets, loss: Loss, bound: float) -> None:
        """Fit all outputs on one set of features, and set the fitted attributes."""
        function = KernelFunction.of(self, X).bounded_by_one(X)
        constants = loss.constants(bound)
        step = check_step(type(self).__name__, self.step, constants.M, self.stopping)
        features = make_features(function, X, self.n_landmarks, self.landmarks, self.random_state)
        deviation, norm = self._noise(features, function, X, targets, loss)
        times = theory_times(
            features.spectrum,
            loss,
            deviation,
            norm,
            step=step,
            M=constants.M,
            average=self.average,
        )
        paths = self._run_blocks(features, targets, loss, step, times, deviation, bound)
        self.gamma_, self.kernel_scale_ = function.gamma, function.scale
        self.step_ = step
        self.m_, self.M_, self.B_ = constants
        self.sigma_, self.norm_estimate_ = deviation, norm
        self.eigenvalues_ = features.spectrum.eigenvalues
        self.spectrum_tail_, self.spectrum_kind_ = features.spectrum.tail, features.spectrum.kind
        self.critical_radius_ = np.array(
            [(r.delta, r.lower, r.upper) for r in times.radii]
        ).reshape(-1, 3)
        self.n_samples_ = X.shape[0]
        self._set_paths(features, X, paths, times)

    def _noise(
        self,
        features: KernelFeatures,
        function: KernelFunction,
        X: Samples,
        targets: Targets,
        loss: Loss,
    ) -> tuple[DoubleArray, DoubleArray]:
        """Deviation of the responses and norm of the function, as given or as estimated."""
        Z, spectrum = pilot_features(features, function, X)
        found, norms = [np.empty(0)], [np.empty(0)]
        # Targets of −1 and 1 are twice as far apart as the responses 0 and 1.
        spread = 1.0 if loss.name == "squared" else 2.0
        given = None if self.sigma is None else spread * float(self.sigma)
        for columns in targets.slices():
            deviation, norm = noise_and_norm(Z, spectrum, targets.block(columns), given)
            found.append(deviation / spread)
            norms.append(norm)
        deviation, norm = np.concatenate(found), np.concatenate(norms)
        if self.sigma is None and loss.name != "squared":
            deviation = np.clip(deviation, 0.02, 0.5)
        if loss.name == "logistic":
            norm = 2 * norm  # near p = ½ the log-odds are twice 2p − 1, and half of them once
        return deviation, norm if self.norm is None else np.full(norm.size, float(self.norm))

    def _run_blocks(
        self,
        features: KernelFeatures,
        targets: Targets,
        loss: Loss,
        step: float,
        times: Times,
        deviation: DoubleArray,
        bound: float,
    ) -> list[tuple[Path, AnyArray | None]]:
        """The paths of blocks of outputs; threads share the features."""
        # Before the threads start: in them a generator would be advanced by whichever comes first.
        folds = draw_folds(targets.shape[0], self.random_state) if self.stopping == "cv" else []

        def run(outputs: range) -> tuple[Path, AnyArray | None]:
            columns = slice(outputs.start, outputs.stop)
            Y = targets.block(columns)
            cross_validated = None
            if self.stopping == "cv":
                cross_validated = cross_validated_times(
                    features,
                    Y,
                    loss,
                    step,
                    average=self.average,
                    max_iter=int(self.max_iter),
                    folds=folds,
                )
            wanted = {
                "guaranteed": times.guaranteed[columns],
                "theory": times.theory[columns],
                "cv": cross_validated,
                "discrepancy": None,
            }
            until = (
                wanted[self.stopping]
                if isinstance(self.stopping, str)
                else np.full(len(outputs), int(self.stopping))
            )
            variance = np.square(deviation[columns])
            limit = int(self.max_iter) if isinstance(self.stopping, str) else int(self.stopping)
            path = boost(
                features, Y, loss, step, until, variance, limit, average=self.average, bound=bound
            )
            return path, cross_validated

        outputs = blocks(targets.shape[1], _OUTPUTS_IN_BLOCK)
        return parallel(run, outputs, n_jobs=self.n_jobs, description="boosting")

    def _set_paths(
        self,
        features: KernelFeatures,
        X: Samples,
        paths: list[tuple[Path, AnyArray | None]],
        times: Times,
    ) -> None:
        n_outputs = times.theory.size
        rank = features.Z.shape[1]
        weights = [path.mean if self.average else path.last for path, _ in paths]
        w = np.hstack([np.empty((rank, 0)), *weights])
        self.norm_ = np.linalg.norm(w, axis=0)
        self.coef_ = self.dual_coef_ = self.X_fit_ = None
        if features.expansion is None:
            self.coef_ = w / np.sqrt(self.kernel_scale_)
        else:
            self.dual_coef_ = features.expansion @ w
            if self.kernel != "precomputed":
                self.X_fit_ = X[features.basis]
        self.basis_ = np.empty(0, dtype=np.int64) if features.basis is None else features.basis
        none = np.full(_OUTPUTS_IN_BLOCK, -1, dtype=np.int64)
        empty = np.empty(0, dtype=np.int64)
        self.n_iter_ = np.concatenate([empty, *(path.n_steps for path, _ in paths)])
        discrepancy = np.concatenate([empty, *(path.discrepancy for path, _ in paths)])
        cv = np.concatenate(
            [empty, *(none[: p.n_steps.size] if t is None else t for p, t in paths)]
        )
        self.stopping_times_ = np.column_stack([times.guaranteed, times.theory, discrepancy, cv])
        longest = max((path.risks.shape[0] for path, _ in paths), default=0)
        self.risk_path_ = np.full((longest, n_outputs), np.nan)
        at = 0
        for path, _ in paths:
            width = path.risks.shape[1]
            self.risk_path_[: path.risks.shape[0], at : at + width] = path.risks
            at += width
        self._set_stop_reason()

    def _set_stop_reason(self) -> None:
        self.stop_reason_ = f"stopping={self.stopping!r}"
        if not isinstance(self.stopping, str):
            return
        rule = self.stopping_times_[:, RULES.index(self.stopping)]
        unmet = (rule < 0) | (rule > self.n_iter_)
        if self.stopping == "cv":  # a least loss at the limit may not be the least
            unmet |= rule == self.max_iter
        late = int(unmet.sum())
        if late:
            self.stop_reason_ = (
                f"iteration limit ({self.max_iter}) for {late} of {rule.size} outputs before "
                f"stopping={self.stopping!r} was met; raise max_iter or step"
            )
            warnings.warn(self.stop_reason_, ConvergenceWarning, stacklevel=user_stacklevel())

    def stopping_report(self, output: int = 0) -> str:
        """Noise, critical radius and all stopping times of one output, as a block of text."""
        how = "given" if self.sigma is not None else "estimated by a pilot ridge fit"
        norm = "given" if self.norm is not None else "estimated by a pilot ridge fit"
        delta, low, high = np.square(self.critical_radius_[output])
        bounds = "" if low == high else f" (between {low:.4g} and {high:.4g})"
        lines = [
            f"sigma     {self.sigma_[output]:.4g}, {how}",
            f"norm      {self.norm_estimate_[output]:.4g}, {norm}",
            f"delta_n²  {delta:.4g}{bounds}",
            f"step      {self.step_:.4g} of at most {1 / self.M_:.4g}",
        ]
        for rule, time in zip(RULES, self.stopping_times_[output], strict=True):
            missing = "not reached" if rule == "discrepancy" else "not computed"
            lines.append(f"{rule:<12}{int(time) if time > 0 else missing}")
        return "\n".join([*lines, f"stopped at {int(self.n_iter_[output])}: {self.stop_reason_}"])

    def plot_path(self, ax: Any = None, output: int = 0) -> Any:
        """Draw the training risk of an output against the steps, with all stopping times."""
        from labelwood.kernels.boosting.plot import draw_path

        return draw_path(self, ax, output)

    def radius(self, output: int = 0) -> CriticalRadius:
        """The critical radius of an output, with its bounds."""
        delta, low, high = (float(one) for one in self.critical_radius_[output])
        return CriticalRadius(delta, low, high, self.n_samples_, float(self.sigma_[output]))

    def _values(self, X: Samples) -> DoubleArray:
        """f(x) of all outputs for each row of `X`."""
        if self.coef_ is not None:
            return np.asarray(X @ self.coef_)
        function = KernelFunction(
            self.kernel, self.gamma_, int(self.degree), float(self.coef0), self.kernel_scale_
        )
        dual, known = np.asarray(self.dual_coef_), self.X_fit_
        parts = []
        for rows in row_slices(X.shape[0], dual.shape[0]):
            block = X[rows]
            values = function(block[:, self.basis_] if known is None else block, known)
            parts.append(values @ dual)
        return np.vstack(parts) if len(parts) > 1 else parts[0]

    def _check_fitted(self) -> None:
        super()._check_fitted()
        weights = self.dual_coef_ if self.coef_ is None else self.coef_
        if not isinstance(weights, np.ndarray) or weights.ndim != 2:
            raise DataError("coef_ or dual_coef_ must be a matrix")
        rows = self.n_features_in_ if self.coef_ is not None else self.basis_.size
        if self.coef_ is None and self.kernel != "precomputed":
            known = self.X_fit_
            if known is None or known.shape != (rows, self.n_features_in_):
                raise DataError("X_fit_ must hold the samples of basis_")
        elif self.coef_ is None and rows and self.basis_.max() >= self.n_features_in_:
            raise DataError("basis_ names a sample that does not exist")
        if weights.shape != (rows, self.n_iter_.size) or not np.isfinite(weights).all():
            raise DataError("the coefficients do not fit the samples")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
