"""`labelwood train`."""

import time
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelwood.cli import options
from labelwood.cli.compiling import compiling_in_background
from labelwood.cli.interrupt import stop_if_interrupted
from labelwood.cli.learners import LEARNERS, AskedLearner
from labelwood.cli.source import Source, check_labels, with_source
from labelwood.errors import ParameterError

if TYPE_CHECKING:
    from labelwood.data.dataset import Dataset

# A model is seldom smaller than a tenth of its data: without that space training is in vain.
_DATA_BYTES_A_MODEL_BYTE = 10


Output = Annotated[
    Path, typer.Option(*options.OUTPUT, metavar="MODEL", help="Directory for the model.")
]
Learner = Annotated[
    str,
    typer.Option(
        help=f"One of {', '.join(LEARNERS)}; auto chooses by trial on held-out samples, "
        "with a --taxonomy between flat learners and hierarchicalrls."
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A parameter of the learner, or text.NAME=VALUE of the vectorizer; repeatable.",
    ),
]
Threshold = Annotated[
    str,
    typer.Option(
        metavar="auto|none|P",
        help="Probability from which on predict gives a label: chosen on held-out samples, "
        "given (0.3 or 30%), or none, which saves a second training and has no probabilities.",
    ),
]
Unlabeled = Annotated[
    Path | None,
    typer.Option(help="File of unlabeled points, whose labels --learner graph predicts."),
]
SelfTrain = Annotated[
    bool,
    typer.Option("--self-train", help="Train one-vs-rest on the graph's confident answers."),
]
Precision = Annotated[
    str,
    typer.Option(
        metavar="full|int8",
        help="Of the weights in the model's file; int8 makes it much smaller, and scores a "
        "little different.",
    ),
]
Scale = Annotated[
    bool,
    typer.Option(
        "--scale/--no-scale",
        help="Standardize features that are measurements, but for learners of rules.",
    ),
]


@with_source
def train(
    source: Source,
    output: Output,
    learner: Learner = "auto",
    settings: Settings = None,
    threshold: Threshold = "auto",
    unlabeled: Unlabeled = None,
    self_train: SelfTrain = False,
    precision: Precision = "full",
    scale: Scale = True,
    objective: options.Objective = "P@k",
    time_limit: options.TimeLimit = None,
    memory_limit: options.MemoryLimit = None,
    jobs: options.Jobs = -1,
    seed: options.Seed = 0,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Train a model on labeled texts or features and save it."""
    from labelwood.store.directory import check_replaceable

    check_replaceable(output)
    params: dict[str, Any] = {
        "threshold": _threshold(threshold),
        "scale": "auto" if scale else False,
    }
    if precision not in ("full", "int8"):
        raise ParameterError(f"--precision is full or int8, not {precision!r}")
    asked = AskedLearner(learner, tuple(settings or ()), seed, jobs)
    if unlabeled is not None or self_train:
        from labelwood.cli.unlabeled import train_with_unlabeled

        train_with_unlabeled(
            source, unlabeled, output, asked, self_training=self_train, json=json, quiet=quiet
        )
        return
    limits = _Limits(objective, time_limit, memory_limit)
    limits.check(learner)
    params |= limits.parameters()
    shown = not (json or quiet)
    # With a time limit the seconds of the trials decide, which the other process would change.
    ahead = nullcontext() if time_limit else compiling_in_background(learner, jobs)
    with options.remarks(quiet, reading=json), options.announced(shown), ahead:
        estimators, vectorizer = _estimators(asked, along_taxonomy=source.taxonomy is not None)
        start = time.perf_counter()
        dataset = source.read()
        read = time.perf_counter() - start
        if shown:
            typer.echo(repr(dataset))
        check_labels(dataset)
        if not estimators:
            estimators = _compared(asked, dataset, shown=shown)
        trained = _train(dataset, estimators, vectorizer, params, output, precision, read)
    if json:
        options.print_json(trained.summary(output))
    elif not quiet:
        typer.echo(trained.report(output))


@dataclass(frozen=True)
class _Limits:
    """What the choice of `auto` maximizes, and within which limits."""

    objective: str
    seconds: float | None
    gigabytes: float | None

    def check(self, learner: str) -> None:
        """Refuse limits that nothing would keep to."""
        if learner != "auto" and self != _Limits("P@k", None, None):
            raise ParameterError(
                "--objective, --time-limit and --memory-limit are for --learner auto, "
                f"not {learner}"
            )

    def parameters(self) -> dict[str, Any]:
        """As `Tagger` takes them."""
        limit = None if self.gigabytes is None else self.gigabytes * 2**30
        return {"objective": self.objective, "time_limit": self.seconds, "memory_limit": limit}


@dataclass(frozen=True)
class _Trained:
    """What came of a training."""

    tagger: Any
    seconds: float
    parts: dict[str, float]
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
            "parts": {part: round(seconds, 3) for part, seconds in self.parts.items()},
            "samples": self.samples,
            "labels": int(self.tagger.label_names_.size),
            "threshold": self.tagger.threshold_,
            **({} if choice is None else {"choice": choice.to_dict()}),
        }

    def report(self, output: Path) -> str:
        """The same for people."""
        size = f"{self.bytes / 2**20:.1f} MB in {output}"
        lines = [f"{self.learner} trained in {self.seconds:.1f} s; {size}"]
        if self.tagger.threshold_ is not None:
            lines.append(f"labels are predicted from a probability of {self.tagger.threshold_:.2f}")
        times = ", ".join(f"{part} {seconds:.1f} s" for part, seconds in self.parts.items())
        return "\n".join([*lines, f"time: {times}"])


def _estimators(asked: AskedLearner, *, along_taxonomy: bool) -> tuple[tuple[Any, ...], Any]:
    """The estimator that is named, or those that `auto` chooses from, and the vectorizer.

    There are none where `auto` also compares along a taxonomy, which the data tell (`_compared`).
    """
    vectorizer = asked.vectorizer()
    if asked.name == "auto" and along_taxonomy:
        return (), vectorizer
    return tuple(asked.estimators().values()), vectorizer


def _compared(asked: AskedLearner, dataset: "Dataset", *, shown: bool) -> tuple[Any, ...]:
    """The estimators that `auto` compares on data with a taxonomy."""
    from labelwood.cli.learners import make_compared

    own = [one for one in asked.settings if not one.startswith("text.")]
    estimators = make_compared(own, dataset, seed=asked.seed, jobs=asked.jobs)
    if len(estimators) == 1 and shown:
        typer.echo(f"learner: {type(estimators[0]).__name__}, for there is a taxonomy")
    return estimators


def _threshold(text: str) -> str | float | None:
    """The parameter `threshold` of a Tagger."""
    if text == "auto":
        return text
    try:
        return None if text == "none" else options.share(text)
    except typer.BadParameter as error:
        error.param_hint = "'--threshold'"
        raise


def _train(
    dataset: "Dataset",
    estimators: tuple[Any, ...],
    vectorizer: Any,
    params: dict[str, Any],
    output: Path,
    precision: str,
    read: float,
) -> _Trained:
    """Train on `dataset`, which took `read` seconds to read, and save the model."""
    from labelwood.cli.learners import give_taxonomy, warn_of_ignored_taxonomy
    from labelwood.store.directory import directory_size, require_space
    from labelwood.store.models import save
    from labelwood.tagger import Tagger

    require_space(output, _data_bytes(dataset) // _DATA_BYTES_A_MODEL_BYTE)
    for one in estimators:
        dataset = give_taxonomy(one, dataset)
    if len(estimators) == 1:
        warn_of_ignored_taxonomy(estimators[0], dataset)
    chosen = estimators[0] if len(estimators) == 1 else estimators
    tagger = Tagger(chosen, vectorizer, **params)
    stopwatch = options.Stopwatch()
    tagger.fit(dataset)
    seconds = stopwatch.seconds
    stop_if_interrupted()
    save(tagger, output, precision=precision)
    parts = {"read": read, **tagger.seconds}
    return _Trained(tagger, seconds, parts, directory_size(output), len(dataset))


def _data_bytes(dataset: "Dataset") -> int:
    if dataset.X is None:
        return sum(map(len, dataset.texts or ()))
    return int(dataset.X.data.nbytes + dataset.X.indices.nbytes)
