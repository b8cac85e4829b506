"""How many samples the best arm takes, against what the gaps between the arms say.

Proposition 2 of Yang 2018, chapter 4: the samples of Algorithm 1 are of the order of a sum over the
arms, in which each counts by the inverse square of its gap. On logarithmic axes problems of all
sizes then lie along one line of slope 1. The chapter has no such figure.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from labelwood.studies._plot import GRAY, legend_below
from labelwood.studies._result import Row
from labelwood.studies._study import Options, Study

if TYPE_CHECKING:
    from numpy.random import Generator

    from labelwood.core.types import DoubleArray
    from labelwood.experiments.best_arm import RewardModel

DELTA = 0.05
ARMS = (2, 5, 10, 20, 50)
GAPS = (0.03, 0.08, 0.2, 0.5, 1.25)  # between the best arm and the next, in standard deviations
SPREAD = 0.7  # over which the other arms lie below the next, in standard deviations
RUNS = 40
MOST_SAMPLES = 10**9  # no run meets this limit
_ROUNDS = 500  # in which an average arm gets its samples, at least
_QUICK: dict[str, Any] = {"arms": (2, 5), "gaps": (0.5, 1.25), "runs": 5}
_FULL: dict[str, Any] = {"arms": ARMS, "gaps": GAPS, "runs": RUNS}
_BEST = ("treatment", "control")


def rows(part: str, options: Options) -> Iterator[Row]:
    """Every problem, then the slope of the line through all of them."""
    import numpy as np

    sizes = _QUICK if options.quick else _FULL
    rng = np.random.default_rng(options.seed)
    points: list[Row] = []
    for best in _BEST:
        for n_arms in sizes["arms"]:
            for gap in sizes["gaps"]:
                row = _measure(part, best, n_arms, gap, sizes["runs"], rng, options)
                points.append(row)
                yield row
    x, y = np.log(sums_and_samples(points))
    yield {"rewards": part, "best": "all", "slope": float(np.polyfit(x, y, 1)[0])}


def sums_and_samples(rows: Sequence[Row]) -> "DoubleArray":
    """What the rows have to draw, as two arrays in one."""
    import numpy as np

    return np.array([[row[name] for row in rows] for name in ("sum", "samples")], dtype=float)


def _measure(
    part: str, best: str, n_arms: int, gap: float, runs: int, rng: "Generator", options: Options
) -> Row:
    import numpy as np

    from labelwood.experiments.plan import sample_complexity
    from labelwood.experiments.simulation import Setting, simulate

    reward = reward_model(part)
    means = draw_means(n_arms, gap * reward.sigma, SPREAD * reward.sigma, rng)
    right = 0 if best == "control" else n_arms - 1
    means[[0, right]] = means[[right, 0]]
    expected = sample_complexity(means, DELTA, sigma=reward.sigma)
    batch = max(1, int(expected / n_arms / _ROUNDS))
    done = simulate(
        means,
        DELTA,
        Setting(MOST_SAMPLES, reward, batch=batch),
        runs=runs,
        random_state=rng,
        n_jobs=options.jobs,
    )
    samples = float(np.median(done.n_samples))
    return {
        "rewards": part,
        "best": best,
        "arms": n_arms,
        "gap": gap,
        "sum": expected,
        "samples": samples,
        "times": samples / expected,
        "right": float((done.ended_with == right).mean()),
    }


def reward_model(part: str) -> "RewardModel":
    """Gaussian rewards of variance 1, or 0 and 1, of which σ is a half."""
    from labelwood.experiments.best_arm import Bernoulli, SubGaussian

    return SubGaussian() if part == "gaussian" else Bernoulli()


def draw_means(n_arms: int, gap: float, spread: float, rng: "Generator") -> "DoubleArray":
    """The best arm first, one that is worse by `gap`, and the others at most `spread` below that.

    Around a half, where rewards of 0 and 1 vary most; the lowest mean that can come about is
    as far from it as the best.
    """
    import numpy as np

    best = 0.5 + (gap + spread) / 2
    below = rng.uniform(0, spread, n_arms - 1)
    below[0] = 0
    return np.concatenate([[best], best - gap - below])


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """A panel for each kind of rewards: samples against the sum, and the line through them."""
    titles = list(dict.fromkeys(str(row["rewards"]) for row in rows))
    figure.set_size_inches(3.6 * len(titles), 3.9)
    panels = figure.subplots(1, len(titles), squeeze=False)[0]
    for axes, title in zip(panels, titles, strict=True):
        own = [row for row in rows if row["rewards"] == title]
        slope = next(row["slope"] for row in own if row["best"] == "all")
        for best, marker in zip(_BEST, "os", strict=True):
            points = sums_and_samples([row for row in own if row["best"] == best])
            name = "the control is best" if best == "control" else "a treatment is best"
            axes.plot(*points, marker, markersize=3.5, alpha=0.7, label=name)
        _draw_line(axes, *sums_and_samples([row for row in own if row["best"] in _BEST]))
        axes.set(title=f"{title}: slope {slope:.2f}", xlabel="sum over the arms of Proposition 2")
        axes.set(ylabel="samples, median of the runs", xscale="log", yscale="log")
    legend_below(figure, panels)


def _draw_line(axes: Any, x: "DoubleArray", y: "DoubleArray") -> None:
    """The line of slope 1 through the middle of the points."""
    import numpy as np

    times = np.exp(np.log(y / x).mean())
    ends = np.array([x.min(), x.max()])
    axes.plot(ends, times * ends, "--", color=GRAY, linewidth=1, label="slope 1")


STUDY = Study(
    name="mab-samples",
    title="Samples that the best arm takes, against the sum over the gaps of the arms",
    parts={"gaussian": (), "bernoulli": ()},
    columns={
        "rewards": "",
        "best": "",
        "arms": "d",
        "gap": ".2f",
        "sum": ",.0f",
        "samples": ",.0f",
        "times": ".1f",
        "right": ".3f",
        "slope": ".3f",
    },
    rows=rows,
    draw=draw,
    notes=(
        f"Algorithm 1 at δ = {DELTA}; the best arm is a treatment, or the control.",
        "gap: between the best arm and the next, in units of σ; the others are uniform over "
        f"{SPREAD} σ below the next.",
        "sum: Σ (σ/Δ)² ln(K ln(e + (σ/Δ)²) / δ) over the effective gaps of Proposition 2, K being "
        "the number of treatments; samples: median of the runs; times: samples in units of the "
        "sum; right: runs that end with the best arm.",
        "slope: of the logarithm of the samples against that of the sum, over all problems.",
    ),
)
