"""What is proved of the number of rounds after which Algorithm 1 stops: Yang 2018, §4.8."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from labelwood.core import params
from labelwood.core.types import DoubleArray
from labelwood.errors import DataError
from labelwood.experiments.best_arm import DELTA, SubGaussian
from labelwood.experiments.simulation import numbers

_MOST = 2**62


@dataclass(frozen=True)
class StoppingBound:
    """A bound on the stopping time that can be computed, with the probability that it holds.

    Attributes
    ----------
    case : str
        "control" where no treatment is more than ε better (B₁), else "treatment" (B₂).
    rounds : float
        B₁ or B₂; infinite where a gap is zero.
    samples : float
        A round pulls at most four arms (two with ε = 0), and every arm is pulled once before.
    tau : tuple of float
        τ_i of eq. (4.15), the pulls of each arm after which its bounds are narrow enough.
    probability : float
        The bound holds with at least this probability.
    order : float
        Σ of the nearly optimal order of Simchowitz, Jamieson and Recht 2017, without its
        constant; infinite where two arms are best.
    """

    case: str
    rounds: float
    samples: float
    tau: tuple[float, ...]
    probability: float
    order: float


def stopping_bound(
    means: ArrayLike,
    delta: float,
    *,
    epsilon: float = 0.0,
    sigma: float = 1.0,
    control: int = 0,
) -> StoppingBound:
    """After how many rounds Algorithm 1 with the bound "lil" has stopped: B₁ and B₂ of §4.8.

    τ_i(η, ξ) is the smallest n with 2 φ_n(δ/2K) < max(\\|η − μ_i\\|, ξ), with the factor 2σ² in φ
    that is left out in print. The events behind it have two sides, each at δ/2K, so all of them
    hold with probability 1 − (K + 1)δ/K, not 1 − δ.

    B₁ and B₂ take it for granted that every round pulls the control, which it does only for
    ε > 0. For ε = 0 the bound here is Σ τ_i(μ̄, 0), μ̄ halfway between the two best arms: in a
    round that does not stop, the leader or its rival has been pulled fewer than τ_i times, or
    else their bounds lie on either side of μ̄ (the argument of Kalyanakrishnan, Tewari, Auer and
    Stone 2012).

    Parameters
    ----------
    means : array of shape (n_arms,)
    delta, epsilon, control
        As for `BestArmExperiment`.
    sigma : float
        Scale of the rewards' deviations; (high − low)/2 for bounded ones.

    Examples
    --------
    >>> bound = stopping_bound([0.0, 0.0, 1.0], 0.05)
    >>> bound.case, bound.rounds, round(bound.probability, 3)
    ('treatment', 1125.0, 0.925)
    """
    mu = numbers(means)
    if mu.ndim != 1 or mu.size < 2 or not np.isfinite(mu).all():
        raise DataError(
            f"means must hold a finite number for each of at least 2 arms. Got {means!r}."
        )
    name = "stopping_bound"
    params.check_parameter(name, "delta", delta, DELTA)
    params.check_parameter(name, "epsilon", epsilon, params.Real(low=0))
    params.check_parameter(name, "sigma", sigma, params.Real(above=0))
    params.check_parameter(name, "control", control, params.Integer(low=0, high=mu.size - 1))
    k = mu.size - 1
    level = delta / (2 * k)
    best = float(np.delete(mu, control).max())
    case = "treatment" if best > mu[control] + epsilon else "control"
    extra = 0.0
    if epsilon == 0:
        first, second = np.sort(mu)[:-3:-1]
        tau = _taus(np.abs((first + second) / 2 - mu), sigma, level)
        rounds = float(tau.sum())
    elif case == "control":  # B₁
        gaps = np.abs((mu[control] + epsilon + best) / 2 - mu)
        gaps[control] = abs((mu[control] + best - epsilon) / 2 - mu[control])
        tau = _taus(gaps, sigma, level)
        rounds = float(tau.sum())
    else:  # B₂
        star = int(np.argmax(mu))
        middle = (mu[star] + np.delete(mu, star).max()) / 2
        least = min(2 * epsilon / 7, (mu[star] - mu[control] - epsilon) / 5)
        tau = _taus(np.maximum(np.abs(middle - mu), least), sigma, level)
        gap = (mu[star] - epsilon + mu[control]) / 2 - mu[control]
        extra = float(_taus(np.array([gap]), sigma, level)[0])
        rounds = extra + 3 * float(tau.sum())
    return StoppingBound(
        case=case,
        rounds=rounds,
        samples=(4 if epsilon > 0 else 2) * rounds + mu.size,
        tau=tuple(tau.tolist()),
        probability=1 - (k + 1) * delta / k,
        order=_sharper_order(mu, delta, sigma),
    )


def _taus(gaps: DoubleArray, sigma: float, level: float) -> DoubleArray:
    """The smallest n of each gap at which twice the radius is below it."""
    model = SubGaussian(sigma)
    return np.array([_tau(float(gap), model, level) for gap in gaps])


def _tau(gap: float, model: SubGaussian, level: float) -> float:
    # Rounding may leave a gap of 1e-17 between equal means.
    if gap <= 1e-12 * model.sigma:
        return math.inf
    high = 1
    while 2 * model.radius(high, level) >= gap:
        high *= 2
        if high > _MOST:
            return math.inf
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        if 2 * model.radius(middle, level) < gap:
            high = middle
        else:
            low = middle
    return float(high)


def _sharper_order(mu: DoubleArray, delta: float, sigma: float) -> float:
    """Max Δ_j⁻² ln(K ln(Δ_j⁻²)/δ) + Σ Δ_i⁻² ln(ln(Δ_i⁻²)/δ) over all arms but the best."""
    star = int(np.argmax(mu))
    gaps = (mu[star] - np.delete(mu, star)) / sigma
    if gaps.min() <= 0:
        return math.inf
    inverse = gaps**-2
    iterated = np.log(math.e + inverse)
    most = (inverse * np.log(gaps.size * iterated / delta)).max()
    return float(most + inverse @ np.log(iterated / delta))
