"""What it costs to learn from few features: processor seconds against the features that are read.

Table 6 of Liu and Tsang (JMLR 2017), "Making decision trees feasible in ultrahigh feature and
label dimensions", on documents of rcv1 that are at hand. Gradient boosted feature selection
(GBFS), its rival there, has no program here; its published seconds stand below, on another machine
and with more documents.
"""

import time
from collections.abc import Iterator, Sequence
from typing import Any

from labelwood.studies._plot import draw_panels
from labelwood.studies._result import Row
from labelwood.studies._study import Options, Study
from labelwood.studies.sbt._binary import FILES, Split, error, n_features, read_splits, sizes
from labelwood.studies.sbt.features import FGM_PLANES, L1_GRID

C = 5.0  # the paper's
PARTS = ("rcv1", "pcmac")
BUDGETS = (100, 500, 900)  # the paper's numbers of selected features
_QUICK_BUDGETS = (5, 10)
_PLANES_OF_BUDGET = 10  # planes after which a machine has read about the budget
_WARM_SAMPLES = 200
PUBLISHED = {  # seconds for 100, 500 and 900 features; the column of SBT is not legible
    ("GBFS", 100): 874.2,
    ("GBFS", 500): 5214.8,
    ("GBFS", 900): 8523.3,
    ("LDKL, all features", None): 8019.3,
}


def rows(part: str, options: Options) -> Iterator[Row]:
    """Each learner at each budget, fitted once on one thread."""
    split = read_splits(part, options)[0]
    for budget in _QUICK_BUDGETS if options.quick else BUDGETS:
        for learner, model in _learners(budget, split, options).items():
            yield {"data": part, "learner": learner, "budget": budget, **_measure(model, split)}
    from sklearn.svm import LinearSVC

    linear = LinearSVC(C=C, random_state=options.seed)
    yield {"data": part, "learner": "linear SVM", **_measure(linear, split)}
    if part == "rcv1":
        for (learner, n_read), seconds in PUBLISHED.items():
            yield {
                "data": part,
                "learner": f"{learner}, published",
                "budget": n_read,
                "seconds": seconds,
            }


def _learners(budget: int, split: Split, options: Options) -> dict[str, Any]:
    """Learners that read about `budget` features."""
    from labelwood.linear.budgeted import BudgetedClassifier
    from labelwood.trees.budgeted import BudgetedTreeClassifier

    common: dict[str, Any] = {"C": C, "random_state": options.seed, "n_jobs": 1}
    plane_size = max(1, budget // _PLANES_OF_BUDGET)
    # Decisions of half the budget leave some of it to the decisions below the first.
    half = max(1, budget // 2)
    return {
        "SBT": BudgetedTreeClassifier(half, **common),
        "SBT, one strictness": BudgetedTreeClassifier(half, min_gain=1.0, **common),
        "BAC": BudgetedClassifier(budget, C=C),
        "FGM": BudgetedClassifier(
            split.X.shape[1], C=C, plane_size=plane_size, max_planes=FGM_PLANES
        ),
        "L1-SVM": _l1(budget, split, options),
    }


def _l1(budget: int, split: Split, options: Options) -> Any:
    """The L1-SVM with the largest C that keeps within the budget; the search is not timed."""
    from sklearn.base import clone
    from sklearn.svm import LinearSVC

    model = LinearSVC(penalty="l1", dual=False, max_iter=10_000, random_state=options.seed)
    best = clone(model).set_params(C=L1_GRID[0])
    for value in L1_GRID:
        one = clone(model).set_params(C=value)
        if n_features(one.fit(split.X, split.y)) > budget:
            break
        best = clone(one)
    return best


def _measure(model: Any, split: Split) -> Row:
    from sklearn.base import clone

    few = slice(0, _WARM_SAMPLES)
    clone(model).fit(split.X[few], split.y[few])  # compiles kernels
    start = time.process_time()
    model.fit(split.X, split.y)
    seconds = time.process_time() - start
    return {
        "features": n_features(model),
        "leaves": getattr(model, "n_leaves_", None),
        "error": error(model, split),
        "seconds": seconds,
    }


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """A panel for each data set: seconds against the number of features, a curve a learner."""
    ours = [row for row in rows if "features" in row]
    draw_panels(figure, ours, panel="data", curve="learner", x="features", y="seconds")


STUDY = Study(
    name="sbt-seconds",
    title="Processor seconds of training against the features read: SBT, BAC, FGM and L1",
    parts={part: FILES[part] for part in PARTS},
    columns={
        "data": "",
        "learner": "",
        "budget": "d",
        "features": ",d",
        "leaves": "d",
        "error": ".2f",
        "seconds": ".2f",
    },
    rows=rows,
    draw=draw,
    notes=lambda options: (
        f"seconds: processor time of one fit on one thread, kernels compiled; C = {C:g} for all "
        "but L1-SVM.",
        "error: per cent of the test samples, one split 80/20 (rcv1: its own test set) of at most "
        f"{sizes(options)[0]:,} samples (rcv1: as many for training); rows of unit length.",
        "budget: features asked for. SBT: decisions of half as many; one strictness: min_gain=1, "
        "without the trial on halves. FGM: all features of up to "
        f"{FGM_PLANES} planes of a tenth as many. L1-SVM: the largest C within the budget, whose "
        "search is not timed.",
        "published: Table 6 of Liu and Tsang (JMLR 2017), with other documents and another "
        "machine; its column of SBT is not legible.",
    ),
)
