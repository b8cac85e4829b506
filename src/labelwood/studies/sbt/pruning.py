"""What pruning does to a supervised budgeted tree.

Table 4 of Liu and Tsang (JMLR 2017), "Making decision trees feasible in ultrahigh feature and
label dimensions", on data of two classes that are at hand. The paper has epsilon (17.23 per
cent of errors without and 12.45 with pruning) and another part of RCV1 (6.19 and 3.85).
"""

from collections.abc import Iterator, Sequence
from typing import Any

from labelwood.studies._plot import draw_panels
from labelwood.studies._result import Row
from labelwood.studies._study import Options, Study
from labelwood.studies.sbt._binary import FILES, error_note, figures, fitted, read_splits

C = 5.0  # the paper's
BUDGETS = (5, 20, 50)
GROWN: dict[str, Any] = {"max_depth": 40, "min_samples_split": 2}  # to the end, as Algorithm 2 does
LEARNERS: dict[str, dict[str, Any]] = {
    "SBT without pruning": {"prune": False},
    "SBT pruned as printed": {"pruning": "paper"},
    "SBT pruned for any gain": {"min_gain": 0.0},
    "SBT pruned strictly": {"min_gain": 1.0},
    "SBT": {},
}


def rows(part: str, options: Options) -> Iterator[Row]:
    """Trees with and without pruning on one data set."""
    from labelwood.trees.budgeted import BudgetedTreeClassifier

    splits = read_splits(part, options)
    for budget in BUDGETS[:1] if options.quick else BUDGETS:
        for learner, parameters in LEARNERS.items():
            settings = {"C": C, "random_state": options.seed, **GROWN, **parameters}
            model = BudgetedTreeClassifier(budget, **settings)
            models = fitted([model] * len(splits), splits, options)
            yield {"data": part, "budget": budget, "learner": learner, **figures(models, splits)}


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """A panel for each data set: error against the number of leaves, a curve a kind of tree."""
    draw_panels(figure, rows, panel="data", curve="learner", x="leaves", y="error")


STUDY = Study(
    name="sbt-pruning",
    title="Test error and size of SBT with and without pruning on data of two classes",
    parts=FILES,
    columns={
        "data": "",
        "budget": "d",
        "learner": "",
        "error": ".2f",
        "±": ".2f",
        "leaves": ".1f",
        "features": ",.1f",
    },
    rows=rows,
    draw=draw,
    notes=lambda options: (
        error_note(options),
        f"C = {C:g}, {', '.join(f'{name}={value}' for name, value in GROWN.items())}: trees are "
        "grown to the end; budget: features of a decision; features: those of the whole tree.",
        "as printed: both children of a node go when their CV errors add up to more than its own; "
        "for any gain: decisions stay where they leave fewer held-out errors; strictly: where "
        "these are fewer by one standard error; SBT: as strictly as its trial on halves says.",
    ),
)
