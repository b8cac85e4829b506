"""How the speed of Baum–Welch depends on the signal-to-noise ratio (Yang 2018, Figure 2.4).

The setting of Figure 2.3 with several η² and several draws of the parameters for each; the
chapter does not tell which.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from labelwood.studies._plot import legend_below
from labelwood.studies._result import Row
from labelwood.studies._study import Options, Study
from labelwood.studies.hmm._two_state import (
    draw_sample,
    from_text,
    gap,
    step_lengths,
    to_text,
    trace,
)

SNRS = (0.5, 0.75, 1.0, 1.5, 2.25, 4.0)
N_DRAWS, ITERATIONS = 5, 80
_QUICK = (2, 8)


def rows(part: str, options: Options) -> Iterator[Row]:
    """Errors of every draw and the factor of its linear part; traces, as text, for the figure."""
    import numpy as np

    from labelwood.sequences.engine.certificate import contraction
    from labelwood.sequences.two_state_hmm.starts import in_ball

    n_draws, iterations = _QUICK if options.quick else (N_DRAWS, ITERATIONS)
    snr = float(part)
    for number in range(n_draws):
        rng = np.random.default_rng((options.seed, number, int(100 * snr)))
        sample = draw_sample(rng, snr=snr)
        start = in_ball(sample.mean, float(np.linalg.norm(sample.mean)) / 4, rng)
        iterates = trace(sample, start, iterations)
        errors = {
            "optimization error": [gap(mean, iterates[-1][0]) for mean, _ in iterates[:-1]],
            "statistical error": [gap(mean, sample.mean) for mean, _ in iterates],
        }
        found = contraction(step_lengths(iterates))
        yield {
            "η²": snr,
            "draw": number + 1,
            "factor": None if found is None else found[0],
            "statistical error": errors["statistical error"][-1],
            **{f"trace of {name}": to_text(values) for name, values in errors.items()},
        }


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """One color an SNR, as in the chapter."""
    figure.set_size_inches(7.2, 3.6)
    panels = figure.subplots(1, 2)
    colors = {snr: f"C{i}" for i, snr in enumerate(dict.fromkeys(row["η²"] for row in rows))}
    for axes, name in zip(panels, ("statistical error", "optimization error"), strict=True):
        for row in rows:
            axes.plot(
                from_text(row[f"trace of {name}"]),
                color=colors[row["η²"]],
                linewidth=1,
                label=f"η² = {row['η²']:g}",
            )
        axes.set(title=name, xlabel="iteration", yscale="log")
    legend_below(figure, panels)


STUDY = Study(
    name="hmm-snr",
    title="Convergence of Baum–Welch at several signal-to-noise ratios (Figure 2.4)",
    parts={f"{snr:g}": () for snr in SNRS},
    columns={
        "η²": ".2f",
        "draw": "d",
        "factor": ".3f",
        "statistical error": ".4f",
    },
    rows=rows,
    draw=draw,
    notes=(
        "d = 10, n = 1000, ζ = 0.2, σ = 1 known, b = 0.99, a start in the ball of radius ‖μ*‖/4.",
        "The factor is that of the last half of the steps above 1e-11.",
    ),
)
