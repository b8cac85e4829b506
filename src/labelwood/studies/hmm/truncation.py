"""What a window of ±k observations loses against the whole sequence (Yang 2018, Lemma 3, M_n^k).

The truncated posterior p(Z_i | x_{i−k} … x_{i+k}) with the stationary distribution at its left end
is the object of the chapter's analysis; its error falls geometrically in k, at worst like ρ̃^k.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from labelwood.studies._plot import GRAY, legend_below
from labelwood.studies._result import Row
from labelwood.studies._study import Options, Study
from labelwood.studies.hmm._two_state import LENGTH, ZETA, draw_sample, gap, sequences

SNRS = (0.5, 1.5, 4.0)
WINDOWS = (0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30)
_QUICK = (0, 1, 2, 4)


def rows(part: str, options: Options) -> Iterator[Row]:
    """Largest and mean error of the posterior, and of the update, for each k."""
    import numpy as np

    from labelwood.sequences.engine.em import e_step
    from labelwood.sequences.two_state_hmm import Symmetric, SymmetricChain

    snr = float(part)
    sample = draw_sample(np.random.default_rng((options.seed, int(100 * snr))), snr=snr)
    data = sequences(sample)
    chain, emissions = SymmetricChain.of(ZETA, 0.99), Symmetric(sample.mean, 1.0, known=True)
    whole = e_step(data, chain, emissions).gamma[:, 0]
    update = ((2 * whole - 1)[:, None] * sample.X).mean(axis=0)
    log_odds = 2 * sample.X @ sample.mean
    for k in _QUICK if options.quick else WINDOWS:
        window = truncated_posteriors(log_odds, k, ZETA)
        errors = np.abs(window - whole)
        truncated = ((2 * window - 1)[:, None] * sample.X).mean(axis=0)
        yield {
            "η²": snr,
            "k": k,
            "largest error": float(errors.max()),
            "mean error": float(errors.mean()),
            "‖M_n − M_n^k‖": gap(update, truncated),
            "ρ̃^k": (1 - (1 - abs(2 * ZETA - 1)) / 2) ** k,
        }


def truncated_posteriors(log_odds: Any, k: int, zeta: float) -> Any:
    """p(Z_i = 1 | x_{i−k} … x_{i+k}) of every step, by recursions over all windows at once.

    Messages are log odds: a chain that stays with probability ζ turns odds θ into
    (ζθ + 1 − ζ) / ((1 − ζ)θ + ζ).
    """
    import numpy as np

    n = log_odds.size

    def passed(messages: Any) -> Any:
        p = 1 / (1 + np.exp(-messages))
        p = zeta * p + (1 - zeta) * (1 - p)
        return np.log(p) - np.log1p(-p)

    # After j rounds, message i carries what the j observations before it (or after it) say.
    left, right = np.zeros(n), np.zeros(n)
    for _ in range(k):
        left = np.concatenate([[0.0], passed(left[:-1] + log_odds[:-1])])
        right = np.concatenate([passed(right[1:] + log_odds[1:]), [0.0]])
    return 1 / (1 + np.exp(-(left + log_odds + right)))


def measured_rate(rows: Sequence[Row]) -> dict[float, float]:
    """Slope of the logarithm of the largest error on k, while it is above rounding."""
    import numpy as np

    found = {}
    for snr in dict.fromkeys(float(row["η²"]) for row in rows):  # type: ignore[arg-type]
        own: list[Any] = [
            r
            for r in rows
            if r["η²"] == snr and r["k"] >= 2 and r["largest error"] > 1e-12  # type: ignore[operator]
        ]
        if len(own) > 1:
            x, y = [row["k"] for row in own], np.log([row["largest error"] for row in own])
            found[snr] = float(np.polyfit(x, y, 1)[0])
    return found


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """Errors against k on a logarithmic scale, beside the worst case ρ̃^k."""
    figure.set_size_inches(7.2, 3.6)
    panels = figure.subplots(1, 2, sharey=True)
    for axes, name in zip(panels, ("largest error", "‖M_n − M_n^k‖"), strict=True):
        for i, snr in enumerate(dict.fromkeys(row["η²"] for row in rows)):
            own: list[Any] = [row for row in rows if row["η²"] == snr]
            x = [row["k"] for row in own]
            values = [max(row[name], 1e-16) for row in own]
            axes.plot(x, values, "o-", markersize=3, color=f"C{i}", label=f"η² = {snr:g}")
        axes.plot(x, [row["ρ̃^k"] for row in own], "--", color=GRAY, label="ρ̃^k")
        axes.set(title=name, xlabel="k", yscale="log")
    legend_below(figure, panels)


STUDY = Study(
    name="hmm-truncation",
    title="Posterior and update from a window of ±k observations against the whole sequence",
    parts={f"{snr:g}": () for snr in SNRS},
    columns={
        "η²": ".2f",
        "k": "d",
        "largest error": ".1e",
        "mean error": ".1e",
        "‖M_n − M_n^k‖": ".1e",
        "ρ̃^k": ".1e",
    },
    rows=rows,
    draw=draw,
    notes=(
        f"d = 10, n = {LENGTH}, ζ = {ZETA}, σ = 1, at the true parameters. "
        f"ρ̃ = 1 − ε_mix π_min = 0.8, ln ρ̃ = {math.log(0.8):.3f} a step.",
    ),
)
