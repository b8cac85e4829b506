"""Data sets: reading, writing, splitting, texts, taxonomies and corpora."""

from labelwood.core.topk import TopK
from labelwood.data.dataset import Dataset

__all__ = ["Dataset", "TopK"]
