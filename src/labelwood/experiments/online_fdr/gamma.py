"""γ sequences: how a budget is spread over infinitely many tests.

A sequence is not negative and sums to one over *all* j = 1, 2, …: the sum of the default has a
finite part that is added up and a tail in closed form, those of the powers are zeta values.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, ClassVar, TypeAlias

import numpy as np

from labelwood.core.params import Real, check_parameter
from labelwood.core.types import DoubleArray
from labelwood.errors import ParameterError

# A scale printed with ten digits, such as 6/π² = 0.6079271019, may round up.
ROUNDING = 1e-9


class Gamma(ABC):
    """A sequence γ_1, γ_2, … ≥ 0 with a sum of at most one."""

    kind: ClassVar[str]

    @property
    @abstractmethod
    def total(self) -> float:
        """The sum over all j."""

    @abstractmethod
    def values(self, n: int) -> DoubleArray:
        """γ_1 … γ_n."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, which `as_gamma` reads."""
        return {"kind": self.kind, **asdict(self)}  # type: ignore[call-overload]

    def _check_total(self) -> None:
        if not self.total <= 1 + ROUNDING:
            raise ParameterError(
                f"γ of {type(self).__name__} sums to {self.total:.9g}; it must be at most 1, or "
                "more is spent than there is"
            )


@dataclass(frozen=True)
class LogGamma(Gamma):
    """γ_j ∝ log(max(j, 2)) / (j exp(√log j)), which suits LORD.

    Javanmard and Montanari, "Online rules for control of false discovery rate and false discovery
    exceedance", Annals of Statistics 2018, eq. (31).

    Parameters
    ----------
    scale : float, default=None
        The factor in front; None for the one with which the sum is 1. The constants in print are
        smaller: 0.07720838 gives a sum of 0.976, 0.07 one of 0.885.

    Examples
    --------
    >>> gamma = LogGamma()
    >>> float(gamma.values(1)[0] / math.log(2)), gamma.total
    (0.0790819667..., 1.0)
    >>> LogGamma(scale=0.07720838).total
    0.97630829...
    """

    scale: float | None = None
    kind: ClassVar[str] = "log"

    def __post_init__(self) -> None:
        check_parameter("LogGamma", "scale", self.scale, (Real(above=0), None))
        _make_plain(self, "scale")
        self._check_total()

    @property
    def total(self) -> float:
        """The sum over all j."""
        return 1.0 if self.scale is None else self.scale * _log_sum()

    def values(self, n: int) -> DoubleArray:
        """γ_1 … γ_n."""
        scale = 1 / _log_sum() if self.scale is None else self.scale
        return scale * _log_terms(n)


def _make_plain(gamma: Gamma, *names: str) -> None:
    """Numbers of NumPy as Python's, for JSON."""
    for name in names:
        value = getattr(gamma, name)
        object.__setattr__(gamma, name, None if value is None else float(value))


def _log_terms(n: int) -> DoubleArray:
    j = np.arange(1, n + 1, dtype=np.float64)
    return np.asarray(np.log(np.maximum(j, 2)) / (j * np.exp(np.sqrt(np.log(j)))))


@cache
def _log_sum() -> float:
    """Σ log(j ∨ 2) / (j exp(√log j)) over all j, exact but for rounding.

    With u = √log x the integral of the terms from N on is 2 ∫ u³ e^(−u) du from U = √log N on,
    that is 2 e^(−U) (U³ + 3U² + 6U + 6). The Euler–Maclaurin formula (DLMF 2.10.1) gives the sum
    from N on as integral + f(N)/2 − f′(N)/12 + O(f‴(N)); the last is below 1e-14 for N = 1000.
    """
    N = 1000
    terms = _log_terms(N)
    U = math.sqrt(math.log(N))
    integral = 2 * math.exp(-U) * (U**3 + 3 * U**2 + 6 * U + 6)
    slope = math.exp(-U) / N**2 * (1 - U**2 - U / 2)
    return math.fsum(terms[:-1]) + integral + float(terms[-1]) / 2 - slope / 12


@dataclass(frozen=True)
class PowerGamma(Gamma):
    """γ_j ∝ j^(−exponent), which suits SAFFRON (1.6) and alpha-spending (2).

    Parameters
    ----------
    exponent : float, default=1.6
        Above 1. The smaller, the longer the budget lasts.
    scale : float, default=None
        The factor in front; None for 1/ζ(exponent), with which the sum is 1.

    Examples
    --------
    >>> PowerGamma(2).values(3) * np.pi**2 / 6
    array([1.        , 0.25      , 0.11111111])
    """

    exponent: float = 1.6
    scale: float | None = None
    kind: ClassVar[str] = "power"

    def __post_init__(self) -> None:
        check_parameter("PowerGamma", "exponent", self.exponent, Real(above=1))
        check_parameter("PowerGamma", "scale", self.scale, (Real(above=0), None))
        _make_plain(self, "exponent", "scale")
        self._check_total()

    @property
    def total(self) -> float:
        """The sum over all j."""
        return 1.0 if self.scale is None else self.scale * _zeta(self.exponent)

    def values(self, n: int) -> DoubleArray:
        """γ_1 … γ_n."""
        scale = 1 / _zeta(self.exponent) if self.scale is None else self.scale
        j = np.arange(1, n + 1, dtype=np.float64)
        return np.asarray(scale * j**-self.exponent)


def _zeta(exponent: float) -> float:
    from scipy.special import zeta

    return float(zeta(exponent))


@dataclass(frozen=True)
class ListedGamma(Gamma):
    """γ_1 … γ_m as given, and nothing after them.

    Parameters
    ----------
    listed : sequence of float
        Not negative, not rising, with a sum of at most 1. Once it is used up the level is 0
        until the next discovery.

    Examples
    --------
    >>> ListedGamma([0.5, 0.25]).values(3)
    array([0.5 , 0.25, 0.  ])
    """

    listed: tuple[float, ...]
    kind: ClassVar[str] = "listed"

    def __post_init__(self) -> None:
        if isinstance(self.listed, str) or not isinstance(self.listed, Sequence):
            raise ParameterError(
                f"The 'listed' parameter of ListedGamma must be numbers. Got {self.listed!r}."
            )
        highest = 1.0
        for j, value in enumerate(self.listed, start=1):
            # The proofs of FDR control need levels that fall until the next discovery.
            check_parameter("ListedGamma", f"listed γ_{j}", value, Real(low=0, high=highest))
            highest = float(value)
        object.__setattr__(self, "listed", tuple(float(value) for value in self.listed))
        self._check_total()

    @property
    def total(self) -> float:
        """The sum over all j."""
        return math.fsum(self.listed)

    def values(self, n: int) -> DoubleArray:
        """γ_1 … γ_n."""
        values = np.zeros(n)
        values[: len(self.listed)] = self.listed[:n]
        return values


GammaLike: TypeAlias = Gamma | str | Mapping[str, Any] | Sequence[float] | DoubleArray
_KINDS: dict[str, type[Gamma]] = {one.kind: one for one in (LogGamma, PowerGamma, ListedGamma)}


def as_gamma(given: object) -> Gamma:
    """A γ sequence from a name ("log", "power"), a description, numbers, or itself.

    Examples
    --------
    >>> as_gamma("power")
    PowerGamma(exponent=1.6, scale=None)
    >>> as_gamma({"kind": "power", "exponent": 2.0})
    PowerGamma(exponent=2.0, scale=None)
    >>> as_gamma([0.5, 0.5])
    ListedGamma(listed=(0.5, 0.5))
    """
    if isinstance(given, Gamma):
        return given
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if isinstance(given, str) and given in ("log", "power"):
        return _KINDS[given]()
    if isinstance(given, Mapping) and str(given.get("kind")) in _KINDS:
        options = {name: value for name, value in given.items() if name != "kind"}
        try:
            return _KINDS[given["kind"]](**options)
        except TypeError:  # a name that it has not
            pass
    elif isinstance(given, Sequence) and not isinstance(given, str):
        return ListedGamma(tuple(given))
    raise ParameterError(
        "The 'gamma' parameter must be 'log', 'power', a Gamma, numbers, or "
        f"{{'kind': …}} with its parameters. Got {given!r} instead."
    )
