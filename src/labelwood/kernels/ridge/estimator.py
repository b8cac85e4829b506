"""Kernel ridge regression, for numbers and for labels."""

from typing import ClassVar, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from labelwood.core.contract import FittedAttributes
from labelwood.core.estimator import LabelEstimator
from labelwood.core.labels import labels_with_samples
from labelwood.core.params import Constraints, check_parameters
from labelwood.core.types import CSR, DoubleArray
from labelwood.kernels.functions import Samples
from labelwood.kernels.ridge.base import KernelRidge
from labelwood.kernels.samples import Targets, check_targets
from labelwood.kernels.scores import check_two_classes, scored_labels


class KernelRidgeRegressor(MultiOutputMixin, RegressorMixin, KernelRidge):
    """Kernel ridge regression in four representations that agree.

    It minimizes (1/n) Σ (f(x_i) − y_i)² + λ‖f‖² (*Topics in Learning Theory*, lecture 8), so
    that `alpha` = λ is 1/n of the `alpha` of scikit-learn's `KernelRidge`.

    Parameters
    ----------
    alpha : float or "auto"
        The penalty λ. "auto" takes the one of least leave-one-out error, in closed form, from
        a grid of 19 values between 1e−8 and 10 times the mean of k(x, x).
    kernel : {"gaussian", "laplacian", "sobolev", "polynomial", "linear", "precomputed"}
        With "precomputed" X is the kernel matrix; in prediction, of new by training samples.
    gamma : float or None
        Of the Gaussian, Laplacian and polynomial kernels. None is 1 / (n_features · variance
        of X) for the Gaussian kernel and 1 / n_features for the others.
    degree : int
        Of the polynomial kernel (γ x·x' + coef0)^degree.
    coef0 : float
        Of the polynomial kernel, what is added to γ x·x'.
    representation : {"auto", "features", "kernel", "dual", "gaussian_process"}
        How it is solved. "auto" takes the cheapest by the numbers of samples and features.
    tol : float
        Conjugate gradient of "dual" ends when the residual is this share of the targets.
    max_iter : int or None
        Its limit of iterations; None is ten times the number of samples.

    Attributes
    ----------
    alpha_, gamma_ : float
    alphas_, loo_errors_ : arrays
        The grid of λ and its mean squared leave-one-out errors (NaN for an `alpha` given).
    representation_ : str
    dual_coef_ : array of shape (n_samples, n_outputs) or None
        Coefficients of k(x, `X_fit_`).
    coef_ : array of shape (n_features, n_outputs) or None
        Weights of the features, for "features" with the linear kernel.
    duality_gap_ : array of shape (n_outputs,)
        Primal minus dual value, ‖(K + λnI)α − Y‖²/n.
    norm_ : array of shape (n_outputs,)
        ‖f‖ in the reproducing kernel Hilbert space.
    transduction_ : array of shape (n_labeled + n_unlabeled, n_outputs) or None
        Values at all samples, after a fit with `X_unlabeled`.
    n_iter_, stop_reason_ :
        Iterations of "dual" (1 for the others), and why it ended.

    Notes
    -----
    Repeated samples make K singular. That leaves "features", "kernel" and "dual" as they are,
    since λn is added to its eigenvalues; "gaussian_process", whose penalty has the inverse of
    K, is solved in the range of K, where repeated samples have equal values.

    Examples
    --------
    >>> from labelwood import KernelRidgeRegressor
    >>> X = [[0.0], [0.25], [0.5], [0.75], [1.0]]
    >>> model = KernelRidgeRegressor(alpha=1e-4, kernel="sobolev").fit(X, [0, 1, 0, -1, 0])
    >>> model.predict([[0.25], [0.75]]).round(2).tolist()
    [1.0, -1.0]
    """

    vector_: bool

    _fitted: ClassVar[FittedAttributes] = {**KernelRidge._fitted, "vector_": bool}

    def fit(self, X: object, y: object, *, X_unlabeled: object = None) -> Self:
        """Fit all outputs; with `X_unlabeled` also set `transduction_`, the values at all samples.

        `y` is a vector, or a matrix (dense or sparse) with a column for each output.
        """
        check_parameters(self, self._constraints)
        samples = self._check_X(X, reset=True)
        Y, self.vector_ = check_targets(self, y, samples.shape[0])
        self._solve(samples, Targets(Y), X_unlabeled)
        return self

    def predict(self, X: object) -> DoubleArray:
        """f(x) for each sample, of shape (n,) after a fit on a vector."""
        values = self._values(self._check_X(X))
        return values[:, 0] if self.vector_ else values


class KernelRidgeClassifier(KernelRidge, LabelEstimator):
    """Kernel ridge regression on targets of −1 and 1, for classes or label sets.

    Parameters
    ----------
    alpha : float or "auto"
        The penalty λ, as of `KernelRidgeRegressor`. "auto" takes one for all labels.
    kernel : {"gaussian", "laplacian", "sobolev", "polynomial", "linear", "precomputed"}
        As of `KernelRidgeRegressor`.
    gamma : float or None
        As of `KernelRidgeRegressor`.
    degree : int
        Of the polynomial kernel (γ x·x' + coef0)^degree.
    coef0 : float
        Of the polynomial kernel, what is added to γ x·x'.
    representation : {"auto", "features", "kernel", "dual", "gaussian_process"}
        How it is solved, as of `KernelRidgeRegressor`.
    tol : float
        Conjugate gradient of "dual" ends when the residual is this share of the targets.
    max_iter : int or None
        Its limit of iterations; None is ten times the number of samples.

    Attributes
    ----------
    classes_ : array of shape (n_labels,)
    alpha_, gamma_, alphas_, loo_errors_, representation_, dual_coef_, coef_, duality_gap_, \
norm_, transduction_, n_iter_, stop_reason_ :
        As of `KernelRidgeRegressor`; `transduction_` holds scores.

    Examples
    --------
    >>> from labelwood import KernelRidgeClassifier
    >>> X = [[0, 0], [1, 1], [0, 1], [1, 0]]  # which no linear classifier separates
    >>> model = KernelRidgeClassifier(alpha=0.01).fit(X, ["same", "same", "other", "other"])
    >>> model.predict([[0, 0.1], [0.9, 0]]).tolist()
    ['same', 'other']
    """

    _constraints: ClassVar[Constraints] = KernelRidge._constraints
    _fitted: ClassVar[FittedAttributes] = {
        **KernelRidge._fitted,
        "label_has_samples_": (np.bool_, ("labels",)),
    }

    def fit(self, X: object, y: object, *, X_unlabeled: object = None) -> Self:
        """Fit all labels with one factorization; `transduction_` as of the regressor."""
        samples, Y = self._begin_fit(X, y)
        check_two_classes(Y, self.multilabel_)
        self.label_has_samples_ = np.zeros(Y.shape[1], dtype=bool)
        self.label_has_samples_[labels_with_samples(Y)] = True
        self._solve(samples, Targets(Y, gain=2.0, shift=-1.0), X_unlabeled)
        return self

    def _score(self, X: Samples, above: float | None = None) -> CSR:
        return scored_labels(self._values, X, self.label_has_samples_, above)
