"""Level of P(degraded) at which a healthy stream alarms once in a promised number of steps.

The levels were found by simulation (`calibrate` repeats it) for streams of independent normal
observations, and are kept as a table: the logarithm of their odds hardly changes with the run
length, since the filter's own hazard is one over the run length.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from labelwood.core.parallel import parallel
from labelwood.core.random import kernel_states
from labelwood.core.types import DoubleArray
from labelwood.sequences.monitor import _kernels as kernels
from labelwood.sequences.monitor.figure import Figure

SHORTEST, LONGEST = 50.0, 1e6

# Run length → log odds of the level, by `calibrate` (4,000 to 800 streams each, standard error of
# the run length 1.3 to 3.5 %).
_RUN_LENGTHS = (50.0, 100.0, 300.0, 1_000.0, 3_000.0, 10_000.0, 30_000.0, 100_000.0)
_LOG_ODDS = {
    True: (-0.55, -0.60, -0.65, -0.67, -0.70, -0.71, -0.74, -0.74),
    False: (-0.58, -0.62, -0.65, -0.69, -0.70, -0.73, -0.75, -0.75),
}
_SAFETY = 0.04  # added to the log odds: the error of the table, so that the promise is kept
# A learned baseline is wrong by a share of 1/√n of a standard deviation, which all later scores
# have in common. Added to the log odds, _LEARNED/√n keeps the run length (tuned on n = 30, 100, 200
# and 1,000 at run lengths of 500, 5,000 and 50,000).
_LEARNED = 2.6
# What the mean of a block may have of skewness (squared) and excess kurtosis, at run lengths up to
# _TUNED_LENGTH. Tuned by simulation on normal, uniform, binomial, Poisson, exponential, lognormal,
# beta, gamma and Student's t(5) figures, with samples of 200 and run lengths of 1,000 to 50,000.
_SQUARED_SKEWNESS, _KURTOSIS, _TUNED_LENGTH = 0.08, 0.15, 5_000


def alarm_level(run_length: float, *, two_sided: bool, baseline_size: int | None = None) -> float:
    """P(degraded) at which to alarm; `baseline_size` is that of a learned baseline.

    Examples
    --------
    >>> known = alarm_level(5000, two_sided=True)
    >>> 0.3 < known < alarm_level(5000, two_sided=True, baseline_size=200) < 0.5
    True
    """
    position = math.log(min(run_length, _RUN_LENGTHS[-1]))
    log_odds = float(np.interp(position, np.log(_RUN_LENGTHS), _LOG_ODDS[two_sided])) + _SAFETY
    if baseline_size is not None:
        log_odds += _LEARNED / math.sqrt(baseline_size)
    return 1 / (1 + math.exp(-log_odds))


def block_size(values: object, run_length: float) -> int:
    """Observations to average so that figures of any shape keep the promised run length.

    Skewness and tails make a healthy stream alarm too often; in the mean of k observations the
    skewness is 1/√k and the excess kurtosis 1/k of what it was. The result may exceed what the
    run length allows (`run_length` / 50): then no block keeps the promise.

    Parameters
    ----------
    values : array-like
        A sample of the healthy figure, some hundred observations.
    run_length : float
        Promised run length of this figure, in observations.

    Examples
    --------
    >>> block_size([0, 1, 1, 1, 1, 1, 1, 1, 1, 1] * 20, 5000)  # nine of ten are accepted
    91
    >>> block_size(np.random.default_rng(0).normal(size=200), 5000)
    1
    """
    x: DoubleArray = np.asarray(values, dtype=np.float64)
    if x.size < 4 or np.ptp(x) == 0:
        return 1
    skewness = float(stats.skew(x, bias=False))
    kurtosis = float(stats.kurtosis(x, bias=False))
    needed = max(skewness**2 / _SQUARED_SKEWNESS, kurtosis / _KURTOSIS)
    return max(1, math.ceil(needed * math.sqrt(max(run_length / _TUNED_LENGTH, 1))))


@dataclass(frozen=True)
class Scenario:
    """Streams to simulate, and the monitor that watches them.

    Attributes
    ----------
    run_length : float
        What the monitor promises.
    direction, autocorrelation, known, baseline_size
        Parameters of the monitor.
    shift : float
        Of the mean, from the first watched step on, in standard deviations.
    phi : float
        Autocorrelation of the stream, which has mean 0 and variance 1.
    """

    run_length: float = 5000
    direction: str = "both"
    known: bool = True
    autocorrelation: float | None = None
    baseline_size: int = 200
    shift: float = 0.0
    phi: float = 0.0
    guarantee_alpha: float = 0.0

    def figure(self, level: float | None = None) -> Figure:
        """A fresh figure under the monitor's parameters."""
        own = alarm_level(
            self.run_length,
            two_sided=self.direction == "both",
            baseline_size=None if self.known else self.baseline_size,
        )
        return Figure.fresh(
            direction=self.direction,
            hazard=1 / self.run_length,
            level=own if level is None else level,
            alpha=self.guarantee_alpha,
            known=(0.0, 1.0) if self.known else None,
            autocorrelation=self.autocorrelation,
            baseline_size=self.baseline_size,
        )


def simulate_delays(
    scenario: Scenario,
    n_streams: int,
    *,
    random_state: object = 0,
    limit: int = 10**9,
    n_jobs: int | None = None,
) -> DoubleArray:
    """Steps until the alarm of many simulated streams.

    Examples
    --------
    >>> delays = simulate_delays(Scenario(shift=2.0), 200)
    >>> bool(4 < delays.mean() < 6.5)
    True
    """
    n_healthy = 0 if scenario.known else scenario.baseline_size + 1

    def one(state: NDArray[np.uint64]) -> int:
        f = scenario.figure()
        return kernels.simulate(
            state, n_healthy, scenario.shift, scenario.phi, limit, f.probabilities,
            f.baseline, f.recent, f.shifts, f.weights, f.settings, np.zeros((2, 0)),
        )  # fmt: skip

    return np.array(
        parallel(one, kernel_states(random_state, n_streams), n_jobs=n_jobs), dtype=np.float64
    )


def calibrate(
    scenario: Scenario, n_streams: int, *, random_state: object = 0, n_jobs: int | None = None
) -> float:
    """Log odds of the level at which the run length is that of the scenario, by simulation.

    Every stream runs until it reaches a high level; the first steps at which it reached each lower
    one give the run lengths of all levels at once.
    """
    log_odds = np.linspace(-2.4, 0.6, 121)
    levels = 1 / (1 + np.exp(-log_odds))
    n_healthy = 0 if scenario.known else scenario.baseline_size + 1

    def one(state: NDArray[np.uint64]) -> DoubleArray:
        f = scenario.figure(levels[-1])
        reached = np.vstack([levels, np.zeros(levels.size)])
        kernels.simulate(
            state, n_healthy, 0.0, scenario.phi, 10**9, f.probabilities, f.baseline, f.recent,
            f.shifts, f.weights, f.settings, reached,
        )  # fmt: skip
        return reached[1]

    found = parallel(one, kernel_states(random_state, n_streams), n_jobs=n_jobs)
    means = np.mean(found, axis=0)
    return float(np.interp(math.log(scenario.run_length), np.log(means), log_odds))
