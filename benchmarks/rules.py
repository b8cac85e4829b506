"""One tree for `earn` in Reuters-21578, against scikit-learn's on the same CSR matrix."""

import json
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.harness import SHARED_DATA, DataMissingError, Figures, best_of

CLAIM = "a tree of 20 leaves on CSR text takes a tenth of the time, one of 100 leaves seconds"

_DATA = {
    "earn": "reuters21578",
    "a9a": "binary",
    "rcv1": "rcv1-15k-hier",
}


def prepare(folder: Path) -> None:
    missing = [name for name in _DATA.values() if not (SHARED_DATA / name).is_dir()]
    if missing:
        raise DataMissingError(f"{', '.join(missing)} not there")


def _read(name: str):
    from labelwood import load_dataset

    place = SHARED_DATA / _DATA[name]
    if name == "a9a":
        parts = [
            load_dataset(place / f"a9a.{one}.svm.xz", n_features=123) for one in ("train", "test")
        ]
        label = 1
    else:
        parts = [load_dataset(place / f"{one}.txt.xz") for one in ("train", "test")]
        counts = np.bincount(parts[0].Y.indices)
        label = int(counts.argmax())
    return [(part.X, part.Y[:, [label]].toarray()[:, 0].astype(int)) for part in parts]


def grow(name: str, n_leaves: int, folder: Path) -> Figures:
    from sklearn.metrics import f1_score

    from labelwood import RuleTreeClassifier

    (X, y), (X_test, y_test) = _read(name)
    RuleTreeClassifier(max_leaves=4, n_jobs=1).fit(X[:300], y[:300])  # compiles
    model, figures = best_of(5, lambda: RuleTreeClassifier(max_leaves=n_leaves, n_jobs=1).fit(X, y))
    return {**figures, "F1": f1_score(y_test, model.predict(X_test)), "non-zeros": X.nnz}


def grow_with_sklearn(name: str, n_leaves: int, folder: Path) -> Figures:
    import scipy.sparse as sp
    from sklearn.metrics import f1_score
    from sklearn.tree import DecisionTreeClassifier

    (X, y), (X_test, y_test) = _read(name)
    X, X_test = sp.csr_matrix(X), sp.csr_matrix(X_test)
    model, figures = best_of(
        5, lambda: DecisionTreeClassifier(max_leaf_nodes=n_leaves, random_state=0).fit(X, y)
    )
    return {**figures, "F1": f1_score(y_test, model.predict(X_test)), "non-zeros": X.nnz}


def slope(name: str, n_leaves: int, folder: Path) -> Figures:
    """How training grows with the non-zeros: the exponent of CPU time over samples of the rows."""
    from labelwood import RuleTreeClassifier

    (X, y), _ = _read(name)
    RuleTreeClassifier(max_leaves=4, n_jobs=1).fit(X[:300], y[:300])
    order = np.random.default_rng(0).permutation(X.shape[0])
    sizes, times = [], []
    for share in (8, 4, 2, 1):
        rows = np.sort(order[: X.shape[0] // share])
        X_part, y_part = X[rows], y[rows]
        sizes.append(X_part.nnz)
        times.append(min(_cpu_seconds(X_part, y_part, n_leaves) for _ in range(9)))
    exponent = float(np.polyfit(np.log(sizes), np.log(times), 1)[0])
    return {"seconds": times[-1], "slope of CPU time over non-zeros": exponent}


def _cpu_seconds(X, y, n_leaves: int) -> float:
    from labelwood import RuleTreeClassifier

    start = time.process_time()
    RuleTreeClassifier(max_leaves=n_leaves, n_jobs=1).fit(X, y)
    return time.process_time() - start


LEFT_OUT: dict[str, tuple[str, ...]] = {}
_HERE = Path(sys.executable)
CONTESTANTS = {
    "earn, 20 leaves": (partial(grow, "earn", 20), _HERE),
    "earn, 20 leaves, scikit-learn": (partial(grow_with_sklearn, "earn", 20), _HERE),
    "a9a, 100 leaves": (partial(grow, "a9a", 100), _HERE),
    "rcv1, 100 leaves": (partial(grow, "rcv1", 100), _HERE),
    "rcv1, 20 leaves, slope": (partial(slope, "rcv1", 20), _HERE),
    "earn, 20 leaves, slope": (partial(slope, "earn", 20), _HERE),
}

if __name__ == "__main__":
    print(json.dumps({name: run(Path()) for name, (run, _) in CONTESTANTS.items()}, indent=2))
