"""A kernel of exponential decay, which Yang 2018, chapter 3, promises and does not show."""

from collections.abc import Iterator, Sequence
from typing import Any

from labelwood.studies._plot import GRAY, legend_below
from labelwood.studies._result import Row
from labelwood.studies._study import Options, Study

SIZES = (100, 200, 400, 800)
TRIALS = 40
_QUICK = ((30, 60), 4)
GAMMA = 20.0
DEVIATION = 0.5


def rows(part: str, options: Options) -> Iterator[Row]:
    """δ_n², times and errors at each size, and all in units of ln(n)/n."""
    import numpy as np

    from labelwood.kernels.boosting.features import exact_features
    from labelwood.kernels.boosting.losses import Loss
    from labelwood.kernels.boosting.path import boost
    from labelwood.kernels.boosting.pilot import noise_and_norm
    from labelwood.kernels.boosting.stopping import theory_times
    from labelwood.kernels.critical_radius import critical_radius, guaranteed_time, regular_kernel

    sizes, n_trials = _sizes(options)
    for n in sizes:
        x = np.arange(1, n + 1) / n
        features = exact_features(np.exp(-GAMMA * np.square(x[:, None] - x[None])))
        f = np.sin(2 * np.pi * x) / 2 + np.cos(np.pi * x) / 4
        rng = np.random.default_rng([options.seed, n])
        Y = f[:, None] + DEVIATION * rng.normal(size=(n, n_trials))
        loss = Loss("squared")
        radius = critical_radius(features.spectrum, n, DEVIATION)
        deviation, norm = noise_and_norm(features.Z, features.spectrum, Y)
        times = theory_times(
            features.spectrum, loss, deviation, norm, step=1.0, M=1.0, average=True
        )
        variance = np.square(deviation)
        guaranteed = np.full(n_trials, guaranteed_time(radius, 1.0))
        paths = {
            "guaranteed": boost(features, Y, loss, 1.0, guaranteed, variance, 10**6),
            "theory": boost(features, Y, loss, 1.0, times.theory, variance, 10**6),
            "discrepancy": boost(features, Y, loss, 1.0, None, variance, 10**5, average=True),
        }
        steps = np.unique(np.round(np.geomspace(1, 10 * n, 200)).astype(int))
        mu = features.spectrum.eigenvalues
        end = (features.Z.T @ Y) / n / mu[:, None]
        gold = np.min(
            [
                np.square(features.Z @ (end * (1 - (1 - mu) ** t)[:, None]) - f[:, None]).mean(
                    axis=0
                )
                for t in steps
            ],
            axis=0,
        )
        rate = np.log(n) / n
        row: Row = {
            "n": n,
            "delta²": radius.delta**2,
            "delta² / rate": radius.delta**2 / rate,
            "d_n": regular_kernel(features.spectrum, n, radius).d_n,
            "gold": float(gold.mean()),
        }
        for rule, path in paths.items():
            error = np.square(features.Z @ path.mean - f[:, None]).mean(axis=0)
            row[rule] = float(error.mean())
        row["theory steps"] = float(np.median(times.theory))
        row["theory / rate"] = float(row["theory"] or 0) / rate
        yield row


def _sizes(options: Options) -> tuple[tuple[int, ...], int]:
    """Numbers of samples, and of trials for each."""
    return _QUICK if options.quick else (SIZES, TRIALS)


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """δ_n² and errors against n, with ln(n)/n through the first error."""
    import numpy as np

    axes = figure.subplots()
    n = np.array([float(row["n"] or 0) for row in rows])
    for name in ("delta²", "gold", "guaranteed", "theory", "discrepancy"):
        axes.plot(n, [row[name] for row in rows], "o-", markersize=3, label=name)
    rate = np.log(n) / n
    axes.plot(n, rate * float(rows[0]["theory"] or 0) / rate[0], "--", color=GRAY, label="ln(n)/n")
    axes.set(xlabel="n", ylabel="squared", xscale="log", yscale="log")
    legend_below(figure, [axes])


def _notes(options: Options) -> tuple[str, ...]:
    _, n_trials = _sizes(options)
    return (
        "Equidistant samples in [0, 1], γ = 20, f* = sin(2πx)/2 + cos(πx)/4, noise of deviation "
        f"½, step 1, {n_trials} trials; rate is ln(n)/n (Yang 2018, Corollary 5 (a) with γ = 1). "
        "delta² is for the true noise and norm 1; theory and discrepancy estimate the noise.",
    )


STUDY = Study(
    name="boosting-gaussian",
    title="Kernel boosting with the Gaussian kernel, whose eigenvalues decay exponentially",
    parts={"l2": ()},
    columns={
        "n": "d",
        "delta²": ".5f",
        "delta² / rate": ".2f",
        "d_n": "d",
        "gold": ".5f",
        "guaranteed": ".5f",
        "theory": ".5f",
        "discrepancy": ".5f",
        "theory steps": ",.0f",
        "theory / rate": ".3f",
    },
    rows=rows,
    draw=draw,
    notes=_notes,
)
