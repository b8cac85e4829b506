"""Plots as SVG: the same rows give the same bytes, and no display is needed.

The background is transparent, text and axes are gray: readable on a light and on a dark page.
"""

import importlib
import io
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from labelwood.errors import MissingExtraError

if TYPE_CHECKING:  # a result draws its rows
    from labelwood.studies._result import Row

GRAY = "#868686"  # of text, axes and lines of reference
# Identifiers from a fixed salt, text as text, no date: nothing that differs between two runs.
_SETTINGS = {
    "svg.hashsalt": "labelwood",
    "svg.fonttype": "none",
    "font.size": 9,
    "savefig.transparent": True,
    "legend.frameon": False,
    "grid.color": GRAY,
    **dict.fromkeys(
        ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), GRAY
    ),
}
_METADATA = {"Date": None, "Creator": "labelwood"}
_WIDE = 300  # from which end of an axis to the other, for the ticks 1, 2, 5, 10 … on a panel
_LETTER = 0.075  # inches of a letter in a legend, on average
_HANDLE = 0.6  # inches of the line before a name and of the space after it


def require_matplotlib() -> Any:
    """The package matplotlib, or an error that says how to get it."""
    try:
        importlib.import_module("matplotlib.figure")
        return importlib.import_module("matplotlib")
    except ImportError:
        raise MissingExtraError("The plot of a study", "report") from None


def svg(draw: Callable[[Any, Sequence["Row"]], None], rows: Sequence["Row"]) -> bytes:
    """What `draw` makes of the rows on an empty figure."""
    matplotlib = require_matplotlib()
    file = io.BytesIO()
    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # the user's own settings would show
        matplotlib.rcParams.update(_SETTINGS)
        # Not by pyplot, which would look for a display and keep the figure.
        figure = matplotlib.figure.Figure(layout="constrained")
        draw(figure, rows)
        figure.savefig(file, format="svg", metadata=_METADATA)
    return file.getvalue()


def legend_below(figure: Any, panels: Iterable[Any]) -> None:
    """One legend for all panels, which names each curve once."""
    named = {
        label: handle
        for panel in panels
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    # Text is measured only when a browser shows it, so the width of a column is estimated.
    width = _HANDLE + _LETTER * max(map(len, named), default=0)
    n_columns = min(4, max(1, int(figure.get_figwidth() / width)))
    figure.legend(list(named.values()), list(named), loc="outside lower center", ncols=n_columns)


def draw_panels(
    figure: Any, rows: Sequence["Row"], *, panel: str, curve: str, x: str, y: str
) -> None:
    """A panel for each value of column `panel`: `y` against `x`, a curve for each of `curve`.

    A figure that has no `x`, such as a published one, is a dashed line across its panel, in
    the color of the curve that is called the same up to a comma. Every curve with an `x` has
    a color of its own.
    """
    titles = list(dict.fromkeys(str(row[panel]) for row in rows))
    n_columns = min(3, len(titles))
    n_rows = -(-len(titles) // n_columns)
    figure.set_size_inches(3.3 * n_columns, 2.8 * n_rows + 0.6)
    panels = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for axes in panels[len(titles) :]:
        axes.remove()
    colors = _colors(rows, curve, x)
    for axes, title in zip(panels, titles, strict=False):
        own = [row for row in rows if row[panel] == title and row.get(y) is not None]
        for name in dict.fromkeys(str(row[curve]) for row in own):
            _curve(axes, [row for row in own if row[curve] == name], x, y, name, colors)
        axes.set(title=title, xlabel=x, ylabel=y, xscale="log")
        values: list[Any] = [row[y] for row in own]
        axes.set_ylim(0, 1.08 * max(values, default=1))
        plain_ticks(axes.xaxis)
    legend_below(figure, panels[: len(titles)])


def _colors(rows: Sequence["Row"], curve: str, x: str) -> dict[str, str]:
    """A color for every curve; those without `x` share that of their name up to a comma."""
    placed = {str(row[curve]) for row in rows if row.get(x) is not None}
    colors: dict[str, str] = {}
    for name in dict.fromkeys(str(row[curve]) for row in rows):
        base = name if name in placed else name.partition(",")[0]
        colors[name] = colors.setdefault(base, f"C{len(set(colors.values()))}")
    return colors


def _curve(
    axes: Any, rows: Sequence["Row"], x: str, y: str, name: str, colors: dict[str, str]
) -> None:
    color = colors[name]
    points = [(row[x], row[y]) for row in rows if row.get(x) is not None]
    if points:
        axes.plot(*zip(*points, strict=True), "o-", markersize=4, color=color, label=name)
    else:
        axes.axhline(rows[0][y], linestyle="--", linewidth=1, color=color, label=name)


def plain_ticks(axis: Any) -> None:
    """1, 2, 5, 10 … on a logarithmic axis, or 1, 10, 100 … where so many would overlap."""
    ticker = importlib.import_module("matplotlib.ticker")
    low, high = axis.get_view_interval()
    axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5) if high < _WIDE * low else (1,)))
    axis.set_major_formatter("{x:,g}")
    axis.set_minor_formatter("")
