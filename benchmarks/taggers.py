"""Contestants that learn to tag, ours and the peers', on the same prepared matrices."""

import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.harness import SHARED_DATA, THREADS, DataMissingError, best_of


def prepare(folder: Path, name: str) -> None:
    """Write a real data set as npz files that every interpreter can read."""
    from labelwood import load_dataset

    source = SHARED_DATA / name
    if not source.is_dir():
        raise DataMissingError(f"{name} is not there")
    for part in ("train", "test"):
        data = load_dataset(source / f"{part}.txt.xz")
        sp.save_npz(folder / f"{part}.X.npz", sp.csr_matrix(data.X))
        sp.save_npz(folder / f"{part}.Y.npz", sp.csr_matrix(data.Y))


def load(folder: Path):
    """Training and test matrices."""
    parts = [sp.load_npz(folder / f"{p}.{m}.npz") for p in ("train", "test") for m in "XY"]
    return (parts[0], parts[1]), (parts[2], parts[3])


def figures(train: dict[str, float], predict: dict[str, float], Y, labels) -> dict[str, float]:
    """Time and memory of training, time a point, and P@k by the same few lines for everyone."""
    truth = Y.toarray()
    hits = np.take_along_axis(truth, np.asarray(labels, dtype=np.int64), axis=1)
    precisions = {f"P@{k}": 100 * float(hits[:, :k].mean()) for k in (1, 3, 5)}
    return {**train, "ms a point": 1000 * predict["seconds"] / Y.shape[0], **precisions}


def onevsrest(folder: Path, repeats: int = 1) -> dict[str, float]:
    from labelwood import OneVsRestSVM

    (X, Y), (X_test, Y_test) = load(folder)
    model = OneVsRestSVM(random_state=0, n_jobs=THREADS)
    model.fit(X[:500], Y[:500]).predict_topk(X_test[:5])  # compiles, or reads the kernels
    _, train = best_of(repeats, lambda: model.fit(X, Y))
    top, predict = best_of(3, lambda: model.predict_topk(X_test, 5))
    return figures(train, predict, Y_test, top.labels)


def napkinxc_br(folder: Path, repeats: int = 1) -> dict[str, float]:
    return _napkinxc(folder, "BR", repeats)


def napkinxc_plt(folder: Path, repeats: int = 1) -> dict[str, float]:
    return _napkinxc(folder, "PLT", repeats)


def _napkinxc(folder: Path, kind: str, repeats: int) -> dict[str, float]:
    from napkinxc import models

    (X, Y), (X_test, Y_test) = load(folder)
    lists = [row.tolist() for row in np.split(Y.indices, Y.indptr[1:-1])]
    with tempfile.TemporaryDirectory() as output:
        model = getattr(models, kind)(output, threads=THREADS)
        _, train = best_of(repeats, lambda: model.fit(X, lists))
        model.load()
        labels, predict = best_of(3, lambda: model.predict(X_test, top_k=5))
    return figures(train, predict, Y_test, labels)


def pecos(folder: Path) -> dict[str, float]:
    from pecos.xmc import Indexer, LabelEmbeddingFactory
    from pecos.xmc.xlinear.model import XLinearModel

    (X, Y), (X_test, Y_test) = load(folder)

    def fit():
        embedding = LabelEmbeddingFactory.create(Y, X, method="pifa")
        chain = Indexer.gen(embedding, indexer_type="hierarchicalkmeans", threads=THREADS)
        return XLinearModel.train(X, Y, C=chain, threads=THREADS)

    model, train = best_of(1, fit)
    answer, predict = best_of(
        3, lambda: model.predict(X_test, only_topk=5, beam_size=10, threads=THREADS)
    )
    labels = [row.indices[np.argsort(-row.data, kind="stable")] for row in answer]
    return figures(train, predict, Y_test, labels)


def omikuji(folder: Path) -> dict[str, float]:
    from omikuji import Model

    (X, Y), (X_test, Y_test) = load(folder)
    lengths = np.sqrt(X_test.multiply(X_test).sum(axis=1)).A1
    with tempfile.TemporaryDirectory() as output:
        path = f"{output}/train.txt"
        _write_xmc(path, X, Y)
        hyper = Model.default_hyper_param()
        model, train = best_of(1, lambda: Model.train_on_data(path, hyper, n_threads=THREADS))
    rows = [
        list(zip(row.indices.tolist(), (row.data / (length or 1)).tolist(), strict=True))
        for row, length in zip(X_test, lengths, strict=True)
    ]
    answer, predict = best_of(1, lambda: [model.predict(row, top_k=5) for row in rows])
    return figures(train, predict, Y_test, [[label for label, _ in row] for row in answer])


def _write_xmc(path: str, X, Y) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(f"{X.shape[0]} {X.shape[1]} {Y.shape[1]}\n")
        for x, y in zip(X, Y, strict=True):
            pairs = " ".join(f"{j}:{v:.6g}" for j, v in zip(x.indices, x.data, strict=True))
            file.write(",".join(map(str, y.indices)) + " " + pairs + "\n")
