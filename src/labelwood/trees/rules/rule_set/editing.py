"""Edits of a list of rules: each is one line of text, and can be applied again."""

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TypeAlias

import numpy as np

from labelwood.core.types import DoubleArray
from labelwood.errors import DataError
from labelwood.trees.rules.rule_set.conditions import Rule
from labelwood.trees.rules.rule_set.parsing import parse_rules

_EDIT = re.compile(
    r"\s*(?:drop\s+(?P<drop>\d+)|move\s+(?P<move>\d+)\s+to\s+(?P<to>\d+)"
    r"|add\s+(?P<add>\d+)\s*:\s*(?P<rule>.*))\s*"
)


@dataclass(frozen=True)
class Drop:
    """Remove the rule of a number, counted from 1."""

    number: int

    def apply(self, rules: Sequence[Rule]) -> tuple[Rule, ...]:
        """The rules after the edit."""
        _check_number("drop", self.number, len(rules) - 1)
        return (*rules[: self.number - 1], *rules[self.number :])

    def apply_rows(self, rows: DoubleArray) -> DoubleArray:
        """Rows that belong to the rules, after the edit."""
        return np.delete(rows, self.number - 1, axis=0)

    def __str__(self) -> str:
        return f"drop {self.number}"


@dataclass(frozen=True)
class Add:
    """Insert a rule before the one of a number."""

    number: int
    rule: Rule

    def apply(self, rules: Sequence[Rule]) -> tuple[Rule, ...]:
        """The rules after the edit."""
        _check_number("add", self.number, len(rules))
        if not self.rule.conditions:
            raise DataError(
                "There is one OTHERWISE, the last line; replay('OTHERWISE -> label') changes it."
            )
        return (*rules[: self.number - 1], self.rule, *rules[self.number - 1 :])

    def apply_rows(self, rows: DoubleArray) -> DoubleArray:
        """Rows that belong to the rules, after the edit; zeros for the new one."""
        return np.insert(rows, self.number - 1, 0, axis=0)

    def __str__(self) -> str:
        return f"add {self.number}: {self.rule}"


@dataclass(frozen=True)
class Move:
    """Take the rule of a number to another place."""

    number: int
    to: int

    def _order(self, n: int) -> list[int]:
        order = list(range(n))
        order.insert(self.to - 1, order.pop(self.number - 1))
        return order

    def apply(self, rules: Sequence[Rule]) -> tuple[Rule, ...]:
        """The rules after the edit."""
        _check_number("move", self.number, len(rules) - 1)
        _check_number("move to", self.to, len(rules) - 1)
        return tuple(rules[i] for i in self._order(len(rules)))

    def apply_rows(self, rows: DoubleArray) -> DoubleArray:
        """Rows that belong to the rules, after the edit."""
        return rows[self._order(rows.shape[0])]

    def __str__(self) -> str:
        return f"move {self.number} to {self.to}"


@dataclass(frozen=True)
class Otherwise:
    """Replace the label of the last line."""

    rule: Rule

    def apply(self, rules: Sequence[Rule]) -> tuple[Rule, ...]:
        """The rules after the edit."""
        return (*rules[:-1], self.rule)

    def apply_rows(self, rows: DoubleArray) -> DoubleArray:
        """Rows that belong to the rules: the last line still matches the same samples."""
        return rows

    def __str__(self) -> str:
        return str(self.rule)


Edit: TypeAlias = Drop | Add | Move | Otherwise


def parse_edits(edits: str | Iterable[str]) -> list[Edit]:
    """Edits from text, one per line.

    Examples
    --------
    >>> [str(one) for one in parse_edits("drop 3\\nadd 2: a & -b -> c\\nmove 5 to 2")]
    ['drop 3', 'add 2: a & -b -> c', 'move 5 to 2']
    """
    lines = edits.splitlines() if isinstance(edits, str) else edits
    lines = list(lines) if isinstance(lines, Iterable) else [None]
    if not all(isinstance(one, str) for one in lines):
        raise DataError("Edits must be text, one edit a line, or a list of such lines.")
    return [
        _parse_edit(line, number)
        for number, line in enumerate(lines, start=1)
        if line.strip() and not line.lstrip().startswith("#")
    ]


def _parse_edit(line: str, number: int) -> Edit:
    if line.strip().startswith("OTHERWISE"):
        return Otherwise(one_rule(line, number))
    found = _EDIT.fullmatch(line)
    if found is None:
        raise DataError(
            f"line {number}: expected 'drop N', 'move N to M', 'add N: rule' or "
            f"'OTHERWISE -> label', got {line.strip()!r}."
        )
    if found["drop"]:
        return Drop(int(found["drop"]))
    if found["move"]:
        return Move(int(found["move"]), int(found["to"]))
    # The rule is parsed with blanks in place of what stands before it, for the column of errors.
    return Add(int(found["add"]), one_rule(" " * found.start("rule") + found["rule"], number))


def one_rule(text: str, line: int = 1) -> Rule:
    """The one rule in a text that is this line of edits."""
    if not isinstance(text, str):
        raise DataError(f"A rule must be text. Got {type(text).__name__}.")
    rules = parse_rules("\n" * (line - 1) + text)
    if len(rules) != 1:
        raise DataError(f"Expected one rule, got {len(rules)}: {text!r}.")
    return rules[0]


def difference(before: Sequence[Rule], after: Sequence[Rule]) -> list[Edit]:
    """The edits that lead from one list of rules to another, none where a rule stays."""
    check_otherwise(after)
    edits: list[Edit] = []
    old, new = [str(one) for one in before[:-1]], [str(one) for one in after[:-1]]
    shift = 0
    for kind, i1, i2, j1, j2 in difflib.SequenceMatcher(None, old, new, False).get_opcodes():
        if kind == "equal":
            continue
        edits += [Drop(i1 + shift + 1)] * (i2 - i1)
        edits += [Add(j + 1, after[j]) for j in range(j1, j2)]
        shift += (j2 - j1) - (i2 - i1)
    if before[-1] != after[-1]:
        edits.append(Otherwise(after[-1]))
    return edits


def check_otherwise(rules: Sequence[Rule]) -> None:
    """Refuse a list in which OTHERWISE is not exactly the last rule."""
    places = [i for i, rule in enumerate(rules) if not rule.conditions]
    if places != [len(rules) - 1]:
        found = f"rule {places[0] + 1}" if places else "nowhere"
        raise DataError(f"OTHERWISE must be the last rule and only that. It is {found}.")


def _check_number(what: str, number: int, last: int) -> None:
    whole = isinstance(number, Integral) and not isinstance(number, bool)
    if not whole or not 1 <= number <= last:
        raise DataError(f"{what} needs the number of a rule in 1…{last}. Got {number!r}.")
