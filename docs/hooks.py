"""Fills the command line page from the command line itself, sets formulas, and gives every
parameter of the Python reference a row with its own type and default."""

import ast
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
    r"(?:(?<=[\w)\]|‖])|^)\^(\([^()]*\)|\{[^{}]*\}|[−-]?\d+(?:\.\d+)?|[−-]?[A-Za-zα-ω]\w*\b)"
)
OPTION = re.compile(r"(?<![\w-])--?[a-z][\w-]*")
# A formula that stands alone: a short block of plain text with a sum, a root, an index or a power.
ALONE = re.compile(
    r'<div class="highlight"><pre><span></span><code>((?:[^<\n]+\n){1,2})</code></pre></div>'
)
FORMULA = re.compile(r"[Σ√²‖]|\b\w_\w\b|\)\^")
SECTION = re.compile(
    r"^(?:Parameters|Attributes)\n-+\n(.*?)(?=^\S[^\n]*\n---|\Z)", re.MULTILINE | re.DOTALL
)
# A row of numpydoc, `a, b : float, int`, and the indented lines below it.
ROW = re.compile(r"^(\S[^:\n]*?) *(?::(.*))?\n((?:(?:[ \t].*)?(?:\n|\Z))*)", re.MULTILINE)
KIND = re.compile(r"(?:sequence of )?(?:int|float|str|bool)(?: or None)?")
CHOICES = re.compile(r'^"[^"]*"(?:, "[^"]*")*(?: or "[^"]*")?$')


class OwnRows(griffe.Extension):  # type: ignore[misc]
    """Splits rows of several parameters, of which griffe shows the first one's default.

    Of types it makes expressions of Python, which those in words are kept from becoming.
    """

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Rewrite parameters and attributes in the docstring of a class or function."""
        if obj.is_function:
            for parameter in obj.parameters:
                constant = obj.module.members.get(str(parameter.default))
                if constant is not None and constant.is_attribute and constant.value:
                    parameter.default = constant.value
        if obj.docstring and (obj.is_class or obj.is_function):
            obj.docstring.value = SECTION.sub(
                lambda section: section[0].replace(section[1], own_rows(section)),
                obj.docstring.value,
            )


def own_rows(section: re.Match[str]) -> str:
    """A section with types as they are to be shown, and a row for each parameter.

    >>> rows = "tol, max_iter : float, int\\n    Limits."
    >>> print(own_rows(SECTION.match(f"Parameters\\n---\\n{rows}")))
    tol : float
        Limits.
    max_iter : int
        Limits.
    """
    # A row that goes on in the next line, after a backslash or a comma.
    body = re.sub(r"(?m)^(\S.*,)\n(?=\S)", r"\1 ", re.sub(r"\\\n *", "", section[1]))
    attributes = section[0].startswith("Attributes")

    def split(row: re.Match[str]) -> str:
        kind = (row[2] or "").strip()
        if attributes and not kind:
            return row[0]
        if attributes:
            return f"{row[1]} : {shown_type(kind)}\n{row[3]}"
        names, kinds = row[1].split(", "), kind.split(", ")
        if len(kinds) != len(names) or not all(map(KIND.fullmatch, kinds)):
            kinds = [kind] * len(names)
        below = row[3].rstrip("\n")
        rows = [
            f"{name} : {shown_type(kind)}\n{below}" for name, kind in zip(names, kinds, strict=True)
        ]
        return "\n".join(rows) + row[3][len(below) :]

    return ROW.sub(split, body)


def shown_type(kind: str) -> str:
    """A type in words that griffe does not take for an expression of Python.

    >>> shown_type("{'a', 'b'}, optional")
    "one of 'a', 'b'"
    """
    # A hyphen would make array-like the difference of two names.
    kind = kind.replace("array-like", "array\N{NON-BREAKING HYPHEN}like").replace("`", "")
    kind = kind.removesuffix(", optional")  # the column of defaults says so
    # Of choices in braces griffe shows the first as the default.
    kind = re.sub(r"\{([^{}]*)\}(?:, optional)?", r"one of \1", kind)
    kind = CHOICES.sub(r"one of \g<0>", kind)
    try:
        tree = ast.parse(kind, mode="eval").body
    except SyntaxError:
        return kind
    # "int, str or None" would be shown as a tuple, and '"auto" or None' without its quotes.
    choice = isinstance(tree, ast.BoolOp) and any(
        isinstance(value, ast.Constant) and isinstance(value.value, str) for value in tree.values
    )
    if isinstance(tree, ast.Tuple) or choice:
        kind = re.sub(r"(,?) (or )?", _unbroken, kind, count=1)
    return kind


def _unbroken(found: re.Match[str]) -> str:
    """The same with a space at which no line and no expression of Python breaks."""
    return f"{found[1]}\N{NO-BREAK SPACE}{found[2] or ''}"


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
        found = re.findall(r"^  ([\w-]+)", listing, flags=re.MULTILINE)
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
        if len(line) > COLUMNS and "  <- " in line:  # the remark beside a row of a table
            row, _, remark = line.partition("  <- ")
            lines += [row.rstrip(), "  <- " + remark]
            continue
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
    html = ALONE.sub(lambda block: show_formula(block[0], block[1]), html)
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


def show_formula(block: str, text: str) -> str:
    """A formula on lines of its own; any other block of code is left as it is."""
    if not FORMULA.search(text):
        return block
    lines = (re.sub(r" {2,}", "\N{EM SPACE}", line.rstrip()) for line in text.splitlines())
    return f'<p class="formula">{"<br>".join(lines)}</p>'


def set_formulas(text: str) -> str:
    """Indices below and powers above the line; braces may hold one more index."""
    for _ in range(2):
        text = INDEX.sub(lambda found: f"{found[1]}<sub>{found[2].strip('{}')}</sub>", text)
        text = POWER.sub(lambda found: f"<sup>{_bare(found[1])}</sup>", text)
    return text


def _bare(power: str) -> str:
    """A power without the parentheses or braces that held it together on the line."""
    return power[1:-1] if power[0] in "({" else power
