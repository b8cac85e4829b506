"""Bounds on an arm's mean that hold at all times, their inversion into p-values, Algorithm 1.

A probability δ enters as `log_inverse_delta` = ln(1/δ), which cannot underflow. A reward model
enters as the array `model`, whose positions are named in `labelwood.experiments.evidence`.
An arm enters as (count, total, growth), where the growth is what its bounds add to ln(1/δ).
The second half is Yang 2018, §4.3: what the bounds decide, and which arms are next.
"""

from math import exp, inf, lgamma, log, pi, sqrt
from typing import TypeAlias

import numpy as np

from labelwood.core.allocation import empty
from labelwood.core.kernel import exact_kernel
from labelwood.core.types import DoubleArray, PointerArray
from labelwood.experiments.evidence import (
    BOUNDS,
    KIND_OF_BOUND,
    KIND_OF_EVIDENCE,
    LOW,
    MOST_EVIDENCE,
    SIGMA,
    SPAN,
    decide_by_evidence,
    experiment_evidence,
    log_evidence,
)

Arm: TypeAlias = tuple[float, float, float]

LIL, BETA = 0.0, 1.0  # kinds of bounds
BEST_ARM, UNIFORM, LUCB, LIL_UCB = 0, 1, 2, 3  # the place of each in `assignments.POLICIES`
_LOG_TWO = log(2)
_LOG_TEN = log(10)
_LOG_PI = log(pi)


@exact_kernel
def with_growth(n: float, total: float, model: DoubleArray) -> Arm:
    """An arm with its growth, which both of its bounds share and which does not depend on δ."""
    if n == 0:
        return n, total, 0.0
    if model[KIND_OF_BOUND] == LIL:
        # This is the term 3/2 ln ln(e n) under the root of φ_n, the same for every δ.
        return n, total, 1.5 * log(1 + log(n))
    hits = _hits(n, total, model)
    # The growth is the logarithm of how many times the largest likelihood, at hits/n, is that of
    # the Beta(½, ½) mixture.
    mixture = lgamma(hits + 0.5) + lgamma(n - hits + 0.5) - lgamma(n + 1) - _LOG_PI
    return n, total, -mixture - n * _entropy(hits / n)


@exact_kernel
def _hits(n: float, total: float, model: DoubleArray) -> float:
    """The sum of the rewards, as shares of their range."""
    # Sums of rewards at the ends of the range may be rounded beyond them.
    return min(max((total - n * model[LOW]) / model[SPAN], 0.0), n)


@exact_kernel
def _entropy(share: float) -> float:
    # The limit at both ends is 0, where 0 · ln 0 has no value.
    if share <= 0 or share >= 1:
        return 0.0
    return -share * log(share) - (1 - share) * log(1 - share)


@exact_kernel
def lil_radius(n: float, growth: float, log_inverse_delta: float, sigma: float) -> float:
    """σ √2 φ_n(min(δ, 0.1)): Yang 2018, eqs. (4.3) and (4.4), with the factor 2σ² it lacks."""
    # A δ above 0.1 gets the radius of 0.1, because ln ln(1/δ) falls without bound towards δ = 1.
    x = max(log_inverse_delta, _LOG_TEN)
    return sigma * sqrt(2 * (x + 3 * log(x) + growth) / n)


@exact_kernel
def beta_upper(n: float, hits: float, reach: float) -> float:
    """The largest m in [0, 1] with n kl(hits/n, m) ≤ reach.

    With reach = ln(1/δ) + growth, the Beta(½, ½) mixture of the likelihoods is there 1/δ times
    the likelihood of m. Newton's method from the right, where the function is convex, so that
    every step stays on the safe side. It starts at the smaller of two bounds on the root, from
    kl(s, m) ≥ 2 (m − s)² and from the term in ln(1 − m) alone.
    """
    misses = n - hits
    # n kl(1, m) falls to 0 at m = 1, which is within any reach.
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
        # From the right of a convex function's root all steps go left, but for rounding at the
        # root.
        if following >= at:
            break
        at = following
    return min(at, 1.0)


@exact_kernel
def lower(arm: Arm, log_inverse_delta: float, model: DoubleArray) -> float:
    """Below the mean at all times at once with probability 1 − δ; −∞ without an outcome."""
    n, total, growth = arm
    if n == 0:
        return -inf
    if model[KIND_OF_BOUND] == LIL:
        return total / n - lil_radius(n, growth, log_inverse_delta, model[SIGMA])
    # A lower bound on the share of hits is an upper bound on that of misses, mirrored.
    misses = n - _hits(n, total, model)
    return model[LOW] + model[SPAN] * (1 - beta_upper(n, misses, log_inverse_delta + growth))


@exact_kernel
def upper(arm: Arm, log_inverse_delta: float, model: DoubleArray) -> float:
    """Above the mean at all times at once with probability 1 − δ; ∞ without an outcome."""
    n, total, growth = arm
    if n == 0:
        return inf
    if model[KIND_OF_BOUND] == LIL:
        return total / n + lil_radius(n, growth, log_inverse_delta, model[SIGMA])
    hits = _hits(n, total, model)
    return model[LOW] + model[SPAN] * beta_upper(n, hits, log_inverse_delta + growth)


@exact_kernel
def excess(
    arm: Arm,
    control: Arm,
    n_treatments: int,
    epsilon: float,
    log_inverse_gamma: float,
    model: DoubleArray,
) -> float:
    """LCB_i − UCB_0 − ε at ln(1/γ), the inequality of Yang 2018, eq. (4.5)."""
    # This is a union bound: half of γ is for the control, and the treatments share the other half.
    low = lower(arm, log_inverse_gamma + log(2.0 * n_treatments), model)
    return low - upper(control, log_inverse_gamma + _LOG_TWO, model) - epsilon


@exact_kernel
def log_inverse_p_value(
    arm: Arm,
    control: Arm,
    n_treatments: int,
    epsilon: float,
    known: float,
    model: DoubleArray,
) -> float:
    """ln(1/p) of one treatment, corrected for all K of them, or `known` when that is more.

    The correction is a union bound. For BOUNDS p is that of (4.5), which inverts the bounds: the
    least γ at which they are apart, by false position in a bracket (the Illinois rule). It errs
    upwards, by less than 1e-9 of it.
    """
    if model[KIND_OF_EVIDENCE] != BOUNDS:
        n, total = control[0], control[1]
        # Bonferroni's correction divides E by the number of treatments. `known` is corrected
        # already, so that it is multiplied by their number before it is compared.
        union = log(n_treatments)
        return log_evidence(arm[0], arm[1], n, total, epsilon, known + union, model) - union
    if arm[0] == 0 or control[0] == 0 or arm[1] / arm[0] <= control[1] / control[0] + epsilon:
        return known  # bounds are never on the far side of the means
    low, excess_low = known, excess(arm, control, n_treatments, epsilon, known, model)
    if excess_low <= 0:
        return known
    # A round adds little evidence, so that the search for an upper end begins with a short step.
    step = 1 / 32
    high = min(low + step, MOST_EVIDENCE)
    excess_high = excess(arm, control, n_treatments, epsilon, high, model)
    while excess_high > 0:
        if high >= MOST_EVIDENCE:
            return high
        low, excess_low = high, excess_high
        step *= 2
        high = min(low + step, MOST_EVIDENCE)
        excess_high = excess(arm, control, n_treatments, epsilon, high, model)
    last = 0
    while high - low > 1e-9:
        at = (low * excess_high - high * excess_low) / (excess_high - excess_low)
        # By rounding, false position may name an end of the bracket and would then stand still.
        if not low < at < high:
            at = (low + high) / 2
        value = excess(arm, control, n_treatments, epsilon, at, model)
        if value > 0:
            low, excess_low = at, value
            # An end that stays twice in turn has its value halved, or it would hardly ever move.
            excess_high = excess_high / 2 if last > 0 else excess_high
            last = 1
        else:
            high, excess_high = at, value
            excess_low = excess_low / 2 if last < 0 else excess_low
            last = -1
    return low


@exact_kernel
def log_inverse_deltas(delta: float, n_treatments: int) -> tuple[float, float]:
    """ln(1/δ) for the lower bounds of Algorithm 1, at δ/2K, and for the upper ones, at δ/2."""
    return log(2.0 * n_treatments) - log(delta), _LOG_TWO - log(delta)


@exact_kernel
def arm_at(arms: DoubleArray, i: int) -> Arm:
    """Row `i`, as the kernels of bounds want it."""
    return arms[i, 0], arms[i, 1], arms[i, 2]


@exact_kernel
def update_bounds(
    arms: DoubleArray,
    i: int,
    n: float,
    total: float,
    log_inverse_delta: tuple[float, float],
    model: DoubleArray,
    bounds: DoubleArray,
) -> None:
    """Set arm `i`, and column `i` of `bounds` (mean, LCB, UCB) at its two `log_inverse_deltas`."""
    arm = with_growth(n, total, model)
    arms[i, 0], arms[i, 1], arms[i, 2] = arm
    bounds[0, i] = total / n if n > 0 else -inf
    bounds[1, i] = lower(arm, log_inverse_delta[0], model)
    bounds[2, i] = upper(arm, log_inverse_delta[1], model)


@exact_kernel
def decide(bounds: DoubleArray, epsilon: float, control: int) -> tuple[int, int, int, int]:
    """Step (a): the arm to end with or −1; and h_t, ℓ_t, u_t. Ties go to the first arm."""
    means, low, high = bounds[0], bounds[1], bounds[2]
    best, first, second = 0, 0, -1  # by mean; by upper bound
    for arm in range(1, means.size):
        if means[arm] > means[best]:
            best = arm
        if high[arm] > high[first]:
            first, second = arm, first
        elif second < 0 or high[arm] > high[second]:
            second = arm
    # The two largest upper bounds are enough: whichever arm is left out, the largest among the
    # others is one of them.
    rival = second if first == best else first
    treatment = second if first == control else first
    output = -1
    # To win, a treatment must be more than ε above the control, and no arm more than ε above it.
    if low[control] > high[treatment] - epsilon:
        output = control
    elif low[best] > high[rival] - epsilon and low[best] > high[control] + epsilon:
        output = best
    return output, best, rival, treatment


@exact_kernel
def choose(
    bounds: DoubleArray,
    found: tuple[int, int, int, int],
    epsilon: float,
    control: int,
    policy: int,
    chosen: PointerArray,
) -> int:
    """Step (b): the arms of the next round, into `chosen`; returns how many.

    Every arm must have been pulled. Without ε nothing compares an arm with the control alone, so
    that only what decides on the best arm is pulled; with ε every policy pulls the control too.
    """
    n_arms = bounds.shape[1]
    if policy == UNIFORM:
        for arm in range(n_arms):
            chosen[arm] = arm
        return n_arms
    _, best, rival, treatment = found
    if policy == LIL_UCB:
        best = rival = treatment = _most_hopeful(bounds)
    elif policy == LUCB:
        treatment = best
    n = 0
    wanted = (control, treatment, best, rival)
    for k in range(0 if epsilon > 0 else 2, 4):
        new = True
        for j in range(n):
            new = new and chosen[j] != wanted[k]
        if new:
            chosen[n] = wanted[k]
            n += 1
    return n


@exact_kernel
def _most_hopeful(bounds: DoubleArray) -> int:
    """The arm of the largest mean + (1 + β) radius, with β = 1 (Jamieson et al. 2014, fig. 1).

    The radius is that of the experiment's upper bounds. That it enters twice is what ends the
    experiment: the best arm is pulled on until the bounds of the others lie below its own.
    """
    best = 0
    for arm in range(1, bounds.shape[1]):
        if 2 * bounds[2, arm] - bounds[0, arm] > 2 * bounds[2, best] - bounds[0, best]:
            best = arm
    return best


@exact_kernel
def apply_rule(
    counts: DoubleArray,
    totals: DoubleArray,
    delta: float,
    epsilon: float,
    control: int,
    policy: int,
    known: float,
    model: DoubleArray,
) -> tuple[int, float, int, PointerArray]:
    """The arm to end with or −1; ln(1/p) so far, and the arm that raised it or −1; the next round.

    As long as an arm has no outcome, a round has all arms.
    """
    if model[KIND_OF_EVIDENCE] != BOUNDS:
        chosen = empty(counts.size, np.int64)
        known, source = experiment_evidence(counts, totals, epsilon, control, known, model)
        output, _, n = decide_by_evidence(
            counts, totals, delta, epsilon, control, policy == UNIFORM, model, chosen
        )
        return output, known, source, chosen[:n]
    arms, bounds = empty((counts.size, 3), np.float64), empty((3, counts.size), np.float64)
    log_inverse_delta = log_inverse_deltas(delta, counts.size - 1)
    for i in range(counts.size):
        update_bounds(arms, i, counts[i], totals[i], log_inverse_delta, model, bounds)
    source = -1
    for i in range(counts.size):
        if i != control:
            here, base = arm_at(arms, i), arm_at(arms, control)
            # Each search starts from what is known, so that only an arm that raises it costs more
            # than one comparison.
            risen = log_inverse_p_value(here, base, counts.size - 1, epsilon, known, model)
            if risen > known:
                known, source = risen, i
    found = decide(bounds, epsilon, control)
    chosen = empty(counts.size + 4, np.int64)
    if counts.min() == 0:
        policy = UNIFORM
    n = choose(bounds, found, epsilon, control, policy, chosen)
    return found[0], known, source, chosen[:n]
