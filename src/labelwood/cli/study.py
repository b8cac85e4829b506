"""`labelwood study`."""

from pathlib import Path
from typing import Annotated

import typer

from labelwood.cli import options


def study(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="A study; without it all are listed.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Folder with the real data sets.")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="PART", help="Run this part alone; repeatable.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A small version of seconds, to see that it runs.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            *options.OUTPUT, metavar="FOLDER", help="Write NAME.txt, NAME.json and NAME.svg there."
        ),
    ] = None,
    jobs: options.Jobs = -1,
    seed: options.Seed = 0,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Make a figure or table of the literature again."""
    from labelwood import studies

    if name is None:
        _list(json)
        return
    studies.find(name)
    if out is not None:
        _check_out(out)
    with options.remarks(quiet):
        result = studies.run(
            name,
            data=data,
            only=only or (),
            quick=quick,
            seed=seed,
            jobs=jobs,
            report=None if quiet else _report,
        )
    if json:
        options.print_json(result.to_dict())
    else:
        typer.echo(str(result))
    written = [] if out is None else result.write(out)
    if written and not json:
        typer.echo(f"\nwritten: {', '.join(map(str, written))}")


def _list(json: bool) -> None:
    from labelwood import studies

    titles = {name: studies.find(name).title for name in studies.names()}
    if json:
        options.print_json(titles)
        return
    width = max(map(len, titles))
    for name, title in titles.items():
        typer.echo(f"{name:<{width}}  {title}")


def _check_out(out: Path) -> None:
    """Find out before the work, not after it, that its results cannot be written."""
    from labelwood.studies._plot import require_matplotlib

    require_matplotlib()
    out.mkdir(parents=True, exist_ok=True)


def _report(line: str) -> None:
    typer.echo(line, err=True)
