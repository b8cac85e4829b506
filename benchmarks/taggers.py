"""Learners that tag, ours and the peers', on the same matrices in the same run."""

import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.harness import PEERS, SHARED_DATA, THREADS, DataMissingError, Figures, best_of
from benchmarks.sets import load as load_set

CLAIM = "more accurate than the peers, and faster (Omikuji predicts one by one)"
# It takes more than ten minutes there, and three label trees say nothing new on short texts.
LEFT_OUT = {
    "eurlex57k": ("napkinXC BR",),
    "short-500k": ("napkinXC BR", "Omikuji", "LabelTree, 3 trees"),
}
DATA = ("bibtex", "delicious", "eurlex57k", "synthetic")
SYNTHETIC_SHAPE = (15_000, 5_000, 4_000)
_ROWS_ALONE = 300


def prepare(folder: Path, name: str) -> None:
    """Write a data set as npz files that every interpreter can read, in rows of unit length.

    Some learners scale rows themselves, and some count on it that they are.
    """
    from labelwood import load_dataset, synthetic
    from labelwood.core.sparse import unit_rows

    source = SHARED_DATA / name
    if name in ("short-50k", "short-500k"):
        parts = dict(zip(("train", "test"), load_set(name), strict=True))
    elif name == "synthetic":
        made = synthetic(*SYNTHETIC_SHAPE, random_state=0)
        parts = {"train": made.train, "test": made.test}
    elif source.is_dir():
        parts = {part: load_dataset(source / f"{part}.txt.xz") for part in ("train", "test")}
    else:
        raise DataMissingError(f"{name} is not there")
    for part, data in parts.items():
        sp.save_npz(folder / f"{part}.X.npz", sp.csr_matrix(unit_rows(data.X)))
        sp.save_npz(folder / f"{part}.Y.npz", sp.csr_matrix(data.Y))


def load(folder: Path):
    """Training and test matrices."""
    parts = [sp.load_npz(folder / f"{p}.{m}.npz") for p in ("train", "test") for m in "XY"]
    return (parts[0], parts[1]), (parts[2], parts[3])


def figures(train: Figures, predict: Figures, model_mb: float, Y, rankings) -> Figures:
    """Time, memory and size, and P@k by the same few lines for everyone."""
    truth = Y.toarray() > 0
    ranked = np.full((Y.shape[0], 5), -1)
    for row, labels in zip(ranked, rankings, strict=True):
        row[: len(labels)] = labels
    hits = np.take_along_axis(truth, ranked, axis=1) & (ranked >= 0)
    return {
        **train,
        "ms a point": 1000 * predict["seconds"] / Y.shape[0],
        "model MB": model_mb,
        **{f"P@{k}": 100 * float(hits[:, :k].mean()) for k in (1, 3, 5)},
    }


def size_mb(folder: str) -> float:
    """Size of all files in a folder."""
    return sum(path.stat().st_size for path in Path(folder).rglob("*")) / 1e6


def ours(folder: Path, name: str, **options: object) -> Figures:
    import labelwood

    (X, Y), (X_test, Y_test) = load(folder)
    make = partial(getattr(labelwood, name), random_state=0, n_jobs=THREADS, **options)
    make().fit(X[:500], Y[:500]).predict_topk(X_test[:5])  # compiles, or reads the kernels
    model, train = best_of(3, lambda: make().fit(X, Y))
    top, predict = best_of(3, lambda: model.predict_topk(X_test, 5))
    rows = [X_test[i] for i in range(min(_ROWS_ALONE, X_test.shape[0]))]
    _, alone = best_of(3, lambda: [model.predict_topk(row, 5) for row in rows])
    with tempfile.TemporaryDirectory() as output:
        labelwood.save(model, f"{output}/model")
        result = figures(train, predict, size_mb(output), Y_test, top.labels)
    return {**result, "ms a row alone": 1000 * alone["seconds"] / len(rows)}


def napkinxc(folder: Path, kind: str) -> Figures:
    from napkinxc import models

    (X, Y), (X_test, Y_test) = load(folder)
    lists = [row.tolist() for row in np.split(Y.indices, Y.indptr[1:-1])]
    with tempfile.TemporaryDirectory() as output:
        model = getattr(models, kind)(output, threads=THREADS)
        _, train = best_of(3, lambda: model.fit(X, lists))
        model.load()
        labels, predict = best_of(3, lambda: model.predict(X_test, top_k=5))
        return figures(train, predict, size_mb(output), Y_test, labels)


def pecos(folder: Path) -> Figures:
    from pecos.xmc import Indexer, LabelEmbeddingFactory
    from pecos.xmc.xlinear.model import XLinearModel

    (X, Y), (X_test, Y_test) = load(folder)

    def fit():
        embedding = LabelEmbeddingFactory.create(Y, X, method="pifa")
        chain = Indexer.gen(embedding, indexer_type="hierarchicalkmeans", threads=THREADS)
        return XLinearModel.train(X, Y, C=chain, threads=THREADS)

    model, train = best_of(3, fit)
    answer, predict = best_of(
        3, lambda: model.predict(X_test, only_topk=5, beam_size=10, threads=THREADS)
    )
    labels = [row.indices[np.argsort(-row.data, kind="stable")] for row in answer]
    with tempfile.TemporaryDirectory() as output:
        model.save(output)
        return figures(train, predict, size_mb(output), Y_test, labels)


def omikuji(folder: Path) -> Figures:
    from omikuji import Model

    (X, Y), (X_test, Y_test) = load(folder)
    with tempfile.TemporaryDirectory() as output:
        path = f"{output}/train.txt"
        filled = np.diff(X.indptr) > 0  # Omikuji refuses files with empty rows
        _write_xmc(path, X[filled], Y[filled])
        hyper = Model.default_hyper_param()
        model, train = best_of(3, lambda: Model.train_on_data(path, hyper, n_threads=THREADS))
    rows = [list(zip(row.indices.tolist(), row.data.tolist(), strict=True)) for row in X_test]
    answer, predict = best_of(1, lambda: [model.predict(row, top_k=5) for row in rows])
    labels = [[label for label, _ in row] for row in answer]
    with tempfile.TemporaryDirectory() as output:
        model.save(output)
        return figures(train, predict, size_mb(output), Y_test, labels)


def _write_xmc(path: str, X, Y) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(f"{X.shape[0]} {X.shape[1]} {Y.shape[1]}\n")
        for x, y in zip(X, Y, strict=True):
            pairs = " ".join(f"{j}:{v:.6g}" for j, v in zip(x.indices, x.data, strict=True))
            file.write(",".join(map(str, y.indices)) + " " + pairs + "\n")


_OURS = Path(sys.executable)
CONTESTANTS = {
    "OneVsRestSVM": (partial(ours, name="OneVsRestSVM"), _OURS),
    "LabelTree, 1 tree": (partial(ours, name="LabelTreeClassifier", n_trees=1), _OURS),
    "LabelTree, 3 trees": (partial(ours, name="LabelTreeClassifier", n_trees=3), _OURS),
    "PECOS XR-Linear": (pecos, PEERS),
    "napkinXC PLT": (partial(napkinxc, kind="PLT"), PEERS),
    "napkinXC BR": (partial(napkinxc, kind="BR"), PEERS),
    "Omikuji": (omikuji, PEERS),
}
