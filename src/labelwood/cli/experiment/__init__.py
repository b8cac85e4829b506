"""`labelwood experiment analyze | plan | simulate | verify`: a module for each."""

import typer

from labelwood.cli.experiment.analyze import analyze
from labelwood.cli.experiment.plan import plan
from labelwood.cli.experiment.simulate import simulate
from labelwood.cli.experiment.verify import verify

__all__ = ["experiment"]

experiment = typer.Typer(
    name="experiment",
    help="Plan experiments, analyze their counts, simulate them, and check their ledger.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
for _command in (analyze, plan, simulate, verify):
    experiment.command()(_command)
