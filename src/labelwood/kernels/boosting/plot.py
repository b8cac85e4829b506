"""The path of kernel boosting with its stopping times, by matplotlib."""

import importlib
from typing import Any

import numpy as np

from labelwood.errors import MissingExtraError
from labelwood.kernels.boosting.stopping import RULES

# Colors that are distinct on white and on black, by people who see few colors too.
_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")


def draw_path(model: Any, ax: Any, output: int) -> Any:
    """Training risk of one output against the steps, a line for each stopping time."""
    if ax is None:
        try:
            figure = importlib.import_module("matplotlib.figure").Figure(layout="constrained")
        except ImportError:
            raise MissingExtraError("plot_path", "report") from None
        ax = figure.subplots()
    risks = model.risk_path_[:, output]
    steps = np.arange(1, risks.size + 1)
    ax.plot(steps, risks, color="#777777", label="mean squared residual")
    ax.axhline(model.sigma_[output] ** 2, color="#777777", linestyle=":", label="σ²")
    for rule, time, color in zip(RULES, model.stopping_times_[output], _COLORS, strict=True):
        if time > 0:
            ax.axvline(time, color=color, linestyle="--", label=f"{rule}: {int(time):,}")
    ax.axvline(model.n_iter_[output], color="#777777", linewidth=3, alpha=0.4, label="stopped")
    ax.set(xlabel="steps", ylabel="risk on the training samples", xscale="log")
    ax.legend()
    return ax
