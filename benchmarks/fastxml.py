"""FastXML alone, as its authors' program is no package: figures to hold beside theirs."""

import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

from benchmarks.harness import SHARED_DATA, THREADS, Figures, best_of
from benchmarks.taggers import SYNTHETIC_SHAPE

DATA = ("bibtex", "delicious", "eurlex57k", "synthetic")
_SEEDS = (0, 1, 2)


def run() -> dict[str, object]:
    """Fifty trees on each data set, features as they come; P@k is the mean of three seeds."""
    results: dict[str, object] = {}
    for name in DATA:
        if name != "synthetic" and not (SHARED_DATA / name).is_dir():
            print(f"  {name} skipped: it is not there")
            continue
        results[name] = _one(name)
        told = ", ".join(f"{key} {value:.3f}" for key, value in results[name].items())
        print(f"  {name}: {told}", flush=True)
    return results


def _one(name: str) -> Figures:
    from labelwood import FastXMLClassifier, load_dataset, metrics, synthetic
    from labelwood.errors import LabelwoodWarning

    warnings.simplefilter("ignore", LabelwoodWarning)  # labels without points
    if name == "synthetic":
        made = synthetic(*SYNTHETIC_SHAPE, random_state=0)
        train, test = made.train, made.test
    else:
        train, test = (load_dataset(SHARED_DATA / name / f"{p}.txt.xz") for p in ("train", "test"))
    warm = FastXMLClassifier(n_trees=1, n_jobs=1).fit(train.X[:500], train.Y[:500])
    warm.predict_topk(test.X[:5])  # compiles, or reads the kernels
    runs = []
    for seed in _SEEDS:
        model = FastXMLClassifier(random_state=seed, n_jobs=THREADS)
        _, fit = best_of(1, lambda model=model: model.fit(train.X, train.Y))
        top, predict = best_of(5, lambda model=model: model.predict_topk(test.X, 5))
        precisions = {f"P@{k}": 100 * metrics.precision_at_k(test.Y, top, k) for k in (1, 3, 5)}
        runs.append(
            {
                "seconds": fit["seconds"],
                "ms a point": 1000 * predict["seconds"] / test.X.shape[0],
                "model MB": model.model_size / 2**20,
                "load ms": _load_ms(model),
                **precisions,
            }
        )
    figures = {key: float(np.mean([one[key] for one in runs])) for key in runs[0]}
    times = {key: min(one[key] for one in runs) for key in ("seconds", "ms a point", "load ms")}
    return {**figures, **times}


def _load_ms(model) -> float:
    from labelwood import load, save

    with tempfile.TemporaryDirectory() as folder:
        save(model, Path(folder) / "model")
        times = []
        for _ in range(3):
            start = time.perf_counter()
            load(Path(folder) / "model")
            times.append(time.perf_counter() - start)
    return 1000 * min(times)
