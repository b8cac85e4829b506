"""`labelwood watch`."""

import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from labelwood.cli import options
from labelwood.cli.source import called
from labelwood.core.names import count
from labelwood.errors import DataError, LabelwoodWarning, ParameterError

if TYPE_CHECKING:
    from labelwood.sequences.monitor import MonitorRecord, StreamMonitor

DEGRADED = 3  # exit code
RUN_LENGTH, BASELINE = 5_000.0, 200
_OPTIONS = {
    "baseline_size": "--baseline",
    "expected_run_length": "--run-length",
    "drop it, or give mean and scale": "leave it out by naming others with --figure, or learn "
    "from more predictions with a larger --baseline",
}


def watch(
    model: options.ModelPath,
    log: Annotated[
        str, typer.Argument(metavar="LOG", help="Predictions as JSONL; - for standard input.")
    ] = "-",
    figure: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="top_score, margin, n_labels, or a numeric field of the log; repeatable.",
        ),
    ] = None,
    run_length: Annotated[
        float | None,
        typer.Option(
            help="Promised mean number of predictions before a false alarm.",
            min=50,
            max=1e6,
            show_default="5000",
        ),
    ] = None,
    baseline: Annotated[
        int | None,
        typer.Option(
            parser=options.whole(30),
            metavar="INTEGER",
            help="Predictions that the baseline is learned from.",
            show_default="200",
        ),
    ] = None,
    block: Annotated[
        int | None,
        typer.Option(
            parser=options.whole(1),
            metavar="INTEGER",
            help="Predictions that are averaged for one observation.",
            show_default="by the shape of each figure",
        ),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(metavar="JSON", help="State of the monitor: read if it is there, written."),
    ] = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Watch a log of predictions; exit code 3 while they are degraded."""
    known = _known_labels(model)
    name = "standard input" if log == "-" else log
    coverage = _Coverage()
    with _opened(log) as file, called(_OPTIONS):
        lines = _checked(file, name, known)
        wanted = {"figure": figure, "run_length": run_length, "baseline": baseline, "block": block}
        if state is not None and state.exists():
            monitor = _stored_monitor(state, wanted)
        else:
            monitor, lines = _new_monitor(lines, name, wanted, remarks=not (json or quiet))
        events = list(_events(monitor, lines, name, coverage, shown=not (json or quiet)))
    if state is not None:
        _write_state(monitor, state)
    _report(monitor, events, coverage, json=json)
    if monitor.alarm:
        raise typer.Exit(DEGRADED)


@dataclass
class _Coverage:
    """How many predictions of the log there are, how many have each figure, and the last line."""

    predictions: int = 0
    having: Counter[str] = field(default_factory=Counter)
    last: dict[str, int] = field(default_factory=dict)

    def add(self, number: int, figures: Sequence[str]) -> None:
        """Count the line of a number, which has these figures."""
        self.predictions += 1
        self.having.update(figures)
        self.last.update(dict.fromkeys(figures, number))

    def gaps(self, figures: Iterable[str]) -> Iterator[str]:
        """A remark on each figure that some predictions lack."""
        for one in figures:
            if self.having[one] < self.predictions:
                last = f", the last on line {self.last[one]:,}" if one in self.last else ""
                yield (
                    f"{one} is in only {self.having[one]:,} of "
                    f"{count(self.predictions, 'prediction')} in this log{last}"
                )


def _write_state(monitor: "StreamMonitor", state: Path) -> None:
    from labelwood.core.io import writing

    with writing(state) as target:
        target.write(monitor.to_json().encode())


@contextmanager
def _opened(log: str) -> Iterator[TextIO]:
    if log == "-":
        yield sys.stdin
        return
    with open(log, encoding="utf-8") as file:
        yield file


def _known_labels(model: Path) -> set[str]:
    """The labels of the model, whose predictions the log must hold."""
    tagger = options.read_tagger(model, 1)
    return {str(name) for name in tagger.label_names_}


def _decoded(file: TextIO, name: str) -> Iterator[str]:
    """The lines of a log, which must be UTF-8 as JSON is."""
    from labelwood.sequences.monitor.prediction_log import JSONL_WANTED

    try:
        yield from file
    except UnicodeDecodeError as error:
        raise DataError(
            f"{name}: byte 0x{error.object[error.start]:02x} is not UTF-8; {JSONL_WANTED}"
        ) from None


def _checked(file: TextIO, name: str, known: set[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    from labelwood.sequences.monitor.prediction_log import read_lines

    for number, line in read_lines(_decoded(file, name), name):
        labels = line.get("labels", [])
        for one in labels if isinstance(labels, list) else []:
            if isinstance(one, dict) and str(one.get("label")) not in known:
                raise DataError(
                    f"{name}, line {number}: the model has no label {one.get('label')!r}; "
                    "is it the log of another model?"
                )
        yield number, line


def _stored_monitor(state: Path, wanted: dict[str, Any]) -> "StreamMonitor":
    """The monitor of a state file; an option that contradicts it is an error."""
    from labelwood.sequences.monitor import StreamMonitor

    try:
        monitor = StreamMonitor.from_json(state.read_text(encoding="utf-8"))
    except (DataError, UnicodeDecodeError) as error:
        raise DataError(f"{state}: {error}") from None
    blocks = set(monitor.block)
    stored: dict[str, Any] = {
        "figure": list(monitor.figures),
        "run_length": monitor.expected_run_length,
        "baseline": monitor.baseline_size,
        "block": blocks.pop() if len(blocks) == 1 else monitor.block,
    }
    for name, option in wanted.items():
        given = option
        if isinstance(given, list):  # figures, in any order
            given, stored[name] = sorted(given), sorted(stored[name])
        if given is not None and given != stored[name]:
            raise ParameterError(
                f"--{name.replace('_', '-')} {_listed(given)}, but the monitor in {state} was "
                f"started with {_listed(stored[name])}: leave the option out, or name a new state."
            )
    return monitor


def _listed(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _new_monitor(
    lines: Iterator[tuple[int, dict[str, Any]]], name: str, wanted: dict[str, Any], *, remarks: bool
) -> tuple["StreamMonitor", Iterator[tuple[int, dict[str, Any]]]]:
    """A monitor for the figures of a log that vary, and the lines, of which some were read."""
    from labelwood.sequences.monitor import StreamMonitor
    from labelwood.sequences.monitor.calibration import SHORTEST, block_size
    from labelwood.sequences.monitor.prediction_log import available_figures, figures_of

    baseline = wanted["baseline"] or BASELINE
    run_length = RUN_LENGTH if wanted["run_length"] is None else wanted["run_length"]
    head = list(islice(lines, baseline))
    if not head:
        raise DataError(f"{name} holds no predictions")
    names = wanted["figure"] or available_figures(head[0][1])
    rows = [figures_of(line, names, f"{name}, line {number}") for number, line in head]
    samples = {one: [row[one] for row in rows if one in row] for one in names}
    if not wanted["figure"]:  # a figure that never changes has no scale
        constant = [one for one in names if len(set(samples[one])) <= 1]
        for one in constant if remarks else []:
            typer.echo(
                f"{one} does not change in the first {count(len(head), 'prediction')}, so it is "
                "not watched",
                err=True,
            )
        names = [one for one in names if one not in constant]
    if not names:
        raise DataError(f"{name} has no figure that varies; name one with --figure")
    share = run_length * len(names)  # the promise of each of several figures
    block = wanted["block"]
    needed = {one: block or block_size(samples[one], share) for one in names}
    longest = block or max(1, int(share / SHORTEST))
    monitor = StreamMonitor(
        run_length,
        figures=names,
        baseline_size=baseline,
        block=[min(needed[one], longest) for one in names],
    )
    _remark_blocks(monitor, needed, remarks=remarks)
    return monitor, chain(head, lines)


def _remark_blocks(monitor: "StreamMonitor", needed: dict[str, int], *, remarks: bool) -> None:
    """What is averaged; and a warning where even that does not keep the promised run length."""
    for name, block in zip(monitor.figures, monitor.block, strict=True):
        if needed[name] > block:
            warnings.warn(
                f"{name} is so far from normal that it may alarm more often than promised: raise "
                "--run-length, or leave it out.",
                LabelwoodWarning,
                stacklevel=2,
            )
        if block > 1 and remarks:
            typer.echo(f"{name} is averaged over {block:,} predictions", err=True)


def _events(
    monitor: "StreamMonitor",
    lines: Iterator[tuple[int, dict[str, Any]]],
    name: str,
    coverage: _Coverage,
    *,
    shown: bool,
) -> Iterator[dict[str, Any]]:
    """Begin and end of every alarm."""
    from labelwood.sequences.monitor.prediction_log import figures_of

    alarmed = monitor.alarm
    for number, line in lines:
        where = f"{name}, line {number}"
        values = figures_of(line, monitor.figures, where)
        coverage.add(number, list(values))
        record = monitor.update(values, time=_seconds(line, where))
        if record.alarm != alarmed:
            alarmed = record.alarm
            event = _event(record)
            if shown:
                typer.echo(_in_words(event), err=True)
            yield event


def _seconds(line: dict[str, Any], where: str) -> float | None:
    """The time of a line, a number or a date as ISO 8601 writes it."""
    from datetime import datetime

    time = line.get("time")
    if time is None or (isinstance(time, (int, float)) and not isinstance(time, bool)):
        return time
    try:
        return datetime.fromisoformat(time).timestamp()
    except (TypeError, ValueError):
        raise DataError(
            f"{where}: time must be a number or a date like 2026-01-31T12:00:00. Got {time!r}."
        ) from None


def _event(record: "MonitorRecord") -> dict[str, Any]:
    return {
        "step": record.step,
        "degraded": record.alarm,
        "probability": round(record.probability, 6),
        "change_point": record.change_point,
        "change_interval": record.change_interval,
        "figures": list(record.figures),
    }


def _in_words(event: dict[str, Any]) -> str:
    if not event["degraded"]:
        return f"prediction {event['step']:,}: healthy again"
    low, high = event["change_interval"]
    return (
        f"prediction {event['step']:,}: degraded ({', '.join(event['figures'])}), "
        f"changed at about {event['change_point']:,} ({low:,} to {high:,})"
    )


def _report(
    monitor: "StreamMonitor", events: list[dict[str, Any]], coverage: _Coverage, *, json: bool
) -> None:
    record, learning = monitor.record, list(monitor.learning)
    if json:
        report = {
            "watched": list(monitor.figures),
            "averaged_over": dict(zip(monitor.figures, monitor.block, strict=True)),
            "predictions": coverage.predictions,
            "predictions with": {one: coverage.having[one] for one in monitor.figures},
            "learning": learning,
            "now": {**_event(record), "learning": record.learning},
            "events": events,
        }
        options.print_json(report)
        return
    all_learn = len(learning) == len(monitor.figures)
    condition = "degraded" if record.alarm else "learning" if all_learn else "healthy"
    after = count(record.step, "prediction")
    typer.echo(f"{condition} after {after} ({', '.join(monitor.figures)})")
    for gap in coverage.gaps(monitor.figures):
        typer.echo(gap)
    if learning and not all_learn:
        typer.echo(f"still learning the baseline of {', '.join(learning)}")
    typer.echo(f"P(degraded) {record.probability:.3f}")
    if record.alarm:
        typer.echo(_in_words(_event(record)).partition(": ")[2])
