"""The data sets of the suite, each with a training and a test part."""

import json
import lzma
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import debian
from benchmarks.harness import SHARED_DATA, DataMissingError

SHORT_TEXT = {  # rows of 8 non-zeros, Zipf labels, words that tell of the labels
    "n_features": 75_000,
    "n_labels": 25_000,
    "labels_per_sample": 2.5,
    "nonzeros_per_sample": 9.0,
    "signal": 0.6,
}
Parts = tuple[Any, Any]


def load(name: str) -> Parts:
    """Training and test `Dataset`; raises `DataMissingError` where the files are not there."""
    return SETS[name]()


def _files(folder: str) -> Parts:
    from labelwood import load_dataset

    train, test = (_found(folder, f"{part}.txt.xz") for part in ("train", "test"))
    return load_dataset(train), load_dataset(test)


def _texts(folder: str, field: str = "text") -> Parts:
    """Raw texts; the labels of the test part in the order of the training part's."""
    from labelwood import Dataset
    from labelwood.core.labels import lists_to_indicator

    parts = []
    for part in ("train", "test"):
        with lzma.open(_found(folder, f"{part}.jsonl.xz"), "rt", encoding="utf-8") as file:
            parts.append([json.loads(line) for line in file])
    names = sorted({str(label) for one in parts[0] for label in one["labels"]})
    known, found = set(names), []
    for part in parts:
        lists = [[str(label) for label in one["labels"] if str(label) in known] for one in part]
        Y = lists_to_indicator(lists, names)
        texts = [one[field] for one in part]
        found.append(Dataset(None, Y, texts=texts, label_names=names))
    return tuple(found)


def _split(make: Callable[[], Any]) -> Parts:
    """Four fifths to train on, one to test, where nobody has published a split."""
    data = make()
    order = np.random.default_rng(0).permutation(len(data))
    n_test = len(data) // 5
    return data.select(np.sort(order[n_test:])), data.select(np.sort(order[:n_test]))


def _cal500() -> Any:
    from labelwood import load_dataset

    return load_dataset(_found("cal500", "all.txt.xz"))


def _pydocs() -> Any:
    from labelwood import pydocs

    return pydocs()


def _short(n: int) -> Parts:
    from labelwood import synthetic

    made = synthetic(n, n_test=4_000, random_state=0, n_jobs=2, **SHORT_TEXT)
    return made.train, made.test


def _found(folder: str, name: str) -> Path:
    path = SHARED_DATA / folder / name
    if not path.is_file():
        raise DataMissingError(f"{path} is not there")
    return path


SETS: dict[str, Callable[[], Parts]] = {
    "bibtex": partial(_files, "bibtex"),
    "delicious": partial(_files, "delicious"),
    "corel5k": partial(_files, "corel5k"),
    "cal500": partial(_split, _cal500),
    "imclef07a": partial(_files, "hmc/imclef07a"),
    "enron_corr": partial(_files, "hmc/enron_corr"),
    "rcv1": partial(_files, "rcv1-15k-hier"),
    "reuters21578": partial(_files, "reuters21578"),
    "goemotions": partial(_texts, "goemotions"),
    "makupalat": partial(_texts, "makupalat"),
    "pydocs": partial(_split, _pydocs),
    "short-50k": partial(_short, 50_000),
    "short-500k": partial(_short, 500_000),
    "eurlex57k-titles": partial(_texts, "eurlex57k", "title"),
    "eurlex57k": partial(_files, "eurlex57k"),
    "debian-tags": partial(_split, debian.tags),
    "debian-sections": partial(_split, debian.sections),
    "wordnet": partial(_split, debian.wordnet),
}
OF_DEBIAN = ("debian-tags", "debian-sections", "wordnet")
TEXT_SETS = ("goemotions", "makupalat", "pydocs", "eurlex57k-titles", *OF_DEBIAN)
