"""The defaults of `OneVsRestSVM`, chosen on training points alone.

Each fifth of the training points is held out in turn; no test part is read. The score of a
setting on a data set is P@1 + P@3 + P@5 on the held-out points, divided by the best such sum
in the same table. Parameters are chosen one after the other in `ORDER`, those to come being
at `CENTER`, by the mean score over the data sets:

- `C`: the value of the greatest mean score (again at the end, when the others are known);
- `slack`, `prune_below` and `tol`, of which more is cheaper: the greatest value whose mean
  score is within `MARGIN` of the best one's.
"""

import time
import warnings
from collections.abc import Iterator

import numpy as np

from benchmarks.harness import SHARED_DATA, DataMissingError

CLAIM = "the best settings of OneVsRestSVM on held-out training points"
CENTER = {"C": 0.6, "slack": 0.3, "prune_below": 0.01, "tol": 0.1}
GRID = {
    "C": (0.25, 0.35, 0.5, 0.6, 0.7, 1.0, 1.4),
    "slack": (0.0, 0.3, 0.5),
    "prune_below": (0.0, 0.01, 0.03, 0.06, 0.1),
    "tol": (0.03, 0.1, 0.3),
}
ORDER = (*GRID, "C")
MARGIN = 0.001
N_FOLDS = 5
EURLEX_POINTS = 15_000  # of 45,000, drawn at random, to save time
PRECISIONS = ("P@1", "P@3", "P@5")
PROPENSITY_SCORED = ("PSP@1", "PSP@3", "PSP@5")

Figures = dict[str, float]
Table = dict[float, dict[str, Figures]]


def run() -> dict[str, object]:
    """Score the grid, print its tables and what they choose."""
    print(f"\ndefaults: {CLAIM}")
    try:
        folds = {name: _folds(data) for name, data in _training_sets()}
    except DataMissingError as reason:
        print(f"  skipped: {reason}")
        return {"skipped": str(reason)}
    chosen, tables = dict(CENTER), []
    for parameter in ORDER:
        print(f"\n  {parameter}, where {_words(chosen, parameter)}", flush=True)
        table = {
            value: {
                name: _mean([_figures({**chosen, parameter: value}, *parts) for parts in pairs])
                for name, pairs in folds.items()
            }
            for value in GRID[parameter]
        }
        tables.append({parameter: table})
        for measures in (PRECISIONS, PROPENSITY_SCORED):
            _print_table(table, measures)
        chosen[parameter] = _choice(parameter, _scores(table, PRECISIONS))
        print(f"  chosen: {parameter} = {chosen[parameter]:g}", flush=True)
    print(f"\n  all in all: {_words(chosen)}")
    return {"tables": tables, "chosen": chosen}


def _training_sets() -> Iterator[tuple[str, object]]:
    from labelwood import load_dataset, synthetic

    for name in ("bibtex", "delicious", "eurlex57k"):
        path = SHARED_DATA / name / "train.txt.xz"
        if not path.is_file():
            raise DataMissingError(f"{name} is not there")
        data = load_dataset(path)
        if name == "eurlex57k":
            rows = np.random.default_rng(0).permutation(len(data))[:EURLEX_POINTS]
            data = data.select(np.sort(rows))
        yield name, data
    yield "synthetic", synthetic(15_000, 5_000, 4_000, random_state=0).train


def _folds(data):
    """Pairs of training and held-out points."""
    from labelwood.data.splits import stratified_folds

    fold = stratified_folds(data.Y, N_FOLDS, random_state=0)
    return [
        (data.select(np.flatnonzero(fold != i)), data.select(np.flatnonzero(fold == i)))
        for i in range(N_FOLDS)
    ]


def _mean(figures: list[Figures]) -> Figures:
    return {name: float(np.mean([one[name] for one in figures])) for name in figures[0]}


def _figures(settings: dict[str, float], train, held_out) -> Figures:
    from labelwood import OneVsRestSVM, metrics
    from labelwood.errors import LabelwoodWarning

    model = OneVsRestSVM(**settings, random_state=0, n_jobs=1)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelwoodWarning)  # labels of held-out points only
        model.fit(train.X, train.Y)
    seconds = time.perf_counter() - start
    top, propensity = model.predict_topk(held_out.X, 5), metrics.propensity(train.Y)
    hits = metrics.ranked_hits(held_out.Y, top, 5, propensity)
    return {
        **{f"P@{k}": 100 * hits.precision(k).value for k in (1, 3, 5)},
        **{f"PSP@{k}": 100 * hits.psp(k).value for k in (1, 3, 5)},
        "seconds": seconds,
        "weights": float(model.coef_.nnz),
    }


def _scores(table: Table, measures: tuple[str, ...]) -> dict[float, float]:
    """For each value the sum of the measures relative to the best, averaged over the data sets."""
    sums = np.array(
        [
            [sum(one[measure] for measure in measures) for one in row.values()]
            for row in table.values()
        ]
    )
    return dict(zip(table, (sums / sums.max(axis=0)).mean(axis=1).tolist(), strict=True))


def _choice(parameter: str, scores: dict[float, float]) -> float:
    if parameter == "C":
        return max(scores, key=lambda value: scores[value])
    best = max(scores.values())
    return max(value for value, score in scores.items() if score >= best - MARGIN)


def _print_table(table: Table, measures: tuple[str, ...]) -> None:
    names = list(next(iter(table.values())))
    head = "/".join(measures).ljust(18) + "".join(f"{name:>18}" for name in names)
    print(f"  {head}   score")
    for (value, row), score in zip(table.items(), _scores(table, measures).values(), strict=True):
        cells = ["/".join(f"{one[measure]:.2f}" for measure in measures) for one in row.values()]
        print(f"  {value:<18g}" + "".join(f"{cell:>18}" for cell in cells) + f"{score:8.4f}")


def _words(settings: dict[str, float], without: str = "") -> str:
    return ", ".join(f"{name} = {value:g}" for name, value in settings.items() if name != without)
