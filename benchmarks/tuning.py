"""Is `C="auto"` right? The chosen C against a grid, on training samples that the choice never saw.

Of the training samples of each set a fifth is kept back (at most 4,000), of small sets each fifth
in turn. `C="auto"` chooses on the rest, which is then fitted with the chosen value and with each of
a grid; all rank what was kept back, and the best of the grid is that of the mean over the fifths.
No test part is read. `make bench BENCH=tuning` runs what has not been run, and prints the table;
`python -m benchmarks.tuning bibtex enron_corr` runs some sets. Seconds are those of one thread's
processor time. Figures are kept in `bench-results/tuning/<set>.json`.
"""

import json
import sys
import time
import warnings

import numpy as np
import scipy.sparse as sp

from benchmarks.harness import ROOT, DataMissingError
from benchmarks.sets import SETS, load

CLAIM = "the chosen C is within 0.1 of the best of a grid, at no more than half of the fit"
RESULTS = ROOT / "bench-results" / "tuning"
GRID = (-3, -2, -1, 0, 1, 2, 3)  # powers of two times the default
LEARNERS = ("OneVsRestSVM", "LabelTreeClassifier")
MOST_SAMPLES = 20_000
FEW_SAMPLES = 6_000
N_FOLDS = 5
LEFT_OUT = ("short-500k",)  # short-50k is of its shape


def run() -> dict[str, object]:
    """Run what is missing, and print the table."""
    for name in SETS:
        if name not in LEFT_OUT:
            run_set(name)
    return table()


def run_set(name: str) -> None:
    """Figures of both learners on a set, unless they are there."""
    path = RESULTS / f"{name}.json"
    if path.is_file():
        return
    try:
        train, _ = load(name)
    except DataMissingError as reason:
        print(f"  {name} skipped: {reason}", flush=True)
        return
    warnings.simplefilter("ignore")
    X, Y = _features(train), train.Y
    order = np.random.default_rng(1).permutation(X.shape[0])[:MOST_SAMPLES]
    n_kept = min(order.size // N_FOLDS, 4_000)
    n_folds = N_FOLDS if order.size < FEW_SAMPLES else 1
    figures = {}
    for learner in LEARNERS:
        folds = []
        for fold in range(n_folds):
            kept = order[fold * n_kept : (fold + 1) * n_kept]
            rest = np.setdiff1d(order, kept)
            folds.append(_check(learner, X[rest], Y[rest], X[kept], Y[kept]))
        figures[learner] = folds
    RESULTS.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(figures) + "\n")


def _features(data) -> sp.csr_array:
    from labelwood import TextVectorizer

    return data.X if data.X is not None else TextVectorizer(n_jobs=1).fit_transform(data.texts)


def _check(learner: str, X, Y, X_kept, Y_kept) -> dict[str, object]:
    import labelwood
    from labelwood.linear.tuning import mean_precision, power_of, tune_C

    make = getattr(labelwood, learner)
    default = make().C
    make(random_state=0).fit(X[:300], Y[:300])  # loads the kernels
    start = time.process_time()
    tuning = tune_C(make(C="auto", random_state=0), sp.csr_array(X), sp.csr_array(Y), default)
    tuning_seconds = time.process_time() - start
    figures = []
    frequency_power = power_of(make(C="auto"))
    for C in [tuning.C, *(default * 2.0**step for step in GRID)]:
        start = time.process_time()
        model = make(C=C, frequency_power=frequency_power, random_state=0).fit(X, Y)
        seconds = time.process_time() - start
        precisions, score, _ = mean_precision(model, X_kept, Y_kept)
        figures.append((C, *(100 * one for one in precisions), 100 * score, seconds))
    return {"chosen": figures[0], "grid": figures[1:], "tuning seconds": tuning_seconds}


def table() -> dict[str, object]:
    """Print what was run."""
    files = {name: RESULTS / f"{name}.json" for name in SETS}
    results = {name: json.loads(path.read_text()) for name, path in files.items() if path.is_file()}
    head = (
        "set", "learner", "chosen C", "mean P@1,3,5", "best C of the grid", "mean P@1,3,5",
        "default's", "loss", "tuning / fit, s",
    )  # fmt: skip
    print(f"\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for name, rows in results.items():
        for learner, folds in rows.items():
            chosen = np.array([one["chosen"] for one in folds])
            grid = np.mean([one["grid"] for one in folds], axis=0)
            best, default = grid[grid[:, 4].argmax()], grid[GRID.index(0)]
            values = ", ".join(f"{C:.3g}" for C in chosen[:, 0])
            score, fit = chosen[:, 4].mean(), chosen[:, 5].mean()
            seconds = np.mean([one["tuning seconds"] for one in folds])
            print(
                f"| {name} | {learner} | {values} | {score:.2f} | {best[0]:.3g} | {best[4]:.2f} "
                f"| {default[4]:.2f} | {best[4] - score:.2f} | {seconds:.2f} / {fit:.2f} |"
            )
    return results


if __name__ == "__main__":
    for chosen in sys.argv[1:]:
        run_set(chosen)
    table()
