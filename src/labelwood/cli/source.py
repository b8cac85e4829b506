"""The data argument of a subcommand, with all the options that tell how to read it."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from labelwood.data.dataset import Dataset


@dataclass(frozen=True)
class Source:
    """A data file and how to read it."""

    data: Annotated[
        str, typer.Argument(metavar="DATA", help="A data file, or - for standard input.")
    ]
    format: Annotated[
        str | None, typer.Option(help="Format of DATA, when its name and content do not tell.")
    ] = None
    label_names: Annotated[
        Path | None, typer.Option(help="File with the label names, or ids and names, one a line.")
    ] = None
    feature_names: Annotated[
        Path | None, typer.Option(help="File with the feature names, one a line.")
    ] = None
    taxonomy: Annotated[
        Path | None, typer.Option(help="File with child and parent label on each line.")
    ] = None
    text_column: Annotated[
        str | None, typer.Option(help="Column of the text; several are joined: title,text.")
    ] = None
    label_column: Annotated[str | None, typer.Option(help="Column of the labels.")] = None
    id_column: Annotated[str | None, typer.Option(help="Column of the ids.")] = None
    label_separator: Annotated[
        str | None, typer.Option(help="What stands between labels in CSV and TSV.")
    ] = None
    n_features: Annotated[
        int | None, typer.Option(help="Number of features, where DATA does not tell (svmlight).")
    ] = None
    n_labels: Annotated[int | None, typer.Option(help="Number of labels, likewise.")] = None
    one_based: Annotated[
        bool | None,
        typer.Option("--one-based/--zero-based", help="Whether columns count from 1."),
    ] = None
    label_count: Annotated[
        int | None, typer.Option(help="ARFF: how many first (or, if negative, last) are labels.")
    ] = None
    missing: Annotated[
        str | None, typer.Option(help="ARFF: 'error' or 'zero' for a missing value.")
    ] = None

    def read(self) -> "Dataset":
        """Load the data set."""
        from labelwood.data.load import load_dataset

        given = {key: value for key, value in asdict(self).items() if value is not None}
        return load_dataset(given.pop("data"), **given)


def with_source(command: Callable[..., None]) -> Callable[..., None]:
    """Spread the `source` parameter of a subcommand into the fields of `Source`."""
    signature = inspect.signature(command)
    fields = list(inspect.signature(Source).parameters.values())
    spread: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        spread.extend(fields if parameter.name == "source" else [parameter])
    keyword_only = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in spread]

    @functools.wraps(command)
    def run(**values: Any) -> None:
        command(source=Source(**{one.name: values.pop(one.name) for one in fields}), **values)

    run.__signature__ = signature.replace(parameters=keyword_only)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in keyword_only}
    return run
