"""Which format a file is in, by its suffix and its first bytes."""

import re
from pathlib import Path

from labelwood.core.io import Source, without_compression
from labelwood.core.names import shown
from labelwood.data.readers.xmc import HEADER

SUFFIXES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".arff": "arff",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npz": "npz",
}
_MAGIC = {b"PK\x03\x04": "npz", b"PAR1": "parquet"}
_SVMLIGHT_SUFFIXES = (".svm", ".svmlight", ".libsvm")
_PAIRS = re.compile(rb"[ \t]*([^\s:]+[ \t]+)?(qid:\S+[ \t]+)?\d+:[-+.\d]")
_LOOKED_AT = 1 << 16


def format_suffix(path: str | Path) -> str:
    """The suffix that tells the format, in lower case, without ``.gz`` and ``.xz``.

    Examples
    --------
    >>> format_suffix("data/train.TXT.gz")
    '.txt'
    """
    return without_compression(path).suffix.lower()


def sniff(source: Source, path: str | Path) -> str:
    """The format of `source`; what cannot be inferred is an error that lists the choices."""
    head = bytes(source.data[:_LOOKED_AT])
    for magic, chosen in _MAGIC.items():
        if head.startswith(magic):
            return chosen
    suffix = format_suffix(path)
    if suffix in SUFFIXES:
        return SUFFIXES[suffix]
    if HEADER.match(head.partition(b"\n")[0]):
        return "xmc"
    if suffix in _SVMLIGHT_SUFFIXES:
        return "svmlight"
    line = _first_line(head)
    if line.startswith(b"{"):
        return "jsonl"
    if line.startswith((b"@", b"%")):
        return "arff"
    if _PAIRS.match(line):
        return "svmlight"
    for mark, chosen in ((b"\t", "tsv"), (b",", "csv")):
        if b"text" in line.strip().split(mark):
            return chosen
    if source.is_empty:
        raise source.error(None, "it is empty; give its format, if that can be right")
    raise source.error(
        None,
        f"cannot tell the format from {shown(line.decode('utf-8', errors='backslashreplace'))}; "
        "give it by format",
    )


def _first_line(head: bytes) -> bytes:
    lines = (line.strip() for line in head.splitlines())
    return next((line for line in lines if line and not line.startswith(b"#")), b"")
