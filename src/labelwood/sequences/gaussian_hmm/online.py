"""Stepwise EM: the statistics of batches, blended (Cappé & Moulines 2009)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from labelwood.core.types import DoubleArray
from labelwood.sequences.engine import Chain, Sequences
from labelwood.sequences.engine.em import e_step
from labelwood.sequences.gaussian_hmm.emissions import Gaussian, Moments

# Step sizes t^−0.6 for equal batches: their sum diverges and that of their squares converges, as
# the theorem of Cappé & Moulines needs, and 0.6 is the value that they recommend.
STEP_EXPONENT = 0.6


@dataclass(frozen=True, eq=False)
class OnlineStatistics:
    """Blended means over the rows: what all batches so far say.

    Attributes
    ----------
    covariance : str
        Kind of the covariances that the moments are for.
    n_rows : int
        Rows of all batches.
    starts : array of shape (n_states,)
        First posteriors, a sequence each.
    pairs : array of shape (n_states, n_states)
        Pair posteriors, a row each.
    moments : Moments
        The same of the moments.
    """

    covariance: str
    n_rows: int
    starts: DoubleArray
    pairs: DoubleArray
    moments: Moments

    def to_dict(self) -> dict[str, Any]:
        """As plain values and arrays, for the fitted attribute."""
        return {**vars(self), "moments": dict(vars(self.moments))}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """The way back from `to_dict`."""
        return cls(**{**content, "moments": Moments(**content["moments"])})

    def blended(self, other: Self, origin: DoubleArray) -> Self:
        """Both together, the other one with the weight (its rows / all rows)^0.6."""
        n_rows = self.n_rows + other.n_rows
        weight = float((other.n_rows / n_rows) ** STEP_EXPONENT)
        return type(self)(
            self.covariance,
            n_rows,
            (1 - weight) * self.starts + weight * other.starts,
            (1 - weight) * self.pairs + weight * other.pairs,
            self.moments.about(origin).blended(other.moments, weight),
        )


def batch_statistics(
    data: Sequences, chain: Chain, emissions: Gaussian
) -> tuple[OnlineStatistics, int]:
    """E-step on a batch: its statistics, and how many sequences needed log space."""
    found = e_step(data, chain, emissions)
    statistics = OnlineStatistics(
        emissions.kind,
        data.n_steps,
        found.starts / data.n_sequences,
        found.pairs / data.n_steps,
        emissions.statistics(data, found.gamma).scaled(1 / data.n_steps),
    )
    return statistics, found.n_log_space


def maximized(
    statistics: OnlineStatistics, chain: Chain, emissions: Gaussian, *, stationary: bool
) -> tuple[Chain, Gaussian]:
    """The M-step on blended statistics."""
    moved = chain.maximized(statistics.starts, statistics.pairs, stationary=stationary)
    return moved, emissions.maximized(statistics.moments)
