"""Errors of kernel boosting stopped by many rules (Yang 2018, Figures 3.2 and 3.3)."""

from collections.abc import Iterator, Sequence
from typing import Any

from labelwood.studies._plot import legend_below, plain_ticks
from labelwood.studies._result import Row
from labelwood.studies._study import Options, Study

SIZES = (100, 200, 400, 800, 1600)
TRIALS = 40
_QUICK = ((30, 60), 4)
EXPONENTS = {"(7n)^0.33": 0.33, "(7n)^0.67": 0.67, "(7n)^1": 1.0}
RULES = ("gold", *EXPONENTS, "guaranteed", "theory", "discrepancy", "cv")
PARTS = {
    "l2": ("squared", False),
    "logistic": ("logistic", False),
    "l2-random": ("squared", True),
    "logistic-random": ("logistic", True),
}


def rows(part: str, options: Options) -> Iterator[Row]:
    """Each rule at each size, then its slope over all sizes."""
    import numpy as np

    from labelwood.studies.boosting import _simulation as lab

    loss_name, random = PARTS[part]
    loss = lab.make_loss(loss_name)
    sizes, n_trials = _sizes(options)
    means: dict[str, list[float]] = {rule: [] for rule in RULES}
    for n in sizes:
        x = lab.design(n, random, options.seed)
        Y = lab.draw_responses(x, loss_name, n_trials, [options.seed, n])
        known = lab.theory(x, Y, loss, lab.STEP)
        times = {
            rule: np.full(n_trials, int((7 * n) ** kappa)) for rule, kappa in EXPONENTS.items()
        }
        times["guaranteed"] = np.full(n_trials, known.guaranteed)
        times["theory"] = known.times
        limit = 4 * int((7 * n) ** (2 / 3))
        times["cv"] = lab.cross_validated(x, Y, loss, lab.STEP, limit, options.seed)
        n_steps = max(7 * n, int(known.times.max()))
        stopped = lab.run_paths(x, Y, loss, lab.STEP, times, known.variance, n_steps)
        gold = 0.0
        for rule in RULES:
            squared, excess = lab.errors(x, stopped[rule], loss, random)
            error = float(squared.mean())
            means[rule].append(error)
            gold = error if rule == "gold" else gold
            yield {
                "part": part,
                "rule": rule,
                "n": n,
                "steps": float(np.median(stopped[rule].times)),
                "error": error,
                "standard error": float(squared.std(ddof=1) / np.sqrt(n_trials)),
                "times gold": error / gold,
                "excess risk": float(excess.mean()),
            }
    for rule in RULES:
        yield {"part": part, "rule": rule, "slope": lab.slope(list(sizes), means[rule])}


def _sizes(options: Options) -> tuple[tuple[int, ...], int]:
    """Numbers of samples, and of trials for each."""
    return _QUICK if options.quick else (SIZES, TRIALS)


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """Errors against n on linear axes (Figure 3.2) beside those on logarithmic ones (3.3)."""
    titles = list(dict.fromkeys(str(row["part"]) for row in rows))
    figure.set_size_inches(8.0, 3.0 * len(titles) + 0.6)
    panels = figure.subplots(len(titles), 2, squeeze=False)
    for line, title in zip(panels, titles, strict=True):
        for axes, scale in zip(line, ("linear", "log"), strict=True):
            for rule in RULES:
                own = [r for r in rows if r["part"] == title and r["rule"] == rule and r.get("n")]
                axes.errorbar(
                    [r["n"] for r in own],
                    [r["error"] for r in own],
                    yerr=[r["standard error"] for r in own],
                    marker="o",
                    markersize=3,
                    label=rule,
                )
            axes.set(title=title, xlabel="n", ylabel="mean squared error")
            axes.set(xscale=scale, yscale=scale)
            if scale == "log":
                plain_ticks(axes.xaxis)
                plain_ticks(axes.yaxis)
    legend_below(figure, panels.ravel())


def _notes(options: Options) -> tuple[str, ...]:
    _, n_trials = _sizes(options)
    return (
        f"Kernel 1 + min(x, x'), f* = |x − ½| − ¼, step 0.75, {n_trials} trials. l2: noise "
        "of variance ½; logistic: the summed loss of five Bernoulli trials. Fixed equidistant "
        "design, or (random) one uniform design for each n and the error over [0, 1].",
        "gold: the best unaveraged iterate; all others average. guaranteed: ⌊1/(δ_n² max(8, M))⌋ "
        "with the true noise and norm 1. theory, discrepancy: as KernelBoosting has them, with "
        "the noise estimated in each trial. cv: five folds.",
        "slope: of the log of the mean error against log n; the theory's is −2/3.",
    )


STUDY = Study(
    name="boosting-stopping",
    title="Mean squared error of kernel boosting stopped by many rules, against the sample size",
    parts=dict.fromkeys(PARTS, ()),
    columns={
        "part": "",
        "rule": "",
        "n": "d",
        "steps": ",.0f",
        "error": ".5f",
        "standard error": ".5f",
        "times gold": ".2f",
        "excess risk": ".5f",
        "slope": ".3f",
    },
    rows=rows,
    draw=draw,
    notes=_notes,
)
