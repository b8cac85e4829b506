"""The ledger of a sequence of experiments: all that is needed to recompute every decision."""

import json
import reprlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from labelwood.core.io import read_source, without_compression, writing
from labelwood.errors import DataError, LabelwoodError
from labelwood.experiments.decoding import reading
from labelwood.experiments.ledger.entry import Entry, read_json
from labelwood.experiments.ledger.table import from_csv, to_csv
from labelwood.experiments.ledger.verification import (
    Verification,
    differences,
    first_hash,
    next_hash,
)
from labelwood.experiments.online_fdr import OnlineProcedure, online_fdr

FORMAT, VERSION = "labelwood ledger", 2  # 2: with the outcomes, and a chain of hashes


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
    ...     p_value=0.03, discovery=True, winner=1, reason="stopped: closed by hand",
    ...     policy="best_arm", control=0, epsilon=0.0, max_samples=None,
    ...     reward={"name": "bernoulli"}, n_samples=(70, 75), totals=(7, 30), estimates=(0.1, 0.4),
    ... )
    >>> ledger = Ledger(0.05, "none", entries=[entry])
    >>> print(ledger.verify())
    1 experiment, 1 discovery: every level, wealth, decision and hash can be recomputed
    >>> ledger.head
    '1:...'
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
        self._hashes: list[str] = []
        self._head = self._head_of([])
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

    @property
    def head(self) -> str:
        """Number of entries and hash of the last one; note it elsewhere to detect any change.

        A ledger that was read has the head that it states.
        """
        return self._head

    def append(self, entry: Entry) -> None:
        """Add the next entry, with its hash."""
        before = self._hashes[-1] if self._hashes else first_hash(self._start_values())
        self._put(entry, next_hash(before, entry))
        self._head = self._head_of(self._hashes)

    def _put(self, entry: Entry, hash_: str) -> None:
        if entry.number != len(self) + 1:
            raise DataError(f"number is {entry.number} where {len(self) + 1} comes next")
        self._entries.append(entry)
        self._hashes.append(hash_)

    def _head_of(self, hashes: list[str]) -> str:
        last = hashes[-1] if hashes else first_hash(self._start_values())
        return f"{len(hashes)}:{last}"

    def start(self) -> OnlineProcedure:
        """The procedure before the first entry."""
        return online_fdr(self.procedure, self.alpha, **self.options)

    def verify(self, head: str | None = None) -> Verification:
        """Recompute levels, wealths, decisions and reasons, and the chain of hashes.

        Everything is recomputed that follows from the outcomes, the p-values and the parameters;
        numbers may differ by one part in 10⁹. Of a p-value, which is the smallest of many
        updates, only a limit follows from the last outcomes. The hashes cover every field, and
        the stated head their number.

        Parameters
        ----------
        head : str, optional
            The head that was noted elsewhere. With it every change shows, even if somebody has
            computed the hashes again.
        """
        found = len(self), self.n_discoveries
        for number, field, recorded, follows in differences(self.start(), self._entries):
            return Verification(*found, number, field, recorded, follows)
        before = first_hash(self._start_values())
        expected: list[str] = []
        for entry, stated in zip(self._entries, self._hashes, strict=True):
            expected.append(next_hash(expected[-1] if expected else before, entry))
            if stated != expected[-1]:
                return Verification(*found, entry.number, "hash", stated, expected[-1])
        if self._head != self._head_of(expected):
            return Verification(*found, None, "head", self._head, self._head_of(expected))
        if head is not None and head != self._head:
            return Verification(*found, None, "head", self._head, head)
        return Verification(*found)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as in the JSON export."""
        pairs = zip(self._entries, self._hashes, strict=True)
        entries = [{**entry.to_dict(), "hash": hash_} for entry, hash_ in pairs]
        values = {**self._start_values(), "head": self._head}
        return {"format": FORMAT, "version": VERSION, **values, "entries": entries}

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
        """The ledger as a table; procedure, α, options and head are repeated in every row."""
        return to_csv({**self._start_values(), "head": self._head}, self.to_dict()["entries"])

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

    def _start_values(self) -> dict[str, Any]:
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
                ledger._put(*_with_hash(values))
            except DataError as error:
                raise DataError(f"{place}: {error}") from None
        stated = head.get("head")
        if not isinstance(stated, str):
            raise DataError(f"{source}: head must be text. Got {reprlib.repr(stated)}.")
        ledger._head = stated
        return ledger


def _with_hash(values: object) -> tuple[Entry, str]:
    """An entry as it was read, and the hash that stands beside it."""
    if not isinstance(values, Mapping):
        raise DataError(f"an entry has named values. Got {reprlib.repr(values)}.")
    hash_ = values.get("hash")
    if not isinstance(hash_, str):
        raise DataError(f"hash must be text. Got {reprlib.repr(hash_)}.")
    return Entry.from_dict({key: one for key, one in values.items() if key != "hash"}), hash_
