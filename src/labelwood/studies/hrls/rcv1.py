"""Least squares and Perceptrons along a taxonomy of newswire topics.

The experiment of §5 of Cesa-Bianchi, Conconi and Gentile (COLT 2004), "Regret Bounds for
Hierarchical Classification with Linear-Threshold Functions", on a smaller part of RCV1 than
theirs: other documents of the same corpus, with the same topics.
"""

import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from labelwood.errors import LabelwoodWarning
from labelwood.studies._datasets import QUICK_SAMPLES, read_split, split_files
from labelwood.studies._measure import timed
from labelwood.studies._result import Row
from labelwood.studies._study import Options, Study

if TYPE_CHECKING:
    from labelwood.data.dataset import Dataset
    from labelwood.data.taxonomy import Taxonomy

DATA = "rcv1-15k-hier"
MARGINS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
MAX_SUPPORT = 2000
HELD_OUT = 5  # one document in so many, the last ones, for the choice of the margin
_WARM_POINTS = 100

_RLS, _PERCEPTRON = "HierarchicalRLSClassifier", "HierarchicalPerceptron"
_SMALL = {"store": "margin", "max_support": MAX_SUPPORT}
_ALONE = {"train": "independent"}


class Learner(NamedTuple):
    """A class with its parameters, and whether it learns on line."""

    class_name: str
    parameters: dict[str, Any]
    on_line: bool = True


EXACT = Learner(_RLS, {}, on_line=False)
LEARNERS = {
    "RLS, exact": EXACT,
    "RLS, space-efficient": Learner(_RLS, _SMALL),
    "RLS, exact, independent": Learner(_RLS, _ALONE, on_line=False),
    "RLS, space-efficient, independent": Learner(_RLS, _SMALL | _ALONE),
    "Perceptron": Learner(_PERCEPTRON, {}),
    "Perceptron, independent": Learner(_PERCEPTRON, _ALONE),
    "label tree": Learner("LabelTreeClassifier", {}, on_line=False),
}
PUBLISHED = {
    "RLS, space-efficient": 46.6,
    "RLS, space-efficient, independent": 49.6,
    "Perceptron": 65.8,
}


def rows(part: str, options: Options) -> Iterator[Row]:
    """Learners on the test set, or margins on documents that are held out from training."""
    train, test, tree = _read(options)
    if part == "margin":
        yield from _margins(train, tree, options)
        return
    for name, learner in LEARNERS.items():
        figures = _measure(learner, train, test, tree, options)
        yield {"part": part, "learner": name, **figures}
        if name in PUBLISHED:
            yield {"part": part, "learner": f"{name}, published", "any wrong": PUBLISHED[name]}


def _margins(train: "Dataset", tree: "Taxonomy", options: Options) -> Iterator[Row]:
    """Exact least squares, then each margin; the first that comes near enough is taken."""
    n = len(train) - len(train) // HELD_OUT
    own, held_out = train.select(range(n)), train.select(range(n, len(train)))
    exact = _measure(EXACT, own, held_out, tree, options)
    yield {"part": "margin", "learner": "RLS, exact", **exact}
    enough, taken = exact["any wrong"] + exact["±"], False
    for margin in MARGINS:
        learner = Learner(_RLS, {**_SMALL, "margin": margin})
        figures = _measure(learner, own, held_out, tree, options)
        takes = not taken and figures["any wrong"] <= enough
        taken = taken or takes
        name = f"RLS, margin={margin:g}" + (", taken" if takes else "")
        yield {"part": "margin", "learner": name, **figures}


def _read(options: Options) -> tuple["Dataset", "Dataset", "Taxonomy"]:
    from labelwood.data.taxonomy import Taxonomy

    train, test = read_split(DATA, options)
    tree = Taxonomy.from_file(options.file(f"{DATA}/hierarchy.txt"), columns="parent child")
    if options.quick:
        train, test = (data.select(range(min(QUICK_SAMPLES, len(data)))) for data in (train, test))
    return train, test, tree.align([str(label) for label in range(train.n_labels)])


def _measure(
    learner: Learner, train: "Dataset", test: "Dataset", tree: "Taxonomy", options: Options
) -> dict[str, float]:
    from labelwood.metrics import any_wrong_loss, hierarchical_f1

    few = train.select(range(min(_WARM_POINTS, len(train))))
    _learn(learner, few, tree, options).predict(few.X)  # so that kernels are compiled
    model, seconds = timed(lambda: _learn(learner, train, tree, options))
    predicted = model.predict(test.X)
    wrong = any_wrong_loss(test.Y, predicted, tree)
    return {
        "any wrong": 100 * wrong,
        "±": 100 * (wrong * (1 - wrong) / len(test)) ** 0.5,
        "F1": 100 * hierarchical_f1(test.Y, predicted, tree),
        **(_kept(model, len(train)) if learner.on_line else {}),
        "seconds": seconds,
    }


def _learn(learner: Learner, data: "Dataset", tree: "Taxonomy", options: Options) -> Any:
    import labelwood

    model = getattr(labelwood, learner.class_name)(**learner.parameters)
    values = {"taxonomy": tree, "random_state": options.seed, "n_jobs": options.jobs}
    known = model.get_params()
    model.set_params(**{name: value for name, value in values.items() if name in known})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelwoodWarning)  # topics without a document
        return (model.partial_fit if learner.on_line else model.fit)(data.X, data.Y)


def _kept(model: Any, n_documents: int) -> dict[str, float]:
    """Of the examples that nodes saw the share that they keep; of documents, that any keeps."""
    import numpy as np

    parts = zip(model.support_rows_, model.n_support_, strict=True)
    rows = np.concatenate([rows[:n] for rows, n in parts])
    return {
        "kept": 100 * float(model.n_support_.sum() / model.n_seen_.sum()),
        "documents": 100 * np.unique(rows).size / n_documents,
    }


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """A panel for each part: the error of each learner, and what was published."""
    parts = list(dict.fromkeys(str(row["part"]) for row in rows))
    figure.set_size_inches(7, 0.28 * len(rows) + 0.8 * len(parts))
    sizes = [sum(row["part"] == part for row in rows) for part in parts]
    panels = figure.subplots(len(parts), 1, squeeze=False, height_ratios=sizes)[:, 0]
    for axes, part in zip(panels, parts, strict=True):
        own = [row for row in rows if row["part"] == part]
        colors = ["C7" if "published" in str(row["learner"]) else "C0" for row in own]
        errors = [row.get("±", 0) for row in own]
        names, values = [row["learner"] for row in own], [row["any wrong"] for row in own]
        axes.barh(names, values, xerr=errors, color=colors)
        axes.invert_yaxis()
        axes.set(title=part, xlabel="any wrong, percent")


_FILES = (*split_files(DATA), f"{DATA}/hierarchy.txt")

STUDY = Study(
    name="hrls-rcv1",
    title="Error, examples kept and training time of learners along the topics of newswire",
    parts={"margin": _FILES, "test": _FILES},
    columns={
        "part": "",
        "learner": "",
        "any wrong": ".2f",
        "±": ".2f",
        "F1": ".2f",
        "kept": ".1f",
        "documents": ".1f",
        "seconds": ".2f",
    },
    rows=rows,
    draw=draw,
    notes=lambda options: (
        "Percent. any wrong: documents with at least one wrong label, and its standard error; "
        "F1: hierarchical.",
        "exact: `fit`, whose weights are those of learning on line with every example kept; "
        f"space-efficient: on line, mistakes and small margins kept, {MAX_SUPPORT:,} a node at "
        "most; independent: every node learns from all documents.",
        "kept: share of the examples that nodes saw; documents: share that any node keeps.",
        f"margin: trained on the first {HELD_OUT - 1} of {HELD_OUT} training documents and "
        "measured on the others; taken: the smallest whose error is within a standard error of "
        "that of exact least squares. It is the default, which part test has.",
        "label tree: the labels that it decides for, with their ancestors.",
        *([f"The first {QUICK_SAMPLES} documents of both parts."] if options.quick else []),
        "seconds: training, kernels compiled. published: on 20,000 other documents of the corpus.",
    ),
)
