"""Runs contestants one after the other, each in a process of its own, and compares them.

A benchmark is a module with

- `prepare(folder)`: writes the data both sides read (untimed), or raises `DataMissingError`;
- `CONTESTANTS`: name → (function, interpreter), ours first; the function takes the folder
  and returns figures, of which `seconds` and scores are compared;
- `CLAIM`: what is to be shown, in words.

Peak memory is the growth of the resident set from the start of the timed part,
as far as the system tells it.
"""

import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PEERS = ROOT / ".venv-peers" / "bin" / "python"
THREADS = 2
SHARED_DATA = Path(os.environ.get("LABELWOOD_DATA", ROOT.parent / "shared" / "data"))


class DataMissingError(Exception):
    """The data of a benchmark are not there."""


@dataclass
class Timer:
    """Seconds and memory of the `with timer.measure():` part of a contestant."""

    seconds: float = 0.0
    peak_mb: float = float("nan")

    @contextmanager
    def measure(self):
        before = _reset_peak()
        start = time.perf_counter()
        yield self
        self.seconds = time.perf_counter() - start
        self.peak_mb = _peak_mb() - before


def best_of(repeats: int, run: Callable[[], object]) -> tuple[object, dict[str, float]]:
    """Run a few times; the last result, the least time and the largest memory."""
    timers, result = [], None
    for _ in range(repeats):
        result = None
        timer = Timer()
        with timer.measure():
            result = run()
        timers.append(timer)
    return result, {
        "seconds": min(timer.seconds for timer in timers),
        "peak MB": max(timer.peak_mb for timer in timers),
    }


def run_benchmark(name: str) -> dict[str, object]:
    """All contestants of a benchmark, printed as a table of figures and ratios."""
    module = importlib.import_module(f"benchmarks.{name}")
    print(f"\n{name}: {module.CLAIM}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        try:
            module.prepare(Path(folder))
        except DataMissingError as reason:
            print(f"  skipped: {reason}")
            return {"skipped": str(reason)}
        figures = {
            contestant: _run_apart(name, contestant, interpreter, folder)
            for contestant, (_, interpreter) in module.CONTESTANTS.items()
        }
    _print_table(figures)
    return figures


def _run_apart(name: str, contestant: str, interpreter: Path, folder: str) -> dict[str, float]:
    command = [str(interpreter), "-m", "benchmarks.harness", name, contestant, folder]
    environment = {**os.environ, "OMP_NUM_THREADS": str(THREADS)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"{contestant} failed:\n{done.stderr.decode(errors='replace')[-2000:]}")
    return json.loads(done.stdout.decode().splitlines()[-1])


def _print_table(figures: dict[str, dict[str, float]]) -> None:
    ours, *_ = figures
    names = list(figures[ours])
    width = max(len(name) for name in figures) + 2
    print("  " + " " * width + "".join(f"{name:>20}" for name in names))
    for contestant, values in figures.items():
        cells = []
        for name in names:
            value, reference = values.get(name), figures[ours][name]
            if value is None:
                cells.append(f"{'–':>20}")
            elif contestant == ours or name not in ("seconds", "ms a point", "peak MB"):
                cells.append(f"{value:>20.3f}")
            else:
                cells.append(f"{value:>11.3f} ({value / reference:5.2f}×)")
        print(f"  {contestant:<{width}}" + "".join(cells), flush=True)


def _reset_peak() -> float:
    """Forget the peak so far (Linux); the answer is the present size in MB."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return float("nan")
    return _peak_mb()


def _peak_mb() -> float:
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return float("nan")
    line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


def main() -> None:
    """Run one contestant; the last line of standard output is its figures."""
    name, contestant, folder = sys.argv[1:]
    function, _ = importlib.import_module(f"benchmarks.{name}").CONTESTANTS[contestant]
    print(json.dumps(function(Path(folder))))


if __name__ == "__main__":
    main()
