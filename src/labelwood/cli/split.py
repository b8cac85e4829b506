"""`labelwood split`."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labelwood.cli import options
from labelwood.cli.source import Source, check_output, with_source
from labelwood.core.names import count
from labelwood.errors import DataError, LabelwoodError, ParameterError

if TYPE_CHECKING:
    from labelwood.data.dataset import Dataset
    from labelwood.data.readers.records import Records

_PARTS = ("train", "test")
_READING = ("text_column", "label_column", "id_column", "delimiter", "encoding", "header")


@with_source
def split(
    source: Source,
    test_size: Annotated[
        float,
        typer.Option(parser=options.share, metavar="SHARE", help="Samples of the test part."),
    ] = 0.2,
    train: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File of the training part to write.")
    ] = None,
    test: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File of the test part to write.")
    ] = None,
    at_random: Annotated[
        bool,
        typer.Option("--random", help="Draw samples at random, whatever labels they have."),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace files that are there already.")
    ] = False,
    seed: options.Seed = 0,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Divide data into a training and a test part: `split a.csv` writes a-train.csv, a-test.csv.

    Both parts get like shares of every label. The rows are written as they stand in the file, with
    all their columns.
    """
    if not 0 < test_size < 1:
        raise ParameterError(f"--test-size must lie between 0 and 1. Got {test_size:g}.")
    targets = _targets(source, train, test)
    for target in targets:
        check_output(target, *source.files)
        if target.is_file() and not force:
            raise ParameterError(f"{target} is there already; give --force to replace it")
    with options.remarks(quiet):
        dataset = source.read()
        rows = _rows(dataset, test_size, at_random, seed)
        parts = [dataset.select(one) for one in rows]
    _check_training(parts[0], dataset, test_size)
    remark = _write(source, targets, parts, rows)
    _warn_of_copies(parts)
    summary = [
        {"output": str(target), "samples": len(part), "labels": _n_used(part)}
        for target, part in zip(targets, parts, strict=True)
    ]
    if json:
        options.print_json(dict(zip(_PARTS, summary, strict=True)))
    elif not quiet:
        for target, part in zip(targets, parts, strict=True):
            sizes = f"{count(len(part), 'sample')}, {count(_n_used(part), 'label')}"
            typer.echo(f"{target}: {sizes}")
        if remark is not None:
            typer.echo(f"labelwood: {remark}", err=True)


def _is_one_file(source: Source) -> bool:
    return len(source.data) == 1 and Path(source.data[0]).is_file()


def _targets(source: Source, train: Path | None, test: Path | None) -> list[Path]:
    """The two files to write: those that are given, or two beside the one that is read."""
    given = (train, test)
    several = len(source.data) > 1 or any(mark in source.data[0] for mark in "*?[")
    if None in given and (several or source.data == ["-"]):
        what = "several files are" if several else "standard input is"
        raise ParameterError(f"{what} read: name the files to write by --train and --test")
    beside = Path(source.data[0])
    if beside.is_dir():
        raise DataError(f"{beside} is a directory; name a file in it")
    stem, dot, suffixes = beside.name.partition(".")
    targets = [
        one or beside.with_name(f"{stem}-{part}{dot}{suffixes}")
        for one, part in zip(given, _PARTS, strict=True)
    ]
    if targets[0].resolve() == targets[1].resolve():
        raise ParameterError(f"both parts would be written to {targets[0]}; name two files")
    return targets


def _rows(
    dataset: "Dataset", test_size: float, at_random: bool, seed: int
) -> tuple[list[int], ...]:
    from labelwood.data.splits import random_split, stratified_split

    if len(dataset) < 2:
        raise DataError(
            f"{dataset.description} has {count(len(dataset), 'sample')}, of which no two parts can "
            "be made"
        )
    if at_random:
        parts = random_split(len(dataset), test_size, seed)
    else:
        parts = stratified_split(dataset.Y, test_size, seed)
    return tuple(part.tolist() for part in parts)


def _check_training(train: "Dataset", dataset: "Dataset", test_size: float) -> None:
    """Refuse a training part from which nothing can be learned, where the data have labels."""
    if dataset.Y.nnz and not train.Y.nnz:
        raise ParameterError(
            f"with --test-size {test_size:g} the training part would be "
            f"{count(len(train), 'sample')} without any label; give a smaller share"
        )


def _write(
    source: Source,
    targets: Sequence[Path],
    parts: Sequence["Dataset"],
    rows: Sequence[list[int]],
) -> str | None:
    """Write the parts, and give a remark where rows are not as they stand in the file.

    A part may lack what showed how to read the whole, such as the separator of its labels. Then
    labels are written in a form that leaves no doubt, with the other columns if that can be.
    """
    from labelwood.data.load import WRITABLE, save_dataset

    chosen, records = _records(source, targets, sum(map(len, rows)))
    for plain in (False, True):
        if records is None or not _write_records(records, targets, parts, rows, plain):
            break
        pairs = zip(targets, parts, strict=True)
        if all(_is_read_back(source, target, part) for target, part in pairs):
            return f"labels are separated by ';' in {_names(targets)}" if plain else None
    if records is not None and chosen not in WRITABLE:
        raise DataError(
            f"the parts alone are not read as {source.data[0]} is; "
            "give --train FILE.jsonl --test FILE.jsonl"
        )
    for target, dataset in zip(targets, parts, strict=True):
        save_dataset(dataset, target, format=_format(source, target, chosen), overwrite=True)
    return None if records is None else f"{_names(targets)} have id, text and labels alone"


def _names(targets: Sequence[Path]) -> str:
    return " and ".join(target.name for target in targets)


def _write_records(
    records: "Records",
    targets: Sequence[Path],
    parts: Sequence["Dataset"],
    rows: Sequence[list[int]],
    plain: bool,
) -> bool:
    from labelwood.core.io import writing

    done = True
    with ExitStack() as files:  # they take their places together, when both are written
        for target, part, own in zip(targets, parts, rows, strict=True):
            file = files.enter_context(writing(target))
            if plain:
                done = records.write_plain(own, part, file) and done
            else:
                records.write(own, file)
    return done


def _records(
    source: Source, targets: Sequence[Path], n: int
) -> tuple[str | None, "Records | None"]:
    """The format, and the records where both files are to be in that of the one that is read."""
    from labelwood.data.load import WRITABLE, load_records

    if not _is_one_file(source):
        return None, None
    given = {name: getattr(source, name) for name in _READING}
    chosen, records = load_records(source.data[0], source.format, **given)
    if any(_format(source, target, chosen) != chosen for target in targets):
        return None, None
    if records is not None and len(records) != n:
        records = None
    if records is None and chosen not in WRITABLE:
        raise ParameterError(
            f"{source.data[0]} is in a format that is not written ({chosen}); "
            "give --train FILE.jsonl --test FILE.jsonl"
        )
    return chosen, records


def _format(source: Source, target: Path, chosen: str | None) -> str | None:
    """The format to write: that of the file that is read, unless the name tells another one."""
    from labelwood.data.readers.sniff import SUFFIXES, format_suffix

    suffix = format_suffix(target)
    if chosen is not None and suffix == format_suffix(source.data[0]):
        return chosen
    return SUFFIXES.get(suffix, chosen)


def _is_read_back(source: Source, target: Path, part: "Dataset") -> bool:
    """Whether the same options read the same texts and labels from a part by itself."""
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = replace(source, data=[str(target)]).read()
    except LabelwoodError:
        return False
    labels = [[sorted(one) for one in data.label_lists()] for data in (found, part)]
    return labels[0] == labels[1] and found.texts == part.texts


def _n_used(part: "Dataset") -> int:
    import numpy as np

    return int(np.unique(part.Y.indices).size)


def _warn_of_copies(parts: Sequence["Dataset"]) -> None:
    """Warn of texts that are in both parts, on which a model would look better than it is."""
    import warnings

    from labelwood.errors import LabelwoodWarning

    train, test = (part.texts for part in parts)
    if train is None or test is None:
        return
    known = set(train)
    n = sum(text in known for text in test)
    if n:
        warnings.warn(
            f"{n:,} of {count(len(test), 'text')} of the test part {'is' if n == 1 else 'are'} in "
            "the training part too; remove double rows first, as figures on them are too good",
            LabelwoodWarning,
            stacklevel=2,
        )
