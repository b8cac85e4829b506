"""The hidden chain: its parameters, their update, and its stationary distribution."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from labelwood.core.types import DoubleArray
from labelwood.errors import DataError, ParameterError

_SUM_TOLERANCE = 1e-6  # by which a given distribution may miss a sum of one
_TINY = 1e-300
_STAY = 0.5  # probability of staying that a start begins with, before random numbers add to it


@dataclass(frozen=True, eq=False)
class Chain:
    """Start probabilities (s,) and transition probabilities (s, s), rows from, columns to."""

    start: DoubleArray
    transition: DoubleArray

    @property
    def n_states(self) -> int:
        """Number of states."""
        return self.start.size

    def stationary(self) -> DoubleArray:
        """The stationary distribution: the solution of π = πA with sum one."""
        return stationary_distribution(self.transition)

    def log_start(self) -> DoubleArray:
        """Logarithms of the start probabilities, −inf for zero."""
        with np.errstate(divide="ignore"):
            return np.log(self.start)

    def log_transition(self) -> DoubleArray:
        """Logarithms of the transition probabilities, −inf for zero."""
        with np.errstate(divide="ignore"):
            return np.log(self.transition)

    def maximized(self, starts: DoubleArray, pairs: DoubleArray, *, stationary: bool) -> Self:
        """The M-step, given sums of first posteriors and of pair posteriors.

        With `stationary` the start probabilities are a function of the transitions, and both
        terms are maximized together, numerically.
        """
        transition = _normalized_rows(pairs, self.transition)
        if not stationary:
            total = starts.sum()
            return type(self)(starts / total if total > 0 else self.start, transition)
        best = _maximize_stationary(starts, pairs, (self.transition, transition))
        return type(self)(stationary_distribution(best), best)

    def distance(self, other: Self) -> float:
        """Largest difference of a transition probability."""
        return float(np.abs(self.transition - other.transition).max())

    def permuted(self, order: Any) -> Self:
        """The same chain with its states in another order."""
        return type(self)(self.start[order], self.transition[np.ix_(order, order)])


def random_chain(n_states: int, rng: np.random.Generator) -> Chain:
    """A chain to start from: it tends to stay, with random transitions beside that."""
    random = rng.dirichlet(np.ones(n_states), n_states)
    transition = _STAY * np.eye(n_states) + (1 - _STAY) * random
    return Chain(np.full(n_states, 1 / n_states), transition)


def checked_chain(start: object, transition: object, n_states: int) -> Chain:
    """A chain of given probabilities, or an error that names the row that is wrong."""
    A = as_numbers(transition)
    if A is None:
        raise ParameterError(f"transition probabilities must be numbers. Got {transition!r}.")
    if A.shape != (n_states, n_states):
        raise ParameterError(
            f"transition probabilities must have the shape {(n_states, n_states)}. "
            f"Got {A.shape} instead."
        )
    for i, row in enumerate(A):
        _check_distribution(row, f"row {i} of the transition probabilities")
    if start is None:
        return Chain(stationary_distribution(A), A)
    pi = as_numbers(start)
    if pi is None:
        raise ParameterError(f"start probabilities must be numbers. Got {start!r} instead.")
    if pi.shape != (n_states,):
        raise ParameterError(
            f"start probabilities must have the shape {(n_states,)}. Got {pi.shape} instead."
        )
    _check_distribution(pi, "the start probabilities")
    return Chain(pi, A)


def as_numbers(values: object) -> DoubleArray | None:
    """A new array of doubles; None when the values are no numbers, or rows of different lengths.

    Examples
    --------
    >>> as_numbers([[1.0], [0.5, 0.5]]) is None
    True
    """
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        return None


def _check_distribution(values: DoubleArray, what: str) -> None:
    if not np.isfinite(values).all() or (values < 0).any():
        raise ParameterError(f"{what} must be numbers ≥ 0. Got {values.tolist()} instead.")
    if abs(values.sum() - 1) > _SUM_TOLERANCE:
        raise ParameterError(
            f"{what} must sum to 1. They sum to {values.sum():g}: {values.tolist()}."
        )


def stationary_distribution(transition: DoubleArray) -> DoubleArray:
    """The solution of π = πA with sum one (of least norm where there are several).

    Examples
    --------
    >>> stationary_distribution(np.array([[0.9, 0.1], [0.3, 0.7]])).round(6).tolist()
    [0.75, 0.25]
    """
    s = transition.shape[0]
    system = np.vstack([transition.T - np.eye(s), np.ones(s)])
    right = np.zeros(s + 1)
    right[-1] = 1
    pi: DoubleArray = np.linalg.lstsq(system, right, rcond=None)[0]
    pi = np.maximum(pi, 0)
    if not pi.sum() > 0:
        raise DataError(f"the transition probabilities {transition.tolist()} have no stationary "
                        "distribution")  # fmt: skip
    return pi / pi.sum()


def _normalized_rows(pairs: DoubleArray, fallback: DoubleArray) -> DoubleArray:
    """Rows of sum one; a state that is never left keeps its row, on which nothing depends."""
    totals = pairs.sum(axis=1, keepdims=True)
    return np.where(totals > _TINY, pairs / np.maximum(totals, _TINY), fallback)


def _stationary_objective(
    starts: DoubleArray, pairs: DoubleArray, A: DoubleArray
) -> tuple[float, DoubleArray]:
    """Σ_k starts_k log π_k(A) + Σ_ij pairs_ij log A_ij, and its gradient in log A.

    ∂π = π ∂A Z with the fundamental matrix Z = (I − A + 1π)⁻¹ (Kemeny & Snell 1960).
    """
    pi = np.maximum(stationary_distribution(A), _TINY)
    # A chain that falls apart has several stationary distributions, and Z no plain inverse.
    Z = np.linalg.pinv(np.eye(pi.size) - A + pi)
    value = float(starts @ np.log(pi) + (pairs * np.log(np.maximum(A, _TINY))).sum())
    gradient = A * np.outer(pi, Z @ (starts / pi)) + pairs
    return value, gradient


def _maximize_stationary(
    starts: DoubleArray, pairs: DoubleArray, candidates: tuple[DoubleArray, ...]
) -> DoubleArray:
    """Maximize by L-BFGS over logits of the rows, from the best candidate; never worse than it."""
    from scipy.optimize import minimize

    scale = 1 / max(pairs.sum(), 1.0)
    s = starts.size

    def objective(theta: DoubleArray) -> tuple[float, DoubleArray]:
        A = _softmax(theta.reshape(s, s))
        value, gradient = _stationary_objective(starts, pairs, A)
        gradient -= A * gradient.sum(axis=1, keepdims=True)
        return -value * scale, -gradient.ravel() * scale

    first = max(candidates, key=lambda A: _stationary_objective(starts, pairs, A)[0])
    theta = np.log(np.maximum(first, 1e-12)).ravel()
    found = minimize(objective, theta, jac=True, method="L-BFGS-B", options={"maxiter": 50})
    A = _softmax(found.x.reshape(s, s))
    better = _stationary_objective(starts, pairs, A)[0]
    return A if better >= _stationary_objective(starts, pairs, first)[0] else first


def _softmax(theta: DoubleArray) -> DoubleArray:
    powers = np.exp(theta - theta.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))
