"""`labelwood experiment analyze | plan | simulate | verify`."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelwood.cli import options

if TYPE_CHECKING:
    from labelwood.experiments.best_arm import RewardModel

experiment = typer.Typer(
    name="experiment",
    help="Plan experiments, analyze their counts, simulate them, and check their ledger.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def _level(value: float) -> float:
    if not 0 < value < 1:
        raise typer.BadParameter("a level lies between 0 and 1")
    return value


Level = Annotated[
    float,
    typer.Option(callback=_level, help="How often a treatment may be named though none is better."),
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
Epsilon = Annotated[float, typer.Option(help="A winner must beat the control by more than this.")]
Policy = Annotated[
    str,
    typer.Option(
        help="best_arm pulls the arms that matter, uniform all of them (A/B/n); lucb++ and lil_ucb "
        "are other rules of the literature, for the bounds lil and beta."
    ),
]
Runs = Annotated[int, typer.Option(min=1, help="Number of simulated experiments.")]


def _share(value: str) -> float:
    """A number, or a percentage such as 5%."""
    text = str(value).strip()
    try:
        number = float(text.removesuffix("%").strip())
    except ValueError:
        raise typer.BadParameter(
            f"a number or a percentage such as 5% is wanted, not {value!r}"
        ) from None
    return number / 100 if text.endswith("%") else number


Evidence = Annotated[
    str,
    typer.Option(help="betting (exact), mixture (asymptotic), or bounds of each arm."),
]


@experiment.command()
def analyze(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="CSV with columns arm, visitors, conversions (, day)."),
    ],
    control: Annotated[
        str | None, typer.Option(help="Name of the control; the first arm unless given.")
    ] = None,
    level: Level = 0.05,
    uplift: Annotated[
        float | None,
        typer.Option(parser=_share, metavar="SHARE", help="Smallest uplift worth finding."),
    ] = None,
    evidence: Evidence = "betting",
    split: Annotated[
        float, typer.Option(help="Visitors of a treatment for one of the control, as planned.")
    ] = 1.0,
    plot: Annotated[
        Path | None, typer.Option(help="Write the differences look by look as SVG.")
    ] = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Tell what counts of visitors and conversions say: verdict, p-value and intervals.

    All of it is valid however often the counts were looked at. Rows of an arm add up; with a
    column day, every day is one look.
    """
    from labelwood.core.io import writing
    from labelwood.experiments.analysis import analyze as analyze_counts
    from labelwood.experiments.analysis import read_counts

    with options.remarks(quiet):
        found = analyze_counts(
            read_counts(file),
            control=control,
            delta=level,
            evidence=evidence,
            effect=uplift,
            ratio=split,
        )
    if plot is not None:
        with writing(plot) as svg:
            svg.write(found.svg().encode("utf-8"))
    if json:
        options.print_json(found.to_dict())
    else:
        typer.echo(str(found))


@experiment.command()
def plan(
    gap: Annotated[
        float,
        typer.Option(
            "--uplift",
            "--gap",
            parser=_share,
            metavar="SHARE",
            help="Smallest uplift worth finding: how much better the best arm is, as 1% or 0.01.",
        ),
    ],
    arms: Annotated[int, typer.Option(help="Number of arms, the control included.")] = 2,
    level: Level = 0.05,
    reward: Reward = "bernoulli",
    sigma: Sigma = None,
    ends: Range = None,
    bound: Bound = None,
    baseline: Annotated[
        float | None,
        typer.Option(
            parser=_share,
            metavar="SHARE",
            help="Mean of the control, as 5% or 0.05; the middle of the range else.",
        ),
    ] = None,
    epsilon: Epsilon = 0.0,
    policy: Policy = "best_arm",
    max_samples: Annotated[
        int | None, typer.Option(help="End undecided with so many samples.")
    ] = None,
    runs: Runs = 200,
    jobs: options.Jobs = -1,
    seed: options.Seed = 0,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Tell how many samples an experiment will need, by simulation.

    With a --baseline and no --bound, all bounds are compared, with a z-test beside them.
    """
    from labelwood.experiments.plan import plan as plan_experiment

    settings: dict[str, Any] = {
        "baseline": baseline,
        "epsilon": epsilon,
        "policy": policy,
        "max_samples": max_samples,
        "runs": runs,
        "random_state": seed,
        "n_jobs": jobs,
    }
    default = "betting" if reward != "gaussian" else None
    compared = bound is None and reward == "bernoulli" and baseline is not None
    with options.remarks(quiet):
        model = _reward(reward, sigma, ends, bound or default)
        found = plan_experiment(arms, gap, level, reward=model, **settings)
        others = _compare(found, gap, level, arms, settings) if compared else {}
    content = {
        "means": list(found.means),
        "level": level,
        "policy": policy,
        "samples": _samples(found.n_samples),
        "found": found.found,
        "wrong": found.wrong,
        "undecided": round(1 - found.found - found.wrong, 9),
        "max_samples": found.max_samples,
        "runs": found.runs,
        "proved": _proved(found.means, level, epsilon, model),
        **others,
    }
    if json:
        options.print_json(content)
        return
    better = f"{100 * gap:g} %" if compared else f"{gap:g}"
    typer.echo(f"{arms} arms, one better by {better}, level {level:g}, policy {policy}")
    _print_plan(content)
    if compared:
        _print_comparison(content)


def _proved(
    means: tuple[float, ...], level: float, epsilon: float, model: "RewardModel"
) -> dict[str, Any]:
    """The bound on the samples of Algorithm 1 that is proved, and how often it holds."""
    from labelwood.experiments.stopping import stopping_bound

    bound = stopping_bound(means, level, epsilon=epsilon, sigma=model.sigma)
    samples = int(bound.samples) if math.isfinite(bound.samples) else None
    return {"samples": samples, "probability": round(bound.probability, 9)}


def _compare(
    found: Any, gap: float, level: float, arms: int, settings: dict[str, Any]
) -> dict[str, Any]:
    """Samples by bound, and a z-test for a fixed number of samples beside them."""
    from labelwood.experiments.plan import fixed_horizon
    from labelwood.experiments.plan import plan as plan_experiment

    names = {"betting": found.n_samples}
    for name in ("mixture", "beta", "lil"):
        model = _reward("bernoulli", None, None, name)
        names[name] = plan_experiment(arms, gap, level, reward=model, **settings).n_samples
    bounds = {name: _samples(samples) for name, samples in names.items()}
    if arms != 2:
        return {"bounds": bounds}
    test = fixed_horizon(
        found.means[0], gap, level, power=0.9, random_state=settings["random_state"]
    )
    return {"bounds": bounds, "z_test": vars(test)}


def _print_comparison(content: dict[str, Any]) -> None:
    words = {
        "betting": "exact, the default",
        "mixture": "valid asymptotically",
        "beta": "exact, bounds of each arm",
        "lil": "exact, bounds of each arm (Yang 2018)",
    }
    typer.echo(f"\n{'valid at every look':<22}{'50 %':>10}{'90 %':>10}")
    for name, samples in content["bounds"].items():
        cells = "".join(
            f"{'over limit' if n is None else format(n, ','):>10}" for n in samples.values()
        )
        typer.echo(f"{name:<22}{cells}  {words[name]}")
    if "z_test" in content:
        test = content["z_test"]
        typer.echo(f"{'z-test, one look':<22}{'':>10}{test['n_samples']:>10,}  valid only then:")
        typer.echo(
            f"  watched {test['looks']} times, it finds a difference between equal arms in "
            f"{100 * test['false_alarms']:.0f} % of the experiments"
        )


def _print_plan(content: dict[str, Any]) -> None:
    limit = f"{content['max_samples']:,}"
    lines = {
        f"{share} of {content['runs']:,} runs need": f"{n:,} samples" if n else f"over {limit}"
        for share, n in content["samples"].items()
    }
    lines["ended with the best arm"] = f"{100 * content['found']:.1f} %"
    lines["ended with another arm"] = f"{100 * content['wrong']:.1f} %"
    lines[f"undecided at {limit}"] = f"{100 * content['undecided']:.1f} %"
    proved = content["proved"]
    if proved["samples"] is not None and proved["probability"] > 0:
        most = f"{proved['samples']:,} samples with probability {proved['probability']:.3g}"
        lines["proved for bound lil"] = f"at most {most}"
    width = max(map(len, lines))
    for name, value in lines.items():
        typer.echo(f"{name:<{width}}  {value}")


@experiment.command()
def simulate(
    means: Annotated[
        str, typer.Option(metavar="M0,M1,…", help="Mean reward of each arm, the control first.")
    ],
    level: Level = 0.05,
    reward: Reward = "bernoulli",
    sigma: Sigma = None,
    ends: Range = None,
    bound: Bound = None,
    epsilon: Epsilon = 0.0,
    policy: Policy = "best_arm",
    max_samples: Annotated[int, typer.Option(help="End undecided with so many samples.")] = 100_000,
    runs: Runs = 1000,
    jobs: options.Jobs = -1,
    seed: options.Seed = 0,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Run an experiment many times on drawn rewards."""
    from labelwood.experiments.simulation import Setting
    from labelwood.experiments.simulation import simulate as simulate_experiment

    setting = Setting(
        max_samples,
        reward=_reward(reward, sigma, ends, bound),
        epsilon=epsilon,
        policy=policy,
    )
    values = _numbers("--means", means)
    with options.remarks(quiet):
        done = simulate_experiment(
            values, level, setting, runs=runs, random_state=seed, n_jobs=jobs
        )
    content = _summary(done, values, level, max_samples)
    if json:
        options.print_json(content)
        return
    typer.echo(f"{runs:,} runs, level {level:g}, policy {policy}")
    _print_summary(content)


def _print_summary(content: dict[str, Any]) -> None:
    typer.echo(f"{'arm':<12}{'mean':>8}{'ended with':>12}{'mean samples':>14}")
    for arm, (mean, ended, samples) in enumerate(map(dict.values, content["arms"])):
        label = f"{arm} (control)" if arm == 0 else str(arm)
        typer.echo(f"{label:<12}{mean:>8g}{100 * ended:>10.1f} %{samples:>14,.0f}")
    typer.echo(f"undecided: {100 * content['undecided']:.1f} %")
    typer.echo(f"control rejected: {100 * content['rejected']:.1f} %")
    for share, n in content["samples"].items():
        need = f"over {content['max_samples']:,}" if n is None else f"at most {n:,}"
        typer.echo(f"{share} of the runs need {need} samples")


@experiment.command()
def verify(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A ledger, as JSON or CSV.")],
    head: Annotated[
        str | None, typer.Option(help="The head that was noted; then every change shows.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Recompute a ledger, and its chain of hashes.

    The exit code is 1 when something differs, and 2 when the file cannot be read.
    """
    from labelwood.experiments.ledger import Ledger

    ledger = Ledger.read(file)
    found = ledger.verify(head)
    if json:
        values = {"file": str(file), "procedure": ledger.procedure, "alpha": ledger.alpha}
        options.print_json({**values, "head": ledger.head, **found.to_dict()})
    else:
        typer.echo(f"{file}: {ledger.procedure} at {ledger.alpha:g}: {found}")
        typer.echo(f"head {ledger.head}")
    if not found:
        raise typer.Exit(1)


def _summary(done: Any, means: list[float], level: float, max_samples: int) -> dict[str, Any]:
    import numpy as np

    needed = np.where(done.ended_with < 0, np.inf, done.n_samples)
    quantiles = {q: float(np.quantile(needed, q, method="higher")) for q in (0.5, 0.9)}
    arms = [
        {
            "mean": mean,
            "ended_with": float(np.mean(done.ended_with == arm)),
            "samples": float(done.counts[:, arm].mean()),
        }
        for arm, mean in enumerate(means)
    ]
    return {
        "arms": arms,
        "undecided": float(np.mean(done.ended_with < 0)),
        "rejected": float(np.mean((done.p_value <= level) & (done.leader != 0))),
        "samples": _samples(quantiles),
        "max_samples": max_samples,
    }


def _samples(quantiles: dict[float, float]) -> dict[str, int | None]:
    """Numbers of samples by share of the runs; None where the limit was met."""
    return {f"{100 * q:g} %": None if math.isinf(n) else int(n) for q, n in quantiles.items()}


def _reward(name: str, sigma: float | None, ends: str | None, bound: str | None) -> "RewardModel":
    """The reward model; an option that its kind has not is refused, not ignored."""
    from labelwood.errors import ParameterError
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
    how: dict[str, Any] = {"bound": kind}
    if kind in ("betting", "mixture"):
        how = {"bound": "beta", "evidence": kind}
    if name == "bernoulli":
        return Bernoulli(**how)
    numbers = _numbers("--range", ends or "")
    if len(numbers) != 2:
        raise ParameterError(f"bounded rewards need --range LOW,HIGH. Got {ends!r}.")
    return Bounded(numbers[0], numbers[1], **how)


def _numbers(option: str, text: str) -> list[float]:
    from labelwood.errors import ParameterError

    try:
        return [float(part) for part in text.split(",") if text]
    except ValueError:
        raise ParameterError(f"{option} takes numbers with commas between. Got {text!r}.") from None
