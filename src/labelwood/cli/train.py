"""`labelwood train`."""

import time
from pathlib import Path
from typing import Annotated

import typer

from labelwood.cli import options
from labelwood.cli.learners import LEARNERS
from labelwood.cli.source import Source, with_source


@with_source
def train(
    source: Source,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="MODEL", help="Directory for the model.")
    ],
    learner: Annotated[str, typer.Option(help=f"One of {', '.join(LEARNERS)}.")] = "onevsrest",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A parameter of the learner, or text.NAME=VALUE of the vectoriser; repeatable.",
        ),
    ] = None,
    jobs: options.Jobs = -1,
    seed: options.Seed = 0,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Train a model on labelled texts or features and save it."""
    from labelwood.cli.learners import make_tagger
    from labelwood.store.files import check_replaceable
    from labelwood.store.store import save

    check_replaceable(output)
    tagger = make_tagger(learner, settings or [], seed=seed, jobs=jobs)
    with options.remarks(quiet):
        dataset = source.read()
        if not json:
            typer.echo(repr(dataset))
        start = time.perf_counter()
        tagger.fit(dataset)
        seconds = time.perf_counter() - start
        save(tagger, output)
    size = sum(file.stat().st_size for file in output.iterdir())
    if json:
        summary = {"model": str(output), "bytes": size, "seconds": round(seconds, 3)}
        options.print_json({**summary, "points": len(dataset), "labels": dataset.n_labels})
    else:
        name = type(tagger.estimator_).__name__
        typer.echo(f"{name} trained in {seconds:.1f} s; {size / 2**20:.1f} MB in {output}")
