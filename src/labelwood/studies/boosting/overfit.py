"""Errors along one path of LogitBoost and AdaBoost (Yang 2018, Figure 3.1)."""

from collections.abc import Iterator, Sequence
from typing import Any

from labelwood.studies._plot import GRAY
from labelwood.studies._result import Row
from labelwood.studies._study import Options, Study

N = 100
STEPS = 20_000
STEP = 0.75


def rows(part: str, options: Options) -> Iterator[Row]:
    """The squared error at steps in even ratios, then its minimum."""
    import numpy as np

    from labelwood.kernels.boosting.losses import Loss
    from labelwood.studies.boosting import _simulation as lab

    n_steps = 50 if options.quick else STEPS
    x = lab.design(N, False, options.seed)
    # The minimizer of the exponential loss is half the log-odds.
    log_odds = (2.0 if part == "exponential" else 1.0) * lab.target(x)
    rng = np.random.default_rng(options.seed)
    p = 1 / (1 + np.exp(-log_odds))
    y = np.where(rng.random((N, lab.TRIALS_OF_A_RESPONSE)) < p[:, None], 1.0, -1.0)
    loss = Loss(part)
    a, f = np.zeros((N, 1)), np.zeros((N, 1))
    errors = np.empty(n_steps)
    for t in range(n_steps):
        a = a - (STEP / N) * loss.gradient(y, f).mean(axis=1, keepdims=True)
        f = lab.sobolev_product(x, a)
        errors[t] = np.square(f[:, 0] - lab.target(x)).mean()
    shown = np.unique(np.round(np.geomspace(1, n_steps, 40)).astype(int))
    for t in shown:
        yield {"loss": part, "step": int(t), "error": float(errors[t - 1])}
    best = int(errors.argmin())
    yield {"loss": part, "best step": best + 1, "least error": float(errors[best])}


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """A panel for each loss: the error against the steps, its minimum dotted."""
    titles = list(dict.fromkeys(str(row["loss"]) for row in rows))
    figure.set_size_inches(3.6 * len(titles), 3.0)
    for axes, title in zip(figure.subplots(1, len(titles), squeeze=False)[0], titles, strict=True):
        own = [row for row in rows if row["loss"] == title]
        path = [row for row in own if "step" in row]
        axes.plot([row["step"] for row in path], [row["error"] for row in path])
        axes.axhline(own[-1]["least error"], linestyle=":", color=GRAY)
        axes.set(title=title, xlabel="step", ylabel="squared error", xscale="log")


STUDY = Study(
    name="boosting-overfit",
    title="Squared error along one path of kernel boosting: it falls, then rises",
    parts={"logistic": (), "exponential": ()},
    columns={
        "loss": "",
        "step": ",d",
        "error": ".5f",
        "best step": ",d",
        "least error": ".5f",
    },
    rows=rows,
    draw=draw,
    notes=(
        "n = 100 equidistant samples, kernel 1 + min(x, x'), step 0.75, one path each; f* = "
        "|x − ½| − ¼ is the log-odds for the logistic loss and half of them for the exponential "
        "one. Each response is five Bernoulli trials, whose losses are averaged.",
    ),
)
