"""Plots as SVG: the same rows give the same bytes, and no display is needed."""

import importlib
import io
from collections.abc import Callable, Sequence
from typing import Any

from labelwood.errors import MissingExtraError
from labelwood.studies._result import Row

# Identifiers from a fixed salt, text as text, no date: nothing that differs between two runs.
_SETTINGS = {"svg.hashsalt": "labelwood", "svg.fonttype": "none", "font.size": 9}
_METADATA = {"Date": None, "Creator": "labelwood"}


def require_matplotlib() -> Any:
    """The package matplotlib, or an error that says how to get it."""
    try:
        importlib.import_module("matplotlib.figure")
        return importlib.import_module("matplotlib")
    except ImportError:
        raise MissingExtraError("The plot of a study", "report") from None


def svg(draw: Callable[[Any, Sequence[Row]], None], rows: Sequence[Row]) -> bytes:
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
