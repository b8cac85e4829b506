"""Predictions as tables."""

from typing import Any

import numpy as np

from labelwood.core.frames import is_frame, like_frame
from labelwood.core.topk import TopK


def row_index(data: object) -> Any:
    """The index of a table or Series of pandas; None of anything else."""
    index = getattr(data, "index", None)
    return None if index is None or callable(index) else index


def tag_table(data: object, tags: list[list[str]]) -> Any:
    """A table with one column, the list of tags of each sample, indexed as `data` is."""
    return like_frame(data, {"tags": tags}, index=row_index(data))


def long_table(data: object, top: TopK, what: str) -> Any:
    """A table with a row for each sample and tag, the best tag of a sample first."""
    rows, ranks = np.nonzero(top.labels >= 0)
    index = row_index(data)
    names = top.names()
    columns = {
        "sample": rows.tolist() if index is None else index[rows].tolist(),
        "tag": [name for row in names for name in row],
        what: top.scores[rows, ranks].astype(np.float64).round(6).tolist(),
    }
    return like_frame(data if is_frame(data) else None, columns)
