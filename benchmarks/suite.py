"""All data sets × all peers: `labelwood train` without options against their defaults.

`make bench BENCH=suite` runs what has not been run yet, set by set and contestant by contestant,
each in a process of its own, and prints the table of all that was run;
`python -m benchmarks.suite bibtex enron_corr` runs some sets only, and `… table` none. Figures are
kept in `bench-results/suite/<set>/<contestant>.json`; remove a file to run it again.

The peers get matrices in rows of unit length, TF-IDF of words where the set is of texts. labelwood
gets features as they are in the file, since it scales them itself, and labelwood and fastText are
run on raw texts too.
"""

import json
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks import taggers
from benchmarks.harness import PEERS, ROOT, THREADS, DataMissingError, Figures, best_of, run_apart
from benchmarks.sets import SETS, TEXT_SETS
from benchmarks.sets import load as load_set

CLAIM = "P@k at least that of the best peer, everywhere, without options"
RESULTS = ROOT / "bench-results" / "suite"
OURS, OURS_TEXT = "labelwood", "labelwood, texts"
TIE = 0.1
KS = (1, 3, 5)
_ON_TEXTS = (OURS_TEXT, "fastText")
_DENSE_CELLS = 100_000_000  # features × labels that one-vs-rest with dense weights may have
_BATCH = 500


def prepare(folder: Path, name: str) -> None:
    """Write matrices that every interpreter can read, and the texts where there are any."""
    from labelwood import TextVectorizer
    from labelwood.core.sparse import unit_rows

    train, test = load_set(name)
    X, X_test = train.X, test.X
    if X is None:
        vectorizer = TextVectorizer(n_jobs=THREADS)
        X, X_test = vectorizer.fit_transform(train.texts), vectorizer.transform(test.texts)
    for part, data, features in (("train", train, X), ("test", test, X_test)):
        sp.save_npz(folder / f"{part}.X.npz", sp.csr_matrix(unit_rows(features)))
        sp.save_npz(folder / f"{part}.Y.npz", sp.csr_matrix(data.Y))
        if data.X is not None:
            sp.save_npz(folder / f"{part}.raw.npz", sp.csr_matrix(features))
        if data.texts is not None:
            (folder / f"{part}.json").write_text(json.dumps(list(data.texts)))


def run() -> dict[str, object]:
    """Run what is missing on all sets, and print the tables."""
    for name in SETS:
        run_set(name)
    return table()


def run_set(name: str) -> None:
    """Run the contestants that have no figures yet."""
    running = [one for one in CONTESTANTS if name in TEXT_SETS or one not in _ON_TEXTS]
    missing = [one for one in running if not _path(name, one).is_file()]
    if not missing:
        return
    with tempfile.TemporaryDirectory() as folder:
        try:
            prepare(Path(folder), name)
        except DataMissingError as reason:
            print(f"  {name} skipped: {reason}", flush=True)
            return
        for contestant in missing:
            if contestant == "LibMultiLabel 1-vs-rest" and _cells(Path(folder)) > _DENSE_CELLS:
                continue
            figures = run_apart("suite", contestant, CONTESTANTS[contestant][1], folder)
            if figures:  # one that failed is run again
                _path(name, contestant).parent.mkdir(parents=True, exist_ok=True)
                _path(name, contestant).write_text(json.dumps(figures) + "\n")
            shown = ", ".join(f"{key} {value:.3f}" for key, value in figures.items())
            print(f"  {name:14} {contestant:24} {shown or 'failed'}", flush=True)


def table() -> dict[str, object]:
    """Print each set, and then wins, ties, losses and ratios over all of them."""
    results = {
        name: {
            one: json.loads(_path(name, one).read_text())
            for one in CONTESTANTS
            if _path(name, one).is_file()
        }
        for name in SETS
    }
    results = {name: {k: v for k, v in rows.items() if v} for name, rows in results.items()}
    results = {name: rows for name, rows in results.items() if OURS in rows and len(rows) > 1}
    counts = {k: [0, 0, 0] for k in KS}
    head = (
        "set", "ours P@1/3/5", "best peer for each k", "training / fastest peer's",
        "prediction / fastest peer's", "model MB, least peer's", "peak MB, least peer's",
    )  # fmt: skip
    print(f"\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for name, rows in results.items():
        ours = rows[OURS_TEXT if OURS_TEXT in rows else OURS]
        peers = [row for one, row in rows.items() if not one.startswith(OURS)]
        best = {k: max(row[f"P@{k}"] for row in peers) for k in KS}
        for k in KS:
            gain = ours[f"P@{k}"] - best[k]
            counts[k][0 if gain > TIE else 2 if gain < -TIE else 1] += 1
        ratio = {
            key: ours[key] / min(row[key] for row in peers) for key in ("seconds", "ms a point")
        }
        least = {key: min(row[key] for row in peers) for key in ("model MB", "peak MB")}
        print(
            f"| {name} | {_shown({k: ours[f'P@{k}'] for k in KS})} | {_shown(best)} "
            f"| {ratio['seconds']:.2f} | {ratio['ms a point']:.2f} "
            f"| {ours['model MB']:.1f}, {least['model MB']:.1f} "
            f"| {ours['peak MB']:.0f}, {least['peak MB']:.0f} |"
        )
    print(f"\n| | wins | ties (within {TIE}) | losses |\n|---|---|---|---|")
    for k, (wins, ties, losses) in counts.items():
        print(f"| P@{k} | {wins} | {ties} | {losses} |")
    return {"sets": results, "counts": {f"P@{k}": one for k, one in counts.items()}}


def _shown(precisions: dict[int, float]) -> str:
    return " / ".join(f"{value:.2f}" for value in precisions.values())


def ours(folder: Path, texts: bool = False) -> Figures:
    """`Tagger()`, which is what `labelwood train` does without options."""
    import warnings

    import labelwood
    from labelwood import Dataset, Tagger

    warnings.simplefilter("ignore")
    (X, Y), (X_test, Y_test) = taggers.load(folder)
    common = {"random_state": 0, "n_jobs": THREADS}
    candidates = (
        labelwood.OneVsRestSVM(C="auto", **common),
        labelwood.LabelTreeClassifier(C="auto", **common),
        labelwood.FastXMLClassifier(**common),
    )
    if texts:
        train, held_out = (_texts(folder, part) for part in ("train", "test"))
        data = Dataset(None, sp.csr_array(Y), texts=train)
    else:
        data, held_out = (
            Dataset(_as_in_the_file(folder, part, words), sp.csr_array(labels))
            for part, words, labels in (("train", X, Y), ("test", X_test, Y_test))
        )
    vectorizer = labelwood.TextVectorizer(features="auto", n_jobs=THREADS, random_state=0)
    warm = Tagger(candidates, vectorizer).fit(data.select(range(min(len(data), 400))))
    warm.estimator_.predict_topk(warm.features(data.select(range(5))))
    tagger, train_figures = best_of(1, lambda: Tagger(candidates, vectorizer).fit(data))
    learner = tagger.seconds["choice"] + tagger.seconds["learner"]
    features = tagger.features(held_out)
    top, predict = best_of(3, lambda: tagger.estimator_.predict_topk(features, 5))
    with tempfile.TemporaryDirectory() as output:
        labelwood.save(tagger, f"{output}/model")
        size = taggers.size_mb(output)
        timed = {**train_figures, "seconds": learner}
        result = taggers.figures(timed, predict, size, Y_test, top.labels)
    taken = tagger.choice_.candidate
    expected = {"expected seconds": taken.cost.seconds, "fit seconds": tagger.seconds["learner"]}
    print(tagger.choice_, file=sys.stderr)
    C = float(tagger.estimator_.get_params()["C"])
    return {**result, **expected, "C": C, "text s": tagger.seconds["text"]}


def _as_in_the_file(folder: Path, part: str, words: object) -> object:
    """Features without a scale of ours; of texts the TF-IDF of their words."""
    raw = folder / f"{part}.raw.npz"
    return sp.csr_array(sp.load_npz(raw) if raw.is_file() else words)


def libmultilabel(folder: Path, kind: str) -> Figures:
    """LibMultiLabel's linear part; its answers are dense, so rows are predicted in batches."""
    from libmultilabel import linear

    (X, Y), (X_test, Y_test) = taggers.load(folder)
    fit = {
        "tree": lambda: linear.train_tree(Y, X, verbose=False),
        "1vsrest": lambda: linear.train_1vsrest(Y, X, verbose=False),
    }[kind]
    model, train = best_of(1, fit)

    def predict() -> list:
        found = []
        for start in range(0, X_test.shape[0], _BATCH):
            scores = np.asarray(model.predict_values(X_test[start : start + _BATCH]))
            found.extend(np.argsort(-scores, axis=1, kind="stable")[:, :5])
        return found

    labels, figures = best_of(1, predict)
    weights = model.flat_model.weights if kind == "tree" else model.weights
    size = weights.data.nbytes if sp.issparse(weights) else np.asarray(weights).nbytes
    return taggers.figures(train, figures, size / 1e6, Y_test, labels)


def fasttext(folder: Path) -> Figures:
    """FastText with subwords, and the settings of its tutorial on several labels."""
    import fasttext

    (_, Y), (_, Y_test) = taggers.load(folder)
    train, test = (
        [" ".join(one.lower().split()) for one in _texts(folder, part)]
        for part in ("train", "test")
    )
    with tempfile.TemporaryDirectory() as output:
        lists = np.split(Y.indices, Y.indptr[1:-1])
        lines = (
            " ".join(f"__label__{label}" for label in labels) + f" {text}\n"
            for labels, text in zip(lists, train, strict=True)
            if len(labels)
        )
        path = Path(output) / "train.txt"
        path.write_text("".join(lines), encoding="utf-8")
        model, figures = best_of(
            1,
            lambda: fasttext.train_supervised(
                str(path), lr=0.5, epoch=25, wordNgrams=2, bucket=200_000, dim=50, loss="ova",
                minn=2, maxn=5, thread=THREADS, verbose=0,
            ),
        )  # fmt: skip
        answer, predict = best_of(1, lambda: [model.predict(text, k=5)[0] for text in test])
        labels = [[int(one.removeprefix("__label__")) for one in row] for row in answer]
        model.save_model(f"{output}/model.bin")
        size = Path(f"{output}/model.bin").stat().st_size / 1e6
        return taggers.figures(figures, predict, size, Y_test, labels)


def _texts(folder: Path, part: str) -> list[str]:
    return json.loads((folder / f"{part}.json").read_text())


def _path(name: str, contestant: str) -> Path:
    return RESULTS / name / f"{contestant.replace(' ', '-').replace(',', '')}.json"


def _cells(folder: Path) -> int:
    (X, Y), _ = taggers.load(folder)
    return X.shape[1] * Y.shape[1]


_OURS = Path(sys.executable)
LEFT_OUT: dict[str, tuple[str, ...]] = {}
CONTESTANTS = {
    OURS: (ours, _OURS),
    OURS_TEXT: (partial(ours, texts=True), _OURS),
    "PECOS XR-Linear": (taggers.pecos, PEERS),
    "napkinXC PLT": (partial(taggers.napkinxc, kind="PLT"), PEERS),
    "Omikuji": (taggers.omikuji, PEERS),
    "LibMultiLabel tree": (partial(libmultilabel, kind="tree"), PEERS),
    "LibMultiLabel 1-vs-rest": (partial(libmultilabel, kind="1vsrest"), PEERS),
    "fastText": (fasttext, PEERS),
}


if __name__ == "__main__":
    for chosen in [one for one in sys.argv[1:] if one != "table"]:
        run_set(chosen)
    table()
