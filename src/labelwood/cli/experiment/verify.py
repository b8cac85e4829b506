"""`labelwood experiment verify`."""

from pathlib import Path
from typing import Annotated

import typer

from labelwood.cli import options


def verify(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A ledger, as JSON or CSV.")],
    head: Annotated[
        str | None, typer.Option(help="The head that was noted; then every change shows.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Recompute a ledger, and its chain of hashes.

    The exit code is 1 when something differs, and 2 when the file cannot be read.
    """
    from labelwood.experiments.ledger import Ledger

    ledger = Ledger.read(file)
    found = ledger.verify(head)
    if json:
        values = {"file": str(file), "procedure": ledger.procedure, "alpha": ledger.alpha}
        options.print_json({**values, "head": ledger.head, **found.to_dict()})
    else:
        typer.echo(f"{file}: {ledger.procedure} at {ledger.alpha:g}: {found}")
        typer.echo(f"head {ledger.head}")
    if not found:
        raise typer.Exit(1)
