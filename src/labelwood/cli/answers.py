"""The answers of `labelwood predict`, written as JSONL, CSV, TSV or Parquet."""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from labelwood.cli import options
from labelwood.errors import ParameterError

if TYPE_CHECKING:
    from labelwood.core.topk import TopK
    from labelwood.data.dataset import Dataset
    from labelwood.trees.rules.label_rules import RuleEffect

FORMATS = ("jsonl", "csv", "tsv", "parquet")
_PLURAL = {"score": "scores", "probability": "probabilities"}
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Answers:
    """Labels with their scores (or probabilities: `what`) for each sample, best first.

    A label that a person's rule has added or removed is named with the rule, in JSONL.
    """

    ids: Sequence[Any]
    texts: Sequence[str] | None
    labels: Sequence[Sequence[str]]
    scores: Sequence[Sequence[float]]
    what: str = "score"
    effects: "list[list[RuleEffect]] | None" = None

    @classmethod
    def from_topk(
        cls,
        dataset: "Dataset",
        top: "TopK",
        what: str = "score",
        effects: "list[list[RuleEffect]] | None" = None,
    ) -> "Answers":
        """The best labels of each sample; samples without an id are numbered from 0."""
        names = [[str(name) for name in row] for row in top.names()]
        scores = [
            [round(float(score), 6) for score in row[: len(labels)]]
            for row, labels in zip(top.scores, names, strict=True)
        ]
        ids = range(len(dataset)) if dataset.ids is None else dataset.ids
        return cls(ids, dataset.texts, names, scores, what, effects)

    def write(
        self,
        output: Path | None,
        chosen: str,
        *,
        long: bool = False,
        decimal_comma: bool = False,
    ) -> None:
        """Write to `output`, or to standard output, in one of `FORMATS`."""
        from labelwood.core.io import writing

        if output is None and chosen == "jsonl":
            sys.stdout.writelines(self.json_lines())
            return
        with writing("-" if output is None else output) as file:
            self._write(file, chosen, long, decimal_comma)

    def json_lines(self) -> Iterator[str]:
        """One line per sample: its id, its labels and their scores."""
        for row, labels in enumerate(self.labels):
            scored = [
                {"label": name, self.what: score}
                for name, score in zip(labels, self.scores[row], strict=True)
            ]
            line: dict[str, Any] = {"id": self.ids[row], "labels": scored}
            if self.effects is not None and self.effects[row]:
                line["rules"] = [asdict(one) for one in self.effects[row]]
            yield json.dumps(line, ensure_ascii=False) + "\n"

    def _write(self, file: IO[bytes], chosen: str, long: bool, decimal_comma: bool) -> None:
        if chosen == "jsonl":
            file.writelines(line.encode() for line in self.json_lines())
        elif chosen == "parquet":
            from labelwood.data.readers.parquet import write_columns

            write_columns(file, self._long_columns() if long else self._columns())
        else:
            delimiter = "\t" if chosen == "tsv" else ";" if decimal_comma else ","
            self._write_table(file, long, delimiter, "," if decimal_comma else ".")

    def _write_table(self, file: IO[bytes], long: bool, delimiter: str, point: str) -> None:
        from labelwood.data.readers.tabular import label_cells, write_table

        def number(score: float) -> str:
            return f"{score:g}".replace(".", point)

        columns = self._long_columns() if long else self._columns()
        if long:
            columns[self.what] = [str(one).replace(".", point) for one in columns[self.what]]
        else:
            scores = _PLURAL[self.what]
            columns["labels"] = label_cells(columns["labels"])
            columns[scores] = ["; ".join(map(number, row)) for row in columns[scores]]
        if delimiter == "\t" and "text" in columns:
            # A tab or a line end would divide the row; the text is there for orientation only.
            columns["text"] = [" ".join(text.split()) for text in columns["text"]]
        cells = (str(cell) for column in columns.values() for cell in column)
        if delimiter != "\t" and not all(map(str.isascii, cells)):
            file.write(_BYTE_ORDER_MARK)  # without which Excel takes the file for cp1252
        rows = zip(*columns.values(), strict=True)
        write_table(file, list(columns), iter(rows), delimiter)

    def _columns(self) -> dict[str, Any]:
        columns: dict[str, Any] = {"id": list(self.ids)}
        if self.texts is not None:
            columns["text"] = list(self.texts)
        columns["labels"] = [list(row) for row in self.labels]
        columns[_PLURAL[self.what]] = [list(row) for row in self.scores]
        return columns

    def _long_columns(self) -> dict[str, Any]:
        """A row for each label of a sample."""
        ids = [name for name, row in zip(self.ids, self.labels, strict=True) for _ in row]
        return {
            "id": ids,
            "label": [name for row in self.labels for name in row],
            self.what: [score for row in self.scores for score in row],
        }


def answer_format(output: Path | None, given: str | None, *, long: bool) -> str:
    """The format that is given, or that the name of the file tells."""
    from labelwood.data.readers.sniff import SUFFIXES, format_suffix

    suffix = "" if output is None else format_suffix(output)
    by_suffix = "jsonl" if suffix in ("", ".txt") else SUFFIXES.get(suffix, suffix)
    chosen = given or by_suffix
    if chosen not in FORMATS:
        raise ParameterError(
            f"answers are written as {', '.join(FORMATS)}, not as {chosen}; "
            "give one of them by --to, or another name of the file"
        )
    if suffix in SUFFIXES and chosen != by_suffix:  # any other suffix may be a date or a version
        options.warn(f"{output} is written as {chosen}, though its name says {suffix}")
    if long and chosen == "jsonl":
        raise ParameterError("--long is for tables; add --to csv, or -o FILE.csv")
    return chosen
