"""Data sets of two classes: read, scaled and split; learners chosen by cross-validation."""

from collections.abc import Sequence
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, NamedTuple

from labelwood.studies._datasets import split_files
from labelwood.studies._study import Options

if TYPE_CHECKING:
    from labelwood.core.types import CSR, AnyArray

_RCV1 = "rcv1-15k-hier"
FILES = {
    "pcmac": ["binary/pcmac.svm.xz"],
    "basehock": ["binary/basehock.svm.xz"],
    "madelon": ["binary/madelon.svm.xz"],
    "a9a": ["binary/a9a.train.svm.xz", "binary/a9a.test.svm.xz"],
    "rcv1": [*split_files(_RCV1), f"{_RCV1}/labels.txt"],
}
_TOPICS = (("CCAT", "ECAT"), ("GCAT", "MCAT"))  # the two classes of rcv1
N_SPLITS = 3
N_FOLDS = 3
TEST_SHARE = 0.2
MOST_POINTS = 8_000  # of a set, but for a test file of its own
_MEASURED = ("madelon",)  # columns of measurements, which need a common scale
_QUICK_SAMPLES = 300


def error_note(options: Options) -> str:
    """How the errors of a run were measured."""
    n, n_splits = sizes(options)
    splits = "one split" if n_splits == 1 else f"mean of {n_splits} splits"
    return (
        f"error: per cent of the test samples, {splits} 80/20 (a9a, rcv1: their own test sets, "
        f"{n:,} training samples), ± standard deviation; rows of unit length."
    )


def sizes(options: Options) -> tuple[int, int]:
    """Samples of a set at most, and splits."""
    return (_QUICK_SAMPLES, 1) if options.quick else (MOST_POINTS, N_SPLITS)


class Split(NamedTuple):
    """Points to learn from, and points to test with; the features are sparse or dense."""

    X: Any
    y: "AnyArray"
    X_test: Any
    y_test: "AnyArray"


def read_splits(name: str, options: Options) -> list[Split]:
    """The split that a data set comes with, or several at random; rows have unit length."""
    import numpy as np

    rng = np.random.default_rng(options.seed)
    n, n_splits = sizes(options)
    X, y = _read(name, 0, options)
    if len(FILES[name]) > 1:
        rows = rng.permutation(y.size)[:n]
        test = _read(name, 1, options, X.shape[1])
        return [_scaled(name, Split(X[rows], y[rows], *test))]
    splits = []
    for _ in range(n_splits):
        order = rng.permutation(y.size)[:n]
        test_rows, rows = np.split(order, [round(TEST_SHARE * order.size)])
        splits.append(_scaled(name, Split(X[rows], y[rows], X[test_rows], y[test_rows])))
    return splits


def _read(
    name: str, part: int, options: Options, n_features: int | None = None
) -> tuple["CSR", "AnyArray"]:
    """Features and classes of a set's file for training (0) or testing (1)."""
    import numpy as np

    from labelwood.data.load import load_dataset

    file = FILES[name][part]
    if name == "rcv1":
        return _read_topics(file, options)
    data = load_dataset(options.file(file), "svmlight", n_features=n_features)
    classes = np.array(data.label_names, dtype=float)  # two files may number them differently
    return data.X, classes[data.Y.indices]


def _read_topics(file: str, options: Options) -> tuple["CSR", "AnyArray"]:
    """News of topics of one class alone."""
    import numpy as np

    from labelwood.data.load import load_dataset

    data = load_dataset(options.file(file))
    names = options.file(FILES["rcv1"][-1]).read_text(encoding="utf-8").split()
    columns = [[names.index(topic) for topic in topics] for topics in _TOPICS]
    one, other = (np.asarray(data.Y[:, some].sum(axis=1)) > 0 for some in columns)
    rows = np.flatnonzero(one != other)
    return data.select(rows).X, np.where(one[rows], 1.0, -1.0)


def _scaled(name: str, split: Split) -> Split:
    from sklearn.preprocessing import StandardScaler

    from labelwood.core.sparse import as_csr, unit_rows

    X, X_test = split.X, split.X_test
    if name in _MEASURED:
        scaler = StandardScaler().fit(X.toarray())
        X, X_test = (as_csr(scaler.transform(one.toarray())) for one in (X, X_test))
    return split._replace(X=unit_rows(X), X_test=unit_rows(X_test))


def error(model: Any, split: Split) -> float:
    """Per cent of the test points that a fitted model gets wrong."""
    return float(100 * (model.predict(split.X_test) != split.y_test).mean())


def best_of(candidates: Sequence[Any], splits: Sequence[Split], options: Options) -> list[Any]:
    """For each split the candidate of fewest errors in cross-validation, or the first, fitted."""
    import numpy as np

    from labelwood.core.parallel import parallel

    errors = parallel(
        lambda task: _held_out_error(*task, options.seed),
        [(candidate, split) for split in splits for candidate in candidates],
        n_jobs=options.jobs,
    )
    best = np.reshape(errors, (len(splits), len(candidates))).argmin(axis=1)
    return fitted([candidates[i] for i in best], splits, options)


def best_by_trial(
    candidates: Sequence[Any], splits: Sequence[Split], options: Options
) -> list[Any]:
    """For each split the fitted tree of fewest errors on the other halves of its points."""
    trees = fitted(
        [candidate for _ in splits for candidate in candidates],
        [split for split in splits for _ in candidates],
        options,
    )
    n = len(candidates)
    by_split = [trees[k : k + n] for k in range(0, len(trees), n)]
    return [min(some, key=lambda tree: float(tree.trial_errors_[0])) for some in by_split]


def _held_out_error(model: Any, split: Split, seed: int) -> float:
    from sklearn.model_selection import StratifiedKFold, cross_val_score

    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
    return float(1 - cross_val_score(model, split.X, split.y, cv=folds).mean())


def fitted(models: Sequence[Any], splits: Sequence[Split], options: Options) -> list[Any]:
    """Copies of the models, each fitted to its split."""
    from sklearn.base import clone

    from labelwood.core.parallel import parallel

    def fit(pair: tuple[Any, Split]) -> Any:
        model, split = pair
        return clone(model).fit(split.X, split.y)

    return parallel(fit, list(zip(models, splits, strict=True)), n_jobs=options.jobs)


def figures(models: Sequence[Any], splits: Sequence[Split]) -> dict[str, float | None]:
    """Test error, its standard deviation, and the size of the models: means over the splits."""
    errors = [error(model, split) for model, split in zip(models, splits, strict=True)]
    return {
        "error": fmean(errors),
        "±": stdev(errors) if len(errors) > 1 else None,
        "features": fmean(n_features(model) for model in models),
        "leaves": fmean(model.n_leaves_ for model in models) if is_tree(models[0]) else None,
    }


def n_features(model: Any) -> int:
    """How many features a model reads."""
    if hasattr(model, "selected_features_"):
        return len(model.selected_features_)
    return int((model.coef_ != 0).sum())


def is_tree(model: Any) -> bool:
    """Whether a model is a supervised budgeted tree."""
    from labelwood.trees.budgeted import BudgetedTreeClassifier

    return isinstance(model, BudgetedTreeClassifier)
