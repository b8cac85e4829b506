"""EM for a hidden Markov chain of any emissions: a run, its trace, why it ended, and restarts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, Self, TypeVar

import joblib
import numpy as np

from labelwood.core.memory import require_memory
from labelwood.core.parallel import parallel
from labelwood.core.types import DoubleArray
from labelwood.errors import LabelwoodError
from labelwood.sequences.engine.chain import Chain
from labelwood.sequences.engine.recursions import Posteriors, smooth
from labelwood.sequences.engine.sequences import Sequences

PLATEAU = "likelihood plateau"
SETTLED = "parameters settled"
LIMIT = "iteration limit"

# A log likelihood is a sum over steps; its rounding error is far below this share of it.
_ROUNDING = 1e-10


class Emissions(Protocol):
    """The distributions of the observations given the state, with their parameters."""

    def log_density(self, data: Sequences, out: DoubleArray) -> None:
        """Log densities of all steps under all states into `out`."""

    def statistics(self, data: Sequences, gamma: DoubleArray) -> Any:
        """Sums over the steps, weighted by the posteriors, that `maximized` needs."""

    def maximized(self, statistics: Any) -> Self:
        """The M-step."""

    def distance(self, other: Self) -> float:
        """How far the parameters of two models are apart."""


E = TypeVar("E", bound=Emissions)


@dataclass(frozen=True, eq=False)
class Run(Generic[E]):
    """The end of one run of EM, and its way there.

    Attributes
    ----------
    chain, emissions
        The parameters, whose log likelihood is the last one of `history`.
    history : array
        Log likelihood of the start and after each iteration.
    steps : array
        How far the parameters moved in each iteration.
    stop_reason : str
    n_log_space : int
        Sequences that needed log space in the last E-step.
    """

    chain: Chain
    emissions: E
    history: DoubleArray
    steps: DoubleArray
    stop_reason: str
    n_log_space: int

    @property
    def log_likelihood(self) -> float:
        """Of the parameters at the end."""
        return float(self.history[-1])

    @property
    def n_iter(self) -> int:
        """Iterations (M-steps)."""
        return self.steps.size


def maximize(
    data: Sequences,
    chain: Chain,
    emissions: E,
    *,
    stationary: bool,
    max_iter: int,
    tol: float,
    step_tol: float = 0.0,
) -> Run[E]:
    """EM until an iteration gains at most `tol` per row in log likelihood, or `max_iter`.

    With `step_tol` it stops when the parameters move by no more than that, instead.
    """
    workspace = np.empty((2, data.n_steps, chain.n_states))
    history: list[float] = []
    steps: list[float] = []
    while True:
        found = e_step(data, chain, emissions, workspace)
        history.append(found.log_likelihood)
        check_rise(history)
        if step_tol > 0:
            if steps and steps[-1] <= step_tol:
                reason = SETTLED
                break
        elif len(history) > 1 and history[-1] - history[-2] <= tol * data.n_steps:
            reason = PLATEAU
            break
        if len(steps) == max_iter:
            reason = LIMIT
            break
        moved_chain = chain.maximized(found.starts, found.pairs, stationary=stationary)
        moved = emissions.maximized(emissions.statistics(data, found.gamma))
        steps.append(chain.distance(moved_chain) + emissions.distance(moved))
        chain, emissions = moved_chain, moved
    return Run(chain, emissions, np.array(history), np.array(steps), reason, found.n_log_space)


def fit_restarts(
    data: Sequences,
    starts: Sequence[tuple[Chain, E]],
    run: Callable[[Chain, E], Run[E]],
    *,
    n_jobs: int | None,
) -> list[Run[E]]:
    """EM from every start, in threads; the runs come in the order of the starts."""
    n_states = starts[0][0].n_states
    n_threads = min(len(starts), joblib.effective_n_jobs(n_jobs))
    require_memory(
        16 * data.n_steps * n_states * n_threads,
        f"EM with {n_states} states over {data.n_steps:,} rows in {n_threads} threads",
        "lower n_jobs, or fit fewer rows at a time",
    )
    return parallel(lambda start: run(*start), starts, n_jobs=n_jobs, description="EM")


def e_step(
    data: Sequences, chain: Chain, emissions: Emissions, workspace: DoubleArray | None = None
) -> Posteriors:
    """Posteriors of the states under the current parameters."""
    return smooth(lambda out: emissions.log_density(data, out), data.offsets, chain, workspace)


def check_rise(history: list[float]) -> None:
    """EM cannot lower the likelihood: if it did, something is wrong and must not be hidden."""
    if len(history) < 2:
        return
    before, now = history[-2:]
    if not now >= before - _ROUNDING * (abs(before) + 1):
        raise LabelwoodError(
            f"the log likelihood fell from {before!r} to {now!r} in iteration "
            f"{len(history) - 1} of EM, which cannot happen: please report the data that show it"
        )
