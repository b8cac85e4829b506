"""When to stop: the rules, their times, and cross-validation of the path."""

from typing import NamedTuple

import numpy as np

from labelwood.core.random import seed_sequence
from labelwood.core.types import AnyArray, DoubleArray
from labelwood.errors import ParameterError
from labelwood.kernels.boosting.features import KernelFeatures
from labelwood.kernels.boosting.losses import Loss
from labelwood.kernels.critical_radius import (
    CriticalRadius,
    critical_radius,
    guaranteed_time,
    stopping_time,
)
from labelwood.kernels.spectrum import Spectrum

RULES = ("guaranteed", "theory", "discrepancy", "cv")

# c of the time c/(α h δ_n²), for the last iterate and for the average of all, which lags behind.
# Set once, on simulations with the Sobolev and the Gaussian kernel (n = 200, 800, 1,600; two sines,
# a line, a bump, a constant and a jump, none of them a function of the studies; signals of 0.2 to
# 2 times the noise): the constant of least mean logarithm of the error over that of the best
# iterate, which is 1.37 for the average. With the targets' root mean square in place of the norm
# it was 2.0 at best.
THEORY_CONSTANT = {False: 0.5, True: 1.25}
_LEAST_RATIO = 0.03  # of the noise to the norm: below it the data are as good as free of noise
_N_FOLDS = 5


class Times(NamedTuple):
    """What is known of the stopping times before boosting starts, for each output."""

    radii: list[CriticalRadius]
    guaranteed: AnyArray
    theory: AnyArray


def theory_times(
    spectrum: Spectrum,
    loss: Loss,
    deviation: DoubleArray,
    norm: DoubleArray,
    *,
    step: float,
    M: float,
    average: bool,
) -> Times:
    """Critical radii and the times that follow from them.

    A function of norm ρ with noise σ is one of norm 1 with noise σ/ρ. Near its minimum a loss
    of curvature h and gradient noise σ is squared error with noise σ/h, run at the step α h.
    """
    sigma, curvature = loss.noise(deviation)
    radii, guaranteed, theory = [], [], []
    known: dict[float, CriticalRadius] = {}
    for s, h, rho in zip(sigma, curvature, norm, strict=True):
        effective = max(float(s / h / max(rho, 1e-6)), _LEAST_RATIO)
        if effective not in known:
            known[effective] = critical_radius(spectrum, spectrum.n, effective)
        radius = known[effective]
        radii.append(radius)
        guaranteed.append(guaranteed_time(radius, M))
        theory.append(
            stopping_time(radius, step=step, curvature=float(h), constant=THEORY_CONSTANT[average])
        )
    return Times(radii, np.array(guaranteed, dtype=np.int64), np.array(theory, dtype=np.int64))


def check_step(owner: str, step: float | None, M: float, stopping: object) -> float:
    """The step size, checked against the smoothness M of the loss.

    Every step up to 1/M lowers the loss (Yang 2018, Lemma 14); the guarantee of Theorem 3 needs
    α ≤ min(1/M, M) as well. The kernel is at most 1, so that K has no eigenvalue above 1.
    """
    largest = min(1 / M, M) if stopping == "guaranteed" else 1 / M
    if step is None:
        return largest
    if step > largest * (1 + 1e-12):
        why = "min(1/M, M) of Theorem 3" if stopping == "guaranteed" else "1/M"
        raise ParameterError(
            f"The 'step' parameter of {owner} must be at most {largest:.6g}, which is {why} for "
            f"this loss (M = {M:.6g}). Got {step:g} instead."
        )
    return float(step)


def draw_folds(n: int, random_state: object) -> list[AnyArray]:
    """Five folds of the samples, the same for all outputs."""
    rng = np.random.default_rng(seed_sequence(random_state))
    return np.array_split(rng.permutation(n), min(_N_FOLDS, n))


def cross_validated_times(
    features: KernelFeatures,
    Y: DoubleArray,
    loss: Loss,
    step: float,
    *,
    average: bool,
    max_iter: int,
    folds: list[AnyArray],
) -> AnyArray:
    """For each output the number of steps of least held-out loss, summed over the folds."""
    n = Y.shape[0]

    def held_out(rows: AnyArray) -> DoubleArray:
        rest = np.setdiff1d(np.arange(n), rows)
        Z, Z_held = features.Z[rest], features.Z[rows]
        w = np.zeros((Z.shape[1], Y.shape[1]))
        f, f_sum = np.zeros((rest.size, Y.shape[1])), np.zeros((rows.size, Y.shape[1]))
        losses = np.empty((max_iter, Y.shape[1]))
        for t in range(max_iter):
            w = w - (step / rest.size) * (Z.T @ loss.gradient(Y[rest], f))
            f = Z @ w
            f_held = Z_held @ w
            f_sum += f_held
            value = loss.value(Y[rows], f_sum / (t + 1) if average else f_held)
            losses[t] = value.sum(axis=0)
        return losses

    total = sum(map(held_out, folds))
    return np.asarray(np.argmin(total, axis=0) + 1, dtype=np.int64)
