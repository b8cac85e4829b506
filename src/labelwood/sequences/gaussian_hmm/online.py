"""Stepwise EM: the statistics of batches, blended (Cappé & Moulines 2009)."""

from dataclasses import dataclass

import numpy as np

from labelwood.core.types import DoubleArray
from labelwood.sequences.engine import Chain, Sequences
from labelwood.sequences.engine.em import e_step
from labelwood.sequences.gaussian_hmm.emissions import Gaussian, Moments

# Step sizes t^−0.6: their sum diverges and that of their squares converges, as the theorem of
# Cappé & Moulines needs, and 0.6 is the value that they recommend.
STEP_EXPONENT = 0.6


@dataclass(frozen=True, eq=False)
class OnlineStatistics:
    """Blended sums, a step each: what all batches so far say."""

    n_batches: int
    starts: DoubleArray
    pairs: DoubleArray
    moments: Moments


def update(
    data: Sequences,
    chain: Chain,
    emissions: Gaussian,
    before: OnlineStatistics | None,
    *,
    stationary: bool,
) -> tuple[OnlineStatistics, Chain, Gaussian]:
    """E-step on a batch, blend, M-step."""
    found = e_step(data, chain, emissions)
    starts, pairs = found.starts / data.n_sequences, found.pairs / data.n_steps
    moments = emissions.statistics(data, found.gamma).scaled(1 / data.n_steps)
    if before is None:
        after = OnlineStatistics(1, starts, pairs, moments)
    else:
        n_batches = before.n_batches + 1
        weight = float(n_batches**-STEP_EXPONENT)
        after = OnlineStatistics(
            n_batches,
            (1 - weight) * before.starts + weight * starts,
            (1 - weight) * before.pairs + weight * pairs,
            before.moments.about(emissions.means).blended(moments, weight),
        )
    moved = chain.maximized(after.starts, np.asarray(after.pairs), stationary=stationary)
    return after, moved, emissions.maximized(after.moments)
