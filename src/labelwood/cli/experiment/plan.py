"""`labelwood experiment plan`."""

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelwood.cli import options
from labelwood.cli.experiment.arguments import (
    Bound,
    Epsilon,
    Level,
    Policy,
    Range,
    Reward,
    Runs,
    Sigma,
    in_own_options,
    number_or_percentage,
    reward_model,
    samples_by_share,
)
from labelwood.core.names import count

if TYPE_CHECKING:
    from labelwood.experiments.best_arm import RewardModel
    from labelwood.experiments.plan import Plan

Uplift = Annotated[
    float,
    typer.Option(
        "--uplift",
        "--gap",
        parser=number_or_percentage,
        metavar="SHARE",
        help="Smallest uplift worth finding: how much better the best arm is, as 1% or 0.01.",
    ),
]
Arms = Annotated[
    int,
    typer.Option(
        parser=options.whole(2), metavar="INTEGER", help="Number of arms, the control included."
    ),
]
Baseline = Annotated[
    float | None,
    typer.Option(
        parser=number_or_percentage,
        metavar="SHARE",
        help="Mean of the control, as 5% or 0.05; the middle of the range else.",
    ),
]
MaxSamples = Annotated[
    int | None,
    typer.Option(
        parser=options.whole(1), metavar="INTEGER", help="End undecided with so many samples."
    ),
]


def plan(
    gap: Uplift,
    arms: Arms = 2,
    level: Level = 0.05,
    reward: Reward = "bernoulli",
    sigma: Sigma = None,
    ends: Range = None,
    bound: Bound = None,
    baseline: Baseline = None,
    epsilon: Epsilon = 0.0,
    policy: Policy = "best_arm",
    max_samples: MaxSamples = None,
    runs: Runs = 200,
    jobs: options.Jobs = -1,
    seed: options.Seed = 0,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Tell how many samples an experiment will need, by simulation.

    With a --baseline and no --bound, all bounds are compared, with z-tests beside them.
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
    with options.remarks(quiet), in_own_options():
        model = reward_model(reward, sigma, ends, bound or default)
        found = plan_experiment(arms, gap, level, reward=model, **settings)
        content = {"means": list(found.means), "level": level, "policy": policy, **_figures(found)}
        content["proved"] = _proved(found.means, level, epsilon, model)
        if compared:
            content |= _compare(found, gap, level, arms, settings)
    if json:
        options.print_json(content)
        return
    better = f"{100 * gap:g} %" if compared else f"{gap:g}"
    typer.echo(f"{arms} arms, one better by {better}, level {level:g}, policy {policy}")
    _print_plan(content)
    if compared:
        _print_comparison(content)


def _figures(found: "Plan") -> dict[str, Any]:
    """What came of the simulated experiments."""
    return {
        "samples": samples_by_share(found.n_samples),
        "found": found.found,
        "wrong": found.wrong,
        "undecided": round(1 - found.found - found.wrong, 9),
        "max_samples": found.max_samples,
        "runs": found.runs,
    }


def _proved(
    means: tuple[float, ...], level: float, epsilon: float, model: "RewardModel"
) -> dict[str, Any]:
    """The bound on the samples of Algorithm 1 that is proved, and how often it holds."""
    from labelwood.experiments.stopping import stopping_bound

    bound = stopping_bound(means, level, epsilon=epsilon, sigma=model.sigma)
    samples = int(bound.samples) if math.isfinite(bound.samples) else None
    return {"samples": samples, "probability": round(bound.probability, 9)}


def _compare(
    found: "Plan", gap: float, level: float, arms: int, settings: dict[str, Any]
) -> dict[str, Any]:
    """Samples by bound, and z-tests for a fixed number of samples beside them."""
    from labelwood.experiments.plan import fixed_horizon
    from labelwood.experiments.plan import plan as plan_experiment

    names = {"betting": found.n_samples}
    for name in ("mixture", "beta", "lil"):
        model = reward_model("bernoulli", None, None, name)
        names[name] = plan_experiment(arms, gap, level, reward=model, **settings).n_samples
    bounds = {name: samples_by_share(samples) for name, samples in names.items()}
    if arms != 2:
        return {"bounds": bounds}
    how = {"power": 0.9, "random_state": settings["random_state"]}
    both, one = (
        vars(fixed_horizon(found.means[0], gap, level, two_sided=two_sided, **how))
        for two_sided in (True, False)
    )
    return {"bounds": bounds, "z_test": both, "z_test_one_sided": one}


def _print_plan(content: dict[str, Any]) -> None:
    limit = f"{content['max_samples']:,}"
    runs = count(content["runs"], "run")
    lines = {
        f"{share} of {runs} need": f"{n:,} samples" if n else f"over {limit}"
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


def _print_comparison(content: dict[str, Any]) -> None:
    words = {
        "betting": "exact, the default",
        "mixture": "valid asymptotically",
        "beta": "exact, bounds of each arm",
        "lil": "exact, bounds of each arm (Yang 2018)",
    }
    typer.echo(f"\n{'valid at every look, one-sided':<30}{'50 %':>10}{'90 %':>10}")
    for name, samples in content["bounds"].items():
        cells = "".join(
            f"{'over limit' if n is None else format(n, ','):>10}" for n in samples.values()
        )
        typer.echo(f"{name:<30}{cells}  {words[name]}")
    if "z_test" in content:
        both, one = content["z_test"], content["z_test_one_sided"]
        typer.echo(
            f"{'z-test, one-sided':<30}{one['n_samples']:>20,}  like those above, at one look only"
        )
        typer.echo(f"{'z-test, two-sided':<30}{both['n_samples']:>20,}  at one look only")
        typer.echo(f"watched {both['looks']} times, z-tests find a difference of equal arms in")
        typer.echo(f"  {100 * one['false_alarms']:.0f} % one-sided: the treatment seems better")
        typer.echo(f"  {100 * both['false_alarms']:.0f} % two-sided: either arm seems better")
