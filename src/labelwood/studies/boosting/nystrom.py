"""Stopping times from approximate eigenvalues (an open question of Yang 2018, chapter 3)."""

from collections.abc import Iterator, Sequence
from typing import Any

from labelwood.studies._plot import draw_panels
from labelwood.studies._result import Row
from labelwood.studies._study import Options, Study

SHARES = (0.01, 0.02, 0.05, 0.1)
ROWS = 10_000
_QUICK_ROWS = 400
PARTS = {"a9a": ("binary/a9a.train.svm.xz",), "madelon": ("binary/madelon.svm.xz",), "sobolev": ()}


def rows(part: str, options: Options) -> Iterator[Row]:
    """Times and held-out error for each share of landmarks, and exactly."""
    import numpy as np

    from labelwood.kernels.functions import KernelFunction, canonical, default_gamma
    from labelwood.kernels.nystrom import nystrom_features
    from labelwood.kernels.spectrum import exact_spectrum, top_spectrum

    X, y = _data(part, options)
    order = np.random.default_rng(options.seed).permutation(X.shape[0])
    n = min(ROWS, int(0.8 * X.shape[0]))
    X_train, X_held = canonical(X[order[:n]]), canonical(X[order[n : n + 5000]])
    y_train, y_held = y[order[:n]], y[order[n : n + 5000]]
    name = "sobolev" if part == "sobolev" else "gaussian"
    function = KernelFunction(name, default_gamma(name, X_train)).bounded_by_one(X_train)
    K = function(X_train, X_train)
    # If the last of them is below δ_n², the trace tells the rest of the sum, and a hundred
    # eigenvalues are as good as all.
    exact = exact_spectrum(K) if n <= 3000 else top_spectrum(K, float(np.trace(K)), 100, n)
    sigma = 0.65  # the deviation of ±1 around its mean where one in ten is wrong; the same for all
    base = _times(exact, sigma, 1.0)
    yield {
        "data": part,
        "landmarks": "all",
        "n": n,
        "steps": base[0],
        "at least": base[1],
        "at most": base[2],
        "ratio": 1.0,
    }
    for share in SHARES:
        for how in ("uniform", "leverage"):
            few = nystrom_features(
                function, X_train, int(share * n), landmarks=how, random_state=options.seed
            )
            steps, low, high = _times(few.spectrum, sigma, 1.0)
            held = function(X_held, X_train[few.landmarks]) @ few.expansion
            yield {
                "data": part,
                "landmarks": how,
                "share": share,
                "n": n,
                "steps": steps,
                "at least": low,
                "at most": high,
                "ratio": steps / base[0],
                "error": _error(few, held, y_train, y_held, int(steps)),
                "error, exact time": _error(few, held, y_train, y_held, int(base[0])),
            }


def _data(part: str, options: Options) -> tuple[Any, Any]:
    import numpy as np

    if part == "sobolev":
        rng = np.random.default_rng(options.seed)
        x = rng.random((_QUICK_ROWS if options.quick else 2500, 1))
        y = np.where(np.abs(x[:, 0] - 0.5) - 0.25 + 0.5 * rng.normal(size=len(x)) > 0, 1.0, -1.0)
        return x, y
    from labelwood.data.load import load_dataset

    data = load_dataset(options.file(PARTS[part][0]), one_based=True)
    y = np.where(data.Y.indices == data.Y.indices.max(), 1.0, -1.0)
    X = data.X
    if part == "madelon":
        dense = X.toarray()  # type: ignore[union-attr]
        X = (dense - dense.mean(axis=0)) / np.maximum(dense.std(axis=0), 1e-9)
    if options.quick:
        return X[:_QUICK_ROWS], y[:_QUICK_ROWS]  # type: ignore[index]
    return X, y


def _times(spectrum: Any, sigma: float, step: float) -> tuple[float, float, float]:
    """c/(α δ_n²), and what it is at least and at most."""
    from labelwood.kernels.boosting.stopping import THEORY_CONSTANT
    from labelwood.kernels.critical_radius import critical_radius

    radius = critical_radius(spectrum, spectrum.n, sigma)
    squares = (radius.delta**2, radius.upper**2, radius.lower**2)
    delta, low, high = (THEORY_CONSTANT[True] / (step * square) for square in squares)
    return float(int(delta)), low, high


def _error(few: Any, held: Any, y: Any, y_held: Any, n_steps: int) -> float:
    """Share of held-out samples on the wrong side of the averaged L2 path."""
    import numpy as np

    from labelwood.kernels.boosting.features import KernelFeatures
    from labelwood.kernels.boosting.losses import Loss
    from labelwood.kernels.boosting.path import boost

    features = KernelFeatures(few.Z, True, few.spectrum, None, None)
    path = boost(features, y[:, None], Loss("squared"), 1.0, np.array([n_steps]), np.ones(1), 10**7)
    return float(np.mean((held @ path.mean[:, 0] > 0) != (y_held > 0)))


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """A panel for each data set: the time in units of the exact one, by landmarks."""
    draw_panels(
        figure,
        [row for row in rows if row.get("share")],
        panel="data",
        curve="landmarks",
        x="share",
        y="ratio",
    )


def _notes(options: Options) -> tuple[str, ...]:
    a9a, madelon = (_QUICK_ROWS, _QUICK_ROWS) if options.quick else (ROWS, 2_080)
    return (
        "steps: of stopping='theory' with σ = 0.65 and norm 1, from the eigenvalues of the Nyström "
        "approximation, whose missing trace is spread evenly over the rest; at least, at most: by "
        "the bounds on the eigenvalues. ratio: to the time from all eigenvalues (of a9a the "
        "hundred largest, by Lanczos, and the trace, which bound it from both sides).",
        "error: on held-out rows of squared loss, averaged, with Nyström features stopped at that "
        f"time, or at the exact one. a9a: {a9a:,} rows; madelon: standardized columns, "
        f"{madelon:,} rows; Gaussian kernel with the default γ.",
    )


STUDY = Study(
    name="boosting-nystrom",
    title="Stopping times of kernel boosting from landmarks in place of all eigenvalues",
    parts=PARTS,
    columns={
        "data": "",
        "landmarks": "",
        "share": ".0%",
        "n": ",d",
        "steps": ",.0f",
        "at least": ",.0f",
        "at most": ",.0f",
        "ratio": ".3f",
        "error": ".4f",
        "error, exact time": ".4f",
    },
    rows=rows,
    draw=draw,
    notes=_notes,
)
