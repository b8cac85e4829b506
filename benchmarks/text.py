"""Text features: speed against scikit-learn, accuracy by feature set, latency, memory.

python -m benchmarks text              speed and memory, on a quiet machine
python -m benchmarks.text accuracy     the table of the docs (cross-validation), long
python -m benchmarks.text train        seconds of each part of `labelwood train`
"""

import json
import lzma
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.harness import ROOT, SHARED_DATA, THREADS, DataMissingError, best_of, peak_mb

FEATURE_SETS = ("words", "words+pairs", "words+chars", "words+pairs+chars", "chars", "auto")
SETS = ("eurlex57k", "reuters21578", "goemotions", "makupalat", "pydocs", "pydocs modules")
LIMIT_MB = 400
_DOCUMENT_WORDS = 200


def run() -> dict[str, object]:
    """Speed, latency and memory; each run has a process of its own, for its peak memory."""
    results: dict[str, object] = {}
    if not SHARED_DATA.is_dir():
        print("  skipped: the shared data are not there")
        return {"skipped": "no shared data"}
    for data, features in (
        ("eurlex57k", "words"),
        ("reuters21578", "words+pairs+chars"),
        ("pydocs", "words+pairs+chars"),
    ):
        ours = _apart("speed", data, features, "labelwood")
        theirs = _apart("speed", data, features, "scikit-learn")
        ratio = theirs["seconds"] / ours["seconds"]
        print(
            f"  {data}, {features}: {ours['seconds']:.2f} s and {ours['peak MB']:.0f} MB with "
            f"{THREADS} threads; scikit-learn {theirs['seconds']:.2f} s and "
            f"{theirs['peak MB']:.0f} MB; {ratio:.1f}×",
            flush=True,
        )
        results[f"{data} {features}"] = {"labelwood": ours, "scikit-learn": theirs}
    for features in ("words", "words+pairs", "words+pairs+chars"):
        figures = _apart("latency", features)
        print(f"  one document of {_DOCUMENT_WORDS} words, {features}: {figures['ms']:.3f} ms")
        results[f"latency {features}"] = figures
    figures = _apart("stream")
    print(
        f"  {figures['text MB']:.0f} MB of EURLEX57K text as a stream: peak "
        f"{figures['peak MB']:.0f} MB of {LIMIT_MB}"
    )
    results["stream"] = figures
    return results


def speed(data: str, features: str, who: str) -> dict[str, float]:
    """Seconds and peak memory of `fit_transform`, in this process."""
    texts, _ = load(data)
    make = _ours(features, THREADS) if who == "labelwood" else _scikit_learn(features)
    make().fit_transform(texts[:50])  # compiles
    matrix, figures = best_of(3, lambda: make().fit_transform(texts))
    return {**figures, "non-zeros": float(matrix.nnz), "features": float(matrix.shape[1])}


def latency(features: str) -> dict[str, float]:
    """Milliseconds of `transform` for one document; the median of many."""
    texts, _ = load("reuters21578")
    vectorizer = _ours(features, 1)().fit(texts)
    words = " ".join(texts).split()
    documents = [
        [" ".join(words[i : i + _DOCUMENT_WORDS])] for i in range(0, 100_000, _DOCUMENT_WORDS)
    ]
    times = []
    for document in documents:
        start = time.perf_counter()
        vectorizer.transform(document)
        times.append(time.perf_counter() - start)
    return {"ms": 1000 * float(np.median(times)), "least ms": 1000 * min(times)}


def stream() -> dict[str, float]:
    """Peak memory of a fit on texts that are read from the compressed file one by one.

    One thread: each more has a segment and its tables in memory, some 40 MB here.
    """
    from labelwood import TextVectorizer

    size = 0

    def texts() -> Iterator[str]:
        nonlocal size
        with lzma.open(_file("eurlex57k"), "rt", encoding="utf-8") as file:
            for line in file:
                text = json.loads(line)["text"]
                size += len(text)
                yield text

    matrix = TextVectorizer().fit_transform(texts())
    peak = peak_mb()
    if peak > LIMIT_MB:
        sys.exit(f"{peak:.0f} MB is above {LIMIT_MB} MB")
    return {"text MB": size / 1e6, "peak MB": peak, "non-zeros": float(matrix.nnz)}


def accuracy(most: int, *sets: str) -> None:
    """P@1/3/5 by five-fold cross-validation on at most `most` training texts of each set."""
    for data in sets or SETS:
        texts, labels = load(data)
        chosen = np.random.default_rng(0).permutation(len(texts))[:most].tolist()
        texts, labels = [texts[i] for i in chosen], [labels[i] for i in chosen]
        known: dict[tuple[str, int], np.ndarray] = {}
        for features in FEATURE_SETS:  # "auto" comes last
            row = _cross_validated(texts, labels, features, known=known)
            print(json.dumps({"data": data, "texts": len(texts), **row}), flush=True)


def variants(most: int, *settings: str) -> None:
    """Other parameters, each as name=value pairs joined by commas, by the same folds."""
    from labelwood.cli.learners import make_vectorizer

    for data in SETS:
        texts, labels = load(data)
        chosen = np.random.default_rng(0).permutation(len(texts))[:most].tolist()
        texts, labels = [texts[i] for i in chosen], [labels[i] for i in chosen]
        for setting in settings:
            names = [f"text.{one}" for one in setting.split(",")]
            row = _cross_validated(texts, labels, setting, make=lambda n=names: make_vectorizer(n))
            print(json.dumps({"data": data, "texts": len(texts), **row}), flush=True)


def train() -> None:
    """`labelwood train` on the raw texts of EURLEX57K; it prints the seconds of its parts."""
    with_model = [str(ROOT / "bench-results" / "text-model"), "--learner", "onevsrest"]
    command = [sys.executable, "-m", "labelwood", "train", str(_file("eurlex57k")), "-o"]
    subprocess.run([*command, *with_model], check=True)


def _cross_validated(
    texts: list[str],
    labels: list[list[str]],
    features: str,
    make: Callable | None = None,
    known: dict[tuple[str, int], np.ndarray] | None = None,
) -> dict[str, object]:
    """A row of the table; `known` has what learners gave on the vectors of a set and fold.

    Where "auto" takes a set that was tried before, the vectors and the learner are the same,
    so that only its own seconds are measured.
    """
    from labelwood import Dataset

    warnings.simplefilter("ignore")
    make = make or _ours(features, 1, random_state=0)
    known = {} if known is None else known
    data = Dataset.from_lists(texts, labels)
    total, text_seconds, taken = np.zeros(5), 0.0, []
    fold = np.arange(len(texts)) % 5
    for k in range(5):
        train = data.select(np.flatnonzero(fold != k))
        test = data.select(np.flatnonzero(fold == k))
        start = time.process_time()
        vectorizer = make()
        X = vectorizer.fit_transform(train.texts, train.Y)
        text_seconds += time.process_time() - start
        taken.append(vectorizer.features_)
        key = (vectorizer.features_, k)
        if key not in known:
            known[key] = _learned(X, train.Y, vectorizer, test)
        total += known[key]
    keys = ("features", "P@1", "P@3", "P@5", "text s", "learner s", "predict s", "taken")
    precision, seconds = (total[:3] / 5).round(2), [text_seconds, *total[3:]]
    values = (features, *precision, *np.round(seconds, 2), sorted(set(taken)))
    return dict(zip(keys, values, strict=True))


def _learned(X: object, Y: object, vectorizer: object, test: object) -> np.ndarray:
    """P@1/3/5 on the held-out texts, and the seconds of the fit and of the prediction."""
    from labelwood import OneVsRestSVM

    clock = [time.process_time()]
    model = OneVsRestSVM(random_state=0, n_jobs=1).fit(X, Y)
    clock.append(time.process_time())
    top = model.predict_topk(vectorizer.transform(test.texts), 5)
    clock.append(time.process_time())
    hits = top.hits(test.Y)
    precision = [100 * hits[:, :n].sum() / n / len(test) for n in (1, 3, 5)]
    return np.array([*precision, *np.diff(clock)])


def load(data: str) -> tuple[list[str], list[list[str]]]:
    """Training texts and their labels."""
    if data.startswith("pydocs"):
        from labelwood import pydocs

        corpus = pydocs(labels="modules" if data.endswith("modules") else "parameters")
        return list(corpus.texts or ()), corpus.label_lists()
    with lzma.open(_file(data), "rt", encoding="utf-8") as file:
        points = [json.loads(line) for line in file]
    return [point["text"] for point in points], [
        [str(label) for label in point["labels"]] for point in points
    ]


def _file(data: str) -> Path:
    path = SHARED_DATA / data / "train.jsonl.xz"
    if not path.is_file():
        raise DataMissingError(f"{path} is not there")
    return path


def _ours(features: str, n_jobs: int, **options: object) -> Callable:
    from labelwood import TextVectorizer

    return lambda: TextVectorizer(features=features, n_jobs=n_jobs, **options)


def _scikit_learn(features: str) -> Callable:
    """The same features by scikit-learn: a `FeatureUnion` where there are several blocks."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import FeatureUnion

    options = {"min_df": 2, "sublinear_tf": True, "dtype": np.float32}
    pairs = (1, 2 if "pairs" in features else 1)
    if "chars" not in features:
        return lambda: TfidfVectorizer(ngram_range=pairs, **options)
    return lambda: FeatureUnion(
        [
            ("words", TfidfVectorizer(ngram_range=pairs, **options)),
            ("chars", TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), **options)),
        ]
    )


def _apart(*arguments: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.text", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    name, *rest = sys.argv[1:]
    if name in ("accuracy", "variants"):
        {"accuracy": accuracy, "variants": variants}[name](int(rest[0]), *rest[1:])
    elif name == "train":
        train()
    else:
        print(json.dumps({"speed": speed, "latency": latency, "stream": stream}[name](*rest)))
