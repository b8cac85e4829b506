"""`labelwood experiment simulate`."""

from typing import Annotated, Any

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
    number_list,
    reward_model,
    samples_by_share,
)
from labelwood.core.names import count

MaxSamples = Annotated[
    int,
    typer.Option(
        parser=options.whole(1), metavar="INTEGER", help="End undecided with so many samples."
    ),
]


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
    max_samples: MaxSamples = 100_000,
    runs: Runs = 1000,
    jobs: options.Jobs = -1,
    seed: options.Seed = 0,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Run an experiment many times on drawn rewards."""
    from labelwood.experiments.simulation import Setting
    from labelwood.experiments.simulation import simulate as simulate_experiment

    values = number_list("--means", means)
    with options.remarks(quiet), in_own_options():
        model = reward_model(reward, sigma, ends, bound)
        setting = Setting(max_samples, reward=model, epsilon=epsilon, policy=policy)
        done = simulate_experiment(
            values, level, setting, runs=runs, random_state=seed, n_jobs=jobs
        )
    content = _summary(done, values, level, max_samples)
    if json:
        options.print_json(content)
        return
    typer.echo(f"{count(runs, 'run')}, level {level:g}, policy {policy}")
    _print_summary(content)


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
        "samples": samples_by_share(quantiles),
        "max_samples": max_samples,
    }


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
