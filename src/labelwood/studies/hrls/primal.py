"""Exact on-line least squares along taxonomies of few features: the dual against the primal form.

In the dual an example costs the square of the examples that its node has seen, in the primal the
square of the features. `HierarchicalRLSClassifier` changes from one to the other by itself.
"""

import time
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from labelwood.studies._datasets import QUICK_SAMPLES, split_files
from labelwood.studies._result import Row
from labelwood.studies._study import Options, Study

if TYPE_CHECKING:
    from labelwood.data.dataset import Dataset
    from labelwood.taxonomy.hierarchical_rls import HierarchicalRLSClassifier

SETS = ("hmc/imclef07a", "hmc/cellcycle_FUN")
BATCHES = 4
_BATCH = 500


def rows(part: str, options: Options) -> Iterator[Row]:
    """Both forms after each batch of samples, in a random order."""
    import numpy as np
    from sklearn.base import clone

    from labelwood.core.sparse import as_csr
    from labelwood.data.load import load_dataset
    from labelwood.data.taxonomy import Taxonomy
    from labelwood.errors import LabelwoodWarning
    from labelwood.taxonomy.hierarchical_rls import HierarchicalRLSClassifier

    data = load_dataset(options.file(split_files(part)[0]))
    data = data.select(np.random.default_rng(options.seed).permutation(len(data)))
    tree = Taxonomy.from_file(options.file(f"{part}/hierarchy.txt"), columns="parent child")
    tree = tree.align([str(label) for label in range(data.n_labels)], unknown="root")
    n_features = as_csr(data.X).shape[1]
    size = QUICK_SAMPLES // BATCHES if options.quick else _BATCH
    n = min(BATCHES * size, len(data))
    # A limit above all samples is never met, and keeps the samples and so the dual form.
    dual = HierarchicalRLSClassifier(tree, max_support=n + 1, close_labels=True, n_jobs=1)
    auto = HierarchicalRLSClassifier(tree, close_labels=True, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelwoodWarning)  # rows that were scaled
        for model in (dual, auto):  # so that kernels are compiled, in both forms
            _learn(clone(model), data.select(range(min(n, 2 * n_features))))
        for start in range(0, n, size):
            batch = data.select(range(start, min(start + size, n)))
            seconds = [_learn(model, batch) for model in (dual, auto)]
            yield {
                "data": part,
                "features": n_features,
                "samples": start + len(batch),
                "dual": seconds[0],
                "automatic": seconds[1],
                "primal nodes": int(auto.primal_.sum()),
                "nodes": data.n_labels,
                "dual MB": dual.model_size / 2**20,
                "automatic MB": auto.model_size / 2**20,
                "difference": float(abs(dual.coef_ - auto.coef_).max()),
            }


def _learn(model: "HierarchicalRLSClassifier", batch: "Dataset") -> float:
    """Processor seconds of one call."""
    start = time.process_time()
    model.partial_fit(batch.X, batch.Y)
    return time.process_time() - start


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """Seconds of a batch against the samples before it, a panel a data set."""
    names = list(dict.fromkeys(row["data"] for row in rows))
    figure.set_size_inches(4 * len(names), 3)
    for axes, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
        own = [row for row in rows if row["data"] == name]
        for form in ("dual", "automatic"):
            axes.plot([row["samples"] for row in own], [row[form] for row in own], "o-", label=form)
        axes.set(title=name, xlabel="samples", ylabel="processor seconds of a batch")
        axes.legend()


STUDY = Study(
    name="hrls-primal",
    title="Exact on-line least squares of few features: processor seconds in the dual and primal",
    parts={part: [*split_files(part)[:1], f"{part}/hierarchy.txt"] for part in SETS},
    columns={
        "data": "",
        "features": "d",
        "samples": ",d",
        "dual": ".2f",
        "automatic": ".2f",
        "primal nodes": "d",
        "nodes": "d",
        "dual MB": ".1f",
        "automatic MB": ".1f",
        "difference": ".0e",
    },
    rows=rows,
    draw=draw,
    notes=lambda options: (
        f"partial_fit with batches of {QUICK_SAMPLES // BATCHES if options.quick else _BATCH} "
        "training samples in a random order, one thread; dual, automatic: "
        "processor seconds of the batch that ends at so many samples.",
        "primal nodes: nodes that have seen more samples than there are features, and have "
        "changed their form; difference: of any weight between the two.",
    ),
)
