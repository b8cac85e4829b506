"""Plots of sequence models on matplotlib axes: states, likelihood trace, transitions, timeline.

Every function draws on the axes that it is given and imports nothing of matplotlib itself.
"""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from labelwood.errors import DataError
from labelwood.sequences.engine.certificate import contraction, linear_part
from labelwood.sequences.engine.chain import as_numbers

if TYPE_CHECKING:
    from labelwood.sequences.monitor import Timeline

__all__ = ["plot_states", "plot_timeline", "plot_trace", "plot_transitions"]

_LEAST_ARROW = 0.005  # probability below which a transition is not drawn


def plot_states(axes: Any, values: object, states: object) -> None:
    """One feature over time, colored by the states (of `predict`).

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = Figure().add_subplot()
    >>> plot_states(axes, [0.1, 0.2, 3.0, 3.1], [0, 0, 1, 1])
    >>> len(axes.lines)
    3
    """
    y, z = as_numbers(values), np.asarray(states)
    if y is None:
        raise DataError("values must be numbers, one per step.")
    if y.ndim != 1 or y.shape != z.shape:
        raise DataError(
            f"values and states must be two lists of one length. Got {y.shape} and {z.shape}."
        )
    axes.plot(y, color="gray", linewidth=0.5, zorder=1)
    for i, state in enumerate(np.unique(z)):
        steps = np.flatnonzero(z == state)
        axes.plot(steps, y[steps], ".", color=f"C{i}", markersize=4, label=f"state {state}")
    axes.set(xlabel="step", ylabel="value")
    axes.legend()


def plot_trace(axes: Any, model: Any) -> None:
    """What is missing to the last log likelihood, and the steps with the line of contraction.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from labelwood import TwoStateGaussianHMM
    >>> X = np.random.default_rng(0).normal(size=(200, 1)) + np.repeat([[2], [-2]], 100, axis=0)
    >>> axes = Figure().add_subplot()
    >>> plot_trace(axes, TwoStateGaussianHMM(random_state=0).fit(X))
    >>> [line.get_label() for line in axes.lines][:2]
    ['log likelihood to gain', 'length of the step']
    """
    check_is_fitted(model)
    if not hasattr(model, "history_"):
        raise DataError("there is no trace of EM: partial_fit has moved the parameters since fit")
    history, steps = model.history_, model.steps_
    missing = history[-1] - history[:-1]
    shown = missing > 0
    axes.plot(np.flatnonzero(shown), missing[shown], color="C0", label="log likelihood to gain")
    axes.plot(np.arange(1, steps.size + 1), steps, color="C1", label="length of the step")
    found = contraction(steps)
    if found is not None:
        part = linear_part(steps)
        t = np.arange(part.start, part.stop)
        middle = np.exp(np.log(steps[part]).mean())
        line = middle * found[0] ** (t - t.mean())
        axes.plot(t + 1, line, "--", color="C3", label=f"factor {found[0]:.2f}")
    axes.set(xlabel="iteration", yscale="log")
    axes.legend()


def plot_transitions(axes: Any, transition: object, names: list[str] | None = None) -> None:
    """States on a circle, with an arrow for each transition, as wide as its probability.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = Figure().add_subplot()
    >>> plot_transitions(axes, [[0.9, 0.1], [0.3, 0.7]])
    >>> sorted(text.get_text() for text in axes.texts if text.get_text())
    ['0', '0.10', '0.30', '0.70', '0.90', '1']
    """
    A = as_numbers(transition)
    if A is None or A.ndim != 2 or A.shape[0] != A.shape[1]:
        got = "no numbers" if A is None else A.shape
        raise DataError(f"transition probabilities must be a square matrix. Got {got}.")
    s = A.shape[0]
    if names is not None and len(names) != s:
        raise DataError(f"{len(names)} names were given for {s} states")
    angles = [math.pi / 2 - 2 * math.pi * i / s for i in range(s)]
    places = [(math.cos(angle), math.sin(angle)) for angle in angles]
    for i, (x, y) in enumerate(places):
        for j, (u, v) in enumerate(places):
            if i != j and A[i, j] >= _LEAST_ARROW:
                _arrow(axes, (x, y), (u, v), float(A[i, j]))
        label = str(i) if names is None else names[i]
        box = {"boxstyle": "circle", "facecolor": f"C{i}", "edgecolor": "none"}
        axes.text(x, y, label, ha="center", va="center", color="white", bbox=box)
        axes.text(1.3 * x, 1.3 * y, f"{A[i, i]:.2f}", ha="center", va="center", color="gray")
    axes.set(xlim=(-1.6, 1.6), ylim=(-1.6, 1.6), aspect="equal")
    axes.set_axis_off()


def _arrow(axes: Any, start: tuple[float, float], end: tuple[float, float], p: float) -> None:
    """A curved arrow, so that both directions can be seen, with its probability beside it."""
    axes.annotate(
        "",
        end,
        start,
        arrowprops={
            "arrowstyle": "->",
            "connectionstyle": "arc3,rad=0.25",
            "linewidth": 0.5 + 4 * p,
            "color": "gray",
            "shrinkA": 14,
            "shrinkB": 14,
        },
    )
    dx, dy = end[0] - start[0], end[1] - start[1]
    middle = ((start[0] + end[0]) / 2 + 0.18 * dy, (start[1] + end[1]) / 2 - 0.18 * dx)
    axes.text(*middle, f"{p:.2f}", ha="center", va="center", color="gray")


def plot_timeline(
    axes: Any, values: object, timeline: "Timeline", change_point: int | None = None
) -> None:
    """The watched figure, P(degraded) on a second axis, and the alarms as shaded stretches.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from labelwood import StreamMonitor
    >>> x = np.repeat([0.0, 1.5], [100, 50]) + np.random.default_rng(0).normal(size=150)
    >>> monitor = StreamMonitor(mean=0, scale=1)
    >>> axes = Figure().add_subplot()
    >>> plot_timeline(axes, x, monitor.update_many(x), monitor.record.change_point)
    >>> len(axes.patches)
    1
    """
    y = as_numbers(values)
    if y is None:
        raise DataError("values must be numbers, one per step.")
    if y.shape != timeline.probabilities.shape:
        raise DataError(f"{y.size} values and {timeline.probabilities.size} steps of a timeline")
    axes.plot(y, ".", markersize=2, color="gray", label="value")
    for first, last in timeline.episodes():
        axes.axvspan(first, last, color="C3", alpha=0.2, linewidth=0)
    if change_point is not None:
        axes.axvline(change_point - 1, color="C3", linestyle="--", linewidth=1)
    other = axes.twinx()
    other.plot(timeline.probabilities, color="C0", linewidth=1, label="P(degraded)")
    other.set(ylim=(0, 1.02), ylabel="P(degraded)")
    axes.set(xlabel="step", ylabel="value")
