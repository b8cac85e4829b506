"""Runs contestants one after the other, each in a process of its own, and compares them.

A benchmark is a module with

- `prepare(folder, …)`: writes the data that all sides read (untimed), or raises
  `DataMissingError`;
- `CONTESTANTS`: name → (function, interpreter), ours first; the function takes the folder
  and returns figures, of which times and sizes are compared;
- `CLAIM`: what is to be shown, in words.

Peak memory is that of the whole process, data and libraries included, until the end of the
timed part.
"""

import importlib
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from sys import argv

ROOT = Path(__file__).resolve().parents[1]
PEERS = ROOT / ".venv-peers" / "bin" / "python"
DYNAMAX = ROOT / ".venv-dynamax" / "bin" / "python"
SKIPPED = "skipped:"  # begins the reason with which a contestant that cannot run exits
THREADS = 2
SHARED_DATA = Path(os.environ.get("LABELWOOD_DATA", ROOT.parent / "shared" / "data"))
COMPARED = ("seconds", "peak MB", "ms a point", "model MB")
_ENOUGH_SECONDS = 10

Figures = dict[str, float]


class DataMissingError(Exception):
    """The data of a benchmark are not there."""


def best_of(repeats: int, run: Callable[[], object]) -> tuple[object, Figures]:
    """Run a few times, fewer when it takes long; the last result, the least time, the peak."""
    times: list[float] = []
    result = None
    while len(times) < repeats and sum(times) < _ENOUGH_SECONDS:
        result = None  # or it would count in the memory of the next run
        start = time.perf_counter()
        result = run()
        times.append(time.perf_counter() - start)
    return result, {"seconds": min(times), "peak MB": peak_mb()}


def compare(name: str, *options: str) -> dict[str, object]:
    """All contestants of a benchmark, printed as a table of figures and ratios."""
    module = importlib.import_module(f"benchmarks.{name}")
    print(f"\n{' '.join((name, *options))}: {module.CLAIM}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        try:
            module.prepare(Path(folder), *options)
        except DataMissingError as reason:
            print(f"  skipped: {reason}")
            return {"skipped": str(reason)}
        left_out = [one for option in options for one in module.LEFT_OUT.get(option, ())]
        contestants = {one: v for one, v in module.CONTESTANTS.items() if one not in left_out}
        width = max(len(contestant) for contestant in contestants) + 2
        figures: dict[str, Figures] = {}
        for contestant, (_, interpreter) in contestants.items():
            figures[contestant] = run_apart(name, contestant, interpreter, folder)
            _print_row(contestant, figures, width)
    return figures


def run_apart(name: str, contestant: str, interpreter: Path, folder: str) -> Figures:
    """The figures of a contestant; none when it fails, so that the others are not lost."""
    if not interpreter.exists():
        print(f"  {contestant} {SKIPPED} {interpreter} is not there; `make bench` sets it up")
        return {}
    command = [str(interpreter), "-m", "benchmarks.harness", name, contestant, folder]
    environment = {**os.environ, "OMP_NUM_THREADS": str(THREADS)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False)
    if done.returncode:
        reason = done.stderr.decode(errors="replace")[-2000:].strip()
        last = reason.splitlines()[-1] if reason else ""
        skipped = last.startswith(SKIPPED)
        print(f"  {contestant} " + (last if skipped else f"failed:\n{reason}"), flush=True)
        return {}
    return json.loads(done.stdout.decode().splitlines()[-1])


def _print_row(contestant: str, figures: dict[str, Figures], width: int) -> None:
    """The figures of the latest contestant; the first one's are what it is compared with."""
    ours = next(iter(figures.values()))
    if len(figures) == 1:
        print("  " + " " * width + "".join(f"{name:>20}" for name in ours))
    cells = "".join(f"{_cell(name, figures[contestant], ours):>20}" for name in ours)
    print(f"  {contestant:<{width}}{cells}", flush=True)


def _cell(name: str, values: Figures, ours: Figures) -> str:
    if name not in values:
        return "–"
    if values is ours or name not in ours or not _is_compared(name):
        return f"{values[name]:.3f}"
    return f"{values[name]:.3f} ({values[name] / ours[name]:5.2f}×)"


def _is_compared(name: str) -> bool:
    """Times and sizes; "ms …" is a time of something that the name tells."""
    return name in COMPARED or name.startswith("ms ")


def peak_mb() -> float:
    """The largest resident set so far (`getrusage` would count the parent's before the fork)."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return float("nan")
    line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


def main() -> None:
    """Run one contestant; the last line of standard output is its figures."""
    name, contestant, folder = argv[1:]
    function, _ = importlib.import_module(f"benchmarks.{name}").CONTESTANTS[contestant]
    print(json.dumps(function(Path(folder))))


if __name__ == "__main__":
    main()
