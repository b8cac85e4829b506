"""The candidates with their costs and qualities, which of them is taken, and the table of it."""

import warnings
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from labelwood.core.caller import user_stacklevel
from labelwood.errors import LabelwoodWarning

OBJECTIVES = ("P@k", "PSP@k", "nDCG@k", "micro-F1")
# Points of the objective that a candidate must be better by than the others: a wide beam doubles
# the time of a prediction, and three trees triple that of training too. A forest takes more of both
# and of memory than linear classifiers, learns no labels later, and has no weights to look at.
_PRICES = {"wide": 0.05, "many": 0.15, "forest": 0.3}
_FOREST = "FastXMLClassifier"


@dataclass(frozen=True)
class Cost:
    """Seconds of training and bytes at its peak, beside the data themselves."""

    seconds: float
    bytes: int

    @property
    def time(self) -> str:
        """The seconds, rounded for people."""
        return f"~{duration(self.seconds)}"

    @property
    def memory(self) -> str:
        """The bytes, rounded for people."""
        megabytes = max(self.bytes / 2**20, 1)
        return f"{megabytes:.0f} MB" if megabytes < 1000 else f"{megabytes / 1024:.1f} GB"


class Candidate(NamedTuple):
    """A learner with its parameters, what it is expected to cost, and how well it did.

    `precisions` are P@1, 3 and 5 on held-out samples and `score` the objective there; None
    where it was not tried. `growth` is what more of the score all samples give, where the trial
    had a part of them and a run-off all.
    """

    name: str
    learner: str
    params: dict[str, Any]
    cost: Cost
    precisions: tuple[float, ...] | None = None
    score: float | None = None
    growth: float = 0.0

    @property
    def quality(self) -> str:
        """The held-out figures in percent."""
        if self.precisions is None:
            return "not tried"
        return " / ".join(f"{100 * value:.2f}" for value in self.precisions)


class Choice(NamedTuple):
    """The candidates, which of them is taken, and why; `print` shows a table."""

    taken: str
    candidates: tuple[Candidate, ...]
    objective: str
    reason: str

    @property
    def candidate(self) -> Candidate:
        """The candidate that is taken."""
        return next(one for one in self.candidates if one.name == self.taken)

    @property
    def learner(self) -> str:
        """The class of the candidate that is taken."""
        return self.candidate.learner

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        candidates = [{**one._asdict(), "cost": asdict(one.cost)} for one in self.candidates]
        return {**self._asdict(), "candidates": candidates}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "Choice":
        """The way back; a record of an earlier version has classes and costs only."""
        if "costs" in content:
            old = [(name, _cost(cost)) for name, cost in content["costs"].items()]
            candidates = [Candidate(name, name, {}, cost) for name, cost in old]
            return cls(content["learner"], tuple(candidates), OBJECTIVES[0], content["reason"])
        found = []
        for one in content["candidates"]:
            rates = None if one["precisions"] is None else tuple(map(float, one["precisions"]))
            found.append(Candidate(**{**one, "cost": _cost(one["cost"]), "precisions": rates}))
        return cls(content["taken"], tuple(found), content["objective"], content["reason"])

    def __str__(self) -> str:
        width = max(len(one.name) for one in self.candidates)
        head = f"{'learner':{width}}  {'C':>6}  {'time':>8}  {'memory':>8}  held-out P@1/3/5"
        objective = "" if self.objective == "P@k" else f"  {self.objective:>8}"
        lines = [head.ljust(len(head) + 3) + objective if objective else head]
        for one in self.candidates:
            C = one.params.get("C", "")
            shown = f"{C:.3g}" if isinstance(C, float) else ""
            line = f"{one.name:{width}}  {shown:>6}  {one.cost.time:>8}  {one.cost.memory:>8}  "
            line += f"{one.quality:<21}"
            if objective:
                line += f"{100 * one.score:>8.2f}" if one.score is not None else " " * 8
            mark = f"  <- selected: {self.reason}" if one.name == self.taken else ""
            lines.append(f"{line}{mark}".rstrip())
        return "\n".join(lines)


def choose(
    found: list[Candidate],
    objective: str,
    time_limit: float | None,
    free: float,
    why_untried: str,
) -> Choice:
    """The best of those within the limits, or else the cheapest.

    `free` are the bytes that there are, and `why_untried` is the reason where nothing was tried.
    """
    slow = [one for one in found if time_limit is not None and one.cost.seconds > time_limit]
    large = [one for one in found if one.cost.bytes > free]
    within = [one for one in found if one not in slow and one not in large]
    if not within:
        small = [one for one in found if one not in large]
        cheapest = min(small, key=lambda one: one.cost.seconds) if small else None
        if cheapest is None:
            cheapest = min(found, key=lambda one: one.cost.bytes)
        limit = f"the time limit of {duration(time_limit or 0)}" if small else "the memory limit"
        reason = f"nothing meets {limit}, and this is the cheapest"
        warnings.warn(f"{cheapest.name}: {reason}.", LabelwoodWarning, stacklevel=user_stacklevel())
        return Choice(cheapest.name, tuple(found), objective, reason)
    tried = [one for one in within if one.score is not None]
    if not tried:
        return Choice(within[0].name, tuple(found), objective, f"the default, as {why_untried}")
    best = max(tried, key=worth)
    names = ", ".join(one.name for one in found if one not in within)
    figure = f"best held-out {objective}" + (", by a run-off" if best.growth else "")
    reason = figure + (f" within the limits, unlike {names}" if names else "")
    return Choice(best.name, tuple(found), objective, reason)


def worth(one: Candidate) -> float:
    """The score, less what it must gain to be worth its cost."""
    return (one.score or 0.0) + one.growth - price(one)


def price(one: Candidate) -> float:
    """What a candidate must gain to be worth its cost, as a share of one."""
    if one.learner == _FOREST:
        return _PRICES["forest"] / 100
    if one.params.get("n_trees", 1) > 1:
        return _PRICES["many"] / 100
    return _PRICES["wide"] / 100 if "beam" in one.params else 0.0


def _cost(content: dict[str, Any]) -> Cost:
    return Cost(float(content["seconds"]), int(content["bytes"]))


def duration(seconds: float) -> str:
    """Seconds in a unit that suits.

    Examples
    --------
    >>> duration(42), duration(600), duration(9000)
    ('42 s', '10 min', '2.5 h')
    """
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
