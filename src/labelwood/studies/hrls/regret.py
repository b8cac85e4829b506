"""How soon hierarchical least squares predicts as well as if it knew the data model.

The regret of Cesa-Bianchi, Conconi and Gentile (COLT 2004), "Regret Bounds for Hierarchical
Classification with Linear-Threshold Functions", measured on their data model beside the bound
of theorem 1. The paper has no such experiment.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from labelwood.studies._plot import legend_below
from labelwood.studies._result import Row
from labelwood.studies._study import Options, Study

if TYPE_CHECKING:
    from labelwood.taxonomy.process import Process
    from labelwood.taxonomy.simulator import Sample, TaxonomyModel

TIMES = (*(m * 10**k for k in range(1, 6) for m in (1, 2, 5)), 1_500_000)
MARGIN = 0.15
N_RUNS, N_FRESH = 20, 20_000
LATE, N_LATE_RUNS = 10_000, 3
MOST_ONLINE = 500  # examples; from there on `fit`, which gives the same weights at less cost
_QUICK = (2, 500, (10, 20, 50))
_BOUNDS = {"theorem 1": "regret_bound", "sharper": "sharper_regret_bound"}
_FLOOR = 1e-6  # of the plot


def _sizes(options: Options) -> tuple[int, int, tuple[int, ...]]:
    """Runs, fresh points and the times of measurement."""
    return _QUICK if options.quick else (N_RUNS, N_FRESH, TIMES)


def rows(part: str, options: Options) -> Iterator[Row]:
    """Regret and bounds at each t, also at those from which on a bound says something."""
    n_runs, n_fresh, times = _sizes(options)
    model = data_model(part)
    process = model.process(random_state=options.seed)
    starts = [bound.facts["below 1 from t"] for bound in _bounds(process, 1).values()]
    wanted = sorted({*times, *map(_rounded_up, starts)})
    measured = [t for t in wanted if t <= max(times)]
    early, late = [t for t in measured if t <= LATE], [t for t in measured if t > LATE]
    figures = {
        **measure_regret(model, early, n_runs, n_fresh, options),
        **measure_regret(model, late, N_LATE_RUNS, n_fresh, options),
    }
    for t in wanted:
        says = {
            name: None if bound.vacuous else bound.value
            for name, bound in _bounds(process, t).items()
        }
        yield {"taxonomy": part, "t": t, **figures.get(t, {}), **says}


def _rounded_up(t: float) -> int:
    """Two digits are enough: the bounds are for an estimate of the process."""
    unit = 10 ** max(0, len(str(int(t))) - 2)
    return -(-int(t) // unit) * unit


def data_model(part: str, margin: float = MARGIN) -> "TaxonomyModel":
    """Points of the plane; the vectors of the nodes stand at equal angles in a half-plane."""
    import numpy as np

    from labelwood.taxonomy.simulator import TaxonomyModel, balanced, chain, star

    taxonomy = {"chain": chain(3), "star": star(7), "balanced": balanced(2, 2)}[part]
    angles = np.pi * np.arange(len(taxonomy)) / len(taxonomy)
    return TaxonomyModel(taxonomy, np.column_stack([np.cos(angles), np.sin(angles)]), margin)


def _bounds(process: "Process", t: int) -> dict[str, Any]:
    from labelwood.taxonomy import bounds

    return {name: getattr(bounds, function)(process, t) for name, function in _BOUNDS.items()}


def measure_regret(
    model: "TaxonomyModel", times: Sequence[int], n_runs: int, n_fresh: int, options: Options
) -> dict[int, Row]:
    """Regret, and how often the label set is not that of the reference, for each time."""
    import numpy as np

    from labelwood.metrics import any_wrong_loss

    regret, differs = np.empty((len(times), n_runs)), np.empty((len(times), n_runs))
    for run, seed in enumerate(np.random.SeedSequence(options.seed).spawn(n_runs)):
        of_examples, of_fresh = seed.spawn(2)
        examples = model.sample(max(times, default=1) - 1, random_state=of_examples)
        fresh = model.instances(n_fresh, random_state=of_fresh)
        reference = model.predict(fresh)
        for k, learner in enumerate(_learners(model, examples, times, options)):
            predicted = learner.predict(fresh)
            regret[k, run] = model.regret(fresh, predicted).mean()
            differs[k, run] = any_wrong_loss(reference, predicted, model.taxonomy)
    error = regret.std(axis=1, ddof=1) / n_runs**0.5
    return {
        t: {"runs": n_runs, "regret": float(a.mean()), "±": float(b), "other set": float(c.mean())}
        for t, a, b, c in zip(times, regret, error, differs, strict=True)
    }


def _learners(
    model: "TaxonomyModel", examples: "Sample", times: Sequence[int], options: Options
) -> Iterator[Any]:
    """The learner before each of the predictions `times`: it has seen t − 1 examples."""
    from labelwood.taxonomy.hierarchical_rls import HierarchicalRLSClassifier

    X, Y = examples
    learner = HierarchicalRLSClassifier(taxonomy=model.taxonomy, store="all", n_jobs=options.jobs)
    seen = 0
    for t in times:
        if t - 1 <= MOST_ONLINE:
            learner.partial_fit(X[seen : t - 1], Y[seen : t - 1])
            seen = t - 1
        else:
            learner.fit(X[: t - 1], Y[: t - 1])
        yield learner


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """A panel for each taxonomy: regret and bounds against t, as far as they are positive."""
    titles = list(dict.fromkeys(str(row["taxonomy"]) for row in rows))
    figure.set_size_inches(3.3 * len(titles), 3.4)
    panels = figure.subplots(1, len(titles), squeeze=False)[0]
    styles = {"regret": "o-", "other set": "s-", "sharper": "--", "theorem 1": ":"}
    for axes, title in zip(panels, titles, strict=True):
        for name, style in styles.items():
            points = [
                (row["t"], max(value, _FLOOR / 10))
                for row in rows
                if row["taxonomy"] == title and isinstance(value := row.get(name), float)
            ]
            if points:
                axes.plot(*zip(*points, strict=True), style, markersize=3, label=name)
        axes.set(title=title, xlabel="t", xscale="log", yscale="log", ylim=(_FLOOR, 1))
    legend_below(figure, panels)


STUDY = Study(
    name="hrls-regret",
    title="Regret of hierarchical least squares on its data model, and the bounds for it",
    parts=dict.fromkeys(("chain", "star", "balanced"), ()),
    columns={
        "taxonomy": "",
        "t": ",d",
        "runs": "d",
        "regret": ".6f",
        "±": ".6f",
        "other set": ".6f",
        "sharper": ".2g",
        "theorem 1": ".2g",
    },
    rows=rows,
    draw=draw,
    notes=lambda options: (
        "chain: 3 nodes; star: a root with 6 children; balanced: two children each, 7 nodes.",
        f"Points of the unit circle, margins of at least {MARGIN} at every node.",
        "regret: before the t-th example, mean of the runs and its standard error, each over "
        f"{_sizes(options)[1]:,} fresh points with the exact probabilities of label sets.",
        "other set: how often the label set is not that of the true predictor (2); 0 says that no "
        "fresh point of any run had another one.",
        "theorem 1, sharper: bounds for both; – where they are vacuous, that is 1 or more.",
        f"Beyond {MOST_ONLINE:,} examples the weights are those of `fit`, which are the same.",
    ),
)
