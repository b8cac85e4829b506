"""Multi-label data sets of the studies: read, cut down, and split into folds."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from labelwood.studies._study import Options

if TYPE_CHECKING:
    from labelwood.data.dataset import Dataset

QUICK_SAMPLES = 400
_FILES = ("train.txt.xz", "test.txt.xz")


def split_files(name: str) -> list[str]:
    """The files of a data set that comes as a training and a test part."""
    return [f"{name}/{file}" for file in _FILES]


def read_split(name: str, options: Options) -> tuple["Dataset", "Dataset"]:
    """The training and the test part of a data set."""
    from labelwood.data.load import load_dataset

    train, test = (load_dataset(options.file(file)) for file in split_files(name))
    return train, test


def first(train: "Dataset", test: "Dataset", n: int) -> tuple["Dataset", "Dataset"]:
    """The first `n` samples of both, with the labels that those for training have."""
    import numpy as np

    few, few_test = (data.select(range(min(n, len(data)))) for data in (train, test))
    labels = np.unique(few.Y.indices)
    few, few_test = (
        replace(data, Y=data.Y[:, labels], label_names=None, taxonomy=None)
        for data in (few, few_test)
    )
    return few, few_test


def folds(data: "Dataset", n_folds: int, seed: int) -> Iterator[tuple["Dataset", "Dataset"]]:
    """Training and test samples of a cross-validation with folds drawn at random."""
    import numpy as np

    order = np.random.default_rng(seed).permutation(len(data))
    for rows in np.array_split(order, n_folds):
        yield data.select(np.setdiff1d(order, rows)), data.select(rows)
