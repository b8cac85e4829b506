"""Many runs of one experiment: Algorithm 1 or uniform sampling on rewards drawn here.

The arithmetic is that of `BestArmExperiment`, by the same kernels; each run has its own stream.
"""

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from labelwood.core._kernels import next_double, next_normal
from labelwood.core.allocation import empty, zeros
from labelwood.core.kernel import exact_kernel
from labelwood.core.types import DoubleArray, PointerArray
from labelwood.experiments.best_arm import (
    UNIFORM,
    arm_at,
    choose,
    decide,
    log_inverse_deltas,
    log_inverse_p_value,
    update_bounds,
)
from labelwood.experiments.evidence import (
    BOUNDS,
    KIND_OF_EVIDENCE,
    LOW,
    SIGMA,
    SPAN,
    decide_by_evidence,
    experiment_evidence,
)

GAUSSIAN, TWO_POINTS = 0, 1


@exact_kernel
def draw_total(
    state: NDArray[np.uint64], n: int, mean: float, kind: int, model: DoubleArray
) -> float:
    """The sum of `n` rewards: Gaussian of variance σ², or of the two ends of the range."""
    if kind == GAUSSIAN:
        # A sum of n Gaussian rewards is Gaussian itself, so that one draw serves them all.
        return n * mean + sqrt(n) * model[SIGMA] * next_normal(state)
    # With this probability of the upper end, the mean of a reward is `mean`.
    share = (mean - model[LOW]) / model[SPAN]
    hits = 0
    for _ in range(n):
        if next_double(state) < share:
            hits += 1
    return n * model[LOW] + hits * model[SPAN]


@exact_kernel
def _update_evidence(
    known: float,
    arms: DoubleArray,
    pulled: PointerArray,
    epsilon: float,
    control: int,
    model: DoubleArray,
) -> float:
    """ln(1/p) after a round; unless the control was pulled, only pulled arms can have moved it."""
    n_arms = arms.shape[0]
    all_moved = False
    for i in pulled:
        all_moved = all_moved or i == control
    base = arm_at(arms, control)
    for k in range(n_arms if all_moved else pulled.size):
        i = k if all_moved else pulled[k]
        if i != control:
            known = log_inverse_p_value(arm_at(arms, i), base, n_arms - 1, epsilon, known, model)
    return known


@exact_kernel
def _simulate_by_evidence(
    state: NDArray[np.uint64],
    means: DoubleArray,
    delta: float,
    epsilon: float,
    control: int,
    policy: int,
    batch: int,
    max_samples: int,
    kind: int,
    model: DoubleArray,
    counts: DoubleArray,
) -> tuple[int, int, float]:
    """`simulate_run` where the evidence for differences decides instead of bounds."""
    n_arms = means.size
    totals = zeros(n_arms, np.float64)
    counts[:] = 0.0
    chosen = np.arange(n_arms)
    n_chosen, left, known = n_arms, max_samples, 0.0
    while True:
        pulled = 0
        while pulled < n_chosen and left > 0:
            i = chosen[pulled]
            # At the limit a round ends early, and its last arm gets the samples that are left.
            n = min(batch, left)
            totals[i] += draw_total(state, n, means[i], kind, model)
            counts[i] += n
            left -= n
            pulled += 1
        known, _ = experiment_evidence(counts, totals, epsilon, control, known, model)
        output, best, n_chosen = decide_by_evidence(
            counts, totals, delta, epsilon, control, policy == UNIFORM, model, chosen
        )
        # The limit is looked at after the decision, so that the last round can still decide.
        if output >= 0 or left == 0:
            return output, best, known


@exact_kernel
def simulate_run(
    state: NDArray[np.uint64],
    means: DoubleArray,
    delta: float,
    epsilon: float,
    control: int,
    policy: int,
    batch: int,
    max_samples: int,
    kind: int,
    model: DoubleArray,
    counts: DoubleArray,
) -> tuple[int, int, float]:
    """One run: the arm it ends with or −1, the leader by mean, ln(1/p); `counts` is filled."""
    if model[KIND_OF_EVIDENCE] != BOUNDS:
        return _simulate_by_evidence(
            state,
            means,
            delta,
            epsilon,
            control,
            policy,
            batch,
            max_samples,
            kind,
            model,
            counts,
        )
    n_arms = means.size
    # A row of `arms` is (count, total, growth); the rows of `bounds` are the means, the lower and
    # the upper bounds of all arms.
    arms, bounds = empty((n_arms, 3), np.float64), empty((3, n_arms), np.float64)
    chosen = empty(n_arms + 4, np.int64)
    log_inverse_delta = log_inverse_deltas(delta, n_arms - 1)
    for i in range(n_arms):
        chosen[i] = i
        # An arm without a reward has infinite bounds: nothing is decided before all have one.
        update_bounds(arms, i, 0.0, 0.0, log_inverse_delta, model, bounds)
    n_chosen, left, known = n_arms, max_samples, 0.0
    while True:
        pulled = 0
        while pulled < n_chosen and left > 0:
            i = chosen[pulled]
            n = min(batch, left)
            total = arms[i, 1] + draw_total(state, n, means[i], kind, model)
            update_bounds(arms, i, arms[i, 0] + n, total, log_inverse_delta, model, bounds)
            left -= n
            pulled += 1
        known = _update_evidence(known, arms, chosen[:pulled], epsilon, control, model)
        found = decide(bounds, epsilon, control)
        if found[0] >= 0 or left == 0:
            for i in range(n_arms):
                counts[i] = arms[i, 0]
            # Among equal means the control leads, where `decide` takes the first arm.
            leads = bounds[0, control] == bounds[0, found[1]]
            return found[0], control if leads else found[1], known
        n_chosen = choose(bounds, found, epsilon, control, policy, chosen)


@exact_kernel
def simulate_runs(
    states: NDArray[np.uint64],
    means: DoubleArray,
    deltas: DoubleArray,
    epsilon: float,
    control: int,
    policy: int,
    batch: int,
    max_samples: int,
    kind: int,
    model: DoubleArray,
    counts: DoubleArray,
    outcome: PointerArray,
    known: DoubleArray,
) -> None:
    """A run for each row of `states`, at its own δ; rows of `outcome` are (ended with, leader)."""
    for r in range(deltas.size):
        outcome[r, 0], outcome[r, 1], known[r] = simulate_run(
            states[r],
            means,
            deltas[r],
            epsilon,
            control,
            policy,
            batch,
            max_samples,
            kind,
            model,
            counts[r],
        )


@exact_kernel
def draw_uniform(states: NDArray[np.uint64]) -> DoubleArray:
    """A number in [0, 1) from each stream."""
    drawn = empty(states.shape[0], np.float64)
    for r in range(drawn.size):
        drawn[r] = next_double(states[r])
    return drawn
