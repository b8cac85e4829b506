"""Which format a file is in, by its suffix and its first bytes."""

import re
from pathlib import Path

from labelwood.core.io import Source, without_compression
from labelwood.core.names import shown
from labelwood.data.readers.annif import LINE
from labelwood.data.readers.fasttext import PREFIX
from labelwood.data.readers.usual_names import looks_like_header
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
    ".ft": "fasttext",
}
_SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".ods", ".numbers")
_MAGIC = {b"PK\x03\x04": "npz", b"PAR1": "parquet"}
_ARROW, _ARROW_SUFFIXES = (b"ARROW1", b"FEA1"), (".feather", ".arrow", ".arrows")
_SVMLIGHT_SUFFIXES = (".svm", ".svmlight", ".libsvm")
_PAIRS = re.compile(rb"[ \t]*([^\s:]+[ \t]+)?(qid:\S+[ \t]+)?\d+:[-+.\d]")
_LOOKED_AT = 1 << 16


def format_suffix(path: str | Path) -> str:
    """The suffix that tells the format, in lower case, without that of a compression.

    Examples
    --------
    >>> format_suffix("data/train.TXT.gz")
    '.txt'
    """
    return without_compression(path).suffix.lower()


def sniff(source: Source, path: str | Path, *, may_be_lines: bool = False) -> str:
    """The format of `source`; what cannot be inferred is an error that lists the choices.

    Where only texts are wanted (`may_be_lines`), what is no other format is text, line by line.
    """
    head = bytes(source.data[:_LOOKED_AT])
    suffix = format_suffix(path)
    _refuse_spreadsheet(source, suffix)
    if head.startswith(_ARROW) or suffix in _ARROW_SUFFIXES:
        raise source.error(None, "this is a Feather or Arrow file; save it as Parquet or CSV")
    for magic, chosen in _MAGIC.items():
        if head.startswith(magic):
            return chosen
    line = _first_line(head)
    if suffix in SUFFIXES:
        chosen = SUFFIXES[suffix]
        return "annif" if chosen == "tsv" and _is_annif(line) else chosen
    if HEADER.match(head.partition(b"\n")[0]):
        return "xmc"
    if suffix in _SVMLIGHT_SUFFIXES:
        return "svmlight"
    found = _by_line(line)
    if found is not None:
        return found
    if source.is_empty:
        raise source.error(None, "it is empty; give its format, if that can be right")
    if may_be_lines:
        return "lines"
    raise source.error(
        None,
        f"cannot tell the format from {shown(line.decode('utf-8', errors='backslashreplace'))}; "
        "give it by format",
    )


def is_binary(source: Source, path: str | Path) -> bool:
    """Whether the file is of a format that is no text, or of one that is all in ASCII."""
    suffix = format_suffix(path)
    numbers = (".arff", ".parquet", ".pq", ".npz", *_SVMLIGHT_SUFFIXES, *_SPREADSHEETS)
    magics = (*_MAGIC, *_ARROW)
    return suffix in (*numbers, *_ARROW_SUFFIXES) or source.data.startswith(magics)


def _by_line(line: bytes) -> str | None:
    """The format that a first line is typical of."""
    if line.startswith((b"{", b"[{")) or line == b"[":
        return "jsonl"
    if PREFIX.encode() in line:
        return "fasttext"
    if line.startswith((b"@", b"%")):
        return "arff"
    if _PAIRS.match(line):
        return "svmlight"
    if _is_annif(line):
        return "annif"
    for mark, chosen in ((b"\t", "tsv"), (b",", "csv"), (b";", "csv"), (b"|", "csv")):
        fields = [field.decode("utf-8", "replace").strip('"') for field in line.split(mark)]
        if len(fields) > 1 and looks_like_header(fields):
            return chosen
    return "csv" if line == b"text" else None


def _is_annif(line: bytes) -> bool:
    return (
        b"\t" in line
        and b"<" in line
        and LINE.fullmatch(line.decode("utf-8", "replace")) is not None
    )


def _refuse_spreadsheet(source: Source, suffix: str) -> None:
    """A workbook is an archive, as npz is, and has to be exported."""
    is_workbook = source.data.startswith(b"PK\x03\x04") and b"[Content_Types].xml" in source.data
    if suffix in _SPREADSHEETS or is_workbook:
        raise source.error(
            None, "this is a workbook; save its sheet as CSV (in Excel: CSV UTF-8) and read that"
        )


def _first_line(head: bytes) -> bytes:
    lines = (line.strip() for line in head.splitlines())
    return next((line for line in lines if line and not line.startswith(b"#")), b"")
