"""Options that several subcommands share, and the few lines they all print by."""

import json
import sys
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
    """Progress on standard error unless `quiet`; says once that kernels get compiled."""
    from labelwood.core.progress import show_progress

    if not quiet and not _kernels_compiled():
        print("compiling kernels, first run only (up to a minute)", file=sys.stderr)
    with show_progress(not quiet), warnings.catch_warnings():
        if quiet:
            warnings.simplefilter("ignore", LabelwoodWarning)
        yield


def _kernels_compiled() -> bool:
    """Whether Numba's cache holds kernels, beside the package or in the user's cache."""
    import os

    package = Path(__file__).resolve().parents[1]
    places = [package]
    if "NUMBA_CACHE_DIR" in os.environ:
        places = [Path(os.environ["NUMBA_CACHE_DIR"])]
    elif not os.access(package, os.W_OK):
        places = [Path.home() / ".cache" / "numba"]
    return any(True for place in places for _ in place.rglob("*onevsrest_kernels*.nbi"))
