"""Learners along the taxonomies of X-ray codes, gene functions and e-mail.

The comparison of Cesa-Bianchi, Conconi and Gentile (COLT 2004) on other data than newswire, with
learners that do not know the taxonomy and are closed under ancestors, and with an intercept: the
paper's classifiers have none, and the nodes' half-spaces go through the origin.
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
    from labelwood.core.types import CSR
    from labelwood.data.dataset import Dataset
    from labelwood.data.taxonomy import Taxonomy

SETS = ("imclef07a", "cellcycle_FUN", "enron_corr")


class Learner(NamedTuple):
    """A class with its parameters; those along the taxonomy take it and have no intercept.

    With `shuffled` it sees the training samples in a random order.
    """

    class_name: str
    parameters: dict[str, Any]
    along: bool = True
    shuffled: bool = False


LEARNERS = {
    "RLS": Learner("HierarchicalRLSClassifier", {}),
    "RLS, independent": Learner("HierarchicalRLSClassifier", {"train": "independent"}),
    "Perceptron": Learner("HierarchicalPerceptron", {}),
    "Perceptron, shuffled": Learner("HierarchicalPerceptron", {}, shuffled=True),
    "label tree, closed": Learner("LabelTreeClassifier", {}, along=False),
    "one-vs-rest, closed": Learner("OneVsRestSVM", {}, along=False),
}


def rows(part: str, options: Options) -> Iterator[Row]:
    """Every learner; those along the taxonomy with and without an intercept."""
    train, test, tree = _read(part, options)
    for name, learner in LEARNERS.items():
        for intercept in (False, True) if learner.along else (True,):
            figures = _measure(learner, train, test, tree, intercept, options)
            yield {"data": part, "learner": name, "intercept": "yes" * intercept, **figures}


def _read(part: str, options: Options) -> tuple["Dataset", "Dataset", "Taxonomy"]:
    from labelwood.data.taxonomy import Taxonomy

    train, test = read_split(f"hmc/{part}", options)
    if options.quick:
        train, test = (data.select(range(min(QUICK_SAMPLES, len(data)))) for data in (train, test))
    tree = Taxonomy.from_file(options.file(f"hmc/{part}/hierarchy.txt"), columns="parent child")
    return train, test, tree.align([str(i) for i in range(train.n_labels)], unknown="root")


def _measure(
    learner: Learner,
    train: "Dataset",
    test: "Dataset",
    tree: "Taxonomy",
    intercept: bool,
    options: Options,
) -> dict[str, float]:
    import numpy as np

    import labelwood
    from labelwood.metrics import any_wrong_loss, h_loss, hierarchical_f1

    model = getattr(labelwood, learner.class_name)(**learner.parameters)
    values = {"taxonomy": tree, "random_state": options.seed, "n_jobs": options.jobs}
    known = model.get_params()
    model.set_params(**{name: value for name, value in values.items() if name in known})
    if learner.shuffled:
        train = train.select(np.random.default_rng(options.seed).permutation(len(train)))
    constant = learner.along and intercept
    X, X_test = (with_constant(data.X) if constant else data.X for data in (train, test))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelwoodWarning)  # labels without a sample, scaled rows
        _, seconds = timed(lambda: model.fit(X, tree.close(train.Y)))
        predicted = model.predict(X_test)
    wrong = any_wrong_loss(test.Y, predicted, tree)
    return {
        "any wrong": 100 * wrong,
        "±": 100 * (wrong * (1 - wrong) / len(test)) ** 0.5,
        "H-loss": h_loss(test.Y, predicted, tree, costs="normalized"),
        "F1": 100 * hierarchical_f1(test.Y, predicted, tree),
        "seconds": seconds,
    }


def with_constant(X: "CSR") -> "CSR":
    """Rows of unit length with a constant feature of the same size, so that all weigh alike.

    A learner without an intercept has one on such rows.
    """
    import numpy as np
    import scipy.sparse as sp

    from labelwood.core.sparse import as_csr, unit_rows

    ones = sp.csr_array(np.ones((X.shape[0], 1), dtype=np.float32))
    return as_csr(sp.hstack([unit_rows(as_csr(X)), ones], format="csr"))


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """A panel for each data set: the error of each learner."""
    parts = list(dict.fromkeys(str(row["data"]) for row in rows))
    figure.set_size_inches(7, 0.3 * len(rows) + 0.9 * len(parts))
    panels = figure.subplots(len(parts), 1, squeeze=False)[:, 0]
    for axes, part in zip(panels, parts, strict=True):
        own = [row for row in rows if row["data"] == part]
        names = [f"{row['learner']}{', intercept' if row['intercept'] else ''}" for row in own]
        axes.barh(names, [row["any wrong"] for row in own], xerr=[row["±"] for row in own])
        axes.invert_yaxis()
        axes.set(title=part, xlabel="any wrong, percent")


STUDY = Study(
    name="hrls-taxonomies",
    title="Learners along three taxonomies, with and without an intercept",
    parts={part: [*split_files(f"hmc/{part}"), f"hmc/{part}/hierarchy.txt"] for part in SETS},
    columns={
        "data": "",
        "learner": "",
        "intercept": "",
        "any wrong": ".2f",
        "±": ".2f",
        "H-loss": ".4f",
        "F1": ".2f",
        "seconds": ".2f",
    },
    rows=rows,
    draw=draw,
    notes=lambda options: (
        "any wrong: percent of test samples with at least one wrong label, and its standard error; "
        "H-loss: with normalized costs; F1: hierarchical.",
        "intercept: a constant feature beside rows of unit length, for the learners along the "
        "taxonomy; the others have one of their own. closed: ancestors are added to what a learner "
        "that does not know the taxonomy predicts. shuffled: the training samples in a random "
        "order, where imclef07a's come in runs of like images.",
        *([f"The first {QUICK_SAMPLES} samples of both parts."] if options.quick else []),
        "seconds: training; kernels may have been compiled in it.",
    ),
)
