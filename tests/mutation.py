"""Mutation check: change every numeric constant of a formula, and see that a test notices.

    python tests/mutation.py                      # all modules, hours
    python tests/mutation.py taxonomy/bounds.py   # one of them
    python tests/mutation.py --list               # what would be changed
    python tests/mutation.py MODULE --first "not simulation"   # all tests for survivors alone

The package is copied to a temporary folder, where one constant at a time is changed and the tests
of that module are run until the first failure. A constant whose change no test notices is printed
as a survivor, and the exit code is 1. `EXPLAINED` has survivors that are meant to survive, and why.
"""

import argparse
import ast
import contextlib
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

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
    "experiments/best_arm/always_valid.py": [
        "tests/experiments/best_arm/test_always_valid.py",
        "tests/experiments/best_arm/test_least_differences.py",
    ],
    "trees/fastxml/growth.py": ["tests/trees/fastxml/test_fastxml.py"],
    "trees/fastxml/_partition_kernels.py": ["tests/trees/fastxml/test_fastxml.py"],
}
# (file, line as it reads without blanks at its ends): why no test can or should notice.
EXPLAINED: dict[tuple[str, str], str] = {
    (
        "trees/bounds/linear_decisions.py",
        "_N_MARGINS = 20  # halvings of the radius that are tried for the margin; each is paid for",
    ): "the capacity of a margin R/2^21 is above 1 below 10^13 samples, so that it never wins",
    (
        "trees/bounds/linear_decisions.py",
        "radius = float(np.sqrt(squares.max(initial=0))) or 1.0",
    ): "the constant feature makes every square at least 1",
    (
        "trees/bounds/linear_decisions.py",
        "for j in range(1, _N_MARGINS + 1):",
    ): "one margin more, as above; one fewer is noticed",
    (
        "trees/bounds/linear_decisions.py",
        "probes = np.zeros((features.size + 1, matrix.shape[1]), dtype=np.float32)",
    ): "a further row of zeros adds nothing to the norm of the weights",
    (
        "trees/bounds/linear_decisions.py",
        "return scores / (norm or 1.0), squares, int(features.size), int(matrix.shape[1])",
    ): "for a decision of weight 0 alone, whose scores are 0",
    (
        "taxonomy/bounds.py",
        "last = max((k for k in range(_MOST_DOUBLINGS) if too_large(2**k)), default=-1)",
    ): "any negative number says that no t is too large; the base is noticed",
    (
        "taxonomy/bounds.py",
        "low, high = 2**last, 2 ** (last + 1)",
    ): "a further upper end is searched to the same t; the lower end is noticed",
    (
        "kernels/bounds.py",
        "low, high = 1e-6, 1.0",
    ): "where a bisection starts; it ends at the same root",
    ("kernels/bounds.py", "high *= 2"): "how a bisection is widened; it ends at the same root",
    ("kernels/bounds.py", "for _ in range(100):"): "bisections beyond the last bit change nothing",
    (
        "trees/bounds/rule_trees.py",
        "inner = trees.right >= 0",
    ): "the first node is nobody's right child",
    (
        "trees/bounds/guarantees.py",
        "budgets = np.diff(model.indptr_)[model.right_ >= 0]",
    ): "the first node is nobody's right child",
    (
        "trees/bounds/guarantees.py",
        "if model.roots_.size > 1:",
    ): "no model has two trees: two classes have one, more have one each",
    (
        "trees/bounds/guarantees.py",
        "own = [leaves.get(one, -1) for one in read.set_keys(read.known_labels(model, y, n))]",
    ): "any negative number stands for no leaf",
    (
        "trees/bounds/guarantees.py",
        "def _check(name: str, model: object, kind: str, delta: float = 0.5) -> None:",
    ): "any probability passes the check where none is asked for",
    (
        "experiments/online_fdr/asynchronous.py",
        "gammas = self._table.up_to(self.n_started + 1)",
    ): "a longer table: no value depends on it",
    (
        "experiments/online_fdr/base.py",
        "def __init__(self, gamma: Gamma, decay: float = 1.0) -> None:",
    ): "anything from 1 on says that nothing fades",
    ("experiments/online_fdr/base.py", "self._extend(256)"): "size of a table, which grows",
    ("experiments/online_fdr/base.py", "self._extend(2 * n)"): "size of a table, which grows",
    ("experiments/online_fdr/base.py", "if self._decay < 1:"): "powers of 1 change nothing",
    (
        "experiments/online_fdr/gamma.py",
        "N = 1000",
    ): "how many terms are added one by one; the sum is the same",
    (
        "experiments/online_fdr/investing.py",
        "self._faded = self._table if decay == 1 else GammaTable(self.gamma, decay)",
    ): "a table of its own with the same values",
    (
        "experiments/online_fdr/investing.py",
        "self._times = np.empty(16, dtype=np.int64)",
    ): "size of an array, which grows",
    (
        "experiments/online_fdr/investing.py",
        "if self.decay == 1:",
    ): "a shorter way to the same wealth",
    (
        "experiments/online_fdr/investing.py",
        "share = self.initial_wealth * float(self._table.up_to(clock + 1)[clock])",
    ): "a longer table: no value depends on it",
    (
        "experiments/online_fdr/investing.py",
        "gammas = self._faded.up_to(clock + 1)[ages]",
    ): "a longer table: no value depends on it",
    (
        "trees/fastxml/_partition_kernels.py",
        "_LEAST_GROWTH = 1e-6",
    ): "a tolerance near what sums of single precision resolve",
    (
        "trees/fastxml/_partition_kernels.py",
        "_HALF = np.uint64(32)",
    ): "the bit that is lost is the sign, which all positive sums share",
    (
        "trees/fastxml/_partition_kernels.py",
        "value = 0.0",
    ): "what every value has more is not in their differences",
    ("trees/fastxml/_partition_kernels.py", "before = -1.0"): "anything below every nDCG",
    (
        "trees/fastxml/_partition_kernels.py",
        "sums = zeros((2, n_labels), np.float32)",
    ): "a third row that nobody reads",
    (
        "trees/fastxml/growth.py",
        "_MAX_EXPONENT = 100  # 2**100 and 2**-100 are float32 numbers",
    ): "2**101 is a number of single precision, too",
    (
        "trees/fastxml/growth.py",
        "size = max(1, len(others) // (4 * n_threads))",
    ): "how trees are shared out among threads: no result depends on it",
    (
        "trees/fastxml/growth.py",
        "length = float(np.median(lengths[lengths > 0])) if X.nnz else 1.0",
    ): "the length of a matrix without an entry, which nothing is scaled by",
    (
        "trees/fastxml/growth.py",
        "discounts = 1 / np.log2(2 + np.arange(Y.shape[1] + 1))",
    ): "one discount more than is read; its other constants are noticed",
    (
        "trees/fastxml/growth.py",
        "size = samples.X.indices.size + n + 1",
    ): "size of a workspace",
    (
        "trees/fastxml/growth.py",
        "np.zeros(2 * n_features, dtype=np.uint32),",
    ): "size of a workspace",
    (
        "trees/fastxml/growth.py",
        "if entries + n >= 2**32:",
    ): "a matrix of 2³² non-zeros is too large for a test",
    (
        "trees/fastxml/growth.py",
        "needed = n_threads * (24 * entries + 16 * n_labels + 120 * n)",
    ): "bytes in an estimate of memory",
    (
        "trees/fastxml/growth.py",
        "needed = int(2.2 * sum(sizes) / len(sizes) * n_trees)",
    ): "bytes in an estimate of memory",
    (
        "metrics/intervals.py",
        "for block in blocks(n_bootstrap, max(1, _FLOATS_AT_ONCE // n)):",
    ): "size of a block for more than four million samples: no result depends on it",
    ("metrics/intervals.py", "_FLOATS_AT_ONCE = 2**22"): "size of a block: no result depends on it",
}
_SECONDS = 300


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
    """Whether the tests pass with the constant changed, in a child of this process.

    The child has everything imported already and drops only what knows the changed module, so
    that a mutant costs its tests and not the start of an interpreter.
    """
    path = copy / PACKAGE / one.file
    original = path.read_bytes()
    lines = original.splitlines(keepends=True)
    line = lines[one.line - 1]
    lines[one.line - 1] = line[: one.start] + one.mutant.encode("utf-8") + line[one.end :]
    path.write_bytes(b"".join(lines))
    try:
        child = os.fork()
        if child == 0:
            signal.alarm(_SECONDS)  # a mutant that hangs is noticed, too
            _drop(one.file)
            os._exit(_run(tests))
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        path.write_bytes(original)


def _run(tests: list[str]) -> int:
    """The exit code of pytest, whose output is thrown away."""
    with (
        open(os.devnull, "w") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        return int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *tests]))


def _drop(file: str) -> None:
    """Forget the module, all modules that hold things of it or of these, and the tests."""
    changed = {"labelwood." + file.removesuffix(".py").replace("/", ".")}
    while True:
        more = {
            name
            for name, module in list(sys.modules.items())
            if name.startswith("labelwood.") and name not in changed and _holds(module, changed)
        }
        if not more:
            break
        changed |= more
    tests = {
        name
        for name, module in list(sys.modules.items())
        if str(getattr(module, "__file__", "") or "").startswith(str(ROOT / "tests"))
        and name != "__main__"
    }
    for name in changed | tests:
        sys.modules.pop(name, None)
        parent, _, child = name.rpartition(".")
        if parent in sys.modules and hasattr(sys.modules[parent], child):
            delattr(sys.modules[parent], child)


def _holds(module: object, names: set[str]) -> bool:
    return any(
        getattr(value, "__module__", None) in names or getattr(value, "__name__", None) in names
        for value in list(vars(module).values())
    )


def explained(one: Constant) -> str | None:
    """Why the constant may survive, if it may."""
    line = (ROOT / PACKAGE / one.file).read_text("utf-8").splitlines()[one.line - 1].strip()
    return EXPLAINED.get((one.file, line))


def main() -> int:
    """Run what the command line asks for; 1 where a constant survives without a reason."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("targets", nargs="*", help=f"of {', '.join(TARGETS)}; all by default")
    parser.add_argument("--list", action="store_true", help="print the constants and stop")
    parser.add_argument(
        "--first", help="tests to run first, as -k of pytest; the rest if they pass"
    )
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
            sys.path[:0] = [str(copy / "src"), str(ROOT / "tests")]
            sys.dont_write_bytecode = True
            os.chdir(ROOT)
        for target in given.targets or TARGETS:
            tests = given.tests or TARGETS[target]
            first = [*tests, "-k", given.first] if given.first else tests
            if not given.list and _run(first) != 0:
                parser.error(f"the tests of {target} fail as it is")
            for one in (one for file in files(target) for one in constants(file)):
                if given.list:
                    print(one)
                    continue
                alive = survives(one, first, copy) and (
                    first is tests or survives(one, tests, copy)
                )
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
