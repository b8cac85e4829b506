"""How large a share of the discoveries is false, over many experiments.

Figure 4.10 of Yang 2018, chapter 4: experiments with an effect are run by Algorithm 1, and where
there is none the p-value is drawn uniformly, which is harder on the procedures than the p-values
of a bandit, for those are mostly 1.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from labelwood.studies._plot import GRAY, legend_below
from labelwood.studies._result import Row
from labelwood.studies._study import Options, Study
from labelwood.studies.mab._sequences import (
    ALPHA,
    EFFECTS,
    GAMMA_SCALE,
    Experiments,
    false_share,
    mean_and_error,
    one_best,
    run_sequence,
    with_controls,
)

if TYPE_CHECKING:
    from labelwood.core.types import DoubleArray
    from labelwood.experiments.simulation import SequenceRuns

PROCEDURES = {
    "LORD": "lord",
    "LORD '15": "lord15",
    "Bonferroni": "bonferroni",
    "independent": "none",
    "independent, as printed": "lord",
}
"""MAB-IND of §4.5 runs every experiment at the level of LORD and rejects at α; the plain
"independent" runs it at α, too."""
AS_PRINTED = "independent, as printed"
N_EXPERIMENTS, N_RUNS = 500, 100
N_ARMS, LIMIT = 30, 200
BEST, SECOND = 8.0, 5.0
N_CONTROLS = 10
TIMES = (1, 2, 5, 10, 20, 50, 100, 200, 300, 400, 500)
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_QUICK = (20, 10)


def rows(part: str, options: Options) -> Iterator[Row]:
    """Error rates over time at the share of Figure 4.10 (a), or in the end at all shares."""
    for share in (EFFECTS,) if part == "time" else SHARES[:: 4 if options.quick else 1]:
        for name, procedure in PROCEDURES.items():
            given, done = _run(procedure, share, options)
            if name == AS_PRINTED:
                found = (done.p_value <= ALPHA) & (done.leader != 0)
                done = replace(done, rejected=found)
            error_rates = _error_rates(given, done)
            n = len(given.means)
            for J in [t for t in TIMES if t <= n] if part == "time" else [n]:
                names: Row = {"panel": part, "effects": share, "procedure": name, "J": J}
                yield {**names, **_figures(given, done, *error_rates, J)}


def _sizes(options: Options) -> tuple[int, int]:
    """How many experiments and runs there are."""
    return _QUICK if options.quick else (N_EXPERIMENTS, N_RUNS)


def _notes(options: Options) -> tuple[str, ...]:
    n, runs = _sizes(options)
    return (
        f"{n} experiments, {N_ARMS} arms, at most {LIMIT} samples each, {runs} runs; "
        f"best mean {BEST:g}, the others uniform in [0, {SECOND:g}], variance 1.",
        "Where there is no effect the p-value is drawn uniformly. The control of the others is one "
        f"of the {N_CONTROLS} best arms but the best.",
        f"α = {ALPHA}; W(0) = α/2; γ of LORD and LORD '15 of factor {GAMMA_SCALE}.",
        "FDR, mFDR: among the first J experiments (4.8); worst: the largest of any up to J. FDP "
        "90 %: in nine runs of ten the share of false discoveries is not larger.",
    )


def _run(procedure: str, share: float, options: Options) -> tuple[Experiments, "SequenceRuns"]:
    import numpy as np

    from labelwood.experiments.best_arm import SubGaussian
    from labelwood.experiments.simulation import Setting

    n, runs = _sizes(options)
    rng = np.random.default_rng(options.seed)
    arms = one_best(n, N_ARMS, BEST, SECOND, rng)
    given = with_controls(arms, N_CONTROLS, rng, share)
    setting = Setting(LIMIT, reward=SubGaussian())
    done = run_sequence(given, setting, runs, options, procedure=procedure, uniform_nulls=True)
    return given, done


def _error_rates(given: Experiments, done: "SequenceRuns") -> tuple["DoubleArray", "DoubleArray"]:
    """FDP(J) of each run, and mFDR(J) of (4.8)."""
    from labelwood.experiments.discoveries import modified_false_discovery_rate

    return false_share(given, done), modified_false_discovery_rate(done.rejected, given.effects)


def _figures(
    given: Experiments, done: "SequenceRuns", fdp: "DoubleArray", mfdr: "DoubleArray", J: int
) -> dict[str, float | None]:
    import numpy as np

    fdr, error = mean_and_error(fdp[:, J - 1])
    effects = given.effects[:J]
    found = done.rejected[:, :J][:, effects]
    return {
        "FDR": fdr,
        "±": error,
        "mFDR": float(mfdr[J - 1]),
        "worst FDR": float(fdp[:, :J].mean(axis=0).max()),
        "worst mFDR": float(mfdr[:J].max()),
        "FDP 90 %": float(np.quantile(fdp[:, J - 1], 0.9)),
        "power": float(found.mean()) if effects.any() else None,
    }


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """FDR over time, in the end against the share of effects, and power against it."""
    figure.set_size_inches(9.6, 3.4)
    wanted = (("time", "J", "FDR"), ("share", "effects", "mFDR"), ("share", "effects", "power"))
    panels = figure.subplots(1, 3)
    for axes, (panel, x, y) in zip(panels, wanted, strict=True):
        own = [row for row in rows if row["panel"] == panel]
        for k, name in enumerate(PROCEDURES):
            points = [row for row in own if row["procedure"] == name]
            _curve(axes, points, x, y, color=f"C{k}", label=name)
            if panel == "time":
                _curve(axes, points, x, "FDP 90 %", color=f"C{k}", linestyle=":")
        if y != "power":
            axes.axhline(ALPHA, color=GRAY, linewidth=0.8, linestyle="--", label="α")
        axes.set(xlabel="share of effects", ylabel=y, ylim=(0, None))
    panels[0].set(xlabel="J", ylabel="FDR (dotted: FDP 90 %)", xscale="log")
    legend_below(figure, panels)


def _curve(axes: Any, rows: Sequence[Row], x: str, y: str, **style: Any) -> None:
    points = [(row[x], row[y]) for row in rows if row.get(y) is not None]
    if points:
        axes.plot(*zip(*points, strict=True), marker="o", markersize=3, **style)


STUDY = Study(
    name="mab-fdr",
    title="False discovery rates over many bandit experiments with LORD and other procedures",
    parts={"time": (), "share": ()},
    columns={
        "panel": "",
        "effects": ".1f",
        "procedure": "",
        "J": "d",
        "FDR": ".4f",
        "±": ".4f",
        "mFDR": ".4f",
        "worst FDR": ".4f",
        "worst mFDR": ".4f",
        "FDP 90 %": ".3f",
        "power": ".3f",
    },
    rows=rows,
    draw=draw,
    notes=_notes,
)
