"""The ledger of a sequence of experiments: all that is needed to recompute every decision."""

import json
import math
import reprlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from labelwood.core.io import read_source, without_compression, writing
from labelwood.errors import DataError, LabelwoodError
from labelwood.experiments.decoding import reading
from labelwood.experiments.ledger.entry import Entry, read_json
from labelwood.experiments.ledger.table import from_csv, to_csv
from labelwood.experiments.online_fdr import OnlineProcedure, online_fdr

FORMAT, VERSION = "labelwood ledger", 1


@dataclass(frozen=True)
class Verification:
    """What recomputing a ledger found; true when nothing differs.

    Attributes
    ----------
    n_entries, n_discoveries : int
        What the ledger holds.
    entry : int or None
        Number of the first entry that differs.
    field : str or None
        What differs in it.
    recorded, expected : object
        What the ledger says, and what follows from its p-values and parameters.
    """

    n_entries: int
    n_discoveries: int
    entry: int | None = None
    field: str | None = None
    recorded: object = None
    expected: object = None

    def __bool__(self) -> bool:
        return self.entry is None

    def __str__(self) -> str:
        if self.entry is None:
            return (
                f"{self.n_entries} experiments, {self.n_discoveries} discoveries: every level, "
                "wealth and decision follows from the p-values"
            )
        return (
            f"entry {self.entry}: {self.field} is recorded as {self.recorded!r}, but "
            f"{self.expected!r} follows from the p-values"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"ok": bool(self), **asdict(self)}


class Ledger:
    """The entries of a sequence of experiments, with the procedure that gave their levels.

    Parameters
    ----------
    alpha : float
        The error rate that is kept to.
    procedure : str
        A name that `online_fdr` knows.
    options : mapping, optional
        The procedure's options.
    entries : iterable of Entry
        What has been decided so far.

    Examples
    --------
    >>> entry = Entry(
    ...     number=1, name="bigger button", level=0.05, wealth_before=None, wealth_after=None,
    ...     p_value=0.03, discovery=True, winner=1, reason="stopped: winner 1",
    ...     policy="best_arm", control=0, epsilon=0.0, n_samples=(70, 74), estimates=(0.1, 0.4),
    ... )
    >>> ledger = Ledger(0.05, "none", entries=[entry])
    >>> print(ledger.verify())
    1 experiments, 1 discoveries: every level, wealth and decision follows from the p-values
    >>> Ledger.from_csv(ledger.to_csv()).entries == ledger.entries
    True
    """

    def __init__(
        self,
        alpha: float,
        procedure: str = "lord",
        options: Mapping[str, Any] | None = None,
        entries: Iterable[Entry] = (),
    ) -> None:
        fresh = online_fdr(procedure, alpha, **(options or {}))
        self.alpha, self.procedure, self.options = fresh.alpha, fresh.name, fresh.options
        self._entries: list[Entry] = []
        for entry in entries:
            self.append(entry)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries, in order."""
        return tuple(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def n_discoveries(self) -> int:
        """The number of experiments in which the control was rejected."""
        return sum(entry.discovery for entry in self._entries)

    def append(self, entry: Entry) -> None:
        """Add the next entry."""
        if entry.number != len(self) + 1:
            raise DataError(f"number is {entry.number} where {len(self) + 1} comes next")
        self._entries.append(entry)

    def start(self) -> OnlineProcedure:
        """The procedure before the first entry."""
        return online_fdr(self.procedure, self.alpha, **self.options)

    def verify(self) -> Verification:
        """Recompute all levels, wealths and decisions from the p-values and the parameters.

        Numbers may differ by one part in 10⁹, as sums are rounded differently elsewhere. Whether
        the p-values are those of the experiments, and whether there were more entries at the
        end, cannot be seen from a ledger.
        """
        found = len(self), self.n_discoveries
        procedure = self.start()
        for entry in self._entries:
            for field, expected in _recompute(procedure, entry):
                recorded = getattr(entry, field)
                if not _same(recorded, expected):
                    return Verification(*found, entry.number, field, recorded, expected)
        return Verification(*found)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as in the JSON export."""
        entries = [entry.to_dict() for entry in self._entries]
        return {"format": FORMAT, "version": VERSION, **self._head(), "entries": entries}

    @classmethod
    def from_dict(cls, content: object, source: str = "ledger") -> "Ledger":
        """The inverse of `to_dict`; `source` names it in messages."""
        with reading("ledger"):
            return cls._from_dict(content, source)

    @classmethod
    def _from_dict(cls, content: object, source: str) -> "Ledger":
        if not isinstance(content, Mapping) or content.get("format") != FORMAT:
            raise DataError(f"{source} is not a ledger of labelwood")
        if content.get("version") != VERSION:
            raise DataError(
                f"{source} has version {reprlib.repr(content.get('version'))}, not {VERSION}"
            )
        entries = content.get("entries")
        if not isinstance(entries, list):
            raise DataError(f"{source}: entries must be a list. Got {reprlib.repr(entries)}.")
        places = (f"{source}, entry {number}" for number in range(1, len(entries) + 1))
        return cls._assemble(content, zip(places, entries, strict=True), source)

    def to_json(self) -> str:
        """The ledger as JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str, source: str = "ledger") -> "Ledger":
        """The ledger that `to_json` wrote; `source` names it in messages."""
        try:
            content = read_json(text)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{source} is not JSON: {error}") from None
        return cls.from_dict(content, source)

    def to_csv(self) -> str:
        """The ledger as a table; procedure, α and options are repeated in every row."""
        return to_csv(self._head(), self._entries)

    @classmethod
    def from_csv(cls, text: str, source: str = "ledger") -> "Ledger":
        """The ledger that `to_csv` wrote; `source` names it in messages."""
        head, rows = from_csv(text, source)
        return cls._assemble(head, rows, source)

    def write(self, path: str | Path) -> None:
        """Write a file, as a table if its name ends in .csv, otherwise as JSON.

        A file that was there is replaced once all is written. ``.gz`` and ``.xz`` compress.
        """
        table = without_compression(path).suffix.lower() == ".csv"
        raw = (self.to_csv() if table else self.to_json()).encode("utf-8")
        with writing(path) as file:
            file.write(raw)

    @classmethod
    def read(cls, path: str | Path) -> "Ledger":
        """Read a file that `write` wrote; the first character tells JSON from a table."""
        source = read_source(path)
        try:
            text = source.data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError(f"{path} is not text in UTF-8: {error}") from None
        from_text = cls.from_json if text.lstrip()[:1] in ("{", "[") else cls.from_csv
        return from_text(text, str(path))

    def _head(self) -> dict[str, Any]:
        return {"procedure": self.procedure, "alpha": self.alpha, "options": self.options}

    @classmethod
    def _assemble(
        cls, head: Mapping[str, Any], rows: Iterable[tuple[str, object]], source: str
    ) -> "Ledger":
        options = head.get("options")
        if not isinstance(options, Mapping):
            raise DataError(f"{source}: options must have names. Got {reprlib.repr(options)}.")
        try:
            ledger = cls(head.get("alpha"), head.get("procedure"), options)  # type: ignore[arg-type]
        except LabelwoodError as error:
            raise DataError(f"{source}: {error}") from None
        for place, values in rows:
            try:
                ledger.append(Entry.from_dict(values))
            except DataError as error:
                raise DataError(f"{place}: {error}") from None
        return ledger


def _recompute(procedure: OnlineProcedure, entry: Entry) -> Iterator[tuple[str, object]]:
    """Field by field what must stand in the entry, in the order of the events."""
    yield "wealth_before", procedure.wealth
    yield "level", procedure.next_level()
    discovery = procedure.record(entry.compared_p_value)
    yield "discovery", discovery
    yield "wealth_after", procedure.wealth
    arm = entry.winner
    fits = arm is not None and arm != entry.control and entry.n_samples[arm] > 0
    yield "winner", (arm if fits else entry.leaders[0]) if discovery else None
    yield "reason", _reason(entry)


def _reason(entry: Entry) -> str:
    """The reason of an entry whose decision is right, or what it can be instead.

    A winner has the highest mean and is a discovery. Where the control was found best, no mean
    is more than ε above its.
    """
    if entry.reason.startswith("stopped: winner "):
        if not entry.discovery:
            return "an end without a winner"
        if entry.winner not in entry.leaders:
            return f"an end without a verdict for arm {entry.winner}"
        return f"stopped: winner {entry.winner}"
    base = entry.estimates[entry.control]
    if entry.reason == "stopped: control" and (
        base is None or any(one is None or one > base + entry.epsilon for one in entry.estimates)
    ):
        return "an end without a verdict for the control"
    return entry.reason


def _same(recorded: object, expected: object) -> bool:
    if isinstance(recorded, float | int) and isinstance(expected, float):
        return math.isclose(recorded, expected, rel_tol=1e-9, abs_tol=1e-15)
    return recorded == expected
