"""Steps between false alarms and until a true one: the monitor against the known optimum.

The optimum is that of the one-sided CUSUM tuned to the very shift (Moustakides 1986), by a Markov
chain (Brook & Evans 1972); no detector can beat it at its own shift and run length. The monitor
knows neither the size nor (by default) the direction of the shift.
"""

import math
from collections.abc import Iterator, Sequence
from statistics import NormalDist
from typing import Any

from labelwood.studies._plot import GRAY, legend_below
from labelwood.studies._result import Row
from labelwood.studies._study import Options, Study

RUN_LENGTH = 5_000
OPTIMUM = {0.5: 43.7, 1.0: 13.7, 1.5: 6.9, 2.0: 4.2}
N_STREAMS = 2_000
_QUICK = (20, 200)
_MOST_OF_ADWIN = 200  # streams
LIMIT = 20_000  # steps after which a stream of a peer, or one after a shift, counts as this long
N_HEALTHY = 1_000  # steps before the shift for detectors that need a past

MONITORS: dict[str, dict[str, Any]] = {
    "known baseline, both directions": {},
    "known baseline, one direction": {"direction": "up"},
    "baseline of 200 steps": {"known": False, "baseline_size": 200},
    "baseline of 1,000 steps": {"known": False, "baseline_size": 1_000},
    "AR(0.5), baseline of 200 steps": {"known": False, "baseline_size": 200, "phi": 0.5},
    "AR(0.5), baseline of 1,000 steps": {"known": False, "baseline_size": 1_000, "phi": 0.5},
    "AR(0.5), known": {"phi": 0.5, "autocorrelation": 0.5},
}
PEERS = ("dummy: alarms at random", "Shewhart: one observation", "river ADWIN")


def rows(part: str, options: Options) -> Iterator[Row]:
    """Run length and delays of one detector."""
    n, run_length = _sizes(options)
    if part in MONITORS:
        yield _monitor_row(part, n, run_length, options)
    else:
        yield _peer_row(part, n, run_length, options)


def _monitor_row(part: str, n: int, run_length: int, options: Options) -> Row:
    from labelwood.sequences.monitor.calibration import Scenario, simulate_delays

    settings = {"run_length": run_length, **MONITORS[part]}
    seed = (options.seed, list(MONITORS).index(part))

    def measure(shift: float, limit: int) -> Any:
        import numpy as np

        return simulate_delays(
            Scenario(shift=shift, **settings),
            n,
            random_state=np.random.SeedSequence((*seed, int(10 * shift))),
            limit=limit,
            n_jobs=options.jobs,
        )

    return _row(part, {shift: measure(shift, LIMIT) for shift in OPTIMUM}, measure(0.0, 10**9))


def _peer_row(part: str, n: int, run_length: int, options: Options) -> Row:
    import numpy as np

    rng = np.random.default_rng((options.seed, PEERS.index(part) + 100))
    if part == "river ADWIN":
        n = min(n, _MOST_OF_ADWIN)  # 5 µs a step in place of 1
        delays = {shift: _adwin(rng, shift, n) for shift in (*OPTIMUM, 0.0)}
        return _row(part, delays, delays.pop(0.0))
    if part.startswith("dummy"):
        delays = {shift: rng.geometric(1 / run_length, n) for shift in (*OPTIMUM, 0.0)}
    else:
        from scipy.stats import norm

        k = -norm.ppf(1 / (2 * run_length))
        delays = {
            shift: rng.geometric(norm.sf(k - shift) + norm.cdf(-k - shift), n)
            for shift in (*OPTIMUM, 0.0)
        }
    return _row(part, delays, delays.pop(0.0))


def _adwin(rng: Any, shift: float, n: int) -> Any:
    """Steps until ADWIN reports a change, after a healthy past without one."""
    import importlib

    import numpy as np

    from labelwood.errors import MissingExtraError

    try:
        drift = importlib.import_module("river.drift")
    except ImportError:
        raise MissingExtraError("ADWIN in the table", "test") from None
    found = []
    for _ in range(n):
        detector = drift.ADWIN()
        for x in rng.standard_normal(N_HEALTHY):
            detector.update(x)
        t = 0
        for t, x in enumerate(rng.normal(shift, 1, LIMIT), 1):  # noqa: B007 the last t is used
            detector.update(x)
            if detector.drift_detected:
                break
        found.append(t)
    return np.array(found)


def _row(part: str, delays: dict[float, Any], healthy: Any) -> Row:
    row: Row = {
        "detector": part,
        "run length": float(healthy.mean()),
        "standard error": float(healthy.std(ddof=1) / math.sqrt(healthy.size)),
    }
    for shift, steps in delays.items():
        row[f"{shift:g} σ"] = float(steps.mean())
        row[f"ratio {shift:g}"] = float(steps.mean()) / OPTIMUM[shift]
    row["missed"] = float((delays[0.5] >= LIMIT).mean())
    return row


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """Delay over the optimum at each shift, with the bound 1.3."""
    figure.set_size_inches(6.8, 5.2)
    axes = figure.subplots()
    shifts = list(OPTIMUM)
    for i, row in enumerate(rows):
        ratios = [row[f"ratio {shift:g}"] for shift in shifts]
        axes.plot(shifts, ratios, "o-", markersize=4, color=f"C{i}", label=row["detector"])
    axes.axhline(1.3, color=GRAY, linestyle="--", linewidth=1, label="1.3 of the optimum")
    axes.axhline(1.0, color=GRAY, linewidth=1, label="optimum")
    axes.set(xlabel="shift (standard deviations)", ylabel="delay / optimum", yscale="log")
    legend_below(figure, [axes])


def _sizes(options: Options) -> tuple[int, int]:
    """Number of streams, and the run length that is promised."""
    return _QUICK if options.quick else (N_STREAMS, RUN_LENGTH)


def _notes(options: Options) -> tuple[str, ...]:
    n, run_length = _sizes(options)
    adwin = min(n, _MOST_OF_ADWIN)
    shewhart = -NormalDist().inv_cdf(1 / (2 * run_length))
    return (
        f"{n:,} streams a cell (ADWIN: {adwin}), normal with variance 1; promised run length "
        f"{run_length:,}. Optimum: {', '.join(f'{v:g}' for v in OPTIMUM.values())} steps.",
        "A shift begins with the first step that is watched: after the baseline where it is "
        f"learned, after {N_HEALTHY:,} healthy steps for ADWIN (default delta). The shift of an "
        "AR(0.5) stream is in its marginal standard deviations.",
        f"Delays are cut at {LIMIT:,} steps, which `missed` counts at 0.5 σ; so is ADWIN's run "
        f"length. Shewhart alarms at |x| > {shewhart:.2f}.",
    )


STUDY = Study(
    name="monitor-delay",
    title="Steps between false alarms and until the alarm after a shift, against the optimum",
    parts=dict.fromkeys((*MONITORS, *PEERS), ()),
    columns={
        "detector": "",
        "run length": ",.0f",
        "standard error": ",.0f",
        **{f"{shift:g} σ": ",.1f" for shift in OPTIMUM},
        **{f"ratio {shift:g}": ",.2f" for shift in OPTIMUM},
        "missed": ".1%",
    },
    rows=rows,
    draw=draw,
    notes=_notes,
)
