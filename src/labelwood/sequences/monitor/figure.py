"""The state of one watched figure: its baseline, its filter, its alarm."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from labelwood.core.types import AnyArray, DoubleArray
from labelwood.errors import DataError
from labelwood.sequences.monitor import _kernels as kernels

# Shifts of the mean, in standard deviations, with equal weights: these four keep the delay within
# 1.3 of the optimum from 0.5 to 2 (tuned by simulation, see the study monitor-delay).
SHIFTS = (0.5, 1.0, 1.5, 2.0)
# Probability of recovering in a step. Larger values forget a degraded phase sooner and find small
# shifts later (0.01: 1.29 of the optimum at 0.5 σ, 0.001: 1.26).
RETURN = 0.002
RELEASE_SHARE = 0.3  # of the level, below which an alarm ends
# Steps after which an observation is learned from. At once, one of nine shifts by 0.5 would be
# learned as the new baseline before it is found: with a baseline of 200 observations 11 % of 2,000
# simulated shifts took more than 300 steps, against 1 %, and the mean delay was 726 against 103.
LEARNING_DELAY = 100


@dataclass(eq=False)
class Figure:
    """Arrays of the kernels (see `_kernels`); `advance` changes them in place."""

    shifts: DoubleArray
    weights: DoubleArray
    settings: DoubleArray
    probabilities: DoubleArray
    baseline: DoubleArray
    recent: DoubleArray

    @classmethod
    def fresh(
        cls,
        *,
        direction: str,
        hazard: float,
        level: float,
        alpha: float,
        known: tuple[float, float] | None,
        autocorrelation: float | None,
        baseline_size: int,
        block: int = 1,
    ) -> Self:
        """A figure that has seen nothing yet; hazard and baseline size are in blocks."""
        up = np.array(SHIFTS)
        shifts = {"up": up, "down": -up, "both": np.concatenate([up, -up])}[direction]
        settings = np.zeros(kernels.N_SETTINGS)
        settings[kernels.HAZARD], settings[kernels.RETURN] = hazard, RETURN
        settings[kernels.LEVEL], settings[kernels.RELEASE] = level, RELEASE_SHARE * level
        settings[kernels.ALPHA], settings[kernels.MIN_BASELINE] = alpha, baseline_size
        settings[kernels.BLOCK] = block
        baseline = np.zeros(kernels.SIZE)
        phi = 0.0 if autocorrelation is None else autocorrelation
        delay = 0
        if known is None:
            settings[kernels.LEARN] = 1
            settings[kernels.REGRESS] = autocorrelation is None or phi != 0
            # Only scores that are learned from at once are exactly independent, as the guarantee
            # for all time needs.
            delay = 0 if alpha > 0 else LEARNING_DELAY
        else:
            mean, scale = known
            settings[kernels.REGRESS] = phi != 0
            baseline[kernels.OFFSET], baseline[kernels.SLOPE] = mean, phi
            baseline[kernels.RSS] = scale**2 * (1 - phi**2)
        probabilities = np.zeros((kernels.N_ROWS, 1 + shifts.size))
        probabilities[0, 0] = 1
        weights = np.full(shifts.size, 1 / shifts.size)
        return cls(shifts, weights, settings, probabilities, baseline, np.zeros(delay))

    def advance(self, value: float, step: int) -> None:
        """Take the observation at a step of the monitor."""
        kernels.take(
            self.probabilities, self.baseline, self.recent, value, float(step),
            self.shifts, self.weights, self.settings,
        )  # fmt: skip

    def advance_many(self, values: DoubleArray, step: int) -> "Stretch":
        """Take many observations, those of the steps after `step`."""
        n = values.size
        degraded, ages, alarms = np.empty(n), np.zeros((2, n)), np.empty(n, dtype=np.bool_)
        kernels.watch(
            self.probabilities, self.baseline, self.recent, values, float(step),
            self.shifts, self.weights, self.settings, degraded, ages, alarms,
        )  # fmt: skip
        return Stretch(degraded, ages, alarms)

    @property
    def level(self) -> float:
        """P(degraded) at which it alarms."""
        return float(self.settings[kernels.LEVEL])

    @property
    def degraded(self) -> float:
        """P(degraded)."""
        return float(self.probabilities[1, 0])

    @property
    def alarm(self) -> bool:
        """Whether the figure is in alarm."""
        return bool(self.baseline[kernels.ALARM] > 0)

    @property
    def learning(self) -> bool:
        """Whether the baseline is too short to watch."""
        learned = self.baseline[kernels.N] >= self.settings[kernels.MIN_BASELINE]
        return bool(self.settings[kernels.LEARN] > 0 and not learned)

    def check_scale(self, name: str) -> None:
        """Refuse a baseline without variation: no deviation from it has a size."""
        learns = self.settings[kernels.LEARN] > 0
        if learns and not self.learning and self.baseline[kernels.RSS] <= 0:
            raise DataError(
                f"figure {name!r} is constant over its baseline: drop it, or give mean and scale"
            )

    def age(self, step: int) -> tuple[float, float]:
        """Mean and standard deviation of the steps since the change, given that there was one."""
        mean, deviation = kernels.change_age(self.probabilities, self.baseline, float(step))
        return float(mean), float(deviation)

    def copy(self) -> Self:
        """The same state, which no longer changes with this one."""
        return replace(
            self,
            probabilities=self.probabilities.copy(),
            baseline=self.baseline.copy(),
            recent=self.recent.copy(),
        )

    def to_dict(self) -> dict[str, Any]:
        """The state as plain values."""
        return {
            name: getattr(self, name).tolist() for name in ("probabilities", "baseline", "recent")
        }

    def restore(self, state: dict[str, Any], step: int) -> None:
        """Take over a state at a step of the monitor; the shape and every number are checked."""
        for name in ("probabilities", "baseline", "recent"):
            own = getattr(self, name)
            given = np.array(state[name], dtype=np.float64)
            if given.shape != own.shape or not np.isfinite(given).all():
                raise DataError(f"the state of a figure has wrong {name}")
            own[...] = given
        waiting, count, seen = self.baseline[[kernels.WAITING, kernels.COUNT, kernels.SEEN]]
        p = self.probabilities[0]
        if not (
            0 <= waiting <= self.recent.size
            and 0 <= count < self.settings[kernels.BLOCK]
            and 0 <= seen <= step
            and (p >= 0).all()
            and abs(p.sum() - 1) <= 1e-6
        ):
            raise DataError("the state of a figure is damaged")


@dataclass(frozen=True, eq=False)
class Stretch:
    """Successive steps of a figure.

    Attributes
    ----------
    degraded, alarms : arrays of shape (n_steps,)
        P(degraded), and whether there is an alarm.
    ages : array of shape (2, n_steps)
        Mean and standard deviation of the steps since the change, where there is an alarm.
    """

    degraded: DoubleArray
    ages: DoubleArray
    alarms: AnyArray
