"""The error of Baum–Welch against √(d/n): the minimax rate of Corollary 2 (Yang 2018)."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from labelwood.studies._plot import legend_below, plain_ticks
from labelwood.studies._result import Row
from labelwood.studies._study import Options, Study
from labelwood.studies.hmm._two_state import draw_sample, gap, sequences

SNRS = (1.5, 4.0)
SIZES = (
    (2, 250),
    (2, 1_000),
    (2, 4_000),
    (10, 500),
    (10, 2_000),
    (10, 8_000),
    (40, 2_000),
    (40, 8_000),
)
N_DRAWS = 40
_QUICK = (3, ((2, 100), (4, 400)))


def rows(part: str, options: Options) -> Iterator[Row]:
    """Mean error of several draws for each d and n, in the norm (2.19)."""
    import numpy as np

    from labelwood.core.parallel import parallel
    from labelwood.sequences.two_state_hmm import baum_welch
    from labelwood.sequences.two_state_hmm.starts import in_ball

    n_draws, sizes = _QUICK if options.quick else (N_DRAWS, SIZES)
    snr = float(part)

    def error(arguments: tuple[int, int, int]) -> tuple[float, float]:
        d, n, number = arguments
        rng = np.random.default_rng((options.seed, d, n, number, int(100 * snr)))
        sample = draw_sample(rng, snr=snr, n=n, d=d)
        start = in_ball(sample.mean, float(np.linalg.norm(sample.mean)) / 4, rng)
        run = baum_welch(
            sequences(sample), start, sigma=1.0, bound=0.99, max_iter=500, step_tol=1e-8
        )
        return gap(run.emissions.mean, sample.mean), abs(run.chain.beta - sample.beta)  # type: ignore[attr-defined]

    for d, n in sizes:
        found = np.array(
            parallel(error, [(d, n, number) for number in range(n_draws)], n_jobs=options.jobs)
        )
        errors = found.sum(axis=1)
        yield {
            "η²": snr,
            "d": d,
            "n": n,
            "√(d/n)": math.sqrt(d / n),
            "error": float(errors.mean()),
            "standard error": float(errors.std(ddof=1) / math.sqrt(n_draws)),
            "‖μ − μ*‖": float(found[:, 0].mean()),
            "|β − β*|": float(found[:, 1].mean()),
        }


def slopes(rows: Sequence[Row]) -> dict[str, dict[float, float]]:
    """Slopes of log error on log √(d/n): of ‖μ − μ*‖ over all sizes, and of all at d = 10."""
    import numpy as np

    found: dict[str, dict[float, float]] = {"‖μ − μ*‖": {}, "error": {}}
    for snr in dict.fromkeys(float(row["η²"]) for row in rows):  # type: ignore[arg-type]
        own: list[Any] = [row for row in rows if row["η²"] == snr]
        for name in found:
            # |β − β*| does not grow with d, so the sum is compared at one dimension.
            used = own if name == "‖μ − μ*‖" else [row for row in own if row["d"] == 10] or own
            x, y = (np.log([row[key] for row in used]) for key in ("√(d/n)", name))
            found[name][snr] = float(np.polyfit(x, y, 1)[0])
    return found


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """Errors against √(d/n), both axes logarithmic, with lines of slope one."""
    figure.set_size_inches(6.4, 3.6)
    panels = figure.subplots(1, 2, sharex=True)
    for axes, name in zip(panels, ("‖μ − μ*‖", "error"), strict=True):
        for i, snr in enumerate(dict.fromkeys(row["η²"] for row in rows)):
            own: list[Any] = sorted(
                (row for row in rows if row["η²"] == snr),
                key=lambda row: row["√(d/n)"],  # type: ignore[arg-type, return-value]
            )
            x = [row["√(d/n)"] for row in own]
            axes.plot(x, [row[name] for row in own], "o", color=f"C{i}", label=f"η² = {snr:g}")
            middle = own[len(own) // 2]
            axes.plot(
                x,
                [middle[name] * value / middle["√(d/n)"] for value in x],
                color=f"C{i}",
                linewidth=1,
                linestyle="--",
                label="slope 1",
            )
        axes.set(xlabel="√(d/n)", ylabel=name, xscale="log", yscale="log")
        plain_ticks(axes.xaxis)
        plain_ticks(axes.yaxis)
    legend_below(figure, panels)


def _notes(options: Options) -> tuple[str, ...]:
    n_draws = _QUICK[0] if options.quick else N_DRAWS
    return (
        f"ζ = 0.2, σ = 1 known, b = 0.99, {n_draws} draws of μ* and of the sequence for each size.",
        "|β − β*| is one number and falls with 1/√n whatever d, so the slope of the sum is taken "
        "at d = 10 and that of ‖μ − μ*‖ over all sizes.",
    )


STUDY = Study(
    name="hmm-rate",
    title="Error of Baum–Welch in the norm (2.19) against √(d/n)",
    parts={f"{snr:g}": () for snr in SNRS},
    columns={
        "η²": ".2f",
        "d": "d",
        "n": ",d",
        "√(d/n)": ".4f",
        "error": ".4f",
        "standard error": ".4f",
        "‖μ − μ*‖": ".4f",
        "|β − β*|": ".4f",
    },
    rows=rows,
    draw=draw,
    notes=_notes,
)
