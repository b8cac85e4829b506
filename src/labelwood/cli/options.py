"""Options that several subcommands share, and the few lines they all print by."""

import json
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

ModelPath = Annotated[Path, typer.Argument(metavar="MODEL", help="Directory of a saved model.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="No progress and no remarks; warnings still come.")
]
OUTPUT = ("--output", "--out", "-o")
"""What the option for the file (or directory) to write is called in every subcommand."""


def share(text: str | float) -> float:
    """A share such as ``0.05``, or the same as a percentage, ``5%``.

    Examples
    --------
    >>> share("5%"), share("0.05")
    (0.05, 0.05)
    """
    written = str(text).strip()
    number, percent, rest = written.partition("%")
    try:
        value = float(number) / 100 if percent else float(number)
    except ValueError:
        value = -1.0
    if rest or not 0.0 <= value <= 1.0:
        raise typer.BadParameter(
            f"{written!r} is no share; give a number between 0 and 1, as 0.05, or a percentage: 5%"
        )
    return value


def whole(low: int | None = None, high: int = 2**63 - 1) -> Callable[[str | int], int]:
    """The parser of an option that takes whole numbers in low…high.

    Examples
    --------
    >>> whole(1)("5")
    5
    """

    def parse(text: str | int) -> int:
        from labelwood.core.params import Integer, parse_int

        try:
            value = parse_int(str(text))
        except ValueError:
            value = None
        if value is not None and Integer(low, high).accepts(value):
            return value
        # The limit is worth a word where it is what was missed.
        limit = "" if value is None or value <= high else f", of at most {high}"
        raise typer.BadParameter(f"must be {Integer(low)}{limit}. Got {str(text)!r}")

    return parse


def _jobs(value: int) -> int:
    if value == 0:
        raise typer.BadParameter("0 threads can do nothing; -1 takes all cores")
    return value


Jobs = Annotated[
    int,
    typer.Option(
        "--jobs",
        "-j",
        parser=whole(),
        metavar="INTEGER",
        help="Threads; -1 for all cores.",
        callback=_jobs,
    ),
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
Seed = Annotated[
    int,
    typer.Option(
        "--seed", parser=whole(0, 2**64 - 1), metavar="INTEGER", help="Seed of everything random."
    ),
]


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


def warn(message: str) -> None:
    """A warning on standard error, which comes under --quiet too."""
    typer.echo(f"labelwood: warning: {message}", err=True)


@contextmanager
def remarks(quiet: bool, *, reading: bool = True) -> Iterator[None]:
    """Progress and remarks on standard error, unless `quiet`; warnings always.

    Remarks are the notice of compilation and, with `reading`, what was taken for granted when a
    file was read.
    """
    from labelwood.core.progress import show_progress

    logger = logging.getLogger("labelwood")
    level = logger.level
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("labelwood: %(message)s"))
    handler.addFilter(lambda record: record.name == "labelwood")  # loggers below it have their own
    logger.addHandler(handler)
    shown = logging.INFO if reading else logging.WARNING
    logger.setLevel(logging.ERROR if quiet else shown)
    try:
        with show_progress(not quiet):
            yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)


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
