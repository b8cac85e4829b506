"""What a monitor is given, checked: parameters, observations, and a stored state."""

import math
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from labelwood.core.types import DoubleArray
from labelwood.errors import DataError, ParameterError
from labelwood.sequences.engine.chain import as_numbers
from labelwood.sequences.engine.sequences import whole_numbers
from labelwood.sequences.monitor.calibration import SHORTEST


def checked_names(figures: Sequence[str]) -> tuple[str, ...]:
    """Names of figures, all different."""
    names: tuple[Any, ...] = ()
    if isinstance(figures, str):
        names = (figures,)
    elif isinstance(figures, (Sequence, np.ndarray)):
        names = tuple(figures)
    if not names or not all(isinstance(one, str) for one in names) or len({*names}) < len(names):
        raise ParameterError(f"figures must be different names. Got {figures!r} instead.")
    return names


def for_each_figure(name: str, given: Any, figures: tuple[str, ...]) -> list[float]:
    """A number for each figure; one number, or those of a mapping."""
    values = as_numbers(_in_order(name, given, figures))
    if values is None or values.shape != (len(figures),) or not np.isfinite(values).all():
        raise ParameterError(
            f"{name} must be {len(figures)} finite numbers, one per figure. Got {given!r} instead."
        )
    return [float(one) for one in values]


def checked_blocks(given: Any, figures: tuple[str, ...], run_length: float) -> list[int]:
    """The block of each figure; one number is for all."""
    n = len(figures)
    values = [given] * n if isinstance(given, Integral) else _in_order("block", given, figures)
    blocks = whole_numbers(values)
    if blocks is None or blocks.size != n or (blocks < 1).any():
        raise ParameterError(
            f"block must be {n} whole numbers ≥ 1, one per figure. Got {given!r} instead."
        )
    longest = int(run_length * n / SHORTEST)
    if blocks.max() > longest:
        raise ParameterError(
            f"a block of {blocks.max()} observations is too long for a run length of "
            f"{run_length:g}, which allows at most {longest}."
        )
    return [int(one) for one in blocks]


def _in_order(name: str, given: Any, figures: tuple[str, ...]) -> list[Any]:
    """Values of a parameter in the order of the figures."""
    if isinstance(given, Mapping):
        missing = [figure for figure in figures if figure not in given]
        if missing:
            raise ParameterError(f"{name} lacks the figure {missing[0]!r}.")
        return [given[figure] for figure in figures]
    if isinstance(given, (Sequence, np.ndarray)) and not isinstance(given, str):
        return list(np.atleast_1d(given)) if isinstance(given, np.ndarray) else list(given)
    return [given]


def checked_values(x: Any, figures: tuple[str, ...]) -> dict[int, float]:
    """The figures of an observation by their position."""
    if hasattr(x, "to_dict"):  # a row of a data frame, whose order may be another
        x = x.to_dict()
    if isinstance(x, Mapping):
        unknown = sorted(set(x) - set(figures))
        if unknown:
            raise DataError(f"no figure {unknown[0]!r}; the monitor has {', '.join(figures)}")
        named = {figures.index(name): value for name, value in x.items()}
    else:
        single = isinstance(x, str) or not hasattr(x, "__len__") or np.shape(x) == ()
        values = [x] if single else list(x)
        if len(values) != len(figures):
            raise DataError(f"an observation must have {len(figures)} figures. Got {len(values)}.")
        named = dict(enumerate(values))
    checked = {}
    for i, value in named.items():
        try:
            checked[i] = float(value)
        except (TypeError, ValueError):
            raise DataError(_not_finite(figures[i], value, "")) from None
        if not math.isfinite(checked[i]):
            raise DataError(_not_finite(figures[i], value, ""))
    return checked


def checked_rows(values: Any, figures: tuple[str, ...]) -> DoubleArray:
    """Observations of all figures, a row a step."""
    if hasattr(values, "columns"):  # a data frame, whose order may be another
        if {*values.columns} != {*figures}:
            raise DataError(
                f"the columns are {', '.join(map(str, values.columns))}, and the figures of the "
                f"monitor {', '.join(figures)}"
            )
        values = values[list(figures)]
    rows = as_numbers(values)
    if rows is None:
        raise DataError("observations must be numbers, a row a step and a column a figure.")
    rows = rows.reshape(-1, 1) if rows.ndim == 1 else rows
    if rows.ndim != 2 or rows.shape[1] != len(figures):
        raise DataError(f"observations must have {len(figures)} columns. Got shape {rows.shape}.")
    bad = np.argwhere(~np.isfinite(rows))
    if bad.size:
        row, column = bad[0]
        raise DataError(_not_finite(figures[column], rows[row, column], f" (row {row})"))
    return rows


def checked_time(time: Any, before: float) -> float:
    """A time that rises."""
    if not isinstance(time, (int, float, np.number)):
        raise DataError(f"time must be a number, such as seconds. Got {time!r} instead.")
    if not math.isfinite(time):
        raise DataError(f"time must be a finite number. Got {time!r} instead.")
    if not time > before:
        raise DataError(
            f"observation at time {time!r} came after the one at {before!r}: sort the log by time"
        )
    return float(time)


def _not_finite(name: str, value: object, where: str) -> str:
    return (
        f"figure {name!r} is {value!r}{where}, not a finite number: leave a missing figure out "
        "of the mapping, or drop the observation"
    )


def restored_step(step: Any) -> int:
    """The number of steps that a state was written after."""
    if not isinstance(step, int) or isinstance(step, bool) or step < 0:
        raise DataError(f"not the state of a monitor: step {step!r}")
    return step


def restored_time(time: Any) -> float:
    """The last time of a state."""
    if time is None:
        return -math.inf
    if not isinstance(time, (int, float)) or not math.isfinite(time):
        raise DataError(f"not the state of a monitor: time {time!r}")
    return float(time)


def restored_change(change: Any, step: int) -> tuple[int, int, int] | None:
    """The last change point of a state, with its interval."""
    if change is None:
        return None
    values = whole_numbers(change)
    if values is None or values.size != 3 or values.min() < 1 or values.max() > step:
        raise DataError(f"not the state of a monitor: change {change!r}")
    point, low, high = values.tolist()
    return point, low, high
