"""The model (2.7)–(2.8) of Yang 2018 and its Baum–Welch updates (2.30)."""

import math
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from labelwood.core.types import DoubleArray
from labelwood.sequences.engine import Chain, Run, Sequences, maximize
from labelwood.sequences.gaussian_hmm import Gaussian

_LEAST_SHARE = 1e-6  # of the mean square of the data, below which σ² is not let fall


@dataclass(frozen=True, eq=False)
class SymmetricChain(Chain):
    """Two states that are kept with probability ζ; |2ζ − 1| ≤ bound (2.29)."""

    bound: float = 0.99

    @classmethod
    def of(cls, zeta: float, bound: float) -> Self:
        """The chain (2.7) with the probability ζ of staying."""
        transition = np.array([[zeta, 1 - zeta], [1 - zeta, zeta]])
        return cls(np.array([0.5, 0.5]), transition, bound)

    @property
    def zeta(self) -> float:
        """Probability of staying."""
        return float(self.transition[0, 0])

    @property
    def beta(self) -> float:
        """Half the log odds of staying (2.30c)."""
        return 0.5 * math.log(self.zeta / (1 - self.zeta))

    def maximized(self, starts: DoubleArray, pairs: DoubleArray, *, stationary: bool) -> Self:
        """Update (2.30b) over the pairs (Z₀, Z₁) … (Zₙ₋₁, Zₙ) of the joint density (2.6).

        Z₀ has no observation, so p(Z₀ = Z₁ | x) = ζ exactly: the first pair of each sequence
        damps a step by 1/n and leaves the fixed points as they are.
        """
        n_sequences = float(starts.sum())
        stayed = n_sequences * self.zeta + float(np.trace(pairs))
        zeta = stayed / (n_sequences + float(pairs.sum()))
        low, high = (1 - self.bound) / 2, (1 + self.bound) / 2
        return self.of(min(max(zeta, low), high), self.bound)

    def distance(self, other: Self) -> float:
        """|β − β'|, a part of the norm (2.19)."""
        return abs(self.beta - other.beta)


@dataclass(frozen=True, eq=False)
class Symmetric:
    """Observations N(μ, σ²I) in the first state and N(−μ, σ²I) in the second (2.8).

    Attributes
    ----------
    mean : array of shape (n_features,)
    variance : float
        σ².
    known : bool
        Whether σ² is given and stays as it is.
    least : float
        What an estimated σ² is kept above.
    """

    mean: DoubleArray
    variance: float
    known: bool
    least: float = 0.0

    def gaussian(self) -> Gaussian:
        """The same as a general Gaussian model of two states."""
        return Gaussian(
            "spherical",
            np.array([self.mean, -self.mean]),
            np.full(2, self.variance),
            np.full(self.mean.size, self.least),
            np.zeros(2, dtype=bool),
        )

    def log_density(self, data: Sequences, out: DoubleArray) -> None:
        """Log densities of all steps under both states."""
        self.gaussian().log_density(data, out)

    def statistics(self, data: Sequences, gamma: DoubleArray) -> Any:
        """Weighted moments about ±μ."""
        return self.gaussian().statistics(data, gamma)

    def maximized(self, statistics: Any) -> Self:
        """Update (2.30a), over what was observed, and the variance of largest likelihood."""
        moments = statistics
        sums = moments.first + moments.counts * moments.origin  # Σ γ x of both states
        mean = (sums[0] - sums[1]) / moments.counts.sum(axis=0)
        if self.known:
            return replace(self, mean=mean)
        about = moments.about(np.array([mean, -mean]))
        variance = float(about.second.sum() / about.counts.sum())
        return replace(self, mean=mean, variance=max(variance, self.least))

    @property
    def held_up(self) -> bool:
        """Whether an estimated σ² would fall below what it is kept above."""
        return not self.known and self.variance <= self.least

    def distance(self, other: Self) -> float:
        """‖μ − μ'‖, a part of the norm (2.19)."""
        return float(np.linalg.norm(self.mean - other.mean))

    def flipped(self) -> Self:
        """The same model with the names of its states exchanged."""
        return replace(self, mean=-self.mean)


def start_of(
    data: Sequences,
    mean: DoubleArray,
    *,
    zeta: float = 0.5,
    sigma: float | None = None,
    variance: float | None = None,
    bound: float = 0.99,
) -> tuple[SymmetricChain, Symmetric]:
    """A start; `sigma` is known, or `variance` is what its estimate starts from."""
    square = float((data.values**2).sum() / data.counts.sum())
    start = square / 2 if variance is None else variance
    least = _LEAST_SHARE * square
    emissions = Symmetric(
        np.asarray(mean, dtype=np.float64),
        max(start, least) if sigma is None else sigma**2,
        sigma is not None,
        least,
    )
    return SymmetricChain.of(zeta, bound), emissions


def baum_welch(
    data: Sequences,
    mean: DoubleArray,
    *,
    zeta: float = 0.5,
    sigma: float | None = None,
    bound: float = 0.99,
    max_iter: int,
    step_tol: float,
) -> Run[Symmetric]:
    """EM from one start."""
    chain, emissions = start_of(data, mean, zeta=zeta, sigma=sigma, bound=bound)
    return run_updates(data, chain, emissions, max_iter=max_iter, step_tol=step_tol)


def run_updates(
    data: Sequences,
    chain: SymmetricChain,
    emissions: Symmetric,
    *,
    max_iter: int,
    step_tol: float,
) -> Run[Symmetric]:
    """The updates (2.30) until they move by no more than `step_tol` in the norm (2.19)."""
    return maximize(
        data,
        chain,
        emissions,
        stationary=True,
        max_iter=max_iter,
        tol=0.0,
        step_tol=step_tol,
    )


def distance(run: Run[Symmetric], other: Run[Symmetric]) -> float:
    """The norm (2.19) of the difference, for the better of both signs of μ."""
    gap = min(
        run.emissions.distance(other.emissions),
        run.emissions.flipped().distance(other.emissions),
    )
    return gap + run.chain.distance(other.chain)
