"""The rate at which regret falls, with and without a margin.

Remark 1 of Cesa-Bianchi, Conconi and Gentile (COLT 2004): regret falls exponentially only because
every margin |u·x| is at least γ > 0; without that the standard rate t^(−1/2) is to be expected.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from labelwood.studies._plot import legend_below
from labelwood.studies._result import Row
from labelwood.studies._study import Options, Study
from labelwood.studies.hrls.regret import MARGIN, data_model, measure_regret

TIMES = (10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)
N_RUNS, N_FRESH = 20, 20_000
_QUICK = (2, 500, (10, 20, 50))
FROM = 100  # the slope is that of the times from here on


def rows(part: str, options: Options) -> Iterator[Row]:
    """Regret at each time, and the slope of its logarithm by that of the time."""
    import numpy as np

    n_runs, n_fresh, times = _QUICK if options.quick else (N_RUNS, N_FRESH, TIMES)
    for margin in (0.0, MARGIN):
        found = measure_regret(data_model(part, margin), times, n_runs, n_fresh, options)
        regret = {t: _regret(found[t]) for t in times}
        late = [t for t in times if t >= min(FROM, times[-2]) and regret[t] > 0]
        slope = None
        if len(late) > 1:
            regrets = [regret[t] for t in late]
            slope = float(np.polyfit(np.log(late), np.log(regrets), 1)[0])
        for t in times:
            row: Row = {"taxonomy": part, "margin": margin, "t": t, **found[t]}
            yield {**row, "slope": slope if t == times[-1] else None}


def _regret(row: Row) -> float:
    value = row["regret"]
    return value if isinstance(value, float) else 0.0


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """A panel for each taxonomy: regret against t for both margins."""
    titles = list(dict.fromkeys(str(row["taxonomy"]) for row in rows))
    figure.set_size_inches(3.3 * len(titles), 3.4)
    panels = figure.subplots(1, len(titles), squeeze=False)[0]
    for axes, title in zip(panels, titles, strict=True):
        for margin in (0.0, MARGIN):
            own = [row for row in rows if row["taxonomy"] == title and row["margin"] == margin]
            points = [(row["t"], _regret(row)) for row in own if _regret(row) > 0]
            if points:
                axes.plot(*zip(*points, strict=True), "o-", markersize=3, label=f"margin {margin}")
        axes.set(title=title, xlabel="t", xscale="log", yscale="log")
    legend_below(figure, panels)


STUDY = Study(
    name="hrls-margins",
    title="How fast the regret of hierarchical least squares falls with and without margins",
    parts=dict.fromkeys(("chain", "star", "balanced"), ()),
    columns={
        "taxonomy": "",
        "margin": ".2f",
        "t": ",d",
        "runs": "d",
        "regret": ".6f",
        "±": ".6f",
        "other set": ".6f",
        "slope": ".2f",
    },
    rows=rows,
    draw=draw,
    notes=lambda options: (
        "Points of the unit circle; margin: the least |u·x| at every node, 0 for none.",
        "slope: of log regret by log t, over the times from "
        f"{FROM if not options.quick else _QUICK[2][-2]} on at which regret was seen; remark 1 "
        "expects −0.5 or less without margins.",
    ),
)
