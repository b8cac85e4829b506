"""LORD procedures, and two baselines without earned wealth: Bonferroni and no correction.

Levels of LORD follow from the time since the last discovery, and the wealth that was left after it.

JM15 is Javanmard and Montanari, "On online control of false discovery rate", 2015.
"""

from abc import abstractmethod
from typing import Any

from labelwood.core.params import Real, check_parameter
from labelwood.experiments.online_fdr.base import (
    GammaTable,
    OnlineProcedure,
    check_initial_wealth,
)
from labelwood.experiments.online_fdr.gamma import Gamma, GammaLike, PowerGamma, as_gamma


class _RecentDiscovery(OnlineProcedure):
    """Levels γ_{j−τ} W(τ), with τ the time of the last discovery before test j."""

    def __init__(self, alpha: float, initial_wealth: float, gamma: Gamma) -> None:
        super().__init__(alpha)
        self.initial_wealth = initial_wealth
        self.gamma = gamma
        self._table = GammaTable(gamma)
        self._wealth = self._wealth_at_last_discovery = initial_wealth
        self._last = 0

    @property
    def wealth(self) -> float:
        """What may still be spent, never negative."""
        return self._wealth

    def _next_level(self) -> float:
        j = self.n_tests + 1 - self._last
        # The sum of γ may exceed one by rounding; what is not there is not spent.
        return min(
            float(self._table.up_to(j)[j - 1]) * self._wealth_at_last_discovery, self._wealth
        )

    def _update_wealth(self, p: float, level: float, discovery: bool) -> None:
        self._wealth -= level
        if discovery:
            self._wealth = self._wealth_at_last_discovery = self._rewarded(self._wealth)
            self._last = self.n_tests + 1

    @abstractmethod
    def _rewarded(self, wealth: float) -> float:
        """The wealth after a discovery."""


class Lord(_RecentDiscovery):
    """LORD 3, as in Procedure 2: the wealth at the last discovery is spread over what follows.

    A discovery earns α − W(0). Controls the mFDR for p-values that are super-uniform given the
    earlier decisions (Theorem 4).
    """

    name = "lord"

    def __init__(
        self, alpha: float, *, initial_wealth: float | None = None, gamma: GammaLike = "log"
    ) -> None:
        wealth = check_initial_wealth(type(self), alpha, initial_wealth)
        super().__init__(alpha, wealth, as_gamma(gamma))

    @property
    def options(self) -> dict[str, Any]:
        """All parameters but α, as plain values."""
        return {"initial_wealth": self.initial_wealth, "gamma": self.gamma.to_dict()}

    def _rewarded(self, wealth: float) -> float:
        return wealth + (self.alpha - self.initial_wealth)


class Lord15(_RecentDiscovery):
    """LORD '15 (JM15; Yang 2018, §4.4): the wealth begins with α, and is α after each discovery.

    So the levels are α γ_{j−τ}. Controls the mFDR and the FDR for p-values that are super-uniform
    given the time of the last discovery (Theorem 5, Proposition 3).
    """

    name = "lord15"

    def __init__(self, alpha: float, *, gamma: GammaLike = "log") -> None:
        check_parameter("Lord15", "alpha", alpha, Real(above=0, below=1))
        super().__init__(alpha, float(alpha), as_gamma(gamma))

    @property
    def options(self) -> dict[str, Any]:
        """All parameters but α, as plain values."""
        return {"gamma": self.gamma.to_dict()}

    def _rewarded(self, wealth: float) -> float:
        return self.alpha


class Bonferroni(OnlineProcedure):
    """Levels 6α/(π²j²), whatever was found: P(one false discovery or more, ever) is below α."""

    name = "bonferroni"

    def __init__(self, alpha: float) -> None:
        super().__init__(alpha)
        self._table = GammaTable(PowerGamma(2))
        self._wealth = self.alpha

    @property
    def wealth(self) -> float:
        """What may still be spent, never negative."""
        return self._wealth

    @property
    def options(self) -> dict[str, Any]:
        """None."""
        return {}

    def _next_level(self) -> float:
        j = self.n_tests + 1
        return min(self.alpha * float(self._table.up_to(j)[j - 1]), self._wealth)

    def _update_wealth(self, p: float, level: float, discovery: bool) -> None:
        self._wealth -= level


class Uncorrected(OnlineProcedure):
    """Every test at level α: no error rate over all tests is controlled. For comparisons."""

    name = "none"

    @property
    def wealth(self) -> None:
        """None: nothing limits what is spent."""
        return

    @property
    def options(self) -> dict[str, Any]:
        """None."""
        return {}

    def _next_level(self) -> float:
        return self.alpha

    def _update_wealth(self, p: float, level: float, discovery: bool) -> None:
        pass
