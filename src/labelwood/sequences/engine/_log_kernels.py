"""The recursions in log space, for sequences that the scaled ones cannot represent."""

import math

import numpy as np

from labelwood.core.allocation import empty, zeros
from labelwood.core.kernel import exact_kernel
from labelwood.core.types import DoubleArray, PointerArray


@exact_kernel
def log_sum(values: DoubleArray) -> float:
    """Logarithm of Σ exp(values); −inf when all values are −inf."""
    # The largest term is factored out, so that no exponential overflows and at least one is 1.
    largest = values.max()
    if largest == -np.inf:
        return largest
    total = 0.0
    for value in values:
        total += math.exp(value - largest)
    return largest + math.log(total)


@exact_kernel
def log_posteriors(
    log_b: DoubleArray, log_start: DoubleArray, log_transition: DoubleArray,
    gamma: DoubleArray, xi: DoubleArray,
) -> float:  # fmt: skip
    """Forward–backward of one sequence; posteriors into `gamma`, pair sums added to `xi`.

    Returns the log likelihood; −inf (and nothing written) when no path has a positive density.
    """
    n, s = log_b.shape
    alpha, terms = empty((n, s), np.float64), empty(s, np.float64)
    for t in range(n):
        for j in range(s):
            if t == 0:
                alpha[t, j] = log_start[j] + log_b[t, j]
            else:
                for i in range(s):
                    terms[i] = alpha[t - 1, i] + log_transition[i, j]
                alpha[t, j] = log_sum(terms) + log_b[t, j]
    log_likelihood = log_sum(alpha[n - 1])
    if log_likelihood == -np.inf:
        return log_likelihood
    beta, before = zeros(s, np.float64), zeros(s, np.float64)
    for t in range(n - 1, -1, -1):
        for j in range(s):
            gamma[t, j] = math.exp(alpha[t, j] + beta[j] - log_likelihood)
        if t == 0:
            break
        for i in range(s):
            for j in range(s):
                terms[j] = log_transition[i, j] + log_b[t, j] + beta[j]
                # P(z_{t−1} = i, z_t = j | x) is the product of the forward, transition, density and
                # backward terms over the likelihood.
                xi[i, j] += math.exp(alpha[t - 1, i] + terms[j] - log_likelihood)
            before[i] = log_sum(terms)
        for i in range(s):
            beta[i] = before[i]
    return log_likelihood


@exact_kernel
def log_filter(
    log_b: DoubleArray, log_start: DoubleArray, log_transition: DoubleArray, alpha: DoubleArray
) -> float:
    """Filtered probabilities of one sequence into `alpha`; returns the log likelihood."""
    n, s = log_b.shape
    now, terms = empty(s, np.float64), empty(s, np.float64)
    before = empty(s, np.float64)
    for t in range(n):
        for j in range(s):
            if t == 0:
                now[j] = log_start[j] + log_b[t, j]
            else:
                for i in range(s):
                    terms[i] = before[i] + log_transition[i, j]
                now[j] = log_sum(terms) + log_b[t, j]
        length = log_sum(now)
        for j in range(s):
            alpha[t, j] = math.exp(now[j] - length) if length > -np.inf else 0.0
        # The unnormalized logarithms go on: normalizing each step would lose the likelihood.
        for j in range(s):
            before[j] = now[j]
    return log_sum(before)


@exact_kernel
def viterbi(
    log_b: DoubleArray, log_start: DoubleArray, log_transition: DoubleArray, path: PointerArray
) -> float:
    """The most probable path of one sequence into `path`; returns its log probability."""
    n, s = log_b.shape
    back = empty((n, s), np.uint32)
    before, now = empty(s, np.float64), empty(s, np.float64)
    for j in range(s):
        before[j] = log_start[j] + log_b[0, j]
    for t in range(1, n):
        for j in range(s):
            best, origin = -np.inf, 0
            for i in range(s):
                value = before[i] + log_transition[i, j]
                # The comparison is strict: of equally probable paths the one by the first state
                # wins.
                if value > best:
                    best, origin = value, i
            now[j] = best + log_b[t, j]
            back[t, j] = origin
        for j in range(s):
            before[j] = now[j]
    state = int(np.argmax(before))
    best = before[state]
    for t in range(n - 1, -1, -1):
        path[t] = state
        if t > 0:
            state = int(back[t, state])
    return best


@exact_kernel
def sample_path(
    uniforms: DoubleArray,
    cumulative_start: DoubleArray,
    cumulative: DoubleArray,
    path: PointerArray,
) -> None:
    """A path of the chain, one uniform number per step (inverse of the distribution function)."""
    s = cumulative_start.size
    for t in range(uniforms.size):
        row = cumulative_start if t == 0 else cumulative[int(path[t - 1])]
        state = 0
        # The last state is never compared, because a cumulative sum may end below 1 by rounding.
        while state < s - 1 and uniforms[t] >= row[state]:
            state += 1
        path[t] = state
