"""Coding trees beside the learners that they compete with: label sets, and how fast.

Tables 8 and 10 and Figure 8 of Liu and Tsang (JMLR 2017), "Making decision trees feasible in
ultrahigh feature and label dimensions", on data that are at hand. Corel5k and CAL500 are the
paper's, in ten-fold cross-validation as there; its Delicious and EUR-Lex are other sets.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from labelwood.studies._datasets import QUICK_SAMPLES, first, folds, read_split, split_files
from labelwood.studies._measure import best_of_three, compile_kernels, make, parameters_note, timed
from labelwood.studies._plot import draw_panels
from labelwood.studies._result import Row
from labelwood.studies._study import Options, Study

if TYPE_CHECKING:
    from labelwood.core.types import CSR
    from labelwood.data.dataset import Dataset

LABEL_POWERSET = "label powerset"
LEARNERS = {
    "one-vs-rest": "OneVsRestSVM",
    LABEL_POWERSET: "OneVsRestSVM",
    "FastXML": "FastXMLClassifier",
    "PT": "PowersetTreeClassifier",
    "AT": "AnnotationTreeClassifier",
    "PT, budget": "PowersetTreeClassifier",
    "AT, budget": "AnnotationTreeClassifier",
}
BUDGETS = {"corel5k": 45, "cal500": 5}  # features that a decision may read; elsewhere:
BUDGET = 50
PUBLISHED = {  # F1, and its standard deviation over the folds (Table 8)
    ("corel5k", "one-vs-rest"): (0.100, 0.02),
    ("corel5k", LABEL_POWERSET): (0.138, 0.01),
    ("corel5k", "FastXML"): (0.056, 0.01),
    ("corel5k", "PT"): (0.123, 0.01),
    ("corel5k", "AT"): (0.141, 0.01),
    ("corel5k", "Homer"): (0.113, 0.01),
    ("corel5k", "SLEEC"): (0.084, 0.01),
    ("corel5k", "PD-Sparse"): (0.110, 0.02),
    ("cal500", "SLEEC"): (0.310, 0.03),
    ("cal500", "PT"): (0.324, 0.02),
    ("cal500", "AT"): (0.362, 0.01),
}
_FOLDS, _QUICK_FOLDS = 10, 2


def _n_folds(options: Options) -> int:
    return _QUICK_FOLDS if options.quick else _FOLDS


_FILES = {
    "corel5k": split_files("corel5k"),
    "cal500": ["cal500/all.txt.xz"],
    **{name: split_files(name) for name in ("bibtex", "delicious", "eurlex57k")},
}
_FOLDED = ("corel5k", "cal500")


def rows(part: str, options: Options) -> Iterator[Row]:
    """Every learner on one data set, each followed by its published figures."""
    splits = _splits(part, options)
    slowest = None
    for learner in LEARNERS:
        budget = BUDGETS.get(part, BUDGET) if learner.endswith("budget") else None
        row = _mean([_measure(learner, train, test, options, budget) for train, test in splits])
        slowest = slowest or row["µs a point"]
        yield {"data": part, "learner": learner, **row, "speed": slowest / row["µs a point"]}
        if (part, learner) in PUBLISHED:
            f1, deviation = PUBLISHED[part, learner]
            yield {"data": part, "learner": f"{learner}, published", "F1": f1, "±": deviation}
    for (data, other), (f1, deviation) in PUBLISHED.items():
        if data == part and other not in LEARNERS:
            yield {"data": part, "learner": f"{other}, published", "F1": f1, "±": deviation}


def _splits(part: str, options: Options) -> list[tuple["Dataset", "Dataset"]]:
    """The training and test points of the data set as it comes, or of its folds."""
    if part not in _FOLDED:
        train, test = read_split(part, options)
        return [first(train, test, QUICK_SAMPLES) if options.quick else (train, test)]
    data = _read_all(part, options)
    if options.quick:
        data, _ = first(data, data, QUICK_SAMPLES)
    return list(folds(data, _n_folds(options), options.seed))


def _read_all(part: str, options: Options) -> "Dataset":
    import scipy.sparse as sp

    from labelwood.data.dataset import Dataset
    from labelwood.data.load import load_dataset

    parts = [load_dataset(options.file(file)) for file in _FILES[part]]
    return Dataset(sp.vstack([one.X for one in parts]), sp.vstack([one.Y for one in parts]))


def _measure(
    learner: str, train: "Dataset", test: "Dataset", options: Options, budget: int | None
) -> dict[str, float | None]:
    from labelwood.metrics import f1_at_k, f1_score

    model = make(LEARNERS[learner], options)
    if budget is not None:
        model.set_params(budget=min(budget, test.X.shape[1] if test.X is not None else budget))
    sets: CSR | None = None
    if learner == LABEL_POWERSET:
        train, sets = _sets_as_labels(train)
    with warnings.catch_warnings():
        # Rare labels can be in the test points of a fold alone: they count as missed.
        warnings.filterwarnings("ignore", message=r".*labels? ha(s|ve) no sample")
        compile_kernels(model, train)
        _, fit_seconds = timed(lambda: model.fit(train.X, train.Y))
    predicted, seconds = best_of_three(_prediction(model, test, sets))
    return {
        "F1": f1_score(test.Y, predicted),
        "F1@5": f1_at_k(test.Y, model.predict_topk(test.X, 5), 5) if sets is None else None,
        "decisions": _decisions(model, test),
        "seconds": fit_seconds,
        "µs a point": 1e6 * seconds / len(test),
    }


def _sets_as_labels(train: "Dataset") -> tuple["Dataset", "CSR"]:
    """The training points with their whole label set as their one label, and these sets."""
    import numpy as np

    from labelwood.core.sparse import make_csr
    from labelwood.trees.coding import label_sets

    sets, _, of_point = label_sets(train.Y)
    n = len(train)
    ones = np.ones(n, dtype=np.float32)
    Y = make_csr(np.arange(n + 1), of_point, ones, (n, sets.shape[0]))
    return replace(train, Y=Y, label_names=None, taxonomy=None), sets


def _prediction(model: Any, test: "Dataset", sets: "CSR | None") -> Callable[[], "CSR"]:
    if sets is None:
        return lambda: model.predict(test.X)
    return lambda: sets[model.predict_topk(test.X, 1).labels[:, 0]]


def _decisions(model: Any, test: "Dataset") -> float | None:
    """Linear decisions computed for a point."""
    if hasattr(model, "mean_decisions"):
        return float(model.mean_decisions(test.X))
    return None if hasattr(model, "n_trees") else float(model.classes_.size)


def _mean(figures: Sequence[dict[str, float | None]]) -> dict[str, Any]:
    """Means over the folds, and the standard deviation of F1."""
    from statistics import fmean, stdev

    means: dict[str, Any] = {
        name: None if value is None else fmean(one[name] or 0.0 for one in figures)
        for name, value in figures[0].items()
    }
    f1 = [one["F1"] or 0.0 for one in figures]
    return {**means, "±": stdev(f1) if len(f1) > 1 else None}


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """A panel for each data set: F1 against the time of a prediction, a dot a learner."""
    draw_panels(figure, rows, panel="data", curve="learner", x="µs a point", y="F1")


STUDY = Study(
    name="coding-trees",
    title="F1 and testing time of one-vs-rest, label powerset, FastXML, PT and AT",
    parts=_FILES,
    columns={
        "data": "",
        "learner": "",
        "F1": ".3f",
        "±": ".3f",
        "F1@5": ".3f",
        "decisions": ",.1f",
        "seconds": ".1f",
        "µs a point": ".1f",
        "speed": ".1f",
    },
    rows=rows,
    draw=draw,
    notes=lambda options: (
        "F1 of the label sets, mean over samples; F1@5 of the five best labels. "
        f"{parameters_note(options)}.",
        f"corel5k and cal500: mean of {_n_folds(options)} folds, ± their standard deviation.",
        "decisions: linear ones computed for a point; label powerset: one for each label set.",
        "seconds: training; µs a point: prediction of label sets, all test points at once; "
        "speed: one-vs-rest's time divided by it. Kernels are compiled.",
        "budget: decisions that read few features, "
        + ", ".join(f"{n} on {name}" for name, n in BUDGETS.items())
        + f" and {BUDGET} elsewhere.",
        "published: Table 8 of Liu and Tsang (JMLR 2017), as far as the text at hand is legible.",
    ),
)
