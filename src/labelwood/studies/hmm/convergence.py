"""Optimization and statistical error of Baum–Welch on one sequence (Yang 2018, Figure 2.3).

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
from labelwood.studies.hmm._two_state import (
    DIMENSION,
    LENGTH,
    draw_sample,
    from_text,
    gap,
    step_lengths,
    to_text,
    trace,
)

PARTS = {"η² = 1.5 (text)": 1.5, "‖μ*‖/σ = 1.5 (caption)": 2.25}
N_STARTS, ITERATIONS = 5, 60
_QUICK = (2, 5)


def rows(part: str, options: Options) -> Iterator[Row]:
    """The end of every start; the traces, as text, are for the figure."""
    import numpy as np

    from labelwood.sequences.engine.certificate import contraction
    from labelwood.sequences.two_state_hmm.starts import in_ball

    n_starts, iterations = _QUICK if options.quick else (N_STARTS, ITERATIONS)
    rng = np.random.default_rng(options.seed)
    sample = draw_sample(rng, snr=PARTS[part])
    radius = float(np.linalg.norm(sample.mean)) / 4
    traces = [trace(sample, in_ball(sample.mean, radius, rng), iterations) for _ in range(n_starts)]
    end_mean, end_beta = traces[0][-1]
    for start, iterates in enumerate(traces, 1):
        errors = {
            "optimization error": [gap(mean, end_mean) for mean, _ in iterates],
            "statistical error": [gap(mean, sample.mean) for mean, _ in iterates],
            "error of β to the end": [abs(beta - end_beta) for _, beta in iterates],
            "error of β": [abs(beta - sample.beta) for _, beta in iterates],
        }
        found = contraction(step_lengths(iterates))
        yield {
            "SNR": part,
            "start": start,
            "distance of the start": errors["statistical error"][0],
            "factor": None if found is None else found[0],
            **{name: values[-1] for name, values in errors.items()},
            "√(d/n)": math.sqrt(DIMENSION / LENGTH),
            **{f"trace of {name}": to_text(values) for name, values in errors.items()},
        }


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """Both errors against the iteration, on a logarithmic scale: μ above, β below."""
    titles = list(dict.fromkeys(str(row["SNR"]) for row in rows))
    figure.set_size_inches(3.6 * len(titles), 5.6)
    panels = figure.subplots(2, len(titles), squeeze=False, sharey="row")
    names = (
        (("optimization error", "C0"), ("statistical error", "C3")),
        (("error of β to the end", "C0"), ("error of β", "C3")),
    )
    for column, title in enumerate(titles):
        for line, pair in enumerate(names):
            axes = panels[line, column]
            for name, color in pair:
                for row in rows:
                    if row["SNR"] == title:
                        values = from_text(row[f"trace of {name}"])
                        axes.plot(values, color=color, linewidth=1, label=name)
            axes.set(title=title if line == 0 else None, xlabel="iteration", yscale="log")
            axes.set_ylabel("‖μ − ·‖" if line == 0 else "|β − ·|")
    legend_below(figure, panels.ravel())


def _notes(options: Options) -> tuple[str, ...]:
    _, iterations = _QUICK if options.quick else (N_STARTS, ITERATIONS)
    return (
        f"d = {DIMENSION}, n = {LENGTH}, ζ = 0.2, σ = 1 known, b = 0.99, ζ⁰ = ½, starts uniform in "
        "the ball of radius ‖μ*‖/4.",
        f"Errors after {iterations} iterations; the optimization error is the distance to the end "
        "of the first start. Errors are the smaller one of both signs of μ.",
        "The factor is that of the last half of the steps above 1e-11.",
    )


STUDY = Study(
    name="hmm-convergence",
    title="Optimization and statistical error of Baum–Welch from five starts (Figure 2.3)",
    parts=dict.fromkeys(PARTS, ()),
    columns={
        "SNR": "",
        "start": "d",
        "distance of the start": ".3f",
        "factor": ".3f",
        "optimization error": ".1e",
        "statistical error": ".4f",
        "error of β to the end": ".1e",
        "error of β": ".4f",
        "√(d/n)": ".3f",
    },
    rows=rows,
    draw=draw,
    notes=_notes,
)
