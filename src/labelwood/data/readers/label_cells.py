"""Several labels in one cell of a table: separated, or as a list in the notation of JSON or Python.

How cells are written is known from all of them, and never from one: a comma may be part of a name.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from labelwood.core.io import Source
from labelwood.core.names import count, shown
from labelwood.data.readers.indicators import NestedIndicator
from labelwood.data.readers.missing_words import MISSING, remark_on_missing

SEPARATOR = ";"
_WORDS = {"tab": "\t", "\\t": "\t", "\\n": "\n", "newline": "\n", "space": " ", "blank": " "}
_WORDS |= {"comma": ",", "semicolon": ";", "bar": "|", "pipe": "|", "slash": "/"}
_SHOWN = {"\n": "line ends", " ": "blanks"}
# These are seldom part of a name: one cell that holds them is enough.
_SURE = (SEPARATOR, "|", "\n")
# These often are part of one: their parts must be known from other cells.
_UNSURE = (",", "/", " ")
_WIDE = " / "
# Several of these in one separator are meant one by one.
_SEVERAL = frozenset(",;|/")
# Names with a comma in fewer of the cells are not remarked.
_FEW = 0.1
_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_ITEM = re.compile(rf"\s*({_QUOTED}|[^\s,'\"\[\]][^,'\"\[\]]*)\s*(,|\s(?=\s*['\"])|\Z)")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_MARKED = {
    "in <…>": (re.compile(r"(<[^<>]+>[\s,;]*)+"), re.compile(r"<([^<>]+)>")),
    "after #": (re.compile(r"(#[^\s#,;]+[\s,;]*)+"), re.compile(r"#([^\s#,;]+)")),
}


class CellLabels(NamedTuple):
    """The labels of each cell, how they were found if that was guessed, and what may be wrong."""

    labels: list[list[str]]
    guess: str = ""
    doubt: str = ""
    separator: str | None = None  # None for lists, and where no cell holds one

    @property
    def remark(self) -> str:
        """Both remarks, for the description of a file."""
        return ", ".join(filter(None, (self.guess, self.doubt)))


class Doubt(NamedTuple):
    """Cells may be split at `mark` or not; `first`, if any, is another mark that divides some."""

    line: int
    found: str
    mark: str
    first: str

    @property
    def remedy(self) -> str:
        """What to do about it, for those who can give a separator."""
        several = {self.mark, self.first} <= _SEVERAL
        both = f", if both do label_separator={self.mark + self.first!r}" if several else ""
        return (
            f"if it separates labels give label_separator={self.mark!r}{both}, else "
            f"label_separator={self.first or SEPARATOR!r}"
        )


def split_cells(
    source: Source,
    cells: Sequence[tuple[int, str]],
    separator: str | None,
    known: str | None = None,
    remedy: Callable[[Doubt], str] = lambda doubt: doubt.remedy,
) -> CellLabels:
    """The labels of each cell, given with the number of its line.

    With a `separator` they are split there, and with several marks, as ``,;``, at each of them.
    Without one, cells that all are lists such as
    ``["a", "b"]`` or ``<a><b>`` are read as lists, and all others are split at the separator that
    they have in common, which is refused with the `remedy` where it is in doubt. `known` is the
    separator of the cells that a model learned from, which is taken where they leave it open.
    """
    if separator is None:
        found = _guessed_labels(source, cells, known, remedy)
        doubts = (found.doubt, remark_on_missing(found.labels))
        return found._replace(doubt=", ".join(filter(None, doubts)))
    mark = _WORDS.get(separator.lower(), separator)
    labels = [_split(cell, mark) for _, cell in cells]
    doubts = (_remark_on_unused(cells, mark), remark_on_missing(labels))
    return CellLabels(labels, doubt=", ".join(filter(None, doubts)), separator=mark)


def _guessed_labels(
    source: Source,
    cells: Sequence[tuple[int, str]],
    known: str | None,
    remedy: Callable[[Doubt], str],
) -> CellLabels:
    filled = [(line, cell.strip()) for line, cell in cells if cell.strip()]
    n_lists = sum(_is_list(cell) for _, cell in filled)
    not_lists = [one for one in filled if not _is_list(one[1]) and one[1] not in MISSING]
    if n_lists and not not_lists:
        # Beside lists, a word for a missing value is no name of a label.
        lists = [
            [] if cell.strip() in MISSING else _list(source, line, cell.strip())
            for line, cell in cells
        ]
        nested = NestedIndicator()
        for (line, _), names in zip(cells, lists, strict=True):
            nested.add(line, names)
        nested.refuse(source)
        return CellLabels(lists)
    for where, (whole, part) in _MARKED.items():
        if filled and all(whole.fullmatch(cell) for _, cell in filled):
            return CellLabels([part.findall(cell) for _, cell in cells], f"labels {where}")
    if n_lists > len(not_lists):
        line, cell = not_lists[0]
        raise source.error(
            line,
            f"found {shown(cell)} where most cells of labels are lists [...]; write "
            f"{json.dumps([cell], ensure_ascii=False)}",
        )
    mark = _mark(filled, known)
    if isinstance(mark, Doubt):
        raise source.error(mark.line, f"{mark.found}; {remedy(mark)}")
    labels = [_split(cell, mark) for _, cell in cells]
    if not _is_held(filled, mark):
        return CellLabels(labels, doubt=_remark_on_commas(filled))
    remark = "" if mark == SEPARATOR else f"labels separated by {_SHOWN.get(mark, repr(mark))}"
    return CellLabels(labels, remark, _remark_on_change(mark, known), mark)


def common_separator(separators: Iterable[str | None]) -> str | None:
    """The separator of several columns or files; None where they have none, or not the same.

    Examples
    --------
    >>> common_separator([None, "|", "|"]), common_separator(["|", ";"])
    ('|', None)
    """
    held = {one for one in separators if one is not None}
    return held.pop() if len(held) == 1 else None


def _is_held(cells: Sequence[tuple[int, str]], separator: str) -> bool:
    return any(mark in cell for _, cell in cells for mark in _marks(separator))


def _mark(cells: list[tuple[int, str]], known: str | None) -> str | Doubt:
    """The separator that cells show; where they leave it open, the one that a model knows.

    The cells go first, as those of another file may be written in another way.
    """
    guess = _guess(cells)
    if known is None or guess == known:
        return guess
    is_held = _is_held(cells, known)
    if isinstance(guess, Doubt):  # names may hold commas, but of two other marks none is known
        return known if is_held or not guess.first else guess
    if not _is_held(cells, guess):
        return known
    explains = _has_known_parts(cells, guess) and not _has_known_parts(cells, known)
    return known if is_held and not explains else guess


def _remark_on_change(mark: str, known: str | None) -> str:
    """A remark on cells that are split in another way than those that a model learned from."""
    if known is None or known == mark:
        return ""
    return (
        f"cells are split at {mark!r}, where training had {known!r} between labels; if {mark!r} is "
        f"part of a name give label_separator={known!r}"
    )


def _remark_on_commas(filled: Sequence[tuple[int, str]]) -> str:
    """A remark on commas that are taken for parts of names, where no cell shows a separator."""
    n = sum("," in cell for _, cell in filled)
    if n <= _FEW * len(filled):
        return ""
    return (
        f"{count(n, 'cell')} of labels {'holds' if n == 1 else 'hold'} ',', taken for a part of "
        "the name; if it separates labels give label_separator=','"
    )


def _remark_on_unused(cells: Sequence[tuple[int, str]], given: str) -> str:
    """A remark on a separator that no cell holds, where another one divides them."""
    filled = [(line, cell.strip()) for line, cell in cells if cell.strip()]
    if any(mark in cell for _, cell in filled for mark in _marks(given)):
        return _remark_on_mixed(filled, given)
    for mark in (*_SURE, ","):
        if mark != given and _has_known_parts(filled, mark):
            n = sum(mark in cell for _, cell in filled)
            return f"no cell of labels holds {given!r}, but {n:,} of {len(filled):,} hold {mark!r}"
    return ""


def _remark_on_mixed(filled: Sequence[tuple[int, str]], given: str) -> str:
    """A remark on cells that another mark divides into labels, beside the separator."""
    for mark in (*_SURE, ","):
        if mark not in given and _joins_labels(filled, mark, given, least=1):
            n = sum(mark in cell for _, cell in filled)
            both = given + mark
            remedy = f"; if both marks separate give label_separator={both!r}"
            return (
                f"{count(n, 'cell')} of labels {'holds' if n == 1 else 'hold'} "
                f"{mark!r} between labels{remedy if _SEVERAL.issuperset(both) else ''}"
            )
    return ""


def is_class_number(value: object) -> bool:
    """Whether a value is the number of a class, of which some programs make a decimal.

    Examples
    --------
    >>> is_class_number(3), is_class_number(3.0), is_class_number(3.5), is_class_number(True)
    (True, True, False, False)
    """
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, int) and not isinstance(value, bool)


def is_read_back(cells: Sequence[str]) -> bool:
    """Whether cells with labels joined by ``;`` are split there when they are read.

    Examples
    --------
    >>> is_read_back(["owl; bird", "owl"]), is_read_back(["<owl>", "<bird>"])
    (True, False)
    """
    filled = [(1, cell) for cell in cells if cell]
    listed = [_is_list(cell) for _, cell in filled]
    if any(listed) or any(
        all(whole.fullmatch(cell) for _, cell in filled) for whole, _ in _MARKED.values()
    ):
        return not filled
    return _guess(filled) == SEPARATOR


def _is_list(cell: str) -> bool:
    return cell[0] + cell[-1] in ("[]", "{}") and len(cell) > 1


def _marks(separator: str) -> str | tuple[str]:
    """The marks that separate: several different ones are meant one by one, as in ``,;``."""
    several = len(separator) > 1 and len(set(separator)) == len(separator)
    return separator if several and set(separator) <= _SEVERAL else (separator,)


def _split(cell: str, separator: str) -> list[str]:
    if not cell.strip():
        return []
    marks = _marks(separator)
    for mark in marks[1:]:
        cell = cell.replace(mark, marks[0])
    separator = marks[0]
    labels = [label.strip() for label in cell.split(separator)]
    if separator == " ":
        return [label for label in labels if label]
    return labels if labels[-1] or len(labels) == 1 else labels[:-1]  # "a; b;" ends with one more


def _list(source: Source, line: int, cell: str) -> list[str]:
    """The items of ``["a", "b"]``, ``['a', 'b']``, ``[a, b]``, ``{a,b}``, NumPy's ``['a' 'b']``."""
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


def _guess(cells: list[tuple[int, str]]) -> str | Doubt:
    """The separator that the cells have in common; ``;`` where they have none."""
    counts = {mark: sum(mark in cell for _, cell in cells) for mark in (*_SURE, *_UNSURE)}
    sure = [mark for mark in _SURE if counts[mark]]
    if sure:
        first = max(sure, key=lambda mark: counts[mark])
        for mark in (*sure, ","):
            if mark != first and counts[mark] and _is_rival(cells, mark, first, counts):
                return _doubt(cells, mark, counts, first)
        return first
    for mark in _UNSURE:
        if mark == "/" and _is_wide(cells):
            return _WIDE
        if counts[mark] and _has_known_parts(cells, mark):
            return mark
    if 2 * counts[","] > len(cells) > 1:
        return _doubt(cells, ",", counts, "")
    return SEPARATOR


def _is_wide(cells: list[tuple[int, str]]) -> bool:
    """Whether slashes between blanks separate labels, and those without are parts of names."""
    return (
        any(_WIDE in cell for _, cell in cells)
        and _has_known_parts(cells, _WIDE)
        and not _joins_labels(cells, "/", _WIDE, least=1)
    )


def _is_rival(cells: list[tuple[int, str]], mark: str, first: str, counts: dict[str, int]) -> bool:
    """Whether `mark` may separate labels as well as `first`, which is more frequent or surer.

    A comma beside a semicolon is part of a name, unless its parts are labels themselves.
    """
    if _joins_labels(cells, mark, first, least=2):
        return True
    if 4 * counts[mark] <= counts[first]:
        return False
    return mark != "," or (_has_known_parts(cells, mark) and not _has_known_parts(cells, first))


def _joins_labels(
    cells: Sequence[tuple[int, str]], mark: str, separator: str, *, least: int
) -> bool:
    """Whether most names with `mark` in them consist of labels that stand alone elsewhere."""
    names = {name for cell in {cell for _, cell in cells} for name in _split(cell, separator)}
    whole = {name for name in names if mark not in name}
    divided = [_split(name, mark) for name in names if mark in name]
    n_known = sum(whole.issuperset(parts) for parts in divided)
    return n_known >= least and 2 * n_known > len(divided)


def _has_known_parts(cells: list[tuple[int, str]], mark: str) -> bool:
    """Whether most cells that `mark` divides consist of labels that are known from elsewhere.

    The parts at a comma are known if they occur in another cell; those at a slash or a blank, which
    names hold more often, only if they are all of another cell.
    """
    distinct = [_split(cell, mark) for cell in {cell for _, cell in cells}]
    divided = [labels for labels in distinct if len(labels) > 1]
    known: Callable[[str], bool]
    if mark in (",", *_SURE):
        seen = Counter(label for labels in distinct for label in set(labels))
        known = lambda label: seen[label] > 1  # noqa: E731 - of two, the shorter one
    else:
        whole = {labels[0] for labels in distinct if len(labels) == 1}
        known = whole.__contains__
    n_known = sum(all(map(known, labels)) for labels in divided)
    if mark == "," and len(divided) == 1:  # one is enough if its parts stand alone elsewhere
        whole = {labels[0] for labels in distinct if len(labels) == 1}
        return whole.issuperset(divided[0])
    return n_known > 1 and 2 * n_known > len(divided)


def _doubt(cells: list[tuple[int, str]], mark: str, counts: dict[str, int], first: str) -> Doubt:
    line, cell = next(one for one in cells if mark in one[1])
    beside = f" and {first!r} in {counts[first]:,}" if first else ""
    found = (
        f"found {shown(cell)}, with {mark!r} in {counts[mark]:,} of {len(cells):,} cells{beside}"
    )
    return Doubt(line, found, mark, first)
