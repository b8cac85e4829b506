"""How many samples an experiment will need: by simulation, and what is proved of it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from labelwood.core import params
from labelwood.core.random import RandomState, seed_sequence
from labelwood.core.types import DoubleArray
from labelwood.errors import DataError, ParameterError
from labelwood.experiments.best_arm import (
    DELTA,
    RewardLike,
    RewardModel,
    as_reward_model,
    shown,
)
from labelwood.experiments.simulation import MOST_SAMPLES, Setting, numbers, simulate

_LIMIT = 100  # times the theoretical complexity; the samples are 7 to 26 times it
_ROUNDS = 100  # batches that an average arm gets, about
_LARGEST_RATIO = 1e150  # whose square is finite


def effective_gaps(means: ArrayLike, *, epsilon: float = 0.0, control: int = 0) -> DoubleArray:
    """How far each arm is from changing the outcome: the gaps of Yang 2018, Proposition 2.

    The number of samples grows with the sum of their inverse squares. A gap of zero means that
    the experiment need not end.

    Examples
    --------
    >>> effective_gaps([0.0, 0.5, 1.0]).tolist()
    [1.0, 0.5, 0.5]
    """
    mu = numbers(means)
    if mu.ndim != 1 or mu.size < 2 or not np.isfinite(mu).all():
        raise DataError(
            f"means must hold a finite number for each of at least 2 arms. Got {shown(means)}."
        )
    params.check_parameter("effective_gaps", "epsilon", epsilon, params.Real(low=0))
    arms = params.Integer(low=0, high=mu.size - 1)
    params.check_parameter("effective_gaps", "control", control, arms)
    ahead = np.delete(mu, control).max() - (mu[control] + epsilon)
    if ahead < 0:  # (a): no treatment is better by ε
        gaps = mu[control] + epsilon - mu
        gaps[control] = -ahead
        return gaps
    best = int(np.argmax(mu))
    gaps = mu[best] - mu
    gaps[best] = np.delete(gaps, best).min()
    return np.where(
        np.arange(mu.size) == control,
        np.minimum(ahead, np.maximum(gaps, epsilon)),
        np.maximum(gaps, min(ahead, epsilon)),
    )


def sample_complexity(
    means: ArrayLike,
    delta: float,
    *,
    sigma: float = 1.0,
    epsilon: float = 0.0,
    control: int = 0,
) -> float:
    """Σ (σ/Δ)² ln(K ln(e + (σ/Δ)²) / δ) over the effective gaps Δ: Yang 2018, Proposition 2.

    Samples needed are of this order, up to a constant; infinite where a gap is zero.

    Examples
    --------
    >>> round(sample_complexity([0.0, 0.0, 1.0], 0.05), 1)
    11.9
    """
    params.check_parameter("sample_complexity", "delta", delta, DELTA)
    params.check_parameter("sample_complexity", "sigma", sigma, params.Real(low=0))
    gaps = effective_gaps(means, epsilon=epsilon, control=control)
    if gaps.min() <= 0 or sigma / gaps.min() > _LARGEST_RATIO:
        return math.inf
    inverse = (sigma / gaps) ** 2
    return float(inverse @ np.log((gaps.size - 1) * np.log(math.e + inverse) / delta))


_CONSTRAINTS: params.Constraints = {
    "n_arms": params.Integer(low=2),
    "delta": DELTA,
    "epsilon": params.Real(low=0),
    "baseline": (params.Real(), None),
}


@dataclass(frozen=True)
class Plan:
    """What simulated runs of an experiment needed."""

    means: tuple[float, ...]
    """The arms of the simulation; the last one is best."""
    n_samples: dict[float, float]
    """Quantiles of the number of samples; infinite where more runs than that met the limit."""
    found: float
    """The share of runs that ended with the best arm."""
    wrong: float
    """The share that ended with another; the rest met the limit."""
    max_samples: int
    runs: int


def plan(
    n_arms: int,
    gap: float,
    delta: float,
    *,
    reward: RewardLike = "bernoulli",
    baseline: float | None = None,
    epsilon: float = 0.0,
    policy: str = "best_arm",
    max_samples: int | None = None,
    quantiles: Sequence[float] = (0.5, 0.9),
    runs: int = 200,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> Plan:
    """How many samples are needed for so many arms, a gap and a level.

    One treatment is better than the control by `gap`, and all others equal the control. Arms
    are pulled in batches of about a hundredth of what each needs, which costs a few per cent at
    most.

    Parameters
    ----------
    n_arms : int
        Treatments and control.
    gap : float
        By how much the best arm is better; more than `epsilon`.
    delta : float
        The level δ.
    reward : "bernoulli", "gaussian" or RewardModel
        Evidence that is tuned by an effect takes `gap` for it unless the model states one.
    baseline : float, optional
        The mean of the control. The middle of the range unless given, where rewards vary most.
    epsilon, policy, max_samples
        As for `BestArmExperiment`; the limit is far beyond what theory expects unless given.
    quantiles : sequence of float
    runs : int
    random_state : int, SeedSequence, Generator or None
    n_jobs : int, optional

    Examples
    --------
    >>> from labelwood.experiments.best_arm.arms import Bernoulli
    >>> for bound in ("lil", "beta"):
    ...     found = plan(3, 0.1, 0.05, reward=Bernoulli(bound=bound), random_state=0)
    ...     print(bound, round(found.n_samples[0.5], -2), found.wrong)
    lil 6300.0 0.0
    beta 3900.0 0.0
    """
    model = as_reward_model("plan", reward)
    if model.evidence != "bounds" and model.effect is None:
        params.check_parameter("plan", "gap", gap, params.Real(above=0))
        model = model.with_evidence(model.evidence, float(gap))
    for (name, constraint), value in zip(
        _CONSTRAINTS.items(), (n_arms, delta, epsilon, baseline), strict=True
    ):
        params.check_parameter("plan", name, value, constraint)
    for q in quantiles:
        params.check_parameter("plan", "quantiles", q, params.Real(low=0, high=1))
    params.check_parameter("plan", "gap", gap, params.Real(above=float(epsilon)))
    means = _means(n_arms, gap, baseline, model)
    expected = sample_complexity(means, delta, sigma=model.sigma, epsilon=epsilon)
    if _LIMIT * expected > MOST_SAMPLES:
        raise ParameterError(f"a gap of {gap:g} needs more samples than can be simulated")
    limit = math.ceil(_LIMIT * expected) if max_samples is None else max_samples
    batch = max(1, int(expected * _relative_variance(means, model) / (n_arms * _ROUNDS)))
    setting = Setting(limit, reward=model, epsilon=epsilon, policy=policy, batch=batch)
    done = simulate(means, delta, setting, runs=runs, random_state=random_state, n_jobs=n_jobs)
    ended = done.ended_with
    n = np.where(ended < 0, np.inf, done.n_samples)
    return Plan(
        means=tuple(means.tolist()),
        n_samples={q: float(np.quantile(n, q, method="higher")) for q in quantiles},
        found=float(np.mean(ended == n_arms - 1)),
        wrong=float(np.mean((ended >= 0) & (ended != n_arms - 1))),
        max_samples=limit,
        runs=runs,
    )


def _relative_variance(means: DoubleArray, model: RewardModel) -> float:
    """The rewards' variance over σ², when the bound makes use of it being smaller."""
    if (model.bound != "beta" and model.evidence == "bounds") or not math.isfinite(model.low):
        return 1.0
    variances = (means - model.low) * (model.high - means)
    return float((variances[0] + variances[-1]) / 2 / model.sigma**2)


def _means(n_arms: int, gap: float, baseline: float | None, model: RewardModel) -> DoubleArray:
    middle = (model.low + model.high) / 2 if math.isfinite(model.low) else 0.0
    means = np.full(n_arms, middle if baseline is None else float(baseline))
    means[-1] += gap
    if not model.low <= means[0] <= means[-1] <= model.high:
        raise ParameterError(
            f"a control of mean {means[0]:g} and a gap of {gap:g} leave the range of the rewards, "
            f"[{model.low:g}, {model.high:g}]; give another baseline or gap."
        )
    return means


@dataclass(frozen=True)
class FixedHorizon:
    """What a z-test of two proportions needs, and what it risks when it is watched."""

    n_samples: int
    """Of both arms together, for the power asked, if nobody looks before."""
    power: float
    looks: int
    false_alarms: float
    """How often it is significant at one of the looks though the arms are equal, simulated.

    Of a two-sided test these are both sides, in either of which an arm seems to be better.
    """
    two_sided: bool = True


def fixed_horizon(
    baseline: float,
    gap: float,
    delta: float,
    *,
    power: float = 0.9,
    looks: int = 20,
    runs: int = 4000,
    random_state: RandomState = None,
    two_sided: bool = True,
) -> FixedHorizon:
    """The z-test of two proportions at level δ, and the price of peeking at it.

    The number of samples is the textbook's, with the variances of both arms. For the risk, two
    arms of rate `baseline` are drawn and tested `looks` times at equal distances. Always-valid
    p-values are one-sided, as is the test with ``two_sided=False``: is the treatment better?

    Examples
    --------
    >>> test = fixed_horizon(0.05, 0.01, 0.05, random_state=0)
    >>> test.n_samples, 0.2 < test.false_alarms < 0.3
    (21836, True)
    >>> test = fixed_horizon(0.05, 0.01, 0.05, random_state=0, two_sided=False)
    >>> test.n_samples, 0.15 < test.false_alarms < 0.25
    (17796, True)
    """
    from scipy.stats import norm

    name = "fixed_horizon"
    params.check_parameter(name, "baseline", baseline, params.Real(above=0, below=1))
    params.check_parameter(name, "gap", gap, params.Real(above=0, below=1 - float(baseline)))
    params.check_parameter(name, "delta", delta, DELTA)
    params.check_parameter(name, "power", power, params.Real(above=0, below=1))
    params.check_parameter(name, "looks", looks, params.Integer(low=1))
    params.check_parameter(name, "runs", runs, params.Integer(low=1))
    params.check_parameter(name, "two_sided", two_sided, params.Boolean())
    rate = baseline + gap
    variance = baseline * (1 - baseline) + rate * (1 - rate)
    z = float(norm.isf(delta / 2 if two_sided else delta))
    n = math.ceil((z + float(norm.ppf(power))) ** 2 * variance / gap**2)
    rng = np.random.default_rng(seed_sequence(random_state))
    each = max(1, n // looks)
    hits = np.cumsum(rng.binomial(each, baseline, (2, runs, looks)), axis=2)
    pulled = each * np.arange(1, looks + 1)
    pooled = hits.sum(axis=0) / (2 * pulled)
    deviation = np.sqrt(np.maximum(pooled * (1 - pooled), 1e-300) * 2 / pulled)
    ahead = hits[1] - hits[0]
    alarms = (np.abs(ahead) if two_sided else ahead) / pulled > z * deviation
    return FixedHorizon(2 * n, power, looks, float(alarms.any(axis=1).mean()), two_sided)
