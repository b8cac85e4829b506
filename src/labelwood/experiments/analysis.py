"""Counts of visitors and conversions, by day or in all, to a verdict."""

import csv
import io
import logging
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from labelwood.core.caller import user_stacklevel
from labelwood.core.frames import frame_column, frame_names, is_frame, is_missing
from labelwood.core.io import Source, read_source
from labelwood.core.names import shown as quoted
from labelwood.core.params import Real, check_parameter, parse_int
from labelwood.data.readers.encoding import in_utf8
from labelwood.errors import DataError, LabelwoodWarning, ParameterError
from labelwood.experiments.best_arm import (
    DELTA,
    ArmStatistics,
    Bernoulli,
    RewardModel,
    RunningPValue,
    arm_p_value,
    intervals,
    least_differences,
    shown,
)
from labelwood.experiments.doubtful_counts import doubts
from labelwood.experiments.sample_ratio import mismatch
from labelwood.experiments.summary import Arm, Summary
from labelwood.metrics.intervals import Interval

COLUMNS = {
    "arm": ("arm", "variant", "variation", "group", "version"),
    "visitors": ("visitors", "users", "samples", "trials", "n"),
    "conversions": ("conversions", "converted", "successes", "retained"),
    "day": ("day", "date", "week"),
}


_NEEDED = ("arm", "visitors", "conversions")
_NAMELESS = "names no arm; write the name, or leave the row out"


class Look(NamedTuple):
    """The state after one day: samples so far, p-value, and each treatment's difference."""

    day: str
    n_samples: int
    p_value: float
    estimates: tuple[float, ...]
    differences: tuple[Interval, ...]


@dataclass(frozen=True)
class Analysis:
    """The verdict on an experiment, and how it stood after every day."""

    summary: Summary
    looks: tuple[Look, ...]

    @property
    def p_value(self) -> float:
        """Always valid: the smallest of all looks."""
        return self.summary.p_value

    def __str__(self) -> str:
        return str(self.summary)

    def _repr_html_(self) -> str:
        return self.summary.to_html() + self.svg()

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        looks = [
            {
                "day": look.day,
                "samples": look.n_samples,
                "p_value": look.p_value,
                "differences": [list(one) for one in look.differences],
            }
            for look in self.looks
        ]
        return {**self.summary.to_dict(), "looks": looks}

    def svg(self) -> str:
        """A plot of the differences to the control and their intervals, look by look."""
        names = [arm.name for i, arm in enumerate(self.summary.arms) if i != self.summary.control]
        return _svg(names, self.looks, self.summary.arms[self.summary.control].name)


def analyze(
    counts: "Sequence[tuple[str, int, int] | tuple[str, int, int, str]] | Mapping[str, Any] | Any",
    *,
    control: str | None = None,
    delta: float = 0.05,
    evidence: str = "betting",
    effect: float | None = None,
    ratio: float = 1.0,
    epsilon: float = 0.0,
) -> Analysis:
    """What counts of visitors and conversions say, valid however often they were looked at.

    Parameters
    ----------
    counts : sequence of (arm, visitors, conversions) or (arm, visitors, conversions, day)
        Or a mapping of arms to (visitors, conversions), or a table of pandas, polars or Arrow with
        these columns. Rows of one arm add up; with days, those of a day are one look, in the order
        in which the days first occur. A total of all arms or days is refused, and counts that seem
        to be those since the start, given for each day, are warned of.
    control : str, optional
        Its name; that of the first row unless given.
    delta : float
        The level of the verdict.
    evidence : {"betting", "mixture", "bounds"}
    effect : float, optional
        The smallest uplift worth finding, in conversion rate; 0.01 unless given.
    ratio : float
        How many visitors a treatment was meant to get for one of the control. A `LabelwoodWarning`
        where the visitors contradict it beyond chance (p < 0.001): a wrong ratio leaves "betting"
        with little power, and visitors who were lost in one arm make any verdict doubtful.
    epsilon : float
        By how much a treatment must be better to count.

    Examples
    --------
    >>> found = analyze({"gate 40": (45_489, 8_279), "gate 30": (44_700, 8_502)})
    >>> print(found.summary.verdict)  # doctest: +ELLIPSIS
    gate 30 is better than gate 40: gate 30 19.02 % against gate 40 18.20 % (difference ...
    >>> round(found.p_value, 3)
    0.026
    """
    check_parameter("analyze", "delta", delta, DELTA)
    check_parameter("analyze", "epsilon", epsilon, Real(low=0, below=1))
    _check_effect(effect)
    model = Bernoulli(bound="beta", evidence=evidence, effect=effect, ratio=ratio)
    rows = _rows(counts)
    names = list(dict.fromkeys(row[0] for row in rows))
    if len(names) < 2:
        raise DataError(f"an experiment has at least two arms. Got {shown(names)}.")
    if control is not None and control not in names:
        raise ParameterError(f"the control {control!r} is none of the arms {', '.join(names)}")
    base = 0 if control is None else names.index(control)
    totals = [ArmStatistics()] * len(names)
    running = RunningPValue(len(names), reward=model, epsilon=epsilon, control=base)
    looks = []
    for day in dict.fromkeys(row[3] for row in rows):
        for arm, visitors, conversions, when in rows:
            if when == day:
                i = names.index(arm)
                totals[i] += ArmStatistics.from_counts(visitors, conversions)
        p = running.update(totals)
        found = intervals(totals, delta, reward=model, control=base)
        others = [i for i in range(len(names)) if i != base]
        looks.append(
            Look(
                day,
                sum(one.count for one in totals),
                p,
                tuple(totals[i].mean - totals[base].mean for i in others),
                tuple(found.differences[i] for i in others),
            )
        )
    counted = {name: one.count for name, one in zip(names, totals, strict=True)}
    _warn(*doubts(rows), mismatch(counted, base, ratio, bets=evidence == "betting"))
    return Analysis(
        _summary(names, totals, base, delta, epsilon, looks[-1].p_value, model), (*looks,)
    )


def _warn(*messages: str) -> None:
    """A warning for each message that is not empty."""
    for message in filter(None, messages):
        warnings.warn(f"{message}.", LabelwoodWarning, stacklevel=user_stacklevel())


def _check_effect(effect: float | None) -> None:
    """Refuse an effect that no rate can have, as of someone who means per cent."""
    if effect is not None and not Real(above=0, below=1).accepts(effect):
        raise ParameterError(
            "The 'effect' parameter of analyze must be a number > 0 and < 1: write 1% as 0.01. "
            f"Got {shown(effect)} instead."
        )


def _summary(
    names: Sequence[str],
    totals: Sequence[ArmStatistics],
    control: int,
    delta: float,
    epsilon: float,
    p: float,
    model: RewardModel,
) -> Summary:
    found = intervals(totals, delta, reward=model, control=control)
    least = least_differences(totals, delta, reward=model, control=control)
    columns = zip(names, totals, found.arms, found.differences, least, strict=True)
    arms = [
        Arm(name, one.count, one.mean, interval, difference, at_least)
        for name, one, interval, difference, at_least in columns
    ]
    k = len(names) - 1
    winners = [
        i
        for i in range(len(names))
        if i != control
        and arm_p_value(totals[i], totals[control], reward=model, epsilon=epsilon, n_treatments=k)
        <= delta
    ]
    exact = model.evidence != "mixture"
    return Summary(arms, control, delta, p, winners, exact=exact, epsilon=epsilon)


def _rows(counts: Any) -> list[tuple[str, int, int, str]]:
    """Rows of arm, visitors, conversions and day, which may be empty."""
    if isinstance(counts, Mapping):
        counts = [(name, *_pair(name, pair)) for name, pair in counts.items()]
    elif is_frame(counts):
        counts = _table_rows(counts)
    if not isinstance(counts, Sequence) or isinstance(counts, str):
        raise DataError(
            f"counts are {{arm: (visitors, conversions)}}, a list of rows (arm, visitors, "
            f"conversions), or a table. Got {shown(counts)}; read_counts(path) reads a file."
        )
    rows = []
    for row in counts:
        if not isinstance(row, Sequence) or isinstance(row, str) or len(row) not in (3, 4):
            raise DataError(
                f"a row is (arm, visitors, conversions) or with a day. Got {shown(row)}."
            )
        if is_missing(row[0]) or not str(row[0]).strip():
            raise DataError(f"a row {_NAMELESS}. Got {shown(row)}.")
        rows.append((str(row[0]), row[1], row[2], str(row[3]) if len(row) == 4 else ""))
    if not rows:
        raise DataError("there are no counts to analyze")
    return rows


def _table_rows(frame: Any) -> list[tuple[Any, ...]]:
    """The rows of a table, whose columns have usual names."""
    names = frame_names(frame)
    places = _places([str(name).strip().lower() for name in names])
    missing = [name for name in _NEEDED if places[name] is None]
    if missing:
        listed = ", ".join(map(str, names)) or "none"
        raise DataError(
            f"The table has no column {missing[0]!r} among {listed}; it must have arm, visitors "
            "and conversions (and day)."
        )
    columns = [frame_column(frame, names[at]) for at in places.values() if at is not None]
    return list(zip(*columns, strict=True))


def _places(head: Sequence[str]) -> dict[str, int | None]:
    """Where each of `COLUMNS` stands, under one of its usual names."""
    return {
        name: next((head.index(word) for word in words if word in head), None)
        for name, words in COLUMNS.items()
    }


def _pair(name: object, pair: object) -> Sequence[Any]:
    if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
        raise DataError(f"{name!r} has visitors and conversions. Got {shown(pair)}.")
    return pair


def read_counts(
    path: str | Path, *, encoding: str | None = None
) -> list[tuple[str, int, int, str]]:
    """Rows of a CSV file with columns arm, visitors, conversions, and day where there is one.

    Columns may have other usual names (`COLUMNS`), and `;` or tabs between them. The encoding is
    inferred unless it is given.
    """
    source, remark = in_utf8(read_source(path), encoding)
    if remark:
        logging.getLogger("labelwood").info("%s: %s", source.name, remark)
    text = source.decode(source.data, 1)
    first = text.split("\n", 1)[0]
    delimiter = max(",;\t|", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    lines = _lines(reader, source)
    head = [cell.strip().lower() for cell in next(lines, [])]
    places = _places(head)
    missing = [name for name in _NEEDED if places[name] is None]
    if missing:
        raise source.error(
            1, f"no column {missing[0]!r} among {', '.join(head) or 'none'}; {_header_help()}"
        )
    rows = []
    for cells in lines:
        if not any(cell.strip() for cell in cells):
            continue
        rows.append(_counts_of(cells, head, places, source, reader.line_num))
    if not rows:
        raise source.error(None, "there are no rows of counts")
    return rows


def _lines(reader: Any, source: Source) -> Iterator[list[str]]:
    """The rows that `csv` reads; what it refuses is an error with its line."""
    try:
        yield from reader
    except csv.Error as error:
        raise source.error(
            reader.line_num, f"cannot be read as CSV ({error}); is it a table of counts?"
        ) from None


def _counts_of(
    cells: Sequence[str],
    head: Sequence[str],
    places: Mapping[str, int | None],
    source: Source,
    line: int,
) -> tuple[str, int, int, str]:
    """Arm, visitors, conversions and day of a line, refused with its number."""
    if any(cell.strip() for cell in cells[len(head) :]):
        raise source.error(
            line,
            f"{len(cells)} fields, and the first line names {len(head)}; write numbers without "
            "anything between thousands",
        )

    def cell(name: str) -> str:
        at = places[name]
        return cells[at].strip() if at is not None and at < len(cells) else ""

    def whole(name: str) -> int:
        text = cell(name)
        try:
            return parse_int(text.replace(" ", ""))
        except ValueError:
            raise source.error(
                line,
                f"column {head[places[name] or 0]!r} holds {quoted(text)}; {name} are whole "
                "numbers, as 4000: no percentages, no decimals, nothing between thousands",
            ) from None

    if not cell("arm"):
        raise source.error(line, _NAMELESS)
    visitors, conversions = whole("visitors"), whole("conversions")
    try:
        ArmStatistics.from_counts(visitors, conversions)
    except DataError as error:
        raise source.error(line, str(error)) from None
    return cell("arm"), visitors, conversions, cell("day")


def _header_help() -> str:
    return "the first line must name arm, visitors and conversions (and day)"


_COLORS = ("#2b7bba", "#d1632a", "#3a9a5b", "#8a5bb5", "#b8860b")
_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 640, 300, 70, 40, 30


def _svg(names: Sequence[str], looks: Sequence[Look], control: str) -> str:
    """Grays and colors that can be read on white and on black."""
    import html

    ends = [end for look in looks for one in look.differences for end in one if math.isfinite(end)]
    low, high = min(0.0, *ends), max(0.0, *ends)
    # Intervals of the first looks can be wide beyond use: the last ones set the scale.
    last = [end for one in looks[-1].differences for end in one]
    span = max(abs(end) for end in last) * 3 or 1.0
    low, high = max(low, -span), min(high, span)

    def y(value: float) -> float:
        share = (min(max(value, low), high) - low) / (high - low or 1.0)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _BOTTOM - _TOP)

    def x(look: int, arm: int) -> float:
        width = (_WIDTH - _LEFT - 20) / len(looks)
        return _LEFT + width * (look + (arm + 1) / (len(names) + 1))

    gray = 'stroke="#808080" fill="none"'
    text = 'fill="#808080" font-family="sans-serif" font-size="12"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">',
        f"<title>Difference to {html.escape(control)}, interval by interval</title>",
        f'<path d="M{_LEFT} {y(0):.1f}H{_WIDTH - 20}" {gray} stroke-dasharray="4 3"/>',
        f'<path d="M{_LEFT} {_TOP}V{_HEIGHT - _BOTTOM}" {gray}/>',
    ]
    for value in (low, 0.0, high):
        parts.append(
            f'<text x="{_LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end" {text}>'
            f"{100 * value:+.1f} %</text>"
        )
    for j, name in enumerate(names):
        color = _COLORS[j % len(_COLORS)]
        parts.append(
            f'<text x="{_LEFT + 110 * j}" y="16" fill="{color}" font-family="sans-serif" '
            f'font-size="12">{html.escape(name)}</text>'
        )
        for k, look in enumerate(looks):
            at, interval = x(k, j), look.differences[j]
            parts.append(
                f'<path d="M{at:.1f} {y(interval.low):.1f}V{y(interval.high):.1f}" '
                f'stroke="{color}" stroke-width="2"/>'
            )
            if math.isfinite(look.estimates[j]):
                parts.append(
                    f'<circle cx="{at:.1f}" cy="{y(look.estimates[j]):.1f}" r="3" fill="{color}"/>'
                )
    for k, look in enumerate(looks):
        if look.day and (k == 0 or k == len(looks) - 1 or len(looks) <= 8):
            parts.append(
                f'<text x="{x(k, 0):.1f}" y="{_HEIGHT - 16}" text-anchor="middle" {text}>'
                f"{html.escape(look.day)}</text>"
            )
    return "".join([*parts, "</svg>"])
