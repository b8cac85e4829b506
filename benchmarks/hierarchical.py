"""On-line least squares along the topics of RCV1: at once, in batches, and what it holds."""

import sys
import warnings
from functools import partial
from pathlib import Path

from benchmarks.harness import SHARED_DATA, THREADS, DataMissingError, Figures, best_of, peak_mb

CLAIM = "partial_fit learns from 1,000 documents a second, with 2,000 examples a node at most"

_FOLDER = SHARED_DATA / "rcv1-15k-hier"
_N_DOCUMENTS = 11_614
_PARAMETERS = {"store": "margin", "max_support": 2000, "n_jobs": THREADS}
_MB = 2**20


def prepare(folder: Path) -> None:
    if not _FOLDER.is_dir():
        raise DataMissingError("rcv1-15k-hier is not there")


def learn(size: int, folder: Path) -> Figures:
    """The documents in their order, `size` in a call."""
    from labelwood import HierarchicalRLSClassifier, Taxonomy, load_dataset
    from labelwood.errors import LabelwoodWarning

    warnings.simplefilter("ignore", LabelwoodWarning)  # a topic without documents
    train = load_dataset(_FOLDER / "train.txt.xz")
    tree = Taxonomy.from_file(_FOLDER / "hierarchy.txt", columns="parent child")
    tree = tree.align([str(label) for label in range(train.n_labels)])

    def stream(n):
        model = HierarchicalRLSClassifier(tree, **_PARAMETERS)
        for start in range(0, n, size):
            rows = slice(start, min(start + size, n))
            model.partial_fit(train.X[rows], train.Y[rows])
        return model

    stream(300)  # compiles, or reads the compiled kernels
    before = peak_mb()
    model, figures = best_of(3, lambda: stream(_N_DOCUMENTS))
    return {
        "documents/s": _N_DOCUMENTS / figures["seconds"],
        **figures,
        "before MB": before,
        "model MB": model.model_size / _MB,
        "rows MB": sum(part.nbytes for part in model._nodes().store) / _MB,
        "examples kept": int(model.n_support_.sum()),
        "of seen": int(model.n_seen_.sum()),
        "largest node": int(model.n_support_.max()),
    }


LEFT_OUT: dict[str, tuple[str, ...]] = {}
CONTESTANTS = {
    name: (partial(learn, size), Path(sys.executable))
    for name, size in {"one call": _N_DOCUMENTS, "batches of 100": 100}.items()
}
