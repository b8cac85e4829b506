"""Sequences of experiments as in chapter 4 of Yang 2018, drawn and run many times."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from labelwood.studies._plot import legend_below
from labelwood.studies._result import Row
from labelwood.studies._study import Options

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

    from labelwood.core.types import DoubleArray
    from labelwood.experiments.simulation import SequenceRuns, Setting

ALPHA = 0.1
GAMMA_SCALE = 0.07  # of LORD, as in Yang 2018, §4.5
EFFECTS = 0.4  # the share of experiments in which a treatment is better than the control
COLUMNS = {
    "rewards": "",
    "panel": "",
    "policy": "",
    "arms": "d",
    "limit": ",.0f",
    "BDR": ".3f",
    "±": ".3f",
    "FDR": ".3f",
    "samples": ",.0f",
    "times": ".2f",
}
NOTES = (
    "limit: truncation time, the most samples of an experiment. samples: of all experiments of a "
    "run, mean of the runs.",
    "BDR: the share of experiments with an effect in which the control is rejected and the best "
    "arm leads, mean and its standard error. FDR: false ones among the discoveries, mean.",
    "equal BDR: limit and samples at which the BDR is first reached, linear between the limits "
    "tried; times: how many times the samples of MAB-FDR.",
    f"LORD at α = {ALPHA} with W(0) = α/2, unless named, and γ of factor {GAMMA_SCALE}; "
    f"{100 * EFFECTS:g} % of the experiments have an effect. Bounds: lil, unless another is named.",
)


@dataclass(frozen=True)
class Experiments:
    """The arms of each experiment, the control first, and where it is not the best of them."""

    means: "DoubleArray"
    effects: "NDArray[Any]"

    def best(self, arms: "NDArray[Any]") -> "NDArray[Any]":
        """Whether these arms, one for each experiment of each run, have the largest mean."""
        import numpy as np

        chosen = self.means[np.arange(len(self.means)), arms]
        return np.asarray(chosen >= self.means.max(axis=1))


def one_best(n: int, n_arms: int, best: float, second: float, rng: "Generator") -> "DoubleArray":
    """Means of the arms of `n` experiments: `best`, and the others uniform in [0, second]."""
    means = rng.uniform(0, second, (n, n_arms))
    means[:, 0] = best
    return means


def with_controls(
    arms: "DoubleArray", n_controls: int, rng: "Generator", effects: float = EFFECTS
) -> Experiments:
    """Experiments with these arms.

    The best arm of an experiment is its control, but in the share `effects` of them it is one
    of the `n_controls` best of the others. The rest is in random order, for ties go to the
    first arm.
    """
    import numpy as np

    means = -np.sort(-arms, axis=1)
    n, n_arms = means.shape
    chosen = rng.choice(n, round(effects * n), replace=False)
    controls = rng.integers(1, min(n_controls, n_arms - 1), chosen.size, endpoint=True)
    means[chosen, 0], means[chosen, controls] = means[chosen, controls], means[chosen, 0]
    means[:, 1:] = rng.permuted(means[:, 1:], axis=1)
    return Experiments(means, np.isin(np.arange(n), chosen))


def run_sequence(
    given: Experiments,
    setting: "Setting",
    runs: int,
    options: Options,
    *,
    draw: int = 0,
    procedure: str = "lord",
    initial_wealth: float = 0.5,
    uniform_nulls: bool = False,
) -> "SequenceRuns":
    """Procedure 2, or another procedure in place of LORD, so many times; `draw` for the seed.

    The initial wealth W(0) is a share of α.
    """
    import numpy as np

    from labelwood.experiments.online_fdr import LogGamma, online_fdr
    from labelwood.experiments.simulation import simulate_sequence

    own: dict[str, Any] = {}
    if procedure.startswith("lord"):
        own["gamma"] = LogGamma(GAMMA_SCALE)
    if procedure == "lord":
        own["initial_wealth"] = initial_wealth * ALPHA
    return simulate_sequence(
        list(given.means),
        lambda: online_fdr(procedure, ALPHA, **own),
        setting,
        uniform_p=~given.effects if uniform_nulls else None,
        runs=runs,
        random_state=np.random.SeedSequence((options.seed, draw)),
        n_jobs=options.jobs,
    )


def false_share(given: Experiments, done: "SequenceRuns") -> "DoubleArray":
    """FDP(J), of shape (runs, experiments): false discoveries among those up to each J."""
    from labelwood.experiments.discoveries import false_discovery_proportion

    return false_discovery_proportion(done.rejected, given.effects)


def mean_and_error(values: "DoubleArray") -> tuple[float, float]:
    """The mean of the runs and its standard error."""
    return float(values.mean()), float(values.std(ddof=1) / values.size**0.5)


@dataclass(frozen=True)
class Comparison:
    """Policies compared: discoveries against truncation time, samples against number of arms.

    Attributes
    ----------
    rewards : str
        What to call it in the rows.
    curves : mapping of str to mapping
        By policy, the parameters of `Setting` that are its own. The first is MAB-FDR.
    draws : callable
        Given a number of arms, the experiments, as often as they are drawn.
    n_arms, limits
        Of the panel over truncation times.
    limit, arms
        Of the panel over numbers of arms.
    runs : int
        With each drawing.
    batch : int
    rates : sequence of float
        At which the policies are compared.
    initial_wealth : float
        W(0) of LORD, as a share of α.
    """

    rewards: str
    curves: Mapping[str, Mapping[str, Any]]
    draws: Callable[[int], Sequence[Experiments]]
    n_arms: int
    limits: Sequence[int]
    limit: int
    arms: Sequence[int]
    runs: int
    batch: int = 1
    rates: Sequence[float] = (0.5, 0.9, 0.99)
    initial_wealth: float = 0.5

    def rows(self, options: Options) -> Iterator[Row]:
        """Both panels, and what each policy needs for the same discovery rate."""
        by_limit: dict[str, list[dict[str, float]]] = {}
        for curve in self.curves:
            by_limit[curve] = []
            for row in self._over_limits(curve, options):
                by_limit[curve].append(row)
                yield {**self._names("truncation", curve), **row}
        for rate in self.rates:
            yield from self._at_equal_rate(rate, by_limit)
        for curve, known in by_limit.items():
            done = {(row["arms"], row["limit"]): row for row in known}
            for n_arms in self.arms:
                found = done.get((n_arms, self.limit))
                row = found or self._measure(curve, n_arms, self.limit, options)[0]
                yield {**self._names("arms", curve), **row}

    def _names(self, panel: str, curve: str) -> Row:
        return {"rewards": self.rewards, "panel": panel, "policy": curve}

    def _over_limits(self, curve: str, options: Options) -> Iterator[dict[str, float]]:
        row: dict[str, float] = {}
        all_ended = False
        for limit in self.limits:
            if not all_ended:  # or else a later limit changes nothing
                row, all_ended = self._measure(curve, self.n_arms, limit, options)
            yield {**row, "limit": limit}

    def _at_equal_rate(
        self, rate: float, by_limit: Mapping[str, list[dict[str, float]]]
    ) -> Iterator[Row]:
        least: float | None = None
        for curve, rows in by_limit.items():
            needed = at_rate(rows, rate)
            samples = needed.get("samples")
            least = samples if curve == next(iter(by_limit)) else least
            times = samples / least if samples and least else None
            names = {**self._names("equal BDR", curve), "arms": self.n_arms, "BDR": rate}
            yield {**names, **needed, "times": times}

    def _measure(
        self, curve: str, n_arms: int, limit: int, options: Options
    ) -> tuple[dict[str, float], bool]:
        """A row, and whether every experiment ended before the limit."""
        import numpy as np

        from labelwood.experiments.simulation import Setting

        setting = Setting(limit, batch=self.batch, **self.curves[curve])
        found, false, samples, ended = [], [], [], True
        for k, given in enumerate(self.draws(n_arms)):
            done = run_sequence(
                given, setting, self.runs, options, draw=k, initial_wealth=self.initial_wealth
            )
            right = done.rejected & given.best(done.leader)
            found.append(right[:, given.effects].mean(axis=1))
            false.append(false_share(given, done)[:, -1])
            samples.append(done.n_samples.sum(axis=1))
            ended = ended and bool((done.ended_with >= 0).all())
        # Drawings differ more than the runs with one of them.
        rate, error = mean_and_error(np.array(found).mean(axis=1) if len(found) > 1 else found[0])
        row = {"arms": n_arms, "limit": limit, "BDR": rate, "±": error}
        row |= {"FDR": float(np.mean(false)), "samples": float(np.mean(samples))}
        return row, ended


def at_rate(rows: Sequence[Mapping[str, float]], rate: float) -> dict[str, float]:
    """Limit and samples at which the BDR first reaches `rate`, linear between rows.

    Empty if it never does, or if it is there from the first row on.
    """
    for before, after in pairwise(rows):
        if before["BDR"] < rate <= after["BDR"]:
            part = (rate - before["BDR"]) / (after["BDR"] - before["BDR"])
            return {
                name: before[name] + part * (after[name] - before[name])
                for name in ("limit", "samples")
            }
    return {}


def draw_figures(figure: Any, rows: Sequence[Row]) -> None:
    """Two panels for each kind of rewards, side by side."""
    titles = list(dict.fromkeys(str(row["rewards"]) for row in rows))
    figure.set_size_inches(7.2, 2.8 * len(titles) + 0.6)
    grid = figure.subplots(len(titles), 2, squeeze=False)
    for (left, right), title in zip(grid, titles, strict=True):
        own = [row for row in rows if row["rewards"] == title]
        _draw_panel(left, [row for row in own if row["panel"] == "truncation"], "limit", "BDR")
        _draw_panel(right, [row for row in own if row["panel"] == "arms"], "arms", "samples")
        left.set(title=title, xlabel="truncation time", ylim=(-0.03, 1.03), xscale="log")
        right.set(title=title, xlabel="number of arms", ylim=(0, None))
    legend_below(figure, grid.ravel())


def _draw_panel(axes: Any, rows: Sequence[Row], x: str, y: str) -> None:
    for curve in dict.fromkeys(str(row["policy"]) for row in rows):
        points = [(row[x], row[y]) for row in rows if row["policy"] == curve]
        axes.plot(*zip(*points, strict=True), "o-", markersize=3, label=curve)
    axes.set_ylabel(y)
