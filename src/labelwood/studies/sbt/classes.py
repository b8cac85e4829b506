"""More than two classes: a budgeted tree for each of them, or a single tree for all.

Liu and Tsang (JMLR 2017), "Making decision trees feasible in ultrahigh feature and label
dimensions", have trees for two classes. A single tree for more of them needs a code: here each
decision separates one half of the classes from the other, as the Huffman tree of Algorithm 3 does
with label sets, by a budgeted classifier.
"""

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from labelwood.studies._datasets import read_split, split_files
from labelwood.studies._plot import draw_panels
from labelwood.studies._result import Row
from labelwood.studies._study import Options, Study

if TYPE_CHECKING:
    from labelwood.studies.sbt._binary import Split

BUDGETS = (5, 20)
C = 5.0  # as in the other studies of these trees
MIN_GAIN = 1.0  # the trial of other values on halves of the samples would triple the time
PER_CLASS, CODE, LINEAR = "a tree for each class", "one tree, Huffman code", "linear SVM, no budget"
N_TOPICS = 10
TEST_SHARE = 0.3
_QUICK_SAMPLES = 400
_WARM_SAMPLES = 200
_FILES = {"digits": [], "reuters": split_files("reuters21578")}


def rows(part: str, options: Options) -> Iterator[Row]:
    """Both kinds of trees by budget, and a linear classifier that reads all features."""
    from labelwood.linear.onevsrest import OneVsRestSVM
    from labelwood.trees.budgeted import BudgetedTreeClassifier
    from labelwood.trees.coding import PowersetTreeClassifier

    split = _digits(options) if part == "digits" else _topics(options)
    common: dict[str, Any] = {"random_state": options.seed, "n_jobs": options.jobs}
    for budget in BUDGETS[:1] if options.quick else BUDGETS:
        models = {
            PER_CLASS: BudgetedTreeClassifier(budget, C=C, min_gain=MIN_GAIN, **common),
            CODE: PowersetTreeClassifier(budget=budget, C=C, **common),
        }
        for name, model in models.items():
            yield {"data": part, "budget": budget, "learner": name, **_figures(model, split)}
    yield {"data": part, "learner": LINEAR, **_figures(OneVsRestSVM(**common), split)}


def _figures(model: Any, split: "Split") -> dict[str, float]:
    """Test error, features that are read, and processor seconds of training."""
    import numpy as np
    from sklearn.base import clone

    from labelwood.studies.sbt._binary import error

    few = slice(0, _WARM_SAMPLES)
    clone(model).fit(split.X[few], split.y[few])  # compiles kernels
    start = time.process_time()
    model.fit(split.X, split.y)
    seconds = time.process_time() - start
    read = getattr(model, "selected_features_", None)
    read = np.unique(model.features_) if read is None and hasattr(model, "features_") else read
    n_features = split.X.shape[1] if read is None else len(read)
    return {"error": error(model, split), "features": n_features, "seconds": seconds}


def _digits(options: Options) -> "Split":
    """The handwritten digits that come with scikit-learn."""
    import numpy as np
    from sklearn.datasets import load_digits

    from labelwood.core.sparse import as_csr, unit_rows
    from labelwood.studies.sbt._binary import Split

    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(options.seed).permutation(y.size)
    order = order[:_QUICK_SAMPLES] if options.quick else order
    test, train = np.split(order, [round(TEST_SHARE * order.size)])
    X = unit_rows(as_csr(X))
    return Split(X[train], y[train], X[test], y[test])


def _topics(options: Options) -> "Split":
    """News that have one topic, which is one of the ten largest."""
    import numpy as np

    from labelwood.core.sparse import unit_rows
    from labelwood.studies.sbt._binary import Split

    parts = read_split("reuters21578", options)
    sizes = np.bincount(parts[0].Y.indices, minlength=parts[0].Y.shape[1])
    largest = np.argsort(-sizes, kind="stable")[:N_TOPICS]
    found: list[Any] = []
    for data in parts:
        alone = np.flatnonzero(np.diff(data.Y.indptr) == 1)
        topics = data.Y.indices[data.Y.indptr[alone]]
        kept = np.isin(topics, largest)
        rows, y = alone[kept], topics[kept]
        if options.quick:
            rows, y = rows[:_QUICK_SAMPLES], y[:_QUICK_SAMPLES]
        features: Any = data.X
        found += [unit_rows(features[rows]), y]
    return Split(*found)


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """A panel for each data set: error against the budget, a curve a kind of tree."""
    by_budget = [row for row in rows if "budget" in row]
    draw_panels(figure, by_budget, panel="data", curve="learner", x="budget", y="error")


STUDY = Study(
    name="sbt-classes",
    title="Test error of budgeted trees for more than two classes: one a class, or one for all",
    parts=_FILES,
    columns={
        "data": "",
        "budget": "d",
        "learner": "",
        "error": ".2f",
        "features": ",d",
        "seconds": ".2f",
    },
    rows=rows,
    draw=draw,
    notes=lambda options: (
        f"error: per cent of the test samples ({100 * TEST_SHARE:.0f} % of the digits; Reuters: "
        f"news of exactly one of the {N_TOPICS} largest topics, its own test set)"
        + (f"; {_QUICK_SAMPLES} samples." if options.quick else "."),
        f"C = {C:g} for the trees, min_gain = {MIN_GAIN:g} for those of a class; seconds: "
        "processor time of training, with compiled kernels.",
        "budget: features of a decision; features: those of the whole model; rows of unit length.",
    ),
)
