"""What a sequence of experiments found and missed: Yang 2018, eqs. (4.7) to (4.10)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelwood.core import params
from labelwood.core.types import DoubleArray
from labelwood.errors import DataError
from labelwood.experiments.simulation import numbers


def best_arms(means: ArrayLike, *, epsilon: float = 0.0, control: int = 0) -> list[int]:
    """S* of eq. (4.7): the treatments that an experiment may rightly end with.

    Those within ε of the best arm that are more than ε above the control; empty where the null
    hypothesis is true.

    Examples
    --------
    >>> best_arms([0.1, 0.5, 0.45, 0.2], epsilon=0.1)
    [1, 2]
    >>> best_arms([0.5, 0.5])
    []
    """
    mu = numbers(means)
    if mu.ndim != 1 or mu.size < 2 or not np.isfinite(mu).all():
        raise DataError(
            f"means must hold a finite number for each of at least 2 arms. Got {means!r}."
        )
    params.check_parameter("best_arms", "epsilon", epsilon, params.Real(low=0))
    arms = params.Integer(low=0, high=mu.size - 1)
    params.check_parameter("best_arms", "control", control, arms)
    right = (mu >= mu.max() - epsilon) & (mu > mu[control] + epsilon)
    return [int(arm) for arm in np.flatnonzero(right) if arm != control]


def best_arm_discovery_rate(
    rejected: ArrayLike,
    winners: ArrayLike,
    means: Sequence[ArrayLike],
    *,
    epsilon: float = 0.0,
    control: int = 0,
) -> float:
    """εBDR(J) of eq. (4.9): experiments with an effect that end with an arm of S*.

    Parameters
    ----------
    rejected : bool array of shape (runs, experiments)
    winners : int array of shape (runs, experiments)
        The arm in whose favor; any number where nothing was rejected.
    means : sequence of arrays
        The arms of each experiment.
    epsilon, control
        As for `best_arms`.

    Examples
    --------
    >>> best_arm_discovery_rate([[True, True]], [[1, 0]], [[0.1, 0.5], [0.2, 0.6]])
    0.5
    """
    R, arms = _table("rejected", rejected), np.atleast_2d(np.asarray(winners))
    right = [best_arms(one, epsilon=epsilon, control=control) for one in means]
    if R.shape != arms.shape or R.shape[1] != len(right):
        raise DataError(
            f"rejected {R.shape} and winners {arms.shape} must have a column for each of "
            f"{len(right)} experiments"
        )
    effects = [j for j, one in enumerate(right) if one]
    if not effects:
        raise DataError("no experiment has an effect, so that there is nothing to discover")
    found = [R[:, j] & np.isin(arms[:, j], right[j]) for j in effects]
    return float(np.mean(found))


def false_discovery_proportion(rejected: ArrayLike, effects: ArrayLike) -> DoubleArray:
    """FDP(J), of shape (runs, experiments): false discoveries among those up to each J.

    Its mean over the runs is FDR(J), eq. (4.8).

    Examples
    --------
    >>> false_discovery_proportion([[True, True, False]], [True, False, False]).tolist()
    [[0.0, 0.5, 0.5]]
    """
    R, H1 = _pair(rejected, effects)
    false = np.cumsum(R & ~H1, axis=1)
    return np.asarray(false / np.maximum(np.cumsum(R, axis=1), 1))


def false_discovery_rate(rejected: ArrayLike, effects: ArrayLike) -> DoubleArray:
    """FDR(J) of eq. (4.8), for every J: the mean over the runs of the false proportion.

    Examples
    --------
    >>> false_discovery_rate([[True, True], [False, False]], [True, False]).tolist()
    [0.0, 0.25]
    """
    return np.asarray(false_discovery_proportion(rejected, effects).mean(axis=0))


def modified_false_discovery_rate(
    rejected: ArrayLike, effects: ArrayLike, *, plus_one: bool = True
) -> DoubleArray:
    """mFDR(J) of eq. (4.8), for every J: the ratio of expected numbers.

    Parameters
    ----------
    rejected : bool array of shape (runs, experiments)
    effects : bool array of shape (experiments,)
        Where the null hypothesis is false.
    plus_one : bool
        Whether the denominator has the "+ 1" of (4.8), which Table 4.1 leaves out. Without it,
        zero where nothing was discovered in any run.

    Examples
    --------
    >>> modified_false_discovery_rate([[True, True]], [True, False]).round(3).tolist()
    [0.0, 0.333]
    """
    R, H1 = _pair(rejected, effects)
    false = np.cumsum(R & ~H1, axis=1).mean(axis=0)
    found = np.cumsum(R, axis=1).mean(axis=0)
    return np.asarray(false / (found + 1) if plus_one else false / np.where(found > 0, found, 1))


def guaranteed_discovery_rate(
    levels: ArrayLike, effects: ArrayLike, *, epsilon: float = 0.0
) -> float:
    """The right side of eq. (4.10): the mean of 1 − α_j over the experiments with an effect.

    It holds without truncation. For ε > 0 an experiment with evidence "bounds" ends with a
    right arm with probability 1 − 3α_j/2 only (docs/research/experiments.md), which is used then.

    Examples
    --------
    >>> round(guaranteed_discovery_rate([0.02, 0.04], [True, False]), 3)
    0.98
    >>> round(guaranteed_discovery_rate([0.02, 0.04], [True, False], epsilon=0.1), 3)
    0.97
    """
    params.check_parameter("guaranteed_discovery_rate", "epsilon", epsilon, params.Real(low=0))
    alpha = np.atleast_2d(numbers(levels))
    H1 = np.asarray(effects, bool)
    if H1.shape != (alpha.shape[1],) or not H1.any():
        raise DataError(
            f"effects must have a value for each of {alpha.shape[1]} experiments, one of them true"
        )
    if not ((alpha >= 0) & (alpha <= 1)).all():
        raise DataError("levels lie between 0 and 1")
    wrong = alpha[:, H1] * (1.5 if epsilon > 0 else 1.0)
    return float(np.mean(1 - np.minimum(wrong, 1)))


def _pair(rejected: ArrayLike, effects: ArrayLike) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    R, H1 = _table("rejected", rejected), np.asarray(effects)
    if H1.dtype != bool or H1.shape != (R.shape[1],):
        raise DataError(f"effects must be a bool for each of {R.shape[1]} experiments")
    return R, H1


def _table(name: str, values: ArrayLike) -> NDArray[np.bool_]:
    table = np.atleast_2d(np.asarray(values))
    if table.dtype != bool or table.ndim != 2:
        raise DataError(f"{name} must be bools of shape (runs, experiments). Got {table.dtype}.")
    return table
