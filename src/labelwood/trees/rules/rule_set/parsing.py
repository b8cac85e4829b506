r"""Rules as plain text.

rules      = { rule | comment }                      one per line; a comment starts with #
rule       = conditions ("->" | "→") label
conditions = "OTHERWISE" | condition { "&" condition }
condition  = name                                    the feature is above 0: the word occurs
           | "-" name                                the feature is 0 or below: it does not
           | name sign number                        sign: < <= ≤ > >= ≥ =
           | number sign name sign number            both signs < or <= (≤)
           | name ["not"] "in" "{" number { "," number } "}"
           | name "is" "missing" | name "not" "missing"
           | condition "or" "missing"
           | "(" condition ")"
label      = ["~"] name                              ~earn: not earn
name       = word | '"' any text '"'                 quotes for what is no word

Numbers are rounded to single precision, as features are.
"""

import json
import math
import re
from dataclasses import replace
from typing import NamedTuple, NoReturn

from labelwood.errors import DataError
from labelwood.trees.rules.rule_set.conditions import Condition, Rule, single, strictly_below

_TOKEN = re.compile(
    r"""
    (?P<space>\s+)
  | (?P<comment>\#.*)
  | (?P<arrow>->|→)
  | (?P<sign><=|>=|==|≤|≥|<|>|=)
  | (?P<mark>[&{}(),~])
  | (?P<number>[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|inf)(?=[\s&<>=≤≥{}(),]|->|→|$))
  | (?P<minus>-)
  | "(?P<quoted>(?:[^"\\]|\\.)*)"
  | (?P<word>(?:[^\s&<>=≤≥{}(),"→~-]|-(?!>))+)
    """,
    re.VERBOSE,
)
_SIGNS = {"≤": "<=", "≥": ">=", "==": "="}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


class Token(NamedTuple):
    """A piece of a line: what it is, its text, and its column, from 1."""

    kind: str
    text: str
    column: int


def unquoted(text: str) -> str:
    """A name as it stands in a rule, without its quotes if it has them; escapes as in JSON.

    Examples
    --------
    >>> unquoted('"profit \\\\u0026 loss"'), unquoted("earn")
    ('profit & loss', 'earn')
    """
    if not text.startswith('"'):
        return text
    try:
        return str(json.loads(text))
    except ValueError:
        return text[1:-1]


class _Line:
    """The tokens of one line, read from left to right."""

    def __init__(self, text: str, number: int) -> None:
        self.number = number
        self.tokens: list[Token] = []
        place = 0
        while place < len(text):
            found = _TOKEN.match(text, place)
            if found is None:
                self.fail("a closing quote or a known sign", Token("", text[place:], place + 1))
            kind = found.lastgroup or ""
            if kind not in ("space", "comment"):
                content = found[kind]
                if kind == "quoted":
                    kind, content = "name", unquoted(f'"{content}"')
                self.tokens.append(Token(kind, content, place + 1))
            place = found.end()
        self.end = Token("end", "the end of the line", len(text) + 1)
        self.place = 0

    @property
    def next(self) -> Token:
        return self.tokens[self.place] if self.place < len(self.tokens) else self.end

    def take(self) -> Token:
        token = self.next
        self.place += 1
        return token

    def accept(self, kind: str, *texts: str) -> Token | None:
        token = self.next
        if token.kind == kind and (not texts or token.text in texts):
            return self.take()
        return None

    def accept_word(self, *texts: str) -> bool:
        return self.accept("word", *texts) is not None

    def fail(self, expected: str, token: Token | None = None) -> NoReturn:
        token = self.next if token is None else token
        got = token.text if token.kind == "end" else repr(token.text)
        raise DataError(
            f"line {self.number}, column {token.column}: expected {expected}, got {got}."
        )


def parse_rules(text: str) -> tuple[Rule, ...]:
    """The rules in a text, one per line.

    Examples
    --------
    >>> rules = parse_rules("A<2 & B<2 -> X\\nA < 2 & 2 <= B < 4 → Y\\nOTHERWISE -> ~Y")
    >>> print(*rules, sep="; ")
    A < 2 & B < 2 -> X; A < 2 & 2 <= B < 4 -> Y; OTHERWISE -> ~Y
    >>> parse_rules("shr & -> earn")
    Traceback (most recent call last):
    ...
    labelwood.errors.DataError: line 1, column 7: expected a condition, got '->'.
    """
    if not isinstance(text, str):
        raise DataError(f"Rules must be text, one rule a line. Got {type(text).__name__}.")
    rules = []
    for number, line in enumerate(text.splitlines(), start=1):
        tokens = _Line(line, number)
        if tokens.tokens:
            rules.append(_rule(tokens))
    return tuple(rules)


def parse_conditions(text: str, line: int = 1) -> tuple[Condition, ...]:
    """Conditions alone, joined by &.

    Examples
    --------
    >>> [str(one) for one in parse_conditions("dividend & -loss")]
    ['dividend', '-loss']
    """
    tokens = _Line(text, line)
    conditions = _conditions(tokens)
    if tokens.next.kind != "end":
        tokens.fail("'&' or the end of the line")
    return conditions


def _rule(line: _Line) -> Rule:
    conditions = () if line.accept_word("OTHERWISE") else _conditions(line)
    if line.accept("arrow") is None:
        line.fail("'&' or '->'" if conditions else "'->'")
    label = ("~" if line.accept("mark", "~") else "") + _name(line, "a label")
    if line.next.kind != "end":
        line.fail("the end of the line")
    return Rule(conditions, label)


def _conditions(line: _Line) -> tuple[Condition, ...]:
    found = [_condition(line)]
    while line.accept("mark", "&"):
        found.append(_condition(line))
    return tuple(found)


def _condition(line: _Line) -> Condition:
    if line.accept("mark", "("):
        condition = _condition(line)
        if not line.accept("mark", ")"):
            line.fail("')'")
        return condition
    condition = _plain_condition(line)
    if line.accept_word("or"):
        if not line.accept_word("missing"):
            line.fail("'missing' (rules with other alternatives are written one per line)")
        return replace(condition, missing=True)
    return condition


def _plain_condition(line: _Line) -> Condition:
    if line.next.kind == "number":
        return _chained(line)
    if line.accept("minus"):
        return Condition(_name(line, "a word"), high=0.0)
    first = line.next
    name = _name(line, "a condition")
    if (first.kind, first.text) == ("word", "not") and line.next.kind in ("word", "name"):
        line.fail("'-' in place of 'not' (-word: it does not occur)", first)
    sign = line.accept("sign")
    if sign is not None:
        return _compared(name, _SIGNS.get(sign.text, sign.text), _number(line))
    if line.accept_word("in"):
        return Condition(name, categories=_members(line))
    if line.accept_word("is"):
        if not line.accept_word("missing"):
            line.fail("'missing'")
        return Condition(name, low=math.inf, missing=True)
    if line.accept_word("not"):
        if line.accept_word("missing"):
            return Condition(name)
        if not line.accept_word("in"):
            line.fail("'in' or 'missing'")
        return Condition(name, categories=_members(line), excluded=True)
    return Condition(name, low=0.0)


def _chained(line: _Line) -> Condition:
    """2 <= B < 4, or 2 <= B alone."""
    first = _number(line)
    sign = line.accept("sign") or line.fail("'<', '<=', '>' or '>='")
    name = _name(line, "a word")
    condition = _compared(name, _MIRRORED[_SIGNS.get(sign.text, sign.text)], first)
    second = line.accept("sign")
    if second is None:
        return condition
    return condition.both(_compared(name, _SIGNS.get(second.text, second.text), _number(line)))


def _compared(name: str, sign: str, number: float) -> Condition:
    if sign == "=":
        return Condition(name, low=strictly_below(number), high=number)
    if sign in ("<", "<="):
        return Condition(name, high=number if sign == "<=" else strictly_below(number))
    return Condition(name, low=number if sign == ">" else strictly_below(number))


def _members(line: _Line) -> frozenset[int]:
    if not line.accept("mark", "{"):
        line.fail("'{'")
    members = set()
    while not line.accept("mark", "}"):
        token = line.next
        value = _number(line, "the number of a category (0, 1, …)")
        if not math.isfinite(value) or value != int(value) or value < 0:
            line.fail("the number of a category (0, 1, …)", token)
        members.add(int(value))
        if not line.accept("mark", ",") and line.next.text != "}":
            line.fail("',' or '}'")
    return frozenset(members)


def _number(line: _Line, what: str = "a number") -> float:
    token = line.accept("number") or line.fail(what)
    return single(float(token.text))


def _name(line: _Line, what: str) -> str:
    if line.next.kind not in ("word", "name", "number"):
        line.fail(what)
    return line.take().text
