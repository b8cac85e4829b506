"""Mutation check: change every numeric constant of a formula, and see that a test notices.

    python tests/mutation.py                      # all modules, hours
    python tests/mutation.py taxonomy/bounds.py   # one of them
    python tests/mutation.py --list               # what would be changed

The package is copied to a temporary folder, where one constant at a time is changed and the tests
of that module are run until the first failure. A constant whose change no test notices is printed
as a survivor, and the exit code is 1. `EXPLAINED` has survivors that are meant to survive, and why.
"""

import argparse
import ast
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PACKAGE = Path("src") / "labelwood"
TARGETS = {
    "taxonomy/bounds.py": ["tests/taxonomy/test_bounds.py"],
    "kernels/bounds.py": ["tests/kernels/test_bounds.py"],
    "trees/bounds/formulas.py": ["tests/trees/bounds/test_bounds.py"],
    "trees/bounds/guarantees.py": ["tests/trees/bounds/test_bounds.py"],
    "trees/bounds/rule_trees.py": ["tests/trees/bounds/test_rule_trees.py"],
    "trees/bounds/linear_decisions.py": ["tests/trees/bounds/test_linear_decisions.py"],
    "metrics/intervals.py": ["tests/metrics/test_intervals.py", "tests/metrics/test_theorems.py"],
    "experiments/online_fdr": ["tests/experiments/online_fdr"],
    "experiments/best_arm/always_valid.py": ["tests/experiments/best_arm/test_always_valid.py"],
    "trees/fastxml/growth.py": ["tests/trees/fastxml/test_fastxml.py"],
    "trees/fastxml/_partition_kernels.py": ["tests/trees/fastxml/test_fastxml.py"],
}
# (file, line as it reads without blanks at its ends): why no test can or should notice.
EXPLAINED: dict[tuple[str, str], str] = {
    ("metrics/intervals.py", "_FLOATS_AT_ONCE = 2**22"): "size of a block: no result depends on it",
}
_SECONDS = 900  # a mutant that hangs is noticed, too


class Constant(NamedTuple):
    """A number in a source file, and where it stands."""

    file: str
    line: int
    start: int
    end: int
    text: str
    mutant: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text} → {self.mutant}"


def files(target: str) -> list[str]:
    """The source files of a target, which may be a folder."""
    path = ROOT / PACKAGE / target
    found = sorted(path.glob("*.py")) if path.is_dir() else [path]
    return [str(one.relative_to(ROOT / PACKAGE)) for one in found if one.name != "__init__.py"]


def constants(file: str) -> Iterator[Constant]:
    """The numbers of a file, without those in types, slices of one step and docstrings."""
    source = (ROOT / PACKAGE / file).read_text("utf-8")
    lines = source.encode("utf-8").splitlines()
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Constant) or type(node.value) not in (int, float):
            continue
        if node.lineno != node.end_lineno or node.end_col_offset is None:
            continue
        text = lines[node.lineno - 1][node.col_offset : node.end_col_offset].decode("utf-8")
        yield Constant(
            file, node.lineno, node.col_offset, node.end_col_offset, text, _mutant(node.value)
        )


def _mutant(value: float) -> str:
    """A number next to it: one more, or a third more (a tenth for zero)."""
    if isinstance(value, int):
        return str(value + 1)
    return repr(value * 1.3) if value else "0.1"


def survives(one: Constant, tests: list[str], copy: Path) -> bool:
    """Whether the tests pass with the constant changed."""
    path = copy / PACKAGE / one.file
    original = path.read_bytes()
    lines = original.splitlines(keepends=True)
    line = lines[one.line - 1]
    lines[one.line - 1] = line[: one.start] + one.mutant.encode("utf-8") + line[one.end :]
    path.write_bytes(b"".join(lines))
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(copy / "src"), "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, timeout=_SECONDS, check=False
        )
        return done.returncode == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        path.write_bytes(original)


def explained(one: Constant) -> str | None:
    """Why the constant may survive, if it may."""
    line = (ROOT / PACKAGE / one.file).read_text("utf-8").splitlines()[one.line - 1].strip()
    return EXPLAINED.get((one.file, line))


def main() -> int:
    """Run what the command line asks for; 1 where a constant survives without a reason."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("targets", nargs="*", help=f"of {', '.join(TARGETS)}; all by default")
    parser.add_argument("--list", action="store_true", help="print the constants and stop")
    parser.add_argument("--tests", action="append", help="other tests than those of the module")
    given = parser.parse_args()
    unknown = set(given.targets) - set(TARGETS)
    if unknown:
        parser.error(f"no target {', '.join(sorted(unknown))}")
    survivors = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        if not given.list:
            shutil.copytree(ROOT / "src", copy / "src")
        for target in given.targets or TARGETS:
            for one in (one for file in files(target) for one in constants(file)):
                if given.list:
                    print(one)
                    continue
                alive = survives(one, given.tests or TARGETS[target], copy)
                reason = explained(one) if alive else None
                word = "killed" if not alive else f"explained ({reason})" if reason else "SURVIVES"
                print(f"{word}: {one}", flush=True)
                if alive and reason is None:
                    survivors.append(one)
    if not given.list:
        print(f"{len(survivors)} survivors")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
