"""Predict-then-learn along taxonomies: prequential error, and documents a second.

Each document is predicted by the nodes as they are and then learned from, one by one, as a service
would see them; Cesa-Bianchi, Conconi and Gentile (COLT 2004), Figure 2, is such a learner.
"""

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from labelwood.studies._datasets import QUICK_SAMPLES, split_files
from labelwood.studies._result import Row
from labelwood.studies._study import Options, Study

if TYPE_CHECKING:
    from labelwood.core.types import CSR
    from labelwood.data.taxonomy import Taxonomy

SETS = ("hmc/imclef07a", "hmc/cellcycle_FUN", "hmc/enron_corr", "rcv1-15k-hier")
DECAYS = (1.0, 0.999)


def rows(part: str, options: Options) -> Iterator[Row]:
    """Both inverses where the full one is affordable, with and without forgetting."""
    from labelwood.taxonomy.stream.stream import _FULL

    X, labels, tree = _read(part, options)
    inverses = ("full", "diagonal") if X.shape[1] <= _FULL else ("diagonal",)
    for inverse in inverses:
        for decay in DECAYS:
            yield {
                "data": part,
                "inverse": inverse,
                "decay": decay,
                **_run(X, tree, labels, inverse, decay),
            }


def _read(part: str, options: Options) -> tuple["CSR", list[list[str]], "Taxonomy"]:
    """Documents in a random order, the names of their labels, and the taxonomy."""
    import numpy as np

    from labelwood.core.sparse import as_csr
    from labelwood.data.load import load_dataset
    from labelwood.data.taxonomy import Taxonomy

    data = load_dataset(options.file(split_files(part)[0]))
    # In a random order: imclef07a comes in runs of like images, which any forgetful rule predicts.
    data = data.select(np.random.default_rng(options.seed).permutation(len(data)))
    if options.quick:
        data = data.select(range(min(QUICK_SAMPLES, len(data))))
    tree = Taxonomy.from_file(options.file(f"{part}/hierarchy.txt"), columns="parent child")
    labels = [[str(label) for label in data.Y[[i]].indices] for i in range(len(data))]
    names = [str(label) for label in range(data.n_labels)]
    return as_csr(data.X), labels, tree.align(names, unknown="root")


def _run(X: "CSR", tree: "Taxonomy", labels: list[list[str]], inverse: str, decay: float) -> Row:
    from labelwood.taxonomy.stream import TaxonomyStream

    n_features, n = X.shape[1], X.shape[0]
    warm = TaxonomyStream(n_features, tree, inverse=inverse, decay=decay)
    warm.predict_then_learn(X[:2], labels[:2])  # so that kernels are compiled
    stream = TaxonomyStream(n_features, tree, inverse=inverse, decay=decay)
    start = time.process_time()
    for row in range(n):
        stream.predict_then_learn(X[row : row + 1], labels[row : row + 1])
    one_by_one = time.process_time() - start
    whole = TaxonomyStream(n_features, tree, inverse=inverse, decay=decay)
    start = time.process_time()
    whole.predict_then_learn(X, labels)
    at_once = time.process_time() - start
    return {
        "documents": n,
        "prequential": 100 * stream.prequential_error,
        "last 1,000": 100 * stream.recent_error,
        "a second": n / one_by_one,
        "in batches": n / at_once,
    }


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """Documents a second of each data set, one by one and in batches."""
    figure.set_size_inches(7, 0.4 * len(rows) + 1)
    axes = figure.subplots()
    names = [f"{row['data']}, {row['inverse']}, λ = {row['decay']}" for row in rows]
    axes.barh(names, [row["a second"] for row in rows], color="C0")
    axes.axvline(1000, color="C3", linewidth=1)
    axes.invert_yaxis()
    axes.set(xlabel="documents a second of processor time, one by one", xscale="log")


STUDY = Study(
    name="hrls-stream",
    title="Prequential error and documents a second of hierarchical least squares on streams",
    parts={part: [*split_files(part)[:1], f"{part}/hierarchy.txt"] for part in SETS},
    columns={
        "data": "",
        "inverse": "",
        "decay": "g",
        "documents": ",d",
        "prequential": ".1f",
        "last 1,000": ".1f",
        "a second": ",.0f",
        "in batches": ",.0f",
    },
    rows=rows,
    draw=draw,
    notes=lambda options: (
        "Training documents in a random order, each predicted and then learned from. prequential: "
        "percent with any label wrong, of all; last 1,000: of the last ones.",
        "full: all of A⁻¹ at each node, the paper's learner; diagonal: its diagonal alone.",
        "a second: documents for a second of processor time, a call for each document; in "
        "batches: one call for all, which processes them one by one too.",
        *([f"The first {QUICK_SAMPLES} documents."] if options.quick else []),
    ),
)
