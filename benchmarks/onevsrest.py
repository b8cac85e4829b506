"""One-vs-rest on Bibtex: labelwood against napkinXC's binary relevance."""

import sys
import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.harness import PEERS, SHARED_DATA, THREADS, DataMissingError, best_of

CLAIM = "train no slower than napkinXC's BR, at least as accurately"


def prepare(folder: Path) -> None:
    from labelwood import load_dataset

    source = SHARED_DATA / "bibtex"
    if not source.is_dir():
        raise DataMissingError("Bibtex is not there")
    for part in ("train", "test"):
        data = load_dataset(source / f"{part}.txt.xz")
        sp.save_npz(folder / f"{part}.X.npz", data.X)
        sp.save_npz(folder / f"{part}.Y.npz", data.Y)


def load(folder: Path, part: str):
    return sp.load_npz(folder / f"{part}.X.npz"), sp.load_npz(folder / f"{part}.Y.npz")


def precisions(Y, labels) -> dict[str, float]:
    """P@1, 3 and 5 in percent, by the same few lines for everyone."""
    truth = Y.toarray()
    hits = np.take_along_axis(truth, np.asarray(labels, dtype=np.int64), axis=1)
    return {f"P@{k}": 100 * float(hits[:, :k].mean()) for k in (1, 3, 5)}


def ours(folder: Path) -> dict[str, float]:
    from labelwood import OneVsRestSVM

    (X, Y), (X_test, Y_test) = load(folder, "train"), load(folder, "test")
    model = OneVsRestSVM(random_state=0, n_jobs=THREADS)
    model.fit(X[:50], Y[:50, :2]).predict_topk(X_test[:5])  # compiles, or reads the kernels
    _, figures = best_of(3, lambda: model.fit(X, Y))
    top, predicted = best_of(3, lambda: model.predict_topk(X_test, 5))
    per_point = {"ms a point": 1000 * predicted["seconds"] / X_test.shape[0]}
    return {**figures, **per_point, **precisions(Y_test, top.labels)}


def napkinxc(folder: Path) -> dict[str, float]:
    from napkinxc.models import BR

    (X, Y), (X_test, Y_test) = load(folder, "train"), load(folder, "test")
    X, X_test = sp.csr_matrix(X), sp.csr_matrix(X_test)
    lists = [row.tolist() for row in np.split(Y.indices, Y.indptr[1:-1])]
    with tempfile.TemporaryDirectory() as output:
        model = BR(output, threads=THREADS)
        _, figures = best_of(3, lambda: model.fit(X, lists))
        model.load()
        labels, predicted = best_of(3, lambda: model.predict(X_test, top_k=5))
    per_point = {"ms a point": 1000 * predicted["seconds"] / X_test.shape[0]}
    return {**figures, **per_point, **precisions(Y_test, labels)}


CONTESTANTS = {
    "labelwood": (ours, Path(sys.executable)),
    "napkinXC BR": (napkinxc, PEERS),
}
