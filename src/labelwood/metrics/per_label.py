"""How each label fares, as a table."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from labelwood.core.types import DoubleArray
from labelwood.metrics.intervals import ratio

COLUMNS = (
    "label",
    "name",
    "true",
    "predicted",
    "correct",
    "precision",
    "recall",
    "f1",
    "propensity",
)


@dataclass(frozen=True)
class PerLabel:
    """Counts and figures of each label.

    Attributes
    ----------
    names : sequence of str, or None
    true, predicted, correct : int64 arrays of shape (n_labels,)
        At how many samples the label is true, predicted, and both.
    propensity : float64 array of shape (n_labels,), or None
    """

    names: Sequence[str] | None
    true: NDArray[np.int64]
    predicted: NDArray[np.int64]
    correct: NDArray[np.int64]
    propensity: DoubleArray | None

    @property
    def precision(self) -> DoubleArray:
        """Correct over predicted; NaN for a label that was never predicted."""
        return ratio(self.correct, self.predicted)

    @property
    def recall(self) -> DoubleArray:
        """Correct over true; NaN for a label that is never true."""
        return ratio(self.correct, self.true)

    @property
    def f1(self) -> DoubleArray:
        """Their harmonic mean; NaN for a label neither true nor predicted anywhere."""
        return ratio(2 * self.correct, self.true + self.predicted)

    def __len__(self) -> int:
        return int(self.true.size)

    def rows(self) -> Iterator[tuple[object, ...]]:
        """One row per label, in the order of `COLUMNS`; None where a figure is not defined."""
        names = [""] * len(self) if self.names is None else self.names
        propensity = np.full(len(self), np.nan) if self.propensity is None else self.propensity
        counts = (self.true.tolist(), self.predicted.tolist(), self.correct.tolist())
        figures = (
            [None if np.isnan(x) else x for x in column.tolist()]
            for column in (self.precision, self.recall, self.f1, propensity)
        )
        yield from zip(range(len(self)), names, *counts, *figures, strict=True)

    def write_csv(self, path: str | Path) -> None:
        """Write the table with a header; a figure that is not defined is left empty."""
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(COLUMNS)
            writer.writerows(self.rows())
