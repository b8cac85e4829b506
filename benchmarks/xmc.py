"""Reading XMC text: labelwood against scikit-learn's svmlight reader."""

import lzma
import shutil
import sys
from pathlib import Path

from benchmarks.harness import SHARED_DATA, DataMissingError, best_of

CLAIM = "read the EURLEX57K training file at least 5 times faster than scikit-learn"


def prepare(folder: Path) -> None:
    source = SHARED_DATA / "eurlex57k" / "train.txt.xz"
    if not source.is_file():
        raise DataMissingError("EURLEX57K is not there")
    with lzma.open(source, "rb") as packed, (folder / "train.txt").open("wb") as plain:
        shutil.copyfileobj(packed, plain)
    with (folder / "train.txt").open("rb") as file, (folder / "train.svm").open("wb") as rest:
        file.readline()  # scikit-learn knows no header
        shutil.copyfileobj(file, rest)


def ours(folder: Path) -> dict[str, float]:
    from labelwood import load_dataset

    load_dataset(folder / "train.txt", format="xmc")  # compiles, or reads the compiled kernels
    data, figures = best_of(3, lambda: load_dataset(folder / "train.txt", format="xmc"))
    return {
        **figures,
        "non-zeros": data.X.nnz,
        "label entries": data.Y.nnz,
        "sum": float(data.X.data.sum(dtype="float64")),
    }


def sklearn(folder: Path) -> dict[str, float]:
    from sklearn.datasets import load_svmlight_file

    def read():
        return load_svmlight_file(
            str(folder / "train.svm"), n_features=65256, multilabel=True, zero_based=True,
            dtype="float32",
        )  # fmt: skip

    (X, labels), figures = best_of(3, read)
    return {
        **figures,
        "non-zeros": X.nnz,
        "label entries": sum(len(one) for one in labels),
        "sum": float(X.data.sum(dtype="float64")),
    }


LEFT_OUT: dict[str, tuple[str, ...]] = {}
CONTESTANTS = {
    "labelwood": (ours, Path(sys.executable)),
    "scikit-learn": (sklearn, Path(sys.executable)),
}
