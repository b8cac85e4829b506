"""`labelwood predict`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypedDict

import typer

from labelwood.cli import options
from labelwood.cli.answers import Answers, answer_format
from labelwood.cli.source import (
    Source,
    check_order,
    check_output,
    in_options,
    with_source,
)
from labelwood.errors import ModelError, ParameterError

if TYPE_CHECKING:
    from labelwood.core.topk import TopK
    from labelwood.data.dataset import Dataset
    from labelwood.tagger import Tagger

_BEST = 5  # labels of a sample, where nothing else is asked for and there is no threshold
_IN_TRAINING = {"fit it": "train it", "with threshold='auto'": "without --threshold none"}


Best = Annotated[
    int | None,
    typer.Option(
        "-k",
        parser=options.whole(1),
        metavar="K",
        help="The best K labels of each sample; by default the likely.",
    ),
]
Threshold = Annotated[
    float | None,
    typer.Option(
        metavar="P",
        parser=options.share,
        help="Labels of at least this probability (0.3 or 30%), in place of the threshold "
        "that was chosen in training.",
    ),
]
AtLeastOne = Annotated[
    bool,
    typer.Option("--at-least-one", help="The best label where none is likely enough."),
]
Output = Annotated[
    Path | None,
    typer.Option(
        *options.OUTPUT,
        metavar="FILE",
        help="File to write, as JSONL, CSV, TSV or Parquet by its suffix; standard output.",
    ),
]
OutputFormat = Annotated[
    str | None, typer.Option("--to", help="Format to write, when -o FILE does not tell.")
]
Long = Annotated[
    bool,
    typer.Option("--long", help="In tables a row for each label, and not for each sample."),
]
DecimalComma = Annotated[
    bool,
    typer.Option(
        "--decimal-comma",
        help="In CSV 0,83 for 0.83 and ';' between fields, as spreadsheets set to German or "
        "French expect.",
    ),
]
Proba = Annotated[
    bool | None,
    typer.Option(
        "--proba/--scores", help="Probabilities (where the model has them), or plain scores."
    ),
]


@with_source
def predict(
    model: options.ModelPath,
    source: Source,
    k: Best = None,
    threshold: Threshold = None,
    at_least_one: AtLeastOne = False,
    output: Output = None,
    output_format: OutputFormat = None,
    long: Long = False,
    decimal_comma: DecimalComma = False,
    proba: Proba = None,
    jobs: options.Jobs = -1,
    quiet: options.Quiet = False,
) -> None:
    """Print the labels of each sample, best first, in the order of the samples.

    These are the labels whose probability reaches the threshold that was chosen in training; -k,
    --threshold and --at-least-one ask for others. A model without probabilities gives its best 5.

    Plain text is tagged line by line; CSV, JSONL and all other formats sample by sample.
    """
    check_order("predict", model, source)
    _check_texts(source, model)
    check_output(output, *source.files)
    chosen = answer_format(output, output_format, long=long)
    if decimal_comma and chosen != "csv":
        raise ParameterError("--decimal-comma is for CSV; add --to csv, or -o FILE.csv")
    with options.remarks(quiet):
        tagger = options.read_tagger(model, jobs)
        if (proba or threshold is not None) and not tagger.has_probabilities:
            remedy = in_options(tagger._remedy(), _IN_TRAINING)
            raise ModelError(f"{model} gives no probabilities; {remedy}")
        dataset = source.read(
            ignore_labels=True,
            known_text_columns=vars(tagger).get("text_columns_"),  # models of format 1 have none
            known_label_columns=vars(tagger).get("label_columns_"),
        )
        what = "probability" if tagger.has_probabilities and proba is not False else "score"
        answers = Answers((), None if dataset.texts is None else (), (), (), what)
        if len(dataset):  # an empty batch has an empty answer
            asked = _asked(tagger, k, threshold, at_least_one, proba)
            top, what = _labels(tagger, dataset, asked, proba)
            effects = tagger.rule_effects(dataset, **asked) if len(tagger.rules) else None
            answers = Answers.from_topk(dataset, top, what, effects)
    answers.write(output, chosen, long=long, decimal_comma=decimal_comma)


class _Asked(TypedDict):
    """Which labels are asked for, as in `Tagger.predict`."""

    threshold: float | None
    k: int | None
    at_least_one: bool


def _asked(
    tagger: "Tagger",
    k: int | None,
    threshold: float | None,
    at_least_one: bool,
    proba: bool | None,
) -> _Asked:
    with_proba = tagger.has_probabilities if proba is None else proba
    if with_proba and (k is None or threshold is not None):
        return _Asked(threshold=threshold, k=k, at_least_one=at_least_one)
    return _Asked(threshold=None, k=k or _BEST, at_least_one=False)


def _labels(
    tagger: "Tagger", dataset: "Dataset", asked: _Asked, proba: bool | None
) -> "tuple[TopK, str]":
    """The labels of each sample, and whether they have probabilities or scores."""
    with_proba = tagger.has_probabilities if proba is None else proba
    if asked["k"] is None or asked["threshold"] is not None:
        return tagger.predict_tags(dataset, **asked), "probability"
    top = tagger.predict_topk(dataset, asked["k"], proba=with_proba)
    return top, "probability" if with_proba else "score"


def _check_texts(source: Source, model: Path) -> None:
    """A text in the place of a file is a mistake that is easily made."""
    for one in source.data:
        is_text = " " in one.strip() or one.isalpha()
        if is_text and not Path(one).exists():
            raise ParameterError(
                f"{one!r} is no file; to tag a text: echo {one!r} | labelwood predict {model} -"
            )
