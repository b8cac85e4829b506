"""Which caption is the funniest, by adaptive and by uniform sampling.

Figure 4.9 of Yang 2018, chapter 4: every contest of the New Yorker is an experiment, every
caption an arm. A reward is 1 if a reader finds the caption funny or somewhat funny; rewards are
drawn with the share of ratings that said so.
"""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelwood.studies._result import Row
from labelwood.studies._study import Options, Study
from labelwood.studies.mab._sequences import (
    COLUMNS,
    NOTES,
    Comparison,
    Experiments,
    draw_figures,
    with_controls,
)

if TYPE_CHECKING:
    from labelwood.core.types import DoubleArray

CONTESTS = tuple(i for i in range(520, 552) if i not in (525, 540))  # which do not exist
FILES = [f"captions/{contest}.csv.xz" for contest in CONTESTS]
LIKED, DISLIKED = ("funny", "somewhat_funny"), "unfunny"
N_CONTROLS = 5
N_DRAWS = 20
SETTINGS: dict[str, Any] = {
    "n_arms": 10,
    "limits": (6_500, 13_000, 26_000, 52_000, 78_000, 104_000, 130_000),
    "limit": 130_000,
    "arms": (10, 20, 40, 80),
    "runs": 5,
    "batch": 10,
    "rates": (0.3, 0.6),
}
_QUICK: dict[str, Any] = {"limits": (500, 2_000), "limit": 2_000, "arms": (5, 10), "runs": 2}
_QUICK_DRAWS = 2


def _settings(options: Options) -> tuple[dict[str, Any], int]:
    """What is run, and how often captions are drawn."""
    return ({**SETTINGS, **_QUICK}, _QUICK_DRAWS) if options.quick else (SETTINGS, N_DRAWS)


def _notes(options: Options) -> tuple[str, ...]:
    settings, n_draws = _settings(options)
    return (
        *NOTES,
        f"{len(CONTESTS)} contests, the captions liked most of each, drawn {n_draws} times: the "
        f"control is the best arm, or with an effect one of the {N_CONTROLS} best of the others.",
        f"{settings['runs']} runs of each drawing; an arm is pulled {settings['batch']} times at "
        "once. ±: between drawings.",
    )


def rows(part: str, options: Options) -> Iterator[Row]:
    """Both panels of the figure."""
    import numpy as np

    settings, n_draws = _settings(options)
    most = max(settings["n_arms"], *settings["arms"])
    liked = np.array([best_captions(options.file(name), most) for name in FILES])

    def draws(n_arms: int) -> list[Experiments]:
        rngs = [np.random.default_rng((options.seed, k)) for k in range(n_draws)]
        return [with_controls(liked[:, :n_arms], N_CONTROLS, rng) for rng in rngs]

    comparison = Comparison(rewards=part, curves=_curves(), draws=draws, **settings)
    return comparison.rows(options)


def best_captions(path: Path, n: int) -> "DoubleArray":
    """For the `n` captions liked most, how large a share of the ratings likes them."""
    import numpy as np

    from labelwood.core.io import read_source

    source = read_source(path)
    text = source.decode(source.data, 1)
    reader = csv.DictReader(io.StringIO(text, newline=""))
    shares = []
    for row in reader:
        try:
            liked = sum(int(row[name]) for name in LIKED)
            ratings = liked + int(row[DISLIKED])
        except (KeyError, TypeError, ValueError):
            names = ", ".join((*LIKED, DISLIKED))
            raise source.error(reader.line_num, f"{names} must be whole numbers") from None
        if ratings > 0:
            shares.append(liked / ratings)
    if len(shares) < n:
        raise source.error(None, f"{n} captions with ratings are needed, {len(shares)} are there")
    return np.sort(shares)[::-1][:n]


def _curves() -> dict[str, dict[str, Any]]:
    from labelwood.experiments.best_arm import Bernoulli

    return {
        "MAB-FDR": {"policy": "best_arm", "reward": Bernoulli()},
        "AB-FDR": {"policy": "uniform", "reward": Bernoulli()},
        "MAB-FDR, bound beta": {"policy": "best_arm", "reward": Bernoulli(bound="beta")},
    }


STUDY = Study(
    name="mab-captions",
    title="Best-arm discoveries and samples in caption contests, adaptive and uniform sampling",
    parts={"captions": FILES},
    columns=COLUMNS,
    rows=rows,
    draw=draw_figures,
    notes=_notes,
)
