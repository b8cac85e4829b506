"""How often the intervals of `HierarchicalRLSClassifier` hold what they promise, in every mode.

Labels are drawn by the model of Cesa-Bianchi, Conconi & Gentile 2004, eq. (1), so that the true
margins and the mean of every estimate, given the instances, are known.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from labelwood.studies._result import Row
from labelwood.studies._study import Options, Study

if TYPE_CHECKING:
    from labelwood.core.types import DoubleArray
    from labelwood.taxonomy.hierarchy import NodeMargin
    from labelwood.taxonomy.simulator import Sample, TaxonomyModel

LEVEL = 0.95
N_SAMPLES, N_FRESH, N_RUNS = 400, 40, 250
DIMENSIONS = (3, 20)
MAX_SUPPORT = 60  # far fewer than the samples
_QUICK = (60, 10, 3)

MODES: dict[str, dict[str, Any]] = {
    "fit": {"confidence": LEVEL},
    "fit, independent": {"confidence": LEVEL, "train": "independent"},
    "on line, all": {},
    "on line, all, independent": {"train": "independent"},
    "on line, all, max_support not reached": {"max_support": 10 * N_SAMPLES},
    "on line, max_support": {"max_support": MAX_SUPPORT},
    "on line, margin": {"store": "margin"},
    "on line, margin, max_support": {"store": "margin", "max_support": MAX_SUPPORT},
    "on line, margin, independent": {"store": "margin", "train": "independent"},
}


def rows(part: str, options: Options) -> Iterator[Row]:
    """A row for each dimension: what share of the intervals holds."""
    n_samples, n_fresh, n_runs = _QUICK if options.quick else (N_SAMPLES, N_FRESH, N_RUNS)
    for d in DIMENSIONS:
        counts = [
            _run(part, d, n_samples, n_fresh, (options.seed, d, run), options.jobs)
            for run in range(n_runs)
        ]
        yield _row(part, d, counts)


def _row(part: str, d: int, counts: Sequence["DoubleArray"]) -> Row:
    import numpy as np

    margins, intervals, mean_held, bounded, margin_held, bare = np.sum(counts, axis=0)
    row: Row = {"mode": part, "d": d, "margins": int(margins), "given": intervals / margins}
    if intervals:
        row |= {"level": LEVEL, "mean held": mean_held / intervals}
    if bounded:
        row |= {"margin held": margin_held / bounded, "without bias": bare / bounded}
    return row


def _run(
    part: str, d: int, n_samples: int, n_fresh: int, seed: tuple[int, ...], jobs: int
) -> "DoubleArray":
    """Of one training set: margins, intervals, those that hold the mean, those with a bias, of
    these the ones that hold the true margin, and the ones that would without the bias."""
    import numpy as np

    from labelwood import HierarchicalRLSClassifier
    from labelwood.taxonomy.simulator import TaxonomyModel, balanced

    of_model, of_samples, of_fresh = np.random.SeedSequence(seed).spawn(3)
    model = TaxonomyModel.draw(balanced(2, 1), d, random_state=of_model)
    sample = model.sample(n_samples, random_state=of_samples)
    fresh = model.instances(n_fresh, random_state=of_fresh)
    learner = HierarchicalRLSClassifier(model.taxonomy, **MODES[part], n_jobs=jobs)
    learn = learner.fit if part.startswith("fit") else learner.partial_fit
    learn(*sample)
    # Without a level of its own `predict` and `explain` decide by the sign of the margin alone,
    # so that intervals are not shown more often where they are narrow.
    learner.set_params(confidence=None)
    counts = np.zeros(6)
    for x, path in zip(fresh, learner.explain(fresh), strict=True):
        for one in path:
            counts += _held(one, model, sample, x, independent="independent" in part)
    return counts


def _held(
    one: "NodeMargin", model: "TaxonomyModel", sample: "Sample", x: "DoubleArray", independent: bool
) -> tuple[float, ...]:
    if one.low is None or one.high is None:
        return 1, 0, 0, 0, 0, 0
    node = int(str(one.label))
    mean_held = one.low <= estimate_mean(model, sample, node, x, independent) <= one.high
    interval = one.margin_interval
    if interval is None:
        return 1, 1, mean_held, 0, 0, 0
    true = float(model.vectors[node] @ x)
    margin_held = interval[0] <= true <= interval[1]
    return 1, 1, mean_held, 1, margin_held, one.low <= true <= one.high


def estimate_mean(
    model: "TaxonomyModel", sample: "Sample", node: int, x: "DoubleArray", independent: bool
) -> float:
    """E[(A + xxᵀ)⁻¹Sv · x] given the instances and, for a child, which of them have its parent."""
    import numpy as np

    X, parent = sample.X, int(model.taxonomy.parent[node])
    expected = X @ model.vectors[node]
    if parent >= 0 and independent:
        both = (1 + expected) / 2 * (1 + X @ model.vectors[parent]) / 2
        expected = 2 * both - 1
    elif parent >= 0:
        has_parent = sample.Y.toarray()[:, parent] > 0
        X, expected = X[has_parent], expected[has_parent]
    A = np.eye(x.size) + X.T @ X + np.outer(x, x)
    return float(np.linalg.solve(A, X.T @ expected) @ x)


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """The share that holds in each mode, beside the level."""
    figure.set_size_inches(7, 0.3 * len(rows) + 1)
    axes = figure.subplots()
    names = [f"{row['mode']}, d = {row['d']}" for row in rows]
    axes.barh(names, [row.get("mean held") or 0 for row in rows])
    axes.axvline(LEVEL, color="C7")
    axes.invert_yaxis()
    axes.set(xlabel="share of the intervals that hold the mean", xlim=(0, 1))


STUDY = Study(
    name="hrls-coverage",
    title="How often the intervals of hierarchical least squares hold, by mode of learning",
    parts=dict.fromkeys(MODES, ()),
    columns={
        "mode": "",
        "d": "d",
        "margins": ",d",
        "given": ".0%",
        "level": ".0%",
        "mean held": ".2%",
        "margin held": ".2%",
        "without bias": ".2%",
    },
    rows=rows,
    draw=draw,
    notes=(
        "margins: positive margins on fresh samples; given: share of them with an interval.",
        "mean held: intervals that hold the mean of the estimate, given the instances (promised).",
        "margin held: intervals, widened by the bound on the bias, that hold the true margin "
        "(promised); without bias: those that hold it as they are (not promised).",
        "A taxonomy of a root and two children, with unit vectors drawn for each run.",
    ),
)
