"""Stored models with random changes, loaded and asked for predictions under bounds checks.

    python tests/store/mutations.py train FOLDER            # fit and save one model of each class
    NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=CACHE \
        python tests/store/mutations.py attack FOLDER 20000  # change, load, predict; print counts

Changes are made behind the hashes, as by an author who can write both files. Whatever is changed,
a model is refused with a `ModelError` (or its prediction with a `DataError`), or it predicts
without touching memory outside its arrays. Each change has a time limit, as a cycle in a tree
would keep a prediction going for ever.
"""

import copy
import faulthandler
import json
import os
import random
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

import labelwood
from labelwood.core.estimator import LabelEstimator
from labelwood.errors import LabelwoodError
from labelwood.store.codec import decode_checked
from labelwood.store.directory import read_model

sys.path.insert(0, str(Path(__file__).parents[1]))
from builders import separable

N_SAMPLES, N_LABELS = 60, 8
SECONDS = 60  # for one change, compilation included
EXTREMES = (0, 1, -1, 2, 15, 16, 17, 2**15, 2**31 - 1, 2**31, -(2**31), 2**32, 2**62, 2**63 - 1)
VALUES = (*EXTREMES, 2**64, 0.5, -0.0, 1e-308, 1e308, "", "x", None, True, False, [], {}, [1], "é")


def samples() -> tuple[Any, Any]:
    return separable(N_SAMPLES, N_LABELS)


def train(folder: Path, *names: str) -> None:
    """Fit and save a model of each class, or of the named ones."""
    X, Y = samples()
    y = (Y[:, [0]].toarray().ravel() > 0).astype(int)
    for name in names or labelwood._HOME:
        kind = getattr(labelwood, name)
        if not isinstance(kind, type) or not issubclass(kind, (ClassifierMixin, RegressorMixin)):
            continue
        model = kind()
        if "random_state" in model.get_params():
            model.set_params(random_state=0)
        if "calibrate" in model.get_params():
            model.set_params(calibrate=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, Y if isinstance(model, LabelEstimator) else y)
        labelwood.save(model, folder / name)


def attack(folder: Path, n: int, seed: int = 0) -> Counter[str]:
    X, _ = samples()
    stored = {path.name: read_model(path) for path in sorted(folder.iterdir())}
    counts: Counter[str] = Counter()
    log = os.open(folder.with_suffix(".case"), os.O_WRONLY | os.O_CREAT, 0o600)
    warnings.simplefilter("ignore")
    for case in range(n):
        name = list(stored)[case % len(stored)]
        os.pwrite(log, f"{seed} {case} {name:<40}\n".encode(), 0)
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        rng = random.Random(f"{seed}-{case}")
        description, arrays = stored[name]
        found = outcome(*changed(rng, description["model"], arrays), X)
        counts[found] += 1
        if found.startswith("wrong"):
            counts[f"{name}: {found} (case {case})"] += 1
    faulthandler.cancel_dump_traceback_later()
    return counts


def changed(rng: random.Random, content: Any, arrays: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    content, arrays = copy.deepcopy(content), dict(arrays)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        if arrays and rng.random() < 0.7:
            name = rng.choice(sorted(arrays))
            arrays[name] = changed_array(rng, np.array(arrays[name]), arrays)
        else:
            change_json(rng, content)
    return content, arrays


def changed_array(rng: random.Random, array: Any, others: dict[str, Any]) -> Any:
    flat = array.reshape(-1)
    at = rng.randrange(flat.size) if flat.size else 0
    kind = rng.randrange(12)
    with np.errstate(all="ignore"):
        if flat.size and kind <= 3:
            number = rng.choice(EXTREMES) if array.dtype.kind != "f" else rng.gauss(0, 10)
            flat[at] = np.array(number).astype(array.dtype)
        elif flat.size and kind == 4:
            flat[at] += np.array(rng.choice((1, -1))).astype(array.dtype)
        elif flat.size and kind == 5 and array.dtype.kind == "f":
            flat[at] = rng.choice((np.nan, np.inf, -np.inf, 1e38))
        elif flat.size and kind == 6:
            other = rng.randrange(flat.size)
            flat[[at, other]] = flat[[other, at]]
        elif kind == 7:
            return array[:-1] if array.ndim else array
        elif kind == 8 and array.ndim:
            return np.concatenate([array, array[-1:]])
        elif kind == 9:
            return array.astype(rng.choice((np.int32, np.int64, np.uint32, np.float32, np.float64)))
        elif kind == 10:
            return array.reshape(-1, 1) if array.ndim == 1 else flat
        elif kind == 11:
            return np.array(others[rng.choice(sorted(others))])
        else:
            flat[:] = flat[::-1].copy()
    return array


def change_json(rng: random.Random, content: Any) -> None:
    """Replace or remove one entry of the JSON, of parameters and fitted attributes mostly."""
    places: list[tuple[Any, Any]] = []
    stack = [content]
    while stack:
        value = stack.pop()
        entries = value.items() if isinstance(value, dict) else enumerate(value)
        for key, one in entries:
            places.append((value, key))
            if isinstance(one, (dict, list)):
                stack.append(one)
    if not places:  # an earlier change has removed everything
        return
    owner, key = rng.choice(places)
    if isinstance(owner, dict) and rng.random() < 0.1:
        del owner[key]
    else:
        owner[key] = copy.deepcopy(rng.choice(VALUES))


def outcome(content: Any, arrays: dict[str, Any], X: Any) -> str:
    try:
        model = decode_checked(content, arrays, "model")
    except LabelwoodError:
        return "refused"
    except BaseException as error:
        return f"wrong: loading ended in {type(error).__name__}: {error}"
    try:
        scores = [np.asarray(model.predict(X).sum() if hasattr(model, "predict") else 0)]
        if hasattr(model, "predict_topk"):
            scores.append(model.predict_topk(X, 3).scores)
    except (LabelwoodError, MemoryError) as error:
        return "refused when predicting" if str(error) else "wrong: an error without a message"
    except BaseException as error:
        return f"wrong: prediction ended in {type(error).__name__}: {error}"
    if any(np.isnan(np.asarray(one, dtype=float)).any() for one in scores):
        return "wrong: predicted NaN"
    return "predicted"


def main() -> None:
    what, folder, *numbers = sys.argv[1:]
    if what == "train":
        train(Path(folder), *numbers)
    else:
        print(json.dumps(attack(Path(folder), *map(int, numbers)), indent=1))


if __name__ == "__main__":
    main()
