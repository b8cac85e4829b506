"""`labelwood train`."""

import time
from pathlib import Path
from typing import Annotated

import typer

from labelwood.cli import options
from labelwood.cli.interrupt import stop_if_interrupted
from labelwood.cli.learners import LEARNERS
from labelwood.cli.source import Source, with_source


@with_source
def train(
    source: Source,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="MODEL", help="Directory for the model.")
    ],
    learner: Annotated[
        str,
        typer.Option(
            help=f"One of {', '.join(LEARNERS)}; auto goes by the expected cost, or with "
            "--taxonomy takes hierarchicalrls."
        ),
    ] = "auto",
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
    from labelwood.cli.learners import give_taxonomy, make_learners, make_vectorizer
    from labelwood.store.files import check_replaceable
    from labelwood.store.models import save
    from labelwood.tagger import Tagger

    check_replaceable(output)
    settings = settings or []
    along_taxonomy = learner == "auto" and source.taxonomy is not None
    if along_taxonomy:
        learner = "hierarchicalrls"
    learners = make_learners(learner, settings, seed=seed, jobs=jobs)
    only = next(iter(learners.values())) if len(learners) == 1 else tuple(learners.values())
    tagger = Tagger(only, make_vectorizer(settings, seed=seed, jobs=jobs))
    with options.remarks(quiet):
        start = time.perf_counter()
        dataset = source.read()
        read = time.perf_counter() - start
        if not json:
            typer.echo(repr(dataset))
            if along_taxonomy:
                typer.echo(f"taking {type(only).__name__}: there is a taxonomy")
        for one in learners.values():
            dataset = give_taxonomy(one, dataset)
        start = time.perf_counter()
        tagger.fit(dataset)
        seconds = time.perf_counter() - start
        parts = {"read": read, **tagger.seconds}
        stop_if_interrupted()
        save(tagger, output)
    size = sum(file.stat().st_size for file in output.iterdir())
    name = type(tagger.estimator_).__name__
    if json:
        choice = tagger.choice_
        expected = {} if choice is None else choice.to_dict()["costs"]
        options.print_json(
            {
                "model": str(output),
                "learner": name,
                "bytes": size,
                "seconds": round(seconds, 3),
                "parts": {part: round(value, 3) for part, value in parts.items()},
                "points": len(dataset),
                "labels": dataset.n_labels,
                **({"expected": expected} if expected else {}),
            }
        )
    else:
        if tagger.choice_ is not None:
            typer.echo(str(tagger.choice_))
        if tagger.vectorizer_ is not None and tagger.vectorizer_.trials_:
            typer.echo(tagger.vectorizer_.trial_table())
        times = ", ".join(f"{part} {value:.1f} s" for part, value in parts.items())
        typer.echo(f"{name} trained in {seconds:.1f} s; {size / 2**20:.1f} MB in {output}")
        typer.echo(f"time: {times}")
