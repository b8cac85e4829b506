"""`labelwood experiment analyze`."""

from pathlib import Path
from typing import Annotated

import typer

from labelwood.cli import options
from labelwood.cli.experiment.arguments import Level, in_own_options, number_or_percentage

Evidence = Annotated[
    str,
    typer.Option(help="betting (exact), mixture (asymptotic), or bounds of each arm."),
]


def analyze(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="CSV with columns arm, visitors, conversions (, day)."),
    ],
    control: Annotated[
        str | None, typer.Option(help="Name of the control; the first arm unless given.")
    ] = None,
    level: Level = 0.05,
    uplift: Annotated[
        float | None,
        typer.Option(
            parser=number_or_percentage, metavar="SHARE", help="Smallest uplift worth finding."
        ),
    ] = None,
    evidence: Evidence = "betting",
    split: Annotated[
        float, typer.Option(help="Visitors of a treatment for one of the control, as planned.")
    ] = 1.0,
    encoding: Annotated[
        str | None, typer.Option(help="Encoding of FILE, as utf-8, cp1252 or utf-16.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Write the differences look by look as SVG.")
    ] = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Tell what counts of visitors and conversions say: verdict, p-value and intervals.

    All of it is valid however often the counts were looked at. Rows of an arm add up; with a
    column day, every day is one look.
    """
    from labelwood.core.io import writing
    from labelwood.experiments.analysis import analyze as analyze_counts
    from labelwood.experiments.analysis import read_counts

    _check_plot(plot)
    with options.remarks(quiet), in_own_options():
        found = analyze_counts(
            read_counts(file, encoding=encoding),
            control=control,
            delta=level,
            evidence=evidence,
            effect=uplift,
            ratio=split,
        )
    if plot is not None:
        with writing(plot) as svg:
            svg.write(found.svg().encode("utf-8"))
    if json:
        options.print_json(found.to_dict())
    else:
        typer.echo(str(found))


def _check_plot(plot: Path | None) -> None:
    from labelwood.data.readers.sniff import format_suffix
    from labelwood.errors import ParameterError

    if plot is not None and format_suffix(plot) != ".svg":
        raise ParameterError(
            f"--plot writes SVG; name a file that ends in .svg. Got {str(plot)!r}."
        )
