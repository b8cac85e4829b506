"""What a study declares, and how its parts are run one after the other.

Nothing heavy is imported here, nor at the top of a study's file: listing the studies imports
them all.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labelwood.errors import DataError, ParameterError
from labelwood.studies._result import Result, Row, line


@dataclass(frozen=True)
class Options:
    """What can be asked of any study (see `labelwood.studies.run`)."""

    data: Path | None = None
    only: tuple[str, ...] = ()
    quick: bool = False
    seed: int = 0
    jobs: int = -1

    def file(self, name: str) -> Path:
        """A file of the data folder."""
        if self.data is None:
            raise DataError(f"{name} is needed, and no data folder was given")
        return self.data / name


@dataclass(frozen=True)
class Study:
    """A figure or table of the literature, and how to make it again.

    Attributes
    ----------
    name : str
        As on the command line; the file has the same name, with underscores.
    title : str
        One line on what it shows.
    parts : mapping of str to sequence of str
        What can be run alone, such as a data set or a panel of a figure, and the files of the
        data folder that it needs.
    columns : mapping of str to str
        Keys of the rows in the order of the table; how to format the numbers below.
    rows : callable
        The rows of a part, given its name and the options. Each is a plain dict; a figure
        that there is not is None or left out.
    draw : callable
        Draws rows of all parts on an empty matplotlib figure.
    notes : sequence of str, or callable
        What a reader of the table must know, a line each; a function of the options where they
        name settings on which the options have an effect.
    """

    name: str
    title: str
    parts: Mapping[str, Sequence[str]]
    columns: Mapping[str, str]
    rows: Callable[[str, Options], Iterable[Row]]
    draw: Callable[[Any, Sequence[Row]], None]
    notes: Sequence[str] | Callable[[Options], Sequence[str]] = ()

    def captions(self, options: Options) -> tuple[str, ...]:
        """The notes on a run with these options."""
        return tuple(self.notes(options) if callable(self.notes) else self.notes)

    def run(self, options: Options, report: Callable[[str], None] | None = None) -> Result:
        """The rows of all parts that were asked for and can be run."""
        announce = report or (lambda _: None)
        skipped = self._skipped(options)
        for part, reason in skipped.items():
            announce(f"{part} skipped: {reason}")
        rows: list[Row] = []
        for part in self._wanted(options):
            if part in skipped:
                continue
            for row in self.rows(part, options):
                rows.append(row)
                announce(line(row, self.columns))
        return Result(self, options, tuple(rows), skipped)

    def _wanted(self, options: Options) -> list[str]:
        for part in options.only:
            if part not in self.parts:
                known = ", ".join(self.parts)
                raise ParameterError(f"{self.name} has no part {part!r}; it has {known}")
        return [part for part in self.parts if part in options.only or not options.only]

    def _skipped(self, options: Options) -> dict[str, str]:
        """Why parts cannot be run; an error if they were named, or if none is left."""
        if options.data is not None and not options.data.is_dir():
            raise DataError(f"the data folder {options.data} is not there")
        if options.data is not None and not any(self.parts.values()):
            raise ParameterError(f"{self.name} needs no data folder; leave it out")
        wanted = self._wanted(options)
        reasons = {part: self._reason(part, options.data) for part in wanted}
        skipped = {part: reason for part, reason in reasons.items() if reason}
        if skipped and (options.only or len(skipped) == len(wanted)):
            listed = "; ".join(f"{part} {reason}" for part, reason in skipped.items())
            raise DataError(f"{self.name} cannot be run: {listed}")
        return skipped

    def _reason(self, part: str, folder: Path | None) -> str:
        files = self.parts[part]
        if files and folder is None:
            return f"needs a data folder (--data) with {' and '.join(files)}"
        missing = [name for name in files if folder and not (folder / name).is_file()]
        return f"needs {' and '.join(missing)}, not there in {folder}" if missing else ""
