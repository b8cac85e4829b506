"""Optimisation and statistical error of Baum–Welch on one sequence (Yang 2018, Figure 2.3).

One sequence with d = 10, n = 1000, ζ = 0.2 (ρ_mix = 0.6), five starts uniform in the ball of
radius ‖μ*‖/4 around μ*, ζ⁰ = ½. The text has η² = 1.5 and the caption ‖μ*‖/σ = 1.5: both are run.
The figure of the chapter leaves the error of ζ out; it is drawn here.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from labelwood.studies._plot import legend_below
from labelwood.studies._result import Row
from labelwood.studies._study import Options, Study
from labelwood.studies.hmm._two_state import DIMENSION, LENGTH, draw_sample, gap, trace

PARTS = {"η² = 1.5 (text)": 1.5, "‖μ*‖/σ = 1.5 (caption)": 2.25}
N_STARTS, ITERATIONS = 5, 60
_QUICK = (2, 5)
_LEAST = 1e-16  # of what a logarithmic axis shows


def rows(part: str, options: Options) -> Iterator[Row]:
    """Errors of every start after every iteration."""
    import numpy as np

    from labelwood.sequences.two_state_hmm.starts import in_ball

    n_starts, iterations = _QUICK if options.quick else (N_STARTS, ITERATIONS)
    rng = np.random.default_rng(options.seed)
    sample = draw_sample(rng, snr=PARTS[part])
    radius = float(np.linalg.norm(sample.mean)) / 4
    traces = [trace(sample, in_ball(sample.mean, radius, rng), iterations) for _ in range(n_starts)]
    end_mean, end_beta = traces[0][-1]
    for start, iterates in enumerate(traces, 1):
        for t, (mean, beta) in enumerate(iterates):
            yield {
                "SNR": part,
                "start": start,
                "t": t,
                "optimisation error": gap(mean, end_mean),
                "statistical error": gap(mean, sample.mean),
                "error of β to the end": abs(beta - end_beta),
                "error of β": abs(beta - sample.beta),
            }


def summary(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Of each SNR: spread of the ends, factor a step (median of the linear part), floor."""
    import numpy as np

    found = []
    for part in dict.fromkeys(str(row["SNR"]) for row in rows):
        own: list[Any] = [row for row in rows if row["SNR"] == part]
        last = max(row["t"] for row in own)
        ends = [row for row in own if row["t"] == last]
        errors = np.array([row["optimisation error"] for row in own if row["start"] == 1])
        linear = errors[(errors > 1e-10) & (errors < 1e-2)]
        found.append(
            {
                "SNR": part,
                "spread": max(row["optimisation error"] for row in ends),
                "factor": float(np.median(linear[1:] / linear[:-1])) if linear.size > 1 else None,
                "floor": float(np.mean([row["statistical error"] for row in ends])),
                "√(d/n)": math.sqrt(DIMENSION / LENGTH),
            }
        )
    return found


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """Both errors against the iteration, on a logarithmic scale: μ above, β below."""
    titles = list(dict.fromkeys(str(row["SNR"]) for row in rows))
    figure.set_size_inches(3.6 * len(titles), 5.6)
    panels = figure.subplots(2, len(titles), squeeze=False, sharey="row")
    names = (
        (("optimisation error", "C0"), ("statistical error", "C3")),
        (("error of β to the end", "C0"), ("error of β", "C3")),
    )
    for column, title in enumerate(titles):
        own: list[Any] = [row for row in rows if row["SNR"] == title]
        for line, pair in enumerate(names):
            axes = panels[line, column]
            for name, colour in pair:
                for start in sorted({row["start"] for row in own}):
                    curve = [row for row in own if row["start"] == start]
                    axes.plot(
                        [row["t"] for row in curve],
                        [max(row[name], _LEAST) for row in curve],
                        color=colour,
                        linewidth=1,
                        label=name,
                    )
            axes.set(title=title if line == 0 else None, xlabel="iteration", yscale="log")
            axes.set_ylabel("‖μ − ·‖" if line == 0 else "|β − ·|")
    legend_below(figure, panels.ravel())


STUDY = Study(
    name="hmm-convergence",
    title="Optimisation and statistical error of Baum–Welch from five starts (Figure 2.3)",
    parts=dict.fromkeys(PARTS, ()),
    columns={
        "SNR": "",
        "start": "d",
        "t": "d",
        "optimisation error": ".1e",
        "statistical error": ".4f",
        "error of β to the end": ".1e",
        "error of β": ".4f",
    },
    rows=rows,
    draw=draw,
    notes=(
        f"d = {DIMENSION}, n = {LENGTH}, ζ = 0.2, σ = 1 known, b = 0.99, ζ⁰ = ½, starts uniform in "
        "the ball of radius ‖μ*‖/4.",
        "The optimisation error is the distance to the end of the first start. Errors are the "
        "smaller one of both signs of μ.",
    ),
)
