"""Posteriors, filters and paths of all sequences, scaled where possible and in log space else."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from labelwood.core.types import DoubleArray, PointerArray
from labelwood.errors import DataError
from labelwood.sequences.engine import _log_kernels, _recursion_kernels
from labelwood.sequences.engine.chain import Chain
from labelwood.sequences.engine.sequences import split_rows

FillDensities: TypeAlias = Callable[[DoubleArray], None]
"""Writes the log density of each step under each state into (n_steps, n_states)."""


@dataclass(frozen=True, eq=False)
class Posteriors:
    """What the E-step knows.

    Attributes
    ----------
    gamma : array of shape (n_steps, n_states)
        Probability of each state at each step, given all observations of its sequence.
    starts, pairs : arrays of shapes (n_states,) and (n_states, n_states)
        Sums of the first posteriors and of the pair posteriors.
    log_likelihoods : array of shape (n_sequences,)
    n_log_space : int
        Sequences that needed log space.
    """

    gamma: DoubleArray
    starts: DoubleArray
    pairs: DoubleArray
    log_likelihoods: DoubleArray
    n_log_space: int

    @property
    def log_likelihood(self) -> float:
        """Of all sequences together."""
        return float(self.log_likelihoods.sum())


def smooth(
    fill: FillDensities, offsets: PointerArray, chain: Chain, workspace: DoubleArray | None = None
) -> Posteriors:
    """Forward–backward.

    `fill(out)` writes the log densities into an array of shape (n_steps, n_states). The
    workspace, two such arrays, can be handed in to be used again; the posteriors are then part
    of it, and nothing else of that size is allocated.
    """
    return _run(fill, offsets, chain, workspace, backward=True)


def filter_states(fill: FillDensities, offsets: PointerArray, chain: Chain) -> Posteriors:
    """Forward only: gamma is the probability given the observations up to each step."""
    return _run(fill, offsets, chain, None, backward=False)


def _run(
    fill: FillDensities,
    offsets: PointerArray,
    chain: Chain,
    workspace: DoubleArray | None,
    *,
    backward: bool,
) -> Posteriors:
    n, s = int(offsets[-1]), chain.n_states
    if workspace is None:
        workspace = np.empty((2, n, s))
    b, gamma = workspace
    fill(b)
    starts, pairs = np.zeros(s), np.zeros((s, s))
    log_likelihoods = np.empty(offsets.size - 1)
    done = np.empty(offsets.size - 1, dtype=np.bool_)
    _recursion_kernels.posteriors(
        b, gamma, offsets, chain.start, chain.transition,
        starts, pairs, log_likelihoods, done, backward,
    )  # fmt: skip
    redo = np.flatnonzero(~done)
    if redo.size:
        fill(b)  # the scaled recursions have overwritten it
    for k in redo.tolist():
        rows = slice(int(offsets[k]), int(offsets[k + 1]))
        log_likelihoods[k] = _in_log_space(b[rows], chain, gamma[rows], pairs, backward=backward)
        _check_possible(k, float(log_likelihoods[k]))
        starts += gamma[rows.start]
    return Posteriors(gamma, starts, pairs, log_likelihoods, int(redo.size))


def _in_log_space(
    log_b: DoubleArray, chain: Chain, gamma: DoubleArray, pairs: DoubleArray, *, backward: bool
) -> float:
    arguments = (log_b, chain.log_start(), chain.log_transition())
    if not backward:
        return _log_kernels.log_filter(*arguments, gamma)
    return _log_kernels.log_posteriors(*arguments, gamma, pairs)


def most_probable_path(
    fill: FillDensities, offsets: PointerArray, chain: Chain
) -> tuple[PointerArray, float]:
    """Viterbi: the most probable states of every sequence, and their log probability."""
    n = int(offsets[-1])
    log_density, path = np.empty((n, chain.n_states)), np.empty(n, dtype=np.int64)
    fill(log_density)
    total = 0.0
    for k, rows in enumerate(split_rows(offsets)):
        log_probability = _log_kernels.viterbi(
            log_density[rows], chain.log_start(), chain.log_transition(), path[rows]
        )
        _check_possible(k, log_probability)
        total += log_probability
    return path, total


def _check_possible(k: int, log_probability: float) -> None:
    if not np.isfinite(log_probability):
        raise DataError(
            f"sequence {k} has probability zero under the model: a transition or a symbol that it "
            "needs has probability 0, or its values lie beyond the range of doubles"
        )


def sample_states(chain: Chain, lengths: list[int], rng: np.random.Generator) -> PointerArray:
    """A path of the chain for each length, one after the other."""
    path = np.empty(sum(lengths), dtype=np.int64)
    cumulative_start, cumulative = np.cumsum(chain.start), np.cumsum(chain.transition, axis=1)
    begin = 0
    for length in lengths:
        _log_kernels.sample_path(
            rng.random(length), cumulative_start, cumulative, path[begin : begin + length]
        )
        begin += length
    return path
