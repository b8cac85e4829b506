"""Several labels in one cell of a table: separated, or as a list in the notation of JSON or Python.

How cells are written is known from all of them, and never from one: a comma may be part of a name.
"""

import re
from collections.abc import Sequence

from labelwood.core.io import Source
from labelwood.core.names import shown
from labelwood.errors import DataError

SEPARATOR = ";"
_OTHER_SEPARATORS = ("|", ",", "/")
_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_ITEM = re.compile(rf"\s*({_QUOTED}|[^\s,'\"\[\]][^,'\"\[\]]*)\s*(,|\s(?=\s*['\"])|\Z)")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


def split_cells(
    source: Source, cells: Sequence[tuple[int, str]], separator: str | None
) -> list[list[str]]:
    """The labels of each cell, given with the number of its line.

    With a `separator` they are split there. Without one, cells that all are lists such as
    ``["a", "b"]`` are read as lists, and all others are split at ``;``, which is refused where
    another separator is in evidence.
    """
    if separator is not None:
        return [_split(cell, separator) for _, cell in cells]
    filled = [(line, cell.strip()) for line, cell in cells if cell.strip()]
    not_lists = [one for one in filled if not (one[1].startswith("[") and one[1].endswith("]"))]
    if filled and not not_lists:
        return [_list(source, line, cell.strip()) for line, cell in cells]
    if 2 * len(not_lists) < len(filled):
        line, cell = not_lists[0]
        raise source.error(line, f"found {shown(cell)} where most cells of labels are lists [...]")
    _check_separator(source, filled)
    return [_split(cell, SEPARATOR) for _, cell in cells]


def _split(cell: str, separator: str) -> list[str]:
    return [label.strip() for label in cell.split(separator)] if cell.strip() else []


def _list(source: Source, line: int, cell: str) -> list[str]:
    """The items of ``["a", "b"]``, ``['a', 'b']``, ``[a, b]`` or NumPy's ``['a' 'b']``."""
    text = cell[1:-1].strip()
    labels: list[str] = []
    at = 0
    while at < len(text):
        match = _ITEM.match(text, at)
        if match is None:
            raise source.error(line, f"found {shown(cell)} where a list of labels is expected")
        labels.append(_unquoted(match.group(1).strip()))
        at = match.end()
    return labels


def _unquoted(item: str) -> str:
    if item[0] not in "'\"":
        return item

    def character(match: re.Match[str]) -> str:
        code = match.group(1)
        return chr(int(code[1:], 16)) if len(code) == 5 else _ESCAPES.get(code, code)

    return _ESCAPE.sub(character, item[1:-1])


def _check_separator(source: Source, cells: list[tuple[int, str]]) -> None:
    """Refuse cells that another separator divides: in most of them, or into known labels."""
    if any(SEPARATOR in cell for _, cell in cells):
        return
    whole = {cell for _, cell in cells}
    for separator in _OTHER_SEPARATORS:
        divided = [(line, cell) for line, cell in cells if separator in cell]
        parts = [{part.strip() for part in cell.split(separator)} for _, cell in divided]
        known = sum(all(part in whole for part in labels) for labels in parts)
        if separator != "/" and 2 * len(divided) > len(cells) > 1:
            pass
        elif not (known > 1 and 2 * known > len(divided)):
            continue
        raise _other_separator(source, *divided[0], separator, len(divided), len(cells))


def _other_separator(
    source: Source, line: int, cell: str, separator: str, n: int, n_cells: int
) -> DataError:
    return source.error(
        line,
        f"found {shown(cell)} as one label, and {separator!r} in {n:,} of {n_cells:,} cells; if it "
        f"separates labels give label_separator={separator!r}, else label_separator={SEPARATOR!r}",
    )
