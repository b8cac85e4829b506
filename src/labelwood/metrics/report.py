"""What `evaluate` found, as a table, as JSON, and by name."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labelwood.core.names import count
from labelwood.core.propensity import PUBLISHED
from labelwood.metrics.intervals import Interval
from labelwood.metrics.per_label import PerLabel
from labelwood.metrics.sensitivity import Sensitivity

_SENSITIVITY = "PSP and PSnDCG with the constants (a, b) of the propensities published for " + (
    ", ".join(f"{kind} {constants}" for kind, constants in PUBLISHED.items())
)

_ROUNDING = 1e-9  # means of samples that are all alike differ by their rounding


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
    n_samples, n_labels, n_unlabeled : int
        Samples, labels, and samples without labels.
    delta : float
        Each interval of its own is meant to fail with this probability.
    per_label : PerLabel
        Counts and figures of each label.
    sensitivity : tuple of Sensitivity
        PSP and PSnDCG at each k with the published constants of the propensity model; empty
        without a ranking and where the propensities were not a `Propensity`.
    tags_per_sample, true_per_sample : float or None
        Mean size of the predicted label sets, where there are some, and of the true ones.
    """

    figures: tuple[Figure, ...]
    n_samples: int
    n_labels: int
    n_unlabeled: int
    delta: float
    per_label: PerLabel
    sensitivity: tuple[Sensitivity, ...] = ()
    tags_per_sample: float | None = None
    true_per_sample: float | None = None

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
        table = [("", "figure", "guaranteed", "bootstrap"), *map(_cells, self.figures)]
        lines = [self._head(), *_aligned(table)]
        if self.sensitivity:
            ranges = [("", "range", "lowest", "highest"), *map(_range_cells, self.sensitivity)]
            lines += [_SENSITIVITY, *_aligned(ranges)]
        return "\n".join(lines)

    def summary(self, *, propensity: bool | None = None) -> str:
        """The ten rows that matter, in plain words, each with an interval.

        It is the one by the bootstrap. Where that has no width, as for a model without a mistake,
        it is the guaranteed one, or none if that covers everything.

        The propensity-scored figures are among them where `propensity` asks for them, or where
        samples have no label at all, which is a sign that labels are missing.

        Examples
        --------
        >>> import numpy as np
        >>> from labelwood.metrics import evaluate
        >>> Y = np.tile([[1, 0, 0], [0, 1, 1]], (500, 1))
        >>> print(evaluate(Y, labels=np.tile([[1, 0, 0], [0, 1, 0]], (500, 1))).summary())
        1,000 samples, 3 labels; percent, with 95 % intervals
        predicted tags that are right (precision)  100.00     [96.44, 100.00]
        true tags that are predicted (recall)       66.67      [65.32, 68.07]
        both in one figure (micro-F1)               80.00      [79.02, 81.00]
        the same, mean over labels (macro-F1)       66.67                   –
        samples without a tag                        0.00        [0.00, 1.19]
        tags a sample                                1.00  the truth has 1.50
        """
        wanted = propensity is True or (propensity is None and self.n_unlabeled > 0)
        rows = [(words, self.figure(name)) for name, words in self._rows(wanted)]
        table = [(words, _cells(figure)[1], _interval_of_summary(figure)) for words, figure in rows]
        if self.tags_per_sample is not None:
            truth = f"the truth has {self.true_per_sample:.2f}"
            table.append(("tags a sample", f"{self.tags_per_sample:.2f}", truth))
        return "\n".join([self._head(), *_aligned(table)])

    def _rows(self, propensity: bool) -> list[tuple[str, str]]:
        """Names of the figures to show, with what they are called."""
        ks = [int(name[2:]) for name in self if name.startswith("P@")]
        k = max(ks, default=1)
        first = min(ks, default=1)
        words = {
            f"P@{first}": "first tag is right (P@1)" if first == 1 else _right_among(first),
            f"P@{k}": _right_among(k),
            f"R@{k}": f"true tags that are among the first {k} (R@{k})",
            f"nDCG@{k}": f"order of the first {k} (nDCG@{k})",
            "precision": "predicted tags that are right (precision)",
            "recall": "true tags that are predicted (recall)",
            "F1 micro": "both in one figure (micro-F1)",
            "F1 macro": "the same, mean over labels (macro-F1)",
            "without a tag": "samples without a tag",
            "hierarchical F1": "micro-F1 with all ancestors (hierarchical F1)",
            "any wrong": "samples with any tag wrong, ancestors too",
        }
        if propensity:
            words[f"PSP@{k}"] = f"P@{k} corrected for missing labels (PSP@{k})"
        if "any wrong" in self:
            del words[f"nDCG@{k}"], words["F1 macro"]
        return [(name, text) for name, text in words.items() if name in self]

    def _head(self) -> str:
        unlabeled = f" ({self.n_unlabeled:,} without labels)" if self.n_unlabeled else ""
        return (
            f"{count(self.n_samples, 'sample')}{unlabeled}, {count(self.n_labels, 'label')}; "
            f"percent, with {100 * (1 - self.delta):g} % intervals"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers (shares, not percent) and lists, for JSON."""
        return {
            "n_samples": self.n_samples,
            "n_labels": self.n_labels,
            "n_unlabeled": self.n_unlabeled,
            "delta": self.delta,
            "tags_per_sample": self.tags_per_sample,
            "true_per_sample": self.true_per_sample,
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
        """Write one row per label: counts, precision, recall, F1 and propensity."""
        self.per_label.write_csv(path)


def _right_among(k: int) -> str:
    return f"of the first {k} tags, those that are right (P@{k})"


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
    guaranteed = "vacuous" if _is_vacuous(figure) else _bracket(figure.guaranteed, digits)
    return figure.name, value, guaranteed, _bracket(figure.bootstrap, digits)


def _is_vacuous(figure: Figure) -> bool:
    interval = figure.guaranteed
    return interval is not None and interval.low <= 0 and interval.high >= 1


def _interval_of_summary(figure: Figure) -> str:
    """The bootstrap interval, unless all samples are alike: then it would claim certainty."""
    interval = figure.bootstrap
    if interval is not None and interval.high - interval.low < _ROUNDING:
        interval = None if _is_vacuous(figure) else figure.guaranteed
    return _bracket(interval, _digits(figure.value))


def _bracket(interval: Interval | None, digits: int) -> str:
    if interval is None:
        return "–"
    return f"[{100 * interval.low:.{digits}f}, {100 * interval.high:.{digits}f}]"


def _range_cells(one: Sensitivity) -> tuple[str, str, str, str]:
    """A row of the second table; where all values are equal none is the lowest."""
    (where_low, low), (where_high, high) = one.lowest, one.highest
    digits = _digits(low)
    shown = f"{100 * low:.{digits}f}–{100 * high:.{digits}f}"
    if high - low < _ROUNDING:
        return one.name, shown, "–", "–"
    return one.name, shown, where_low, where_high
