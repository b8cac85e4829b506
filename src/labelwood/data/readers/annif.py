"""Annif's short texts: ``text<TAB><uri> <uri>`` on each line, without a header row."""

import re

from labelwood.core.io import Source
from labelwood.core.names import shown
from labelwood.data.dataset import Dataset
from labelwood.data.readers.columns import ColumnBuilder
from labelwood.data.readers.options import ReadOptions

LINE = re.compile(r"[^\t]*\t(\s*<[^<>\s]+>)*\s*")
_URI = re.compile(r"<([^<>\s]+)>")


def read(source: Source, options: ReadOptions) -> Dataset:
    """Read Annif's TSV; labels are the URIs, without their brackets."""
    labels = ColumnBuilder(source, "label", options.labels)
    texts: list[str] = []
    for number, line in source.lines():
        if line.isspace():
            continue
        if LINE.fullmatch(line) is None:
            raise source.error(
                number,
                f"found {shown(line.rstrip())} where a text, a tab and subjects as <uri> <uri> "
                "are expected",
            )
        text, _, subjects = line.partition("\t")
        labels.add(number, [] if options.ignore_labels else _URI.findall(subjects))
        texts.append(text)
    Y, label_names = labels.labels()
    return Dataset(X=None, Y=Y, label_names=label_names, texts=texts)
