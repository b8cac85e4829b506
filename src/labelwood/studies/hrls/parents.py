"""What a taxonomy with several parents loses when every label keeps its first parent alone.

Cesa-Bianchi, Conconi and Gentile (COLT 2004) have forests. EUROVOC, the thesaurus of the law of
the European Union, is a directed acyclic graph: this compares its readings on recorded label sets.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from labelwood.studies._datasets import QUICK_SAMPLES, split_files
from labelwood.studies._result import Row
from labelwood.studies._study import Options, Study

if TYPE_CHECKING:
    from labelwood.data.taxonomy import Taxonomy

DATA = "eurlex57k"
READINGS: dict[str, dict[str, Any]] = {
    "first parent": {"multiple_parents": "first"},
    "any parent": {"parents": "any"},
    "all parents": {"parents": "all"},
}


def rows(part: str, options: Options) -> Iterator[Row]:
    """For each reading, what closing the recorded label sets adds, and what nodes learn from."""
    import numpy as np

    from labelwood.data.load import load_dataset
    from labelwood.data.taxonomy import Taxonomy

    data = load_dataset(
        options.file(split_files(part)[0]), label_names=options.file(f"{part}/labels.txt")
    )
    if options.quick:
        data = data.select(range(QUICK_SAMPLES))
    ids = [line.split("\t")[0] for line in _lines(options.file(f"{part}/labels.txt"))]
    for reading, given in READINGS.items():
        graph = Taxonomy.from_file(
            options.file(f"{part}/hierarchy.tsv"), columns="parent child", **given
        )
        names = tuple(dict.fromkeys([*graph.names, *ids]))
        graph = graph.align(names, unknown="root")
        place = np.array([graph.index(one) for one in ids])
        Y = _placed(data.Y, place, len(names))
        closed = graph.close(Y)
        several = np.diff(graph.parent_sets.indptr) > 1
        yield {
            "reading": reading,
            "nodes": len(graph),
            "of several parents": int(several.sum()),
            "depth": int(graph.depth.max()),
            "recorded": Y.nnz / Y.shape[0],
            "closed": closed.nnz / Y.shape[0],
            "learned from": _mean_training_set(closed, graph, Y),
        }


def _lines(path: Any) -> list[str]:
    with open(path, encoding="utf-8") as file:
        return file.read().splitlines()


def _placed(Y: Any, place: Any, n_nodes: int) -> Any:
    """The label matrix over all nodes."""
    import scipy.sparse as sp

    from labelwood.core.sparse import as_csr

    return as_csr(sp.csr_array((Y.data, place[Y.indices], Y.indptr), shape=(Y.shape[0], n_nodes)))


def _mean_training_set(closed: Any, graph: "Taxonomy", Y: Any) -> float:
    """Samples that a node below a root learns from, on average over recorded labels."""
    import numpy as np

    from labelwood.taxonomy.hierarchy import TrainingSets

    sets = TrainingSets(
        closed,
        graph.parent,
        independent=False,
        sets=None if graph.is_forest else graph.parent_sets,
    )
    nodes = np.unique(Y.indices)
    below = nodes[graph.parent[nodes] >= 0]
    return float(np.mean([sets.of_node(int(node)).size for node in below]))


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """Labels a document before and after closure, by reading."""
    figure.set_size_inches(6, 2.5)
    axes = figure.subplots()
    names = [str(row["reading"]) for row in rows]
    axes.barh(names, [row["closed"] for row in rows], label="closed")
    axes.barh(names, [row["recorded"] for row in rows], label="recorded")
    axes.set(xlabel="labels a document")
    axes.legend()


STUDY = Study(
    name="hrls-parents",
    title="EUROVOC with the first, any or all parents of each concept",
    parts={DATA: [*split_files(DATA)[:1], f"{DATA}/hierarchy.tsv", f"{DATA}/labels.txt"]},
    columns={
        "reading": "",
        "nodes": ",d",
        "of several parents": ",d",
        "depth": "d",
        "recorded": ".2f",
        "closed": ".2f",
        "learned from": ",.0f",
    },
    rows=rows,
    draw=draw,
    notes=lambda options: (
        "recorded, closed: labels a training document, before and after the ancestors are added "
        "that the reading asks for; learned from: training documents of a node below a root, mean "
        "over the labels that are recorded.",
        *([f"The first {QUICK_SAMPLES} documents."] if options.quick else []),
    ),
)
