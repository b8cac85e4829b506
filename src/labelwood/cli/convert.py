"""`labelwood convert`."""

from pathlib import Path
from typing import Annotated

import typer

from labelwood.cli import options
from labelwood.cli.source import Source, check_output, with_source


@with_source
def convert(
    source: Source,
    output: Annotated[Path, typer.Argument(metavar="OUTPUT", help="File to write.")],
    output_format: Annotated[
        str | None, typer.Option("--to", help="Format of OUTPUT, when its name does not tell.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace files of names beside OUTPUT, too.")
    ] = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Write a data file in another format: XMC text, JSONL or npz."""
    from labelwood.data.load import save_dataset

    check_output(output, *source.files)
    with options.remarks(quiet):
        dataset = source.read()
    save_dataset(dataset, output, format=output_format, overwrite=force)
    to_stdout = str(output) == "-"  # then nothing else may stand there
    if json and not to_stdout:
        summary = {"output": str(output), "samples": len(dataset), "labels": dataset.n_labels}
        options.print_json(summary)
    elif not quiet:
        typer.echo(f"{dataset!r}\nwritten to {output}", err=to_stdout)
