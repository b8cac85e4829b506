"""Kernel ridge regression at λ = δ_n² beside the stopped path of boosting (Yang 2018, § 3.3)."""

from collections.abc import Iterator, Sequence
from typing import Any

from labelwood.studies._plot import legend_below
from labelwood.studies._result import Row
from labelwood.studies._study import Options, Study

SIZES = (100, 200, 400, 800)
TRIALS = 40
_QUICK = ((30, 60), 4)
FACTORS = {"ridge δ²": 1.0, "ridge δ²/4": 0.25, "ridge δ²/16": 1 / 16}
_ESTIMATES = ("best ridge", *FACTORS, "ridge, leave-one-out", "gold", "theory")


def rows(part: str, options: Options) -> Iterator[Row]:
    """Mean squared errors at each size, then slopes."""
    import numpy as np

    from labelwood.kernels.ridge.leave_one_out import alpha_grid, loo_errors_of_kernel
    from labelwood.kernels.ridge.representations import eigenpairs
    from labelwood.kernels.samples import Targets
    from labelwood.studies.boosting import _simulation as lab

    loss = lab.make_loss("squared")
    sizes, n_trials = _sizes(options)
    means: dict[str, list[float]] = {name: [] for name in _ESTIMATES}
    for n in sizes:
        x = lab.design(n, False, options.seed)
        Y = lab.draw_responses(x, "squared", n_trials, [options.seed, n])
        f = lab.target(x)[:, None]
        values, U = eigenpairs(1 + np.minimum(x[:, None], x[None]))
        UY = U.T @ Y

        def ridge(alpha: float, values: Any = values, U: Any = U, UY: Any = UY, f: Any = f) -> Any:
            fit = U @ (UY * (values / (values + alpha * len(f)))[:, None])
            return np.square(fit - f).mean(axis=0)

        known = lab.theory(x, Y, loss, lab.STEP)
        stopped = lab.run_paths(
            x, Y, loss, lab.STEP, {"theory": known.times}, known.variance, 7 * n
        )
        alphas = alpha_grid(1.5)
        grid = np.array([ridge(float(alpha)) for alpha in alphas])
        chosen = [
            int(loo_errors_of_kernel(values, U, Targets(Y[:, [i]]), alphas).argmin())
            for i in range(n_trials)
        ]
        found = {
            "best ridge": grid.min(axis=0),
            "ridge, leave-one-out": grid[chosen, np.arange(n_trials)],
            **{name: ridge(factor * known.delta_squared) for name, factor in FACTORS.items()},
            "gold": lab.errors(x, stopped["gold"], loss, False)[0],
            "theory": lab.errors(x, stopped["theory"], loss, False)[0],
        }
        row: Row = {"n": n, "delta²": known.delta_squared}
        for name in _ESTIMATES:
            means[name].append(float(found[name].mean()))
            row[name] = means[name][-1]
        yield row
    last: Row = {"n": None, "delta²": None}
    last.update({name: lab.slope(list(sizes), means[name]) for name in _ESTIMATES})
    yield {"what": "slope", **last}


def _sizes(options: Options) -> tuple[tuple[int, ...], int]:
    """Numbers of samples, and of trials for each."""
    return _QUICK if options.quick else (SIZES, TRIALS)


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """Errors against n on logarithmic axes."""
    axes = figure.subplots()
    own = [row for row in rows if row.get("n")]
    for name in _ESTIMATES:
        axes.plot([r["n"] for r in own], [r[name] for r in own], "o-", markersize=3, label=name)
    axes.set(xlabel="n", ylabel="mean squared error", xscale="log", yscale="log")
    legend_below(figure, [axes])


def _notes(options: Options) -> tuple[str, ...]:
    _, n_trials = _sizes(options)
    return (
        f"Data of boosting-stopping (L2, fixed design, {n_trials} trials). δ² is δ_n² with the "
        "true noise. best ridge and gold know f*; theory is the averaged path with the noise "
        "estimated. The last line has the slopes of log error against log n.",
    )


STUDY = Study(
    name="ridge-and-stopping",
    title="Mean squared error of ridge regression at λ ~ δ_n² beside boosting stopped early",
    parts={"l2": ()},
    columns={
        "what": "",
        "n": "d",
        "delta²": ".5f",
        **dict.fromkeys(_ESTIMATES, ".5f"),
    },
    rows=rows,
    draw=draw,
    notes=_notes,
)
