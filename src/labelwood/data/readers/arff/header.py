"""The header of an ARFF file: its relation and attributes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from labelwood.core.io import Source
from labelwood.core.names import shown

NUMERIC, NOMINAL, HIERARCHICAL = "numeric", "nominal", "hierarchical"
_NUMERIC_TYPES = ("numeric", "real", "integer")
_WORD = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_NAME_AND_TYPE = re.compile(rf"({_WORD}|[^\s{{]+)\s*(\S.*)?")
_FIELD = re.compile(rf"\s*+({_WORD}|[^,'\"]*+)\s*+(,|\Z)")  # "+": no blank is tried twice
_PAIR = re.compile(rf"\s*(\d{{1,10}})\s+({_WORD}|[^\s,'\"]+)\s*(,|\Z)")
_ESCAPE = re.compile(r"\\(.)")
_LABEL_COUNT = re.compile(r"-C\s+(-?\d{1,9})(?!\d)")


@dataclass(frozen=True)
class Attribute:
    """A column: its name, its kind, the values of a nominal or the paths of a hierarchical one."""

    name: str
    kind: str
    values: tuple[str, ...] = ()

    @cached_property
    def is_number(self) -> bool:
        """Whether its values are numbers: numeric, or a nominal choice of 0 and 1."""
        return self.kind == NUMERIC or (self.kind == NOMINAL and set(self.values) <= {"0", "1"})

    @cached_property
    def position(self) -> dict[str, int]:
        """Where each nominal value stands."""
        return {value: i for i, value in enumerate(self.values)}


@dataclass(frozen=True)
class Header:
    """What stands before ``@data``, and the number of the line of that word."""

    relation: str
    attributes: tuple[Attribute, ...]
    data_line: int

    @property
    def label_counts(self) -> frozenset[int]:
        """MEKA's ``-C``: the number of labels, negative when they are the last attributes.

        A relation that was joined from several may state more than one.
        """
        return frozenset(int(number) for number in _LABEL_COUNT.findall(self.relation))

    @property
    def is_filtered(self) -> bool:
        """Whether Weka filters have been applied, which may move or remove attributes.

        Weka appends each filter to the relation's name and leaves MEKA's ``-C`` in it as it was.
        """
        return "weka.filters." in self.relation


def read_header(source: Source, lines: Iterator[tuple[int, str]]) -> Header:
    """Read `lines` up to and with ``@data``."""
    relation = ""
    attributes: dict[str, Attribute] = {}
    for number, line in lines:
        text = line.strip()
        if not text or text.startswith("%"):
            continue
        word, _, rest = text.replace("\t", " ", 1).partition(" ")
        keyword = word.lower()
        if keyword == "@relation":
            relation = rest
        elif keyword == "@attribute":
            attribute = _attribute(source, number, rest.strip())
            if attribute.name in attributes:
                raise source.error(number, f"the attribute {shown(attribute.name)} comes twice")
            attributes[attribute.name] = attribute
        elif keyword == "@data":
            if rest.strip() and not rest.lstrip().startswith("%"):
                raise source.error(
                    number,
                    f"found {shown(rest.strip())} after @data; the first row belongs on the next "
                    "line",
                )
            return Header(relation, tuple(attributes.values()), number)
        else:
            raise source.error(
                number, f"found {shown(text)} where @relation, @attribute or @data is expected"
            )
    raise source.error(None, "the file ends before its @data line")


def _attribute(source: Source, number: int, text: str) -> Attribute:
    match = _NAME_AND_TYPE.fullmatch(text)
    if match is None or match.group(2) is None:
        raise source.error(number, f"found {shown(text)} where a name and a type are expected")
    name, kind = unquoted(match.group(1)), match.group(2).strip()
    if kind.startswith("{") and kind.endswith("}"):
        values = split_fields(kind[1:-1])
        if values is None or not all(values) or len(set(values)) < len(values):
            raise source.error(
                number, f"the values {shown(kind)} must be different, separated by commas"
            )
        return Attribute(name, NOMINAL, tuple(values))
    word, *rest = kind.split(None, 1)
    if word.lower() in _NUMERIC_TYPES:
        return Attribute(name, NUMERIC)
    if word.lower() == HIERARCHICAL and rest:
        return Attribute(name, HIERARCHICAL, tuple(path.strip() for path in rest[0].split(",")))
    raise source.error(
        number,
        f"attribute {shown(name)} has the type {shown(kind)}; numeric, nominal {{…}} or "
        "hierarchical is expected (for texts use JSONL)",
    )


def split_fields(text: str) -> list[str] | None:
    """Fields separated by commas, quoted or not; None when the quotes do not fit.

    Examples
    --------
    >>> split_fields("1, 'a, b', c")
    ['1', 'a, b', 'c']
    """
    if "'" not in text and '"' not in text:
        return [field.strip() for field in text.split(",")]
    fields = []
    at = 0
    while True:
        match = _FIELD.match(text, at)
        if match is None:
            return None
        fields.append(unquoted(match.group(1).strip()))
        at = match.end()
        if not match.group(2):
            return fields


def split_pairs(text: str) -> list[tuple[int, str]] | None:
    """Pairs of a number and a field, separated by commas; None when there is anything else.

    Examples
    --------
    >>> split_pairs("0 1, 5 'a, b'")
    [(0, '1'), (5, 'a, b')]
    """
    pairs: list[tuple[int, str]] = []
    at = 0
    more = bool(text.strip())
    while more:
        match = _PAIR.match(text, at)
        if match is None:
            return None
        pairs.append((int(match.group(1)), unquoted(match.group(2))))
        at = match.end()
        more = bool(match.group(3))
    return pairs


def unquoted(word: str) -> str:
    """`word` without its quotes and the backslashes in them."""
    if word[:1] in ("'", '"'):
        return _ESCAPE.sub(r"\1", word[1:-1])
    return word
