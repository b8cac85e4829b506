"""Evidence that one arm's mean exceeds another's, valid at every look: kernels.

Each function has the null hypothesis "mean of the treatment ≤ mean of the control + d" and
returns ln E for a process E with E[E_τ] ≤ 1 at every stopping time τ, whatever arm is pulled
when. So max(E) ≥ 1/α, ever, has probability at most α (Ville 1939).
"""

from math import erfc, exp, inf, lgamma, log, log1p, pi, sqrt

import numpy as np

from labelwood.core.kernel import exact_kernel
from labelwood.core.types import DoubleArray, PointerArray

# These are the positions in `model`, the array as which a reward model enters all kernels of
# experiments: LOW and SPAN are 0 and 1 for rewards without a range, and RATIO is the treatment's
# samples for one of the control.
KIND_OF_BOUND, SIGMA, LOW, SPAN, KIND_OF_EVIDENCE, EFFECT, RATIO, HAS_RANGE = range(8)

BOUNDS, MIXTURE, BETTING = 0.0, 1.0, 2.0  # kinds of evidence
MOST_EVIDENCE = 700.0  # exp(-700) is a float still
# Bets are made on effects of 2^k times the smallest one worth finding, k = -2 … 5, with these
# shares of the capital. They were tuned by simulation on 5 % against 6 %, with effects stated too
# small and too large by a factor of 2.
_MULTIPLES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
_SHARES = (0.10, 0.20, 0.35, 0.15, 0.10, 0.05, 0.03, 0.02)
# This share of the capital bets on the control's mean alone; it only has to rule out means that the
# control's own rewards contradict.
_NUISANCE = 0.05
_CAP = 0.95  # of the largest bet that cannot lose everything
_GRID = 33  # means of the control at which the smallest capital is looked for
_EDGE = 1e-9
_GOLDEN = (sqrt(5.0) - 1) / 2


@exact_kernel
def log_evidence(
    n: float,
    total: float,
    control_n: float,
    control_total: float,
    difference: float,
    known: float,
    model: DoubleArray,
) -> float:
    """Ln E against "treatment ≤ control + difference", or `known` when that is more."""
    if n == 0 or control_n == 0:
        return known
    scale = model[SPAN] if model[HAS_RANGE] > 0 else model[SIGMA]
    low = model[LOW] if model[HAS_RANGE] > 0 else 0.0
    hits, control_hits = (total - n * low) / scale, (control_total - control_n * low) / scale
    if model[HAS_RANGE] > 0:  # sums of rewards at the ends of the range may be rounded beyond them
        hits, control_hits = min(max(hits, 0.0), n), min(max(control_hits, 0.0), control_n)
    d, effect = difference / scale, model[EFFECT] / scale
    if hits / n <= control_hits / control_n + d:
        return known
    if model[KIND_OF_EVIDENCE] == MIXTURE:
        found = _log_mixture(n, hits, control_n, control_hits, d, effect, model)
    else:
        found = _log_betting(n, hits, control_n, control_hits, d, effect, known, model)
    return min(max(found, known), MOST_EVIDENCE)


@exact_kernel
def evidence_at_control(
    n: float,
    total: float,
    control_n: float,
    control_total: float,
    difference: float,
    model: DoubleArray,
) -> float:
    """A cheap upper bound on `log_evidence`: the capital at one mean of the control."""
    if model[KIND_OF_EVIDENCE] == MIXTURE or n == 0 or control_n == 0:
        return log_evidence(n, total, control_n, control_total, difference, 0.0, model)
    scale = model[SPAN] if model[HAS_RANGE] > 0 else model[SIGMA]
    low = model[LOW] if model[HAS_RANGE] > 0 else 0.0
    hits, control_hits = (total - n * low) / scale, (control_total - control_n * low) / scale
    if model[HAS_RANGE] > 0:
        hits, control_hits = min(max(hits, 0.0), n), min(max(control_hits, 0.0), control_n)
    d, effect = difference / scale, model[EFFECT] / scale
    m = _start(control_n, control_hits, d, model)
    return _log_capital(m, n, hits, control_n, control_hits, d, effect, model)


@exact_kernel
def _log_mixture(
    n: float,
    hits: float,
    control_n: float,
    control_hits: float,
    d: float,
    effect: float,
    model: DoubleArray,
) -> float:
    """Half-normal mixture of Gaussian likelihood ratios with the estimated variance.

    Robbins 1970; Howard, Ramdas, McAuliffe and Sekhon 2021, eq. (14), one side; with a plug-in
    variance the guarantee is asymptotic (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas 2024,
    theorem 2.2).
    """
    mean, control_mean = hits / n, control_hits / control_n
    if model[HAS_RANGE] > 0:
        # One success and one failure more keep the variance from being zero at the start.
        p, q = (hits + 1) / (n + 2), (control_hits + 1) / (control_n + 2)
        variance = p * (1 - p) / n + q * (1 - q) / control_n
    else:
        variance = 1 / n + 1 / control_n
    tau = effect * effect
    gap = mean - control_mean - d
    z = gap * effect / sqrt(variance * (variance + tau))
    side = log(erfc(-z / sqrt(2.0)))  # ln 2Φ(z): the prior is on positive effects alone
    return side + 0.5 * log(variance / (variance + tau)) + z * z / 2


@exact_kernel
def _log_betting(
    n: float,
    hits: float,
    control_n: float,
    control_hits: float,
    d: float,
    effect: float,
    known: float,
    model: DoubleArray,
) -> float:
    """The smallest capital over all means m of the control, by a grid and golden section.

    At the true mean the capital is a supermartingale under the null hypothesis, hence the
    smallest one is an e-process. Means beyond the ends of the grid are ruled out: there the
    share that bets on the control alone has more than the capital at the start.
    """
    start = _start(control_n, control_hits, d, model)
    smallest = _log_capital(start, n, hits, control_n, control_hits, d, effect, model)
    if smallest <= known:
        return known
    reach = smallest - log(_NUISANCE)
    low = _edge(control_n, control_hits, reach, -1.0, d, model)
    high = _edge(control_n, control_hits, reach, 1.0, d, model)
    step, place = (high - low) / (_GRID - 1), -1
    for k in range(_GRID):
        value = _log_capital(low + k * step, n, hits, control_n, control_hits, d, effect, model)
        if value < smallest:
            smallest, place = value, k
            if smallest <= known:
                return known
    center = start if place < 0 else low + place * step
    a, b = max(center - step, low), min(center + step, high)
    left, right = b - _GOLDEN * (b - a), a + _GOLDEN * (b - a)
    f_left = _log_capital(left, n, hits, control_n, control_hits, d, effect, model)
    f_right = _log_capital(right, n, hits, control_n, control_hits, d, effect, model)
    # Each step leaves 0.618 of the bracket, so that 24 of them leave about 1e-5 of it.
    for _ in range(24):
        if f_left < f_right:
            b, right, f_right = right, left, f_left
            left = b - _GOLDEN * (b - a)
            f_left = _log_capital(left, n, hits, control_n, control_hits, d, effect, model)
        else:
            a, left, f_left = left, right, f_right
            right = a + _GOLDEN * (b - a)
            f_right = _log_capital(right, n, hits, control_n, control_hits, d, effect, model)
    return min(smallest, f_left, f_right)


@exact_kernel
def _start(control_n: float, control_hits: float, d: float, model: DoubleArray) -> float:
    """A mean that the control may have, near its estimate."""
    if model[HAS_RANGE] == 0:
        return control_hits / control_n
    return min(max((control_hits + 0.5) / (control_n + 1), _EDGE, _EDGE - d), 1 - _EDGE)


@exact_kernel
def _edge(
    control_n: float,
    control_hits: float,
    reach: float,
    side: float,
    d: float,
    model: DoubleArray,
) -> float:
    """Where, on one side, the control's own evidence against the mean is `reach`."""
    if model[HAS_RANGE] == 0:
        square = 2 * (1 + control_n) * (reach + 0.5 * log(1 + control_n))
        return control_hits / control_n + side * sqrt(square) / control_n
    inner, outer = control_hits / control_n, 1.0 if side > 0 else 0.0
    for _ in range(50):
        m = (inner + outer) / 2
        if _log_control(m, control_n, control_hits, model) > reach:
            outer = m
        else:
            inner = m
    # The treatment's mean is at least 0 and at most m + d, so that m is at least -d.
    return min(max(outer, _EDGE, _EDGE - d), 1 - _EDGE)


@exact_kernel
def _log_control(m: float, n: float, hits: float, model: DoubleArray) -> float:
    """Ln of the mixture likelihood ratio of the control against a mean of m.

    Beta(½, ½) for rewards with a range, as in the bound "beta"; standard normal otherwise
    (Robbins 1970; Howard et al. 2021, eqs. (14) and (60)).
    """
    if model[HAS_RANGE] == 0:
        s = hits - n * m
        return s * s / (2 * (1 + n)) - 0.5 * log(1 + n)
    mixture = lgamma(hits + 0.5) + lgamma(n - hits + 0.5) - lgamma(n + 1) - log(pi)
    return mixture - hits * log(m) - (n - hits) * log1p(-m)


@exact_kernel
def _log_capital(
    m: float,
    n: float,
    hits: float,
    control_n: float,
    control_hits: float,
    d: float,
    effect: float,
    model: DoubleArray,
) -> float:
    """Ln of the capital when the control's mean is m and the treatment's at most m + d.

    A reward x of the treatment multiplies a bet by 1 + λ (x - m - d), one of the control by
    1 - λ' (x - m) (Waudby-Smith and Ramdas 2024, §4); rewards inside the range by no less than
    the chord between its ends, as the logarithm is concave. Gaussian rewards multiply by
    exp(λ (x - m - d) - λ²/2). Bets that suit an effect θ are λ = θ / (v (1 + r)) and λ' = rλ,
    v the variance at the null hypothesis and r the treatment's samples for one of the control:
    then n λ = n' λ', so that the capital hardly depends on m.
    """
    ratio = model[RATIO]
    above = m + d
    variance, cap = 1.0, inf
    if model[HAS_RANGE] > 0:
        above = min(max(above, _EDGE), 1.0)
        variance = max((m * (1 - m) + above * (1 - above)) / 2, _EDGE)
        cap = _CAP * min(1 / above, 1 / (ratio * (1 - m)))
    alone = log(_NUISANCE) + _log_control(m, control_n, control_hits, model)
    # Exponentials are summed relative to the largest so far, in one pass, so that none overflows.
    top, total = alone, 1.0
    for j in range(len(_MULTIPLES)):
        bet = min(_MULTIPLES[j] * effect / (variance * (1 + ratio)), cap)
        other = ratio * bet
        if model[HAS_RANGE] > 0:
            value = hits * log1p(bet * (1 - above)) + (n - hits) * log1p(-bet * above)
            value += control_hits * log1p(-other * (1 - m))
            value += (control_n - control_hits) * log1p(other * m)
        else:
            value = bet * (hits - n * above) - n * bet * bet / 2
            value -= other * (control_hits - control_n * m) + control_n * other * other / 2
        value += log(_SHARES[j] * (1 - _NUISANCE))
        if value > top:
            total = total * exp(top - value) + 1
            top = value
        else:
            total += exp(value - top)
    return top + log(total)


@exact_kernel
def experiment_evidence(
    counts: DoubleArray,
    totals: DoubleArray,
    epsilon: float,
    control: int,
    known: float,
    model: DoubleArray,
) -> tuple[float, int]:
    """Ln of the mean of E over the treatments, or `known` when that is more; and the arm to thank.

    If no treatment is more than ε above the control, every E is an e-process, and so is their
    mean. The arm is that of the largest E, or -1 where `known` is not exceeded.
    """
    most = np.full(counts.size, -inf)
    for i in range(counts.size):
        if i != control:
            most[i] = evidence_at_control(
                counts[i], totals[i], counts[control], totals[control], epsilon, model
            )
    if _log_mean(most, control) <= known:
        return known, -1
    for i in range(counts.size):
        if i != control:
            n, total = counts[control], totals[control]
            # Below zero evidence is of no use to any p-value, and costs the search for it.
            most[i] = log_evidence(counts[i], totals[i], n, total, epsilon, -30.0, model)
    found = min(_log_mean(most, control), MOST_EVIDENCE)
    if found <= known:
        return known, -1
    return found, int(np.argmax(most))


@exact_kernel
def _log_mean(values: DoubleArray, left_out: int) -> float:
    """Ln of the mean of the exponentials of all values but one."""
    top = -inf
    for i in range(values.size):
        if i != left_out and values[i] > top:
            top = values[i]
    if top == -inf:
        return top
    total = 0.0
    for i in range(values.size):
        if i != left_out:
            total += exp(values[i] - top)
    return top + log(total / (values.size - 1))


@exact_kernel
def decide_by_evidence(
    counts: DoubleArray,
    totals: DoubleArray,
    delta: float,
    epsilon: float,
    control: int,
    uniform: bool,
    model: DoubleArray,
    chosen: PointerArray,
) -> tuple[int, int, int]:
    """The arm to end with or -1, the arm of the largest mean, and how many arms are `chosen`.

    With K treatments, evidence of K/δ is required. The experiment ends with the control when there
    is so much against every treatment being more than ε better than it; and with the leader when
    there is so much for its being more than ε better than the control, and against every other
    being more than ε better than the leader. A wrong arm has one true null hypothesis among its
    own, so one of K wrong arms is named with probability at most δ. The next round has the leader
    and all arms that are not settled (Even-Dar, Mannor and Mansour 2006), so that their counts
    stay equal, for which the bets are made.
    """
    best = 0
    for i in range(1, counts.size):
        if counts[i] > 0 and (counts[best] == 0 or _mean(counts, totals, i, best) > 0):
            best = i
    if _mean(counts, totals, control, best) == 0:
        best = control
    wanted = log((counts.size - 1) / delta)
    lost = best != control and _beats(counts, totals, best, control, epsilon, wanted, model)
    kept, wins = True, best == control or lost  # is the control good enough; does the leader win
    n = 0
    for i in range(counts.size):
        settled = i == control and lost
        if i != control:
            # Only with a margin can the control be good enough without being the leader.
            held = (best == control or (epsilon > 0 and not lost)) and _beats(
                counts, totals, control, i, -epsilon, wanted, model
            )
            kept = kept and held
            if i != best and best != control:
                behind = _beats(counts, totals, best, i, -epsilon, wanted, model)
                wins = wins and behind
                settled = behind and (lost or held or epsilon == 0)
            elif best == control:
                wins = wins and held
                settled = held
        if uniform or not settled or counts.min() == 0:
            chosen[n] = i
            n += 1
    output = control if kept else best if wins else -1
    return output, best, n


@exact_kernel
def _beats(
    counts: DoubleArray,
    totals: DoubleArray,
    i: int,
    j: int,
    difference: float,
    wanted: float,
    model: DoubleArray,
) -> bool:
    """Whether the evidence for "arm i is above arm j + difference" is more than wanted."""
    found = log_evidence(counts[i], totals[i], counts[j], totals[j], difference, wanted, model)
    return found > wanted


@exact_kernel
def _mean(counts: DoubleArray, totals: DoubleArray, i: int, j: int) -> float:
    """By how much the mean of arm i is above that of arm j; -inf without outcomes of i."""
    if counts[i] == 0:
        return -inf
    return totals[i] / counts[i] - totals[j] / counts[j]
