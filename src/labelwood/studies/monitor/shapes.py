"""Run length of figures that are far from normal, one by one and averaged in blocks."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from labelwood.studies._plot import GRAY, legend_below
from labelwood.studies._result import Row
from labelwood.studies._study import Options, Study

RUN_LENGTH = 5_000
SAMPLE = 200  # healthy observations that the block is chosen from, and that a baseline needs
SHIFT = 1.0  # standard deviations of one observation
N_STREAMS = 400
_QUICK = (5, 200)
_CHUNK = 1_000
_LIMIT = 30  # run lengths after which a stream counts as this long

SHAPES: dict[str, Callable[[Any, int], Any]] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "uniform": lambda rng, n: rng.random(n),
    "beta(8, 2), such as a top score": lambda rng, n: rng.beta(8, 2, n),
    "gamma(50), such as a latency": lambda rng, n: rng.gamma(50, size=n),
    "exponential": lambda rng, n: rng.exponential(size=n),
    "lognormal": lambda rng, n: rng.lognormal(size=n),
    "Student's t(5)": lambda rng, n: rng.standard_t(5, n),
    "Poisson(2)": lambda rng, n: rng.poisson(2, n),
    "binomial(5, 0.98), such as a number of labels": lambda rng, n: rng.binomial(5, 0.98, n),
    "0/1 with rate 0.9, such as accepted": lambda rng, n: rng.binomial(1, 0.9, n),
    "0/1 with rate 0.99": lambda rng, n: rng.binomial(1, 0.99, n),
}


def rows(part: str, options: Options) -> Iterator[Row]:
    """Run lengths of one shape, and the delay of the blocks at a shift."""
    import numpy as np

    from labelwood.core.parallel import parallel

    n, run_length = _sizes(options)
    seeds = np.random.SeedSequence((options.seed, list(SHAPES).index(part))).spawn(n)
    draw_values = SHAPES[part]
    found = parallel(
        lambda seed: _stream(draw_values, run_length, np.random.default_rng(seed)),
        seeds,
        n_jobs=options.jobs,
    )
    block, single, blocks, delay = np.array(found, dtype=float).T
    yield {
        "figure": part,
        "run length": float(single.mean()),
        "standard error": float(single.std(ddof=1) / math.sqrt(n)),
        "block": float(np.median(block)),
        "in blocks": float(blocks.mean()),
        "its error": float(blocks.std(ddof=1) / math.sqrt(n)),
        "delay": float(delay.mean()),
    }


def _stream(draw_values: Any, run_length: int, rng: Any) -> tuple[float, float, float, float]:
    """Block, run length without and with it, and the delay with it."""
    import numpy as np

    from labelwood.sequences.monitor.calibration import SHORTEST, block_size

    sample = draw_values(rng, SAMPLE)
    while np.ptp(sample) == 0:  # such a figure is not watched
        sample = draw_values(rng, SAMPLE)
    block = min(block_size(sample, run_length), int(run_length / SHORTEST))
    deviation = float(np.std(draw_values(rng, 10_000)))
    return (
        block,
        _steps(draw_values, run_length, 1, 0.0, rng),
        _steps(draw_values, run_length, block, 0.0, rng),
        _steps(draw_values, run_length, block, SHIFT * deviation, rng),
    )


def _steps(draw_values: Any, run_length: int, block: int, shift: float, rng: Any) -> int:
    """Steps from the end of the baseline to the alarm; `shift` moves the figure down there."""
    import numpy as np

    from labelwood import StreamMonitor
    from labelwood.errors import DataError

    monitor = StreamMonitor(run_length, block=block, baseline_size=SAMPLE)
    while monitor.learning:
        with suppress(DataError):  # a baseline of equal values, which goes on until one differs
            monitor.update_many(draw_values(rng, block))
    steps = 0
    while steps < _LIMIT * run_length:
        alarms = monitor.update_many(draw_values(rng, _CHUNK) - shift).alarms
        if alarms.any():
            return steps + int(np.argmax(alarms)) + 1
        steps += _CHUNK
    return steps


def draw(figure: Any, rows: Sequence[Any]) -> None:
    """Run lengths without and with blocks, beside the promise."""
    figure.set_size_inches(6.8, 0.4 * len(rows) + 1.6)
    axes = figure.subplots()
    places = range(len(rows))
    for key, error, color in (
        ("run length", "standard error", "C1"),
        ("in blocks", "its error", "C0"),
    ):
        axes.errorbar(
            [row[key] for row in rows],
            places,
            xerr=[2 * row[error] for row in rows],
            fmt="o",
            markersize=4,
            color=color,
            label="one by one" if key == "run length" else "in blocks",
        )
    axes.axvline(RUN_LENGTH, color=GRAY, linestyle="--", linewidth=1, label="promise")
    axes.set(xscale="log", xlabel="steps before a false alarm", yticks=list(places))
    axes.set_yticklabels([row["figure"] for row in rows], fontsize=8)
    axes.invert_yaxis()
    legend_below(figure, [axes])


def _sizes(options: Options) -> tuple[int, int]:
    """Number of streams, and the run length that is promised."""
    return _QUICK if options.quick else (N_STREAMS, RUN_LENGTH)


def _notes(options: Options) -> tuple[str, ...]:
    n, run_length = _sizes(options)
    return (
        f"{n} streams a cell, learned baselines of {SAMPLE} steps (30 blocks at least), "
        f"promised run length {run_length:,}; runs are cut at {_LIMIT * run_length:,} steps.",
        f"`block` is the median of what `block_size` takes from {SAMPLE} observations, at most "
        f"{run_length // 50}; `delay` is that of the blocks after a shift down by {SHIFT:g} "
        "standard deviation of one observation.",
    )


STUDY = Study(
    name="monitor-shapes",
    title="Steps before a false alarm of figures far from normal, one by one and in blocks",
    parts=dict.fromkeys(SHAPES, ()),
    columns={
        "figure": "",
        "run length": ",.0f",
        "standard error": ",.0f",
        "block": ",.0f",
        "in blocks": ",.0f",
        "its error": ",.0f",
        "delay": ",.0f",
    },
    rows=rows,
    draw=draw,
    notes=_notes,
)
