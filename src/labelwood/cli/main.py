"""The `labelwood` command: its subcommands, and what becomes of errors."""

import io
import sys
import warnings
from typing import TextIO

import typer

from labelwood import __version__
from labelwood.cli.convert import convert
from labelwood.cli.demo import demo
from labelwood.cli.evaluate import evaluate
from labelwood.cli.experiment import experiment
from labelwood.cli.info import info
from labelwood.cli.interrupt import remember_interrupts
from labelwood.cli.predict import predict
from labelwood.cli.rules import rules
from labelwood.cli.source import in_options
from labelwood.cli.study import study
from labelwood.cli.train import train
from labelwood.cli.watch import watch
from labelwood.errors import LabelwoodError

app = typer.Typer(
    name="labelwood",
    help="Tag things with many labels, and know how far the tags can be trusted.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command()(train)
app.command(name="eval")(evaluate)
app.command()(predict)
app.command()(info)
app.command()(convert)
app.command()(study)
app.add_typer(experiment)
app.command()(watch)
app.add_typer(rules)
app.command()(demo)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"labelwood {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Show the version."
    ),
) -> None:
    """Tag things with many labels, and know how far the tags can be trusted."""


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    print(f"labelwood: warning: {message}", file=sys.stderr)


def main() -> None:
    """Run the command line: a known error is one line and exit code 2."""
    warnings.showwarning = _show_warning
    remember_interrupts()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8")  # names of labels are in every script
    try:
        app()
    except (LabelwoodError, MemoryError) as error:
        print(f"labelwood: error: {in_options(str(error))}", file=sys.stderr)
        sys.exit(2)
    except SystemError as error:
        # Numba reports Ctrl-C inside a kernel of the main thread this way.
        if not isinstance(error.__cause__ or error.__context__, KeyboardInterrupt):
            raise
        sys.exit(130)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        print(f"labelwood: error: {place}{error.strerror or error}", file=sys.stderr)
        sys.exit(2)
