"""Bounds on an arm's mean that hold at all times at once, and what separates two arms.

A level δ enters as its logarithm, `level` = ln(1/δ), which cannot underflow. A reward model
enters as `model` = [kind of bound, σ, low end, span]; the last two are read by BETA alone.
An arm enters as (count, total, growth), where the growth is what its bounds add to the level.
"""

from math import exp, inf, lgamma, log, pi, sqrt
from typing import TypeAlias

from labelwood.core.kernel import exact_kernel
from labelwood.core.types import DoubleArray

Arm: TypeAlias = tuple[float, float, float]

LIL, BETA = 0.0, 1.0
MOST_EVIDENCE = 700.0  # exp(-700) is a float still
_LOG_TWO = log(2)
_LOG_TEN = log(10)
_LOG_PI = log(pi)


@exact_kernel
def described(n: float, total: float, model: DoubleArray) -> Arm:
    """An arm with its growth, which both of its bounds share and which no level changes."""
    if n == 0:
        return n, total, 0.0
    if model[0] == LIL:
        return n, total, 1.5 * log(1 + log(n))
    hits = _hits(n, total, model)
    mixture = lgamma(hits + 0.5) + lgamma(n - hits + 0.5) - lgamma(n + 1) - _LOG_PI
    return n, total, -mixture - n * _entropy(hits / n)


@exact_kernel
def _hits(n: float, total: float, model: DoubleArray) -> float:
    """The sum of the rewards, as shares of their range."""
    return min(max((total - n * model[2]) / model[3], 0.0), n)


@exact_kernel
def _entropy(share: float) -> float:
    if share <= 0 or share >= 1:
        return 0.0
    return -share * log(share) - (1 - share) * log(1 - share)


@exact_kernel
def lil_radius(n: float, growth: float, level: float, sigma: float) -> float:
    """σ √2 φ_n(min(δ, 0.1)): seed 001, (4.3) and (4.4), with the factor 2σ² that it leaves out."""
    x = max(level, _LOG_TEN)
    return sigma * sqrt(2 * (x + 3 * log(x) + growth) / n)


@exact_kernel
def beta_upper(n: float, hits: float, reach: float) -> float:
    """The largest m in [0, 1] with n kl(hits/n, m) ≤ reach.

    With reach = level + growth, the Beta(½, ½) mixture of the likelihoods is there 1/δ times
    the likelihood of m. Newton's method from the right, where the function is convex, so that
    every step stays on the safe side. It starts at the smaller of two bounds on the root, from
    kl(s, m) ≥ 2 (m − s)² and from the term in ln(1 − m) alone.
    """
    misses = n - hits
    if misses <= 0:
        return 1.0
    share = hits / n
    entropy = _entropy(share)
    at = min(share + sqrt(reach / (2 * n)), 1 - exp(-(reach + n * entropy) / misses))
    for _ in range(100):
        if at >= 1 or at <= share:
            break
        value = -hits * log(at) - misses * log(1 - at) - n * entropy - reach
        following = at - value * at * (1 - at) / (n * (at - share))
        if following >= at:
            break
        at = following
    return min(at, 1.0)


@exact_kernel
def lower(arm: Arm, level: float, model: DoubleArray) -> float:
    """Below the mean at all times at once with probability 1 − δ; −∞ without an outcome."""
    n, total, growth = arm
    if n == 0:
        return -inf
    if model[0] == LIL:
        return total / n - lil_radius(n, growth, level, model[1])
    misses = n - _hits(n, total, model)
    return model[2] + model[3] * (1 - beta_upper(n, misses, level + growth))


@exact_kernel
def upper(arm: Arm, level: float, model: DoubleArray) -> float:
    """Above the mean at all times at once with probability 1 − δ; ∞ without an outcome."""
    n, total, growth = arm
    if n == 0:
        return inf
    if model[0] == LIL:
        return total / n + lil_radius(n, growth, level, model[1])
    return model[2] + model[3] * beta_upper(n, _hits(n, total, model), level + growth)


@exact_kernel
def excess(
    arm: Arm,
    control: Arm,
    n_treatments: int,
    epsilon: float,
    level: float,
    model: DoubleArray,
) -> float:
    """LCB_i − UCB_0 − ε at γ = exp(−level), the inequality of seed 001, (4.5)."""
    low = lower(arm, level + log(2.0 * n_treatments), model)
    return low - upper(control, level + _LOG_TWO, model) - epsilon


@exact_kernel
def evidence(
    arm: Arm,
    control: Arm,
    n_treatments: int,
    epsilon: float,
    known: float,
    model: DoubleArray,
) -> float:
    """ln(1/p) of (4.5), or `known` when that is more.

    By false position in a bracket (the Illinois rule). At the level returned the bounds are
    apart: p errs upwards, by less than 1e-9 of it.
    """
    if arm[0] == 0 or control[0] == 0 or arm[1] / arm[0] <= control[1] / control[0] + epsilon:
        return known  # bounds are never on the far side of the means
    low, above = known, excess(arm, control, n_treatments, epsilon, known, model)
    if above <= 0:
        return known
    step = 1 / 32
    high = min(low + step, MOST_EVIDENCE)
    below = excess(arm, control, n_treatments, epsilon, high, model)
    while below > 0:
        if high >= MOST_EVIDENCE:
            return high
        low, above = high, below
        step *= 2
        high = min(low + step, MOST_EVIDENCE)
        below = excess(arm, control, n_treatments, epsilon, high, model)
    last = 0
    while high - low > 1e-9:
        at = (low * below - high * above) / (below - above)
        if not low < at < high:
            at = (low + high) / 2
        value = excess(arm, control, n_treatments, epsilon, at, model)
        if value > 0:
            low, above = at, value
            below = below / 2 if last > 0 else below
            last = 1
        else:
            high, below = at, value
            above = above / 2 if last < 0 else above
            last = -1
    return low
