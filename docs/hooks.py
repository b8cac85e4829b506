"""Fills the command line page from the command line itself, and sets formulas."""

import re
import textwrap
from typing import Any

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
