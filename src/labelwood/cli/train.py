"""`labelwood train`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelwood.cli import options
from labelwood.cli.interrupt import stop_if_interrupted
from labelwood.cli.learners import LEARNERS
from labelwood.cli.source import Source, with_source

if TYPE_CHECKING:
    from labelwood.data.dataset import Dataset

# A model is seldom smaller than a tenth of its data: without that space training is in vain.
_DATA_BYTES_A_MODEL_BYTE = 10


@with_source
def train(
    source: Source,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="MODEL", help="Directory for the model.")
    ],
    learner: Annotated[
        str,
        typer.Option(
            help=f"One of {', '.join(LEARNERS)}; auto chooses by the expected cost, "
            "and hierarchicalrls if there is a --taxonomy."
        ),
    ] = "auto",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A parameter of the learner, or text.NAME=VALUE of the vectorizer; repeatable.",
        ),
    ] = None,
    jobs: options.Jobs = -1,
    seed: options.Seed = 0,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Train a model on labelled texts or features and save it."""
    from labelwood.store.directory import check_replaceable

    check_replaceable(output)
    along_taxonomy = learner == "auto" and source.taxonomy is not None
    name = "hierarchicalrls" if along_taxonomy else learner
    with options.remarks(quiet):
        estimators, vectorizer = _estimators(name, settings or [], seed=seed, jobs=jobs)
        dataset = source.read()
        if not json:
            typer.echo(repr(dataset))
            if along_taxonomy:
                typer.echo(f"learner: {type(estimators[0]).__name__}, for there is a taxonomy")
        trained = _train(dataset, estimators, vectorizer, output)
    if json:
        options.print_json(trained.summary(output))
    else:
        typer.echo(trained.report(output))


@dataclass(frozen=True)
class _Trained:
    """What came of a training."""

    tagger: Any
    seconds: float
    bytes: int
    samples: int

    @property
    def learner(self) -> str:
        """The class of the estimator."""
        return type(self.tagger.estimator_).__name__

    def summary(self, output: Path) -> dict[str, Any]:
        """The figures for machines."""
        choice = self.tagger.choice_
        return {
            "model": str(output),
            "learner": self.learner,
            "bytes": self.bytes,
            "seconds": round(self.seconds, 3),
            "samples": self.samples,
            "labels": int(self.tagger.label_names_.size),
            **({} if choice is None else {"expected": choice.to_dict()["costs"]}),
        }

    def report(self, output: Path) -> str:
        """The same for people."""
        choice = "" if self.tagger.choice_ is None else f"{self.tagger.choice_}\n"
        size = f"{self.bytes / 2**20:.1f} MB in {output}"
        return f"{choice}{self.learner} trained in {self.seconds:.1f} s; {size}"


def _estimators(
    learner: str, settings: list[str], *, seed: int, jobs: int
) -> tuple[tuple[Any, ...], Any]:
    """The estimator that is named, or both that `auto` chooses from, and the vectorizer."""
    from labelwood.cli.learners import make_learners, make_vectorizer

    learners = make_learners(learner, settings, seed=seed, jobs=jobs)
    return tuple(learners.values()), make_vectorizer(settings)


def _train(
    dataset: "Dataset", estimators: tuple[Any, ...], vectorizer: Any, output: Path
) -> _Trained:
    """Train on `dataset` and save the model."""
    from labelwood.cli.learners import give_taxonomy
    from labelwood.store.directory import directory_size, require_space
    from labelwood.store.models import save
    from labelwood.tagger import Tagger

    require_space(output, _data_bytes(dataset) // _DATA_BYTES_A_MODEL_BYTE)
    for one in estimators:
        dataset = give_taxonomy(one, dataset)
    tagger = Tagger(estimators[0] if len(estimators) == 1 else estimators, vectorizer)
    stopwatch = options.Stopwatch()
    tagger.fit(dataset)
    seconds = stopwatch.seconds
    stop_if_interrupted()
    save(tagger, output)
    return _Trained(tagger, seconds, directory_size(output), len(dataset))


def _data_bytes(dataset: "Dataset") -> int:
    if dataset.X is None:
        return sum(map(len, dataset.texts or ()))
    return int(dataset.X.data.nbytes + dataset.X.indices.nbytes)
