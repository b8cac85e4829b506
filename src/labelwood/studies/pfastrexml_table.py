"""FastXML and its relatives for missing labels, beside the learners that they compete with.

Table 1 of Jain, Prabhu and Varma (KDD 2016), "Extreme multi-label loss functions for
recommendation, tagging, ranking & other missing label applications", on data that are at
hand. That table has none of these data sets; the published figures are those that the
Extreme Classification Repository gives for its own splits of Bibtex and Delicious.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from labelwood.studies._datasets import QUICK_SAMPLES, first, read_split, split_files
from labelwood.studies._measure import best_of_three, compile_kernels, make, parameters_note, timed
from labelwood.studies._plot import legend_below
from labelwood.studies._result import Row
from labelwood.studies._study import Options, Study

if TYPE_CHECKING:
    from labelwood.data.dataset import Dataset

LEARNERS = {
    "Popularity": "PopularityClassifier",
    "one-vs-rest": "OneVsRestSVM",
    "FastXML": "FastXMLClassifier",
    "PfastXML": "PfastXMLClassifier",
    "PfastreXML": "PfastreXMLClassifier",
    "label tree": "LabelTreeClassifier",
}
# Figures at k = 1, 3 and 5, by metric. Only what could be checked against its source is here:
# a "PSP" entry is printed in the same row as soon as there is one.
PUBLISHED: dict[tuple[str, str], dict[str, tuple[float, float, float]]] = {
    ("bibtex", "FastXML"): {"P": (63.42, 39.23, 28.86)},
    ("bibtex", "PfastreXML"): {"P": (63.46, 39.22, 29.14)},
    ("delicious", "FastXML"): {"P": (69.61, 64.12, 59.27)},
    ("delicious", "PfastreXML"): {"P": (67.13, 62.33, 58.62)},
}
KS = (1, 3, 5)
METRICS = ("P", "nDCG", "PSP")
FIGURES = tuple(f"{metric}@{k}" for metric in METRICS for k in KS)


def rows(part: str, options: Options) -> Iterator[Row]:
    """Every learner on one data set, each followed by its published figures."""
    from labelwood.metrics import propensity

    train, test = _read(part, options)
    p = propensity(train.Y)
    for learner, class_name in LEARNERS.items():
        model = make(class_name, options)
        yield {"data": part, "learner": learner, **_measure(model, train, test, p)}
        if (part, learner) in PUBLISHED:
            figures = {
                f"{metric}@{k}": value
                for metric, values in PUBLISHED[part, learner].items()
                for k, value in zip(KS, values, strict=True)
            }
            yield {"data": part, "learner": f"{learner}, published", **figures}


def _read(part: str, options: Options) -> tuple["Dataset", "Dataset"]:
    train, test = _pydocs(options) if part == "pydocs" else read_split(part, options)
    return first(train, test, QUICK_SAMPLES) if options.quick else (train, test)


def _pydocs(options: Options) -> tuple["Dataset", "Dataset"]:
    from labelwood.data.corpora.pydocs import pydocs
    from labelwood.data.splits import split
    from labelwood.data.text import TextVectorizer

    corpus = pydocs(["joblib", "rich"] if options.quick else None)
    train, test = split(corpus, test_size=0.2, random_state=options.seed)
    vectorizer = TextVectorizer()
    X_train = vectorizer.fit_transform(list(train.texts or ()))
    X_test = vectorizer.transform(list(test.texts or ()))
    return replace(train, X=X_train), replace(test, X=X_test)


def _measure(model: Any, train: "Dataset", test: "Dataset", p: Any) -> Row:
    from labelwood.metrics import evaluate

    compile_kernels(model, train)
    _, fit_seconds = timed(lambda: model.fit(train.X, train.Y))
    top, seconds = best_of_three(lambda: model.predict_topk(test.X, KS[-1]))
    found = evaluate(test.Y, top, propensity=p, ks=KS, n_bootstrap=0)
    figures: Row = {name: 100 * found[name] for name in FIGURES}
    return {**figures, "seconds": fit_seconds, "ms a point": 1000 * seconds / len(test)}


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """A line of panels for each data set: P, nDCG and PSP at each k, a curve a learner."""
    parts = list(dict.fromkeys(row["data"] for row in rows))
    figure.set_size_inches(9, 2.6 * len(parts) + 0.6)
    panels = figure.subplots(len(parts), len(METRICS), squeeze=False)
    colors = {learner: f"C{i}" for i, learner in enumerate(LEARNERS)}
    for row in rows:
        learner, _, published = str(row["learner"]).partition(", ")
        style = ".--" if published else ".-"
        for panel, metric in zip(panels[parts.index(row["data"])], METRICS, strict=True):
            values = [row.get(f"{metric}@{k}") for k in KS]
            if None not in values:
                panel.plot(KS, values, style, color=colors[learner], label=row["learner"])
            panel.set_title(f"{row['data']}: {metric}@k, percent")
            panel.set_xticks(KS)
    legend_below(figure, panels[:, 0])


STUDY = Study(
    name="pfastrexml-table",
    title="P@k, nDCG@k and PSP@k of FastXML, PfastXML, PfastreXML and others on four data sets",
    parts={
        **{name: split_files(name) for name in ("bibtex", "delicious", "eurlex57k")},
        "pydocs": (),
    },
    columns={
        "data": "",
        "learner": "",
        **dict.fromkeys(FIGURES, ".2f"),
        "seconds": ".1f",
        "ms a point": ".3f",
    },
    rows=rows,
    draw=draw,
    notes=lambda options: (
        "Percent; propensities of the training labels, a = 0.55, b = 1.5. "
        f"{parameters_note(options)}.",
        "seconds: training; ms a point: prediction of the whole test set. Kernels are compiled.",
        "published: means over several splits, from the Extreme Classification Repository; "
        "its PSP@k are not at hand and are left out.",
    ),
)
