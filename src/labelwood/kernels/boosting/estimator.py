"""Kernel boosting with early stopping, for numbers and for labels."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from labelwood.core.contract import FittedAttributes
from labelwood.core.estimator import LabelEstimator
from labelwood.core.labels import labels_with_samples
from labelwood.core.params import Constraints, OneOf, Real, check_parameters
from labelwood.core.types import CSR, DoubleArray
from labelwood.kernels.boosting.base import KernelBoosting
from labelwood.kernels.boosting.losses import LOSSES, Loss
from labelwood.kernels.functions import Samples
from labelwood.kernels.samples import Targets, check_targets
from labelwood.kernels.scores import check_two_classes, scored_labels


class KernelBoostingRegressor(MultiOutputMixin, RegressorMixin, KernelBoosting):
    """L2-boosting in a kernel space that knows when to stop without a validation set.

    From f = 0 each step is f ← f − α K (f − y), with K = k(x_i, x_j)/n (Yang 2018, eq. (3.9)).
    Early steps fit the function and late ones the noise; the critical radius δ_n of the kernel,
    which follows from its eigenvalues and the noise, tells when to stop.

    Parameters
    ----------
    kernel : {"gaussian", "laplacian", "sobolev", "polynomial", "linear", "precomputed"}
        Divided by its largest value, so that k ≤ 1. The Sobolev kernel Π_j (1 + min(x_j, x'_j))
        is for features in [0, 1].
    gamma : float or None
        As of `KernelRidgeRegressor`.
    degree : int
        Of the polynomial kernel (γ x·x' + coef0)^degree.
    coef0 : float
        Of the polynomial kernel, what is added to γ x·x'.
    stopping : {"theory", "guaranteed", "discrepancy", "cv"} or int
        "theory" is c/(α δ_n²) with a c set once (`boosting.stopping.THEORY_CONSTANT`);
        "guaranteed" the printed ⌊1/(δ_n² max(8, M))⌋, for which the theorem holds and which is
        far too early in practice; "discrepancy" the first step at which the mean squared
        residual of the estimate (averaged or not) is at most σ²; "cv" the best of 5-fold
        cross-validation; a number is a number of steps.
    step : float or None
        α, at most 1/M, which is 1 here (with "guaranteed" at most min(1/M, M)); None takes that.
    average : bool
        Whether the average of all iterates is predicted with, as the theorem has it, or the last.
    sigma : float or None
        Standard deviation of the noise; None estimates it by two pilot fits of ridge regression
        (`boosting.pilot`), as the residual sum of squares over n − tr H.
    norm : float or None
        Hilbert norm of the function, which the printed rules take as 1; None estimates it by
        ridge regression, so that the unit of the targets does not matter.
    n_landmarks : int or None
        Landmarks of the Nyström approximation; None takes all samples up to 3,000 and 500
        landmarks beyond.
    landmarks : {"uniform", "leverage"}
        Drawn uniformly, or by approximate ridge leverage scores.
    max_iter : int
        Limit of steps of all rules.
    random_state : int, SeedSequence, Generator or None
        Of landmarks and folds.
    n_jobs : int or None
        Threads over blocks of outputs; results do not depend on it.

    Attributes
    ----------
    n_iter_ : array of shape (n_outputs,)
    stopping_times_ : array of shape (n_outputs, 4)
        Times of "guaranteed", "theory", "discrepancy", "cv"; −1 where that was not computed or
        not reached. `stopping_report()` prints them, `plot_path()` draws them.
    critical_radius_ : array of shape (n_outputs, 3)
        δ_n of the effective noise, and bounds below and above (equal for exact eigenvalues).
    sigma_, norm_estimate_ : arrays of shape (n_outputs,)
    eigenvalues_ : array
        Of the normalized kernel matrix; `spectrum_kind_` says whether they are exact.
    norm_ : array of shape (n_outputs,)
        Hilbert norm of the fitted function.
    m_, M_, B_ : float
        Strong convexity, smoothness and gradient bound of the loss.
    risk_path_ : array of shape (n_steps, n_outputs)
    dual_coef_, coef_, X_fit_, basis_, gamma_, kernel_scale_, step_, stop_reason_ :
        The function, f(x) = k(x, X_fit_)·dual_coef_ or x·coef_, and how it came about.

    Examples
    --------
    >>> import numpy as np
    >>> from labelwood import KernelBoostingRegressor
    >>> x = np.linspace(0, 1, 100)[:, None]
    >>> y = np.abs(x.ravel() - 0.5) - 0.25 + 0.1 * np.random.default_rng(0).normal(size=100)
    >>> model = KernelBoostingRegressor(kernel="sobolev").fit(x, y)
    >>> float(model.predict([[0.0], [0.5], [1.0]]).round(1)[1])
    -0.2
    """

    _fitted: ClassVar[FittedAttributes] = {**KernelBoosting._fitted, "vector_": bool}

    vector_: bool

    def __init__(
        self,
        *,
        kernel: str = "gaussian",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        stopping: str | int = "theory",
        step: float | None = None,
        average: bool = True,
        sigma: float | None = None,
        norm: float | None = None,
        n_landmarks: int | None = None,
        landmarks: str = "uniform",
        max_iter: int = 10_000,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.stopping = stopping
        self.step = step
        self.average = average
        self.sigma = sigma
        self.norm = norm
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: object, y: object) -> Self:
        """Boost all outputs; `y` is a vector, or a matrix (dense or sparse) of outputs."""
        check_parameters(self, self._constraints)
        samples = self._check_X(X, reset=True)
        Y, self.vector_ = check_targets(self, y, samples.shape[0])
        self._boost(samples, Targets(Y), Loss("squared"), 0.0)
        return self

    def predict(self, X: object) -> DoubleArray:
        """f(x) for each sample, of shape (n,) after a fit on a vector."""
        values = self._values(self._check_X(X))
        return values[:, 0] if self.vector_ else values


class KernelBoostingClassifier(KernelBoosting, LabelEstimator):
    """Boosting of classes or label sets in a kernel space, stopped early.

    From f = 0 each step is f ← f − α K φ'(y, f), with K = k(x_i, x_j)/n (Yang 2018, eq. (3.9)),
    for y = ±1 of each label against the others.

    Parameters
    ----------
    loss : {"logistic", "exponential", "squared"}
        ln(1 + e^{−yf}), whose f estimates the log-odds, e^{−yf}, half of them, or ½(y − f)².
    bound : float
        D, where |f| ≤ D is assumed for the constants m, M, B of Lemma 17; it matters for the
        exponential loss, of which M = e^D: a fit that leaves the bound is refused.
    sigma : float or None
        Standard deviation of the response as 0 or 1, √(mean of p(1 − p)), or of the targets ±1
        for squared loss; None estimates it by a pilot fit.
    kernel : {"gaussian", "laplacian", "sobolev", "polynomial", "linear", "precomputed"}
        As of `KernelBoostingRegressor`.
    gamma : float or None
        As of `KernelRidgeRegressor`.
    degree : int
        Of the polynomial kernel (γ x·x' + coef0)^degree.
    coef0 : float
        Of the polynomial kernel, what is added to γ x·x'.
    stopping : {"theory", "guaranteed", "discrepancy", "cv"} or int
        As of `KernelBoostingRegressor`. "discrepancy" compares the squared residuals of the
        response, of 0 or 1 minus the probability.
    step : float or None
        α, at most 1/M, which is 4 for the logistic loss and e^{−D} for the exponential one;
        None as of `KernelBoostingRegressor`.
    average : bool
        Whether the average of all iterates is predicted with, or the last.
    norm : float or None
        Hilbert norm of the function, as of `KernelBoostingRegressor`.
    n_landmarks : int or None
        Landmarks of the Nyström approximation; None takes all samples up to 3,000 and 500
        landmarks beyond.
    landmarks : {"uniform", "leverage"}
        Drawn uniformly, or by approximate ridge leverage scores.
    max_iter : int
        Limit of steps of all rules.
    random_state : int, SeedSequence, Generator or None
        Of landmarks and folds.
    n_jobs : int or None
        Threads over blocks of labels; results do not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_labels,)
    n_iter_, stopping_times_, critical_radius_, sigma_, norm_estimate_, eigenvalues_, norm_, \
m_, M_, B_, risk_path_, dual_coef_, coef_, X_fit_, basis_, gamma_, kernel_scale_, step_, \
stop_reason_ :
        As of `KernelBoostingRegressor`, for each label (for two classes, the second).

    Examples
    --------
    >>> from labelwood import KernelBoostingClassifier
    >>> X = [[0, 0], [1, 1], [0, 1], [1, 0]] * 10
    >>> model = KernelBoostingClassifier(sigma=0.1).fit(X, ["same", "same", "other", "other"] * 10)
    >>> model.predict([[0, 0], [0, 1]]).tolist()
    ['same', 'other']
    """

    _constraints: ClassVar[Constraints] = {
        **KernelBoosting._constraints,
        "loss": OneOf(*LOSSES),
        "bound": Real(above=0),
    }
    _fitted: ClassVar[FittedAttributes] = {
        **KernelBoosting._fitted,
        "label_has_samples_": (np.bool_, ("labels",)),
    }

    def __init__(
        self,
        *,
        loss: str = "logistic",
        kernel: str = "gaussian",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        stopping: str | int = "theory",
        step: float | None = None,
        average: bool = True,
        sigma: float | None = None,
        norm: float | None = None,
        bound: float = 1.0,
        n_landmarks: int | None = None,
        landmarks: str = "uniform",
        max_iter: int = 10_000,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.loss = loss
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.stopping = stopping
        self.step = step
        self.average = average
        self.sigma = sigma
        self.norm = norm
        self.bound = bound
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: object, y: object) -> Self:
        """Boost every label against the others; all share one kernel."""
        samples, Y = self._begin_fit(X, y)
        check_two_classes(Y, self.multilabel_)
        self.label_has_samples_ = np.zeros(Y.shape[1], dtype=bool)
        self.label_has_samples_[labels_with_samples(Y)] = True
        # Of two classes the second against the first says all.
        columns = Y[:, [1]] if self._two_classes() else Y
        targets = Targets(columns, gain=2.0, shift=-1.0)
        self._boost(samples, targets, Loss(self.loss), float(self.bound))
        return self

    def _two_classes(self) -> bool:
        return not self.multilabel_ and self.classes_.size == 2

    def _score(self, X: Samples, above: float | None = None) -> CSR:
        def values(rows: Samples) -> DoubleArray:
            f = self._values(rows)
            # Halves, because the decision is the difference of both scores.
            return np.hstack([-f, f]) / 2 if self._two_classes() else f

        return scored_labels(values, X, self.label_has_samples_, above)
