"""Fills the command line page from the command line itself, when the site is built."""

import re
from typing import Any

from typer.testing import CliRunner

MARK = "<!-- commands -->"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Put the help of every subcommand in place of the mark."""
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
