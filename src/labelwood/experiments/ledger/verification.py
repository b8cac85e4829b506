"""Recompute a ledger: what follows from its outcomes and parameters, and the chain of hashes.

Every entry has a hash of its fields and of the hash before it; the first one before is a hash of
the procedure, its level and its options. The hash of the last entry, together with the number of
entries, is the head. Who has noted the head can tell whether anything was changed since, added or
cut off. Without it, a change shows unless all hashes after it and the head were computed again.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from labelwood.core.names import count
from labelwood.experiments.best_arm import reason_of, treatment_p_values
from labelwood.experiments.ledger.entry import Entry
from labelwood.experiments.online_fdr import OnlineProcedure

_ROUNDING = 1e-9  # relative, as logarithms and sums are rounded differently on other machines


@dataclass(frozen=True)
class Verification:
    """What recomputing a ledger found; true when nothing differs.

    Attributes
    ----------
    n_entries, n_discoveries : int
        What the ledger holds.
    entry : int or None
        Number of the first entry that differs; None when that is the head.
    field : str or None
        What differs in it.
    recorded, expected : object
        What the ledger has, and what follows from the outcomes, the p-values and the parameters.
    """

    n_entries: int
    n_discoveries: int
    entry: int | None = None
    field: str | None = None
    recorded: object = None
    expected: object = None

    def __bool__(self) -> bool:
        return self.field is None

    def __str__(self) -> str:
        if self.field is None:
            return (
                f"{count(self.n_entries, 'experiment')}, "
                f"{count(self.n_discoveries, 'discovery', 'discoveries')}: every level, "
                "wealth, decision and hash can be recomputed"
            )
        where = "the ledger" if self.entry is None else f"entry {self.entry}"
        return (
            f"{where}: {self.field} is recorded as {self.recorded!r}, but "
            f"{self.expected!r} follows from the other values"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"ok": bool(self), **asdict(self)}


def first_hash(head: Mapping[str, Any]) -> str:
    """The hash before the first entry: of the procedure, its level and its options."""
    return _hash(head)


def next_hash(before: str, entry: Entry) -> str:
    """The hash of an entry that comes after the one with the hash `before`.

    SHA-256 of JSON with sorted keys and without spaces, so that anyone can compute it.
    """
    return _hash({"before": before, **entry.to_dict()})


def _hash(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def differences(
    procedure: OnlineProcedure, entries: Iterable[Entry]
) -> Iterator[tuple[int, str, object, object]]:
    """Number, field, recorded and expected value of everything that cannot be recomputed."""
    for entry in entries:
        for field, expected in _recompute(procedure, entry):
            recorded = getattr(entry, field)
            if not _same(recorded, expected):
                yield entry.number, field, recorded, expected


def _recompute(procedure: OnlineProcedure, entry: Entry) -> Iterator[tuple[str, object]]:
    """Field by field what must stand in the entry, in the order of the events."""
    yield "wealth_before", procedure.wealth
    yield "level", procedure.next_level()
    pairs = zip(entry.totals, entry.n_samples, strict=True)
    yield "estimates", tuple(total / n if n else None for total, n in pairs)
    yield "reason", _reason(entry)
    p_values = treatment_p_values(
        entry.n_samples,
        entry.totals,
        reward=entry.model,
        epsilon=entry.epsilon,
        control=entry.control,
    )
    yield "p_value", _p_value(entry, min(p_values.values()))
    discovery = procedure.record(entry.compared_p_value)
    yield "discovery", discovery
    yield "wealth_after", procedure.wealth
    yield "winner", _winner(entry, p_values) if discovery else None


def _reason(entry: Entry) -> str:
    return reason_of(
        entry.n_samples,
        entry.totals,
        entry.level,
        reward=entry.model,
        epsilon=entry.epsilon,
        control=entry.control,
        max_samples=entry.max_samples,
    )


def _p_value(entry: Entry, last: float) -> float:
    """The recorded p-value if it can be right: it is the smallest of all updates.

    So it is at most that of the last update, and with a winner at most the level.
    """
    most = min(last, entry.level) if entry.reason.startswith("stopped: winner") else last
    return entry.p_value if entry.p_value <= most * (1 + _ROUNDING) else most


def _winner(entry: Entry, p_values: Mapping[int, float]) -> int:
    """The arm for which there is evidence, as `BestArmExperiment.evident_arm` has it.

    Where no treatment is significant in the end, one was before: any that has an outcome can be.
    """
    if entry.reason.startswith("stopped: winner"):
        return int(entry.reason.rsplit(maxsplit=1)[1])
    significant = [arm for arm, p in p_values.items() if p <= entry.level]
    if significant:
        return max(significant, key=lambda arm: entry.totals[arm] / entry.n_samples[arm])
    arm = entry.winner
    fits = arm is not None and arm != entry.control and entry.n_samples[arm] > 0
    return arm if fits else entry.leaders[0]  # type: ignore[return-value]


def _same(recorded: object, expected: object) -> bool:
    if isinstance(recorded, tuple) and isinstance(expected, tuple):
        pairs = zip(recorded, expected, strict=True)
        return all(_same(one, other) for one, other in pairs)
    if isinstance(recorded, float | int) and isinstance(expected, float):
        return math.isclose(recorded, expected, rel_tol=_ROUNDING, abs_tol=1e-15)
    return recorded == expected
