"""The `labelwood` command: its subcommands, and what becomes of errors."""

import errno
import io
import os
import re
import sys
import warnings
from collections.abc import Mapping
from typing import Any, NoReturn, TextIO

import typer

from labelwood import __version__
from labelwood.cli.convert import convert
from labelwood.cli.demo import demo
from labelwood.cli.evaluate import evaluate
from labelwood.cli.experiment import experiment
from labelwood.cli.info import info
from labelwood.cli.interrupt import interrupted, remember_interrupts
from labelwood.cli.predict import predict
from labelwood.cli.rules import rules
from labelwood.cli.source import in_options, is_model
from labelwood.cli.split import split
from labelwood.cli.study import study
from labelwood.cli.train import train
from labelwood.cli.warm_up import warm_up
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
app.command()(split)
app.command()(study)
app.add_typer(experiment)
app.add_typer(rules)
app.command()(watch)
app.command()(demo)
app.command(name="warm-up")(warm_up)


_OUT_OF_MEMORY = "out of memory; free some, or use fewer labels, features or threads"


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
    print(f"labelwood: warning: {in_options(str(message))}", file=sys.stderr)


def main() -> None:
    """Run the command line: a known error is one line and exit code 2."""
    warnings.showwarning = _show_warning
    remember_interrupts()
    _prepare_streams()
    try:
        sys.exit(app(prog_name="labelwood", standalone_mode=False))
    except SystemExit:
        _flush()
        raise
    except Exception as error:
        if interrupted():  # Libraries report Ctrl-C as errors of many kinds.
            sys.exit(130)
        _report(error)


def _report(error: Exception) -> NoReturn:
    """End with one line for an error of the user's, and with a traceback for one of ours."""
    if hasattr(error, "format_message"):
        _report_usage(error)
    if isinstance(error, (LabelwoodError, MemoryError)):
        _fail(in_options(str(error)) or _OUT_OF_MEMORY)
    if not isinstance(error, OSError):
        raise error
    if error.filename is None and error.errno in (errno.ENOSPC, errno.EIO):
        _discard_output()
        _fail(f"standard output cannot be written: {error.strerror}")
    if isinstance(error, IsADirectoryError) and error.filename:
        _fail(f"{os.fsdecode(error.filename)} is a directory; name a file in it")
    place = f"{os.fsdecode(error.filename)}: " if error.filename else ""
    _fail(f"{place}{error.strerror or str(error) or type(error).__name__}")


def _report_usage(error: Any) -> NoReturn:
    """End with one line for arguments that the parser refuses."""
    message = error.format_message()
    if "\n" in message:  # the help, which it shows where arguments are missing altogether
        error.show()
        sys.exit(error.exit_code)
    reasons = getattr(error.__cause__, "errors", None)
    if callable(reasons):  # of a number that is none or out of range
        message = _wrong_number(message, reasons()[0])
    # "Invalid value for '--jobs' / '-j': must be …" in the words of the library.
    message = re.sub(r"^Invalid value for '([^']+)'[^:]*: must be", r"\1 must be", message)
    context = getattr(error, "ctx", None)
    command = "labelwood" if context is None else context.command_path
    _refuse_missing_model(error, command)
    _fail(f"{message.rstrip('.')}; see {command} --help")


def _wrong_number(message: str, reason: Mapping[str, Any]) -> str:
    """The parser's message with the value that was given, which it lacks."""
    if str(reason["type"]).startswith("float"):
        message = f"{message.partition(':')[0]}: must be a number"
    return f"{message}. Got {reason['input']!r}"


def _refuse_missing_model(error: Any, command: str) -> None:
    """Where one argument is given, and that is no model, it is the model that is missing."""
    missing = getattr(getattr(error, "param", None), "name", None)
    context = getattr(error, "ctx", None)
    given = None if context is None else context.params.get("model")
    if missing != "data" or given is None or is_model(given):
        return
    _fail(f"{given} is no model; {command} MODEL DATA takes the directory of one first")


def _prepare_streams() -> None:
    if sys.stderr is None:  # closed by whoever started this
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for good
    if sys.stdout is None:
        _fail("standard output is closed; send it to a file, or to the null device")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Names of labels are in every script, and paths may be no text at all.
            stream.reconfigure(encoding="utf-8", errors="surrogateescape")


def _flush() -> None:
    """Write what is left for standard output, while an error can still be reported."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()
    except OSError as error:
        _discard_output()
        _fail(f"standard output cannot be written: {error.strerror or error}")


def _discard_output() -> None:
    """Keep the interpreter from flushing again, in vain, when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str) -> NoReturn:
    print(f"labelwood: error: {message}", file=sys.stderr)
    sys.exit(2)
