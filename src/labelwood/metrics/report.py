"""What `evaluate` found, as a table, as JSON, and by name."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labelwood.core.propensity import PUBLISHED
from labelwood.metrics.intervals import Interval
from labelwood.metrics.per_label import PerLabel
from labelwood.metrics.sensitivity import Sensitivity

_SENSITIVITY = "PSP and PSnDCG with the constants (a, b) of the propensities published for " + (
    ", ".join(f"{kind} {constants}" for kind, constants in PUBLISHED.items())
)


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
    n_samples, n_labels, n_unlabelled : int
        Samples, labels, and samples without labels.
    delta : float
        Each interval of its own is meant to fail with this probability.
    per_label : PerLabel
        Counts and figures of each label.
    sensitivity : tuple of Sensitivity
        PSP and PSnDCG at each k with the published constants of the propensity model; empty
        without a ranking and where the propensities were not a `Propensity`.
    """

    figures: tuple[Figure, ...]
    n_samples: int
    n_labels: int
    n_unlabelled: int
    delta: float
    per_label: PerLabel
    sensitivity: tuple[Sensitivity, ...] = ()

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
        return f"Evaluation({self.n_samples} samples: {', '.join(self)})"

    def __str__(self) -> str:
        unlabelled = f" ({self.n_unlabelled:,} without labels)" if self.n_unlabelled else ""
        head = (
            f"{self.n_samples:,} samples{unlabelled}, {self.n_labels:,} labels; "
            f"percent, with {100 * (1 - self.delta):g} % intervals"
        )
        table = [("", "figure", "guaranteed", "bootstrap"), *map(_cells, self.figures)]
        lines = [head, *_aligned(table)]
        if self.sensitivity:
            ranges = [("", "range", "lowest", "highest"), *map(_range_cells, self.sensitivity)]
            lines += [_SENSITIVITY, *_aligned(ranges)]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers (shares, not percent) and lists, for JSON."""
        return {
            "n_samples": self.n_samples,
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
            "sensitivity": {one.name: dict(one.values) for one in self.sensitivity},
        }

    def to_json(self, *, indent: int | None = 2) -> str:
        """`to_dict` as text."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    def write_per_label_csv(self, path: str | Path) -> None:
        """Write one row a label: counts, precision, recall, F1 and propensity."""
        self.per_label.write_csv(path)


def _aligned(table: Sequence[Sequence[str]]) -> Iterator[str]:
    """Lines with the first column to the left and the others to the right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for name, *cells in table:
        yield f"{name:<{widths[0]}}  " + "  ".join(map(str.rjust, cells, widths[1:]))


def _digits(value: float) -> int:
    """Decimals of a percentage: four below one percent."""
    return 4 if 0 < abs(value) < 0.01 else 2


def _cells(figure: Figure) -> tuple[str, str, str, str]:
    digits = _digits(figure.value)
    value = f"{100 * figure.value:.{digits}f}"
    guaranteed = _bracket(figure.guaranteed, digits)
    if figure.guaranteed and figure.guaranteed.low <= 0 and figure.guaranteed.high >= 1:
        guaranteed = "vacuous"
    return figure.name, value, guaranteed, _bracket(figure.bootstrap, digits)


def _bracket(interval: Interval | None, digits: int) -> str:
    if interval is None:
        return "–"
    return f"[{100 * interval.low:.{digits}f}, {100 * interval.high:.{digits}f}]"


def _range_cells(one: Sensitivity) -> tuple[str, str, str, str]:
    """A row of the second table; where all values are equal none is the lowest."""
    (where_low, low), (where_high, high) = one.lowest, one.highest
    digits = _digits(low)
    shown = f"{100 * low:.{digits}f}–{100 * high:.{digits}f}"
    return (one.name, shown, "–", "–") if low == high else (one.name, shown, where_low, where_high)
