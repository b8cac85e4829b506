"""Labels as columns of their own, with 0 and 1 in the rows (one-hot, ``get_dummies``)."""

from collections import defaultdict
from collections.abc import Sequence

from labelwood.core.io import Source
from labelwood.core.names import shown

_ONES = frozenset({"1", "1.0", "true", "yes", "x"})
_ONES |= {"wahr", "ja", "vrai", "oui", "verdadero", "sí", "si"}  # as spreadsheets write them
_ZEROS = frozenset({"0", "0.0", "false", "no", ""})
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
_LEAST = 2  # one column of 0 and 1 may be anything


class IndicatorColumns:
    """Follows columns while rows come, and keeps those that hold nothing but 0 and 1."""

    def __init__(self, names: Sequence[str], columns: Sequence[int]) -> None:
        self._names = names
        self._open = list(columns)
        self._asked = list(columns)
        self._ones: list[list[int]] = []
        self._values: defaultdict[int, set[str]] = defaultdict(set)
        self.refusal: tuple[int, int, str] | None = None

    def add(self, line: int, row: Sequence[str]) -> None:
        """Look at the row of `line`."""
        ones: list[int] = []
        for column in list(self._open):
            value = row[column].strip().lower()
            if value:
                self._values[column].add(value)
            if value in _ONES:
                ones.append(column)
            elif value not in _ZEROS:
                self._open.remove(column)
                self.refusal = self.refusal or (line, column, row[column])
        self._ones.append(ones)

    def leave_out(self, column: int) -> None:
        """Forget a column that is none of the labels, as all its rows have shown."""
        for columns in (self._open, self._asked):
            if column in columns:
                columns.remove(column)

    @property
    def all_hold(self) -> bool:
        """Whether no column holds anything else."""
        return self._open == self._asked

    def guessed(self) -> list[int]:
        """The columns to take for labels: at least two that stand side by side, else none."""
        found = [one for one in self._open if self._names[one].strip() and self._answers(one)]
        places = [self._asked.index(one) for one in found]
        side_by_side = bool(places) and places[-1] - places[0] == len(places) - 1
        return found if side_by_side and len(found) >= _LEAST and any(self.labels(found)) else []

    def _answers(self, column: int) -> bool:
        """Whether a column holds any value, and words of one language alone."""
        words = self._values[column] & _OF_LANGUAGES
        return bool(self._values[column]) and any(map(words.issubset, _LANGUAGES))

    def labels(self, columns: Sequence[int]) -> list[list[str]]:
        """The names of the columns that hold a 1, for each row."""
        taken = set(columns)
        return [[self._names[one] for one in ones if one in taken] for ones in self._ones]


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
