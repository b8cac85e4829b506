"""Levels from all discoveries: LORD++, alpha-investing and SAFFRON.

References
----------
FS08: Foster and Stine, "α-investing", JRSS B 2008. AR14: Aharoni and Rosset, "Generalized
α-investing", JRSS B 2014. RYWJ17: Ramdas, Yang, Wainwright and Jordan, "Online control of the false
discovery rate with decaying memory", NIPS 2017. RZWJ18: Ramdas, Zrnic, Wainwright and Jordan,
"SAFFRON: an adaptive algorithm for online control of the false discovery rate", ICML 2018.
"""

from abc import abstractmethod
from typing import Any

import numpy as np

from labelwood.core.params import Real, check_parameter
from labelwood.experiments.online_fdr.base import (
    GammaTable,
    OnlineProcedure,
    check_initial_wealth,
)
from labelwood.experiments.online_fdr.gamma import GammaLike, as_gamma


class _AllDiscoveries(OnlineProcedure):
    """Levels from W(0) and the reward of each discovery, each spread by γ from its time on.

    The first discovery earns α − W(0) and each later one α, so that what was paid never exceeds α
    times the number of discoveries. Time is a clock that only tests that must be paid for move.
    """

    def __init__(
        self,
        alpha: float,
        initial_wealth: float | None,
        gamma: GammaLike,
        decay: float = 1.0,
    ) -> None:
        self.initial_wealth = check_initial_wealth(type(self), alpha, initial_wealth)
        super().__init__(alpha)
        self.gamma = as_gamma(gamma)
        self.decay = decay
        self._table = GammaTable(self.gamma)
        self._faded = self._table if decay == 1 else GammaTable(self.gamma, decay)
        self._wealth = self.initial_wealth
        self._clock = 0
        self._times = np.empty(16, dtype=np.int64)

    @property
    def wealth(self) -> float:
        """What may still be spent, never negative."""
        return self._wealth

    @property
    def options(self) -> dict[str, Any]:
        """All parameters but α, as plain values."""
        return {"initial_wealth": self.initial_wealth, "gamma": self.gamma.to_dict()}

    def _next_level(self) -> float:
        return self._level_for(min(self._share(), self._carried_wealth()))

    def _share(self) -> float:
        """Of W(0) and of each reward the share of the next test (RYWJ17; RZWJ18, Algorithm 1)."""
        clock, n = self._clock, self.n_discoveries
        share = self.initial_wealth * float(self._table.up_to(clock + 1)[clock])
        if n == 0:
            return share
        ages = clock - self._times[:n]
        gammas = self._faded.up_to(clock + 1)[ages]
        share *= self.decay ** (int(ages[0]) + 1)
        share += (self.alpha - self.initial_wealth) * float(gammas[0])
        return share + self.alpha * float(gammas[1:].sum())

    def _carried_wealth(self) -> float:
        """The wealth before the next test; W(0) does not fade before the first discovery."""
        if self.decay == 1:
            return self._wealth
        refill = (1 - self.decay) * self.initial_wealth if self.n_discoveries == 0 else 0.0
        return self.decay * self._wealth + refill

    def _update_wealth(self, p: float, level: float, discovery: bool) -> None:
        self._wealth = self._carried_wealth()
        if self._must_pay(p, discovery):
            self._wealth = max(0.0, self._wealth - self._price(level))
            self._clock += 1
        if discovery:
            first = self.n_discoveries == 0
            self._wealth += self.alpha - self.initial_wealth if first else self.alpha
            self._remember()

    def _remember(self) -> None:
        n = self.n_discoveries
        if n == self._times.size:
            self._times = np.concatenate([self._times, np.empty_like(self._times)])
        self._times[n] = self._clock

    @abstractmethod
    def _level_for(self, share: float) -> float:
        """The level that can be had for this share of the wealth."""

    @abstractmethod
    def _price(self, level: float) -> float:
        """What a test at this level costs: the inverse of `_level_for`."""

    @abstractmethod
    def _must_pay(self, p: float, discovery: bool) -> bool:
        """Whether a test with this outcome has to be paid for."""


class LordPlusPlus(_AllDiscoveries):
    """LORD++ (RYWJ17), and with `decay` below 1 its version with decaying memory.

    Controls the mFDR for p-values that are super-uniform given the past, and the FDR if they are
    independent; with decay d the mem-FDR, in which a decision k tests ago counts d^k.
    """

    name = "lord++"

    def __init__(
        self,
        alpha: float,
        *,
        initial_wealth: float | None = None,
        gamma: GammaLike = "log",
        decay: float = 1.0,
    ) -> None:
        check_parameter("LordPlusPlus", "decay", decay, Real(above=0, high=1))
        super().__init__(alpha, initial_wealth, gamma, float(decay))

    @property
    def options(self) -> dict[str, Any]:
        """All parameters but α, as plain values."""
        return {**super().options, "decay": self.decay}

    def _level_for(self, share: float) -> float:
        return share

    def _price(self, level: float) -> float:
        return level

    def _must_pay(self, p: float, discovery: bool) -> bool:
        return True


class AlphaInvesting(_AllDiscoveries):
    """Generalized alpha-investing (AR14) with the prices of FS08 and the shares of RZWJ18.

    A test at level a costs a/(1 − a), and only if it is no discovery: the cheapest price that AR14
    allow for the reward. Controls the mFDR for p-values that are super-uniform given the past, and
    the FDR if they are independent.
    """

    name = "gai"

    def __init__(
        self, alpha: float, *, initial_wealth: float | None = None, gamma: GammaLike = "power"
    ) -> None:
        super().__init__(alpha, initial_wealth, gamma)

    def _level_for(self, share: float) -> float:
        return share / (1 + share)

    def _price(self, level: float) -> float:
        return level / (1 - level)

    def _must_pay(self, p: float, discovery: bool) -> bool:
        return not discovery


class Saffron(_AllDiscoveries):
    """SAFFRON (RZWJ18): a test with p ≤ λ is free, as a true null hypothesis seldom has one.

    A test at level a costs a/(1 − λ); λ is `candidate`. Controls the mFDR for p-values that are
    super-uniform given the past, and the FDR if they are independent.
    """

    name = "saffron"

    def __init__(
        self,
        alpha: float,
        *,
        initial_wealth: float | None = None,
        gamma: GammaLike = "power",
        candidate: float = 0.5,
    ) -> None:
        check_parameter("Saffron", "candidate", candidate, Real(above=0, below=1))
        super().__init__(alpha, initial_wealth, gamma)
        self.candidate = float(candidate)

    @property
    def options(self) -> dict[str, Any]:
        """All parameters but α, as plain values."""
        return {**super().options, "candidate": self.candidate}

    def _level_for(self, share: float) -> float:
        return min(self.candidate, (1 - self.candidate) * share)

    def _price(self, level: float) -> float:
        return level / (1 - self.candidate)

    def _must_pay(self, p: float, discovery: bool) -> bool:
        return p > self.candidate
