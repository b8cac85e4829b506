"""Where an experiment stands, in a sentence and a table: for a terminal, a notebook or JSON."""

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labelwood.core.names import count
from labelwood.experiments.best_arm.always_valid import least_differences
from labelwood.metrics.intervals import Interval

if TYPE_CHECKING:
    from labelwood.experiments.best_arm import BestArmExperiment

_ASYMPTOTIC = "valid at every look asymptotically, for many samples"
_EXACT = "valid at every look"
_TABLE = ("arm", "samples", "mean", "interval", "difference to control")


@dataclass(frozen=True)
class Arm:
    """One line of the table."""

    name: str
    count: int
    mean: float
    interval: Interval
    difference: Interval
    """Of its mean minus the control's; two-sided."""
    least: float = -math.inf
    """What its mean exceeds the control's by, at least: one-sided, as the p-value is."""


@dataclass(frozen=True)
class Summary:
    """What is known of the arms, and the verdict that follows.

    Attributes
    ----------
    arms : sequence of Arm
    control : int
        The number of the control's arm.
    delta : float
        The level of the verdict.
    p_value : float
        One-sided: of no treatment being more than ε better than the control.
    winners : sequence of int
        The treatments whose own p-value, corrected for all K of them (union bound), is at most δ.
    ended : str
        "winner", "control", "limit", "closed", or "" while it is running.
    best : int or None
        The arm that the experiment ended with.
    exact : bool
        Whether the p-value is valid for any number of samples.
    shares : bool
        Whether means are shown as percentages.
    epsilon : float
        By how much a treatment must be better to count.
    """

    arms: Sequence[Arm]
    control: int
    delta: float
    p_value: float
    winners: Sequence[int]
    ended: str = ""
    best: int | None = None
    exact: bool = True
    shares: bool = True
    epsilon: float = 0.0

    @classmethod
    def of(cls, experiment: "BestArmExperiment") -> "Summary":
        """Of an experiment as it is now."""
        found = experiment.intervals()
        statistics, model = experiment.statistics, experiment.reward
        least = least_differences(
            statistics, experiment.delta, reward=model, control=experiment.control
        )
        rows = zip(statistics, found.arms, found.differences, least, strict=True)
        arms = [
            Arm(experiment.name_of(i), one.count, one.mean, interval, difference, at_least)
            for i, (one, interval, difference, at_least) in enumerate(rows)
        ]
        status = experiment.status
        words = ("winner", "control", "limit", "closed")
        ended = next((word for word in words if f": {word}" in status), "")
        best = {"winner": experiment.winner, "control": experiment.control}.get(ended)
        evident = experiment.evident_arm
        clear = evident is not None and experiment.p_value <= experiment.delta
        return cls(
            arms,
            experiment.control,
            experiment.delta,
            experiment.p_value,
            [evident] if clear and evident is not None else [],
            ended,
            best,
            experiment.evidence != "mixture",
            experiment.reward.name == "bernoulli",
            float(experiment.epsilon),
        )

    @property
    def verdict(self) -> str:
        """One sentence."""
        control = self.arms[self.control].name
        n = sum(arm.count for arm in self.arms)
        after = f"after {count(n, 'sample')}"
        p = self._one_sided()
        if n == 0:
            return "No samples yet."
        if self.best is not None and self.best != self.control:
            arm = self.arms[self.best]
            return f"{arm.name} wins: {self._against(arm)}, {p}, {after}."
        if self.best == self.control:
            return f"Stay with {control}: no other arm is better, {after}."
        if self.winners:
            arm = max((self.arms[i] for i in self.winners), key=lambda one: one.mean)
            rest = "" if len(self.arms) == 2 else "; which arm is best is open"
            return f"{arm.name} is better than {control}: {self._against(arm)}, {p}, {after}{rest}."
        worse = [
            arm.name
            for i, arm in enumerate(self.arms)
            if i != self.control and arm.difference.high < 0
        ]
        if len(worse) == len(self.arms) - 1:
            return f"Stay with {control}: {', '.join(worse)} is worse, {after}."
        first = {"limit": "Undecided at the limit", "closed": "Closed without a verdict"}
        leader = max(
            (arm for i, arm in enumerate(self.arms) if i != self.control and arm.count),
            key=lambda one: one.mean,
            default=None,
        )
        opening = first.get(self.ended, "No verdict yet")
        if leader is None or not self.arms[self.control].count:
            return f"{opening}, {after}: {p}."
        return f"{opening}: {self._against(leader)}, {p}, {after}."

    def _against(self, arm: Arm) -> str:
        control = self.arms[self.control]
        difference = f"{self._interval(arm.difference, True)} "
        if arm.least > self.epsilon:
            # The bound that belongs to the p-value: the interval may have ε though it is exceeded.
            least = self._value(arm.least, difference=True)
            difference = f"at least {least}; two-sided {difference.rstrip()}; "
        return (
            f"{arm.name} {self._value(arm.mean)} against {control.name} "
            f"{self._value(control.mean)} (difference {difference}at {1 - self.delta:.0%})"
        )

    def _one_sided(self) -> str:
        """The p-value, and why it is small where no arm is better by what is known now."""
        p = f"one-sided p = {_p(self.p_value)}"
        if self.p_value > self.delta or any(arm.least > self.epsilon for arm in self.arms):
            return p
        # With several treatments it is for all of them together, one over their mean evidence.
        two = len(self.arms) == 2
        return f"{p} {'at an earlier look' if two else 'that an arm is better, not which'}"

    def _value(self, value: float, difference: bool = False) -> str:
        sign = "+" if difference else ""
        if math.isnan(value) or math.isinf(value):
            return "none" if math.isnan(value) else f"{value:+}"
        return f"{100 * value:{sign}.2f} %" if self.shares else f"{value:{sign}.4g}"

    def _interval(self, interval: Interval, difference: bool = False) -> str:
        return " to ".join(self._value(end, difference) for end in interval)

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (
                f"{arm.name} (control)" if i == self.control else arm.name,
                f"{arm.count:,}",
                self._value(arm.mean),
                self._interval(arm.interval),
                "" if i == self.control else self._interval(arm.difference, True),
            )
            for i, arm in enumerate(self.arms)
        ]

    def _remark(self) -> str:
        valid = _EXACT if self.exact else _ASYMPTOTIC
        p = f"p-value {_p(self.p_value)} (one-sided: is an arm better?)"
        return f"{p} and intervals at {1 - self.delta:.0%} (two-sided), {valid}"

    def __str__(self) -> str:
        rows = [_TABLE, *self._rows()]
        widths = [max(len(row[k]) for row in rows) for k in range(len(_TABLE))]
        lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in rows]
        return "\n".join([self.verdict, *(line.rstrip() for line in lines), self._remark()])

    def to_html(self) -> str:
        """A paragraph and a table, for notebooks."""
        head = "".join(f"<th>{html.escape(name)}</th>" for name in _TABLE)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
            for row in self._rows()
        )
        return (
            f"<p><strong>{html.escape(self.verdict)}</strong></p><table><thead><tr>{head}</tr>"
            f"</thead><tbody>{body}</tbody></table><p>{html.escape(self._remark())}</p>"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "verdict": self.verdict,
            "p_value": self.p_value,
            "level": self.delta,
            "exact": self.exact,
            "control": self.arms[self.control].name,
            "better_than_control": [self.arms[i].name for i in self.winners],
            "arms": [
                {
                    "name": arm.name,
                    "samples": arm.count,
                    "mean": arm.mean if arm.count else None,
                    "interval": [_finite(end) for end in arm.interval],
                    "difference": [_finite(end) for end in arm.difference],
                    "difference_at_least": None if i == self.control else _finite(arm.least),
                }
                for i, arm in enumerate(self.arms)
            ],
        }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _p(value: float) -> str:
    return f"{value:.1e}" if value < 1e-4 else f"{value:.2g}"
