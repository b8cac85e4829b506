"""Does the last iterate do as well as the average? (an open question of Yang 2018, chapter 3)."""

from collections.abc import Iterator, Sequence
from typing import Any

from labelwood.studies._plot import draw_panels
from labelwood.studies._result import Row
from labelwood.studies._study import Options, Study

SIZES = (100, 200, 400, 800)
TRIALS = 40
_QUICK = ((30, 60), 4)
PARTS = {"l2": "squared", "logistic": "logistic"}


def rows(part: str, options: Options) -> Iterator[Row]:
    """Errors of both estimates at (7n)^0.67, at their own theory times and at their best."""
    import numpy as np

    from labelwood.studies.boosting import _simulation as lab

    loss = lab.make_loss(PARTS[part])
    sizes, n_trials = _sizes(options)
    for n in sizes:
        x = lab.design(n, False, options.seed)
        Y = lab.draw_responses(x, PARTS[part], n_trials, [options.seed, n])
        row: Row = {"part": part, "n": n}
        for name, average in (("average", True), ("last", False)):
            known = lab.theory(x, Y, loss, lab.STEP, average=average)
            fixed = int((7 * n) ** (2 / 3))
            times = {"fixed": np.full(n_trials, fixed), "theory": known.times}
            n_steps = max(fixed, int(known.times.max()))
            stopped = lab.run_paths(
                x, Y, loss, lab.STEP, times, known.variance, n_steps, average=average
            )
            for rule in ("fixed", "theory", "discrepancy"):
                squared, _ = lab.errors(x, stopped[rule], loss, False)
                row[f"{name}, {rule}"] = float(squared.mean())
        yield row


def _sizes(options: Options) -> tuple[tuple[int, ...], int]:
    """Numbers of samples, and of trials for each."""
    return _QUICK if options.quick else (SIZES, TRIALS)


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """A panel for each loss: errors of both estimates under each rule."""
    flat: list[Row] = [
        {"part": row["part"], "n": row["n"], "estimate": name, "error": row[name]}
        for row in rows
        for name in row
        if ", " in name
    ]
    draw_panels(figure, flat, panel="part", curve="estimate", x="n", y="error")


def _notes(options: Options) -> tuple[str, ...]:
    _, n_trials = _sizes(options)
    return (
        f"Data of boosting-stopping, {n_trials} trials, fixed design. fixed: both stop at "
        "(7n)^(2/3); theory and discrepancy: each with the constant for it.",
    )


STUDY = Study(
    name="boosting-average",
    title="Mean squared error of the last iterate of kernel boosting and of the average of all",
    parts=dict.fromkeys(PARTS, ()),
    columns={
        "part": "",
        "n": "d",
        **{
            f"{name}, {rule}": ".5f"
            for rule in ("fixed", "theory", "discrepancy")
            for name in ("average", "last")
        },
    },
    rows=rows,
    draw=draw,
    notes=_notes,
)
