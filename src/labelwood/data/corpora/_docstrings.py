"""Docstrings without the places that define or show the parameters."""

import re
from collections.abc import Callable, Collection, Sequence

_ANSWER = re.compile(
    r"\b(parameters?|params?|args?|arguments?|keywords?|attributes|fields|methods|examples?)\b",
    re.IGNORECASE,
)
_UNDERLINE = re.compile(r"\s*([-=~])\1{2,}\s*")
_FIELD = re.compile(r"\s*[:@](param|parameter|arg|argument|key|keyword|type|kwarg|ivar|var)\b")
# ``x, y : int``, ``- *x* -- a number``, ``x (int): a number``: names, then what they are.
_DEFINITION = re.compile(
    r"\s*(?:[-*+•]\s+)?([`'\"*]*\w+[`'\"*]*(?:(?:\s*,\s*|\s+or\s+|\s+and\s+)[`'\"*]*\w+[`'\"*]*)*)"
    r"\s*(?:\([^)]*\))?\s*(?::|--|=|–|—|-\s)"
)
_CALL = re.compile(r"\s*(?:\w+\.)*(\w+)\(")
_LONGEST_HEADER = 4


def strip_answer(docstring: str, name: str, parameters: Collection[str]) -> str:
    """The text of `docstring` without what gives the parameters away as a list.

    Left out are the sections on parameters, attributes, methods and examples (numpydoc
    and Google style), Sphinx and Epydoc fields, lines that define one of `parameters`,
    lines that show a call of `name`, and doctests. Names in running prose stay.

    Examples
    --------
    >>> strip_answer("Add.\\n\\n:param x: a number\\n\\nBy hand, x is added.", "add", ["x"])
    'Add.\\n\\nBy hand, x is added.'
    """
    lines = docstring.split("\n")
    known = set(parameters)
    rules: tuple[tuple[Callable[[str], object], Callable[[Sequence[str], int], int]], ...] = (
        (_FIELD.match, _past_deeper_lines),
        (lambda line: _defines(line, known), _past_deeper_lines),
        (lambda line: _calls(line, name), lambda _, at: at + 1),
        (_is_doctest, _past_paragraph),
        (_is_google_header, _past_deeper_lines),
    )
    kept: list[str] = []
    at = 0
    while at < len(lines):
        end = _past_section(lines, at)
        for applies, past in rules:
            if end == at and applies(lines[at]):
                end = past(lines, at)
        if end == at:
            kept.append(lines[at].rstrip())
        at = max(end, at + 1)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()


def _defines(line: str, parameters: set[str]) -> bool:
    match = _DEFINITION.match(line)
    return match is not None and not parameters.isdisjoint(re.findall(r"\w+", match[1]))


def _calls(line: str, name: str) -> bool:
    match = _CALL.match(line)
    return match is not None and match[1] == name


def _past_section(lines: Sequence[str], at: int) -> int:
    """Past an underlined section that is an answer; past its two lines of header if it is not."""
    if not _is_underlined(lines, at):
        return at
    end = at + 2
    if _ANSWER.search(lines[at]):
        while end < len(lines) and not _is_underlined(lines, end):
            end += 1
    return end


def _is_underlined(lines: Sequence[str], at: int) -> bool:
    return (
        at + 1 < len(lines)
        and bool(lines[at].strip())
        and _UNDERLINE.fullmatch(lines[at + 1]) is not None
    )


def _is_google_header(line: str) -> bool:
    words = line.split()
    return (
        0 < len(words) <= _LONGEST_HEADER
        and words[-1].endswith(":")
        and _ANSWER.search(line) is not None
    )


def _is_doctest(line: str) -> bool:
    return line.lstrip().startswith(">>>")


def _past_deeper_lines(lines: Sequence[str], at: int) -> int:
    """Past the line and the blank or more indented lines below it."""
    depth = _indent(lines[at])
    end = at + 1
    while end < len(lines) and (not lines[end].strip() or _indent(lines[end]) > depth):
        end += 1
    return end


def _past_paragraph(lines: Sequence[str], at: int) -> int:
    end = at + 1
    while end < len(lines) and lines[end].strip():
        end += 1
    return end


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
