"""What a fit certifies: mixing of the chain, measured contraction, agreement of restarts."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import combinations
from typing import Any

import numpy as np
from scipy import stats
from scipy.optimize import linear_sum_assignment

from labelwood.core.types import DoubleArray
from labelwood.errors import DataError
from labelwood.sequences.engine.chain import Chain
from labelwood.sequences.engine.em import Run

_NOISE = 1e-11  # steps below it show rounding, not contraction
_LEAST_STEPS = 4  # with fewer, no line is fitted
_FORGOTTEN = 0.01  # what may be left of the start when the filter has forgotten it
AGREEMENT = 1e-6  # distance below which two starts are counted as one end
# The same, as a share of the statistical precision, for runs that stop on a plateau: they still
# differ in the digits that EM had not settled, and far below that precision these mean nothing.
SAME_END = 0.05


@dataclass(frozen=True)
class Certificate:
    """How far a fit can be trusted, in figures; `str` gives it in words.

    Attributes
    ----------
    n_starts, n_agree : int
        Starts, and how many of them ended at the point of the largest likelihood.
    spread : float
        Largest distance between two of these ends.
    contraction, contraction_low, contraction_high : float or None
        Factor by which errors shrink in one iteration, measured on the linear part of the trace
        (by the lengths of the steps), with the 95 % interval of the fitted line.
    smallest_gain : float
        Least gain of the likelihood in an iteration; below 0 only by rounding.
    statistical_precision : float
        The scale √(d/n) of the statistical error, in standard deviations.
    epsilon_mix, rho_mix, pi_min, rho_tilde : float
        Mixing constants: (2.3), 1 − ε_mix, the least stationary probability and 1 − ε_mix π_min
        (Yang 2018).
    forgetting_time : int or None
        Steps after which the filter has forgotten its start up to 0.01, by Lemma 13; None when
        the chain does not mix.
    snr, radius, theory_factor : float or None
        Of the two-state model: η² = ‖μ‖²/σ², the radius ‖μ‖/4 of Corollary 1, and its factor
        κ(η) (2.31) with both constants of the proof taken at their best.
    """

    n_starts: int
    n_agree: int
    spread: float
    contraction: float | None
    contraction_low: float | None
    contraction_high: float | None
    smallest_gain: float
    statistical_precision: float
    epsilon_mix: float
    rho_mix: float
    pi_min: float
    rho_tilde: float
    forgetting_time: int | None
    snr: float | None = None
    radius: float | None = None
    theory_factor: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    def to_json(self) -> str:
        """As text."""
        return json.dumps(self.to_dict())

    @classmethod
    def from_json(cls, text: str) -> "Certificate":
        """The way back from `to_json`."""
        try:
            values = json.loads(text)
            return cls(**{field.name: values[field.name] for field in fields(cls)})
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(f"not a certificate: {error!r}") from None

    def __str__(self) -> str:
        parts = [
            self._agreement_in_words(),
            self._contraction_in_words(),
            f"statistical precision about {self.statistical_precision:.2g} standard deviations",
            "the likelihood never fell",
            self._mixing_in_words(),
        ]
        if self.snr is not None:
            parts.append(f"signal-to-noise ratio {self.snr:.2f}")
        if self.theory_factor is not None:
            parts.append(self._theory_in_words())
        return "; ".join(parts) + "."

    def _agreement_in_words(self) -> str:
        if self.n_starts == 1:
            return "a single start, so nothing tells whether others end elsewhere"
        if self.n_agree == 1:
            return f"none of the other {self.n_starts - 1} starts ends at the best end"
        spread = max(self.spread, 1e-16)
        return f"{self.n_agree} of {self.n_starts} starts end within {spread:.0e} of each other"

    def _contraction_in_words(self) -> str:
        if self.contraction is None:
            return "too few steps to measure a contraction"
        return (
            f"errors shrink by {self.contraction:.2f} a step "
            f"({self.contraction_low:.2f} to {self.contraction_high:.2f})"
        )

    def _mixing_in_words(self) -> str:
        if self.forgetting_time is None:
            return "the chain does not mix, so its filter need not forget its start"
        return f"the filter forgets its start in {self.forgetting_time:,} steps (Lemma 13)"

    def _theory_in_words(self) -> str:
        assert self.theory_factor is not None
        if self.theory_factor >= 1:
            return (
                "the theory's own constant certifies nothing here "
                f"(its factor would be {self.theory_factor:.3g}, and it must be below 1)"
            )
        return f"the theory's factor is {self.theory_factor:.3g} times an unknown constant"


def mixing(chain: Chain) -> dict[str, Any]:
    """ε_mix, ρ_mix, π_min, ρ̃ and the forgetting time of a chain.

    ε_mix is the largest ε with ε ≤ A_ij / π_j ≤ 1/ε (Yang 2018, eq. (2.3)); by Lemma 13 and
    (2.79) the filter's memory of its start is at most 2 ε⁻² ρ̃^i after i steps.

    Examples
    --------
    >>> chain = Chain(np.array([0.5, 0.5]), np.array([[0.2, 0.8], [0.8, 0.2]]))
    >>> {name: round(value, 3) for name, value in mixing(chain).items()}
    {'epsilon_mix': 0.4, 'rho_mix': 0.6, 'pi_min': 0.5, 'rho_tilde': 0.8, 'forgetting_time': 32}
    """
    pi = chain.stationary()
    A = chain.transition
    pi_min = float(pi.min())
    epsilon = 0.0
    if pi_min > 0 and A.min() > 0:
        ratios = A / pi
        epsilon = float(min(ratios.min(), 1 / ratios.max()))
    rho_tilde = 1 - epsilon * pi_min
    time = None
    if epsilon > 0:
        left = math.log(_FORGOTTEN / 2) + 2 * math.log(epsilon)
        rate = math.log1p(-epsilon * pi_min) if epsilon * pi_min < 1 else -math.inf
        time = max(1, math.ceil(left / rate)) if left > 1e15 * rate else None
    return {
        "epsilon_mix": epsilon,
        "rho_mix": 1 - epsilon,
        "pi_min": pi_min,
        "rho_tilde": rho_tilde,
        "forgetting_time": time,
    }


def contraction(steps: DoubleArray) -> tuple[float, float, float] | None:
    """The factor of a linearly convergent trace of step lengths, with its 95 % interval.

    A line is fitted to the logarithms of the last half of the steps above rounding: the first
    ones are not linear yet. None when there are too few.

    Examples
    --------
    >>> factor, low, high = contraction(0.5 ** np.arange(20))
    >>> round(factor, 6), round(high - low, 6)
    (0.5, 0.0)
    """
    used = np.log(steps[linear_part(steps)])
    if used.size < _LEAST_STEPS:
        return None
    line = stats.linregress(np.arange(used.size), used)
    half = stats.t.ppf(0.975, used.size - 2) * line.stderr
    return math.exp(line.slope), math.exp(line.slope - half), math.exp(line.slope + half)


def linear_part(steps: DoubleArray) -> slice:
    """The iterations that `contraction` fits its line to.

    Examples
    --------
    >>> linear_part(0.5 ** np.arange(20))
    slice(10, 20, None)
    """
    noisy = np.flatnonzero(~(steps > _NOISE))
    usable = int(noisy[0]) if noisy.size else steps.size
    return slice(usable // 2, usable)


def matched_distance(run: Run[Any], other: Run[Any]) -> float:
    """How far two ends are apart, once their states are matched by their emissions."""
    order = linear_sum_assignment(run.emissions.state_gaps(other.emissions).T)[1]
    return max(
        run.chain.permuted(order).distance(other.chain),
        run.emissions.permuted(order).distance(other.emissions),
    )


def certify(
    runs: Sequence[Run[Any]],
    best: Run[Any],
    distance: Callable[[Run[Any], Run[Any]], float],
    precision: float,
    agreement: float = AGREEMENT,
    extra: Mapping[str, float | None] | None = None,
) -> Certificate:
    """The certificate of the best run among restarts."""
    agreeing = [run for run in runs if distance(run, best) <= agreement]
    gaps = [distance(one, other) for one, other in combinations(agreeing, 2)]
    found = contraction(best.steps)
    factor, low, high = (None, None, None) if found is None else found
    gains = np.diff(best.history)
    constants: dict[str, Any] = {**mixing(best.chain), **(extra or {})}
    return Certificate(
        n_starts=len(runs),
        n_agree=len(agreeing),
        spread=max(gaps, default=0.0),
        contraction=factor,
        contraction_low=low,
        contraction_high=high,
        smallest_gain=float(gains.min()) if gains.size else 0.0,
        statistical_precision=precision,
        **constants,
    )
