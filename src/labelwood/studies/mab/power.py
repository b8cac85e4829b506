"""The best of many arms by adaptive and by uniform sampling, with the false discoveries kept low.

Figures 4.7 and 4.8 of Yang 2018, chapter 4: the best-arm discovery rate (BDR) against the
truncation time, and samples against the number of arms, for MAB-FDR (Algorithm 1 in each
experiment, LORD over all of them) and AB-FDR (the same with all arms pulled equally often).
"""

from collections.abc import Iterator
from typing import Any

from labelwood.studies._result import Row
from labelwood.studies._study import Options, Study
from labelwood.studies.mab._sequences import (
    COLUMNS,
    NOTES,
    Comparison,
    Experiments,
    draw_figures,
    one_best,
    with_controls,
)

PARTS: dict[str, dict[str, Any]] = {
    "gaussian": {
        "n_arms": 50,
        "limits": (100, 140, 160, 200, 300, 400, 500, 600, 700, 800, 1_000),
        "limit": 300,
        "arms": (10, 20, 30, 50, 80, 120),
        "runs": 100,
    },
    "bernoulli": {
        "n_arms": 50,
        "limits": (4_000, 5_000, 6_000, 8_000, 12_500, 15_000, 20_000, 25_000, 30_000),
        "limit": 5_000,
        "arms": (5, 10, 20, 35, 50),
        "runs": 100,
    },
}
# The caption of Figure 4.8 has means of 0.7 and 0.4, the text 0.4 and 0.1. The program of the
# chapter begins with W(0) = 0.05 α, where the text leaves it open.
TEXT, LITTLE = "bernoulli, means of the text", "gaussian, W(0) = 0.05 α"
PARTS[TEXT] = PARTS["bernoulli"]
PARTS[LITTLE] = PARTS["gaussian"]
INITIAL_WEALTH = {LITTLE: 0.05}  # as a share of α; a half elsewhere
N_EXPERIMENTS = {"gaussian": 500, "bernoulli": 50, TEXT: 50, LITTLE: 500}
BEST_AND_SECOND = {
    "gaussian": (8.0, 5.0),
    "bernoulli": (0.7, 0.4),
    TEXT: (0.4, 0.1),
    LITTLE: (8.0, 5.0),
}
N_CONTROLS = 10
_QUICK: dict[str, dict[str, Any]] = {
    "gaussian": {"n_arms": 10, "limits": (20, 60, 200, 600), "arms": (5, 10), "runs": 4},
    "bernoulli": {"n_arms": 5, "limits": (100, 1_000, 5_000), "arms": (3, 5), "runs": 3},
}
_QUICK[TEXT], _QUICK[LITTLE] = _QUICK["bernoulli"], _QUICK["gaussian"]
_QUICK_EXPERIMENTS = 10


def _n_experiments(part: str, options: Options) -> int:
    return _QUICK_EXPERIMENTS if options.quick else N_EXPERIMENTS[part]


def _notes(options: Options) -> tuple[str, ...]:
    described = {
        "gaussian": "best mean {:g}, the others uniform in [0, {:g}], variance 1.",
        "bernoulli": "{:g} and [0, {:g}] (caption of Figure 4.8).",
        TEXT: "{:g} and [0, {:g}].",
    }
    sizes = {part: _n_experiments(part, options) for part in described}
    means = {part: text.format(*BEST_AND_SECOND[part]) for part, text in described.items()}
    return (
        *NOTES,
        " ".join(f"{part}: {sizes[part]} experiments, {means[part]}" for part in described),
        "The control is the best arm, or with an effect one of the "
        f"{N_CONTROLS} best of the others.",
    )


def rows(part: str, options: Options) -> Iterator[Row]:
    """Both panels of the figure."""
    import numpy as np

    settings = {**PARTS[part], **(_QUICK[part] if options.quick else {})}
    n = _n_experiments(part, options)

    def draws(n_arms: int) -> list[Experiments]:
        rng = np.random.default_rng((options.seed, n_arms))
        arms = one_best(n, n_arms, *BEST_AND_SECOND[part], rng)
        return [with_controls(arms, N_CONTROLS, rng)]

    comparison = Comparison(
        rewards=part,
        curves=_curves(part),
        draws=draws,
        initial_wealth=INITIAL_WEALTH.get(part, 0.5),
        **settings,
    )
    return comparison.rows(options)


def _curves(part: str) -> dict[str, dict[str, Any]]:
    from labelwood.experiments.best_arm import Bernoulli, SubGaussian

    reward = SubGaussian() if part.startswith("gaussian") else Bernoulli()
    return {
        "MAB-FDR": {"policy": "best_arm", "reward": reward},
        "AB-FDR": {"policy": "uniform", "reward": reward},
    }


STUDY = Study(
    name="mab-power",
    title="Best-arm discoveries and samples of adaptive and uniform sampling, with LORD",
    parts=dict.fromkeys(PARTS, ()),
    columns=COLUMNS,
    rows=rows,
    draw=draw_figures,
    notes=_notes,
)
