"""Which arms experiments end with when a margin ε is asked for.

The situation of Figure 4.5 of Yang 2018, chapter 4: some arms are within ε of the best, fewer of
them are more than ε above the control (the set S* of eq. (4.7)), and to end with another is an
error. The guarantee is 1 − 3δ/2 for Algorithm 1 (see docs/research/experiments.md) and 1 − δ for
evidence "betting".
"""

from collections.abc import Iterator, Sequence
from typing import Any

from labelwood.studies._result import Row
from labelwood.studies._study import Options, Study

EPSILON, DELTA, LIMIT = 0.15, 0.1, 400_000
SITUATIONS: dict[str, tuple[float, ...]] = {
    # The control first. Arms 1 to 3 are within ε of the best, arms 1 and 2 ε above the control.
    "figure 4.5": (0.40, 0.62, 0.60, 0.52, 0.35, 0.30),
    "none is better by ε": (0.40, 0.52, 0.50, 0.45, 0.35, 0.30),
}
N_RUNS, BATCH = 400, 20
_QUICK = (5, 500)


def rows(part: str, options: Options) -> Iterator[Row]:
    """A row for each evidence and policy."""
    import numpy as np

    from labelwood.experiments.best_arm import Bernoulli
    from labelwood.experiments.discoveries import best_arms
    from labelwood.experiments.simulation import Setting, simulate

    means = SITUATIONS[part]
    right = best_arms(means, epsilon=EPSILON) or [0]
    models = {
        "bounds, lil": Bernoulli(),
        "bounds, beta": Bernoulli(bound="beta"),
        "betting": Bernoulli(bound="beta", evidence="betting", effect=0.05),
    }
    runs, batch = _QUICK if options.quick else (N_RUNS, BATCH)
    for name, model in models.items():
        for policy in ("best_arm", "uniform"):
            setting = Setting(LIMIT, reward=model, epsilon=EPSILON, policy=policy, batch=batch)
            done = simulate(
                means, DELTA, setting, runs=runs, random_state=options.seed, n_jobs=options.jobs
            )
            ended = done.ended_with
            yield {
                "situation": part,
                "evidence": name,
                "policy": policy,
                "right": float(np.isin(ended, right).mean()),
                "wrong": float(((ended >= 0) & ~np.isin(ended, right)).mean()),
                "undecided": float((ended < 0).mean()),
                "guaranteed": 1 - DELTA * (1.0 if name == "betting" else 1.5),
                "p <= delta": float((done.p_value <= DELTA).mean()),
                "samples": float(np.median(done.n_samples)),
            }


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """Samples by evidence and policy."""
    figure.set_size_inches(7, 0.3 * len(rows) + 1)
    axes = figure.subplots()
    names = [f"{row['situation']}, {row['evidence']}, {row['policy']}" for row in rows]
    axes.barh(names, [row["samples"] for row in rows])
    axes.invert_yaxis()
    axes.set(xlabel="samples, median", xscale="log")


def _notes(options: Options) -> tuple[str, ...]:
    batch = _QUICK[1] if options.quick else BATCH
    return (
        f"ε = {EPSILON}, δ = {DELTA}, Bernoulli rewards, arms pulled {batch} times at once, "
        f"at most {LIMIT:,} samples.",
        "right: ended with an arm of S* (4.7), or with the control where S* is empty; guaranteed: "
        "of those that end. p <= delta: the control is rejected.",
    )


STUDY = Study(
    name="mab-epsilon",
    title="Which arms experiments end with when a margin is asked for, and after how many samples",
    parts=dict.fromkeys(SITUATIONS, ()),
    columns={
        "situation": "",
        "evidence": "",
        "policy": "",
        "right": ".1%",
        "wrong": ".1%",
        "undecided": ".1%",
        "guaranteed": ".1%",
        "p <= delta": ".1%",
        "samples": ",.0f",
    },
    rows=rows,
    draw=draw,
    notes=_notes,
)
