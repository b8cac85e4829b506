"""Precision, recall and coverage of rules on data, with intervals, and what edits change."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import beta

from labelwood.core.names import count
from labelwood.core.params import Real, check_parameter
from labelwood.core.types import AnyArray, PointerArray
from labelwood.errors import DataError
from labelwood.metrics.intervals import Interval

if TYPE_CHECKING:
    from labelwood.trees.rules.rule_set.estimator import RuleSet


@dataclass(frozen=True)
class Share:
    """A share of samples with its exact interval (Clopper and Pearson 1934)."""

    count: int
    n: int
    delta: float = 0.05

    @property
    def value(self) -> float:
        """The share; NaN of nothing."""
        return self.count / self.n if self.n else float("nan")

    @property
    def interval(self) -> Interval:
        """Where the true share lies, with probability at least 1 − delta.

        Examples
        --------
        >>> [round(one, 4) for one in Share(9, 10).interval]
        [0.555, 0.9975]
        """
        k, n = self.count, self.n
        low = 0.0 if k == 0 else float(beta.ppf(self.delta / 2, k, n - k + 1))
        high = 1.0 if k == n else float(beta.ppf(1 - self.delta / 2, k + 1, n - k))
        return Interval(low, high)

    def __str__(self) -> str:
        if not self.n:
            return "–"
        low, high = self.interval
        return f"{self.value:.1%} [{low:.1%}, {high:.1%}]"


@dataclass(frozen=True)
class RuleFigures:
    """A rule and its figures: samples that it is the first to match count for it.

    `precision` is the share of them that have its label, `recall` the share of the samples
    with its label that it catches, `coverage` its share of all samples.
    """

    rule: str
    precision: Share
    recall: Share
    coverage: Share


@dataclass(frozen=True)
class RuleReport:
    """The figures of every rule, and of each label over all rules; `print` shows a table."""

    rules: tuple[RuleFigures, ...]
    labels: dict[str, tuple[Share, Share]]
    error: Share

    def __str__(self) -> str:
        head = ("", "precision", "recall", "coverage", "rule")
        rows = [
            (str(i), str(one.precision), str(one.recall), str(one.coverage), one.rule)
            for i, one in enumerate(self.rules, start=1)
        ]
        rows += [
            ("", str(precision), str(recall), "", f"all rules for {label}")
            for label, (precision, recall) in self.labels.items()
        ]
        widths = [max(len(row[i]) for row in (head, *rows)) for i in range(4)]
        lines = [
            "  ".join([*(cell.ljust(w) for cell, w in zip(row, widths, strict=False)), row[4]])
            for row in (head, *rows)
        ]
        return "\n".join([*lines, f"errors: {self.error} of {count(self.error.n, 'sample')}"])


def known_classes(rules: "RuleSet", y: object) -> PointerArray:
    """The class of each sample as a number; names and other forms of two classes are known."""
    given = np.asarray(y)
    if given.ndim == 2 and given.shape[1] == 1:
        given = given[:, 0]
    classes = rules.classes_.tolist()
    place: dict[Any, int] = {one: i for i, one in enumerate(classes)}
    place |= {str(one): i for i, one in enumerate(classes)}
    names = [rule.label for rule in rules.rule_list()]
    for name, i in zip(names, rules._rule_classes().tolist(), strict=True):
        place.setdefault(name, i)
    try:
        return np.array([place[one] for one in given.tolist()], dtype=np.int64)
    except (KeyError, TypeError):
        known = ", ".join(map(str, classes[:10]))
        raise DataError(f"y must hold one of the classes ({known}) for each sample.") from None


def report(rules: "RuleSet", X: object, y: object, delta: float) -> RuleReport:
    """See `RuleSet.evaluate`."""
    check_parameter("evaluate", "delta", delta, Real(above=0, below=1))
    matched, truth = rules.match(X), known_classes(rules, y)
    _check_lengths(matched, truth)
    classes = rules._rule_classes()
    n = truth.size
    found = []
    for number, rule in enumerate(rules.rule_list()):
        mine = matched == number
        right = int(np.count_nonzero(truth[mine] == classes[number]))
        n_label = int(np.count_nonzero(truth == classes[number]))
        n_mine = int(mine.sum())
        found.append(
            RuleFigures(
                str(rule),
                Share(right, n_mine, delta),
                Share(right, n_label, delta),
                Share(n_mine, n, delta),
            )
        )
    predicted = classes[matched]
    labels = {
        name: _precision_recall(predicted, truth, i, delta)
        for name, i in label_classes(rules).items()
    }
    return RuleReport(tuple(found), labels, Share(int((predicted != truth).sum()), n, delta))


def label_classes(rules: "RuleSet") -> dict[str, int]:
    """The labels of the rules and their classes; of two, the one that is not OTHERWISE's."""
    names = [rule.label for rule in rules.rule_list()]
    found = dict(zip(names, rules._rule_classes().tolist(), strict=True))
    if rules.classes_.size == 2 and len(found) > 1:
        found.pop(names[-1])
    return found


def _precision_recall(
    predicted: AnyArray, truth: AnyArray, i: int, delta: float
) -> tuple[Share, Share]:
    right = int(np.count_nonzero((predicted == i) & (truth == i)))
    return (
        Share(right, int(np.count_nonzero(predicted == i)), delta),
        Share(right, int(np.count_nonzero(truth == i)), delta),
    )


@dataclass(frozen=True)
class RuleChange:
    """What edits change on given data: samples, errors, and precision and recall of labels."""

    edits: tuple[str, ...]
    n_changed: int
    errors: tuple[int, int]
    labels: dict[str, tuple[tuple[Share, Share], tuple[Share, Share]]]

    def __str__(self) -> str:
        lines = [f"edit: {edit}" for edit in self.edits]
        for label, (before, after) in self.labels.items():
            for name, old, new in zip(("precision", "recall"), before, after, strict=True):
                change = 100 * (new.value - old.value)
                shown = "" if np.isnan(change) else f" ({change:+.2f})"
                shares = (
                    f"{one.value:.1%}" if one.value == one.value else "–" for one in (old, new)
                )
                lines.append(f"{name} of {label}: {' -> '.join(shares)}{shown}")
        old_errors, new_errors = self.errors
        lines.append(
            f"errors: {old_errors} -> {new_errors}; "
            f"{count(self.n_changed, 'sample changes', 'samples change')}"
        )
        return "\n".join(lines)


def compare(before: "RuleSet", after: "RuleSet", X: object, y: object) -> RuleChange:
    """See `RuleSet.compare`."""
    truth = known_classes(after, y)
    predictions = [rules._rule_classes()[rules.match(X)] for rules in (before, after)]
    _check_lengths(predictions[0], truth)
    labels = {}
    # A label that an edit has removed from the rules is shown as well: its recall falls to 0.
    for name, i in {**label_classes(before), **label_classes(after)}.items():
        old, new = (_precision_recall(one, truth, i, 0.05) for one in predictions)
        labels[name] = (old, new)
    return RuleChange(
        tuple(after.edits_[len(before.edits_) :]),
        int(np.count_nonzero(predictions[0] != predictions[1])),
        (int((predictions[0] != truth).sum()), int((predictions[1] != truth).sum())),
        labels,
    )


def _check_lengths(rows: AnyArray, truth: AnyArray) -> None:
    if rows.size != truth.size:
        raise DataError(f"X has {rows.size} rows and y has {truth.size}.")
