"""Intervals for a mean, or a ratio of two means, over independent samples.

All of them assume that the samples are independent draws of one kind and that what is
measured on each was fixed beforehand: the predictions must not have seen the test labels,
nor may the model have been chosen by them. A mean is a ratio with denominator one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from labelwood.core.parallel import blocks
from labelwood.core.params import RANDOM_STATE, Integer, Real, check_parameter
from labelwood.core.random import seed_sequence
from labelwood.core.types import DoubleArray
from labelwood.errors import DataError

_FLOATS_AT_ONCE = 2**22


class Interval(NamedTuple):
    """From `low` to `high`, both included."""

    low: float
    high: float


def concentration_radius(rho: float, L_bar: float, n: int, delta: float) -> float:
    """Half the width of the interval ρ L̄ √(ln(2/δ) / 2n) for losses with missing labels.

    Theorems 4.3 and 4.4 in the supplement of Jain, Prabhu and Varma, "Extreme Multi-label
    Loss Functions for Recommendation, Tagging, Ranking & Other Missing Label Applications",
    KDD 2016.

    Parameters
    ----------
    rho : float
        The largest |loss of one label| / propensity over all sample–label pairs that
        *could* be observed; over the observed ones alone the interval does not hold.
    L_bar : float
        Root mean square over the samples of L*_i, the number of labels that may be
        relevant to sample i.
    n : int
        The number of samples.
    delta : float
        The interval fails with at most this probability.

    Notes
    -----
    The theorem takes samples and predictions as given: it is about the expected loss at these
    very samples. To speak of newly drawn samples, ρ and L̄ must be limits known before the draw.

    For losses that are never negative, L*_i may be the largest number of labels that
    sample i can have at once. For the signed loss of th. 4.4 that holds only when the
    complete truth is fixed and nothing but its observation is random; when the truth is
    random too, pass 2ρ, or let L*_i count every label with any probability of being relevant.

    Examples
    --------
    >>> round(concentration_radius(rho=4, L_bar=5, n=6000, delta=0.05), 4)
    0.3507
    """
    check_parameter("concentration_radius", "rho", rho, Real(low=0))
    check_parameter("concentration_radius", "L_bar", L_bar, Real(low=0))
    check_parameter("concentration_radius", "n", n, Integer(low=1))
    _check_delta("concentration_radius", delta)
    return float(rho * L_bar * np.sqrt(np.log(2 / delta) / (2 * n)))


def hoeffding_interval(
    values: ArrayLike, span: float, delta: float, *, denominator: ArrayLike | None = None
) -> Interval:
    """Where E values / E denominator lies, by the inequality of Hoeffding (1963).

    Parameters
    ----------
    values : array of shape (n,)
    span : float
        The width of a range, known before the draw, that holds every value that could be
        drawn. With a denominator: every value − t·denominator, where t is the ratio.
    delta : float
        The interval fails with at most this probability.
    denominator : array of shape (n,), optional
        Ones unless given, which makes the ratio a mean.

    Examples
    --------
    >>> low, high = hoeffding_interval([0, 1] * 500, 1, 0.05)
    >>> round(low, 3), round(high, 3)
    (0.457, 0.543)
    """
    _check_delta("hoeffding_interval", delta)
    check_parameter("hoeffding_interval", "span", span, Real(low=0))
    num, den = _sums(values, denominator)
    radius = span * np.sqrt(np.log(2 / delta) / (2 * num.size))
    # At the true ratio t, the mean of num − t·den is within `radius` of zero.
    top, bottom = num.mean(), den.mean()
    if bottom <= 0:
        return Interval(-np.inf, np.inf)
    return Interval(float((top - radius) / bottom), float((top + radius) / bottom))


def bernstein_interval(
    values: ArrayLike, span: float, delta: float, *, denominator: ArrayLike | None = None
) -> Interval:
    """Where E values / E denominator lies, by the empirical Bernstein inequality.

    Maurer and Pontil (2009), theorems 4 and 11: narrow when the values vary little. The
    parameters are those of `hoeffding_interval`.

    Examples
    --------
    >>> low, high = bernstein_interval([0] * 990 + [1] * 10, 1, 0.05)
    >>> round(low, 3), round(high, 3)
    (-0.01, 0.03)
    """
    _check_delta("bernstein_interval", delta)
    check_parameter("bernstein_interval", "span", span, Real(low=0))
    num, den = _sums(values, denominator)
    n = num.size
    if n < 2:
        return Interval(-np.inf, np.inf)
    log = np.log(4 / delta)
    variance = np.cov(num, den) * (2 * log / n)
    slack = 7 * span * log / (3 * (n - 1))
    # The t for which |mean(num − t·den)| ≤ √variance(num − t·den) + slack. The square of
    # that is a quadratic a·t² − 2b·t + c ≤ 0, one for each side; a ≤ 0 rejects no t.
    a = den.mean() ** 2 - variance[1, 1]
    if a <= 0:
        return Interval(-np.inf, np.inf)
    ends = []
    for sign in (-1, 1):
        shifted = num.mean() + sign * slack
        b = den.mean() * shifted - variance[0, 1]
        c = shifted**2 - variance[0, 0]
        ends.append(float((b + sign * np.sqrt(max(b * b - a * c, 0))) / a))
    return Interval(*ends)


def guaranteed_interval(
    values: ArrayLike, span: float, delta: float, *, denominator: ArrayLike | None = None
) -> Interval:
    """The intersection of the Hoeffding and the empirical Bernstein interval.

    Each fails with probability at most δ/2, so both hold together with 1 − δ.

    Examples
    --------
    >>> low, high = guaranteed_interval([0] * 990 + [1] * 10, 1, 0.05)
    >>> round(low, 3), round(high, 3)
    (-0.012, 0.032)
    """
    _check_delta("guaranteed_interval", delta)
    one = hoeffding_interval(values, span, delta / 2, denominator=denominator)
    other = bernstein_interval(values, span, delta / 2, denominator=denominator)
    return Interval(max(one.low, other.low), min(one.high, other.high))


def bootstrap_replicates(
    statistic: Callable[[DoubleArray], DoubleArray],
    n: int,
    *,
    n_bootstrap: int = 1000,
    random_state: object = 0,
) -> DoubleArray:
    """What `statistic` gives on `n_bootstrap` resamples of `n` rows, drawn with replacement.

    `statistic` takes an array of shape (m, n) that says how often each sample was drawn
    in each of m resamples, and returns an array of m rows. Memory is bounded: m is chosen
    so that m·n stays near four million.

    Examples
    --------
    >>> values = np.array([0.0, 1.0, 1.0, 1.0])
    >>> bootstrap_replicates(lambda drawn: drawn @ values / 4, 4, n_bootstrap=3).tolist()
    [1.0, 0.25, 0.75]
    """
    check_parameter("bootstrap", "n", n, Integer(low=1))
    check_parameter("bootstrap", "n_bootstrap", n_bootstrap, Integer(low=1))
    check_parameter("bootstrap", "random_state", random_state, RANDOM_STATE)
    rng = np.random.default_rng(seed_sequence(random_state))
    replicates = []
    for block in blocks(n_bootstrap, max(1, _FLOATS_AT_ONCE // n)):
        m = len(block)
        drawn = rng.integers(n, size=(m, n)) + n * np.arange(m)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=m * n).reshape(m, n)
        replicates.append(statistic(counts.astype(np.float64)))
    return np.concatenate(replicates)


def bootstrap_interval(
    values: ArrayLike,
    delta: float,
    *,
    denominator: ArrayLike | None = None,
    n_bootstrap: int = 1000,
    random_state: object = 0,
) -> Interval:
    """The percentile interval of Σ values / Σ denominator over resamples.

    It needs no bound on the values and covers at about its rate once there are many
    samples; it promises nothing for few, or where a few samples carry the whole sum.

    Examples
    --------
    >>> bootstrap_interval([0, 1] * 500, 0.05)
    Interval(low=0.4..., high=0.5...)
    """
    _check_delta("bootstrap_interval", delta)
    num, den = _sums(values, denominator)
    replicates = bootstrap_replicates(
        lambda drawn: ratio(drawn @ num, drawn @ den),
        num.size,
        n_bootstrap=n_bootstrap,
        random_state=random_state,
    )
    return percentile_interval(replicates, delta)


def percentile_interval(replicates: DoubleArray, delta: float) -> Interval:
    """The middle 1 − δ of the replicates, without those that are not defined (NaN)."""
    if np.isnan(replicates).all():
        raise DataError(
            f"Not one of {replicates.size} bootstrap replicates has a denominator other than 0; "
            "take more replicates, or samples."
        )
    low, high = np.nanquantile(replicates, [delta / 2, 1 - delta / 2])
    return Interval(float(low), float(high))


def ratio(top: ArrayLike, bottom: ArrayLike) -> DoubleArray:
    """`top / bottom`, and NaN where `bottom` is 0."""
    upper, lower = np.asarray(top, dtype=np.float64), np.asarray(bottom, dtype=np.float64)
    return np.divide(upper, lower, out=np.full_like(upper, np.nan), where=lower != 0)


@dataclass(frozen=True)
class PerSample:
    """A metric before it is averaged: the ratio of two sums over the samples.

    Attributes
    ----------
    numerator, denominator : float64 arrays of shape (n,)
        The metric is Σ numerator / Σ denominator; a mean has denominator one.
    span : float
        As of `hoeffding_interval`. It may depend on k, the number of labels and their
        propensities, never on these samples: what was predicted for them is drawn, too.
    limits : (float, float)
        The values that the expectation can have.

    Examples
    --------
    >>> PerSample.mean(np.array([0.0, 1.0, 1.0])).value
    0.666...
    """

    numerator: DoubleArray
    denominator: DoubleArray
    span: float
    limits: tuple[float, float] = (0.0, 1.0)

    @classmethod
    def mean(
        cls, values: DoubleArray, span: float = 1.0, limits: tuple[float, float] = (0.0, 1.0)
    ) -> "PerSample":
        """The mean of `values`, which are shares unless said otherwise."""
        return cls(values, np.ones_like(values), span, limits)

    @property
    def value(self) -> float:
        """The metric; 1 when there was nothing to find and nothing was claimed (0/0)."""
        bottom = self.denominator.sum()
        return float(self.numerator.sum() / bottom) if bottom else 1.0

    def guaranteed(self, delta: float) -> Interval:
        """The interval that holds the expectation with probability at least 1 − δ."""
        den = self.denominator
        low, high = guaranteed_interval(self.numerator, self.span, delta, denominator=den)
        return Interval(max(low, self.limits[0]), min(high, self.limits[1]))


def _check_delta(owner: str, delta: object) -> None:
    check_parameter(owner, "delta", delta, Real(above=0, below=1))


def _sums(values: ArrayLike, denominator: ArrayLike | None) -> tuple[DoubleArray, DoubleArray]:
    num = np.asarray(values, dtype=np.float64)
    den = np.ones_like(num) if denominator is None else np.asarray(denominator, dtype=np.float64)
    if num.ndim != 1 or num.size == 0 or den.shape != num.shape:
        raise DataError(
            "An interval needs one value, and one denominator, for each of at least one sample. "
            f"Got arrays of shape {num.shape} and {den.shape}."
        )
    if not (np.isfinite(num).all() and np.isfinite(den).all()):
        raise DataError("An interval needs finite values. Got NaN or infinity.")
    return num, den
