"""Few labels: transduction on a graph beside the flagship on the same labeled samples."""

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from labelwood.studies._datasets import read_split, split_files
from labelwood.studies._plot import draw_panels
from labelwood.studies._result import Row
from labelwood.studies._study import Options, Study

SHARES = (0.01, 0.02, 0.05, 0.1)
DRAWS = 3
_QUICK_TRAIN, _QUICK_TEST = 400, 100
PARTS = {"reuters": "reuters21578", "rcv1": "rcv1-15k-hier"}
_LEARNERS = ("one-vs-rest", "one-vs-rest, best label too", "graph", "self-trained one-vs-rest")


def rows(part: str, options: Options) -> Iterator[Row]:
    """Micro-F1 on the test documents, for each share of labeled training documents."""
    import numpy as np

    train, test = read_split(PARTS[part], options)
    if options.quick:
        train, test = train.select(range(_QUICK_TRAIN)), test.select(range(_QUICK_TEST))
    shares = (0.1,) if options.quick else SHARES
    draws = 1 if options.quick else DRAWS
    for share in shares:
        found: dict[str, list[float]] = {name: [] for name in _LEARNERS}
        taken: list[int] = []
        for draw in range(draws):
            rng = np.random.default_rng([options.seed, draw])
            labeled = np.sort(rng.choice(len(train), int(share * len(train)), replace=False))
            scores, n_taken = _measure(train, test, labeled, options)
            taken.append(n_taken)
            for name, value in scores.items():
                found[name].append(value)
        base = np.mean(found["one-vs-rest"])
        for name in _LEARNERS:
            yield {
                "data": part,
                "learner": name,
                "labeled": share,
                "documents": int(share * len(train)),
                "micro-F1": float(np.mean(found[name])),
                "deviation": float(np.std(found[name])),
                "gain": float(np.mean(found[name]) - base),
                "taken": float(np.mean(taken)) if name.startswith("self") else None,
            }


def _measure(train: Any, test: Any, labeled: Any, options: Options) -> tuple[dict[str, float], int]:
    import numpy as np
    import scipy.sparse as sp

    from labelwood import GraphLaplacianClassifier, OneVsRestSVM
    from labelwood.errors import LabelwoodWarning
    from labelwood.kernels.graph.self_training import self_train

    rest = np.setdiff1d(np.arange(len(train)), labeled)
    X, Y = train.X[labeled], train.Y[labeled]
    unlabeled = sp.csr_array(sp.vstack([train.X[rest], test.X], format="csr"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelwoodWarning)  # labels without a labeled document
        flagship = OneVsRestSVM(random_state=options.seed, n_jobs=options.jobs).fit(X, Y)
        graph = GraphLaplacianClassifier(n_jobs=options.jobs)
        graph.fit(X, Y, X_unlabeled=unlabeled)
        trained = self_train(graph, X, Y, unlabeled, learner=flagship)
    decided = flagship.predict(test.X)
    best = flagship.predict_topk(test.X, 1).to_csr(train.n_labels)
    best.data[:] = 1
    return {
        "one-vs-rest": micro_f1(decided, test.Y),
        "one-vs-rest, best label too": micro_f1(decided.maximum(best), test.Y),
        "graph": micro_f1(graph.transduced_labels()[len(train) :], test.Y),
        "self-trained one-vs-rest": micro_f1(trained.model.predict(test.X), test.Y),
    }, trained.rows.size


def micro_f1(predicted: Any, truth: Any) -> float:
    """F1 over all pairs of documents and labels."""
    right = predicted.multiply(truth).sum()
    return float(2 * right / max(predicted.sum() + truth.sum(), 1))


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """A panel for each data set: micro-F1 against the share of labeled documents."""
    draw_panels(figure, rows, panel="data", curve="learner", x="labeled", y="micro-F1")


def _notes(options: Options) -> tuple[str, ...]:
    draws = "One draw" if options.quick else "Means of three draws"
    return (
        f"{draws} of the labeled training documents; micro-F1 on the test documents, "
        "which are unlabeled nodes of the graph, as the other training documents are. gain: over "
        "one-vs-rest as it predicts by itself.",
        "self-trained: one-vs-rest on the labeled documents and on the unlabeled ones (taken) "
        "whose best score on the graph is at least 0.7.",
        *([f"The first {_QUICK_TRAIN} and {_QUICK_TEST} documents."] if options.quick else []),
    )


STUDY = Study(
    name="graph-fewlabels",
    title="Micro-F1 with few labeled documents: a graph of all, one-vs-rest, and self-training",
    parts={part: split_files(name) for part, name in PARTS.items()},
    columns={
        "data": "",
        "learner": "",
        "labeled": ".0%",
        "documents": ",d",
        "micro-F1": ".4f",
        "deviation": ".4f",
        "gain": "+.4f",
        "taken": ",.0f",
    },
    rows=rows,
    draw=draw,
    notes=_notes,
)
