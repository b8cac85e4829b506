"""Data sets: reading, writing, splitting, texts, taxonomies and corpora."""

import importlib
from typing import TYPE_CHECKING, Any

# Imported on first use: reading a file needs neither scikit-learn nor a compiler.
_HOME = {
    "Dataset": "labelwood.data.dataset",
    "Taxonomy": "labelwood.data.taxonomy",
    "TextVectorizer": "labelwood.data.text",
    "TopK": "labelwood.core.topk",
    "frame_dataset": "labelwood.data.frames",
    "load_dataset": "labelwood.data.load",
    "pydocs": "labelwood.data.corpora.pydocs",
    "save_dataset": "labelwood.data.load",
    "split": "labelwood.data.splits",
    "stratified_folds": "labelwood.data.splits",
    "stratified_split": "labelwood.data.splits",
    "synthetic": "labelwood.data.corpora.synthetic",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'labelwood.data' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:
    from labelwood.core.topk import TopK as TopK
    from labelwood.data.corpora.pydocs import pydocs as pydocs
    from labelwood.data.corpora.synthetic import synthetic as synthetic
    from labelwood.data.dataset import Dataset as Dataset
    from labelwood.data.frames import frame_dataset as frame_dataset
    from labelwood.data.load import load_dataset as load_dataset
    from labelwood.data.load import save_dataset as save_dataset
    from labelwood.data.splits import split as split
    from labelwood.data.splits import stratified_folds as stratified_folds
    from labelwood.data.splits import stratified_split as stratified_split
    from labelwood.data.taxonomy import Taxonomy as Taxonomy
    from labelwood.data.text import TextVectorizer as TextVectorizer
