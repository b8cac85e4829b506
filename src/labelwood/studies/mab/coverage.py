"""How often always-valid p-values and intervals of experiments err, by model, bound and policy.

Yang 2018, §4.3: under the null hypothesis a p-value is at most α, at any time ever, with
probability at most α; with probability 1 − δ no interval ever fails.
"""

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from labelwood.studies._result import Row
from labelwood.studies._study import Options, Study

if TYPE_CHECKING:
    from labelwood.experiments.best_arm import RewardModel

LEVEL = 0.1
N_ARMS = 5
N_RUNS, N_SAMPLES = 4_000, 5_000  # of an experiment whose p-value is watched
N_WALKS, N_LOOKS, LONGEST = 1_000, 100, 100_000  # of one arm
N_INTERVAL_RUNS, INTERVAL_SAMPLES, INTERVAL_LOOKS = 200, 2_000, 30
_QUICK = {"runs": 200, "walks": 40, "interval_runs": 8}
_FULL = {"runs": N_RUNS, "walks": N_WALKS, "interval_runs": N_INTERVAL_RUNS}
POLICIES = ("best_arm", "uniform")


def models() -> dict[str, tuple["RewardModel", float]]:
    """The reward models with their bounds, and the mean of all arms."""
    from labelwood.experiments.best_arm import Bernoulli, Bounded, SubGaussian

    return {
        "bernoulli, lil": (Bernoulli(), 0.5),
        "bernoulli, beta": (Bernoulli(bound="beta"), 0.5),
        "bernoulli 5 %, beta": (Bernoulli(bound="beta"), 0.05),
        "bounded, lil": (Bounded(-1, 3), 1.0),
        "bounded, beta": (Bounded(-1, 3, bound="beta"), 1.0),
        "gaussian": (SubGaussian(2.0), 0.0),
        "bernoulli, betting": (Bernoulli(bound="beta", evidence="betting", effect=0.1), 0.5),
        "bernoulli 5 %, betting": (Bernoulli(bound="beta", evidence="betting", effect=0.02), 0.05),
        "bounded, betting": (Bounded(-1, 3, bound="beta", evidence="betting", effect=0.4), 1.0),
        "gaussian, betting": (SubGaussian(2.0, evidence="betting", effect=0.4), 0.0),
        "bernoulli, mixture": (Bernoulli(bound="beta", evidence="mixture", effect=0.1), 0.5),
        "bernoulli 5 %, mixture": (Bernoulli(bound="beta", evidence="mixture", effect=0.02), 0.05),
        "bounded, mixture": (Bounded(-1, 3, bound="beta", evidence="mixture", effect=0.4), 1.0),
        "gaussian, mixture": (SubGaussian(2.0, evidence="mixture", effect=0.4), 0.0),
    }


def rows(part: str, options: Options) -> Iterator[Row]:
    """A row for each reward model, and for each policy where it matters."""
    sizes = _QUICK if options.quick else _FULL
    for name, (model, mean) in models().items():
        if part == "interval of an arm":
            if model.evidence != "bounds":
                continue  # its arms have the bounds of a model above
            failed, n = _walks(model, mean, sizes["walks"], options.seed)
            yield _row(part, name, "", n, failed)
            continue
        for policy in POLICIES:
            if part == "p-value":
                failed, n = _p_values(model, mean, policy, sizes["runs"], options)
            else:
                failed, n = _all_intervals(model, mean, policy, sizes["interval_runs"], options)
            yield _row(part, name, policy, n, failed)


def _row(part: str, name: str, policy: str, n: int, failed: int) -> Row:
    share = failed / n
    error = math.sqrt(share * (1 - share) / n)
    return {
        "what": part,
        "rewards": name,
        "policy": policy,
        "runs": n,
        "may err": LEVEL,
        "erred": share,
        "±": error,
    }


def _p_values(
    model: "RewardModel", mean: float, policy: str, runs: int, options: Options
) -> tuple[int, int]:
    """Experiments in which all arms are equal: how often the p-value is ever at most the level."""
    from labelwood.experiments.simulation import Setting, simulate

    setting = Setting(N_SAMPLES, reward=model, policy=policy)
    # At a level of 1e-9 no run stops early, and the p-value has the longest time to fall.
    done = simulate(
        [mean] * N_ARMS, 1e-9, setting, runs=runs, random_state=options.seed, n_jobs=options.jobs
    )
    return int((done.p_value <= LEVEL).sum()), runs


def _walks(model: "RewardModel", mean: float, n_walks: int, seed: int) -> tuple[int, int]:
    """How often the interval of one arm misses its mean at one of many times, up to 100,000."""
    import numpy as np

    from labelwood.experiments.best_arm.always_valid import arm_interval

    rng = np.random.default_rng(seed)
    times = np.unique(np.geomspace(1, LONGEST, N_LOOKS).astype(np.int64))
    failed = 0
    for _ in range(n_walks):
        totals = _totals(model, mean, np.diff(times, prepend=0), rng)
        for n, total in zip(times.tolist(), totals.tolist(), strict=True):
            low, high = arm_interval(_statistics(model, n, total), LEVEL, reward=model)
            if not low <= mean <= high:
                failed += 1
                break
    return failed, n_walks


def _totals(model: "RewardModel", mean: float, steps: Any, rng: Any) -> Any:
    """Sums of rewards after each of `steps`: Gaussian ones, or of the two ends of the range."""
    if math.isinf(model.low):
        return (steps * mean + model.sigma * rng.standard_normal(steps.size) * steps**0.5).cumsum()
    hits = rng.binomial(steps, (mean - model.low) / (model.high - model.low)).cumsum()
    return steps.cumsum() * model.low + hits * (model.high - model.low)


def _statistics(model: "RewardModel", n: int, total: float) -> Any:
    """Statistics with this count and sum, of rewards that can be."""
    from labelwood.experiments.best_arm import ArmStatistics

    if math.isinf(model.low):
        return ArmStatistics(n, total, total * total / n, total / n, total / n)
    hits = round((total - n * model.low) / (model.high - model.low))
    ends = [model.high] * (hits > 0) + [model.low] * (hits < n)
    squares = hits * model.high**2 + (n - hits) * model.low**2
    return ArmStatistics(n, total, squares, min(ends), max(ends))


def _all_intervals(
    model: "RewardModel", mean: float, policy: str, runs: int, options: Options
) -> tuple[int, int]:
    """Experiments in which some interval, of an arm or a difference, misses at some time."""
    import numpy as np

    seeds = np.random.SeedSequence(options.seed).spawn(runs)
    return sum(_some_interval_fails(model, mean, policy, seed) for seed in seeds), runs


def _some_interval_fails(model: "RewardModel", mean: float, policy: str, seed: Any) -> bool:
    import numpy as np

    from labelwood.experiments.best_arm import BestArmExperiment

    rng = np.random.default_rng(seed)
    experiment = BestArmExperiment(N_ARMS, 1e-9, reward=model, policy=policy)
    looks = set(np.geomspace(N_ARMS, INTERVAL_SAMPLES, INTERVAL_LOOKS).astype(int).tolist())
    while experiment.n_samples < INTERVAL_SAMPLES:
        for arm in experiment.next_arms():
            experiment.record(arm, float(_totals(model, mean, np.ones(1, int), rng)[0]))
            if experiment.n_samples in looks:
                found = experiment.intervals(LEVEL)
                # By inversion the differences have δ for themselves, not together with the arms.
                apart = model.evidence != "bounds"
                arms = apart or all(one.low <= mean <= one.high for one in found.arms)
                if not arms or not all(one.low <= 0 <= one.high for one in found.differences):
                    return True
        experiment.update()
    return False


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """How often each errs, beside how often it may."""
    figure.set_size_inches(7, 0.3 * len(rows) + 1)
    axes = figure.subplots()
    names = [" ".join(filter(None, (row["what"], row["rewards"], row["policy"]))) for row in rows]  # type: ignore[arg-type]
    axes.barh(names, [row["erred"] for row in rows])
    axes.axvline(LEVEL, color="C7")
    axes.invert_yaxis()
    axes.set(xlabel="share of the runs that err at some time")


STUDY = Study(
    name="mab-coverage",
    title="How often p-values and intervals of experiments err at some time",
    parts=dict.fromkeys(("p-value", "interval of an arm", "all intervals"), ()),
    columns={
        "what": "",
        "rewards": "",
        "policy": "",
        "runs": ",d",
        "may err": ".0%",
        "erred": ".2%",
        "±": ".2%",
    },
    rows=rows,
    draw=draw,
    notes=(
        f"p-value: {N_ARMS} equal arms, {N_SAMPLES:,} samples, updated after every round: at most "
        "the level at some time.",
        f"interval of an arm: misses the mean at one of {N_LOOKS} times up to {LONGEST:,} rewards.",
        f"all intervals: those of {N_ARMS} arms and of their differences to the control together, "
        f"at {INTERVAL_LOOKS} times up to {INTERVAL_SAMPLES:,} samples.",
        "±: standard error.",
    ),
)
