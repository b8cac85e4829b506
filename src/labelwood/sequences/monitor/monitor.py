"""StreamMonitor: P(degraded) of a stream, and an alarm that keeps a promised run length."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from labelwood.core.params import Constraints, Integer, OneOf, Real, check_parameters
from labelwood.core.types import AnyArray, DoubleArray
from labelwood.errors import DataError, ParameterError
from labelwood.sequences.monitor.calibration import LONGEST, SHORTEST, alarm_level
from labelwood.sequences.monitor.figure import Figure

_FORMAT = 1
_CREDIBLE = 1.645  # normal quantile of the 90 % interval of the change point


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
        P(degraded) now.
    change_point : int or None
        Step of the last change, by the posterior mean; None before the first alarm.
    change_interval : tuple of int or None
        About 90 % of the posterior of the change point.
    figures : tuple of str
        The figures in alarm.
    learning : bool
        Whether the baseline is still being learnt, so that nothing is watched yet.
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
        Mean and standard deviation of the healthy stream (of each figure). Learnt when left out:
        from the first `baseline_size` observations, and later ones once they have proved healthy.
    figures : sequence of str
        Names of the figures, when there are several.
    direction : {"both", "up", "down"}
        Shifts to watch for. One direction detects sooner.
    autocorrelation : float, optional
        Correlation of successive healthy observations. None learns it with the baseline, and
        takes it as 0 when the baseline is given.
    baseline_size : int
        Observations to learn from before watching begins.
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
        "baseline_size": Integer(low=30, high=10**6),
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
        self.figures = _checked_names(figures)
        if (mean is None) != (scale is None):
            raise ParameterError("mean and scale must be given together, or both be left out.")
        self.mean = None if mean is None else self._for_each_figure("mean", mean)
        self.scale = None if scale is None else self._for_each_figure("scale", scale)
        if self.scale is not None and min(self.scale) <= 0:
            raise ParameterError(f"scale must be above 0. Got {min(self.scale)!r} instead.")
        n = len(self.figures)
        learnt = self.mean is None
        # The rates of false alarms add up, so each figure keeps its share of the promise.
        self.level = alarm_level(
            expected_run_length * n,
            two_sided=direction == "both",
            baseline_size=baseline_size if learnt else None,
        )
        self._figures = [
            Figure.fresh(
                direction=direction,
                hazard=1 / (expected_run_length * n),
                level=self.level,
                alpha=alpha / n if guarantee == "never" else 0.0,
                known=None
                if self.mean is None or self.scale is None
                else (self.mean[i], self.scale[i]),
                autocorrelation=autocorrelation,
                baseline_size=baseline_size,
            )
            for i in range(n)
        ]
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
        values = self._checked_values(x)
        if time is not None:
            if not isinstance(time, (int, float, np.number)):
                raise DataError(f"time must be a number, such as seconds. Got {time!r} instead.")
            if not time > self._time:
                raise DataError(
                    f"observation at time {time!r} came after the one at {self._time!r}: "
                    "sort the log by time"
                )
            self._time = float(time)
        for i, value in values.items():
            self._figures[i].advance(value)
            self._figures[i].check_scale(self.figures[i])
        self._step += 1
        return self._record()

    def update_many(self, values: Any) -> Timeline:
        """Take many observations of all figures at once: rows are steps."""
        rows = np.asarray(values, dtype=np.float64)
        rows = rows.reshape(-1, 1) if rows.ndim == 1 else rows
        if rows.ndim != 2 or rows.shape[1] != len(self.figures):
            raise DataError(
                f"observations must have {len(self.figures)} columns. Got shape {rows.shape}."
            )
        bad = np.argwhere(~np.isfinite(rows))
        if bad.size:
            row, column = bad[0]
            raise DataError(_not_finite(self.figures[column], rows[row, column], f" (row {row})"))
        healthy = np.ones(rows.shape[0])
        alarms = np.zeros(rows.shape[0], dtype=bool)
        for name, figure, column in zip(self.figures, self._figures, rows.T, strict=True):
            degraded, alarmed = figure.advance_many(np.ascontiguousarray(column))
            figure.check_scale(name)
            healthy *= 1 - degraded
            alarms |= alarmed
        self._step += rows.shape[0]
        self._record()
        return Timeline(1 - healthy, alarms)

    @property
    def record(self) -> MonitorRecord:
        """What is known now."""
        return self._describe()

    @property
    def alarm(self) -> bool:
        """Whether any figure is in alarm."""
        return any(figure.alarm for figure in self._figures)

    def reset(self) -> None:
        """Forget everything but the parameters; a baseline that was learnt is learnt again."""
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
            for figure, state in zip(monitor._figures, content["figures"], strict=True):
                figure.restore(state)
            monitor._step = int(content["step"])
            monitor._time = -math.inf if content["time"] is None else float(content["time"])
            change = content["change"]
            monitor._change = None if change is None else (*map(int, change),)  # type: ignore[assignment]
        except (KeyError, TypeError) as error:
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
            "guarantee": self.guarantee,
            "alpha": self.alpha,
        }

    def _record(self) -> MonitorRecord:
        """Update the change point and describe the state."""
        alarmed = [figure for figure in self._figures if figure.alarm]
        if alarmed:
            age, deviation = max(alarmed, key=lambda figure: figure.degraded).age()
            middle = self._step - age
            low = max(1, math.floor(middle - _CREDIBLE * deviation))
            high = min(self._step, math.ceil(middle + _CREDIBLE * deviation))
            self._change = (max(1, round(middle)), low, high)
        return self._describe()

    def _describe(self) -> MonitorRecord:
        healthy = math.prod(1 - figure.degraded for figure in self._figures)
        names = zip(self.figures, self._figures, strict=True)
        return MonitorRecord(
            step=self._step,
            alarm=self.alarm,
            probability=1 - healthy,
            change_point=None if self._change is None else self._change[0],
            change_interval=None if self._change is None else self._change[1:],
            figures=tuple(name for name, figure in names if figure.alarm),
            learning=any(figure.learning for figure in self._figures),
        )

    def _checked_values(self, x: Any) -> dict[int, float]:
        """The figures of an observation by their position."""
        if isinstance(x, Mapping):
            unknown = sorted(set(x) - set(self.figures))
            if unknown:
                raise DataError(
                    f"no figure {unknown[0]!r}; the monitor has {', '.join(self.figures)}"
                )
            named = {self.figures.index(name): value for name, value in x.items()}
        else:
            values = x if isinstance(x, (Sequence, np.ndarray)) and not isinstance(x, str) else [x]
            if len(values) != len(self.figures):
                raise DataError(
                    f"an observation must have {len(self.figures)} figures. Got {len(values)}."
                )
            named = dict(enumerate(values))
        checked = {}
        for i, value in named.items():
            try:
                checked[i] = float(value)
            except (TypeError, ValueError):
                raise DataError(_not_finite(self.figures[i], value, "")) from None
            if not math.isfinite(checked[i]):
                raise DataError(_not_finite(self.figures[i], value, ""))
        return checked

    def _for_each_figure(self, name: str, given: Any) -> list[float]:
        if isinstance(given, Mapping):
            missing = [figure for figure in self.figures if figure not in given]
            if missing:
                raise ParameterError(f"{name} lacks the figure {missing[0]!r}.")
            given = [given[figure] for figure in self.figures]
        values = [float(one) for one in np.atleast_1d(np.asarray(given, dtype=np.float64))]
        if len(values) != len(self.figures) or not all(map(math.isfinite, values)):
            raise ParameterError(
                f"{name} must be {len(self.figures)} finite numbers, one a figure. "
                f"Got {given!r} instead."
            )
        return values


def _checked_names(figures: Sequence[str]) -> tuple[str, ...]:
    names = (figures,) if isinstance(figures, str) else tuple(figures)
    if not names or len(set(names)) < len(names) or not all(isinstance(one, str) for one in names):
        raise ParameterError(f"figures must be different names. Got {figures!r} instead.")
    return names


def _not_finite(name: str, value: object, where: str) -> str:
    return (
        f"figure {name!r} is {value!r}{where}, not a finite number: leave a missing figure out "
        "of the mapping, or drop the observation"
    )
