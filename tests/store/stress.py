"""Savers, loaders and kills on one model directory; prints the number of each outcome as JSON.

python tests/store/stress.py race 300     # a saver beside a loader, for 300 seconds
python tests/store/stress.py kills 200    # kill -9 at 200 moments spread over a save
python tests/store/stress.py steps        # end the process before each file operation of a save
"""

import json
import os
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import labelwood
from labelwood import PopularityClassifier

N_LABELS = 5_000
FIRST = {"a": 1, "b": 2}


def model(kind: str) -> PopularityClassifier:
    """A model whose names (in JSON) and counts (in the arrays) both tell its kind."""
    fitted = PopularityClassifier().fit([[1.0]], [[f"{kind}0"]])
    fitted.classes_ = np.array([f"{kind}{i}" for i in range(N_LABELS)])
    for name, value in vars(fitted).items():
        if isinstance(value, np.ndarray) and value.dtype.kind in "iuf":
            setattr(fitted, name, np.full(N_LABELS, FIRST[kind], dtype=value.dtype))
    return fitted


def outcome(directory: Path) -> str:
    """Whether the directory holds a whole model, and which."""
    try:
        loaded = labelwood.load(directory)
    except labelwood.errors.LabelwoodError as error:
        return f"refused: {str(error).replace(str(directory), '…')}"
    kind = str(loaded.classes_[0])[0]
    arrays = [v for v in vars(loaded).values() if isinstance(v, np.ndarray) and v.dtype.kind != "U"]
    whole = arrays and all((array == FIRST[kind]).all() for array in arrays)
    return f"whole {kind}" if whole else "mixed"


def leftovers(directory: Path) -> int:
    """Files beyond the two of a model, in it and beside it."""
    return len(list(directory.iterdir())) - 2 + len(list(directory.parent.iterdir())) - 1


def race(directory: Path, seconds: float, savers: int = 2) -> Counter[str]:
    models = [model("a"), model("b")]
    labelwood.save(models[0], directory)
    end = time.monotonic() + seconds
    children = [os.fork() for _ in range(1)]
    for _ in range(savers - 1):
        children += [os.fork()] if all(children) else []
    if not all(children):
        turn = os.getpid()
        while time.monotonic() < end:
            labelwood.save(models[turn % 2], directory)
            turn += 1
        os._exit(0)
    counts: Counter[str] = Counter()
    while time.monotonic() < end:
        counts[outcome(directory)] += 1
    for child in children:
        counts["savers that failed"] += os.waitpid(child, 0)[1] != 0
    counts["left over"] = leftovers(directory)
    return counts


def kills(directory: Path, n: int) -> Counter[str]:
    models = [model("a"), model("b")]
    labelwood.save(models[0], directory)
    start = time.monotonic()
    labelwood.save(models[1], directory)
    duration = time.monotonic() - start
    counts: Counter[str] = Counter()
    for i in range(n):
        child = os.fork()
        if child == 0:
            for _ in range(1000):
                labelwood.save(models[i % 2], directory)
            os._exit(0)
        time.sleep(1.5 * duration * (i + 0.5) / n)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        counts["files left by the kill"] += leftovers(directory)
        counts[outcome(directory)] += 1
    labelwood.save(models[0], directory)
    counts["left over after the next save"] = leftovers(directory)
    return counts


def steps(directory: Path) -> Counter[str]:
    """End the process before the first, second, … file operation, into a new and an old model."""
    models = [model("a"), model("b")]
    counts: Counter[str] = Counter()
    for new in (False, True):
        step, ended_early = 0, True
        while ended_early:
            target = directory if not new else directory.parent / "new"
            child = os.fork()
            if child == 0:
                _exit_before(step)
                labelwood.save(models[step % 2], target)
                os._exit(0)
            ended_early = os.waitpid(child, 0)[1] != 0
            if target.exists() and any(p.name == "model.json" for p in target.iterdir()):
                counts[outcome(target)] += 1
            elif new or step == 0:
                counts["no model yet"] += 1
            else:
                counts["lost"] += 1
            if new and target.exists() and ended_early:
                labelwood.save(models[0], target)  # removes what was left
                counts["left over"] += len(list(target.iterdir())) - 2
                for path in target.iterdir():
                    path.unlink()
                target.rmdir()
            step += 1
            if not new and step == 1:
                labelwood.save(models[0], directory)
        counts["steps"] += step
    return counts


def _exit_before(step: int) -> None:
    calls = iter(range(step + 1))

    def wrapped(function):
        def call(*arguments, **options):
            if next(calls, step) == step:
                os._exit(9)
            return function(*arguments, **options)

        return call

    for name in ("fsync", "replace", "mkdir", "unlink", "open"):
        setattr(os, name, wrapped(getattr(os, name)))


def main() -> None:
    what, *numbers = sys.argv[1:]
    with TemporaryDirectory() as folder:
        run = {"race": race, "kills": kills, "steps": steps}[what]
        counts = run(Path(folder) / "model", *map(int, numbers))
    print(json.dumps(counts))


if __name__ == "__main__":
    main()
