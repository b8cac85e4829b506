"""Experiments on drawn rewards, many runs at once: one experiment, or a sequence of them.

Every run has a stream of random numbers of its own, so results are the same for any `n_jobs`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelwood.core import params
from labelwood.core.parallel import blocks, parallel
from labelwood.core.random import RandomState, kernel_states
from labelwood.core.types import DoubleArray, PointerArray
from labelwood.errors import DataError
from labelwood.experiments.best_arm import (
    DELTA,
    POLICY,
    RewardLike,
    RewardModel,
    as_reward_model,
    check_policy,
    policy_number,
    shown,
)

if TYPE_CHECKING:
    from labelwood.experiments.online_fdr import OnlineProcedure

MOST_SAMPLES = 10**15
_SMALLEST_LEVEL = 1e-300


@dataclass(frozen=True)
class Setting:
    """How simulated experiments are run; the parameters are those of `BestArmExperiment`.

    Gaussian rewards of variance σ² are drawn for a `SubGaussian` model, 0 and 1 for
    `Bernoulli`, and the two ends of the range, which vary most, for `Bounded`.

    Attributes
    ----------
    max_samples : int
        Truncation time: the experiment stops, undecided, with so many rewards.
    batch : int
        How often each arm of a round is pulled, the first round included.
    """

    max_samples: int
    reward: RewardLike = "bernoulli"
    epsilon: float = 0.0
    policy: str = "best_arm"
    control: int = 0
    batch: int = 1

    def __post_init__(self) -> None:
        constraints: params.Constraints = {
            "max_samples": params.Integer(low=1, high=MOST_SAMPLES),
            "epsilon": params.Real(low=0),
            "policy": POLICY,
            "control": params.Integer(low=0),
            "batch": params.Integer(low=1, high=MOST_SAMPLES),
        }
        params.check_parameters(self, constraints)
        object.__setattr__(self, "reward", as_reward_model("Setting", self.reward))
        check_policy("Setting", self.policy, self.model)

    @property
    def model(self) -> RewardModel:
        """What is assumed of the rewards."""
        return as_reward_model("Setting", self.reward)

    def check_means(self, means: ArrayLike) -> DoubleArray:
        """The means of the arms as an array, refused when no reward could have them."""
        values = numbers(means)
        low, high = self.model.low, self.model.high
        if values.ndim != 1 or values.size <= max(self.control, 1):
            least = max(self.control, 1) + 1
            raise DataError(
                f"means must hold a number for each of at least {least} arms. Got {shown(means)}."
            )
        if not (np.isfinite(values) & (values >= low) & (values <= high)).all():
            raise DataError(f"means must be finite and in [{low:g}, {high:g}]. Got {shown(means)}.")
        return values

    def run(self, states: NDArray[np.uint64], means: DoubleArray, deltas: DoubleArray) -> "Runs":
        """One run for each of `states`, which move on, at the level in its place."""
        from labelwood.experiments.simulation import _kernels as kernels

        gaussian = math.isinf(self.model.low)
        n = deltas.size
        counts, evidence = np.empty((n, means.size)), np.empty(n)
        outcome = np.empty((n, 2), np.int64)
        kernels.simulate_runs(
            states,
            means,
            deltas,
            float(self.epsilon),
            int(self.control),
            policy_number(self.policy),
            int(self.batch),
            int(self.max_samples),
            kernels.GAUSSIAN if gaussian else kernels.TWO_POINTS,
            self.model.for_kernels(),
            counts,
            outcome,
            evidence,
        )
        ended, leader = outcome.T
        p = np.exp(-evidence)
        # What makes a winner is the inequality of (4.5) at γ = δ.
        won = (ended >= 0) & (ended != self.control)
        p[won] = np.minimum(p[won], deltas[won])
        return Runs(ended, leader, p, counts.astype(np.int64))


def numbers(means: ArrayLike) -> DoubleArray:
    """`means` as an array of its own, refused unless all are numbers."""
    try:
        return np.array(means, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"means are numbers, one for each arm. Got {shown(means)}.") from None


@dataclass(frozen=True)
class Runs:
    """What came of each run; arrays of shape (runs,), `counts` of shape (runs, arms)."""

    ended_with: PointerArray
    """The arm that the experiment ended with, which may be the control; −1 at the limit."""
    leader: PointerArray
    """The arm with the largest mean reward at the end; the control, if it is one of several."""
    p_value: DoubleArray
    """The always-valid p-value at the end, the smallest after any round."""
    counts: PointerArray
    """How often each arm was pulled."""

    @property
    def n_samples(self) -> PointerArray:
        """The number of rewards of each run."""
        return self.counts.sum(axis=1)


def simulate(
    means: ArrayLike,
    delta: float,
    setting: Setting,
    *,
    runs: int = 1000,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> Runs:
    """Run one experiment many times.

    Parameters
    ----------
    means : array of shape (n_arms,)
    delta : float
        The level δ of Algorithm 1.
    setting : Setting
    runs : int
    random_state : int, SeedSequence, Generator or None
    n_jobs : int, optional
        Threads; the results do not depend on it.

    Examples
    --------
    >>> done = simulate([0.3, 0.3, 0.6], 0.05, Setting(10_000), runs=100, random_state=0)
    >>> bool((done.ended_with == 2).all()), float(np.median(done.n_samples))
    (True, 280.5)
    """
    params.check_parameter("simulate", "delta", delta, DELTA)
    values = setting.check_means(means)
    states = _states(runs, random_state, n_jobs)
    deltas = np.full(runs, float(delta))
    parts = parallel(
        lambda rows: setting.run(states[rows], values, deltas[rows]),
        _shares(runs, n_jobs, 8),
        n_jobs=n_jobs,
        description="simulating",
    )
    return Runs(*_joined([vars(part) for part in parts]).values())


@dataclass(frozen=True)
class SequenceRuns:
    """What came of each experiment of each run; arrays of shape (runs, experiments)."""

    level: DoubleArray
    """α_j, at which the experiment was run and its p-value tested."""
    p_value: DoubleArray
    rejected: NDArray[np.bool_]
    """Whether it was a discovery: p at most the level, and some treatment in the lead."""
    ended_with: PointerArray
    """As in `Runs`; −1 too where no experiment was run."""
    leader: PointerArray
    """As in `Runs`; −1 where no experiment was run."""
    n_samples: PointerArray


def simulate_sequence(
    means: Sequence[ArrayLike],
    procedure: "Callable[[], OnlineProcedure]",
    setting: Setting,
    *,
    uniform_p: ArrayLike | None = None,
    runs: int = 100,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> SequenceRuns:
    """Run a sequence of experiments many times, each at the level that its procedure gives.

    Yang 2018, Procedure 2: the level of an experiment depends on the decisions on those before
    it, and both the rule for stopping and the test of the p-value use it.

    Parameters
    ----------
    means : sequence of arrays of shape (n_arms,)
        The arms of each experiment.
    procedure : callable
        Makes a new `OnlineProcedure` for every run.
    setting : Setting
    uniform_p : bool array of shape (experiments,), optional
        Where it is true no experiment is run, and its p-value is drawn uniformly: the harder
        null hypotheses of Figure 4.10.
    runs : int
    random_state : int, SeedSequence, Generator or None
    n_jobs : int, optional
        Threads; the results do not depend on it.

    Examples
    --------
    >>> from labelwood.experiments.online_fdr.procedures import online_fdr
    >>> arms = [[0.2, 0.2, 0.2], [0.2, 0.2, 0.7]] * 3
    >>> done = simulate_sequence(
    ...     arms, lambda: online_fdr("lord", 0.1), Setting(3000), runs=20, random_state=0
    ... )
    >>> done.rejected.mean(axis=0).round(2).tolist()
    [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]
    """
    arms = [setting.check_means(one) for one in means]
    skipped = np.zeros(len(arms), bool) if uniform_p is None else np.asarray(uniform_p, bool)
    if skipped.shape != (len(arms),) or not arms:
        raise DataError(f"uniform_p has shape {skipped.shape} for {len(arms)} experiments")
    states = _states(runs, random_state, n_jobs)
    parts = parallel(
        lambda rows: _sequence(states[rows], arms, skipped, procedure, setting),
        _shares(runs, n_jobs, 1),
        n_jobs=n_jobs,
        description="simulating",
    )
    return SequenceRuns(**_joined(parts))


def _sequence(
    states: NDArray[np.uint64],
    arms: list[DoubleArray],
    skipped: NDArray[np.bool_],
    procedure: "Callable[[], OnlineProcedure]",
    setting: Setting,
) -> dict[str, Any]:
    """All experiments of some runs, one after the other; columns of the result by name."""
    from labelwood.experiments.simulation._kernels import draw_uniform

    procedures = [procedure() for _ in states]
    columns = []
    for means, skip in zip(arms, skipped, strict=True):
        levels = np.array([one.next_level() for one in procedures])
        none = np.full(levels.size, -1)
        if skip:
            done = Runs(none, none, draw_uniform(states), np.zeros((levels.size, 1), np.int64))
        else:
            done = setting.run(states, means, levels.clip(_SMALLEST_LEVEL, 1 - 1e-9))
        # A control that leads in the end is not rejected: Yang 2018, Procedure 1.
        tested = np.where(done.leader == setting.control, 1.0, done.p_value)
        rejected = [one.record(float(p)) for one, p in zip(procedures, tested, strict=True)]
        columns.append(
            (levels, done.p_value, rejected, done.ended_with, done.leader, done.n_samples)
        )
    names = ("level", "p_value", "rejected", "ended_with", "leader", "n_samples")
    stacked = zip(names, zip(*columns, strict=True), strict=True)
    return {name: np.array(column).T for name, column in stacked}


def _states(runs: int, random_state: RandomState, n_jobs: int | None) -> NDArray[np.uint64]:
    params.check_parameter("simulate", "n_jobs", n_jobs, params.N_JOBS)
    params.check_parameter("simulate", "runs", runs, params.Integer(low=1))
    params.check_parameter("simulate", "random_state", random_state, params.RANDOM_STATE)
    return np.array(kernel_states(random_state, runs))


def _shares(runs: int, n_jobs: int | None, each: int) -> list[slice]:
    """The runs in about `each` blocks for each thread."""
    size = math.ceil(runs / (each * joblib.effective_n_jobs(n_jobs)))
    return [slice(rows.start, rows.stop) for rows in blocks(runs, size)]


def _joined(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
