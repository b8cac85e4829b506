"""What a study found: as a table, as JSON, and on disk with a plot."""

import json
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from labelwood.studies._study import Options, Study

Row: TypeAlias = dict[str, str | float | None]

_PACKAGES = ("labelwood", "numpy", "scipy", "scikit-learn", "numba")


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """Rows of figures; `print` shows them as a table.

    Attributes
    ----------
    study : Study
    options : Options
        What was asked for.
    rows : tuple of dict
        Names and figures by column.
    skipped : mapping of str to str
        Parts that could not be run, and why.
    """

    study: "Study"
    options: "Options"
    rows: tuple[Row, ...]
    skipped: Mapping[str, str]

    def __str__(self) -> str:
        quick = " (quick version: the figures mean nothing)" if self.options.quick else ""
        lines = [self.study.title + quick, "", *_table(self.rows, self.study.columns)]
        lines += [f"{part} skipped: {reason}" for part, reason in self.skipped.items()]
        return "\n".join([*lines, *self.study.captions(self.options)])

    def __repr__(self) -> str:
        return f"Result({self.study.name}: {len(self.rows)} rows, {len(self.skipped)} skipped)"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        options = {key: value for key, value in asdict(self.options).items() if key != "data"}
        return {
            "study": self.study.name,
            "title": self.study.title,
            "options": options,
            "versions": {
                "python": platform.python_version(),
                **{package: version(package) for package in _PACKAGES},
            },
            "rows": list(self.rows),
            "skipped": dict(self.skipped),
            "notes": list(self.study.captions(self.options)),
        }

    def to_json(self) -> str:
        """`to_dict` as text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=2, allow_nan=False)

    def write(self, folder: str | Path) -> list[Path]:
        """Write the table (`.txt`), the rows (`.json`) and the plot (`.svg`) into a folder."""
        from labelwood.studies._plot import svg

        contents = {
            "txt": f"{self}\n".encode(),
            "json": f"{self.to_json()}\n".encode(),
            "svg": svg(self.study.draw, self.rows),
        }
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        written = [place / f"{self.study.name}.{suffix}" for suffix in contents]
        for path, content in zip(written, contents.values(), strict=True):
            path.write_bytes(content)
        return written


def line(row: Row, columns: Mapping[str, str]) -> str:
    """A row by itself, on one line."""
    cells = {name: _cell(row.get(name), form) for name, form in columns.items()}
    named = (
        cell if isinstance(row[name], str) else f"{name} {cell}"
        for name, cell in cells.items()
        if row.get(name) is not None
    )
    return "  ".join(named)


def _table(rows: tuple[Row, ...], columns: Mapping[str, str]) -> list[str]:
    """Rows under their heads: text to the left, numbers to the right."""
    lines = [list(columns)]
    lines += [[_cell(row.get(name), form) for name, form in columns.items()] for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = [any(isinstance(row.get(name), str) for row in rows) for name in columns]
    aligned = [
        [
            cell.ljust(width) if is_text else cell.rjust(width)
            for cell, width, is_text in zip(cells, widths, text, strict=True)
        ]
        for cells in lines
    ]
    return ["  ".join(cells).rstrip() for cells in aligned]


def _cell(value: str | float | None, form: str) -> str:
    if value is None:
        return "–"
    return value if isinstance(value, str) else format(value, form)
