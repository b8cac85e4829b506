"""How often the interval of a change point holds the step at which a stream changed.

`StreamMonitor` gives a part of the posterior of the change point that is to hold at least 90 % of
the changes. The posterior is under the chain of the monitor, in which shifts come by chance; here
the shift is given, and so is the step.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from labelwood.studies._plot import GRAY
from labelwood.studies._result import Row
from labelwood.studies._study import Options, Study

RUN_LENGTH = 5_000
LEVEL = 0.90
SHIFTS = (0.5, 1.0, 1.5, 2.0)
N_HEALTHY, N_AFTER = 300, 60  # steps before the shift, and of the second look after the alarm
LIMIT = 5_000  # steps after the shift; streams without an alarm by then are left out
N_STREAMS = 2_000
_QUICK = 40
_ERRORS = 3.0  # standard errors of the measured coverage that make a difference


def rows(part: str, options: Options) -> Iterator[Row]:
    """Two rows of a shift: the interval at the alarm, and some steps later."""
    import numpy as np

    from labelwood.core.parallel import parallel

    shift = float(part.removesuffix(" σ"))
    seeds = np.random.SeedSequence((options.seed, int(10 * shift))).spawn(_n_streams(options))
    found = parallel(
        lambda seed: _stream(shift, np.random.default_rng(seed)), seeds, n_jobs=options.jobs
    )
    looks = np.array([one for one in found if one is not None])
    for place, look in enumerate(("at the alarm", f"{N_AFTER} steps later")):
        low, high = looks[:, place].T
        held = (low <= N_HEALTHY + 1) & (high >= N_HEALTHY + 1)
        yield _row(part, look, held, np.median(high - low + 1))


def _stream(shift: float, rng: Any) -> list[tuple[int, int]] | None:
    """The interval at the alarm and later; None for a false alarm before the shift, or for none."""
    from labelwood.sequences.monitor import StreamMonitor

    monitor = StreamMonitor(RUN_LENGTH, 0, 1)
    if monitor.update_many(rng.normal(size=N_HEALTHY)).alarms.any():
        return None
    values = rng.normal(shift, 1, LIMIT).tolist()
    while values and not monitor.alarm:
        monitor.update(values.pop())
    first = monitor.record.change_interval
    monitor.update_many(rng.normal(shift, 1, N_AFTER))
    later = monitor.record.change_interval
    return None if first is None or later is None else [first, later]


def _row(part: str, look: str, held: Any, width: float) -> Row:
    n, share = held.size, float(held.mean())
    error = math.sqrt(share * (1 - share) / n)
    verdict = "exact" if abs(share - LEVEL) <= _ERRORS * error else "too narrow"
    return {
        "shift": part,
        "interval": look,
        "streams": n,
        "stated": 100 * LEVEL,
        "measured": 100 * share,
        "±": 100 * error,
        "steps": float(width),
        "verdict": "conservative" if share > LEVEL and verdict != "exact" else verdict,
    }


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """Measured coverage of both looks against the shift."""
    axes = figure.subplots()
    for look in dict.fromkeys(row["interval"] for row in rows):
        chosen = [row for row in rows if row["interval"] == look]
        shifts = [str(row["shift"]) for row in chosen]
        axes.plot(shifts, [row["measured"] for row in chosen], "o-", label=look)
    axes.axhline(100 * LEVEL, color=GRAY, linestyle="--", linewidth=1, label="stated")
    axes.set(xlabel="shift (standard deviations)", ylabel="intervals that hold, per cent")
    axes.legend()


def _n_streams(options: Options) -> int:
    return _QUICK if options.quick else N_STREAMS


def _notes(options: Options) -> tuple[str, ...]:
    return (
        f"{_n_streams(options):,} streams a shift, normal with variance 1 and known baseline; "
        f"the shift comes after {N_HEALTHY} healthy steps. Streams with a false alarm before it "
        "are left out.",
        "steps: median number of steps in the interval. exact: within 3 standard errors of the "
        "stated level; conservative: above; too narrow: below.",
    )


STUDY = Study(
    name="monitor-coverage",
    title="How often the interval of a change point holds the step of the change",
    parts=dict.fromkeys((f"{shift:g} σ" for shift in SHIFTS), ()),
    columns={
        "shift": "",
        "interval": "",
        "streams": ",d",
        "stated": ".0f",
        "measured": ".1f",
        "±": ".1f",
        "steps": ".0f",
        "verdict": "",
    },
    rows=rows,
    draw=draw,
    notes=_notes,
)
