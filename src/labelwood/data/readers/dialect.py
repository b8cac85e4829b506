"""What stands between the fields of a table: given, named in its first line, or
guessed from the rows.

A guess is made only where one delimiter alone divides the header row, or alone gives all rows as
many fields as the header has; everything else is refused with the remedy.
"""

import csv
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from labelwood.core.io import Source
from labelwood.core.names import shown
from labelwood.data.readers.usual_names import DELIMITERS, looks_like_header
from labelwood.errors import DataError, ParameterError

_WORDS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "bar": "|"}
_HINT = re.compile(r"sep=(.)\r?\n?", re.IGNORECASE)  # the first line that Excel understands
_ROWS_LOOKED_AT = 200
_LINES_BELOW_A_TITLE = 10


@dataclass(frozen=True)
class Dialect:
    """A delimiter, whether quotes have a meaning, and the lines before the header row."""

    delimiter: str
    quoted: bool = True
    skip: int = 0
    remark: str = ""

    def reader(self, lines: Iterable[str]) -> Any:
        """A strict reader of the csv module over `lines`."""
        if self.quoted:
            return csv.reader(lines, delimiter=self.delimiter, strict=True)
        return csv.reader(lines, delimiter=self.delimiter, quoting=csv.QUOTE_NONE, strict=True)


def find_dialect(source: Source, given: str | None, usual: str) -> Dialect:
    """The dialect of a table whose format has the delimiter `usual`.

    A file of tabs has quotes as plain characters only if tabs are what its format is named for.
    """
    first = next((line for _, line in source.lines()), "")
    hint = _HINT.fullmatch(first)
    skip = 0 if hint is None else 1
    if given is not None:
        delimiter = _checked(given)
        return Dialect(delimiter, not (usual == delimiter == "\t"), skip)
    if hint is not None:
        return Dialect(hint[1], True, skip, f"delimiter {hint[1]!r}")
    dialects = {mark: Dialect(mark, not (usual == mark == "\t")) for mark in DELIMITERS}
    chosen = _chosen(source, dialects, usual)
    if chosen == usual:
        return dialects[usual]
    return Dialect(chosen, remark="delimiter tab" if chosen == "\t" else f"delimiter {chosen!r}")


def header_below(
    source: Source, line: int, given: Sequence[str], *, even: bool = False
) -> int | None:
    """The line of what looks like the header row below a title on `line`, in any dialect.

    It holds a usual name of texts, or one of the columns that are `given`, and more fields than the
    title. Where it would have to be `even`, all rows below must have as many fields.
    """
    try:
        lines = list(islice(source.lines(), line - 1, line + _LINES_BELOW_A_TITLE))
    except DataError:  # what is wrong further down says less than the title
        return None
    for number, text in lines[1:]:
        for mark in DELIMITERS:
            fields = _fields(text, mark)
            named = looks_like_header(fields) or not set(given).isdisjoint(fields)
            n_fields = sum(map(bool, fields))
            if not named or n_fields <= max(1, sum(map(bool, _fields(lines[0][1], mark)))):
                continue
            rows = _rows(source, Dialect(mark), skip=number) if even else []
            if not even or (rows and all(len(row) == len(fields) for row in rows)):
                return number
    return None


def _fields(line: str, mark: str) -> list[str]:
    try:
        return [field.strip() for field in next(Dialect(mark).reader([line]), [])]
    except csv.Error:  # a field in quotes may go on in the next line
        return []


def _checked(given: str) -> str:
    delimiter = _WORDS.get(given.lower(), given)
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise ParameterError(
            "The 'delimiter' parameter of load_dataset must be one character, as ',' or ';', or "
            f"'tab'. Got {given!r} instead."
        )
    return delimiter


def _chosen(source: Source, dialects: dict[str, Dialect], usual: str) -> str:
    rows = {mark: _rows(source, dialect) for mark, dialect in dialects.items()}
    dividing = [mark for mark, found in rows.items() if found and len(found[0]) > 1]
    if len(dividing) <= 1:
        return dividing[0] if dividing else usual
    for test in (_has_even_rows, lambda found: looks_like_header(found[0])):
        passing = [mark for mark in dividing if test(rows[mark])]
        if len(passing) == 1:
            return passing[0]
        dividing = passing or dividing
    if usual in dividing and not _has_even_rows(rows[usual]):
        return usual  # no delimiter fits all rows; the first that does not is refused by its line
    marks = " or ".join(map(repr, dividing))
    raise source.error(
        1,
        f"cannot tell whether {marks} divides {shown(source.head())}; give it by "
        f"delimiter={dividing[0]!r}",
    )


def _rows(source: Source, dialect: Dialect, skip: int = 0) -> list[list[str]]:
    """The first rows that are not empty; a final list of nothing where one cannot be read."""
    found: list[list[str]] = []
    try:
        for row in dialect.reader(line for number, line in source.lines() if number > skip):
            if row:
                found.append(row)
            if len(found) == _ROWS_LOOKED_AT:
                break
    except csv.Error:
        found.append([])
    return found


def _has_even_rows(rows: list[list[str]]) -> bool:
    return all(len(row) == len(rows[0]) for row in islice(rows, 1, None))
