"""`labelwood train`."""

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labelwood.cli import options
from labelwood.cli.interrupt import stop_if_interrupted
from labelwood.cli.learners import LEARNERS
from labelwood.cli.source import Source, with_source

if TYPE_CHECKING:
    from labelwood.core.estimator import LabelEstimator
    from labelwood.core.types import CSR


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
    from labelwood.auto import Choice, choose_learner
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
    only = None if len(learners) > 1 else next(iter(learners.values()))
    tagger = Tagger(only, make_vectorizer(settings))
    choices: list[Choice] = []

    def choose(X: "CSR", Y: "CSR") -> "LabelEstimator":
        calibrate = any(one.calibrate for one in learners.values())
        choices.append(choose_learner(X, Y, calibrate=calibrate, n_jobs=jobs))
        if not json:
            typer.echo(str(choices[0]))
        chosen: LabelEstimator = learners[choices[0].learner]
        return chosen

    with options.remarks(quiet):
        dataset = source.read()
        if not json:
            typer.echo(repr(dataset))
            if along_taxonomy:
                typer.echo(f"taking {type(only).__name__}: there is a taxonomy")
        for one in learners.values():
            dataset = give_taxonomy(one, dataset)
        start = time.perf_counter()
        tagger.fit(dataset, choose=choose)
        seconds = time.perf_counter() - start
        stop_if_interrupted()
        save(tagger, output)
    size = sum(file.stat().st_size for file in output.iterdir())
    name = type(tagger.estimator_).__name__
    if json:
        expected = {one: asdict(cost) for choice in choices for one, cost in choice.costs.items()}
        options.print_json(
            {
                "model": str(output),
                "learner": name,
                "bytes": size,
                "seconds": round(seconds, 3),
                "points": len(dataset),
                "labels": dataset.n_labels,
                **({"expected": expected} if expected else {}),
            }
        )
    else:
        typer.echo(f"{name} trained in {seconds:.1f} s; {size / 2**20:.1f} MB in {output}")
