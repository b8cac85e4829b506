"""Categorical and Poisson observations given the state: log densities and the M-step."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import gammaln

from labelwood.core.types import DoubleArray, PointerArray
from labelwood.sequences.engine import Sequences

_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Categorical:
    """Probability of each symbol in each state, (n_states, n_symbols)."""

    probabilities: DoubleArray

    def log_density(self, data: Sequences, out: DoubleArray) -> None:
        """Log probability of the symbol of each step; 0, that of nothing, where it is missing."""
        with np.errstate(divide="ignore"):
            logs = np.log(self.probabilities)
        np.take(logs.T, _symbols(data), axis=0, out=out)
        if data.observed is not None:
            out[~data.observed[0]] = 0

    def statistics(self, data: Sequences, gamma: DoubleArray) -> DoubleArray:
        """Expected number of times that each state shows each symbol."""
        symbols = _symbols(data)
        weights = gamma if data.observed is None else gamma * data.observed[0][:, None]
        m = self.probabilities.shape[1]
        return np.stack([np.bincount(symbols, column, m) for column in weights.T])

    def maximized(self, statistics: DoubleArray) -> Self:
        """The M-step; a state without data keeps its probabilities."""
        totals = statistics.sum(axis=1, keepdims=True)
        return type(self)(
            np.where(totals > _TINY, statistics / np.maximum(totals, _TINY), self.probabilities)
        )

    def distance(self, other: Self) -> float:
        """Largest difference of a probability."""
        return float(np.abs(self.probabilities - other.probabilities).max())

    def permuted(self, order: PointerArray) -> Self:
        """The same emissions with the states in another order."""
        return type(self)(self.probabilities[order])

    def state_gaps(self, other: Self) -> DoubleArray:
        """Squared distance of each state's probabilities to those of another model."""
        return _squared_gaps(self.probabilities, other.probabilities)


@dataclass(frozen=True, eq=False)
class Poisson:
    """Expected count of each feature in each state, (n_states, n_features), independent.

    No rate falls below `floor`, a tiny share of the mean count, so that a state that has seen
    nothing but zeros can still meet a count.
    """

    rates: DoubleArray
    floor: DoubleArray

    def log_density(self, data: Sequences, out: DoubleArray) -> None:
        """Log probability of the counts of each step; a missing count adds nothing."""
        x = data.values
        logs = np.log(self.rates)
        np.matmul(x.T, logs.T, out=out)
        if data.observed is None:
            out -= self.rates.sum(axis=1)
            out -= gammaln(x + 1).sum(axis=0)[:, None]
        else:
            seen = data.observed.astype(np.float64)
            out -= seen.T @ self.rates.T
            out -= (gammaln(x + 1) * seen).sum(axis=0)[:, None]

    def statistics(self, data: Sequences, gamma: DoubleArray) -> tuple[DoubleArray, DoubleArray]:
        """Expected sums of the counts, and how many of them there are."""
        sums = gamma.T @ data.values.T
        if data.observed is None:
            return sums, np.broadcast_to(gamma.sum(axis=0)[:, None], sums.shape)
        return sums, gamma.T @ data.observed.T.astype(np.float64)

    def maximized(self, statistics: tuple[DoubleArray, DoubleArray]) -> Self:
        """The M-step; a state without data keeps its rates."""
        sums, weights = statistics
        rates = np.where(weights > _TINY, sums / np.maximum(weights, _TINY), self.rates)
        return type(self)(np.maximum(rates, self.floor), self.floor)

    def distance(self, other: Self) -> float:
        """Largest difference of a rate, in the standard deviations √rate."""
        return float((np.abs(self.rates - other.rates) / np.sqrt(other.rates)).max())

    def permuted(self, order: PointerArray) -> Self:
        """The same emissions with the states in another order."""
        return type(self)(self.rates[order], self.floor)

    def state_gaps(self, other: Self) -> DoubleArray:
        """The same between square roots of rates, whose noise is even."""
        return _squared_gaps(np.sqrt(self.rates), np.sqrt(other.rates))


def _squared_gaps(mine: DoubleArray, theirs: DoubleArray) -> DoubleArray:
    return np.asarray(np.square(mine[:, None] - theirs[None]).sum(axis=2))


def _symbols(data: Sequences) -> PointerArray:
    return data.values[0].astype(np.int64)
