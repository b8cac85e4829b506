"""Labels as columns of their own, with 0 and 1 in the rows (one-hot, ``get_dummies``)."""

import re
from collections.abc import Collection, Iterable, Sequence

from labelwood.core.io import Source
from labelwood.core.names import count, shown, some
from labelwood.data.readers.missing_words import MISSING

_ONES = frozenset({"1", "1.0", "true", "t", "yes", "y", "on", "x", "✓", "✔", "☑"})
# As spreadsheets write them, and people.
_ONES |= {"wahr", "ja", "j", "vrai", "oui", "verdadero", "sí", "si"}
_ZEROS = frozenset({"0", "0.0", "false", "f", "no", "n", "off", "✗", "✘", "☐"})
_ZEROS |= {"falsch", "nein", "faux", "non", "falso"}
# Codes, as of countries, may be words of several languages; answers are words of one.
_LANGUAGES = (
    frozenset({"true", "yes", "false", "no"}),
    frozenset({"wahr", "ja", "falsch", "nein"}),
    frozenset({"vrai", "oui", "faux", "non"}),
    frozenset({"verdadero", "sí", "si", "falso", "no"}),
)
_OF_LANGUAGES = frozenset().union(*_LANGUAGES)
_ZERO_ONE = frozenset({"0", "1", "0.0", "1.0", "0.", "1."})  # as numbers are written in lists
# One letter may be a name as well: those of two notations in one table are names.
_LETTERS = tuple(map(frozenset, ("yn", "jn", "tf", "xn")))
_ALL_LETTERS = frozenset().union(*_LETTERS)
_UNKNOWN = frozenset(word.lower() for word in MISSING)
_NUMBER = re.compile(r"[-+]?\d*[.,]?\d+(e[-+]?\d+)?", re.IGNORECASE)
_LEAST = 2  # one column of 0 and 1 may be anything
_FEW = 3  # values that columns share if they are flags in words that are not known


def flag(value: object) -> bool | None:
    """Whether a cell says yes or no; None where it says something else.

    Examples
    --------
    >>> flag("Ja"), flag(0.0), flag(""), flag("owl")
    (True, False, False, None)
    """
    word = str(value).strip().lower()
    if word in _ONES:
        return True
    return False if word in _ZEROS or not word else None


class IndicatorColumns:
    """Follows columns while rows come, and keeps those that hold nothing but 0 and 1."""

    def __init__(self, names: Sequence[str], columns: Sequence[int]) -> None:
        self._names = names
        self._open = list(columns)
        self._asked = list(columns)
        self._ones: list[list[int]] = []
        self._words: dict[int, dict[str, int]] = {column: {} for column in columns}
        self.refusal: tuple[int, int, str] | None = None

    def add(self, line: int, row: Sequence[str]) -> None:
        """Look at the row of `line`."""
        ones: list[int] = []
        for column in list(self._open):
            value = row[column].strip().lower()
            words = self._words[column]
            if value in words:
                words[value] += 1
            elif self._is_flag(value):
                words[value] = 1
            else:
                self._open.remove(column)
                self.refusal = self.refusal or (line, column, row[column])
                continue
            if value in _ONES:
                ones.append(column)
        self._ones.append(ones)

    def leave_out(self, column: int) -> None:
        """Forget a column that is none of the labels, as all its rows have shown."""
        for columns in (self._open, self._asked):
            if column in columns:
                columns.remove(column)

    def _is_flag(self, value: str) -> bool:
        """Whether a word says yes, no or nothing, beside those that were found before."""
        if len(value) == 1 and value.isalpha():
            letters = {value}.union(*(self._words[column] for column in self._open)) & _ALL_LETTERS
            return any(value in notation and letters <= notation for notation in _LETTERS)
        return not value or value in _ONES or value in _ZEROS or value in _UNKNOWN

    def _holds(self, column: int, words: Collection[str]) -> bool:
        return any(word in words for word in self._words[column])

    @property
    def all_hold(self) -> bool:
        """Whether no column holds anything else."""
        return self._open == self._asked

    @property
    def sure(self) -> int | None:
        """The first column that holds no names: one of 0 and 1, or with a no in it."""
        return next((one for one in self._open if self._holds(one, {"1", *_ZEROS})), None)

    def guessed(self) -> list[int]:
        """The columns to take for labels: at least two that stand side by side, else none."""
        found = [one for one in self._open if self._names[one].strip() and self._answers(one)]
        places = [self._asked.index(one) for one in found]
        side_by_side = bool(places) and places[-1] - places[0] == len(places) - 1
        return found if side_by_side and len(found) >= _LEAST and any(self.labels(found)) else []

    def _answers(self, column: int) -> bool:
        """Whether a column holds a yes or a no, in words of one language alone."""
        words = self._words[column].keys() & _OF_LANGUAGES
        return self._holds(column, _ONES | _ZEROS) and any(map(words.issubset, _LANGUAGES))

    def labels(self, columns: Sequence[int]) -> list[list[str]]:
        """The names of the columns that hold a 1, for each row."""
        taken = set(columns)
        return [[self._names[one] for one in ones if one in taken] for ones in self._ones]

    def remark_on_missing(self, columns: Sequence[int]) -> str:
        """A remark on cells that say nothing; beside marks alone an empty cell is the usual no."""
        missing = _UNKNOWN
        if any(self._holds(column, _ZEROS) for column in columns):
            missing = missing | {""}
        words = [self._words[column] for column in columns]
        n = sum(one.get(word, 0) for one in words for word in missing)
        return f"{count(n, 'missing cell')} {'counts' if n == 1 else 'count'} as 0" if n else ""


class FlagColumns:
    """Columns that were named for labels and hold something else than 0 and 1.

    They are names, which are put together, unless they plainly are flags in words (or numbers) that
    are not known: these would become labels themselves.
    """

    def __init__(
        self, source: Source, names: Sequence[str], columns: Sequence[Sequence[str]]
    ) -> None:
        self._source, self._names = source, names
        stripped = [[cell.strip() for cell in cells] for cells in columns]
        self._columns = [["" if cell in MISSING else cell for cell in cells] for cells in stripped]

    def refuse_numbers(self, lines: Sequence[int]) -> None:
        """Refuse columns of decimals; `lines` are those of the rows."""
        for name, cells in zip(self._names, self._columns, strict=True):
            filled = [cell for cell in cells if cell]
            if filled and all(map(_is_number, filled)) and not all(map(_is_code, filled)):
                line, cell = next(
                    one for one in zip(lines, cells, strict=True) if one[1] and not _is_code(one[1])
                )
                found = f"found {shown(cell)} in {shown(name)}, a number other than 0 and 1"
                raise self._source.error(line, f"{found}; {_REMEDY}")

    def refuse_words(self) -> None:
        """Refuse columns that share a few values, as flags do."""
        values = sorted({cell for cells in self._columns for cell in cells} - {""})
        if len(values) <= _FEW and self._are_flags(values):
            raise self._source.error(
                None,
                f"found only {', '.join(map(shown, values))} in the {len(self._names):,} label "
                f"columns; {_REMEDY}",
            )

    def _are_flags(self, values: Sequence[str]) -> bool:
        """Whether a row gives one value twice, which names are not, or each gives them all."""
        held = [set(cells) - {""} for cells in self._columns]
        if len(held) < _LEAST or not all(held):
            return False
        rows = [[cell for cell in row if cell] for row in zip(*self._columns, strict=True)]
        if any(len(set(row)) < len(row) for row in rows):
            return True
        alike = all(one == set(values) for one in held)
        return alike and (len(values) == 1 or all(len(row) == len(values) for row in rows))


_REMEDY = (
    "write 1 for the labels that apply and 0 for the others, or give label_separator=';' if they "
    "are names of labels"
)


def _is_number(cell: str) -> bool:
    return _NUMBER.fullmatch(cell) is not None


def _is_code(cell: str) -> bool:
    """Whether a number may be the code of a label: it counts from 0."""
    value = float(cell.replace(",", ".", 1))
    return value >= 0 and value.is_integer()


def remark_on_one(name: str, labels: Iterable[Sequence[str]]) -> str:
    """A remark on one column of 0 and 1, which are read as names of labels.

    Examples
    --------
    >>> remark_on_one("spam", [["1"], ["0"], []])
    "'0', '1' are names of labels; if 'spam' is the label, write 'spam' for a yes and nothing for \
a no"
    """
    values: set[str] = set()
    for names in labels:
        values.update(names)
        if len(names) > 1 or len(values) > _FEW:
            return ""
    if not values or any(flag(one) is None for one in values):
        return ""
    are = "is the name of a label" if len(values) == 1 else "are names of labels"
    return (
        f"{some(map(shown, sorted(values)))} {are}; if {shown(name)} is the label, write "
        f"{shown(name)} for a yes and nothing for a no"
    )


class NestedIndicator:
    """Notices lists of zeros and ones with a place for each label, which hold no names.

    Samples without a list say nothing about the others.
    """

    def __init__(self) -> None:
        self._line = 0
        self._width = 0
        self._n_lists = 0
        self._is_one = True

    def add(self, line: int, names: Sequence[object]) -> None:
        """Look at the list of `line`."""
        if not self._is_one or not names:
            return
        if not self._n_lists:
            self._line, self._width = line, len(names)
        self._n_lists += 1
        alike = len(names) == self._width > 1
        self._is_one = alike and _ZERO_ONE.issuperset(map(str, names))

    @property
    def is_one(self) -> bool:
        """Whether all lists are as long as each other, and hold nothing but zeros and ones."""
        return self._is_one and self._n_lists > 1

    def refuse(self, source: Source) -> None:
        """Refuse lists that would be taken for the labels 0 and 1."""
        if self.is_one:
            raise source.error(
                self._line,
                f"found {self._width} zeros and ones, here and in all other lists of labels; write "
                "the names of the labels, or make a column of each of them",
            )


def remark_on(names: Sequence[str], columns: Sequence[int]) -> str:
    """What was taken, in words.

    Examples
    --------
    >>> remark_on(["text", "cat", "owl"], [1, 2])
    "labels from the 2 columns 'cat' … 'owl' of 0 and 1"
    """
    first, last = shown(names[columns[0]]), shown(names[columns[-1]])
    return f"labels from the {len(columns):,} columns {first} … {last} of 0 and 1"
