"""Options that several subcommands share, and the few lines they all print by."""

import json
import logging
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from labelwood.errors import LabelwoodWarning

ModelPath = Annotated[Path, typer.Argument(metavar="MODEL", help="Directory of a saved model.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no remarks.")]


def _jobs(value: int) -> int:
    if value == 0:
        raise typer.BadParameter("0 threads can do nothing; -1 takes all cores")
    return value


Jobs = Annotated[
    int, typer.Option("--jobs", "-j", help="Threads; -1 for all cores.", callback=_jobs)
]
Objective = Annotated[
    str, typer.Option(help="What auto maximizes: P@k, PSP@k, nDCG@k or micro-F1.")
]
TimeLimit = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", help="Of training, for what auto may take."),
]
MemoryLimit = Annotated[
    float | None,
    typer.Option(metavar="GB", help="Data included, for what auto may take."),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of everything random.")]


def read_tagger(path: Path, jobs: int) -> Any:
    """Load a model that was trained on the command line (or saved as a Tagger)."""
    from labelwood.errors import ModelError
    from labelwood.store.models import load
    from labelwood.tagger import Tagger

    tagger = load(path)
    if not isinstance(tagger, Tagger):
        raise ModelError(
            f"{path} holds a bare {type(tagger).__name__}; save a Tagger to use it here"
        )
    if "n_jobs" in tagger.estimator_.get_params():
        tagger.estimator_.set_params(n_jobs=jobs)
    return tagger


def print_json(content: object) -> None:
    """One JSON document on standard output."""
    typer.echo(json.dumps(content, ensure_ascii=False, indent=2))


@contextmanager
def remarks(quiet: bool) -> Iterator[None]:
    """Progress, warnings and the notice of compilation on standard error, unless `quiet`."""
    from labelwood.core.progress import show_progress

    logger = logging.getLogger("labelwood")
    level = logger.level
    with show_progress(not quiet), warnings.catch_warnings():
        if quiet:
            warnings.simplefilter("ignore", LabelwoodWarning)
            logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            logger.setLevel(level)


@contextmanager
def announced(shown: bool) -> Iterator[None]:
    """Print what `Tagger.fit` is about to train as soon as it is known, where it is `shown`."""
    logger = logging.getLogger("labelwood.auto")
    handler, level = _Printed(), logger.level
    if shown:
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


class _Printed(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        typer.echo(record.getMessage())


class Stopwatch:
    """Wall time since it was made, without the time of compiling kernels."""

    def __init__(self) -> None:
        self._start = self._now()

    @property
    def seconds(self) -> float:
        """Seconds so far."""
        return self._now() - self._start

    @staticmethod
    def _now() -> float:
        from labelwood.core.kernel import compile_seconds

        return time.perf_counter() - compile_seconds()
