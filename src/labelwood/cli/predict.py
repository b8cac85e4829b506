"""`labelwood predict`."""

from pathlib import Path
from typing import Annotated

import typer

from labelwood.cli import options
from labelwood.cli.answers import Answers, answer_format
from labelwood.cli.source import Source, check_output, with_source
from labelwood.errors import ModelError


@with_source
def predict(
    model: options.ModelPath,
    source: Source,
    k: Annotated[int, typer.Option("-k", min=1, help="Number of labels for each sample.")] = 5,
    output: Annotated[
        Path | None,
        typer.Option(
            *options.OUTPUT,
            metavar="FILE",
            help="File to write, as JSONL, CSV, TSV or Parquet by its suffix; standard output.",
        ),
    ] = None,
    output_format: Annotated[
        str | None, typer.Option("--to", help="Format to write, when -o FILE does not tell.")
    ] = None,
    long: Annotated[
        bool,
        typer.Option("--long", help="In tables a row for each label, and not for each sample."),
    ] = False,
    proba: Annotated[
        bool,
        typer.Option(
            "--proba", help="Probabilities in place of scores (train with --set calibrate=true)."
        ),
    ] = False,
    jobs: options.Jobs = -1,
    quiet: options.Quiet = False,
) -> None:
    """Print the best labels of each sample, in the order of the samples.

    Plain text is tagged line by line; CSV, JSONL and all other formats sample by sample.
    """
    check_output(output, *source.files)
    chosen = answer_format(output, output_format, long=long)
    with options.remarks(quiet):
        tagger = options.read_tagger(model, jobs)
        if proba and not hasattr(tagger.estimator_, "calibration_scores_"):
            raise ModelError(f"{model} gives no probabilities; train with --set calibrate=true")
        dataset = source.read(ignore_labels=True)
        what = "probability" if proba else "score"
        answers = Answers((), None if dataset.texts is None else (), (), (), what)
        if len(dataset):  # an empty batch has an empty answer
            top = tagger.predict_topk(dataset, k, proba=proba)
            effects = tagger.rule_effects(dataset) if len(tagger.rules) else None
            answers = Answers.from_topk(dataset, top, what, effects)
    answers.write(output, chosen, long=long)
