"""`labelwood eval`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelwood.cli import options
from labelwood.cli.source import (
    Source,
    check_labels,
    check_order,
    check_output,
    with_source,
)
from labelwood.core.names import count, shown, some

_USUAL = (1, 3, 5)  # ranks, which stand even where there are fewer labels

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from labelwood.data.dataset import Dataset
    from labelwood.tagger import Tagger


def _ranks(text: str) -> tuple[int, ...]:
    return tuple(sorted({options.whole(1)(k) for k in text.split(",")}))


def _possible(ks: tuple[int, ...], n_labels: int) -> tuple[int, ...]:
    """The ranks, none above the number of labels but the usual ones, which few labels have too."""
    most = max(n_labels, *_USUAL)
    if ks[-1] > most:
        labels = f"there {'is' if n_labels == 1 else 'are'} {count(n_labels, 'label')}"
        options.warn(f"{labels}, so -k {ks[-1]} is taken as {n_labels}")
    return tuple(sorted({k if k <= most else n_labels for k in ks}))


@with_source
def evaluate(
    model: options.ModelPath,
    source: Source,
    ks: Annotated[
        Any,  # the command line would take a tuple for several options
        typer.Option("-k", parser=_ranks, metavar="K,…", help="Ranks at which to measure."),
    ] = "1,3,5",
    everything: Annotated[
        bool, typer.Option("--all", help="All figures, with both kinds of intervals.")
    ] = False,
    propensity: Annotated[
        bool, typer.Option("--propensity", help="Also figures corrected for missing labels.")
    ] = False,
    delta: Annotated[
        float,
        typer.Option(
            parser=options.share,
            metavar="SHARE",
            help="Intervals hold with probability 1 − delta: 0.05 or 5%.",
        ),
    ] = 0.05,
    per_label: Annotated[
        Path | None, typer.Option("--per-label", metavar="CSV", help="Write a table by label.")
    ] = None,
    jobs: options.Jobs = -1,
    seed: options.Seed = 0,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Measure a model on labeled data: ten figures in plain words, or --all of them."""
    from labelwood.errors import DataError

    check_order("eval", model, source)
    check_output(per_label, *source.files)
    with options.remarks(quiet):
        tagger = options.read_tagger(model, jobs)
        dataset = source.read(tagger=tagger)
        if len(dataset) == 0:
            raise DataError(f"{dataset.description} has no samples to evaluate the model on")
        check_labels(dataset)
        _warn_of_missing_columns(tagger, dataset)
        _warn_of_training_data(tagger, dataset)
        ks = _possible(ks, max(tagger.label_names_.size, dataset.n_labels))
        evaluation = tagger.evaluate(dataset, ks=ks, delta=delta, random_state=seed)
    if per_label is not None:
        evaluation.write_per_label_csv(per_label)
    if json:
        options.print_json(evaluation.to_dict())
    elif everything:
        typer.echo(str(evaluation))
    else:
        typer.echo(evaluation.summary(propensity=True if propensity else None))


def _warn_of_missing_columns(tagger: "Tagger", dataset: "Dataset") -> None:
    """Warn of columns of 0 and 1 that the model learned from and the data lack."""
    learned = vars(tagger).get("label_columns_") or ()
    given = dataset.label_columns or ()
    # Columns of names have other names than their labels, and any of them may hold all labels.
    if not (_are_flags(learned, tagger.label_names_) and _are_flags(given, dataset.label_names)):
        return
    missing = [name for name in learned if name not in given]
    if missing:
        verb, counts = ("is", "counts") if len(missing) == 1 else ("are", "count")
        options.warn(
            f"{len(missing):,} of the {count(len(learned), 'label column')} of the model {verb} "
            f"not in the data ({some(map(shown, missing))}) and {counts} as 0, which makes the "
            f"precision too low; add {'it' if len(missing) == 1 else 'them'}"
        )


def _are_flags(columns: "Sequence[str]", labels: "Iterable[str] | None") -> bool:
    """Whether there are several columns, each of which is a label."""
    return len(columns) > 1 and labels is not None and set(columns).issuperset(labels)


def _warn_of_training_data(tagger: "Tagger", dataset: "Dataset") -> None:
    from labelwood.tagger.inputs import content_hash
    from labelwood.tagger.overlap import overlap_remark

    if content_hash(dataset) == tagger.data_hash_:
        options.warn(
            f"the samples of {dataset.description} are those that the model was trained on, so "
            "these figures are too good; measure it on others"
        )
        return
    remark = overlap_remark(tagger, dataset)
    if remark is not None:
        options.warn(f"{remark}; leave them out, as they say nothing about new data")
