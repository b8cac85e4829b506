"""The losses of kernel boosting: gradients, constants, and what their noise is."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from labelwood.core.types import DoubleArray

LOSSES = ("squared", "logistic", "exponential")


class LossConstants(NamedTuple):
    """Strong convexity m, smoothness M and gradient bound B where |f| ≤ D (Yang 2018, Lemma 17)."""

    m: float
    M: float
    B: float


@dataclass(frozen=True)
class Loss:
    """A loss φ(y, f) of targets y: numbers, or −1 and 1 for the losses of classification.

    Attributes
    ----------
    name : {"squared", "logistic", "exponential"}
        ½(y − f)², ln(1 + e^{−yf}) or e^{−yf}. The minimizer of the logistic loss is the
        log-odds, that of the exponential loss half of them.
    trials : int
        The logistic loss of y = 2s − N is the *sum* over N trials with s successes.

    Examples
    --------
    >>> Loss("logistic").gradient(np.array([1.0, -1.0]), np.zeros(2)).tolist()
    [-0.5, 0.5]
    """

    name: str
    trials: int = 1

    def gradient(self, y: DoubleArray, f: DoubleArray) -> DoubleArray:
        """The derivative φ' by f."""
        if self.name == "squared":
            return f - y
        if self.name == "logistic":
            return self.trials * expit(f) - (y + self.trials) / 2
        return -y * np.exp(-y * f)

    def value(self, y: DoubleArray, f: DoubleArray) -> DoubleArray:
        """φ(y, f), summed over the trials."""
        if self.name == "squared":
            return np.square(y - f) / 2
        if self.name == "logistic":
            return self.trials * np.logaddexp(0, -f) + (self.trials - y) / 2 * f
        return np.exp(-y * f)

    def residual(self, y: DoubleArray, f: DoubleArray) -> DoubleArray:
        """What the response is off its expectation, as a number or a number of successes."""
        if self.name == "squared":
            return y - f
        scale = 2.0 if self.name == "exponential" else 1.0
        return (y + self.trials) / 2 - self.trials * expit(scale * f)

    def constants(self, D: float) -> LossConstants:
        """m, M and B of Yang 2018, Lemma 17, for |f| ≤ D."""
        if self.name == "squared":
            return LossConstants(1.0, 1.0, np.inf)
        if self.name == "logistic":
            m = self.trials / (np.exp(D) + np.exp(-D) + 2)
            return LossConstants(float(m), self.trials / 4, float(self.trials))
        return LossConstants(float(np.exp(-D)), float(np.exp(D)), float(np.exp(D)))

    def noise(self, deviation: DoubleArray) -> tuple[DoubleArray, DoubleArray]:
        """σ, the deviation of φ'(Y, f*), and the curvature E φ'' there, by that of the response.

        With p the probability of success, the response of one trial has variance p(1 − p). The
        gradient of the logistic loss has the same, and its curvature is p(1 − p). At half the
        log-odds the gradient of the exponential loss has variance 1 and curvature 2√(p(1 − p)).
        """
        if self.name == "squared":
            return deviation, np.ones_like(deviation)
        if self.name == "logistic":
            return deviation, np.square(deviation)
        return np.ones_like(deviation), 2 * deviation
