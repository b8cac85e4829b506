"""The architecture as CONTRIBUTING shows it: no cycle of imports, one folder for each algorithm."""

import ast
import re
from collections import defaultdict
from functools import cache
from graphlib import CycleError, TopologicalSorter
from itertools import combinations
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "labelwood"
FILES = sorted(PACKAGE.rglob("*.py"))


# What is not yet as it should be; nothing may be added, and what is mended is taken out.
OPEN_CYCLES: set[str] = set()


def module_name(file):
    parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(file): file for file in FILES}


@cache
def syntax(file):
    return ast.parse(file.read_text(encoding="utf-8"))


def without_type_checking(tree):
    """All statements that run: what stands under `if TYPE_CHECKING` never does."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            node.body = [ast.Pass()]
    return ast.walk(tree)


def imports(name):
    """Modules of the package that a module imports, in its functions too."""
    found = set()
    for node in without_type_checking(syntax(MODULES[name])):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}: imports are absolute"
            full = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {one if one in MODULES else node.module for one in full}
    # The package itself imports lazily, by name, and depends on nothing when it is imported.
    return {one for one in found if one in MODULES} - {name, "labelwood"}


def test_no_modules_import_each_other_not_even_in_functions():
    graph = {name: imports(name) for name in MODULES if name not in OPEN_CYCLES}
    cycle: list[str] = []
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        cycle = error.args[1]
    assert not cycle, "import cycle: " + " -> ".join(cycle)


def test_no_two_files_of_a_folder_share_the_name_of_an_algorithm():
    folders = defaultdict(list)
    for file in FILES:
        if not file.name.startswith("_"):
            folders[file.parent].append(file.stem)
    shared = [
        f"{folder.relative_to(PACKAGE)}: {one}, {other}"
        for folder, names in folders.items()
        for one, other in combinations(sorted(names), 2)
        if one.split("_")[0] == other.split("_")[0]
    ]
    assert not shared


ALGORITHMS = sorted(
    {
        file.parent
        for area in ("linear", "trees", "taxonomy", "kernels", "sequences", "experiments")
        for file in (PACKAGE / area).rglob("*.py")
        if file.parent != PACKAGE / area
    }
)


@pytest.mark.parametrize("folder", ALGORITHMS, ids=lambda one: str(one.relative_to(PACKAGE)))
def test_an_algorithm_is_followed_in_at_most_eight_modules(folder):
    modules = [file.name for file in folder.glob("*.py") if file.name != "__init__.py"]
    assert len(modules) <= 8, modules


DIALECT = re.compile(r"seed 00|\btold\b|\banew\b", re.IGNORECASE)
TEXTS = [
    *FILES,
    ROOT / "README.md",
    *(file for file in sorted((ROOT / "docs").rglob("*")) if file.suffix in (".md", ".py")),
]


def test_sources_are_cited_as_publications_and_the_words_are_those_of_the_field():
    found = [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()}"
        for file in TEXTS
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if DIALECT.search(line)
    ]
    assert not found, "\n".join(found)


def test_every_warning_points_at_the_line_of_the_user():
    """Functions and wrappers between the user's call and the warning come and go."""
    found = [
        f"{file.relative_to(ROOT)}:{node.lineno}"
        for file in FILES
        if "cli" not in file.parts
        for node in ast.walk(syntax(file))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "warnings.warn"
        if "stacklevel=user_stacklevel()" not in ast.unparse(node)
    ]
    assert not found


def test_the_map_of_the_docs_names_files_and_functions_that_exist():
    text = (ROOT / "docs" / "reference" / "map.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| [^|]+\| ([^|]+)\| ([^|]+)\|$", text, re.MULTILINE)[1:]
    assert len(rows) > 12
    for places, starts in rows:
        named = re.findall(r"`([\w/]+\.py)`", places)
        files = [PACKAGE / one for one in named if "/" in one]
        source = "".join(file.read_text(encoding="utf-8") for file in files)
        for name in re.findall(r"`(\w+)`", starts):
            assert re.search(rf"(def|class) {name}\b", source), (places, name)


def test_tricks_of_kernels_are_explained():
    """Whole-line comments are at least 3 % of the lines."""
    lines = [
        line.strip()
        for file in PACKAGE.rglob("_*kernels.py")
        for line in file.read_text(encoding="utf-8").splitlines()
        if line.strip()
    ]
    assert sum(line.startswith("#") for line in lines) >= 0.03 * len(lines)
