"""What `evaluate` found, as a table, as JSON, and by name."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labelwood.metrics.intervals import Interval
from labelwood.metrics.per_label import PerLabel


@dataclass(frozen=True)
class Figure:
    """One metric: its value, and an interval of each kind where there is one."""

    name: str
    value: float
    guaranteed: Interval | None
    bootstrap: Interval | None


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Mapping[str, float]):
    """Figures by name (`evaluation["P@1"]`), as a table (`print`) and as JSON.

    Attributes
    ----------
    figures : tuple of Figure
    n_points, n_labels, n_unlabelled : int
        Points, labels, and points without labels.
    delta : float
        Each interval of its own is meant to fail with this probability.
    per_label : PerLabel
        Counts and figures of each label.
    """

    figures: tuple[Figure, ...]
    n_points: int
    n_labels: int
    n_unlabelled: int
    delta: float
    per_label: PerLabel

    def __getitem__(self, name: str) -> float:
        return self.figure(name).value

    def __iter__(self) -> Iterator[str]:
        return (figure.name for figure in self.figures)

    def __len__(self) -> int:
        return len(self.figures)

    def figure(self, name: str) -> Figure:
        """The metric called `name`, with its intervals."""
        for figure in self.figures:
            if figure.name == name:
                return figure
        raise KeyError(f"{name!r} was not evaluated; there are {', '.join(self)}")

    def __repr__(self) -> str:
        return f"Evaluation({self.n_points} points: {', '.join(self)})"

    def __str__(self) -> str:
        unlabelled = f" ({self.n_unlabelled:,} without labels)" if self.n_unlabelled else ""
        head = (
            f"{self.n_points:,} points{unlabelled}, {self.n_labels:,} labels; "
            f"percent, with {100 * (1 - self.delta):g} % intervals"
        )
        table = [("", "figure", "guaranteed", "bootstrap")]
        table += [_cells(figure) for figure in self.figures]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [
            f"{name:<{widths[0]}}  " + "  ".join(map(str.rjust, cells, widths[1:]))
            for name, *cells in table
        ]
        return "\n".join([head, *lines])

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers (shares, not percent) and lists, for JSON."""
        return {
            "n_points": self.n_points,
            "n_labels": self.n_labels,
            "n_unlabelled": self.n_unlabelled,
            "delta": self.delta,
            "figures": {
                figure.name: {
                    "value": figure.value,
                    "guaranteed": figure.guaranteed and list(figure.guaranteed),
                    "bootstrap": figure.bootstrap and list(figure.bootstrap),
                }
                for figure in self.figures
            },
        }

    def to_json(self, *, indent: int | None = 2) -> str:
        """`to_dict` as text."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    def write_per_label_csv(self, path: str | Path) -> None:
        """Write one row a label: counts, precision, recall, F1 and propensity."""
        self.per_label.write_csv(path)


def _cells(figure: Figure) -> tuple[str, str, str, str]:
    """A row of the table; a figure below one percent is shown with four decimals."""
    digits = 4 if 0 < abs(figure.value) < 0.01 else 2
    value = f"{100 * figure.value:.{digits}f}"
    guaranteed = _bracket(figure.guaranteed, digits)
    if figure.guaranteed and figure.guaranteed.low <= 0 and figure.guaranteed.high >= 1:
        guaranteed = "vacuous"
    return figure.name, value, guaranteed, _bracket(figure.bootstrap, digits)


def _bracket(interval: Interval | None, digits: int) -> str:
    if interval is None:
        return "–"
    return f"[{100 * interval.low:.{digits}f}, {100 * interval.high:.{digits}f}]"
