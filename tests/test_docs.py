"""The commands in README and docs are run, and must print what they are said to print."""

import doctest
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def console_blocks(page):
    """(command, expected output) pairs of a page, in order."""
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            yield command, output


def arguments(command):
    """The command as a process; `make demo` is run without setting up an environment."""
    words = shlex.split(command, comments=True)
    if words[:2] == ["make", "demo"]:
        words[:2] = ["labelwood", "demo"]
    assert words[0] == "labelwood", f"a page shows a command that is not run: {command}"
    return [sys.executable, "-m", *words]


NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
OF_THE_MACHINE = re.compile(r"~?\d[\d,.]* ?(?:s|ms|min|h|MB|GB|kB)\b")


def without_numbers(text):
    return NUMBER.sub("0", text)


def figures(line):
    """The numbers of a line, without times and sizes, which depend on the machine."""
    return [float(one.replace(",", "")) for one in NUMBER.findall(OF_THE_MACHINE.sub("", line))]


def wrong_figures(expected, printed):
    """Lines whose words are printed, but not their figures, but for what libraries round."""
    wrong = []
    for line in expected.splitlines():
        alike = [one for one in printed.splitlines() if words(one) == words(line)]
        if alike and not any(
            figures(one) == pytest.approx(figures(line), rel=0.01) for one in alike
        ):
            wrong.append(line)
    return wrong


def words(line):
    return without_numbers(line).split()


PAGES_WITH_COMMANDS = [page for page in PAGES if any(console_blocks(page))]


@pytest.mark.parametrize("page", PAGES_WITH_COMMANDS, ids=lambda page: page.name)
def test_the_commands_of_a_page_print_what_it_says(page, tmp_path):
    samples = ROOT / "docs" / "samples"
    if samples.is_dir():
        shutil.copytree(samples, tmp_path, dirs_exist_ok=True)
    for command, expected in console_blocks(page):
        done = subprocess.run(
            arguments(command), cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"$ {command}\n{done.stderr}"
        same = doctest.OutputChecker().check_output(
            without_numbers(expected), without_numbers(done.stdout), FLAGS
        )
        assert same, f"$ {command}\nexpected:\n{expected}\nprinted:\n{done.stdout}"
        assert not wrong_figures(expected, done.stdout), f"$ {command}\nprinted:\n{done.stdout}"


def test_the_readme_shows_commands():
    assert ROOT / "README.md" in PAGES_WITH_COMMANDS


def test_every_link_between_pages_leads_somewhere():
    for page in (*PAGES, ROOT / "CONTRIBUTING.md"):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_test_that_a_page_names_exists():
    named = {
        (page.name, file, name)
        for page in PAGES
        for file, name in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page.read_text("utf-8"))
    }
    assert sum(page == "robustness.md" for page, _, _ in named) > 80
    for page, file, name in sorted(named):
        assert f"\ndef {name}(" in (ROOT / file).read_text("utf-8"), f"{page}: {file}::{name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_waits_for_something(page):
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"\bTODO\b|\bXXX\b|[A-Z]+-?(HERE|TABLE|TEXT)\b", text)
