"""`labelwood predict`."""

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labelwood.cli import options
from labelwood.cli.source import Source, check_output, with_source
from labelwood.errors import ModelError

if TYPE_CHECKING:
    from labelwood.core.topk import TopK
    from labelwood.data.dataset import Dataset
    from labelwood.trees.rules.label_rules import RuleEffect


@with_source
def predict(
    model: options.ModelPath,
    source: Source,
    k: Annotated[int, typer.Option("-k", min=1, help="Number of labels for each sample.")] = 5,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="JSONL", help="File to write; standard output."),
    ] = None,
    proba: Annotated[
        bool,
        typer.Option(
            "--proba", help="Probabilities in place of scores (train with --set calibrate=true)."
        ),
    ] = False,
    jobs: options.Jobs = -1,
    quiet: options.Quiet = False,
) -> None:
    """Print the best labels of each sample as JSONL, in the order of the samples."""
    from labelwood.core.io import writing

    check_output(output, *source.files)
    with options.remarks(quiet):
        tagger = options.read_tagger(model, jobs)
        if proba and not hasattr(tagger.estimator_, "calibration_scores_"):
            raise ModelError(f"{model} gives no probabilities; train with --set calibrate=true")
        dataset = source.read(ignore_labels=True)
        lines: Iterable[str] = ()
        if len(dataset):  # an empty batch has an empty answer
            top = tagger.predict_topk(dataset, k, proba=proba)
            effects = tagger.rule_effects(dataset) if len(tagger.rules) else None
            lines = jsonl_lines(dataset, top, "probability" if proba else "score", effects)
    if output is None:
        sys.stdout.writelines(lines)
    else:
        with writing(output) as file:
            file.writelines(line.encode() for line in lines)


def jsonl_lines(
    dataset: "Dataset",
    top: "TopK",
    what: str = "score",
    effects: "list[list[RuleEffect]] | None" = None,
) -> Iterator[str]:
    """One line a sample: its id (or its number, from 0), its labels and their scores.

    A label that a person's rule has added or removed is named with the rule.
    """
    for row, names in enumerate(top.names()):
        scored = [
            {"label": name, what: round(float(score), 6)}
            for name, score in zip(names, top.scores[row], strict=False)
        ]
        name = row if dataset.ids is None else dataset.ids[row]
        line = {"id": name, "labels": scored}
        if effects is not None and effects[row]:
            line["rules"] = [asdict(one) for one in effects[row]]
        yield json.dumps(line, ensure_ascii=False) + "\n"
