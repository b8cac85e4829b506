"""What every procedure for online multiple testing can do: give a level, take a p-value."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from numbers import Real as RealNumber
from typing import Any, ClassVar, Self

import numpy as np

from labelwood.core.params import Real, check_parameter
from labelwood.core.types import DoubleArray
from labelwood.errors import DataError
from labelwood.experiments.online_fdr.gamma import Gamma


class OnlineProcedure(ABC):
    """One test after another: `next_level` says at which level, `record` takes its p-value.

    A level depends on earlier p-values alone, so a test may be planned for it. See `online_fdr`.
    """

    name: ClassVar[str]

    def __init__(self, alpha: float) -> None:
        check_parameter(type(self).__name__, "alpha", alpha, Real(above=0, below=1))
        self.alpha = float(alpha)
        self._p_values: list[float] = []
        self._n_discoveries = 0
        self._level: float | None = None

    @property
    def n_tests(self) -> int:
        """Number of p-values recorded."""
        return len(self._p_values)

    @property
    def n_discoveries(self) -> int:
        """Number of null hypotheses rejected."""
        return self._n_discoveries

    @property
    def p_values(self) -> tuple[float, ...]:
        """The p-values recorded, in order; with the parameters they are the whole state."""
        return tuple(self._p_values)

    @property
    @abstractmethod
    def wealth(self) -> float | None:
        """What may still be spent, never negative; None when nothing limits it."""

    @property
    @abstractmethod
    def options(self) -> dict[str, Any]:
        """All parameters but α, as plain values."""

    def next_level(self) -> float:
        """The level of the next test; the same until its p-value is recorded."""
        if self._level is None:
            self._level = self._next_level()
        return self._level

    def record(self, p: float) -> bool:
        """Take the p-value of the test that `next_level` was asked for; True for a discovery."""
        if self._level is None:
            raise DataError(
                f"a p-value without a test: ask for next_level() before test {self.n_tests + 1}"
            )
        p = check_p_value(p, f"test {self.n_tests + 1}")
        discovery = p <= self._level
        self._update_wealth(p, self._level, discovery)
        self._p_values.append(p)
        self._n_discoveries += discovery
        self._level = None
        return discovery

    @abstractmethod
    def _next_level(self) -> float:
        """Compute the level."""

    @abstractmethod
    def _update_wealth(self, p: float, level: float, discovery: bool) -> None:
        """Pay for the test, and earn for the discovery; `n_tests` is still that before it."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; `online_fdr_from_dict` reads them."""
        return {
            "procedure": self.name,
            "alpha": self.alpha,
            "options": self.options,
            "p_values": list(self._p_values),
            "asked": self._level is not None,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`: all p-values are recorded again."""
        try:
            procedure = cls(content["alpha"], **content["options"])
            p_values, asked = content["p_values"], content["asked"]
        except (KeyError, TypeError) as error:
            raise DataError(f"not the state of {cls.__name__}: {error}") from None
        if not isinstance(p_values, Sequence) or isinstance(p_values, str):
            raise DataError(f"p_values of {cls.__name__} must be a list. Got {p_values!r}.")
        for p in p_values:
            procedure.next_level()
            procedure.record(p)
        if asked:
            procedure.next_level()
        return procedure


class GammaTable:
    """The values of a γ sequence, computed for as many as were asked for, and some more."""

    def __init__(self, gamma: Gamma, decay: float = 1.0) -> None:
        self._gamma = gamma
        self._decay = decay
        self._extend(256)

    def up_to(self, n: int) -> DoubleArray:
        """γ_1 … γ_n and more, γ_j at place j − 1, each times decay^j."""
        if n > self._values.size:
            self._extend(2 * n)
        return self._values

    def _extend(self, n: int) -> None:
        self._values = self._gamma.values(n)
        if self._decay < 1:
            self._values *= self._decay ** np.arange(1, n + 1)


def check_p_value(p: object, place: str) -> float:
    """`p` as a float in [0, 1]."""
    if isinstance(p, RealNumber) and not isinstance(p, bool) and 0 <= p <= 1:  # type: ignore[operator]
        return float(p)
    raise DataError(f"{place}: a p-value is a number between 0 and 1. Got {p!r}.")


def check_initial_wealth(owner: type, alpha: float, given: float | None) -> float:
    """W(0), half of α unless given, strictly between 0 and α."""
    check_parameter(owner.__name__, "alpha", alpha, Real(above=0, below=1))
    if given is None:
        return float(alpha) / 2
    between = Real(above=0, below=float(alpha))
    check_parameter(owner.__name__, "initial_wealth", given, between)
    return float(given)
