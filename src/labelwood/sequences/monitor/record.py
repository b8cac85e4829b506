"""What a monitor reports: the record of a step, and the timeline of many."""

from dataclasses import dataclass

import numpy as np

from labelwood.core.types import AnyArray, DoubleArray


@dataclass(frozen=True)
class MonitorRecord:
    """What a monitor knows after a step.

    Attributes
    ----------
    step : int
        Number of the observation, from 1.
    alarm : bool
        Whether the stream counts as degraded: from the calibrated level on, until P(degraded)
        has fallen well below it.
    probability : float
        P(degraded) now; with blocks, as of the last full one.
    change_point : int or None
        Step of the last change, by the posterior mean; None before the first alarm. Steps are
        those of the monitor, whichever figures they had.
    change_interval : tuple of int or None
        Where the change point is: right in at least about 90 % of the changes by half a standard
        deviation, more often for larger ones.
    figures : tuple of str
        The figures in alarm.
    learning : bool
        Whether a baseline is still being learned, so that its figure is not watched yet.
    """

    step: int
    alarm: bool
    probability: float
    change_point: int | None
    change_interval: tuple[int, int] | None
    figures: tuple[str, ...] = ()
    learning: bool = False


@dataclass(frozen=True, eq=False)
class Timeline:
    """A stretch of a stream: `probabilities` and `alarms` of each step."""

    probabilities: DoubleArray
    alarms: AnyArray

    def episodes(self) -> list[tuple[int, int]]:
        """First step of each alarm and the step after its last one, from 0."""
        edges = np.flatnonzero(np.diff(np.concatenate([[0], self.alarms.astype(int), [0]])))
        return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]
