"""Fills the command line page from the command line itself, sets formulas, and gives every
parameter of the Python reference a row with its own type and default."""

import re
import textwrap
from typing import Any

import griffe
from mkdocs.plugins import event_priority
from typer.testing import CliRunner

MARK = "<!-- commands -->"
FENCE = re.compile(r"^```(?:text|console|python)\n.*?^```$", re.MULTILINE | re.DOTALL)
COLUMNS = 110  # what a page shows beside the navigation without scrolling
TAG = re.compile(r"(<[^>]*>)")
# One letter with an index, as x_i, Σ_{i ≤ k} or ρ_mix; names of Python have longer first words.
INDEX = re.compile(
    r"(?<![^\W\d])([^\W\d_][\u0300-\u036f]*\*?)_"
    r"(\{[^{}]*\}|(?:[A-Za-z]{1,2}|mix|min|max)(?![A-Za-z_])|\d+)"
)
POWER = re.compile(
    r"(?:(?<=[\w)\]|‖])|^)\^(\([^()]*\)|\{[^{}]*\}|[−-]?\d+(?:\.\d+)?|[−-]?[A-Za-zα-ω]\b)"
)
OPTION = re.compile(r"(?<![\w-])--?[a-z][\w-]*")
PARAMETERS = re.compile(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n---|\Z)", re.MULTILINE | re.DOTALL)
# A row of numpydoc, `a, b : float, int`, and the indented lines below it.
ROW = re.compile(r"^(\S[^:\n]*?) *(?::(.*))?\n((?:(?:[ \t].*)?(?:\n|\Z))*)", re.MULTILINE)
KIND = re.compile(r"(?:sequence of )?(?:int|float|str|bool)(?: or None)?")
CHOICES = re.compile(r'^"[^"]*"(?:, "[^"]*")*(?: or "[^"]*")?$')


class OwnRows(griffe.Extension):  # type: ignore[misc]
    """Splits rows of several parameters, of which griffe shows the first one's default."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Rewrite the section of parameters in the docstring of a class or function."""
        if obj.is_function:
            for parameter in obj.parameters:
                constant = obj.module.members.get(str(parameter.default))
                if constant is not None and constant.is_attribute and constant.value:
                    parameter.default = constant.value
        if obj.docstring and (obj.is_class or obj.is_function):
            obj.docstring.value = PARAMETERS.sub(
                lambda section: section[0].replace(section[1], own_rows(section[1])),
                obj.docstring.value,
            )


def own_rows(section: str) -> str:
    """A section of parameters with one row for each of them.

    >>> print(own_rows("tol, max_iter : float, int\\n    Of the solver."))
    tol : float
        Of the solver.
    max_iter : int
        Of the solver.
    """
    section = re.sub(r"\\\n *", "", section)  # a row that goes on in the next line

    def split(row: re.Match[str]) -> str:
        # A hyphen would make array-like the difference of two names.
        kind = (row[2] or "").strip().replace("array-like", "array\N{NON-BREAKING HYPHEN}like")
        # Of choices in braces griffe shows the first as the default.
        kind = re.sub(r"\{([^{}]*)\}(?:, optional)?", r"one of \1", kind)
        kind = CHOICES.sub(r"one of \g<0>", kind)  # which are no expression of Python
        names, kinds = row[1].split(", "), kind.split(", ")
        if len(kinds) != len(names) or not all(map(KIND.fullmatch, kinds)):
            kinds = [kind] * len(names)
        below = row[3].rstrip("\n")
        rows = [f"{name} : {kind}\n{below}" for name, kind in zip(names, kinds, strict=True)]
        return "\n".join(rows) + row[3][len(below) :]

    return ROW.sub(split, section)


@event_priority(100)  # before mkdocstrings reads its options
def on_config(config: Any) -> Any:
    """Let the Python reference read docstrings by `OwnRows`."""
    options = config.plugins["mkdocstrings"].config.handlers["python"]["options"]
    options["extensions"] = ["docs/hooks.py:OwnRows"]
    return config


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Put the help of every subcommand in place of the mark, and drop what only doctest reads."""
    markdown = re.sub(r"  # doctest: \+\w+$", "", markdown, flags=re.MULTILINE)
    markdown = markdown.replace("\n<BLANKLINE>\n", "\n\n")
    markdown = FENCE.sub(lambda block: wrap_sentences(block[0]), markdown)
    if MARK not in markdown:
        return markdown
    from labelwood.cli.main import app

    def help_of(*command: str) -> str:
        return CliRunner().invoke(app, [*command, "--help"], prog_name="labelwood").stdout.strip()

    def commands_of(*group: str) -> list[tuple[str, ...]]:
        """The commands below a group, each followed by its own."""
        listing = help_of(*group).partition("Commands:")[2]
        found = re.findall(r"^  (\w+)", listing, flags=re.MULTILINE)
        return [one for name in found for one in [(*group, name), *commands_of(*group, name)]]

    parts = [
        f"## labelwood {' '.join(name)}\n\n```text\n{help_of(*name)}\n```\n"
        for name in commands_of()
    ]
    return markdown.replace(MARK, "\n".join(parts))


def wrap_sentences(block: str) -> str:
    """Break long printed sentences; commands and the rows of tables stay as they are."""
    lines = []
    for line in block.splitlines():
        code = line.startswith((">>> ", "... ", "$ ", "labelwood ")) or (
            line and not block.startswith(("```text", "```console")) and ">>> " not in block
        )
        if len(line) <= COLUMNS or code or "  " in line.strip():
            lines.append(line)
        else:
            lines += textwrap.wrap(line, COLUMNS, subsequent_indent="  ", break_long_words=False)
    return "\n".join(lines)


def on_page_content(html: str, **_: Any) -> str:
    """Set indices and powers of formulas as such, and let long names break between their words."""
    parts, code = TAG.split(html), 0
    for place, part in enumerate(parts):
        if code == 1 and parts[place - 1] == "<code>" and len(part) > 24:
            parts[place] = re.sub(r"(?<=\w)(::|[._/])(?=\w)", r"\1<wbr>", part)
        if code == 1 and parts[place - 1] == "<code>":
            parts[place] = OPTION.sub(r'<span class="option">\g<0></span>', parts[place])
        if re.match(r"<(code|pre|script|style)\b", part):
            code += 1
        elif re.match(r"</(code|pre|script|style)>", part):
            code -= 1
        elif not code and not part.startswith("<") and ("_" in part or "^" in part):
            parts[place] = set_formulas(part)
    return "".join(parts)


def set_formulas(text: str) -> str:
    """Indices below and powers above the line; braces may hold one more index."""
    for _ in range(2):
        text = INDEX.sub(lambda found: f"{found[1]}<sub>{found[2].strip('{}')}</sub>", text)
        text = POWER.sub(lambda found: f"<sup>{_bare(found[1])}</sup>", text)
    return text


def _bare(power: str) -> str:
    """A power without the parentheses or braces that held it together on the line."""
    return power[1:-1] if power[0] in "({" else power
