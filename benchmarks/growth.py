"""How training time and memory grow with the points and with the labels.

Synthetic data at four sizes each; the slope is that of log time against log size, so 1 is
proportional. Each run has a process of its own, for its peak memory.
"""

import json
import subprocess
import sys
import time

import numpy as np

from benchmarks.harness import peak_mb

POINTS, LABELS, FEATURES = 20_000, 8_000, 50_000
SIZES = {
    "points": [(n, LABELS) for n in (10_000, 20_000, 40_000, 80_000)],
    "labels": [(POINTS, n) for n in (4_000, 8_000, 16_000, 32_000)],
}
LEARNERS = {"OneVsRestSVM": "one-vs-rest", "LabelTreeClassifier": "label tree"}


def run() -> dict[str, object]:
    """All runs, a line each, and the slopes."""
    results: dict[str, object] = {}
    for learner in LEARNERS:
        for axis, shapes in SIZES.items():
            runs = [_apart(learner, *shape) for shape in shapes]
            sizes = [shape[axis == "labels"] for shape in shapes]
            for size, figures in zip(sizes, runs, strict=True):
                told = ", ".join(f"{name} {value:.3g}" for name, value in figures.items())
                print(f"  {learner}, {size:,} {axis}: {told}", flush=True)
            slopes = {
                name: float(np.polyfit(np.log(sizes), np.log([one[name] for one in runs]), 1)[0])
                for name in ("seconds", "training MB", "model MB")
            }
            told = ", ".join(f"{name} {value:.2f}" for name, value in slopes.items())
            print(f"  {learner}, slopes against {axis}: {told}", flush=True)
            results[f"{learner} {axis}"] = {"runs": runs, "slopes": slopes}
    return results


def _apart(learner: str, n_samples: int, n_labels: int) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.growth", learner, str(n_samples), str(n_labels)]
    done = subprocess.run(command, capture_output=True, check=True)
    return json.loads(done.stdout)


def _one(learner: str, n_samples: int, n_labels: int) -> dict[str, float]:
    import warnings

    import labelwood
    from labelwood.auto import expected_costs

    warnings.simplefilter("ignore", labelwood.errors.LabelwoodWarning)
    make = getattr(labelwood, learner)
    warm = labelwood.synthetic(400, 500, 100).train
    make(n_jobs=2).fit(warm.X, warm.Y)
    made = labelwood.synthetic(n_samples, FEATURES, n_labels, n_test=2000, n_jobs=2)
    train, test = made.train, made.test
    expected = expected_costs(train.X, train.Y, n_jobs=2)[LEARNERS[learner]]
    before = peak_mb()
    start = time.perf_counter()
    model = make(n_jobs=2, random_state=0).fit(train.X, train.Y)
    seconds = time.perf_counter() - start
    return {
        "seconds": seconds,
        "expected seconds": expected.seconds,
        "training MB": peak_mb() - before,
        "expected MB": expected.bytes / 2**20,
        "model MB": model.model_size / 2**20,
        "P@1": 100 * float(model.predict_topk(test.X, 1).hits(test.Y).mean()),
    }


if __name__ == "__main__":
    print(json.dumps(_one(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
