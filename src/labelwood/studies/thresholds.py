"""Which tags? The learner's zero against the threshold that a Tagger chooses, on training data."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from labelwood.studies._result import Row
from labelwood.studies._study import Options, Study

if TYPE_CHECKING:
    from labelwood.data.dataset import Dataset

N_FOLDS = 2
MAX_SAMPLES = 15_000
LONG_TEXTS = {"eurlex57k": 4_000}  # samples of sets that would take many times longer
_QUICK_SAMPLES = 200
_SETS = ("reuters21578", "goemotions", "makupalat", "eurlex57k")
_PYDOCS = {"pydocs, parameters": "parameters", "pydocs, modules": "modules"}


def rows(part: str, options: Options) -> Iterator[Row]:
    """Figures of one data set: by cross-validation on its training part."""
    import numpy as np

    from labelwood.data.splits import stratified_folds

    data = _read(part, options)
    fold = stratified_folds(data.Y, N_FOLDS, options.seed)
    parts = [
        _measure(data.select(fold != one), data.select(fold == one), options)
        for one in range(N_FOLDS)
    ]
    means = {key: float(np.mean([one[key] for one in parts])) for key in parts[0]}
    yield {"data": part, "samples": len(data), "labels": data.n_labels, **means}


def _read(part: str, options: Options) -> "Dataset":
    import numpy as np

    from labelwood.data.load import load_dataset

    if part in _PYDOCS:
        data = _pydocs(_PYDOCS[part], options)
    else:
        data = load_dataset(options.file(f"{part}/train.jsonl.xz"))
    size = _QUICK_SAMPLES if options.quick else LONG_TEXTS.get(part, MAX_SAMPLES)
    if len(data) > size:
        rng = np.random.default_rng(options.seed)
        data = data.select(np.sort(rng.choice(len(data), size, replace=False)))
    return data


def _pydocs(labels: Any, options: Options) -> "Dataset":
    """The training part, four fifths, of the docstrings that are installed everywhere."""
    from labelwood.data.corpora.pydocs import pydocs
    from labelwood.data.splits import split

    corpus = pydocs(["joblib", "rich"] if options.quick else None, labels=labels)
    train, _ = split(corpus, test_size=0.2, random_state=options.seed)
    return train


def _measure(train: "Dataset", test: "Dataset", options: Options) -> dict[str, float]:
    """Micro-F1 and samples without a tag, in per cent, of one fit."""
    import warnings

    import numpy as np

    from labelwood.errors import LabelwoodWarning
    from labelwood.linear.onevsrest import OneVsRestSVM
    from labelwood.metrics.label_sets import f1_score
    from labelwood.tagger import Tagger

    learner = OneVsRestSVM(random_state=options.seed, n_jobs=options.jobs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelwoodWarning)  # labels that a fold lacks
        tagger = Tagger(learner).fit(train)
        X = tagger.features(test)
        zero = tagger.estimator_.predict(X)
        chosen = tagger._decide(X)
    found: dict[str, float] = {"threshold": float(tagger.threshold_ or 0)}
    for name, sets in (("zero", zero), ("chosen", chosen)):
        found[f"F1 {name}"] = 100 * f1_score(test.Y, sets, "micro")
        found[f"untagged {name}"] = 100 * float(np.mean(np.diff(sets.indptr) == 0))
        found[f"tags {name}"] = sets.nnz / len(test)
    return found


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """Micro-F1 before and after, a line for each data set."""
    axes = figure.add_subplot()
    for i, row in enumerate(rows):
        axes.plot([row["F1 zero"], row["F1 chosen"]], [-i, -i], color="tab:gray")
        axes.plot([row["F1 zero"]], [-i], "o", color="tab:orange", label="zero" if not i else None)
        label = "chosen" if not i else None
        axes.plot([row["F1 chosen"]], [-i], "o", color="tab:blue", label=label)
    axes.set_yticks([-i for i in range(len(rows))], [str(row["data"]) for row in rows])
    axes.set_xlabel("micro-F1")
    axes.legend()


def _notes(options: Options) -> tuple[str, ...]:
    most = f"{MAX_SAMPLES:,} samples (eurlex57k: {LONG_TEXTS['eurlex57k']:,})"
    if options.quick:
        most = f"{_QUICK_SAMPLES} samples"
    return (
        f"{N_FOLDS}-fold cross-validation on the training part alone, of at most {most} "
        "drawn at random; means over the folds, "
        "in per cent but for tags a sample.",
        "zero: labels scored above zero by OneVsRestSVM; chosen: labels of at least the "
        "probability that had the best micro-F1 on samples held out of the training folds.",
        "pydocs: docstrings of the installed libraries, of which a fifth is set aside; labels are "
        "the names of their parameters, or their modules with all packages above.",
        "Texts by the default vectorizer, whose features are found by trial on the training folds.",
    )


STUDY = Study(
    name="thresholds",
    title="Micro-F1 and samples without a tag: a score above zero, or the threshold of a Tagger",
    parts={
        **{name: (f"{name}/train.jsonl.xz",) for name in _SETS},
        **dict.fromkeys(_PYDOCS, ()),
    },
    columns={
        "data": "",
        "samples": ",d",
        "labels": ",d",
        "threshold": ".2f",
        "F1 zero": ".1f",
        "F1 chosen": ".1f",
        "untagged zero": ".1f",
        "untagged chosen": ".1f",
        "tags zero": ".2f",
        "tags chosen": ".2f",
    },
    rows=rows,
    draw=draw,
    notes=_notes,
)
