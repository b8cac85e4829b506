"""Expected against true time and memory of training, on all sets of the suite.

Each set has a process of its own: it asks for the expected costs (which come from pilots on a
part of the data), and then trains each kind of learner on all of them. `make bench BENCH=costs`
runs what has not been run, and prints the table; `python -m benchmarks.costs bibtex short-50k` runs
some sets. Figures are kept in `bench-results/costs/<set>.json`. Only on a quiet machine: times are
wall times.
"""

import ctypes
import gc
import json
import subprocess
import sys
import time
import warnings
from pathlib import Path

from benchmarks.harness import ROOT, THREADS, DataMissingError, peak_mb
from benchmarks.sets import SETS, load
from benchmarks.tuning import _features

CLAIM = "expected time and memory are within a factor of 1.5 of the truth"
RESULTS = ROOT / "bench-results" / "costs"


def run() -> dict[str, object]:
    """Run what is missing, each set in a process of its own, and print the table."""
    for name in SETS:
        if not (RESULTS / f"{name}.json").is_file():
            command = [sys.executable, "-m", "benchmarks.costs", name]
            subprocess.run(command, cwd=ROOT, check=False, stdout=subprocess.DEVNULL)
    return table()


def run_set(name: str) -> None:
    """Expected and true costs on a set, in this process."""
    try:
        train, _ = load(name)
    except DataMissingError as reason:
        print(f"  {name} skipped: {reason}", flush=True)
        return
    import labelwood
    from labelwood.auto import choose_learner

    warnings.simplefilter("ignore")
    X, Y = _features(train), train.Y
    del train
    choice = choose_learner(X, Y, n_jobs=THREADS)
    found = {}
    kinds = {one.learner: one for one in reversed(choice.candidates)}  # the plainest of each
    for one in reversed(kinds.values()):
        make = getattr(labelwood, one.learner)
        model = make(**one.params, random_state=0, n_jobs=THREADS)
        gc.collect()
        before = _reset_peak()
        start = time.perf_counter()
        model.fit(X, Y)
        found[one.name] = {
            "seconds": time.perf_counter() - start,
            "expected seconds": one.cost.seconds,
            "MB": peak_mb() - before,
            "expected MB": one.cost.bytes / 2**20,
        }
        del model
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(found) + "\n")


def _reset_peak() -> float:
    """Forget the largest resident set so far (Linux only); the present one in MB.

    Memory that was freed goes back to the system first, or else the next fit would find it there.
    """
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    return peak_mb()


def table() -> dict[str, object]:
    """Print what was run."""
    files = {name: RESULTS / f"{name}.json" for name in SETS}
    results = {name: json.loads(path.read_text()) for name, path in files.items() if path.is_file()}
    print("\n| set | learner | s | expected | ratio | MB | expected | ratio |\n|" + "---|" * 8)
    for name, rows in results.items():
        for learner, one in rows.items():
            print(
                f"| {name} | {learner} | {one['seconds']:.2f} | {one['expected seconds']:.2f} "
                f"| {one['expected seconds'] / one['seconds']:.2f} | {one['MB']:.0f} "
                f"| {one['expected MB']:.0f} | {one['expected MB'] / max(one['MB'], 1):.2f} |"
            )
    return results


if __name__ == "__main__":
    for chosen in sys.argv[1:]:
        run_set(chosen)
    table()
