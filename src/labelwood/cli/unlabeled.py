"""`labelwood train few.jsonl --unlabeled many.jsonl --learner graph`: label the second file."""

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from labelwood.cli import options
from labelwood.cli.learners import AskedLearner, make_vectorizer
from labelwood.cli.source import Source, check_output, is_model
from labelwood.core.names import count
from labelwood.errors import DataError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labelwood.core.types import CSR
    from labelwood.data.dataset import Dataset


def train_with_unlabeled(
    source: Source,
    unlabeled: Path | None,
    output: Path,
    asked: AskedLearner,
    *,
    self_training: bool,
    json: bool,
    quiet: bool,
) -> None:
    """Fit the graph on both files, write the labels of the second beside the model, and save."""
    from labelwood.core.io import writing
    from labelwood.store.models import save
    from labelwood.tagger import Tagger

    if asked.name != "graph":
        raise ParameterError(
            f"--unlabeled and --self-train are for --learner graph, not {asked.name}"
        )
    if unlabeled is None:
        raise ParameterError("--self-train needs the unlabeled samples: --unlabeled FILE")
    named = output.resolve() if output.name in ("", "..") else output  # -o . has no name
    predictions = named.with_name(f"{named.name}.predictions.jsonl")
    _check_predictions(predictions, output, *source.files, unlabeled)
    estimator = next(iter(asked.estimators().values()))
    tagger = Tagger(estimator, make_vectorizer(asked.settings))
    with options.remarks(quiet):
        few = source.read()
        many = replace(source, data=[str(unlabeled)], taxonomy=None).read(ignore_labels=True)
        both = join_unlabeled(few, many)
        if both.X is None and estimator.metric == "auto":
            estimator.set_params(metric="cosine")  # few short texts can look like a table
        start = time.perf_counter()
        tagger.fit(both)
        graph = tagger.estimator_
        n_unanswered = int((graph.unanswered_ >= len(few)).sum())
        n_taken = None
        if self_training:
            n_taken = _self_train(tagger, both, len(few), asked.seed, asked.jobs)
            decided = _scores_of_decided(tagger, both, len(few))
        else:
            decided = graph.transduction_.multiply(graph.transduced_labels()).tocsr()[len(few) :]
        seconds = time.perf_counter() - start
        save(tagger, output)
    with writing(predictions) as file:
        file.writelines(_lines(many, decided, tagger.label_names_))
    figures = {
        "model": str(output),
        "predictions": str(predictions),
        "learner": type(tagger.estimator_).__name__,
        "seconds": round(seconds, 3),
        "labeled": len(few),
        "unlabeled": len(many),
        "without an answer": n_unanswered,
        **({} if n_taken is None else {"self-trained on": n_taken}),
    }
    if json:
        options.print_json(figures)
    elif not quiet:
        _print(figures)


def _check_predictions(predictions: Path, model: Path, *inputs: Path) -> None:
    """Refuse to replace a file that is read, or that no earlier training wrote with its model."""
    if not predictions.exists():
        return
    check_output(predictions, *inputs)
    if not is_model(model):
        raise ParameterError(
            f"{predictions} is there already, and there is no model {model} that it belongs to; "
            "move it, or give another name by -o"
        )


def _print(figures: dict[str, Any]) -> None:
    """The same figures in words."""
    typer.echo(
        f"{figures['labeled']:,} labeled and "
        f"{count(figures['unlabeled'], 'unlabeled sample')}; "
        f"of the latter {figures['without an answer']:,} without a connection to a labeled one, "
        "and so without an answer"
    )
    if "self-trained on" in figures:
        answers = count(figures["self-trained on"], "confident answer")
        typer.echo(f"one-vs-rest trained on {answers} as well")
    typer.echo(
        f"trained in {figures['seconds']:.1f} s; model in {figures['model']}, "
        f"labels in {figures['predictions']}"
    )


def join_unlabeled(few: "Dataset", many: "Dataset") -> "Dataset":
    """Both as one data set, in which the rows of the second have no labels."""
    import scipy.sparse as sp

    from labelwood.data.dataset import Dataset

    if (few.X is None) != (many.X is None):
        raise DataError("Both files must hold texts, or both features.")
    X, names = None, few.feature_names
    if few.X is not None and many.X is not None:
        X, names = _stack_features(few, many)
    empty = sp.csr_array((len(many), few.n_labels), dtype="float32")
    texts = None if few.texts is None else [*few.texts, *(many.texts or ())]
    return Dataset(
        X,
        sp.csr_array(sp.vstack([few.Y, empty], format="csr")),
        label_names=few.label_names,
        feature_names=names,
        texts=texts if X is None else None,
        description=few.description,
    )


def _stack_features(few: "Dataset", many: "Dataset") -> "tuple[CSR, Sequence[str] | None]":
    """Rows of both files, with columns by name: each file numbers its features by itself."""
    import scipy.sparse as sp

    from labelwood.tagger.names import columns_by_name

    X: Any = few.X
    more: Any = many.X
    names, others = few.feature_names, many.feature_names
    if (names is None) != (others is None):
        raise DataError("Both files must name their features, or neither.")
    if names is not None and others is not None:
        union = list(dict.fromkeys([*names, *others]))
        X, more = columns_by_name(X, names, union), columns_by_name(more, others, union)
        names = union
    elif X.shape[1] != more.shape[1]:
        raise DataError(
            f"The labeled samples have {X.shape[1]} features and the unlabeled ones "
            f"{more.shape[1]}; give both files the same columns."
        )
    return sp.csr_array(sp.vstack([X, more], format="csr")), names


def _self_train(tagger: Any, both: "Dataset", n: int, seed: int, jobs: int) -> int:
    """Put one-vs-rest in the place of the graph; how many confident answers it was trained on."""
    from labelwood.kernels.graph.self_training import self_train
    from labelwood.linear.onevsrest.estimator import OneVsRestSVM

    X = tagger.features(both)
    learner = OneVsRestSVM(random_state=seed, n_jobs=jobs)
    trained = self_train(tagger.estimator_, X[:n], both.Y[:n], X[n:], learner=learner)
    tagger.estimator_ = trained.model
    return int(trained.rows.size)


def _scores_of_decided(tagger: Any, both: "Dataset", n: int) -> "CSR":
    X = tagger.features(both)[n:]
    scores: CSR = tagger.estimator_._score(X, above=0.0)
    return scores


def _lines(many: "Dataset", scores: "CSR", names: Any) -> Any:
    """One JSON line for each unlabeled sample: its id and the labels decided for, best first."""
    from labelwood.cli.answers import Answers
    from labelwood.core.topk import TopK

    widest = max(int((scores.indptr[1:] - scores.indptr[:-1]).max(initial=1)), 1)
    top = TopK.from_csr(scores, widest, names)
    return (line.encode() for line in Answers.from_topk(many, top).json_lines())
