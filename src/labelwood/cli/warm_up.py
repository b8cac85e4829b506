"""`labelwood warm-up`: compile all kernels once, as for the image of a container."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelwood.cli import options
from labelwood.cli.learners import LEARNERS, check_learner

if TYPE_CHECKING:
    from labelwood.data.dataset import Dataset


_TRIED = ("onevsrest", "labeltree", "fastxml")  # the learners that auto chooses among

Only = Annotated[
    list[str] | None,
    typer.Option(
        "--only",
        metavar="LEARNER",
        help="Compile what this learner needs, and leave out the others; repeatable.",
    ),
]


def warm_up(
    only: Only = None,
    jobs: options.Jobs = -1,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Compile all kernels once, or those of some learners, so that no later run has to.

    They are cached beside the package, in the user's cache directory if that is not writable,
    or in the directory of the environment variable NUMBA_CACHE_DIR.
    """
    from labelwood.core.kernel import compile_seconds

    compiled: dict[str, float] = {}
    with options.remarks(quiet, reading=False):
        for name, run in _steps(jobs, only):
            before = compile_seconds()
            run()
            compiled[name] = round(compile_seconds() - before, 1)
            if not (json or quiet):
                typer.echo(f"{name:<24} {compiled[name]:>6.1f} s")
    if json:
        options.print_json({"seconds": compiled})
    elif not quiet:
        typer.echo(f"{'in all':<24} {sum(compiled.values()):>6.1f} s")


def _steps(jobs: int, only: list[str] | None = None) -> Iterator[tuple[str, Callable[[], None]]]:
    from labelwood import Taxonomy, synthetic

    for name in only or ():
        check_learner(name)
    made = synthetic(200, 60, 12, n_test=1, labels_per_sample=2, random_state=0)
    names = [str(label) for label in range(12)]
    taxonomy = Taxonomy.from_edges([("0", name) for name in names[1:]], names)
    if not only:
        yield "readers", lambda: _read(made.train)
    # auto chooses among others.
    asked = only if only and "auto" not in only else [*(only or LEARNERS), *_TRIED]
    for learner in dict.fromkeys(asked):
        if learner != "auto":
            yield learner, partial(_train, learner, made.train, taxonomy, jobs)
    if only:
        return
    yield "rerankers", lambda: _rerank(made.train)
    yield "binary learners", lambda: _train_binary(made.train)
    yield "rules", lambda: _train_rules(made.train)
    yield "kernel methods", _train_kernel_methods
    yield "sequences", _fit_sequences
    yield "texts", _vectorize
    yield "experiments", _experiment


def _read(dataset: "Dataset") -> None:
    from labelwood.data.load import load_dataset, save_dataset
    from labelwood.data.splits import split

    with TemporaryDirectory() as folder:
        path = Path(folder) / "data.txt"
        save_dataset(dataset, path)
        load_dataset(path)
        (Path(folder) / "data.svm").write_text("a,b 1:0.5 2:1\n1 2:1\n", encoding="utf-8")
        load_dataset(Path(folder) / "data.svm")
    split(dataset, test_size=0.2, random_state=0)


def _train(learner: str, dataset: "Dataset", taxonomy: Any, jobs: int) -> None:
    import warnings
    from dataclasses import replace

    from labelwood.cli.learners import make_learners
    from labelwood.tagger import Tagger

    (estimator,) = make_learners(learner, (), seed=0, jobs=jobs).values()
    parameters = estimator.get_params(deep=False)
    if "taxonomy" in parameters:
        estimator.set_params(taxonomy=taxonomy)
        dataset = replace(dataset, Y=taxonomy.close(dataset.Y))
    if "calibrate" in parameters:
        estimator.set_params(calibrate=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the data are too small to learn from
        tagger = Tagger(estimator).fit(dataset)
        for rows in (slice(0, 1), slice(0, 50)):  # one sample takes another way than many
            tagger.predict_topk(dataset.select(range(200)[rows]), 5)
        tagger.evaluate(dataset)


def _rerank(dataset: "Dataset") -> None:
    import warnings

    from labelwood import OneVsRestSVM, RerankedClassifier, TailClassifier

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model in (TailClassifier(), RerankedClassifier(OneVsRestSVM(random_state=0))):
            model.fit(dataset.X, dataset.Y).predict_topk(dataset.X, 5)


def _train_binary(dataset: "Dataset") -> None:
    import warnings

    from labelwood import BudgetedClassifier, BudgetedTreeClassifier

    y = dataset.Y[:, [0]].toarray().ravel() > 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model in (BudgetedClassifier(), BudgetedTreeClassifier(random_state=0)):
            model.fit(dataset.X, y).predict(dataset.X)


def _train_rules(dataset: "Dataset") -> None:
    import warnings

    import numpy as np

    from labelwood import BoostedStumps, RuleTreeClassifier, RuleTreeRegressor
    from labelwood.trees.rules.optimality import compare_with_optimum

    X: Any = dataset.X
    y = dataset.Y[:, [0]].toarray().ravel() > 0
    table = X[:, :6].toarray()
    table[:, 0] = np.arange(len(table)) % 4  # categories
    table[::7, 1] = np.nan
    options: dict[str, Any] = {"categorical_features": [0], "missing": "value", "max_leaves": 6}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for criterion in ("gini", "log_loss"):
            RuleTreeClassifier(criterion=criterion, **options).fit(table, y).predict(table)
            shared = RuleTreeClassifier(criterion=criterion, shared_tree=True, max_leaves=6)
            shared.fit(X, dataset.Y).predict(X)
        RuleTreeRegressor(**options).fit(table, table[:, 2]).predict(table)
        BoostedStumps(n_rounds=3).fit(X, dataset.Y).predict(X)
        compare_with_optimum(X, y, n_features=10)


def _train_kernel_methods() -> None:
    import warnings

    import numpy as np

    from labelwood import GraphLaplacianClassifier, KernelBoostingClassifier, KernelRidgeClassifier

    X = np.random.default_rng(0).random((40, 3))
    y = (X[:, 0] > 0.5).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model in (
            KernelRidgeClassifier(),
            KernelBoostingClassifier(max_iter=5, random_state=0),
            GraphLaplacianClassifier(metric="euclidean", n_neighbors=5),
            GraphLaplacianClassifier(metric="cosine", n_neighbors=5),
        ):
            model.fit(X, y).predict(X)


def _fit_sequences() -> None:
    import warnings

    import numpy as np

    from labelwood import (
        CategoricalHMM,
        GaussianHMM,
        PoissonHMM,
        StreamMonitor,
        TwoStateGaussianHMM,
    )

    rng = np.random.default_rng(0)
    steps = rng.standard_normal((120, 2)) + 3 * (np.arange(120)[:, None] // 30 % 2)
    missing = steps.copy()
    missing[::9, 0] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for covariance in ("diagonal", "full"):
            model = GaussianHMM(covariance=covariance, max_iter=3, n_init=1, random_state=0)
            for X in (steps, missing):
                model.fit(X)
                model.decode(X)
                model.filter_proba(X)
            model.sample(5)
        three = GaussianHMM(3, max_iter=3, n_init=1, random_state=0).fit(steps)
        three.predict_proba(steps)
        TwoStateGaussianHMM(max_iter=3, n_init=1, random_state=0).fit(steps[:, :1])
        for discrete in (CategoricalHMM, PoissonHMM):
            counts = discrete(max_iter=3, n_init=1, random_state=0).fit(steps[:, :1].round() % 3)
            counts.decode(steps[:5, :1].round() % 3)
        StreamMonitor().update_many(steps[:, 0])


def _vectorize() -> None:
    from labelwood import TextVectorizer

    texts = ["An owl sees 2 cats, and a cat.", "No cat sees the ówl: 😀", "cats and owls"] * 3
    for features in ("words", "words+pairs", "words+chars", "chars"):
        vectorizer = TextVectorizer(features=features, min_df=1).fit(texts)
        vectorizer.transform(texts[:1])
        vectorizer.transform(texts)
    vectorizer.locate(texts[0])
    labels = [["cat"], ["owl"], ["cat", "owl"]] * 3
    TextVectorizer(min_df=1, max_features=5, selection="chi2").fit(texts, labels)
    TextVectorizer(min_df=1, fields={"text": 1.0}).fit([{"text": text} for text in texts])
    # Fewer than 200 texts have no trial of feature sets.
    TextVectorizer(features="auto", min_df=1, random_state=0).fit(40 * texts, 40 * labels)


def _experiment() -> None:
    from labelwood import BestArmExperiment
    from labelwood.experiments.simulation import Setting, simulate

    experiment = BestArmExperiment(2, 0.1, random_state=0)
    for arm in (0, 1):
        experiment.record(arm, 1)
    experiment.update()
    experiment.intervals()
    simulate([0.5, 0.6], 0.05, Setting(200), runs=2, random_state=0)
