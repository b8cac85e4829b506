"""fastText: ``__label__a __label__b text`` on each line, labels anywhere in it."""

from labelwood.core.io import Source
from labelwood.data.dataset import Dataset
from labelwood.data.readers.columns import ColumnBuilder
from labelwood.data.readers.options import ReadOptions

PREFIX = "__label__"


def read(source: Source, options: ReadOptions) -> Dataset:
    """Read fastText's training files; empty lines are skipped."""
    labels = ColumnBuilder(source, "label", options.labels)
    texts: list[str] = []
    for number, line in source.lines():
        words = line.split()
        if not words:
            continue
        names = [word.removeprefix(PREFIX) for word in words if word.startswith(PREFIX)]
        if "" in names:
            raise source.error(number, f"found {PREFIX!r} without a name of a label behind it")
        labels.add(number, [] if options.ignore_labels else names)
        texts.append(" ".join(word for word in words if not word.startswith(PREFIX)))
    Y, label_names = labels.labels()
    return Dataset(X=None, Y=Y, label_names=label_names, texts=texts)
