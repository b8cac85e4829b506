"""Model files in full and in eight bits, answers to one row, and compile time of each learner.

On EURLEX57K where `../shared/data` is there, else on synthetic data. The compile time is that of
`fit` and `predict_topk` in a process with an empty cache, by the clock and in processor time, which
other processes of a busy machine do not lengthen as much.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import ROOT

LEARNERS = ("OneVsRestSVM", "LabelTreeClassifier", "PfastreXMLClassifier")
SHARED = ROOT.parent / "shared" / "data" / "eurlex57k"
PARTS = ("train", "test")
ROWS = 200  # answered one at a time


def run() -> dict[str, object]:
    """A line for each learner."""
    results: dict[str, object] = {}
    for learner in LEARNERS:
        figures = {**_apart("compile", learner), **_apart("model", learner)}
        told = ", ".join(f"{name} {value:.3g}" for name, value in figures.items())
        print(f"  {learner}: {told}", flush=True)
        results[learner] = figures
    return results


def _apart(what: str, learner: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as cache:
        extra = {"NUMBA_CACHE_DIR": cache} if what == "compile" else {}
        command = [sys.executable, "-m", "benchmarks.size", what, learner]
        environment = {**os.environ, **extra}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _compile(learner: str) -> dict[str, float]:
    import labelwood
    from labelwood.core.kernel import compile_seconds

    data = labelwood.synthetic(300, 100, 20, n_test=1, random_state=0).train
    model = getattr(labelwood, learner)(random_state=0, n_jobs=1)
    start = time.process_time()
    model.fit(data.X, data.Y).predict_topk(data.X)
    return {"compile s": compile_seconds(), "compile CPU s": time.process_time() - start}


def _model(learner: str) -> dict[str, float]:
    import labelwood

    train, test = _data()
    model = getattr(labelwood, learner)(random_state=0, n_jobs=-1).fit(train.X, train.Y)
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for precision in ("full", "int8"):
            path = Path(folder) / precision
            labelwood.save(model, path, precision=precision)
            figures[f"{precision} MB"] = sum(f.stat().st_size for f in path.iterdir()) / 1e6
            top = labelwood.load(path).predict_topk(test.X, 5)
            for k in (1, 3, 5):
                figures[f"{precision} P@{k}"] = 100 * float(top.hits(test.Y)[:, :k].mean())
    model.set_params(n_jobs=1)
    rows = [test.X[[i]] for i in range(min(ROWS, test.X.shape[0]))]
    seconds = []
    for row in rows + rows:
        start = time.perf_counter()
        model.predict_topk(row, 5)
        seconds.append(time.perf_counter() - start)
    return {**figures, "one row ms": 1000 * float(np.median(seconds[len(rows) :]))}


def _data() -> tuple[Any, Any]:
    import labelwood

    if SHARED.exists():
        train, test = (labelwood.load_dataset(SHARED / f"{one}.txt.xz") for one in PARTS)
        return train, test
    made = labelwood.synthetic(20_000, 30_000, 4_000, n_test=2_000, random_state=0)
    return made.train, made.test


if __name__ == "__main__":
    print(json.dumps({"compile": _compile, "model": _model}[sys.argv[1]](sys.argv[2])))
