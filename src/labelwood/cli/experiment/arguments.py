"""Options that the commands share: what a reward is, the level, and how arms are chosen."""

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelwood.cli import options
from labelwood.cli.source import called, in_options
from labelwood.errors import ParameterError

if TYPE_CHECKING:
    from labelwood.experiments.best_arm import RewardModel


_OPTIONS = {
    "delta": "--level",
    "effect": "--uplift",
    "gap": "--uplift",
    "n_arms": "--arms",
    "ratio": "--split",
    "max_samples": "--max-samples",
    "low": "the low end of --range",
    "high": "the high end of --range",
    "another baseline or gap": "another --baseline or --uplift (1% is 0.01)",
    "The policy ": "--policy ",
    " of Setting goes": " goes",
    "evidence='bounds'": "--bound lil or beta",
    "evidence=": "--bound ",
    "ratio=": "--split ",
    **{
        name: f"--{name}"
        for name in ("baseline", "bound", "epsilon", "evidence", "policy", "runs", "sigma")
    },
}


@contextmanager
def in_own_options() -> Iterator[None]:
    """Errors and warnings of the library within, in the options of these commands."""
    with warnings.catch_warnings(), called(_OPTIONS):
        show = warnings.showwarning

        def show_in_options(
            message: Warning | str, category: type[Warning], *place: Any, **where: Any
        ) -> None:
            show(category(in_options(str(message), _OPTIONS)), category, *place, **where)

        warnings.showwarning = show_in_options
        yield


def _level(value: float) -> float:
    if not 0 < value < 1:
        raise typer.BadParameter(f"a level lies between 0 and 1, not at {value:g}")
    return value


def number_or_percentage(value: str) -> float:
    """A number, or a percentage such as 5%.

    Examples
    --------
    >>> number_or_percentage("5%"), number_or_percentage("2.5")
    (0.05, 2.5)
    """
    text = str(value).strip()
    try:
        number = float(text.removesuffix("%").strip())
    except ValueError:
        raise typer.BadParameter(
            f"must be a number, or a percentage such as 5%, not {value!r}"
        ) from None
    return number / 100 if text.endswith("%") else number


Level = Annotated[
    float,
    typer.Option(
        parser=options.share,
        metavar="SHARE",
        callback=_level,
        help="How often a treatment may be named though none is better: 0.05 or 5%.",
    ),
]
Reward = Annotated[
    str, typer.Option(help="bernoulli (0 or 1), bounded (in --range), or gaussian (--sigma).")
]
Sigma = Annotated[float | None, typer.Option(help="Scale of gaussian rewards; 1 unless given.")]
Range = Annotated[
    str | None, typer.Option("--range", metavar="LOW,HIGH", help="Ends of bounded rewards.")
]
Bound = Annotated[
    str | None,
    typer.Option(
        help="lil, the tighter beta, betting (exact, the tightest) or mixture (asymptotic)."
    ),
]
Epsilon = Annotated[
    float,
    typer.Option(
        parser=number_or_percentage,
        metavar="SHARE",
        help="A winner must beat the control by more than this.",
    ),
]
Policy = Annotated[
    str,
    typer.Option(
        help="best_arm pulls the arms that matter, uniform all of them (A/B/n); lucb++ and lil_ucb "
        "are other rules of the literature, for the bounds lil and beta."
    ),
]
Runs = Annotated[
    int,
    typer.Option(
        parser=options.whole(1), metavar="INTEGER", help="Number of simulated experiments."
    ),
]


_BOUNDS = ("lil", "beta", "betting", "mixture")


def reward_model(
    name: str, sigma: float | None, ends: str | None, bound: str | None
) -> "RewardModel":
    """The reward model; an option that its kind has not is refused, not ignored."""
    from labelwood.experiments.best_arm import Bernoulli, Bounded, SubGaussian

    given = {"--sigma": sigma, "--range": ends, "--bound": bound}
    used = {
        "bernoulli": ("--bound",),
        "bounded": ("--range", "--bound"),
        "gaussian": ("--sigma",),
    }
    if name not in used:
        raise ParameterError(f"--reward must be one of {', '.join(used)}. Got {name!r}.")
    for option, value in given.items():
        if value is not None and option not in used[name]:
            raise ParameterError(f"{option} does not apply to {name} rewards")
    if name == "gaussian":
        return SubGaussian(1.0 if sigma is None else sigma)
    kind = "lil" if bound is None else bound
    if kind not in _BOUNDS:
        raise ParameterError(f"--bound must be one of {', '.join(_BOUNDS)}. Got {kind!r}.")
    how: dict[str, Any] = {"bound": kind}
    if kind in ("betting", "mixture"):
        how = {"bound": "beta", "evidence": kind}
    if name == "bernoulli":
        return Bernoulli(**how)
    numbers = number_list("--range", ends or "")
    if len(numbers) != 2:
        raise ParameterError(f"bounded rewards need --range LOW,HIGH. Got {ends!r}.")
    return Bounded(numbers[0], numbers[1], **how)


def number_list(option: str, text: str) -> list[float]:
    """The numbers of an option, with commas between."""
    try:
        return [number_or_percentage(part) for part in text.split(",") if text]
    except typer.BadParameter:
        raise ParameterError(f"{option} takes numbers with commas between. Got {text!r}.") from None


def samples_by_share(quantiles: dict[float, float]) -> dict[str, int | None]:
    """Numbers of samples by share of the runs; None where the limit was met.

    Examples
    --------
    >>> samples_by_share({0.5: 200.0, 0.9: math.inf})
    {'50 %': 200, '90 %': None}
    """
    return {f"{100 * q:g} %": None if math.isinf(n) else int(n) for q, n in quantiles.items()}
