"""StreamMonitor: P(degraded) of a stream, and an alarm that keeps a promised run length."""

import json
import math
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from labelwood.core.params import Constraints, Integer, OneOf, Real, check_parameters
from labelwood.errors import DataError, LabelwoodError, ParameterError
from labelwood.sequences.monitor.calibration import LONGEST, SHORTEST, alarm_level
from labelwood.sequences.monitor.figure import Figure
from labelwood.sequences.monitor.inputs import (
    checked_blocks,
    checked_names,
    checked_rows,
    checked_time,
    checked_values,
    for_each_figure,
    restored_change,
    restored_step,
    restored_time,
)
from labelwood.sequences.monitor.record import MonitorRecord, Timeline

_FORMAT = 2
_LEAST_BASELINE = 30  # observations (blocks) that a baseline is learned from at least
# Standard deviations of the posterior on both sides of the change point. 1.645, the normal quantile
# of 90 %, held 86 % of the changes by half a standard deviation: the posterior is one over shifts.
_CREDIBLE = 1.96


class StreamMonitor:
    """Watches figures of a service and alarms when their mean has shifted.

    The filter of a hidden Markov chain with one healthy state and degraded ones (shifts by 0.5,
    1, 1.5 and 2 standard deviations): P(degraded) after every observation, in constant time and
    memory. The level of the alarm is calibrated by simulation, so that a healthy stream has on
    average `expected_run_length` steps before a false alarm.

    Parameters
    ----------
    expected_run_length : float
        Promised mean number of steps before a false alarm, of all figures together.
    mean, scale : float, sequence or mapping, optional
        Mean and standard deviation of the healthy stream (of each figure). Learned when left out:
        from the first `baseline_size` observations, and later ones once they have proved healthy.
    figures : sequence of str
        Names of the figures, when there are several.
    direction : {"both", "up", "down"}
        Shifts to watch for. One direction detects sooner.
    autocorrelation : float, optional
        Correlation of successive healthy observations. None learns it with the baseline, and
        takes it as 0 when the baseline is given.
    baseline_size : int
        Observations to learn from before watching begins; at least 30 blocks.
    block : int, sequence or mapping
        Observations (of each figure) that are averaged before the filter sees them. The promise
        is for normal observations: average figures that are far from it, such as single 0/1
        outcomes, small counts or heavy tails. `labelwood.sequences.monitor.block_size`
        chooses it from a sample.
    guarantee : {"run_length", "never"}
        "never": with probability at least 1 − `alpha` a healthy stream never alarms at all (by
        an e-process, for independent normal observations). It detects later.
    alpha : float
        Probability of any false alarm, for "never".

    Examples
    --------
    >>> import numpy as np
    >>> from labelwood import StreamMonitor
    >>> rng = np.random.default_rng(0)
    >>> monitor = StreamMonitor(expected_run_length=5000, mean=0.8, scale=0.1)
    >>> for x in rng.normal(0.8, 0.1, 500):
    ...     record = monitor.update(x)
    >>> record.alarm
    False
    >>> for x in rng.normal(0.6, 0.1, 30):
    ...     record = monitor.update(x)
    >>> record.alarm, record.probability > 0.99, record.change_point
    (True, True, 502)
    """

    _constraints: ClassVar[Constraints] = {
        "expected_run_length": Real(low=SHORTEST, high=LONGEST),
        "direction": OneOf("both", "up", "down"),
        "autocorrelation": (Real(above=-1, below=1), None),
        "baseline_size": Integer(low=_LEAST_BASELINE, high=10**6),
        "guarantee": OneOf("run_length", "never"),
        "alpha": Real(above=0, below=1),
    }

    def __init__(
        self,
        expected_run_length: float = 5000,
        mean: Any = None,
        scale: Any = None,
        *,
        figures: Sequence[str] = ("value",),
        direction: str = "both",
        autocorrelation: float | None = None,
        baseline_size: int = 200,
        block: Any = 1,
        guarantee: str = "run_length",
        alpha: float = 0.05,
    ) -> None:
        self.expected_run_length = expected_run_length
        self.direction = direction
        self.autocorrelation = autocorrelation
        self.baseline_size = baseline_size
        self.guarantee = guarantee
        self.alpha = alpha
        check_parameters(self, self._constraints)
        self.figures = checked_names(figures)
        if (mean is None) != (scale is None):
            raise ParameterError("mean and scale must be given together, or both be left out.")
        self.mean = None if mean is None else for_each_figure("mean", mean, self.figures)
        self.scale = None if scale is None else for_each_figure("scale", scale, self.figures)
        if self.scale is not None and min(self.scale) <= 0:
            raise ParameterError(f"scale must be above 0. Got {min(self.scale)!r} instead.")
        self.block = checked_blocks(block, self.figures, expected_run_length)
        self._figures = [self._fresh_figure(i) for i in range(len(self.figures))]
        self.levels = {
            name: figure.level for name, figure in zip(self.figures, self._figures, strict=True)
        }
        self._step = 0
        self._time = -math.inf
        self._change: tuple[int, int, int] | None = None

    def update(self, x: Any, *, time: float | None = None) -> MonitorRecord:
        """Take the next observation.

        Parameters
        ----------
        x : float, sequence or mapping
            The figure; or all figures in order; or some of them by name (what is left out keeps
            its state).
        time : float, optional
            Must rise from call to call; guards against a log that is out of order.
        """
        values = checked_values(x, self.figures)
        now = self._time if time is None else checked_time(time, self._time)
        before = self._copied_figures()
        for i, value in values.items():
            self._figures[i].advance(value, self._step + 1)
        self._check_scales(before)
        self._step += 1
        self._time = now
        alarmed = [figure for figure in self._figures if figure.alarm]
        if alarmed:
            worst = max(alarmed, key=lambda figure: figure.degraded)
            self._set_change(self._step, *worst.age(self._step))
        return self.record

    def update_many(self, values: Any) -> Timeline:
        """Take many observations of all figures at once: rows are steps."""
        rows = checked_rows(values, self.figures)
        n_steps = rows.shape[0]
        before = self._copied_figures()
        stretches = [
            figure.advance_many(np.ascontiguousarray(column), self._step)
            for figure, column in zip(self._figures, rows.T, strict=True)
        ]
        self._check_scales(before)
        healthy = np.ones(n_steps)
        alarms = np.zeros(n_steps, dtype=bool)
        for stretch in stretches:
            healthy *= 1 - stretch.degraded
            alarms |= stretch.alarms
        if alarms.any():
            # The change point is that of the last step in alarm, which may be long over.
            last = int(np.flatnonzero(alarms)[-1])
            alarmed = [stretch for stretch in stretches if stretch.alarms[last]]
            worst = max(alarmed, key=lambda stretch: stretch.degraded[last])
            self._set_change(self._step + last + 1, *worst.ages[:, last].tolist())
        self._step += n_steps
        return Timeline(1 - healthy, alarms)

    def __repr__(self) -> str:
        condition = "alarm" if self.alarm else "learning" if self.learning else "no alarm"
        return (
            f"<StreamMonitor of {', '.join(self.figures)}: {condition} after {self._step:,} steps>"
        )

    @property
    def record(self) -> MonitorRecord:
        """What is known now."""
        healthy = math.prod(1 - figure.degraded for figure in self._figures)
        names = zip(self.figures, self._figures, strict=True)
        return MonitorRecord(
            step=self._step,
            alarm=self.alarm,
            probability=1 - healthy,
            change_point=None if self._change is None else self._change[0],
            change_interval=None if self._change is None else self._change[1:],
            figures=tuple(name for name, figure in names if figure.alarm),
            learning=bool(self.learning),
        )

    @property
    def learning(self) -> tuple[str, ...]:
        """The figures whose baseline is still being learned."""
        names = zip(self.figures, self._figures, strict=True)
        return tuple(name for name, figure in names if figure.learning)

    @property
    def alarm(self) -> bool:
        """Whether any figure is in alarm."""
        return any(figure.alarm for figure in self._figures)

    def reset(self) -> None:
        """Forget everything but the parameters; a baseline that was learned is learned again."""
        fresh = type(self)(**self._parameters())
        self._figures, self._step = fresh._figures, 0
        self._time, self._change = -math.inf, None

    def to_dict(self) -> dict[str, Any]:
        """Parameters and state as plain values."""
        return {
            "format": _FORMAT,
            "parameters": self._parameters(),
            "step": self._step,
            "time": None if math.isinf(self._time) else self._time,
            "change": self._change,
            "figures": [figure.to_dict() for figure in self._figures],
        }

    def to_json(self) -> str:
        """`to_dict` as text."""
        return json.dumps(self.to_dict())

    @classmethod
    def from_dict(cls, content: Any) -> Self:
        """The monitor that `to_dict` described."""
        try:
            if content["format"] != _FORMAT:
                raise DataError(
                    f"monitor of format {content['format']!r}; this one reads {_FORMAT}"
                )
            monitor = cls(**content["parameters"])
            if len(content["figures"]) != len(monitor._figures):
                raise DataError("the number of figures differs from their states")
            monitor._step = restored_step(content["step"])
            monitor._time = restored_time(content["time"])
            monitor._change = restored_change(content["change"], monitor._step)
            for figure, state in zip(monitor._figures, content["figures"], strict=True):
                figure.restore(state, monitor._step)
        except LabelwoodError as error:
            raise DataError(str(error)) from None
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"not the state of a monitor: {error!r}") from None
        return monitor

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The monitor that `to_json` wrote."""
        try:
            content = json.loads(text)
        except json.JSONDecodeError as error:
            raise DataError(f"not the state of a monitor: {error}") from None
        return cls.from_dict(content)

    def _parameters(self) -> dict[str, Any]:
        return {
            "expected_run_length": self.expected_run_length,
            "mean": self.mean,
            "scale": self.scale,
            "figures": list(self.figures),
            "direction": self.direction,
            "autocorrelation": self.autocorrelation,
            "baseline_size": self.baseline_size,
            "block": self.block,
            "guarantee": self.guarantee,
            "alpha": self.alpha,
        }

    def _fresh_figure(self, i: int) -> Figure:
        """Figure number i before any observation, with its share of the promise.

        The rates of false alarms add up, so each of n figures promises n times the run length.
        """
        n = len(self.figures)
        run_length = self.expected_run_length * n / self.block[i]
        known = None if self.mean is None or self.scale is None else (self.mean[i], self.scale[i])
        baseline_size = max(_LEAST_BASELINE, math.ceil(self.baseline_size / self.block[i]))
        return Figure.fresh(
            direction=self.direction,
            hazard=1 / run_length,
            level=alarm_level(
                run_length,
                two_sided=self.direction == "both",
                baseline_size=baseline_size if known is None else None,
            ),
            alpha=self.alpha / n if self.guarantee == "never" else 0.0,
            known=known,
            autocorrelation=self.autocorrelation,
            baseline_size=baseline_size,
            block=self.block[i],
        )

    def _copied_figures(self) -> list[Figure]:
        """What to go back to when a baseline turns out to be constant; none if all are learned."""
        return [figure.copy() for figure in self._figures] if self.learning else []

    def _check_scales(self, before: list[Figure]) -> None:
        if not before:
            return
        try:
            for name, figure in zip(self.figures, self._figures, strict=True):
                figure.check_scale(name)
        except DataError:
            self._figures = before
            raise

    def _set_change(self, step: int, age: float, deviation: float) -> None:
        middle = step - age
        low = max(1, math.floor(middle - _CREDIBLE * deviation))
        high = min(step, math.ceil(middle + _CREDIBLE * deviation))
        self._change = (max(1, round(middle)), low, high)
