"""Figures of a log of predictions: one JSON object a line."""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from labelwood.errors import DataError


def _scores(line: Mapping[str, Any]) -> list[float]:
    """Scores or probabilities of the predicted labels, largest first."""
    return sorted(
        (
            float(one["probability"] if "probability" in one else one["score"])
            for one in line["labels"]
        ),
        reverse=True,
    )


def _top_score(line: Mapping[str, Any]) -> float:
    scores = _scores(line)
    return scores[0] if scores else 0.0


def _margin(line: Mapping[str, Any]) -> float:
    scores = _scores(line)
    return scores[0] - (scores[1] if len(scores) > 1 else 0.0) if scores else 0.0


DERIVED: dict[str, Callable[[Mapping[str, Any]], float]] = {
    "top_score": _top_score,
    "margin": _margin,
    "n_labels": lambda line: float(len(line["labels"])),
}
"""Figures that are computed from the labels of `labelwood predict`; all others are fields."""


JSONL_WANTED = (
    "a log of predictions is JSONL, as labelwood predict -o p.jsonl writes it; CSV is not read"
)


def read_lines(lines: Iterable[str], name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a log with their line numbers; empty lines are skipped."""
    for number, text in enumerate(lines, 1):
        text = text.strip().removeprefix("\ufeff")
        if not text:
            continue
        try:
            content = json.loads(text)
        except json.JSONDecodeError as error:
            reason = error.msg if text.startswith("{") else JSONL_WANTED
            raise DataError(f"{name}, line {number}: not JSON: {reason}") from None
        if not isinstance(content, dict):
            raise DataError(
                f"{name}, line {number}: not a JSON object; write figures as "
                '{"figure": 0.93}, or numbers in Python to StreamMonitor().update'
            )
        yield number, content


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float))


def available_figures(line: Mapping[str, Any]) -> list[str]:
    """Derived figures, then fields that are numbers; `id` and `time` are none.

    Examples
    --------
    >>> available_figures({"id": 1, "labels": [{"label": "a", "score": 2.0}], "latency": 0.1})
    ['top_score', 'margin', 'n_labels', 'latency']
    """
    derived = list(DERIVED) if isinstance(line.get("labels"), list) else []
    fields = [
        name
        for name, value in line.items()
        if name not in ("id", "time", *derived) and (_is_number(value) or value is None)
    ]
    return derived + fields


def figures_of(line: Mapping[str, Any], wanted: Iterable[str], where: str) -> dict[str, float]:
    """The values of the wanted figures, each a finite number, or an error that says where.

    A number in a field of the name of a derived figure takes the place of that figure. What is
    null is left out.

    Examples
    --------
    >>> labels = [{"label": "a", "score": 0.9}, {"label": "b", "score": 0.5}]
    >>> figures_of({"labels": labels, "accepted": True}, ["margin", "accepted"], "line 1")
    {'margin': 0.4, 'accepted': 1.0}
    """
    found = {}
    for name in wanted:
        try:
            derived = name in DERIVED and not _is_number(line.get(name))
            value = DERIVED[name](line) if derived else line[name]
            if value is None:
                continue
            found[name] = float(value)
        except (KeyError, TypeError, ValueError):
            there = ", ".join(available_figures(line)) or "none"
            raise DataError(
                f"{where}: no figure {name!r} can be read from it; it has {there}"
            ) from None
        if not math.isfinite(found[name]):
            raise DataError(f"{where}: figure {name!r} is {found[name]!r}, not a finite number")
    return found
