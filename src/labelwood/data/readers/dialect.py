"""What stands between the fields of a table: given, named in its first line, or
guessed from the rows.

A guess is made only where one delimiter alone divides the header row, or alone gives all rows as
many fields as the header has; everything else is refused with the remedy.
"""

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any

from labelwood.core.io import Source
from labelwood.core.names import shown
from labelwood.data.readers.usual_names import DELIMITERS, looks_like_header
from labelwood.errors import ParameterError

_WORDS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "bar": "|"}
_HINT = re.compile(r"sep=(.)\r?\n?", re.IGNORECASE)  # the first line that Excel understands
_ROWS_LOOKED_AT = 200


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


def _rows(source: Source, dialect: Dialect) -> list[list[str]]:
    """The first rows that are not empty; a final list of nothing where one cannot be read."""
    found: list[list[str]] = []
    try:
        for row in dialect.reader(line for _, line in source.lines()):
            if row:
                found.append(row)
            if len(found) == _ROWS_LOOKED_AT:
                break
    except csv.Error:
        found.append([])
    return found


def _has_even_rows(rows: list[list[str]]) -> bool:
    return all(len(row) == len(rows[0]) for row in islice(rows, 1, None))
