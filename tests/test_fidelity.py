"""The page on fidelity names things that exist."""

import importlib
import re
from pathlib import Path

import pytest

from labelwood import studies

PAGE = Path(__file__).parents[1] / "docs" / "research" / "fidelity.md"
NAMES = sorted(set(re.findall(r"`(labelwood(?:\.\w+)+)`", PAGE.read_text("utf-8"))))
STUDIES = sorted(set(re.findall(r"\| (?:[^|`]*\b)?study ([\w-]+)", PAGE.read_text("utf-8"))))


def exists(name: str) -> bool:
    """Whether a dotted name is a module, or an attribute of one."""
    parts = name.split(".")
    for size in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:size]))
        except ModuleNotFoundError:
            continue
        for part in parts[size:]:
            found = getattr(found, part, None)
        return found is not None
    return False


@pytest.mark.parametrize("name", NAMES)
def test_every_name_of_the_page_can_be_imported(name: str) -> None:
    assert exists(name)


def test_a_name_that_is_not_there_is_found_out() -> None:
    assert not exists("labelwood.metrics.no_such_metric")


def test_every_study_of_the_page_is_there() -> None:
    assert len(STUDIES) >= 10
    assert set(STUDIES) <= set(studies.names())


def test_every_row_says_what_came_out_of_what() -> None:
    rows = [line for line in PAGE.read_text("utf-8").splitlines() if line[:2] == "| "]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert len(cells) > 60
    assert all(len(row) == 3 and all(row) for row in cells)
