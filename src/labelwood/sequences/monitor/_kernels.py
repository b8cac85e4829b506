"""One step of the monitor: standardize an observation, filter, and decide.

The state of a figure is three arrays, so that a step allocates nothing:

- `probabilities` (4, 1 + J): row 0 the probability of the healthy state and of J degraded ones
  (a shift of the mean by `shifts[j]` standard deviations); rows 1 and 2 the first two moments of
  the monitor's steps since the degraded state was entered; row 3 the evidence of the e-process.
  Position (1, 0) has P(degraded), as the kernel summed it;
- `baseline` (17,): what is known of the healthy stream (positions below);
- `recent`: the last observations, which are learned from only when they have proved healthy.
"""

import math

import numpy as np
from numpy.typing import NDArray

from labelwood.core._kernels import next_normal
from labelwood.core.kernel import exact_kernel
from labelwood.core.types import AnyArray, DoubleArray

# These are the positions in `baseline`.
N = 0  # observations learned from
OFFSET = 1  # subtracted first, so that sums stay exact for large means
INTERCEPT, SLOPE = 2, 3  # of the regression on the observation before
P00, P01, P11 = 4, 5, 6  # inverse of its normal matrix
RSS = 7  # its residual sum of squares
LAST = 8  # the observation before
LEARNED = 9  # the last observation that was learned from
STEP = 10  # observations so far
WAITING = 11  # observations in `recent`
ALARM = 12  # 1 while the figure is in alarm
TRIAL = 13  # steps of the e-process
SUM, COUNT = 14, 15  # of the observations in the block that is being filled
SEEN = 16  # step of the monitor at which the last block was full
SIZE = 17

# These are the positions in `settings`.
HAZARD = 0  # probability, at each step, that a healthy stream degrades
RETURN = 1  # probability, at each step, that a degraded stream recovers
LEARN = 2  # 1 if the baseline is learned from the stream, 0 if it is given
REGRESS = 3  # 1 if an observation is predicted from the one before
LEVEL = 4  # P(degraded) from which there is an alarm
RELEASE = 5  # P(degraded) below which an alarm ends
ALPHA = 6  # probability of a false alarm, ever, of the e-process; 0 if P(degraded) decides
MIN_BASELINE = 7  # observations (blocks) that are learned before the first decision
BLOCK = 8  # observations that are averaged into one
N_SETTINGS = 9

N_ROWS = 4
_LARGE = 1e250  # where evidence stops to grow
_DIFFUSE = 1e8  # variance of the regression's coefficients before any observation
_MIN_FREEDOM = 3.0  # degrees of freedom below which the scale is not known


@exact_kernel
def normal_score(t: float, freedom: float) -> float:
    """The normal deviate of the same probability as `t` of Student's distribution.

    Wallace (1959), eq. (4): an error below 0.002 for 25 or more degrees of freedom.
    """
    z = math.sqrt(freedom * math.log1p(t * t / freedom))
    z *= (8.0 * freedom + 1.0) / (8.0 * freedom + 3.0)
    return z if t >= 0.0 else -z


@exact_kernel
def learn(baseline: DoubleArray, y: float, before: float, regress: bool) -> None:
    """Recursive least squares of y on (1, before), or on 1 alone."""
    x = before if regress else 0.0
    # By Sherman–Morrison the inverse P of the normal matrix loses a rank-one term; the gain is P x
    # / f, with f = 1 + xᵀP x.
    p0 = baseline[P00] + baseline[P01] * x
    p1 = baseline[P01] + baseline[P11] * x
    f = 1.0 + p0 + p1 * x
    error = y - baseline[INTERCEPT] - baseline[SLOPE] * x
    baseline[INTERCEPT] += p0 / f * error
    baseline[SLOPE] += p1 / f * error
    baseline[P00] -= p0 * p0 / f
    baseline[P01] -= p0 * p1 / f
    baseline[P11] -= p1 * p1 / f
    baseline[N] += 1.0
    used = 2.0 if regress else 1.0
    if baseline[N] > used:  # the first ones determine the coefficients
        # This adds the squared recursive residual: the sum of all is the residual sum of squares of
        # the regression (Brown, Durbin & Evans 1975).
        baseline[RSS] += error * error / f


@exact_kernel
def standardize(baseline: DoubleArray, y: float, settings: DoubleArray) -> float:
    """The normal score of y given the observation before and what was learned (NaN: nothing yet).

    With a learned baseline it is the recursive residual, turned from Student's distribution to
    the normal (Hawkins 1987): healthy scores are standard normal whatever the true parameters.
    """
    x = baseline[LAST] if settings[REGRESS] > 0.0 else 0.0
    error = y - baseline[INTERCEPT] - baseline[SLOPE] * x
    if settings[LEARN] == 0.0:
        return error / math.sqrt(baseline[RSS])
    freedom = baseline[N] - (2.0 if settings[REGRESS] > 0.0 else 1.0)
    if freedom < _MIN_FREEDOM or baseline[RSS] <= 0.0:
        return np.nan
    p0 = baseline[P00] + baseline[P01] * x
    p1 = baseline[P01] + baseline[P11] * x
    f = 1.0 + p0 + p1 * x
    return normal_score(error / math.sqrt(f * baseline[RSS] / freedom), freedom)


@exact_kernel
def filter_step(
    probabilities: DoubleArray, u: float, shifts: DoubleArray, weights: DoubleArray,
    settings: DoubleArray, elapsed: float,
) -> float:  # fmt: skip
    """One forward step of the filter; returns P(degraded).

    A healthy stream degrades to shift j with probability hazard · weights[j], and a degraded one
    recovers with probability `return`. The monitor has made `elapsed` steps since the last one of
    this filter, more than one when a figure was left out or is averaged in blocks.
    """
    hazard, back = settings[HAZARD], settings[RETURN]
    # What is degraded now became so at one of these steps, each as probable as the others: the
    # moments are those of the uniform distribution on 0 … elapsed − 1.
    fresh = 0.5 * (elapsed - 1.0)
    fresh_square = (elapsed - 1.0) * (2.0 * elapsed - 1.0) / 6.0
    healthy = probabilities[0, 0]
    stay = healthy * (1.0 - hazard) + (1.0 - healthy) * back
    total = stay
    for j in range(shifts.size):
        delta = shifts[j]
        old = probabilities[0, j + 1] * (1.0 - back)
        predicted = old + healthy * hazard * weights[j]
        share = old / predicted if predicted > 0.0 else 0.0
        # The age of what was degraded grows by the steps since. The likelihood does not depend on
        # the age, so these moments are exact.
        age = probabilities[1, j + 1]
        grown = probabilities[2, j + 1] + 2.0 * elapsed * age + elapsed * elapsed
        probabilities[2, j + 1] = share * grown + (1.0 - share) * fresh_square
        probabilities[1, j + 1] = share * (age + elapsed) + (1.0 - share) * fresh
        # The likelihood ratio of a shift by δ against none; the healthy state has ratio 1. The cap
        # keeps an outlier from overflowing.
        predicted *= math.exp(min(delta * u - 0.5 * delta * delta, 600.0))
        probabilities[0, j + 1] = predicted
        total += predicted
    inverse = 1.0 / total
    probabilities[0, 0] = stay * inverse
    degraded = 0.0
    for j in range(shifts.size):
        probabilities[0, j + 1] *= inverse
        degraded += probabilities[0, j + 1]
    probabilities[1, 0] = degraded
    return degraded


@exact_kernel
def evidence_step(
    probabilities: DoubleArray, u: float, shifts: DoubleArray, weights: DoubleArray, t: float
) -> float:
    """The e-process Σₖ Σⱼ πₖ wⱼ Π_{i ≥ k} Lⱼ(uᵢ) + Σ_{k > t} πₖ with πₖ = 1/(k(k + 1)).

    A martingale of mean one while the stream is healthy, so it ever reaches 1/α with probability
    at most α (Ville 1939).
    """
    total = 1.0 / (t + 1.0)
    for j in range(shifts.size):
        delta = shifts[j]
        ratio = math.exp(min(delta * u - 0.5 * delta * delta, 600.0))
        value = min((probabilities[3, j + 1] + 1.0 / (t * (t + 1.0))) * ratio, _LARGE)
        probabilities[3, j + 1] = value
        total += weights[j] * value
    return total


@exact_kernel
def decide(
    probabilities: DoubleArray, baseline: DoubleArray, u: float, degraded: float,
    shifts: DoubleArray, weights: DoubleArray, settings: DoubleArray,
) -> None:  # fmt: skip
    """Alarm at the level (or by the e-process), release at a lower one."""
    alarm = degraded >= settings[LEVEL]
    if settings[ALPHA] > 0.0:
        baseline[TRIAL] += 1.0
        evidence = evidence_step(probabilities, u, shifts, weights, baseline[TRIAL])
        alarm = evidence >= 1.0 / settings[ALPHA]
    if baseline[ALARM] == 0.0:
        if alarm:
            baseline[ALARM] = 1.0
    elif degraded < settings[RELEASE]:
        baseline[ALARM] = 0.0
        baseline[TRIAL] = 0.0
        probabilities[3, :] = 0.0


@exact_kernel
def learn_later(
    baseline: DoubleArray, recent: DoubleArray, y: float, before: float, settings: DoubleArray
) -> None:
    """Learn from the observation that is `recent.size` steps old, unless there is an alarm.

    Without that delay a small shift would be learned as the new baseline before it is detected.
    """
    regress = settings[REGRESS] > 0.0
    if baseline[ALARM] > 0.0:
        baseline[WAITING] = 0.0  # what waited was probably degraded already
        baseline[LEARNED] = y
        return
    size = recent.size
    if size == 0 or baseline[N] < settings[MIN_BASELINE]:
        if baseline[STEP] > 1.0 or not regress:
            learn(baseline, y, before, regress)
        baseline[LEARNED] = y
        return
    waiting = int(baseline[WAITING])
    if waiting == size:
        learn(baseline, recent[0], baseline[LEARNED], regress)
        baseline[LEARNED] = recent[0]
        for i in range(size - 1):
            recent[i] = recent[i + 1]
        waiting -= 1
    recent[waiting] = y
    baseline[WAITING] = waiting + 1.0


@exact_kernel
def advance(
    probabilities: DoubleArray, baseline: DoubleArray, recent: DoubleArray, raw: float,
    shifts: DoubleArray, weights: DoubleArray, settings: DoubleArray, elapsed: float,
) -> float:  # fmt: skip
    """Filter one observation; P(degraded), which is 0 until enough observations are learned."""
    learning = settings[LEARN] > 0.0
    first = baseline[STEP] == 0.0
    if first and learning:
        baseline[OFFSET] = raw
        baseline[P00] = _DIFFUSE
        baseline[P11] = _DIFFUSE
    y = raw - baseline[OFFSET]
    baseline[STEP] += 1.0
    degraded = 1.0 - probabilities[0, 0]
    if not learning or baseline[N] >= settings[MIN_BASELINE]:
        u = standardize(baseline, y, settings)
        if math.isnan(u):  # a constant baseline, which the caller refuses
            return degraded
        if first and settings[REGRESS] > 0.0:
            # Without an observation before, the stationary distribution is all that is known.
            phi = baseline[SLOPE]
            mean = baseline[INTERCEPT] / (1.0 - phi)
            u = (y - mean) / math.sqrt(baseline[RSS] / (1.0 - phi * phi))
        degraded = filter_step(probabilities, u, shifts, weights, settings, elapsed)
        decide(probabilities, baseline, u, degraded, shifts, weights, settings)
    if learning:
        learn_later(baseline, recent, y, baseline[LAST], settings)
    baseline[LAST] = y
    return degraded


@exact_kernel
def take(
    probabilities: DoubleArray, baseline: DoubleArray, recent: DoubleArray, raw: float,
    step: float, shifts: DoubleArray, weights: DoubleArray, settings: DoubleArray,
) -> float:  # fmt: skip
    """Add the observation at `step` of the monitor to its block, and filter the mean of a full one.

    Returns P(degraded), which changes with full blocks only.
    """
    baseline[SUM] += raw
    baseline[COUNT] += 1.0
    if baseline[COUNT] < settings[BLOCK]:
        return probabilities[1, 0]
    mean = baseline[SUM] / baseline[COUNT]
    elapsed = step - baseline[SEEN]
    baseline[SUM], baseline[COUNT], baseline[SEEN] = 0.0, 0.0, step
    return advance(probabilities, baseline, recent, mean, shifts, weights, settings, elapsed)


@exact_kernel
def change_age(
    probabilities: DoubleArray, baseline: DoubleArray, step: float
) -> tuple[float, float]:
    """Mean and standard deviation of the steps since the change, given that there was one."""
    total, first, second = 0.0, 0.0, 0.0
    for j in range(1, probabilities.shape[1]):
        total += probabilities[0, j]
        first += probabilities[0, j] * probabilities[1, j]
        second += probabilities[0, j] * probabilities[2, j]
    if total <= 0.0:
        return 0.0, 0.0
    mean = first / total
    variance = max(second / total - mean * mean, 0.0)
    return mean + step - baseline[SEEN], math.sqrt(variance)


@exact_kernel
def watch(
    probabilities: DoubleArray, baseline: DoubleArray, recent: DoubleArray, values: DoubleArray,
    step: float, shifts: DoubleArray, weights: DoubleArray, settings: DoubleArray,
    degraded: DoubleArray, ages: DoubleArray, alarms: AnyArray,
) -> None:  # fmt: skip
    """`take` over many observations after `step`: P(degraded), age of the change and alarms."""
    for t in range(values.size):
        step += 1.0
        degraded[t] = take(
            probabilities, baseline, recent, values[t], step, shifts, weights, settings
        )
        alarms[t] = baseline[ALARM] > 0.0
        if alarms[t]:
            ages[0, t], ages[1, t] = change_age(probabilities, baseline, step)


@exact_kernel
def simulate(
    random: NDArray[np.uint64], n_healthy: int, shift: float, phi: float, limit: int,
    probabilities: DoubleArray, baseline: DoubleArray, recent: DoubleArray,
    shifts: DoubleArray, weights: DoubleArray, settings: DoubleArray, reached: DoubleArray,
) -> int:  # fmt: skip
    """Steps of a simulated stream until the alarm; `limit` if there is none.

    The stream has unit variance and autocorrelation `phi`; its mean moves by `shift` after
    `n_healthy` steps, and steps are counted from there. Row 0 of `reached` holds levels in rising
    order, and row 1 receives the first step at which P(degraded) reached each of them.
    """
    x = next_normal(random)
    innovation = math.sqrt(1.0 - phi * phi)
    n_reached, t = 0, 0
    while t < limit + n_healthy:
        t += 1
        raw = x + (shift if t > n_healthy else 0.0)
        degraded = advance(probabilities, baseline, recent, raw, shifts, weights, settings, 1.0)
        if t > n_healthy:
            while n_reached < reached.shape[1] and degraded >= reached[0, n_reached]:
                reached[1, n_reached] = t - n_healthy
                n_reached += 1
            if baseline[ALARM] > 0.0:
                break
        x = phi * x + innovation * next_normal(random)
    return t - n_healthy
