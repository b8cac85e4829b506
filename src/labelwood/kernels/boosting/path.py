"""The path of kernel boosting: w ← w − (α/n) Zᵀφ'(y, Zw), stopped for each output on its own."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from labelwood.core.types import AnyArray, DoubleArray
from labelwood.errors import DataError
from labelwood.kernels.boosting.features import KernelFeatures
from labelwood.kernels.boosting.losses import Loss

# From so many features are read as float32, because they come from memory at every step. On a9a
# (16 million) that took 69 s of CPU time in place of 99 s, and the test error was the same.
_SINGLE_PRECISION_CELLS = 4_000_000


class Path(NamedTuple):
    """Where a block of outputs stopped.

    Attributes
    ----------
    last, mean : arrays of shape (rank, n_outputs)
        Weights after the last step, and their average over all steps.
    n_steps : array of int
    discrepancy : array of int
        The first step whose mean squared residual is at most the variance of the noise, −1 if
        none was.
    risks : array of shape (longest, n_outputs)
        Mean squared residual after each step, NaN after an output has stopped.
    """

    last: DoubleArray
    mean: DoubleArray
    n_steps: AnyArray
    discrepancy: AnyArray
    risks: DoubleArray


def boost(
    features: KernelFeatures,
    Y: DoubleArray,
    loss: Loss,
    step: float,
    times: AnyArray | None,
    variance: DoubleArray,
    max_iter: int,
    *,
    average: bool = False,
    bound: float = np.inf,
) -> Path:
    """Run all columns of `Y` until their `times`, or with None until the discrepancy is met.

    With `average` the risks, and so the discrepancy, are those of the averaged iterates.
    """
    n_outputs = Y.shape[1]
    if loss.name == "squared" and features.orthogonal:
        advance, rank = _squared_steps(features, Y, step, average)
    else:
        advance, rank = _general_steps(features, Y, loss, step, average, bound)
    until = np.full(n_outputs, max_iter) if times is None else np.minimum(times, max_iter)
    w, total = np.zeros((rank, n_outputs)), np.zeros((rank, n_outputs))
    last, mean = np.zeros_like(w), np.zeros_like(w)
    n_steps = np.zeros(n_outputs, dtype=np.int64)
    met = np.full(n_outputs, -1, dtype=np.int64)
    risks: list[DoubleArray] = []
    active = np.arange(n_outputs)
    for t in range(1, int(until.max(initial=0)) + 1):
        w, total, risk = advance(w, total, t, active)
        row = np.full(n_outputs, np.nan)
        row[active] = risk
        risks.append(row)
        reached = (risk <= variance[active]) & (met[active] < 0)
        met[active[reached]] = t
        done = reached | (until[active] == t) if times is None else until[active] == t
        if done.any():
            stopped = active[done]
            last[:, stopped], mean[:, stopped] = w[:, done], total[:, done] / t
            n_steps[stopped] = t
            w, total, active = w[:, ~done], total[:, ~done], active[~done]
            if active.size == 0:
                break
    return Path(last, mean, n_steps, met, np.array(risks).reshape(-1, n_outputs))


Advance = Callable[
    [DoubleArray, DoubleArray, int, AnyArray], tuple[DoubleArray, DoubleArray, DoubleArray]
]
"""(w, sum of all w, step number, active outputs) → the next w, the new sum, and the risks."""


def _squared_steps(
    features: KernelFeatures, Y: DoubleArray, step: float, average: bool
) -> tuple[Advance, int]:
    """Squared error on orthogonal features: every weight goes its own way to its end."""
    mu = features.spectrum.eigenvalues[:, None]
    n = Y.shape[0]
    end = (features.Z.T @ Y) / n / np.where(mu > 0, mu, 1)
    beyond = np.square(Y).mean(axis=0) - (mu * np.square(end)).sum(axis=0)

    def advance(
        w: DoubleArray, total: DoubleArray, t: int, active: AnyArray
    ) -> tuple[DoubleArray, DoubleArray, DoubleArray]:
        goal = end[:, active]
        w = w + step * mu * (goal - w)
        total = total + w
        estimate = total / t if average else w
        return w, total, beyond[active] + (mu * np.square(goal - estimate)).sum(axis=0)

    return advance, int(mu.size)


def _general_steps(
    features: KernelFeatures, Y: DoubleArray, loss: Loss, step: float, average: bool, bound: float
) -> tuple[Advance, int]:
    Z = features.Z
    n, rank = Z.shape
    if isinstance(Z, np.ndarray) and n * rank > _SINGLE_PRECISION_CELLS:
        Z = Z.astype(np.float32)
    # The values after a step are those before the next one, so that each step multiplies once
    # by Z and once by its transpose.
    values = {"f": np.zeros_like(Y), "sum": np.zeros_like(Y)}
    known = [np.arange(Y.shape[1])]

    def advance(
        w: DoubleArray, total: DoubleArray, t: int, active: AnyArray
    ) -> tuple[DoubleArray, DoubleArray, DoubleArray]:
        if active.size < known[0].size:
            kept = np.isin(known[0], active)
            values["f"], values["sum"] = values["f"][:, kept], values["sum"][:, kept]
            known[0] = active
        y = Y[:, active]
        gradient = loss.gradient(y, values["f"]).astype(Z.dtype, copy=False)
        w = w - (step / n) * np.asarray(Z.T @ gradient, dtype=np.float64)
        f = np.asarray(Z @ w.astype(Z.dtype, copy=False), dtype=np.float64)
        if loss.name == "exponential" and (-y * f).max() > bound:
            raise DataError(
                f"Boosting left |f| ≤ {bound:g}, on which the step is safe for the exponential "
                "loss; raise bound, or use loss='logistic'."
            )
        values["f"] = f
        values["sum"] += f
        estimate = values["sum"] / t if average else f
        return w, total + w, np.square(loss.residual(y, estimate)).mean(axis=0)

    return advance, int(rank)
