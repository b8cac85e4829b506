"""One step of Algorithm 1 (seed 001, §4.3): what the bounds decide, and which arms are next.

Arms are rows of (count, total, growth); models and levels are those of `_bounds_kernels`.
"""

from math import inf, log

import numpy as np

from labelwood.core.kernel import exact_kernel
from labelwood.core.types import DoubleArray, PointerArray
from labelwood.experiments.best_arm._bound_kernels import Arm, described, evidence, lower, upper


@exact_kernel
def levels(delta: float, n_treatments: int) -> tuple[float, float]:
    """ln(1/δ) for the lower bounds of Algorithm 1, at δ/2K, and for the upper ones, at δ/2."""
    return log(2.0 * n_treatments) - log(delta), log(2.0) - log(delta)


@exact_kernel
def arm_at(arms: DoubleArray, i: int) -> Arm:
    """Row `i`, as the kernels of bounds want it."""
    return arms[i, 0], arms[i, 1], arms[i, 2]


@exact_kernel
def renew(
    arms: DoubleArray,
    i: int,
    n: float,
    total: float,
    at: tuple[float, float],
    model: DoubleArray,
    bounds: DoubleArray,
) -> None:
    """Set arm `i`, and its mean, LCB and UCB at the `levels` given, a column of `bounds`."""
    arm = described(n, total, model)
    arms[i, 0], arms[i, 1], arms[i, 2] = arm
    bounds[0, i] = total / n if n > 0 else -inf
    bounds[1, i] = lower(arm, at[0], model)
    bounds[2, i] = upper(arm, at[1], model)


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
    rival = second if first == best else first
    treatment = second if first == control else first
    output = -1
    if low[control] > high[treatment] - epsilon:
        output = control
    elif low[best] > high[rival] - epsilon and low[best] > high[control] + epsilon:
        output = best
    return output, best, rival, treatment


@exact_kernel
def choose(
    n_arms: int,
    found: tuple[int, int, int, int],
    epsilon: float,
    control: int,
    uniform: bool,
    chosen: PointerArray,
) -> int:
    """Step (b): the arms of the next round, into `chosen`; returns how many.

    Every arm must have been pulled.
    """
    if uniform:
        for arm in range(n_arms):
            chosen[arm] = arm
        return n_arms
    n = 0
    _, best, rival, treatment = found
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
def look(
    counts: DoubleArray,
    totals: DoubleArray,
    delta: float,
    epsilon: float,
    control: int,
    uniform: bool,
    known: float,
    model: DoubleArray,
) -> tuple[int, float, int, PointerArray]:
    """The arm to end with or −1; ln(1/p) so far, and the arm that raised it or −1; the next round.

    As long as an arm has no outcome, a round has all arms.
    """
    arms, bounds = np.empty((counts.size, 3)), np.empty((3, counts.size))
    at = levels(delta, counts.size - 1)
    for i in range(counts.size):
        renew(arms, i, counts[i], totals[i], at, model, bounds)
    source = -1
    for i in range(counts.size):
        if i != control:
            here, base = arm_at(arms, i), arm_at(arms, control)
            risen = evidence(here, base, counts.size - 1, epsilon, known, model)
            if risen > known:
                known, source = risen, i
    found = decide(bounds, epsilon, control)
    chosen = np.empty(counts.size + 4, np.int64)
    everything = uniform or counts.min() == 0
    n = choose(counts.size, found, epsilon, control, everything, chosen)
    return found[0], known, source, chosen[:n]
