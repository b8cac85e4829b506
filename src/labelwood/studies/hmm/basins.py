"""Where Baum–Welch ends from starts outside the ball, at small n and at low SNR.

The chapter reports different stationary points from starts inside the ball of radius ‖μ*‖/4; here
the starts lie anywhere, and the ends are counted.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from labelwood.studies._plot import legend_below
from labelwood.studies._result import Row
from labelwood.studies._study import Options, Study
from labelwood.studies.hmm._two_state import draw_sample, gap, sequences

SNRS = (0.25, 0.5, 1.5)
LENGTHS = (50, 200, 1_000)
RADII = {"ball": 0.25, "far": 3.0}  # of the starts around μ*, in lengths of μ*
N_STARTS, N_SEQUENCES, DIMENSION = 30, 20, 10
_QUICK = (4, 2, (50,))
_SAME = 1e-4  # distance below which two ends are one


def rows(part: str, options: Options) -> Iterator[Row]:
    """Number of different ends, how many starts reach the best one, and their errors."""
    import numpy as np

    from labelwood.core.parallel import parallel

    n_starts, n_sequences, lengths = _sizes(options)
    snr = float(part)
    for n in lengths:
        for name, radius in RADII.items():
            found = parallel(
                lambda number, n=n, radius=radius: _ends(  # type: ignore[misc]
                    snr, n, radius, n_starts, (options.seed, n, number, int(100 * snr))
                ),
                list(range(n_sequences)),
                n_jobs=options.jobs,
            )
            table = np.array(found)
            yield {
                "η²": snr,
                "n": n,
                "starts": name,
                "different ends": float(table[:, 0].mean()),
                "share at the best": float(table[:, 1].mean()),
                "error of the best": float(table[:, 2].mean()),
                "error of the others": _mean(table[:, 3]),
                "lost likelihood": _mean(table[:, 4]),
            }


def _ends(
    snr: float, n: int, radius: float, n_starts: int, seed: tuple[int, ...]
) -> tuple[float, ...]:
    """Of one sequence: ends, share at the best, its error, that of the others, their loss."""
    import numpy as np

    from labelwood.sequences.two_state_hmm import baum_welch
    from labelwood.sequences.two_state_hmm.model import distance
    from labelwood.sequences.two_state_hmm.starts import in_ball

    rng = np.random.default_rng(seed)
    sample = draw_sample(rng, snr=snr, n=n, d=DIMENSION)
    data, length = sequences(sample), float(np.linalg.norm(sample.mean))
    runs = [
        baum_welch(
            data,
            in_ball(sample.mean, radius * length, rng),
            sigma=1.0,
            bound=0.99,
            max_iter=3_000,
            step_tol=1e-8,
        )
        for _ in range(n_starts)
    ]
    best = max(runs, key=lambda run: run.log_likelihood)
    ends = [best]
    for run in runs:
        if all(distance(run, end) > _SAME for end in ends):
            ends.append(run)
    others = [run for run in runs if distance(run, best) > _SAME]
    return (
        len(ends),
        1 - len(others) / len(runs),
        gap(best.emissions.mean, sample.mean),
        _mean([gap(run.emissions.mean, sample.mean) for run in others], float("nan")),
        _mean([best.log_likelihood - run.log_likelihood for run in others], float("nan")),
    )


def _mean(values: Any, empty: Any = None) -> Any:
    import numpy as np

    present = np.asarray(values, dtype=float)
    present = present[~np.isnan(present)]
    return float(present.mean()) if present.size else empty


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """Share of the starts that reach the best end, against n."""
    figure.set_size_inches(6.4, 3.2)
    panels = figure.subplots(1, 2, sharex=True)
    for axes, name in zip(panels, ("share at the best", "different ends"), strict=True):
        for i, snr in enumerate(dict.fromkeys(row["η²"] for row in rows)):
            for starts, style in (("ball", "-"), ("far", "--")):
                own: list[Any] = [r for r in rows if r["η²"] == snr and r["starts"] == starts]
                axes.plot(
                    [row["n"] for row in own],
                    [row[name] for row in own],
                    f"o{style}",
                    color=f"C{i}",
                    markersize=3,
                    label=f"η² = {snr:g}, {starts}",
                )
        axes.set(title=name, xlabel="n", xscale="log")
    legend_below(figure, panels)


def _sizes(options: Options) -> tuple[int, int, tuple[int, ...]]:
    """Numbers of starts and of sequences, and the lengths of these."""
    return _QUICK if options.quick else (N_STARTS, N_SEQUENCES, LENGTHS)


def _notes(options: Options) -> tuple[str, ...]:
    n_starts, n_sequences, _ = _sizes(options)
    return (
        f"Means over {n_sequences} sequences with d = {DIMENSION}, ζ = 0.2, σ = 1 known; "
        f"{n_starts} starts each, uniform in the ball of radius ‖μ*‖/4 (ball) or 3‖μ*‖ (far).",
        "Ends further than 1e-4 apart in the norm (2.19) count as different.",
    )


STUDY = Study(
    name="hmm-basins",
    title="Where Baum–Welch ends from starts in and outside the ball, at small n and low SNR",
    parts={f"{snr:g}": () for snr in SNRS},
    columns={
        "η²": ".2f",
        "n": ",d",
        "starts": "",
        "different ends": ".1f",
        "share at the best": ".2f",
        "error of the best": ".3f",
        "error of the others": ".3f",
        "lost likelihood": ".2f",
    },
    rows=rows,
    draw=draw,
    notes=_notes,
)
