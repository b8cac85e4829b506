"""Plain text: a sample on each line, without labels."""

from labelwood.core.io import Source
from labelwood.data.dataset import Dataset
from labelwood.data.readers.columns import ColumnBuilder
from labelwood.data.readers.options import ReadOptions


def read(source: Source, options: ReadOptions) -> Dataset:
    """Read a text a line; an empty line is a sample too, so that answers keep their places."""
    texts = [line.rstrip("\r\n") for _, line in source.lines()]
    labels = ColumnBuilder(source, "label", options.labels)
    for number, _ in enumerate(texts, start=1):
        labels.add(number, [])
    Y, label_names = labels.labels()
    return Dataset(X=None, Y=Y, label_names=label_names, texts=texts)
