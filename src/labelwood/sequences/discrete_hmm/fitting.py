"""Restarts of EM for symbols and counts, in threads, and the best of them."""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from scipy.optimize import linear_sum_assignment

from labelwood.core.memory import require_memory
from labelwood.core.parallel import parallel
from labelwood.core.random import seed_sequence
from labelwood.core.types import DoubleArray
from labelwood.sequences.discrete_hmm.emissions import Categorical, Poisson
from labelwood.sequences.engine import Certificate, Chain, Run, Sequences, certify, maximize

_SAME_END = 0.05  # of the statistical precision, within which two starts count as one end
_STAY = 0.5  # probability of staying that a start begins with, before chance adds to it

E = TypeVar("E", Categorical, Poisson)


@dataclass(frozen=True, eq=False)
class Fit(Generic[E]):
    """All runs, the best of them, and what they certify."""

    runs: list[Run[E]]
    best: Run[E]
    certificate: Certificate


def fit_restarts(model: Any, data: Sequences, starts: list[tuple[Chain, E]]) -> Fit[E]:
    """Run EM from every start and keep the end of largest likelihood."""
    n_threads = min(len(starts), max(model.n_jobs or 1, 1))
    require_memory(
        16 * data.n_steps * model.n_states * n_threads,
        f"EM with {model.n_states} states over {data.n_steps:,} rows",
        "lower n_jobs, or fit a part of the sequences",
    )
    stationary = model.start == "stationary"
    runs = parallel(
        lambda start: maximize(
            data, *start, stationary=stationary, max_iter=model.max_iter, tol=model.tol
        ),
        starts,
        n_jobs=model.n_jobs,
        description="EM",
    )
    best = max(runs, key=lambda run: run.log_likelihood)
    precision = float(np.sqrt(data.n_features / data.n_steps))
    certificate = certify(runs, best, distance, precision, agreement=_SAME_END * precision)
    return Fit(runs, best, certificate)


def distance(run: Run[E], other: Run[E]) -> float:
    """How far two ends are apart, once their states are matched by their parameters."""
    mine, theirs = run.emissions.parameters(), other.emissions.parameters()
    order = linear_sum_assignment(np.square(mine[:, None] - theirs[None]).sum(axis=2).T)[1]
    return max(
        run.chain.permuted(order).distance(other.chain),
        run.emissions.permuted(order).distance(other.emissions),
    )


def random_chain(n_states: int, rng: np.random.Generator) -> Chain:
    """A chain that tends to stay, with random transitions beside that."""
    random = rng.dirichlet(np.ones(n_states), n_states)
    transition = _STAY * np.eye(n_states) + (1 - _STAY) * random
    return Chain(np.full(n_states, 1 / n_states), transition)


def random_blocks(data: Sequences, n_states: int, rng: np.random.Generator) -> DoubleArray:
    """Responsibilities to start from: short stretches of steps, each leaning to one state.

    Neighbouring steps tend to share a state, so that stretches say more of it than single steps.
    """
    length = max(1, min(10, data.n_steps // (4 * n_states)))
    n_blocks = -(-data.n_steps // length)
    states = np.concatenate([np.arange(n_states), rng.integers(0, n_states, n_blocks)])[:n_blocks]
    rng.shuffle(states)
    return np.asarray((0.1 / n_states + 0.9 * np.eye(n_states))[np.repeat(states, length)])[
        : data.n_steps
    ]


def seeds(model: Any) -> list[np.random.SeedSequence]:
    """One for each start."""
    return seed_sequence(model.random_state).spawn(model.n_init)
