"""Gaussian hidden Markov models of three real series, with one to four states.

Reaction times and their speed–accuracy trade-off (three series of one person, depmixS4), monthly
returns of the S&P 500 from 1950 on, and the eruptions of Old Faithful in time order.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from labelwood.studies._plot import GRAY
from labelwood.studies._result import Row
from labelwood.studies._study import Options, Study

FILES = {
    "speed": "sequences/depmixS4_speed.csv",
    "sp500": "sequences/depmixS4_sp500.csv",
    "geyser": "sequences/MASS_geyser.csv",
}
COLUMNS = {"speed": ("rt",), "sp500": ("logret",), "geyser": ("waiting", "duration")}
LENGTHS = {"speed": [168, 134, 137]}
STATES = (1, 2, 3, 4)
N_STARTS = 20
_QUICK = ((1, 2), 2)


def rows(part: str, options: Options) -> Iterator[Row]:
    """A fit for each number of states; the states of the best one by BIC, for the figure."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    from labelwood.errors import LabelwoodWarning
    from labelwood.sequences.gaussian_hmm import GaussianHMM

    X = read_series(options, part)
    lengths = LENGTHS.get(part)
    states, n_starts = _QUICK if options.quick else (STATES, N_STARTS)
    for n_states in states:
        model = GaussianHMM(
            n_states,
            covariance="full",
            n_init=n_starts,
            tol=1e-9,
            max_iter=3_000,
            random_state=options.seed,
            n_jobs=options.jobs,
        )
        with warnings.catch_warnings():
            # The table has a column for each of these.
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", LabelwoodWarning)
            model.fit(X, lengths=lengths)
        certificate = model.certificate_
        yield {
            "data": part,
            "states": n_states,
            "log likelihood": model.log_likelihood_,
            "AIC": model.aic(X, lengths=lengths),
            "BIC": model.bic(X, lengths=lengths),
            "starts that agree": certificate.n_agree / certificate.n_starts,
            "factor": certificate.contraction,
            "collapsed": int(model.degenerate_states_.size),
            "stopped by": model.stop_reason_,
            "series": " ".join(f"{value:.6g}" for value in X[:, -1]),
            "path": " ".join(map(str, _by_mean(model, X, lengths))),
        }


def read_series(options: Options, part: str) -> Any:
    """The columns of a part; returns are in percent."""
    import numpy as np

    table = np.genfromtxt(
        options.file(FILES[part]), delimiter=",", names=True, dtype=None, encoding="utf-8"
    )
    X = np.column_stack([table[name].astype(float) for name in COLUMNS[part]])
    return 100 * X if part == "sp500" else X


def _by_mean(model: Any, X: Any, lengths: Any) -> list[int]:
    """The most probable states, numbered by their last mean."""
    import numpy as np

    rank = np.argsort(np.argsort(model.means_[:, -1]))
    return [int(rank[state]) for state in model.predict(X, lengths=lengths)]


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """The series with the states of the model of least BIC."""
    parts = list(dict.fromkeys(str(row["data"]) for row in rows))
    figure.set_size_inches(7.2, 2.2 * len(parts))
    panels = figure.subplots(len(parts), 1, squeeze=False).ravel()
    for axes, part in zip(panels, parts, strict=True):
        own: list[Any] = [row for row in rows if row["data"] == part]
        best = min(own, key=lambda row: row["BIC"])
        values = [float(one) for one in best["series"].split()]
        path = [int(one) for one in best["path"].split()]
        axes.plot(values, color=GRAY, linewidth=0.5)
        for state in sorted(set(path)):
            chosen = [t for t, one in enumerate(path) if one == state]
            axes.plot(chosen, [values[t] for t in chosen], ".", color=f"C{state}", markersize=3)
        axes.set_title(f"{part}: {COLUMNS[part][-1]}, {best['states']} states")


def _notes(options: Options) -> tuple[str, ...]:
    n_starts = _QUICK[1] if options.quick else N_STARTS
    return (
        f"Full covariances, free start, the best of {n_starts} mixed starts, tol 1e-9. "
        "The figure has the model of least BIC.",
    )


STUDY = Study(
    name="hmm-real",
    title="Gaussian hidden Markov models of reaction times, S&P 500 returns and Old Faithful",
    parts={part: (file,) for part, file in FILES.items()},
    columns={
        "data": "",
        "states": "d",
        "log likelihood": ".3f",
        "AIC": ".1f",
        "BIC": ".1f",
        "starts that agree": ".0%",
        "factor": ".3f",
        "collapsed": "d",
        "stopped by": "",
    },
    rows=rows,
    draw=draw,
    notes=_notes,
)
