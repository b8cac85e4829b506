"""`labelwood convert`."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from labelwood.cli import options
from labelwood.cli.source import Source, check_output, with_source
from labelwood.errors import ParameterError


@with_source
def convert(
    source: Source,
    output: Annotated[
        Path | None,
        typer.Option(*options.OUTPUT, metavar="FILE", help="File to write, else the last DATA."),
    ] = None,
    output_format: Annotated[
        str | None, typer.Option("--to", help="Format to write, when its name does not tell.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace files of names beside the output, too.")
    ] = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Write data in another format: `convert a.csv b.jsonl`, or `convert a.csv b.csv -o c.parquet`.

    XMC text, JSONL, CSV, TSV, Parquet and npz can be written.
    """
    from labelwood.data.load import format_to_write, save_dataset

    source, target = _target(source, output)
    check_output(target, *source.files)
    chosen = format_to_write(target, output_format, option="--to")
    with options.remarks(quiet):
        dataset = source.read()
    save_dataset(dataset, target, format=chosen, overwrite=force)
    to_stdout = str(target) == "-"  # then nothing else may stand there
    if json and not to_stdout:
        summary = {"output": str(target), "samples": len(dataset), "labels": dataset.n_labels}
        options.print_json(summary)
    elif not quiet:
        typer.echo(f"{dataset!r}\nwritten to {target}", err=to_stdout)


def _target(source: Source, output: Path | None) -> tuple[Source, Path]:
    """The files to read, and the one to write: that of -o, or the last one."""
    if output is not None:
        return source, output
    if len(source.data) < 2:
        raise ParameterError(f"give the file to write: labelwood convert {source.data[0]} -o FILE")
    return replace(source, data=source.data[:-1]), Path(source.data[-1])
