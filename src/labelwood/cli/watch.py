"""`labelwood watch`."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from labelwood.cli import options
from labelwood.errors import DataError

if TYPE_CHECKING:
    from labelwood.sequences.monitor import MonitorRecord, StreamMonitor

DEGRADED = 3  # exit code


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
        float, typer.Option(help="Promised mean number of predictions before a false alarm.")
    ] = 5000,
    baseline: Annotated[
        int, typer.Option(help="Predictions that the baseline is learnt from.")
    ] = 200,
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
    with _opened(log) as file:
        lines = _checked(file, name, known)
        monitor, lines = _monitor(lines, name, figure, run_length, baseline, state)
        events = list(_events(monitor, lines, name, tell=not (json or quiet)))
    if state is not None:
        from labelwood.core.io import writing

        with writing(state) as target:
            target.write(monitor.to_json().encode())
    _report(monitor, events, json=json)
    if monitor.alarm:
        raise typer.Exit(DEGRADED)


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


def _checked(file: TextIO, name: str, known: set[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    from labelwood.sequences.monitor.prediction_log import read_lines

    for number, line in read_lines(file, name):
        labels = line.get("labels", [])
        for one in labels if isinstance(labels, list) else []:
            if isinstance(one, dict) and str(one.get("label")) not in known:
                raise DataError(
                    f"{name}, line {number}: the model has no label {one.get('label')!r}; "
                    "is it the log of another model?"
                )
        yield number, line


def _monitor(
    lines: Iterator[tuple[int, dict[str, Any]]],
    name: str,
    wanted: list[str] | None,
    run_length: float,
    baseline: int,
    state: Path | None,
) -> tuple["StreamMonitor", Iterator[tuple[int, dict[str, Any]]]]:
    """The monitor of the state file, or a new one for the figures that vary."""
    from labelwood.sequences.monitor import StreamMonitor
    from labelwood.sequences.monitor.prediction_log import available_figures, figures_of

    if state is not None and state.exists():
        return StreamMonitor.from_json(state.read_text(encoding="utf-8")), lines
    head = list(islice(lines, baseline))
    if not head:
        raise DataError(f"{name} holds no predictions")
    names = list(wanted or available_figures(head[0][1]))
    if not wanted:  # a figure that never changes, such as a fixed number of labels, has no scale
        rows = [figures_of(line, names, f"{name}, line {number}") for number, line in head]
        names = [one for one in names if len({row[one] for row in rows}) > 1]
    if not names:
        raise DataError(f"{name} has no figure that varies; name one with --figure")
    monitor = StreamMonitor(run_length, figures=names, baseline_size=baseline)
    return monitor, chain(head, lines)


def _events(
    monitor: "StreamMonitor",
    lines: Iterator[tuple[int, dict[str, Any]]],
    name: str,
    *,
    tell: bool,
) -> Iterator[dict[str, Any]]:
    """Begin and end of every alarm."""
    from labelwood.sequences.monitor.prediction_log import figures_of

    alarmed = monitor.alarm
    for number, line in lines:
        where = f"{name}, line {number}"
        record = monitor.update(
            figures_of(line, monitor.figures, where), time=_seconds(line, where)
        )
        if record.alarm != alarmed:
            alarmed = record.alarm
            event = _event(record)
            if tell:
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


def _report(monitor: "StreamMonitor", events: list[dict[str, Any]], *, json: bool) -> None:
    record = monitor.record
    if json:
        now = {**_event(record), "learning": record.learning}
        options.print_json({"watched": list(monitor.figures), "now": now, "events": events})
        return
    condition = "degraded" if record.alarm else "learning" if record.learning else "healthy"
    typer.echo(f"{condition} after {record.step:,} predictions ({', '.join(monitor.figures)})")
    typer.echo(f"P(degraded) {record.probability:.3f}")
    if record.alarm:
        typer.echo(_in_words(_event(record)).partition(": ")[2])
